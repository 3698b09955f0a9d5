// A graph as a list of steps over slots: what CompiledGraph::run executes.
#pragma once

#include <algorithm>
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
  int home = -1;  // the input that it is written back to, and whose memory it may take at once
  int over = -1;  // an operand of this type that nothing uses later: its memory, where no other tensor has it
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
  std::vector<int> reads_elsewhere;  // at other positions than the kernel writes
  std::vector<int> like_output;      // operands of the type of its one output
  // … or an operator call.
  const ir::Node* node = nullptr;
  ops::Attrs attrs;
  ops::PreparedFn prepared;  // instead of `node`, where the operator has work that one preparation does
  bool is_checked =
      false;  // all sizes were known when the graph was made: its check of the operands has been passed
  std::vector<int> inputs;  // -1: absent
  std::vector<int> results;
  // … or room for what replaces a part of inputs[0], and a copy of the rest; `outputs`: the result, and the
  // part, which is filled from inputs[1] or, where there is none, by a kernel.
  bool is_update = false;
  std::vector<std::pair<size_t, Sym>> starts;
  // Of an update, and of an operator call that gives inputs[0] with something replaced: nothing uses
  // inputs[0] later. Where no other tensor has its memory either, the result is written there.
  bool takes_base = false;
  bool keeps_base = false;  // the kernel that writes the part reads the base elsewhere
  // The same, and no other tensor has its memory: it is the result of an earlier step, or an input that is
  // written back.
  bool is_over_base = false;

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
  bool is_home = false;                        // computed in the input's memory, where that may be
};

// Decides which steps write over what nothing needs any more: over a base, or over an input that is written
// back (is_over_base, home, is_home). `num_inputs`: the slots of the inputs are the first.
void plan_in_place(std::vector<PlanStep>& steps, std::vector<PlannedWriteBack>& write_backs,
                   const std::vector<int>& output_slots, int num_inputs, int num_slots);

inline bool contains(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

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
  std::vector<Tensor> given_constants_;  // those that outputs are, or are views of
  std::vector<PlannedWriteBack> write_backs_;
  std::vector<SymbolSource> symbol_sources_;
  bool bind_with_graph_ = false;  // symbols that are not plain sizes
  int num_slots_ = 0;
  std::vector<KernelInfo> kernels_;
  std::vector<std::shared_ptr<const runtime::Module>> modules_;

  void bind_symbols(const std::vector<Tensor>& inputs, std::vector<int64_t>& symbols) const;
  // What a run holds. `at_home`: inputs that are written back may be written before the end.
  struct Run {
    std::vector<Tensor> slots;
    std::vector<int64_t> symbols;
    bool at_home;
  };
  bool may_write_homes(const std::vector<Tensor>& inputs) const;
  static Tensor room_for(const PlannedOutput& output, const Run& run);
  void run_kernel(const PlanStep& step, Run& run) const;
  void run_update(const PlanStep& step, Run& run) const;
  bool replace_in_place(const PlanStep& step, Run& run) const;
  void run_call(const PlanStep& step, Run& run) const;
  bool is_over_base(const PlanStep& step, const Run& run) const;
  void write_back(const std::vector<Tensor>& inputs, const Run& run, std::vector<Tensor>& outputs) const;
  friend class Planner;
};

}  // namespace weft::codegen
