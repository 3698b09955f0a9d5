// Products with weights packed once, of bfloat16 and of int8 numbers, with their epilogues: the layers of
// compiled graphs.
//   weft_packed [THREADS]   one line per shape: G operations/s and the share of what the instruction can do
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/cpu/packed_bfloat16.h"
#include "kernels/cpu/packed_int8.h"
#include "runtime/ceiling_loops.h"
#include "weft/dtype.h"
#include "weft/parallel.h"

namespace {

struct Shape {
  int64_t m, n, k;
};

constexpr Shape kShapes[] = {{1, 4096, 4096},    {16, 4096, 4096},  {64, 768, 768},    {256, 256, 256},
                             {197, 768, 768},    {197, 2304, 768},  {197, 3072, 768},  {197, 768, 3072},
                             {1024, 1024, 1024}, {1576, 3072, 768}, {128, 8192, 2048}, {128, 2048, 8192},
                             {3136, 64, 576},    {12544, 64, 64},   {4096, 768, 768}};

// Of one thread, its processor's time: what other programs take does not count. Of several, the clock's.
double now() {
  timespec time;
  clock_gettime(weft::get_num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Operations per second, the median of several rounds.
double rate(double operations, const std::function<void()>& run) {
  run();
  std::vector<double> rates;
  for (int round = 0; round < 7; ++round) {
    const double start = now();
    int times = 0;
    do run(), ++times;
    while (now() - start < 0.02);
    rates.push_back(operations * times / (now() - start));
  }
  std::nth_element(rates.begin(), rates.begin() + 3, rates.end());
  return rates[3];
}

double ceiling(double (*loop)(int64_t)) {
  constexpr int64_t kIterations = 100000;
  const int threads = weft::get_num_threads();
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    double operations = 0;
    const double start = now();
    weft::parallel_for(0, threads, 1, [&](int64_t, int64_t) { operations = loop(kIterations); });
    best = std::max(best, operations * static_cast<double>(kIterations) * threads / (now() - start));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) weft::set_num_threads(std::atoi(argv[1]));
  using namespace weft::kernels;
  const BFloat16Kernels* const engine = bfloat16_kernels();
  const double most_halves =
                   std::max(ceiling(weft::runtime::dot_bfloat16), ceiling(weft::runtime::tiles_bfloat16)),
               most_bytes = std::max(ceiling(weft::runtime::dot_int8), ceiling(weft::runtime::tiles_int8));
  std::printf("%d threads; bfloat16: %s, at most %.0f GFLOP/s; int8: %s, at most %.0f GOP/s\n",
              weft::get_num_threads(), engine ? engine->name : "none", 1e-9 * most_halves,
              int8_kernels().name, 1e-9 * most_bytes);
  for (const Shape& s : kShapes) {
    const auto count = [](int64_t a, int64_t b) { return static_cast<size_t>(a * b); };
    const double operations = 2.0 * static_cast<double>(s.m * s.n * s.k);
    std::printf("%6ldx%5ldx%5ld", s.m, s.n, s.k);
    const std::vector<float> scales(count(std::max(s.m, s.n), 1), 0.01f), bias(count(s.n, 1), 0.5f);
    if (engine) {
      const std::vector<uint16_t> x(count(s.m, s.k), 0x3f80), weight(count(s.n, s.k), 0x3c00);
      std::vector<uint16_t> y(count(s.m, s.n));
      const PackedBFloat16 packed(*engine, s.n, s.k, weight.data(), bias.data());
      for (const RowActivation activation : {RowActivation::None, RowActivation::GeluErf}) {
        const double got = rate(operations, [&] {
          packed.run({.data = x.data(), .stride = s.k}, s.m,
                     {.activation = activation, .y = y.data(), .y_stride = s.n});
        });
        std::printf("  bfloat16%s %6.1f %3.0f%%", activation == RowActivation::None ? "" : " gelu",
                    1e-9 * got, 100 * got / most_halves);
      }
    }
    const std::vector<int8_t> x(count(s.m, s.k), 3), weight(count(s.n, s.k), 5);
    std::vector<float> y(count(s.m, s.n));
    const PackedInt8 packed(int8_kernels(), s.n, s.k, weight.data(), scales.data(), bias.data());
    const double got = rate(operations, [&] {
      packed.run(x.data(), s.m, {.row_scales = scales.data(), .bfloat16 = false, .y = y.data()});
    });
    std::printf("  int8 %6.1f %3.0f%%\n", 1e-9 * got, most_bytes > 0 ? 100 * got / most_bytes : 0.0);
    std::fflush(stdout);
  }
}
