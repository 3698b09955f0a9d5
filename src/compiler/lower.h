// From a fusion group to a loop nest.
//
// Values are evaluated at an index: a stored value is loaded, a view changes the index, a pointwise operator
// becomes its scalar expression over its operands evaluated at theirs, a reduction becomes a loop in the
// scope its own index belongs to. Which loops there are at the outside follows from the group's roots.
#pragma once

#include <vector>

#include "nest/loop_nest.h"
#include "nest/walk.h"

namespace weft::compiler {

using namespace nest;  // what a graph is lowered to

// Values written by one kernel; all of one shape.
struct FusionGroup {
  std::vector<ir::Value*> roots;
};

struct LowerOptions {
  int vector_bytes = 64;
  bool is_read_later = true;  // by the plan that the kernel belongs to
};

// The nest as it follows from the graph alone; the stages over nests (nest/passes.h) decide the rest.
LoopNest lower(const FusionGroup& group, const Memory& memory, const LowerOptions& options);

}  // namespace weft::compiler
