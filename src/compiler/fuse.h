// Decides what a graph becomes: which values are kept in memory, which kernels write them, and which nodes
// are operator calls.
//
// Everything that can be computed where it is used is, down from the values that must exist: outputs,
// write-backs and operands of operators that are no loops. Beyond these a value is stored when computing it
// in place would repeat work: a reduction that is not constant along the loops inside it, one that several
// kernels need, or a costly value that several kernels need. Stored values of one shape that read common
// memory share a kernel. What replaces a part of an array is written where it belongs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/lower.h"
#include "ir/graph.h"

namespace weft::compiler {

struct FusionStep {
  FusionGroup group;         // a kernel writing these, or
  ir::Node* node = nullptr;  // an operator call (a view of something stored included)
};

// A value that is `base` with `source` in place of a part: slice_update, or several of them, one in the slice
// of the other. The source's kernel writes into the value's own memory, of which only the rest is copied from
// the base.
struct Update {
  ir::Value* result;
  ir::Value* base;
  ir::Value* source;
  std::vector<std::pair<size_t, Sym>>
      starts;              // dimension and first position of the part; its size is the source's
  bool is_copied = false;  // the source is stored by itself, or a view, and copied to its place
  bool keeps_base = true;  // the source's kernel reads the base, and not only where it writes
};

struct FusionPlan {
  std::map<const ir::Value*, Update> updates;  // by result
  std::set<const ir::Value*> updating;         // their sources
  std::map<const ir::Value*, Update>
      in_place;  // results that are written back to their base, and used nowhere else
  // By value that a kernel writes: what that kernel reads at other positions than it writes the value.
  std::map<const ir::Value*, std::set<const ir::Value*>> elsewhere;
  std::vector<FusionStep> steps;   // in order of execution
  Memory memory;                   // everything held, with strides in elements
  std::vector<std::string> notes;  // what was stored or kept apart, and why: WEFT_LOGS=fusion
};

// `input_strides`: of the graph's inputs; contiguous where empty.
FusionPlan fuse(const ir::Graph& graph, const std::vector<SymShape>& input_strides = {});

// A line per step: "kernel %y, %3", "call sort -> %4".
std::string str(const FusionPlan& plan);
// Throws an internal error unless kernels write values of one shape, and every value is computed by one step.
void verify(const FusionPlan& plan);

}  // namespace weft::compiler
