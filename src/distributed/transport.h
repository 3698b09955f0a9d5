// What moves bytes between ranks. One call at a time. A collective is begun; it ends with its result on this
// rank, or with an Error, when it has been waited for, and its memory stays untouched until then. Several may
// be under way; all ranks begin them in one order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/device.h"
#include "weft/distributed.h"
#include "weft/dtype.h"

namespace weft::distributed {

// What is to be waited for; none where the device's own order is all there is.
using Requests = std::vector<int32_t>;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Whose memory it moves; what it begins on another device than the CPU is in order with that one's work.
  virtual Device device() const { return {}; }
  // In place; dtypes: integers, float32, float64.
  [[nodiscard]] virtual Requests all_reduce(void* data, int64_t count, DType dtype, ReduceOp op) = 0;
  // `bytes` of each rank.
  [[nodiscard]] virtual Requests all_gather(const void* from, void* to, int64_t bytes) = 0;
  // `count` elements for each rank; overwrites `from`.
  [[nodiscard]] virtual Requests reduce_scatter(void* from, void* to, int64_t count, DType dtype,
                                                ReduceOp op) = 0;
  [[nodiscard]] virtual Requests broadcast(void* data, int64_t bytes, int root) = 0;
  // Done? Moves what is under way on; never waits.
  virtual bool test(Requests& requests) = 0;
  virtual void wait(Requests requests) = 0;
  // Waits for all ranks.
  virtual void barrier() = 0;
  // Waits for all ranks; nothing follows.
  virtual void finish() = 0;
  // Ends all ranks; returns where the transport cannot.
  virtual void abort(int status) = 0;
};

// RuntimeError, saying what is missing.
std::unique_ptr<Transport> open_mpi_transport(double timeout);
// Memory of the GPUs, each rank's own: ranks find each other by `host`, which outlives it and moves the
// host's.
std::unique_ptr<Transport> open_host_transport_for_nccl(double timeout);
std::unique_ptr<Transport> open_nccl_transport(Transport& host, double timeout);

}  // namespace weft::distributed
