// Products with packed bfloat16 weights and channels-last convolution on each engine of this machine, and on
// a model of AMX's tiles, against sums in float64.
#include "kernels/cpu/packed_bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/conv_packed_bfloat16.h"
#include "kernels/cpu/levels.h"
#include "kernels/tile_model.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

std::vector<const BFloat16Kernels*> packed_engines() {
  std::vector<const BFloat16Kernels*> all{&tile_model_engine()};
  for (const EngineKernels& one : engine_kernels())
    if (const BFloat16Kernels* engine = bfloat16_kernels_of(one.engine)) all.push_back(engine);
  return all;
}

std::vector<uint16_t> some_bits(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) value = std::bit_cast<uint16_t>(BFloat16(uniform(random)));
  return values;
}
float number_at(const std::vector<uint16_t>& x, int64_t i) { return widened(x[static_cast<size_t>(i)]); }

void expect_close(uint16_t got, double expected, double magnitude) {
  ASSERT_NEAR(widened(got), expected, 0x1p-8 * std::abs(expected) + 1e-5 * (1 + magnitude));
}

struct PackedCase {
  int64_t m, n, k, stride;  // stride: of x's rows
};

void compare_packed(const BFloat16Kernels& engine, const PackedCase& c, bool gathers, bool with_rest,
                    std::mt19937& random) {
  SCOPED_TRACE(std::string(engine.name) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
               std::to_string(c.k));
  const std::vector<uint16_t> x = some_bits(c.m * c.stride + 1, random),
                              weight = some_bits(c.n * c.k, random),
                              residual = some_bits(c.m * (c.n + 2), random);
  std::vector<float> bias(static_cast<size_t>(c.n));
  for (float& value : bias) value = std::uniform_real_distribution<float>(-2, 2)(random);
  const PackedBFloat16 packed(engine, c.n, c.k, weight.data(), with_rest ? bias.data() : nullptr);
  BFloat16Rows rows{.data = x.data(), .stride = c.stride};
  if (gathers)
    rows.gather = [&](int64_t first, int64_t count, uint16_t* to, int64_t stride) {
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(x.data() + (first + i) * c.stride, c.k, to + i * stride);
    };
  std::vector<uint16_t> y(static_cast<size_t>(c.m * (c.n + 1) + 1), 0x1234);
  packed.run(rows, c.m,
             {.activation = with_rest ? RowActivation::Relu : RowActivation::None,
              .residual_first = false,
              .residual = with_rest ? residual.data() : nullptr,
              .residual_stride = c.n + 2,
              .y = y.data(),
              .y_stride = c.n + 1});
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = with_rest ? bias[static_cast<size_t>(j)] : 0, magnitude = 0;
      for (int64_t p = 0; p < c.k; ++p) {
        const double product =
            static_cast<double>(number_at(x, i * c.stride + p)) * number_at(weight, j * c.k + p);
        sum += product, magnitude += std::abs(product);
      }
      if (with_rest) sum = std::max(sum, 0.0) + number_at(residual, i * (c.n + 2) + j);
      expect_close(y[static_cast<size_t>(i * (c.n + 1) + j)], sum, magnitude);
    }
    ASSERT_EQ(y[static_cast<size_t>(i * (c.n + 1) + c.n)], 0x1234);
  }
}

TEST(PackedBFloat16, EveryShape) {
  std::mt19937 random(5);
  constexpr PackedCase kCases[] = {{1, 1, 1, 1},      {1, 33, 0, 3},     {2, 31, 2, 2},    {12, 32, 33, 40},
                                   {13, 33, 64, 64},  {24, 65, 31, 31},  {97, 40, 16, 16}, {30, 420, 18, 18},
                                   {25, 170, 20, 20}, {200, 20, 12, 12}, {0, 5, 8, 8}};
  for (const BFloat16Kernels* engine : packed_engines())
    for (const PackedCase& c : kCases)
      for (const bool gathers : {false, true})
        for (const bool with_rest : {false, true}) compare_packed(*engine, c, gathers, with_rest, random);
}

TEST(PackedBFloat16, LongRowsInParts) {
  std::mt19937 random(6);
  for (const BFloat16Kernels* engine : packed_engines())
    for (const PackedCase& c : {PackedCase{14, 161, 2048, 2048}, PackedCase{3, 5, 4096, 4096},
                                PackedCase{3, 5, 4097, 4097}, PackedCase{101, 34, 8194, 8194}})
      compare_packed(*engine, c, false, true, random);
}

TEST(PackedBFloat16, ResultsDoNotDependOnThreads) {
  std::mt19937 random(7);
  const int before = get_num_threads();
  for (const BFloat16Kernels* engine : packed_engines()) {
    const std::vector<uint16_t> x = some_bits(70 * 300, random), weight = some_bits(600 * 300, random);
    const PackedBFloat16 packed(*engine, 600, 300, weight.data(), nullptr);
    std::vector<uint16_t> results[2];
    for (int threads = 1; threads <= 2; ++threads) {
      set_num_threads(threads);
      auto& y = results[threads - 1];
      y.resize(70 * 600);
      packed.run({.data = x.data(), .stride = 300}, 70, {.y = y.data(), .y_stride = 600});
    }
    EXPECT_EQ(results[0], results[1]);
  }
  set_num_threads(before);
}

TEST(PackedBFloat16, NaNAndInfinityStayInTheirRows) {
  std::mt19937 random(8);
  for (const BFloat16Kernels* engine : packed_engines()) {
    std::vector<uint16_t> x = some_bits(3 * 40, random), weight = some_bits(35 * 40, random);
    x[5] = std::bit_cast<uint16_t>(BFloat16(std::numeric_limits<float>::quiet_NaN()));
    x[45] = std::bit_cast<uint16_t>(BFloat16(std::numeric_limits<float>::infinity()));
    const PackedBFloat16 packed(*engine, 35, 40, weight.data(), nullptr);
    std::vector<uint16_t> y(3 * 35);
    packed.run({.data = x.data(), .stride = 40}, 3, {.y = y.data(), .y_stride = 35});
    for (int64_t j = 0; j < 35; ++j) {
      EXPECT_TRUE(std::isnan(number_at(y, j)));
      EXPECT_FALSE(std::isfinite(number_at(y, 35 + j)));
      EXPECT_TRUE(std::isfinite(number_at(y, 70 + j)));
    }
  }
}

struct ConvCase {
  int64_t batch, height, width, in, out, kernel, stride, padding, dilation;
};

TEST(ConvPackedBFloat16, AgainstItsDefinition) {
  std::mt19937 random(9);
  constexpr ConvCase kCases[] = {
      {1, 5, 5, 3, 4, 3, 1, 1, 1}, {2, 6, 7, 8, 33, 1, 1, 0, 1},  {2, 7, 6, 5, 6, 1, 2, 0, 1},
      {1, 9, 8, 4, 7, 3, 2, 1, 2}, {3, 10, 9, 16, 8, 5, 1, 2, 1}, {1, 4, 4, 6, 9, 7, 2, 3, 1},
  };
  for (const BFloat16Kernels* engine : packed_engines())
    for (const ConvCase& c : kCases) {
      SCOPED_TRACE(std::string(engine->name) + " kernel " + std::to_string(c.kernel));
      const ConvParams params{.in_channels = c.in,
                              .out_channels = c.out,
                              .kernel = {c.kernel, c.kernel},
                              .stride = {c.stride, c.stride},
                              .padding = {c.padding, c.padding},
                              .dilation = {c.dilation, c.dilation},
                              .activation = Activation::Relu};
      const int64_t height = conv_output_size(c.height, c.kernel, c.stride, c.padding, c.dilation),
                    width = conv_output_size(c.width, c.kernel, c.stride, c.padding, c.dilation);
      const std::vector<uint16_t> x = some_bits(c.batch * c.height * c.width * c.in, random),
                                  weight = some_bits(c.out * c.in * c.kernel * c.kernel, random),
                                  residual = some_bits(c.batch * height * width * c.out, random);
      const std::vector<float> bias(static_cast<size_t>(c.out), 0.25f);
      const PackedConvBFloat16 conv(*engine, params, weight.data(), bias.data());
      std::vector<uint16_t> y(static_cast<size_t>(c.batch * height * width * (c.out + 1)), 0x1234);
      conv.run({.x = x.data(),
                .batch = c.batch,
                .height = c.height,
                .width = c.width,
                .y = y.data(),
                .out_height = height,
                .out_width = width,
                .residual = residual.data(),
                .y_stride = c.out + 1});
      for (int64_t pixel = 0; pixel < c.batch * height * width; ++pixel)
        for (int64_t out = 0; out < c.out; ++out) {
          double sum = 0.25 + number_at(residual, pixel * c.out + out), magnitude = 0;
          for (int64_t tap = 0; tap < c.kernel * c.kernel; ++tap) {
            const int64_t row = pixel / width % height * c.stride - c.padding + tap / c.kernel * c.dilation,
                          column = pixel % width * c.stride - c.padding + tap % c.kernel * c.dilation;
            if (row < 0 || row >= c.height || column < 0 || column >= c.width) continue;
            for (int64_t in = 0; in < c.in; ++in) {
              const int64_t image = pixel / (height * width);
              const double product = static_cast<double>(number_at(
                                         x, ((image * c.height + row) * c.width + column) * c.in + in)) *
                                     number_at(weight, (out * c.in + in) * c.kernel * c.kernel + tap);
              sum += product, magnitude += std::abs(product);
            }
          }
          expect_close(y[static_cast<size_t>(pixel * (c.out + 1) + out)], std::max(sum, 0.0), magnitude);
        }
    }
}

}  // namespace
}  // namespace weft::kernels
