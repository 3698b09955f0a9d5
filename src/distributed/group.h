// The process group for code that moves memory of its own: no checks of what the others were called with.
#pragma once

#include <cstdint>

#include "weft/device.h"
#include "weft/distributed.h"
#include "weft/dtype.h"

namespace weft::distributed {

// Is there a transport of such devices' memory (of one per rank: others are an error)? False for the CPU,
// where all are.
bool reaches(Device device);

// In place; integers, float32, float64.
void all_reduce_memory(void* data, int64_t count, DType dtype, ReduceOp op);
// `bytes` of each rank, one after another.
void all_gather_memory(const void* from, void* to, int64_t bytes);
void broadcast_memory(void* data, int64_t bytes, int root);

}  // namespace weft::distributed
