// Decides what a graph becomes: which values are kept in memory, which kernels write them, and which nodes
// are operator calls.
//
// Everything that can be computed where it is used is, down from the values that must exist: outputs,
// write-backs and operands of operators that are no loops. Beyond these a value is stored when computing it
// in place would repeat work: a reduction that is not constant along the loops inside it, one that several
// kernels need, or a costly value that several kernels need. Stored values of one shape that read common
// memory share a kernel.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/lower.h"
#include "ir/graph.h"

namespace weft::passes {

struct FusionStep {
  codegen::FusionGroup group;  // a kernel writing these, or
  ir::Node* node = nullptr;    // an operator call (a view of something stored included)
};

struct FusionPlan {
  std::vector<FusionStep> steps;   // in order of execution
  codegen::Memory memory;          // everything held, with strides in elements
  std::vector<std::string> notes;  // what was stored or kept apart, and why: WEFT_LOGS=fusion
};

// `input_strides`: of the graph's inputs; contiguous where empty.
FusionPlan fuse(const ir::Graph& graph, const std::vector<SymShape>& input_strides = {});

}  // namespace weft::passes
