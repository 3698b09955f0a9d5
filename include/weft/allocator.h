// The memory that tensors live in: freed blocks are kept and given out again, because the first touch of
// fresh pages costs more than many kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// One set of figures for the process; sizes in bytes, after rounding to the allocator's size classes.
struct AllocatorStats {
  size_t allocated = 0;       // in use by storages
  size_t peak_allocated = 0;  // largest value of `allocated` so far
  size_t cached = 0;          // kept for reuse
  int64_t num_requests = 0;   // allocations asked for
  int64_t num_reused = 0;     // of these, how many were served from kept blocks
};

AllocatorStats allocator_stats();
// Returns every kept block to the system.
void empty_allocator_cache();
// Largest number of bytes kept for reuse: WEFT_ALLOCATOR_LIMIT, by default a quarter of the machine's memory.
size_t allocator_limit();
void set_allocator_limit(size_t bytes);

namespace detail {

// At least `nbytes` bytes, aligned to 64; `capacity` is what deallocate wants back. MemoryError naming the
// size.
void* allocate(size_t nbytes, size_t* capacity);
void deallocate(void* data, size_t capacity) noexcept;

}  // namespace detail

}  // namespace weft
