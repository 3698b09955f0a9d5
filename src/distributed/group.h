// The process group for code that does something else while a collective is under way, or that moves memory
// of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/device.h"
#include "weft/distributed.h"
#include "weft/dtype.h"

namespace weft::distributed {

// Is there a transport of such devices' memory (of one per rank: others are an error)? False for the CPU,
// where all are.
bool reaches(Device device);

// A collective that this rank has begun and the others may not have: what it reads and writes stays here.
class Begun {
 public:
  virtual ~Begun() = default;
  // Moves it on; never waits.
  virtual void advance() = 0;
  // Once: the result. Errors are those of the call that does not return before it is done, and the time that
  // the others have begins now.
  virtual Tensor wait() = 0;
};

// The calls of weft/distributed.h that do not wait for the result. Where ranks compare their calls they wait
// for each other here.
std::unique_ptr<Begun> begin_all_reduce(const Tensor& x, ReduceOp op);
std::unique_ptr<Begun> begin_all_gather(const Tensor& x);
std::unique_ptr<Begun> begin_reduce_scatter(const Tensor& x, ReduceOp op);
std::unique_ptr<Begun> begin_broadcast(const Tensor& x, int root);

// Of memory, without checks of what the others were called with.

// In place; integers, float32, float64.
void all_reduce_memory(void* data, int64_t count, DType dtype, ReduceOp op);
// `bytes` of each rank, one after another.
void all_gather_memory(const void* from, void* to, int64_t bytes);
void broadcast_memory(void* data, int64_t bytes, int root);

}  // namespace weft::distributed
