// bfloat16 matrix products: the engine of this machine beside the products in float32 that machines without
// one run, each on the same number of threads.
//   weft_gemm_bfloat16 [THREADS [ROWS]]   shapes of at most ROWS rows; one line per shape: GFLOP/s of both,
//   medians of alternating runs
#include "kernels/cpu/gemm_bfloat16.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/cpu/gemm_half.h"
#include "kernels/cpu/packed_weights.h"
#include "runtime/ceiling_loops.h"
#include "weft/parallel.h"

namespace {

struct Shape {
  int64_t m, n, k;
  bool transposed;  // b is stored as [n, k]
};

constexpr Shape kShapes[] = {
    {16, 16, 16, false},     {64, 64, 64, false},     {64, 64, 64, true},        {128, 128, 128, false},
    {256, 256, 256, false},  {512, 512, 512, false},  {1024, 1024, 1024, false}, {1024, 1024, 1024, true},
    {197, 768, 768, true},   {197, 2304, 768, true},  {197, 3072, 768, true},    {197, 768, 3072, true},
    {197, 197, 64, true},    {197, 64, 197, false},   {1, 1, 4096, true},        {1, 4096, 4096, true},
    {1, 4096, 4096, false},  {2, 4096, 4096, true},   {2, 4096, 4096, false},    {4, 4096, 4096, true},
    {4, 4096, 4096, false},  {8, 4096, 4096, true},   {8, 4096, 4096, false},    {12, 4096, 4096, true},
    {12, 4096, 4096, false}, {16, 4096, 4096, true},  {16, 4096, 4096, false},   {17, 4096, 4096, true},
    {17, 4096, 4096, false}, {24, 4096, 4096, true},  {32, 4096, 4096, true},    {64, 4096, 4096, true},
    {128, 3072, 2048, true}, {128, 4096, 4096, true}, {128, 4096, 11008, true},  {4096, 1, 4096, false},
    {4096, 64, 64, false},   {4096, 16, 256, false},  {64, 4096, 576, false},    {64, 64, 16384, false},
    {10000, 16, 256, false}, {512, 512, 8192, true},  {300, 100, 75, false},
};

// Of one thread, its processor's time: what other programs take does not count. Of several, the clock's.
double now() {
  timespec time;
  clock_gettime(weft::get_num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(const std::function<void()>& run, int times) {
  const double start = now();
  for (int i = 0; i < times; ++i) run();
  return (now() - start) / times;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// In weft's own memory, as tensors are.
class Numbers {
 public:
  explicit Numbers(int64_t count) : buffer_(count / 2 + 1) {
    for (int64_t i = 0; i < count; ++i)
      data()[i] =
          weft::BFloat16(static_cast<float>(static_cast<size_t>(i) * 2654435761u >> 16 & 255) / 256 - 0.5f);
  }
  weft::BFloat16* data() const { return reinterpret_cast<weft::BFloat16*>(buffer_.data()); }

 private:
  weft::kernels::FloatBuffer buffer_;
};

// GFLOP/s of the engine's instruction, on all threads.
double ceiling() {
  constexpr int64_t kIterations = 100000;
  double best = 0;
  const int threads = weft::get_num_threads();
  for (int i = 0; i < 5; ++i) {
    double operations = 0;
    const double start = now();
    weft::parallel_for(0, threads, 1, [&](int64_t, int64_t) {
      operations =
          std::max(weft::runtime::tiles_bfloat16(kIterations), weft::runtime::dot_bfloat16(kIterations));
    });
    best = std::max(best, 1e-9 * operations * kIterations * threads / (now() - start));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) weft::set_num_threads(std::atoi(argv[1]));
  const int64_t most_rows = argc > 2 ? std::atoi(argv[2]) : INT64_MAX;
  const weft::kernels::BFloat16Kernels* const engine = weft::kernels::bfloat16_kernels();
  if (!engine) return std::printf("this machine has no engine for bfloat16 that is faster than float32\n"), 0;
  const double most = ceiling();
  std::printf("%d threads, %s, at most %.0f GFLOP/s\n%25s %9s %8s %9s %7s %9s\n", weft::get_num_threads(),
              engine->name, most, "m x n x k", "engine", "of most", "float32", "ratio", "GB/s of b");
  for (const Shape& s : kShapes) {
    if (s.m > most_rows) continue;
    const Numbers a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
    const weft::kernels::MatrixView<weft::BFloat16> left{a.data(), s.k, 1},
        right{b.data(), s.transposed ? 1 : s.n, s.transposed ? s.k : 1};
    const auto ours = [&] {
      weft::kernels::gemm_bfloat16(*engine, s.m, s.n, s.k, left, right, nullptr, c.data());
    };
    const auto widened = [&] {
      weft::kernels::gemm_half<weft::BFloat16>(s.m, s.n, s.k, left, right, nullptr, c.data());
    };
    const double operations = 2e-9 * static_cast<double>(s.m * s.n * s.k);
    const int times = static_cast<int>(std::clamp(0.003 / seconds(ours, 2), 1.0, 2000.0));
    std::vector<double> rates[2], ratios;
    for (int round = 0; round < 7; ++round) {
      rates[0].push_back(operations / seconds(ours, times));
      rates[1].push_back(operations / seconds(widened, times));
      ratios.push_back(rates[0].back() / rates[1].back());
    }
    std::printf("%6ldx%5ldx%5ld %s %9.1f %7.0f%% %9.1f %7.2f %9.1f\n", s.m, s.n, s.k,
                s.transposed ? "b^T" : "b  ", median(rates[0]), 100 * median(rates[0]) / most,
                median(rates[1]), median(ratios), median(rates[0]) / static_cast<double>(s.m));
    std::fflush(stdout);
  }
}
