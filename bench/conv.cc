// Convolutions of SqueezeNet 1.1, MobileNet v3 small and ResNet-50 at batch 1, 224x224: channels-last float32
// with packed weights, as a share of the machine's multiply-add rate measured between the repetitions.
//   weft_conv [THREADS…]      one line per layer and number of threads; default: 1 and all
#include "kernels/cpu/conv.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "runtime/ceiling_loops.h"
#include "weft/parallel.h"

namespace {

using weft::kernels::Activation;

struct Layer {
  const char* network;
  int count;  // how often the network has it
  int64_t size, in, out, kernel, stride, groups;
};

constexpr Layer kLayers[] = {
    {"squeezenet", 1, 224, 3, 64, 3, 2, 1},  {"squeezenet", 1, 55, 64, 16, 1, 1, 1},
    {"squeezenet", 2, 55, 16, 64, 1, 1, 1},  {"squeezenet", 2, 55, 16, 64, 3, 1, 1},
    {"squeezenet", 1, 55, 128, 16, 1, 1, 1}, {"squeezenet", 2, 27, 32, 128, 1, 1, 1},
    {"squeezenet", 2, 27, 32, 128, 3, 1, 1}, {"squeezenet", 2, 13, 48, 192, 3, 1, 1},
    {"squeezenet", 2, 13, 64, 256, 3, 1, 1}, {"squeezenet", 1, 13, 512, 1000, 1, 1, 1},
    {"mobilenet", 1, 224, 3, 16, 3, 2, 1},   {"mobilenet", 1, 112, 16, 16, 3, 2, 16},
    {"mobilenet", 1, 56, 16, 72, 1, 1, 1},   {"mobilenet", 1, 56, 72, 72, 3, 2, 72},
    {"mobilenet", 1, 28, 72, 24, 1, 1, 1},   {"mobilenet", 1, 28, 24, 88, 1, 1, 1},
    {"mobilenet", 1, 28, 88, 88, 3, 1, 88},  {"mobilenet", 1, 28, 96, 96, 5, 2, 96},
    {"mobilenet", 2, 14, 40, 240, 1, 1, 1},  {"mobilenet", 2, 14, 240, 240, 5, 1, 240},
    {"mobilenet", 2, 14, 240, 40, 1, 1, 1},  {"mobilenet", 2, 14, 48, 144, 1, 1, 1},
    {"mobilenet", 2, 7, 96, 576, 1, 1, 1},   {"mobilenet", 2, 7, 576, 576, 5, 1, 576},
    {"mobilenet", 2, 7, 576, 96, 1, 1, 1},   {"resnet50", 1, 224, 3, 64, 7, 2, 1},
    {"resnet50", 1, 56, 64, 64, 1, 1, 1},    {"resnet50", 3, 56, 64, 64, 3, 1, 1},
    {"resnet50", 4, 56, 64, 256, 1, 1, 1},   {"resnet50", 2, 56, 256, 64, 1, 1, 1},
    {"resnet50", 1, 56, 256, 128, 1, 1, 1},  {"resnet50", 1, 56, 128, 128, 3, 2, 1},
    {"resnet50", 3, 28, 128, 128, 3, 1, 1},  {"resnet50", 4, 28, 128, 512, 1, 1, 1},
    {"resnet50", 3, 28, 512, 128, 1, 1, 1},  {"resnet50", 1, 56, 256, 512, 1, 2, 1},
    {"resnet50", 1, 28, 256, 256, 3, 2, 1},  {"resnet50", 5, 14, 256, 256, 3, 1, 1},
    {"resnet50", 6, 14, 256, 1024, 1, 1, 1}, {"resnet50", 5, 14, 1024, 256, 1, 1, 1},
    {"resnet50", 1, 14, 512, 512, 3, 2, 1},  {"resnet50", 2, 7, 512, 512, 3, 1, 1},
    {"resnet50", 3, 7, 512, 2048, 1, 1, 1},  {"resnet50", 2, 7, 2048, 512, 1, 1, 1},
};

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

// GFLOP/s of multiply-adds in registers on all threads.
double ceiling() {
  constexpr int64_t kIterations = 20000;
  const int threads = weft::get_num_threads();
  const double operations = weft::runtime::multiply_add_float32(1) * kIterations * threads;
  return operations * 1e-9 / seconds([&] {
           weft::parallel_for(0, threads, 1, [](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) weft::runtime::multiply_add_float32(kIterations);
           });
         });
}

// Aligned as tensors are.
weft::kernels::FloatBuffer numbers(int64_t count) {
  const weft::kernels::FloatBuffer values(count);
  for (int64_t i = 0; i < count; ++i)
    values.data()[i] = static_cast<float>(i * 2654435761 >> 16 & 255) / 256 - 0.5f;
  return values;
}

struct Result {
  double gflops, share, microseconds;
};

Result measure(const Layer& layer) {
  const int64_t padding = layer.kernel / 2;
  const int64_t out = weft::kernels::conv_output_size(layer.size, layer.kernel, layer.stride, padding, 1);
  const auto x = numbers(layer.size * layer.size * layer.in), bias = numbers(layer.out);
  const auto weight = numbers(layer.out * layer.in / layer.groups * layer.kernel * layer.kernel);
  const auto y = numbers(out * out * layer.out);
  const weft::kernels::PackedConv conv({.in_channels = layer.in,
                                        .out_channels = layer.out,
                                        .kernel = {layer.kernel, layer.kernel},
                                        .stride = {layer.stride, layer.stride},
                                        .padding = {padding, padding},
                                        .groups = layer.groups,
                                        .activation = Activation::Relu},
                                       weight.data(), bias.data());
  const auto run = [&] { conv.run(x.data(), 1, layer.size, layer.size, y.data()); };
  const double operations = 2e-9 * static_cast<double>(out * out * layer.out * layer.in / layer.groups *
                                                       layer.kernel * layer.kernel);
  run();
  const int inner = static_cast<int>(std::clamp(0.002 / seconds(run), 1.0, 200.0));
  std::vector<double> rates, shares, times;
  for (int round = 0; round < 15; ++round) {
    const double peak = ceiling();
    const double time = seconds([&] {
                          for (int i = 0; i < inner; ++i) run();
                        }) /
                        inner;
    rates.push_back(operations / time), shares.push_back(operations / time / peak),
        times.push_back(time * 1e6);
  }
  return {median(rates), median(shares), median(times)};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> threads;
  for (int i = 1; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, weft::num_usable_cores()};
  std::printf("%-11s %5s %-32s", "network", "times", "layer");
  for (const int count : threads)
    std::printf(" | %d thread%s %-24s", count, count > 1 ? "s" : " ", "GFLOP/s, of peak, us");
  std::printf("\n");
  for (const Layer& layer : kLayers) {
    std::printf("%-11s %5d %4ldx%-4ld %4ld->%-4ld %ldx%ld stride %ld g%-4ld", layer.network, layer.count,
                layer.size, layer.size, layer.in, layer.out, layer.kernel, layer.kernel, layer.stride,
                layer.groups);
    for (const int count : threads) {
      weft::set_num_threads(count);
      const Result result = measure(layer);
      std::printf(" | %10.1f %9.1f%% %12.1f", result.gflops, 100 * result.share, result.microseconds);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}
