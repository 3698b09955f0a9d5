// libweft_mpi.so: the only code of weft that is compiled against MPI.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "distributed/mpi_shim/interface.h"

namespace {

MPI_Comm g_ranks = MPI_COMM_NULL;  // of weft's own: a program's messages are apart from them

struct Request {
  MPI_Request handle = MPI_REQUEST_NULL;
  bool is_under_way = false;
};

// By number. Requests stay where they are: MPI may keep their addresses.
std::deque<Request>& requests() {
  static auto& all = *new std::deque<Request>;
  return all;
}

int32_t free_number() {
  auto& all = requests();
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Request& request) { return !request.is_under_way; });
  const auto number = static_cast<int32_t>(found - all.begin());
  if (found == all.end()) all.emplace_back();
  return number;
}

// Begins what takes an MPI_Request*.
template <class F>
int32_t begin(int32_t* number, F&& body) {
  *number = free_number();
  Request& request = requests()[static_cast<size_t>(*number)];
  const int error = body(&request.handle);
  request.is_under_way = error == 0;
  return error;
}

MPI_Datatype type_of(int32_t type) {
  switch (type) {
    case kMpiI8: return MPI_INT8_T;
    case kMpiI16: return MPI_INT16_T;
    case kMpiI32: return MPI_INT32_T;
    case kMpiI64: return MPI_INT64_T;
    case kMpiU8: return MPI_UINT8_T;
    case kMpiU16: return MPI_UINT16_T;
    case kMpiU32: return MPI_UINT32_T;
    case kMpiU64: return MPI_UINT64_T;
    case kMpiF64: return MPI_DOUBLE;
    default: return MPI_FLOAT;
  }
}

MPI_Op op_of(int32_t op) {
  switch (op) {
    case kMpiProduct: return MPI_PROD;
    case kMpiMin: return MPI_MIN;
    case kMpiMax: return MPI_MAX;
    default: return MPI_SUM;
  }
}

int32_t start(int32_t* rank, int32_t* size) {
  int is_started = 0, provided = 0, ranks = 0, own = 0;
  if (const int error = MPI_Initialized(&is_started)) return error;
  if (!is_started)
    if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)) return error;
  if (const int error = MPI_Comm_dup(MPI_COMM_WORLD, &g_ranks)) return error;
  MPI_Comm_set_errhandler(g_ranks, MPI_ERRORS_RETURN);
  if (const int error = MPI_Comm_rank(g_ranks, &own)) return error;
  if (const int error = MPI_Comm_size(g_ranks, &ranks)) return error;
  *rank = own, *size = ranks;
  return 0;
}

int32_t finish() {
  int is_finished = 0;
  if (const int error = MPI_Finalized(&is_finished)) return error;
  return is_finished ? 0 : MPI_Finalize();
}

void abort_all(int32_t status) { MPI_Abort(MPI_COMM_WORLD, status); }

int32_t all_reduce(void* data, int32_t count, int32_t type, int32_t op, int32_t* number) {
  return begin(number, [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, data, count, type_of(type), op_of(op), g_ranks, request);
  });
}
int32_t all_gather(const void* from, void* to, int32_t bytes, int32_t* number) {
  return begin(number, [&](MPI_Request* request) {
    return MPI_Iallgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, g_ranks, request);
  });
}
int32_t reduce_scatter(const void* from, void* to, int32_t count, int32_t type, int32_t op, int32_t* number) {
  return begin(number, [&](MPI_Request* request) {
    return MPI_Ireduce_scatter_block(from, to, count, type_of(type), op_of(op), g_ranks, request);
  });
}
int32_t broadcast(void* data, int32_t bytes, int32_t root, int32_t* number) {
  return begin(number, [&](MPI_Request* request) {
    return MPI_Ibcast(data, bytes, MPI_BYTE, root, g_ranks, request);
  });
}
int32_t barrier(int32_t* number) {
  return begin(number, [&](MPI_Request* request) { return MPI_Ibarrier(g_ranks, request); });
}

int32_t test(int32_t number, int32_t* is_done) {
  Request& request = requests()[static_cast<size_t>(number)];
  int flag = 0;
  const int error = MPI_Test(&request.handle, &flag, MPI_STATUS_IGNORE);
  *is_done = flag;
  if (flag) request.is_under_way = false;
  return error;
}

void describe(int32_t error, char* text, int32_t capacity) {
  char message[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(error, message, &length);
  const size_t count = std::min(std::strlen(message), static_cast<size_t>(capacity) - 1);
  std::memcpy(text, message, count);
  text[count] = '\0';
}

constexpr WeftMpiInterface kInterface = {.version = kWeftMpiVersion,
                                         .start = start,
                                         .finish = finish,
                                         .abort = abort_all,
                                         .all_reduce = all_reduce,
                                         .all_gather = all_gather,
                                         .reduce_scatter = reduce_scatter,
                                         .broadcast = broadcast,
                                         .barrier = barrier,
                                         .test = test,
                                         .describe = describe};

}  // namespace

extern "C" __attribute__((visibility("default"))) const WeftMpiInterface* weft_mpi_interface() {
  return &kInterface;
}
