#include "compiler/steady_graph.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/memory_watch.h"
#include "ir/symbols.h"
#include "passes/analysis.h"

namespace weft::compiler {
namespace {

// A tensor's place in memory, held so that no other takes it.
struct Held {
  size_t input;
  Tensor tensor;
  std::shared_ptr<Storage> storage;
  int64_t offset;

  Held(size_t input_, const Tensor& tensor_)
      : input(input_), tensor(tensor_), storage(tensor_.storage()), offset(tensor_.offset()) {}
  bool is(const Tensor& other) const {
    return other.impl() == tensor.impl() && other.storage() == storage && other.offset() == offset;
  }
};

// May the input be a constant? Nobody may get its memory, and nothing in the graph writes to it.
bool may_be_constant(const ir::Graph& graph, size_t input) {
  const ir::Value* value = graph.inputs()[input];
  const bool is_target = std::any_of(graph.write_backs.begin(), graph.write_backs.end(),
                                     [&](const ir::WriteBack& write) { return write.input == input; });
  return !is_target && value->symbol < 0 && ir::is_constant(value->tensor().shape) &&
         !passes::escapes(value) && !passes::is_written(value) &&
         std::none_of(
             value->uses.begin(), value->uses.end(),
             [](const ir::Use& use) { return !use.user && !use.block; });
}

bool is_reduced(const ir::Value* value) {
  return std::any_of(value->uses.begin(), value->uses.end(), [](const ir::Use& use) {
    return use.user && use.user->op && use.user->op->kind == ops::OpKind::Reduction;
  });
}

// Convolutions with constant weights have images with their channels last. What reduces groups of channels,
// or resamples, would turn these round again, which costs more than packed weights give.
bool wants_channels_first(const ir::Graph& graph) {
  return std::any_of(graph.body().nodes.begin(), graph.body().nodes.end(), [](const auto& node) {
    if (node->is("upsample")) return true;
    return node->is("reshape") && node->inputs[0]->tensor().shape.size() == 4 &&
           node->output()->tensor().shape.size() >= 3 && is_reduced(node->output());
  });
}

bool is_of_convolution(const ir::Value* value) {
  return std::any_of(value->uses.begin(), value->uses.end(),
                     [](const ir::Use& use) { return use.user && use.user->is("convolution"); });
}

// The graph with some inputs as constants, compiled, and when it may run.
class Fixed {
 public:
  Fixed(const ir::Graph& graph, const std::vector<size_t>& steady, const std::vector<Tensor>& inputs,
        const CompileOptions& options) {
    std::vector<std::shared_ptr<Storage>> storages;
    for (const size_t input : steady) {
      if (!inputs[input].defined() || is_exposed(inputs[input].storage())) continue;
      held_.emplace_back(input, inputs[input]);
      storages.push_back(inputs[input].storage());
    }
    // Watched before anything of them is read.
    watch_ = std::make_unique<MemoryWatch>(std::move(storages));
    std::unique_ptr<ir::Graph> with_constants = graph.clone();
    ir::Block& body = with_constants->body();
    for (const Held& held : held_) {
      ir::Node* const first = body.nodes.empty() ? nullptr : body.nodes.front().get();
      const ir::Node* constant = with_constants->add_constant(body, held.tensor, {}, first);
      with_constants->replace_uses(with_constants->inputs()[held.input], constant->output());
    }
    graph_ = compile(std::move(with_constants), options);
  }

  bool fits(const std::vector<Tensor>& inputs) const {
    return watch_->is_unchanged() && std::all_of(held_.begin(), held_.end(), [&](const Held& held) {
             return held.is(inputs[held.input]);
           });
  }
  const CompiledGraph& graph() const { return *graph_; }

 private:
  std::vector<Held> held_;
  std::unique_ptr<MemoryWatch> watch_;
  std::shared_ptr<CompiledGraph> graph_;
};

class SteadyGraph final : public CompiledGraph {
 public:
  SteadyGraph(std::unique_ptr<ir::Graph> graph, const std::vector<Tensor>& inputs, CompileOptions options)
      : graph_(std::move(graph)), options_(std::move(options)) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined() && may_be_constant(*graph_, i)) steady_.push_back(i);
    if (wants_channels_first(*graph_))
      std::erase_if(steady_, [&](size_t input) { return is_of_convolution(graph_->inputs()[input]); });
    leave_large(inputs);
    fix(inputs);
    kernels_ = fixed_->graph().kernels();
    description_ = fixed_->graph().describe();
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const override {
    std::shared_ptr<const Fixed> fixed;
    {
      const std::lock_guard lock(mutex_);
      ++runs_;
      fixed = fixed_;
    }
    if (!fixed || !fixed->fits(inputs)) fixed = changed(inputs);
    return fixed ? fixed->graph().run(inputs) : plain().run(inputs);
  }
  // Of the first compilation.
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  std::string describe() const override { return description_; }

 private:
  // Constants are expected to serve so many runs. Each time they serve fewer, twice as many pass without any.
  static constexpr int64_t kRuns = 4, kMostRuns = int64_t{1} << 20;

  std::shared_ptr<const ir::Graph> graph_;
  CompileOptions options_;
  std::vector<size_t> steady_;
  std::vector<KernelInfo> kernels_;
  std::string description_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Fixed> fixed_;
  mutable std::shared_ptr<CompiledGraph> plain_;
  mutable int64_t runs_ = 0, fixed_at_ = 0, next_ = 0, wait_ = kRuns;

  // What is packed is a copy. Of weights that take much of the memory there is none: products with them are
  // so large, or have so few rows, that packing is a small part of one.
  void leave_large(const std::vector<Tensor>& inputs) {
    constexpr int64_t kMostBytes = int64_t{512} << 20, kSmall = int64_t{1} << 20;
    const auto bytes = [&](size_t input) { return inputs[input].numel() * itemsize(inputs[input].dtype()); };
    int64_t total = 0;
    for (const size_t input : steady_) total += bytes(input);
    if (total > kMostBytes) std::erase_if(steady_, [&](size_t input) { return bytes(input) > kSmall; });
  }

  void fix(const std::vector<Tensor>& inputs) const {
    fixed_ = std::make_shared<const Fixed>(*graph_, steady_, inputs, options_);
    fixed_at_ = runs_;
  }

  // With the inputs' elements as constants, or null while these change too often.
  std::shared_ptr<const Fixed> changed(const std::vector<Tensor>& inputs) const {
    std::shared_ptr<const Fixed> before;  // ends when the lock has been given back
    const std::lock_guard lock(mutex_);
    if (fixed_ && fixed_->fits(inputs)) return fixed_;
    if (fixed_) {
      before = std::move(fixed_);
      const bool was_short = runs_ - fixed_at_ < kRuns;
      wait_ = was_short ? std::min(2 * wait_, kMostRuns) : kRuns;
      // Once is what happens when weights are loaded after the first call.
      next_ = wait_ > 2 * kRuns ? runs_ + wait_ : runs_;
    }
    if (runs_ < next_) return nullptr;
    fix(inputs);
    return fixed_;
  }

  const CompiledGraph& plain() const {
    const std::lock_guard lock(mutex_);
    if (!plain_) plain_ = compile(graph_->clone(), options_);
    return *plain_;
  }
};

}  // namespace

std::shared_ptr<CompiledGraph> compile_steady(std::unique_ptr<ir::Graph> graph,
                                              const std::vector<Tensor>& steady,
                                              const CompileOptions& options) {
  return std::make_shared<SteadyGraph>(std::move(graph), steady, options);
}

}  // namespace weft::compiler
