// Which arrays the threads of a grid read and write 16 bytes at a time: neighbouring elements of a loop whose
// addresses lie side by side.
#pragma once

#include <map>
#include <vector>

#include "nest/loop_nest.h"

namespace weft::nest {

inline constexpr int64_t kChunkBytes = 16;

// `stride` elements per step of the loop, all of which are read, or all written: of steps k … k + lanes - 1
// they are the elements base, base + 1, … , base being what it is at step k.
struct ChunkedAccess {
  int buffer;
  Index base;
  int64_t stride;
  bool is_written;
};

struct Chunks {
  int64_t lanes = 1;  // steps of the loop that a thread takes together
  std::vector<ChunkedAccess> accesses;
  // Which element of a step a load reads, and a store writes first: number into `accesses`, element below
  // `stride`.
  struct Place {
    size_t access;
    int64_t element;
  };
  std::map<NodeId, Place> loads;
  std::map<size_t, Place> stores;  // by the number of the store in its scope
  bool empty() const { return accesses.empty(); }
};

// Of the statements of `scope`, along `loop`; `row` is a multiple of the lanes. Addresses are multiples of a
// chunk where the array is and all numbers are that are not known. Empty where nothing would be gained.
Chunks find_chunks(const LoopNest& nest, ScopeId scope, int loop, Sym row);

}  // namespace weft::nest
