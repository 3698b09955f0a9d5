// What runs a captured graph: compiled code, or the interpreter where nothing can compile.
#include "capture/guards/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "capture/values/choices.h"
#include "compiler/compiled_graph.h"
#include "compiler/steady_graph.h"
#include "ir/place.h"
#include "runtime/float_flags.h"
#include "runtime/log.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

class Compiled final : public Executable {
 public:
  Compiled(std::shared_ptr<compiler::CompiledGraph> graph, bool updates_inputs)
      : graph_(std::move(graph)), updates_inputs_(updates_inputs) {}

  // A watched graph leaves its inputs alone until the end, which costs time and memory where it updates them.
  // Such a one is watched until a run raises no flags, and again after a run that did.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const override {
    const unsigned watched = runtime::watched_flags();
    if (!updates_inputs_ || !watched) return graph_->run(inputs);
    if (!is_calm_ || (watched & runtime::kEveryRun)) {
      std::vector<Tensor> outputs = graph_->run(inputs);
      is_calm_ = !runtime::are_flags_due();
      return outputs;
    }
    std::vector<Tensor> outputs;
    {
      const runtime::FlagWatch none(0);
      outputs = graph_->run(inputs);
    }
    is_calm_ = runtime::flags_pass();
    return outputs;
  }

 private:
  std::shared_ptr<compiler::CompiledGraph> graph_;
  const bool updates_inputs_;
  mutable std::atomic<bool> is_calm_ = false;
};

class Interpreted final : public Executable {
 public:
  explicit Interpreted(std::unique_ptr<ir::Graph> graph) : graph_(std::move(graph)) {}
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const override {
    return ir::interpret(*graph_, inputs);
  }

 private:
  std::unique_ptr<ir::Graph> graph_;
};

}  // namespace

std::shared_ptr<Executable> make_executable(std::unique_ptr<ir::Graph> graph, Device device,
                                            std::vector<Strides> input_strides,
                                            const std::vector<Tensor>& steady, const std::string& mode,
                                            std::vector<KernelSummary>* kernels) {
  if (device != Device{}) ir::place(*graph, device);
  if (env::flag("WEFT_INTERPRET")) return std::make_shared<Interpreted>(std::move(graph));
  std::unique_ptr<ir::Graph> original = graph->clone();
  try {
    compiler::CompileOptions options;
    options.input_strides = std::move(input_strides);
    options.prepares_runs = mode == "reduce-overhead";
    options.autotunes = mode == "max-autotune";
    const bool has_steady =
        device == Device{} &&
        std::any_of(steady.begin(), steady.end(), [](const Tensor& input) { return input.defined(); });
    std::shared_ptr<compiler::CompiledGraph> compiled =
        has_steady ? compiler::compile_steady(std::move(graph), steady, options)
                   : compiler::compile(std::move(graph), options);
    for (const compiler::KernelInfo& kernel : compiled->kernels())
      kernels->push_back({kernel.name, kernel.source, kernel.compile_ms, kernel.from_cache});
    return std::make_shared<Compiled>(std::move(compiled), !original->write_backs.empty());
  } catch (const Error& error) {
    log::warning(
        fmt::format("weft.compile: the graph '{}' cannot be compiled and runs operator by operator: {}",
                    original->name, error.what()));
  }
  return std::make_shared<Interpreted>(std::move(original));
}

}  // namespace weft::capture
