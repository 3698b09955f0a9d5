// A library with the functions of libnccl.so.2 that weft calls, for ranks on one machine with emulated GPUs:
// a rank's operand goes through a file that all have mapped. FAKE_NCCL=error: every collective fails.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t kRoom = size_t{1} << 20, kMostRanks = 8;

struct Shared {
  std::atomic<int> arrived, generation;
  alignas(64) char room[kMostRanks][kRoom];
};
struct Communicator {
  Shared* shared;
  int ranks, rank;
  std::string path;
};
struct UniqueId {
  char bytes[128];
};

// The process's address of memory of an emulated GPU.
template <class T>
T* here(T* there) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(there) ^ (uintptr_t{1} << 63));
}

void meet(const Communicator& all) {
  const int generation = all.shared->generation;
  if (++all.shared->arrived == all.ranks) {
    all.shared->arrived = 0;
    ++all.shared->generation;
    return;
  }
  while (all.shared->generation == generation) sched_yield();
}

bool fails() {
  const char* set = std::getenv("FAKE_NCCL");
  return set != nullptr && std::string(set) == "error";
}

size_t size_of(int type) { return type <= 1 ? 1 : type == 2 || type == 3 || type == 7 ? 4 : 8; }

template <class T>
void reduce(char* to, const char* from, size_t count, int op) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, to + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    a = static_cast<T>(op == 0 ? a + b : op == 1 ? a * b : op == 2 ? std::max(a, b) : std::min(a, b));
    std::memcpy(to + i * sizeof(T), &a, sizeof(T));
  }
}
void reduce_as(int type, char* to, const char* from, size_t count, int op) {
  switch (type) {
    case 0: return reduce<int8_t>(to, from, count, op);
    case 1: return reduce<uint8_t>(to, from, count, op);
    case 2: return reduce<int32_t>(to, from, count, op);
    case 3: return reduce<uint32_t>(to, from, count, op);
    case 4: return reduce<int64_t>(to, from, count, op);
    case 5: return reduce<uint64_t>(to, from, count, op);
    case 7: return reduce<float>(to, from, count, op);
    default: return reduce<double>(to, from, count, op);
  }
}

// All ranks' operands, one after another.
std::vector<char> gathered(const Communicator& all, const void* from, size_t bytes) {
  std::vector<char> result(bytes * static_cast<size_t>(all.ranks));
  for (size_t done = 0; done < bytes; done += kRoom) {
    const size_t now = std::min(kRoom, bytes - done);
    std::memcpy(all.shared->room[all.rank], static_cast<const char*>(here(from)) + done, now);
    meet(all);
    for (size_t r = 0; r < static_cast<size_t>(all.ranks); ++r)
      std::memcpy(result.data() + r * bytes + done, all.shared->room[r], now);
    meet(all);
  }
  return result;
}
std::vector<char> reduced(const Communicator& all, const void* from, size_t count, int type, int op) {
  const size_t bytes = count * size_of(type);
  std::vector<char> result = gathered(all, from, bytes);
  for (size_t r = 1; r < static_cast<size_t>(all.ranks); ++r)
    reduce_as(type, result.data(), result.data() + r * bytes, count, op);
  result.resize(bytes);
  return result;
}

}  // namespace

extern "C" {
const char* ncclGetErrorString(int error) {
  return error == 2 ? "unhandled system error" : error == 3 ? "internal error" : "no error";
}
int ncclGetVersion(int* version) { return *version = 22703, 0; }
int ncclGetUniqueId(UniqueId* id) {
  std::snprintf(id->bytes, sizeof id->bytes, "/tmp/fake_nccl_%d", static_cast<int>(getpid()));
  const int file = open(id->bytes, O_RDWR | O_CREAT | O_TRUNC, 0600);
  const bool is_made = file >= 0 && ftruncate(file, sizeof(Shared)) == 0;
  if (file >= 0) close(file);
  return is_made ? 0 : 2;
}
int ncclCommInitRank(void** made, int ranks, UniqueId id, int rank) {
  const int file = open(id.bytes, O_RDWR);
  if (file < 0 || ranks > static_cast<int>(kMostRanks)) return 2;
  void* shared = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) return 2;
  auto* all = new Communicator{static_cast<Shared*>(shared), ranks, rank, id.bytes};
  meet(*all);
  if (rank == 0) unlink(id.bytes);
  return *made = all, 0;
}
int ncclCommDestroy(void* ended) { return delete static_cast<Communicator*>(ended), 0; }
int ncclCommAbort(void*) { return 0; }
int ncclCommGetAsyncError(void*, int* error) { return *error = 0, 0; }
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* communicator, void*) {
  if (fails()) return 3;
  const auto result = reduced(*static_cast<Communicator*>(communicator), from, count, type, op);
  return std::memcpy(here(to), result.data(), result.size()), 0;
}
int ncclAllGather(const void* from, void* to, size_t count, int type, void* communicator, void*) {
  const auto result = gathered(*static_cast<Communicator*>(communicator), from, count * size_of(type));
  return std::memcpy(here(to), result.data(), result.size()), 0;
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, void* communicator, void*) {
  const auto& all = *static_cast<Communicator*>(communicator);
  const auto result = reduced(all, from, count * static_cast<size_t>(all.ranks), type, op);
  const size_t bytes = count * size_of(type);
  return std::memcpy(here(to), result.data() + bytes * static_cast<size_t>(all.rank), bytes), 0;
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* communicator, void*) {
  const size_t bytes = count * size_of(type);
  const auto result = gathered(*static_cast<Communicator*>(communicator), from, bytes);
  return std::memcpy(here(to), result.data() + bytes * static_cast<size_t>(root), bytes), 0;
}
}
