// What follows from a whole loop nest (compiler/stages.cc and each device's schedule list the order).
#pragma once

#include <string_view>

#include "nest/loop_nest.h"

namespace weft::nest {

// One of those that a device maps nests with (Backend::schedule).
struct NestPass {
  std::string_view name;
  std::string_view doc;
  void (*run)(LoopNest& nest);
};

// As many lanes as registers hold of the widest type computed with; reductions keep several registers
// of partial results, so that additions overlap.
void choose_lanes(LoopNest& nest);
// Nanoseconds per element of the innermost loops: what arithmetic and memory take, whichever is more.
void estimate_cost(LoopNest& nest);
// Loads that lanes go along a ring with: a loop that is split where a ring ends reads memory in order.
void split_at_ring_ends(LoopNest& nest);
// Stores bypass the caches where nothing would be found in them later (WEFT_STREAMING_BYTES).
void choose_streaming(LoopNest& nest);
// Strided accesses that together read every element become one contiguous load.
void find_load_groups(LoopNest& nest);
// Orders every scope's statements so that what is used comes first.
void order_statements(LoopNest& nest);

// ---- what printing asks of a finished nest ----

// The one reduction along the rows of a scope whose lanes run along columns, if it can be kept in the
// result's memory between blocks of rows, so that every row is read as a whole; -1 if there is none.
ScopeId blocked_reduction(const LoopNest& nest, ScopeId vector);
// Operands that are read after the results' memory has got something else: the sums of a blocked reduction,
// or values that a loop keeps there for a later one.
std::vector<int> operands_read_after_stores(const LoopNest& nest);
// As many as the second-level cache holds.
int64_t rows_of_block(const LoopNest& nest, ScopeId vector);

}  // namespace weft::nest
