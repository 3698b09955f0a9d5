#include "runtime/ceilings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

#include "runtime/ceiling_loops.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Large enough that caches hold little of it, within an eighth of the memory.
int64_t buffer_bytes() {
  const int64_t cache = std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const int64_t wanted = std::clamp<int64_t>(4 * cache, int64_t{384} << 20, int64_t{1} << 30);
  return std::min(wanted, memory / 8) / (4 << 20) * (4 << 20);
}

// Memory on huge pages, touched by the threads that will use it.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) : size_(bytes) {
    void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    data_ = static_cast<char*>(memory);
    ::madvise(data_, static_cast<size_t>(bytes), MADV_HUGEPAGE);
    parallel_for(0, bytes, 1 << 20, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += 4096) data_[i] = 1;
    });
  }
  ~Buffer() {
    if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(size_));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  int64_t size_;
};

// The best rate of a few runs: a ceiling is what undisturbed runs reach.
double best_rate(double amount, int runs, const std::function<void()>& run) {
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    run();
    best = std::max(best, amount / seconds_since(start) * 1e-9);
  }
  return best;
}

constexpr int64_t kBlock = 1 << 16;  // bytes handed to one call of a loop

double read_rate(const Buffer& buffer) {
  return best_rate(static_cast<double>(buffer.size()), 3, [&] {
    parallel_for(0, buffer.size() / kBlock, 16, [&](int64_t begin, int64_t end) {
      read_bytes(buffer.data() + begin * kBlock, (end - begin) * kBlock);
    });
  });
}

double copy_rate(const Buffer& buffer, bool streaming) {
  const int64_t half = buffer.size() / 2;
  return best_rate(static_cast<double>(2 * half), 3, [&] {
    parallel_for(0, half / kBlock, 16, [&](int64_t begin, int64_t end) {
      char* out = buffer.data() + half + begin * kBlock;
      const char* in = buffer.data() + begin * kBlock;
      streaming ? copy_bytes_streaming(out, in, (end - begin) * kBlock)
                : copy_bytes(out, in, (end - begin) * kBlock);
    });
  });
}

double arithmetic_rate(double (*loop)(int64_t iterations)) {
  if (loop(1) == 0) return 0;
  constexpr int64_t kIterations = 400000;
  const int threads = get_num_threads();
  return best_rate(loop(1) * static_cast<double>(kIterations) * threads, 3, [&] {
    parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) loop(kIterations);
    });
  });
}

}  // namespace

double measure_read_bandwidth() {
  const Buffer buffer(buffer_bytes());
  return buffer.data() == nullptr ? 0 : read_rate(buffer);
}

std::vector<Ceiling> measure_ceilings(const std::vector<int>& threads) {
  const Buffer buffer(buffer_bytes());
  struct Probe {
    Ceiling ceiling;
    std::function<double()> rate;
  };
  std::vector<Probe> probes;
  if (buffer.data() != nullptr) {
    probes.push_back({{"read_gbs", "GB/s", "reading memory", {}}, [&] { return read_rate(buffer); }});
    probes.push_back({{"copy_gbs", "GB/s", "copying memory, bytes read + bytes written", {}},
                      [&] { return copy_rate(buffer, false); }});
    probes.push_back({{"copy_nt_gbs", "GB/s", "the same with non-temporal stores", {}},
                      [&] { return copy_rate(buffer, true); }});
  }
  const auto arithmetic = [&](const char* key, const char* unit, const char* doc, double (*loop)(int64_t)) {
    probes.push_back({{key, unit, doc, {}}, [loop] { return arithmetic_rate(loop); }});
  };
  arithmetic("float64_gflops", "GFLOP/s", "float64 multiply-adds, two operations each", multiply_add_float64);
  arithmetic("float32_gflops", "GFLOP/s", "float32 multiply-adds, two operations each", multiply_add_float32);
  arithmetic("bfloat16_gflops", "GFLOP/s", "bfloat16 pairs into float32", dot_bfloat16);
  arithmetic("int8_gops", "GOP/s", "int8 fours into int32", dot_int8);
  arithmetic("bfloat16_tiles_gflops", "GFLOP/s", "bfloat16 tiles into float32", tiles_bfloat16);
  arithmetic("int8_tiles_gops", "GOP/s", "int8 tiles into int32", tiles_int8);

  const int before = get_num_threads();
  std::vector<Ceiling> ceilings;
  for (Probe& probe : probes) {
    for (const int count : threads) {
      set_num_threads(count);
      probe.ceiling.rates.push_back(probe.rate());
    }
    ceilings.push_back(std::move(probe.ceiling));
  }
  set_num_threads(before);
  return ceilings;
}

}  // namespace weft::runtime
