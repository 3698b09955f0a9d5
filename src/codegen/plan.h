// A graph as a list of steps over slots: what CompiledGraph::run executes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/compiled_graph.h"
#include "codegen/print_cpp.h"
#include "ir/graph.h"
#include "runtime/toolchain.h"

namespace weft::codegen {

// A size or stride known when the plan is made, or computed from the symbols at each run.
struct PlannedShape {
  SymShape sizes;
  Shape known;  // all sizes, where they are constant
  bool is_constant = false;
  Shape evaluate(const std::vector<int64_t>& symbols) const;
};

struct PlannedOutput {
  int slot;
  DType dtype;
  PlannedShape shape;
};

// Elements of the last dimension, from `first` on.
struct PlannedPart {
  PlannedOutput whole;
  int64_t first, count;
};

struct PlanStep {
  // A kernel …
  KernelFn kernel = nullptr;
  std::vector<int> arrays;             // slots, in the kernel's order
  std::vector<PlannedOutput> outputs;  // allocated before it runs
  std::vector<const void*> functions;
  // … or an operator call.
  const ir::Node* node = nullptr;
  ops::Attrs attrs;
  ops::PreparedFn prepared;  // instead of `node`, where the operator has work that one preparation does
  std::vector<int> inputs;  // -1: absent
  std::vector<int> results;
  // … or room for what replaces a part of inputs[0], and a copy of the rest; `outputs`: the result, and the part, which
  // is filled from inputs[1] or, where there is none, by a kernel.
  bool is_update = false;
  std::vector<std::pair<size_t, Sym>> starts;
  // Of an update, and of an operator call that gives inputs[0] with something replaced: nothing uses inputs[0] later. Where
  // no other tensor has its memory either, the result is written there.
  bool takes_base = false;

  // … whose result is a part of a slot's tensor: these channels of a concatenation.
  std::optional<PlannedPart> part;

  bool keeps_views = false;  // a view: its result need not be contiguous

  std::vector<int> released;  // slots whose last use this is
  std::string description;
};

struct PlannedWriteBack {
  size_t input;
  int slot;
  std::vector<std::pair<size_t, Sym>> starts;  // of the part that is written; none: all
};

struct SymbolSource {
  int symbol;
  size_t input, dim;
};

// Valid for one set of input strides.
class Plan {
 public:
  // `input_strides`: known strides of the inputs; empty shapes mean contiguous.
  Plan(std::shared_ptr<const ir::Graph> graph, std::vector<Strides> input_strides,
       const CompileOptions& options);

  bool accepts(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  std::string describe() const;

 private:
  std::shared_ptr<const ir::Graph> graph_;
  std::vector<Strides> input_strides_;
  std::vector<bool> is_strided_;
  std::vector<PlanStep> steps_;
  std::vector<std::pair<int, Tensor>> constants_;
  std::vector<int> output_slots_;
  std::vector<PlannedWriteBack> write_backs_;
  std::vector<SymbolSource> symbol_sources_;
  bool bind_with_graph_ = false;  // symbols that are not plain sizes
  int num_slots_ = 0;
  std::vector<KernelInfo> kernels_;
  std::vector<std::shared_ptr<const runtime::Module>> modules_;

  void bind_symbols(const std::vector<Tensor>& inputs, std::vector<int64_t>& symbols) const;
  void run_kernel(const PlanStep& step, std::vector<Tensor>& slots,
                  const std::vector<int64_t>& symbols) const;
  void run_update(const PlanStep& step, std::vector<Tensor>& slots, const std::vector<int64_t>& symbols) const;
  bool replace_in_place(const PlanStep& step, std::vector<Tensor>& slots, const std::vector<int64_t>& symbols) const;
  void run_call(const PlanStep& step, std::vector<Tensor>& slots, const std::vector<int64_t>& symbols) const;
  friend class Planner;
};

}  // namespace weft::codegen
