// Runs a program: what CompiledGraph::run executes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/program.h"

namespace weft::compiler {

// Valid for one set of input strides.
class Plan {
 public:
  // `input_strides`: known strides of the inputs; empty shapes mean contiguous.
  Plan(std::shared_ptr<const ir::Graph> graph, std::vector<Strides> input_strides,
       const CompileOptions& options);

  bool accepts(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  const std::vector<KernelInfo>& kernels() const { return program_.kernels; }
  std::string describe() const;

 private:
  std::shared_ptr<const ir::Graph> graph_;
  std::vector<Strides> input_strides_;
  Program program_;
  const char* name_;  // of its runs in profiles

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
  static std::vector<Tensor> call(const PlanStep& step, std::vector<Tensor>& operands, const Run& run);
  bool is_over_base(const PlanStep& step, const Run& run) const;
  void write_back(const std::vector<Tensor>& inputs, const Run& run, std::vector<Tensor>& outputs) const;
};

}  // namespace weft::compiler
