// `weft serve --archive`: a TorchScript method behind JSON and .npz.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/serve.h"
#include "serve/module_service.h"
#include "weft/exported.h"
#include "weft/jit.h"
#include "weft/parallel.h"

namespace weft::cli {

int ServeCommand::serve_archive() const {
  const serve::ApiServiceOptions options = api(archive_);
  if (model_.threads > 0) set_num_threads(model_.threads);
  const Device device = model_.device_of_model();
  jit::Module module = exported::load_module(archive_, device);
  module.method(method_);  // before the module is optimized: an error names those that there are
  if (optimize_)
    module = jit::optimize_for_inference(
        module, method_ == "forward" ? std::vector<std::string>() : std::vector{method_});
  const auto queue = std::make_shared<serve::ModuleQueue>(
      module, method_,
      serve::ModuleQueueOptions{.max_rows = max_batch_,
                                .window_seconds = batch_window_ms_ * 1e-3,
                                .max_queue = max_queue_,
                                .max_bytes = static_cast<uint64_t>(max_input_mib_) << 20,
                                .device = device});
  serve::HttpServer server(http(), serve::make_module_service(queue, options));
  std::vector<std::string> arguments;
  for (const jit::SchemaArgument& argument : queue->schema().arguments)
    if (!argument.type->is(jit::TypeKind::Class))
      arguments.push_back(fmt::format("{}: {}", argument.name, argument.type->str()));
  fmt::print("calls    {}({}), joined up to {} rows within {} ms{}\n", method_, fmt::join(arguments, ", "),
             max_batch_, batch_window_ms_, device == Device() ? "" : ", on " + device.str());
  // The queue's thread tells the server's connections: it ends before them.
  const std::unique_ptr<serve::ModuleQueue, void (*)(serve::ModuleQueue*)> stepping(
      queue.get(), [](serve::ModuleQueue* started) { started->stop(); });
  queue->start();
  serve_until_stopped(server, archive_);
  queue->stop();
  fmt::print("stopped\n");
  return 0;
}

}  // namespace weft::cli
