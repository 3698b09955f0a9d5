// What `weft serve --checkpoint` answers: masks of what prompts point at in an image.
#pragma once

#include <memory>
#include <string>

#include "serve/api_service.h"
#include "weft/models/sam.h"

namespace weft::serve {

struct SegmentServiceOptions {
  ApiServiceOptions api;
  int64_t max_queue = 256;                 // requests that wait
  uint64_t max_bytes = uint64_t{1} << 30;  // of their bodies
  int64_t kept_images = 4;                 // embeddings of the last images, for more prompts to them
};

// A thread computes, one request after the other.
class SegmentService : public ApiService {
 public:
  SegmentService(std::shared_ptr<const models::Sam> sam, SegmentServiceOptions options);
  ~SegmentService() override;
  void start();
  void stop();  // the request under way is finished; what waits is dropped

 protected:
  void act(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override;
  Json model_fields() const override;
  std::string metrics() const override;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace weft::serve
