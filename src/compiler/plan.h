// Runs a program: what CompiledGraph::run executes.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/program.h"
#include "core/index_arrays.h"
#include "core/profiling.h"
#include "weft/error.h"

namespace weft::compiler {

class CallLists;
class RecordedRuns;

// Valid for one set of input strides.
class Plan {
 public:
  // `input_strides`: known strides of the inputs; empty shapes mean contiguous.
  Plan(std::shared_ptr<const ir::Graph> graph, std::vector<Strides> input_strides,
       const CompileOptions& options);
  ~Plan();

  bool accepts(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  const std::vector<KernelInfo>& kernels() const { return program_.kernels; }
  std::string describe() const;

 private:
  std::shared_ptr<const ir::Graph> graph_;
  std::vector<Strides> input_strides_;
  Program program_;
  const char* name_;  // of its runs in profiles
  const bool autotunes_;
  std::unique_ptr<CallLists> lists_;        // null: runs are not prepared
  std::unique_ptr<RecordedRuns> recorded_;  // null: runs are not recorded

  void bind_symbols(const std::vector<Tensor>& inputs, std::vector<int64_t>& symbols) const;
  // What a run holds. `at_home`: inputs that are written back may be written before the end.
  struct Run {
    // Elements on a device that is not the host.
    struct Elsewhere {
      Tensor base;
      std::vector<Tensor> indices;
    };
    // What a step replaced in an input: a part, or elements.
    struct Replaced {
      std::variant<Tensor, IndexedElements, Elsewhere> what;
      Tensor values;
    };
    std::vector<Tensor> slots;
    std::vector<int64_t> symbols;
    bool at_home;
    std::vector<Replaced> replaced;
    std::vector<std::unique_ptr<ops::BegunCall>> begun;  // by PlanStep::call; the memory is among `slots`
    size_t num_begun = 0;                                // and not waited for

    // Moves on what is under way.
    void advance() {
      if (num_begun > 0) [[unlikely]]
        advance_begun();
    }
    void advance_begun();
    // After an error: what is under way is done, and the inputs are what they were.
    void restore();
  };
  friend class CallList;
  bool may_write_homes(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> run_steps(const std::vector<Tensor>& inputs, Run& run) const;
  void perform(const PlanStep& step, Run& run) const;
  // The results, when all steps are done: inputs are written back now.
  std::vector<Tensor> finish(const std::vector<Tensor>& inputs, Run& run) const;
  static Tensor room_for(const PlannedOutput& output, const Run& run);
  void run_kernel(const PlanStep& step, Run& run) const;
  void run_update(const PlanStep& step, Run& run) const;
  bool replace_in_place(const PlanStep& step, Run& run) const;
  void run_call(const PlanStep& step, Run& run) const;
  void begin_call(const PlanStep& step, Run& run) const;
  static void wait_for_call(const PlanStep& step, Run& run);
  // `is_checked`: the operator has been called on operands of these types.
  static std::vector<Tensor> call(const PlanStep& step, const std::vector<Tensor>& operands,
                                  const ops::Attrs& attrs, bool is_checked);
  [[noreturn]] static void rethrow_with_place(const PlanStep& step, const Error& error);
  static void describe_work(const PlanStep& step, const Run& run, profiling::Span& span);
  bool is_over_base(const PlanStep& step, const Run& run) const;
  void write_back(const std::vector<Tensor>& inputs, const Run& run, std::vector<Tensor>& outputs) const;
};

}  // namespace weft::compiler
