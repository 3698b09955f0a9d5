// What follows from a whole loop nest: how many lanes its loops have, what it costs, how it writes.
#pragma once

#include "codegen/loop_nest.h"

namespace weft::codegen {

// As many lanes as registers hold of the widest type computed with; reductions keep several registers
// of partial results, so that additions overlap.
void choose_lanes(LoopNest& nest);
// Loads that lanes go along a ring with: a loop that is split where a ring ends reads memory in order.
void split_at_ring_ends(LoopNest& nest);
// Large enough that nothing of it would be found in the caches later. Only stores that fill whole cache
// lines, aligned, bypass the caches: one flat loop.
bool writes_much(const LoopNest& nest, ScopeId innermost);
// Nanoseconds per element of the innermost loops: what arithmetic and memory take, whichever is more.
double cost_per_element(const LoopNest& nest);

}  // namespace weft::codegen
