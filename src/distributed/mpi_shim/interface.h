// What libweft_mpi.so gives libweft: MPI without its types, which differ between implementations, so that
// libweft is built and runs where there is none.
#pragma once

#include <cstdint>

// DType and ReduceOp as numbers of the shim's own.
enum WeftMpiType : int32_t {
  kMpiI8,
  kMpiI16,
  kMpiI32,
  kMpiI64,
  kMpiU8,
  kMpiU16,
  kMpiU32,
  kMpiU64,
  kMpiF32,
  kMpiF64
};
enum WeftMpiOp : int32_t { kMpiSum, kMpiProduct, kMpiMin, kMpiMax };

// Functions give 0, or an error that `describe` knows. A collective is begun, several may be under way;
// `test` says of one whether it is done, and ends it then. Memory stays untouched until then. Counts fit into
// an int.
struct WeftMpiInterface {
  int32_t version;
  int32_t (*start)(int32_t* rank, int32_t* size);
  int32_t (*finish)();
  void (*abort)(int32_t status);
  int32_t (*all_reduce)(void* data, int32_t count, int32_t type, int32_t op, int32_t* request);
  int32_t (*all_gather)(const void* from, void* to, int32_t bytes, int32_t* request);
  int32_t (*reduce_scatter)(const void* from, void* to, int32_t count, int32_t type, int32_t op,
                            int32_t* request);
  int32_t (*broadcast)(void* data, int32_t bytes, int32_t root, int32_t* request);
  int32_t (*barrier)(int32_t* request);
  int32_t (*test)(int32_t request, int32_t* is_done);
  void (*describe)(int32_t error, char* text, int32_t capacity);
};

inline constexpr int32_t kWeftMpiVersion = 2;
inline constexpr const char* kWeftMpiSymbol = "weft_mpi_interface";
using WeftMpiFunction = const WeftMpiInterface*();
