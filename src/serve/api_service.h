// What services of all kinds share: paths and methods, the key, models, figures, errors as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "serve/api_error.h"
#include "serve/http.h"

namespace weft::serve {

struct ApiServiceOptions {
  std::string model_name;  // as clients name it
  std::string api_key;     // "": none is asked for
};

HttpResponse answer(const ApiError& error);
// Of a Content-Type or Accept header: "application/json", without parameters, in small letters.
std::string media_type(const std::string& header);
// A media type that .npz files come under.
bool is_npz(const std::string& media_type);

class ApiService : public Service {
 public:
  HttpResponse refusal(int status, const std::string& message) override;
  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override;

 protected:
  using Json = nlohmann::ordered_json;
  // `actions`: the paths that take POST.
  ApiService(ApiServiceOptions options, std::vector<std::string> actions);

  // A request for one of the actions, whose key is right. ApiError, and Error of the kinds that users cause,
  // become answers.
  virtual void act(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) = 0;
  // What /v1/models tells beside the name.
  virtual Json model_fields() const = 0;
  virtual std::string metrics() const = 0;  // in Prometheus' text format
  virtual const std::string* page() const { return nullptr; }

  // Is the body .npz, or JSON? 415 for other types.
  static bool has_npz_body(const HttpRequest& request);
  // 429 without a number; a queued request whose client goes, or for which there is no time, is cancelled.
  static void end_queued(const std::shared_ptr<Exchange>& exchange, std::optional<uint64_t> number,
                         std::function<void(uint64_t)> cancel);
  // 404 for another model's name; "" is whichever there is.
  void check_model(const std::string& name) const;
  const std::string& model_name() const { return options_.model_name; }
  int64_t started() const { return started_; }  // seconds since 1970

 private:
  void route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  void check_key(const HttpRequest& request) const;
  Json model() const;

  ApiServiceOptions options_;
  std::vector<std::string> actions_;
  int64_t started_;
};

}  // namespace weft::serve
