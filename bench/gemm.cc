// float32 matrix products against OpenBLAS in one process, each on the same number of threads.
//   weft_gemm [THREADS]      one line per shape: GFLOP/s of both, medians of alternating runs
#include "kernels/cpu/gemm.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/cpu/conv.h"
#include "weft/parallel.h"

namespace {

using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                   int);
constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

struct Shape {
  int64_t m, n, k;
  bool transposed;  // b is stored as [n, k]
};

constexpr Shape kShapes[] = {
    {16, 16, 16, false},    {64, 64, 64, false},       {128, 128, 128, false},    {256, 256, 256, false},
    {512, 512, 512, false}, {1024, 1024, 1024, false}, {2048, 2048, 2048, false}, {1024, 1024, 1024, true},
    {128, 768, 768, true},  {128, 3072, 768, true},    {128, 768, 3072, true},    {128, 128, 64, true},
    {128, 64, 128, false},  {1, 1000, 1024, true},     {1, 4096, 4096, true},     {1, 4096, 4096, false},
    {4096, 1, 4096, false}, {4, 4096, 1024, true},     {8, 1024, 1024, true},     {8, 1024, 1024, false},
    {16, 2048, 2048, true}, {64, 256, 4096, false},    {4096, 64, 64, false},     {64, 4096, 576, false},
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

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 2654435761u >> 16 & 255) / 256 - 0.5f;
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) weft::set_num_threads(std::atoi(argv[1]));
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  auto* const sgemm = library ? reinterpret_cast<Sgemm*>(dlsym(library, "cblas_sgemm")) : nullptr;
  if (sgemm)
    reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))(weft::get_num_threads());
  std::printf("%d threads; GFLOP/s\n%22s %10s %10s %10s %8s\n", weft::get_num_threads(), "m x n x k", "weft",
              "OpenBLAS", "packed", "ratio");
  for (const Shape& s : kShapes) {
    const std::vector<float> a = numbers(s.m * s.k), b = numbers(s.k * s.n);
    std::vector<float> c(static_cast<size_t>(s.m * s.n));
    const auto ours = [&] {
      weft::kernels::gemm_f32(s.m, s.n, s.k, {a.data(), s.k, 1},
                              {b.data(), s.transposed ? 1 : s.n, s.transposed ? s.k : 1}, c.data());
    };
    const auto theirs = [&] {
      sgemm(kRowMajor, kNoTranspose, s.transposed ? kTranspose : kNoTranspose, static_cast<int>(s.m),
            static_cast<int>(s.n), static_cast<int>(s.k), 1, a.data(), static_cast<int>(s.k), b.data(),
            static_cast<int>(s.transposed ? s.k : s.n), 0, c.data(), static_cast<int>(s.n));
    };
    const weft::kernels::PackedLinear linear(s.k, s.n, b.data(), nullptr);
    const auto packed = [&] { linear.run(a.data(), s.m, c.data()); };
    const double operations = 2e-9 * static_cast<double>(s.m * s.n * s.k);
    const int times = static_cast<int>(std::clamp(0.003 / seconds(ours, 2), 1.0, 2000.0));
    std::vector<double> rates[3], ratios;
    for (int round = 0; round < 11; ++round) {
      rates[0].push_back(operations / seconds(ours, times));
      rates[1].push_back(sgemm ? operations / seconds(theirs, times) : 0);
      rates[2].push_back(operations / seconds(packed, times));
      ratios.push_back(sgemm ? rates[0].back() / rates[1].back() : 0);
    }
    std::printf("%5ldx%5ldx%5ld %s %10.1f %10.1f %10.1f %8.2f\n", s.m, s.n, s.k, s.transposed ? "b^T" : "b  ",
                median(rates[0]), median(rates[1]), median(rates[2]), median(ratios));
    std::fflush(stdout);
  }
}
