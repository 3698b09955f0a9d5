// How a loop nest is mapped to a grid of blocks of threads, as GPUs have: one or several kernels, one after
// the other.
//
// Threads take elements of the outer loops, or a group of threads takes a row where reductions run along
// rows. A reduction of few results and many elements is split: a kernel of its own leaves the results of
// parts in memory, and the next kernels combine these. The parts depend on sizes alone, so that results are
// the same on every device.
#pragma once

#include <string>
#include <vector>

#include "nest/loop_nest.h"

namespace weft::nest {

// Nest pass: lanes are threads, each with one element.
void give_threads_elements(LoopNest& nest);

inline constexpr int kGridThreads = 256;  // of every block
inline constexpr int kGridWarp = 32;

// A reduction whose result is combined from parts in memory.
struct GridSplit {
  ScopeId scope;    // the reduction
  bool by_threads;  // each part by one thread, in turn with the others; else by a block, from end to end
  Sym results;      // how many each of its accumulators has
  Sym extent;       // elements per result
};

struct GridPhase {
  enum class Shape : uint8_t {
    Single,    // one block: what is outside of loops
    Elements,  // one thread per element
    Rows,      // a group of `group` threads per row
    Parts,     // parts of `split`
  };
  Shape shape;
  int split = -1;      // into GridPlan::splits; the earlier ones are combined from their parts
  int group = 1;       // threads per item
  Sym items = 1;       // of Parts: results; times the parts
  bool waits = false;  // threads wait for each other
  std::string name;    // of the kernel
};

struct GridPlan {
  std::vector<GridSplit> splits;
  std::vector<GridPhase> phases;
};
GridPlan plan_grid(const LoopNest& nest);

// Into how many parts a reduction of so many elements falls; the text in the grid's prelude is the same.
int64_t parts_of_blocks(int64_t extent);
int64_t parts_of_threads(int64_t extent, int64_t results);

Sym extent_of(const LoopNest& nest, const std::vector<int>& loops);

}  // namespace weft::nest
