// Processes that compute together: ranks 0 to world_size - 1, started by mpirun, over MPI
// (docs/DISTRIBUTED.md).
//
//   weft::distributed::init_process_group({.backend = "mpi"});
//   const weft::Tensor total = weft::distributed::all_reduce(part);
//   weft::distributed::destroy_process_group();
//
// Every rank makes the same calls in the same order. A call returns when this rank has its result; one that
// waits longer than the group's timeout, or that the others made with other arguments, is a RuntimeError that
// names the rank. After a timeout the group is of no use any more: what follows raises the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::distributed {

enum class ReduceOp : uint8_t { Sum, Product, Min, Max };
// "sum", "product", "min", "max"; ValueError with the list for another.
ReduceOp reduce_op_from_name(const std::string& name);

struct InitOptions {
  std::string backend = "mpi";  // "mpi", or "nccl": also tensors on each rank's own GPU
  double timeout = 120;         // seconds that a call waits for the other ranks
  // Ranks compare what they were called with before each collective on tensors, in one more message: calls
  // that do not belong together are errors on all ranks. Without it they are undefined.
  bool check = true;
};

// Once in a process. ValueError for an unknown backend or a timeout that is not positive, RuntimeError where
// the backend's library or devices are missing, or a group is there or was.
void init_process_group(const InitOptions& options = {});
bool is_initialized();
// Waits for all ranks, then ends the transport; after a timeout, ends all ranks. RuntimeError without a
// group.
void destroy_process_group();
// Ends all ranks of the group with this status, at once; without a group, this process.
[[noreturn]] void abort_process_group(int status);

// RuntimeError without a group.
int get_rank();
int get_world_size();
std::string get_backend();
// "rank 1 of 4 (host)", for messages; "" without a group.
std::string rank_name();

// What a launcher said to this process in the environment (Open MPI's, MPICH's and their relatives'); nullopt
// where none started it.
struct Launch {
  int rank = 0, world_size = 1, local_rank = 0, local_size = 1;  // local: among those on this machine
};
std::optional<Launch> launch();

// New tensors. All ranks give the same shape and dtype: numbers, and bool for min and max; float16 and
// bfloat16 are added up in float32 and rounded once; complex numbers have a sum only. The result is the same,
// bit for bit, on every rank.
Tensor all_reduce(const Tensor& x, ReduceOp op = ReduceOp::Sum);
// [world_size * n, ...] of the ranks' [n, ...], in the order of the ranks.
Tensor all_gather(const Tensor& x);
// This rank's [n, ...] of the ranks' reduced [world_size * n, ...].
Tensor reduce_scatter(const Tensor& x, ReduceOp op = ReduceOp::Sum);
// What rank `root` has.
Tensor broadcast(const Tensor& x, int root = 0);
void barrier();

// Bytes of any length from `root` to all.
std::string broadcast_bytes(const std::string& bytes, int root = 0);

// Of this rank, since the start or reset_statistics().
struct Statistics {
  int64_t calls = 0, bytes = 0;  // of the operands
  double seconds = 0;            // waiting included
};
Statistics statistics();
void reset_statistics();

}  // namespace weft::distributed
