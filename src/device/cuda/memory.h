// GPUs' memory: freed blocks are kept for the next request of their size class. All work of a device is in
// one stream, so a block can be given out again while kernels that use it are still to run: they come first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::cuda {

struct MemoryStats {
  size_t used = 0, cached = 0;              // bytes of tensors, and kept for reuse
  int64_t allocations = 0;                  // asked of the driver
  size_t most_used = 0, most_reserved = 0;  // of used, and of both together, since reset_peak_memory
};

// Memory that recorded work takes: it is given out again to that work alone, and is the pool's once the work
// is gone.
class RecordedMemory {
 public:
  explicit RecordedMemory(int device) : device_(device) {}
  ~RecordedMemory();
  RecordedMemory(const RecordedMemory&) = delete;
  RecordedMemory& operator=(const RecordedMemory&) = delete;
  // What the calling thread takes from now on, or no longer.
  void begin();
  void end();

 private:
  int device_;
};

// MemoryError that says what was asked and what is held, after the kept blocks were given back once.
void* take_memory(size_t nbytes, int device, size_t* capacity);
void give_memory(void* data, size_t capacity, int device) noexcept;
void release_kept_memory(int device);
MemoryStats memory_stats(int device);
void reset_peak_memory(int device);

}  // namespace weft::cuda
