// Which loops a fusion group has at the outside.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/lower.h"

namespace weft::compiler {

// How the outer dimensions of a group become loops.
struct OuterLoops {
  std::vector<std::vector<size_t>> groups;  // dimensions merged into each loop, outermost first
  // Not empty: each dimension is gone over by several loops of these extents, as it is read from an array of
  // such dimensions that are not one behind the other.
  std::vector<SymShape> split;
  bool rows = false;  // no lanes along the last loop: reductions inside have them
  // The last of `groups` is written out, element by element: a few columns, or all of a small result.
  bool unroll_last = false;
};

// The reductions (with loops of their own) that a value of a group is computed from.
class ReductionsBelow {
 public:
  // `inside`: stored values that the group computes, and does not load.
  ReductionsBelow(const Memory& memory, const std::set<const ir::Value*>& inside)
      : memory_(memory), inside_(inside) {}
  const std::set<const ir::Value*>& of(const ir::Value* value);

 private:
  const Memory& memory_;
  const std::set<const ir::Value*>& inside_;
  std::map<const ir::Value*, std::set<const ir::Value*>> known_;
};

OuterLoops choose_outer_loops(const FusionGroup& group, const Memory& memory,
                              const std::set<const ir::Value*>& inside, ReductionsBelow& reductions);

// Index of the roots over these loops, which are made in `space`.
std::vector<Index> index_for(IndexSpace& space, const SymShape& shape, const OuterLoops& outer,
                             std::vector<int>* loops);

}  // namespace weft::compiler
