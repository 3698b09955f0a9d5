// A block's threads on the host: one after the other, or, where they wait for each other, fibers that are
// switched between at barriers.
#pragma once

#include <cstdint>

namespace weft::cuda {

// What kernels' text reads (codegen/grid_words.inc).
struct EmulatedThread {
  int64_t thread = 0, block = 0, blocks = 1;
  uint64_t* shared = nullptr;
  uint64_t* exchange = nullptr;
  void (*barrier)(EmulatedThread*) = nullptr;
  void (*warp_barrier)(EmulatedThread*) = nullptr;
};
using EmulatedEntry = void (*)(EmulatedThread* thread, void* const* parameters);

struct EmulatedLaunch {
  int64_t blocks;
  bool waits;
  int64_t shared = 0;  // bytes that the launch brings, behind the 48 KiB that each kernel has
};

// Runs all blocks. Threads go on in an order that `seed` decides (0: that of their numbers), and shared
// memory holds arbitrary bytes when a block begins. False where some threads of a block (or warp) wait at a
// barrier that others never come to.
bool run_blocks(EmulatedEntry entry, void* const* parameters, const EmulatedLaunch& launch, uint64_t seed);

}  // namespace weft::cuda
