// `weft serve --checkpoint`: Segment Anything's masks.
#include <fmt/format.h>

#include <memory>

#include "cli/serve.h"
#include "serve/segment_service.h"
#include "weft/parallel.h"

namespace weft::cli {

int ServeCommand::serve_checkpoint() const {
  serve::SegmentServiceOptions options{.api = api(checkpoint_),
                                       .max_queue = max_queue_,
                                       .max_bytes = static_cast<uint64_t>(max_input_mib_) << 20};
  if (model_.threads > 0) set_num_threads(model_.threads);
  const Device device = model_.device_of_model();
  const auto sam = models::Sam::load(checkpoint_, {.decoder_heads = decoder_heads_, .device = device});
  const auto service = std::make_shared<serve::SegmentService>(sam, options);
  serve::HttpServer server(http(), service);
  fmt::print("images   of up to {} pixels a side are not made smaller{}\n", sam->config().image_size,
             device == Device() ? "" : "; masks are computed on " + device.str());
  // The service's thread tells the server's connections: it ends before them.
  const std::unique_ptr<serve::SegmentService, void (*)(serve::SegmentService*)> computing(
      service.get(), [](serve::SegmentService* started) { started->stop(); });
  service->start();
  serve_until_stopped(server, checkpoint_);
  service->stop();
  fmt::print("stopped\n");
  return 0;
}

}  // namespace weft::cli
