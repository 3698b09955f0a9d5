// What follows from a whole loop nest: how many lanes its loops have, what it costs, how it writes.
#pragma once

#include "codegen/loop_nest.h"

namespace weft::codegen {

// As many lanes as registers hold of the widest type computed with; reductions keep several registers
// of partial results, so that additions overlap.
void choose_lanes(LoopNest& nest);
// Loads that lanes go along a ring with: a loop that is split where a ring ends reads memory in order.
void split_at_ring_ends(LoopNest& nest);
// Large enough (WEFT_STREAMING_BYTES) that nothing of it would be found in the caches later. Only stores that
// fill whole cache lines bypass the caches: one flat loop.
bool writes_much(const LoopNest& nest, ScopeId innermost);
// The one reduction along the rows of a scope whose lanes run along columns, if it can be kept in the
// result's memory between blocks of rows, so that every row is read as a whole; -1 if there is none.
ScopeId blocked_reduction(const LoopNest& nest, ScopeId vector);
// As many as the second-level cache holds.
int64_t rows_of_block(const LoopNest& nest, ScopeId vector);
// Nanoseconds per element of the innermost loops: what arithmetic and memory take, whichever is more.
double cost_per_element(const LoopNest& nest);

}  // namespace weft::codegen
