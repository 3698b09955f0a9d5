#include "compiler/compiled_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "compiler/plan.h"
#include "compiler/stages.h"
#include "core/profiling.h"

namespace weft::compiler {
namespace {

// Inputs in other layouts than the first get a plan of their own, up to this many; then they are copied.
constexpr size_t kMaxPlans = 8;

class CompiledGraphImpl final : public CompiledGraph {
 public:
  CompiledGraphImpl(std::shared_ptr<const ir::Graph> graph, const CompileOptions& options)
      : graph_(std::move(graph)), options_(options), first_(graph_, options.input_strides, options) {}

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const override {
    check(inputs);
    if (first_.accepts(inputs)) return first_.run(inputs);
    return run_other_layout(inputs);
  }
  const std::vector<KernelInfo>& kernels() const override { return first_.kernels(); }
  std::string describe() const override { return first_.describe(); }

 private:
  std::shared_ptr<const ir::Graph> graph_;
  CompileOptions options_;
  Plan first_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Plan>> others_;

  // What keeps a kernel from reading out of bounds; the caller's guards check the rest.
  void check(const std::vector<Tensor>& inputs) const {
    const auto& expected = graph_->inputs();
    WEFT_CHECK(inputs.size() == expected.size(),
               fmt::format("{}: expected {} inputs, got {}", graph_->name, expected.size(), inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorImpl& impl = *inputs[i].impl();
      const ops::TensorType& type = expected[i]->tensor();
      bool fits = impl.dtype == type.dtype && impl.shape.size() == type.shape.size();
      for (size_t d = 0; fits && d < type.shape.size(); ++d)
        fits = !type.shape[d].is_constant() || type.shape[d].constant() == impl.shape[d];
      WEFT_CHECK(fits, fmt::format("{}: input {}: expected {}, got {}", graph_->name, i, type.str(),
                                   weft::describe(inputs[i])));
    }
  }

  // The plan for these inputs' layout, or null where there are too many already. C order always gets one.
  std::shared_ptr<const Plan> other_plan(const std::vector<Tensor>& inputs) const {
    const std::lock_guard lock(mutex_);
    for (const auto& other : others_)
      if (other->accepts(inputs)) return other;
    std::vector<Strides> strides;
    for (const Tensor& input : inputs) strides.push_back(input.is_contiguous() ? Strides() : input.strides());
    const bool in_c_order =
        std::all_of(strides.begin(), strides.end(), [](const Strides& s) { return s.empty(); });
    if (!in_c_order && others_.size() >= kMaxPlans) return nullptr;
    others_.push_back(std::make_shared<Plan>(graph_, strides, options_));
    return others_.back();
  }

  std::vector<Tensor> run_other_layout(const std::vector<Tensor>& inputs) const {
    if (const std::shared_ptr<const Plan> plan = other_plan(inputs)) return plan->run(inputs);
    std::vector<Tensor> copies;
    for (const Tensor& input : inputs) copies.push_back(input.contiguous());
    for (const ir::WriteBack& write : graph_->write_backs)
      WEFT_CHECK(copies[write.input].impl() == inputs[write.input].impl(),
                 fmt::format("{}: too many layouts of an array that is written to", graph_->name));
    return run(copies);
  }
};

}  // namespace

std::shared_ptr<CompiledGraph> compile(std::unique_ptr<ir::Graph> graph, const CompileOptions& options) {
  const profiling::Span span([&] { return "compile graph " + graph->name; }, profiling::Kind::Compile);
  if (options.run_passes) run_graph_stages(*graph);
  return std::make_shared<CompiledGraphImpl>(std::move(graph), options);
}

}  // namespace weft::compiler
