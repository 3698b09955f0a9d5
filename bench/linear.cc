// Products with packed weights: the share of the machine's read rate that few rows reach, and GFLOP/s of
// many.
//   weft_linear [THREADS] [ROWS …]     shapes of a 7B Llama; medians of runs that alternate with a plain read
//   of as many bytes
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "runtime/ceiling_loops.h"
#include "weft/parallel.h"
#include "weft/quantization.h"

namespace {

using weft::DType;
using weft::LinearWeight;
using weft::PackedLinear;
using weft::Tensor;

constexpr int64_t kStreamedBytes = int64_t{768} << 20;  // at least, so that no cache holds them
constexpr int kRounds = 9;

// Of one thread, its processor's time: what other programs take does not count. Of several, the clock's.
double now() {
  timespec time;
  clock_gettime(weft::get_num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(const std::function<void()>& run) {
  const double start = now();
  run();
  return now() - start;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Tensor filled(const weft::Shape& shape, DType dtype) {
  return Tensor::full(shape, weft::is_floating(dtype) ? weft::Scalar(0.5) : weft::Scalar(83), dtype);
}

struct Scheme {
  const char* name;
  DType dtype;
  int64_t group;
};
constexpr Scheme kSchemes[] = {{"f32", DType::F32, 0},        {"bf16", DType::BF16, 0},
                               {"f16", DType::F16, 0},        {"int8", DType::I8, 0},
                               {"int4-g32", DType::U8, 32},   {"int4-g64", DType::U8, 64},
                               {"int4-g128", DType::U8, 128}, {"int4-g256", DType::U8, 256}};

LinearWeight weight_of(const Scheme& scheme, int64_t out, int64_t in) {
  LinearWeight weight{.weight = filled({out, scheme.dtype == DType::U8 ? in / 2 : in}, scheme.dtype),
                      .group_size = scheme.group};
  if (scheme.dtype == DType::I8) weight.scales = Tensor::full({out}, 0.01, DType::F32);
  if (scheme.dtype == DType::U8) weight.scales = Tensor::full({in / scheme.group, out, 2}, 0.01, DType::BF16);
  return weight;
}

// As many copies as exceed every cache, multiplied one after another.
struct Layers {
  std::vector<PackedLinear> layers;
  int64_t bytes = 0;

  Layers(const Scheme& scheme, int64_t out, int64_t in) {
    const LinearWeight weight = weight_of(scheme, out, in);
    while (bytes < kStreamedBytes) {
      layers.emplace_back(weight);
      bytes += layers.back().weight_bytes();
    }
  }
};

void read_all(const char* memory, int64_t bytes) {
  weft::parallel_for(0, bytes / 4096, 32, [&](int64_t begin, int64_t end) {
    weft::runtime::read_bytes(memory + begin * 4096, (end - begin) * 4096);
  });
}

void measure(const Scheme& scheme, int64_t out, int64_t in, int64_t rows, weft::InputPrecision precision,
             const Tensor& memory) {
  const Layers layers(scheme, out, in);
  const Tensor x = Tensor::full({rows, in}, 0.5, DType::F32), y = Tensor::empty({rows, out}, DType::F32);
  const size_t used = rows > 8 ? 1 : layers.layers.size();
  layers.layers[0].forward(x, y, {.precision = precision});
  std::vector<double> shares, rates, flops;
  for (int round = 0; round < kRounds; ++round) {
    double read = 0, taken = 0;
    const char* from = memory.data_as<char>();
    for (size_t i = 0; i < used; ++i) {
      const PackedLinear& layer = layers.layers[i];
      taken += seconds([&] { layer.forward(x, y, {.precision = precision}); });
      if (rows <= 8) read += seconds([&] { read_all(from, layer.weight_bytes()); });
      from += layer.weight_bytes() / 4096 * 4096;
    }
    shares.push_back(read / taken);
    rates.push_back(1e-9 * static_cast<double>(layers.bytes) / taken);
    flops.push_back(2e-9 * static_cast<double>(rows * out * in * static_cast<int64_t>(used)) / taken);
  }
  const std::string name = scheme.name + std::string(precision == weft::InputPrecision::Int8 ? " int8" : "");
  std::printf("%-14s %5ldx%5ld %5ld", name.c_str(), out, in, rows);
  if (rows > 8)
    std::printf(" %10s %10s", "", "");
  else
    std::printf(" %10.1f %9.0f%%", median(rates), 100 * median(shares));
  std::printf(" %10.1f\n", median(flops));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) weft::set_num_threads(std::atoi(argv[1]));
  std::vector<int64_t> rows;
  for (int i = 2; i < argc; ++i) rows.push_back(std::atoll(argv[i]));
  if (rows.empty()) rows = {1, 4, 8, 512};
  const char* const only = std::getenv("WEFT_BENCH_SCHEME");
  const Tensor memory = filled({kStreamedBytes + (int64_t{256} << 20)}, DType::U8);
  std::printf("%d threads\n%-14s %11s %5s %10s %10s %10s\n", weft::get_num_threads(), "weights", "out x in",
              "rows", "GB/s", "of read", "GFLOP/s");
  const bool one_shape = std::getenv("WEFT_BENCH_ONE_SHAPE") != nullptr;
  for (const auto& [out, in] :
       {std::pair<int64_t, int64_t>{4096, 4096}, {11008, 4096}, {4096, 11008}, {32000, 4096}}) {
    if (one_shape && (out != 4096 || in != 4096)) continue;
    for (const Scheme& scheme : kSchemes) {
      if (only && std::string(only) != scheme.name) continue;
      for (const int64_t count : rows) {
        measure(scheme, out, in, count, weft::InputPrecision::Auto, memory);
        const bool quantized = scheme.dtype == DType::I8 || scheme.dtype == DType::U8;
        if (quantized && count > 8) measure(scheme, out, in, count, weft::InputPrecision::Int8, memory);
      }
    }
  }
}
