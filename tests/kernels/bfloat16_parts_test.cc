// Numbers as two of bfloat16: how they are split, products of both parts on tiles, and products of many rows
// that are taken so.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/quantized_kernels.h"
#include "kernels/tile_model.h"
#include "weft/ops.h"
#include "weft/quantization.h"

namespace weft::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<const BFloat16Kernels*> engines_here() {
  std::vector<const BFloat16Kernels*> all;
  for (const EngineKernels& one : engine_kernels())
    if (const BFloat16Kernels* engine = bfloat16_kernels_of(one.engine)) all.push_back(engine);
  return all;
}

std::vector<float> normal_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(BFloat16Parts, AddUpToTheNumber) {
  std::vector<float> x = normal_numbers(300, 1);
  for (const float each : {0.0f, 1.0f, 1.00390625f, 0x1.ffp0f, 0x1.fffffep0f, 0x1p-100f, 0x1.23456p-100f,
                           0x1.fep127f, 0x1.ffp127f, std::numeric_limits<float>::max()})
    x.push_back(each), x.push_back(-each);
  for (const BFloat16Kernels* engine : engines_here())
    for (const int64_t count : {1, 15, 16, 17, 31, static_cast<int>(x.size())}) {
      std::vector<uint16_t> high(x.size() + 1, 77), low(x.size() + 1, 77);
      const float* const from = x.data() + static_cast<int64_t>(x.size()) - count;
      engine->split(from, count, high.data(), low.data());
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        const double sum = double{widened(high[at])} + widened(low[at]);
        ASSERT_NEAR(sum, from[i], std::abs(double{from[i]}) * 0x1p-16) << engine->name << ' ' << from[i];
        if (std::abs(from[i]) < 0x1.fep127f) {
          ASSERT_NEAR(sum, from[i], std::abs(double{from[i]}) * 0x1p-17) << engine->name << ' ' << from[i];
          ASSERT_EQ(high[at], std::bit_cast<uint16_t>(BFloat16(from[i])));
        }
      }
      EXPECT_EQ(high[static_cast<size_t>(count)], 77);
      EXPECT_EQ(low[static_cast<size_t>(count)], 77);
    }
}

TEST(BFloat16Parts, WhatIsNoNumberIsInTheFirst) {
  const float x[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                     std::bit_cast<float>(0x7f800001u), 1.0f};
  for (const BFloat16Kernels* engine : engines_here()) {
    uint16_t high[5], low[5];
    engine->split(x, 5, high, low);
    EXPECT_EQ(widened(high[0]), kInfinity);
    EXPECT_EQ(widened(high[1]), -kInfinity);
    EXPECT_TRUE(std::isnan(widened(high[2])));
    EXPECT_TRUE(std::isnan(widened(high[3])));
    for (const uint16_t each : low) EXPECT_EQ(widened(each), 0);
  }
}

// A panel's int4 weights: scale * (q - 8) + zero of each, in one part or two.
TEST(BFloat16Parts, OfInt4Weights) {
  constexpr int64_t kGroup = 32, kDepth = 64, kPadded = 96;
  std::mt19937 random(3);
  std::vector<uint8_t> bytes(kDepth / kGroup * (4 * kPanel + kGroup / 2 * kPanel));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  const auto group = [&](int64_t k) {
    return bytes.data() + k / kGroup * (4 * kPanel + kGroup / 2 * kPanel);
  };
  for (int64_t k = 0; k < kDepth; k += kGroup)
    for (int64_t j = 0; j < 2 * kPanel; ++j) {
      const BFloat16 number(0.01f * static_cast<float>(1 + j % 37));
      std::memcpy(group(k) + 2 * j, &number, 2);
    }
  const auto weight = [&](int64_t k, int64_t j) {
    BFloat16 scale, zero;
    std::memcpy(&scale, group(k) + 2 * j, 2), std::memcpy(&zero, group(k) + 2 * kPanel + 2 * j, 2);
    const int64_t within = k % kGroup;
    const int byte = group(k)[4 * kPanel + within / 8 * 4 * kPanel + 4 * j + within % 4];
    const int q = (within % 8 < 4 ? byte : byte >> 4) & 15;
    return double{static_cast<float>(scale)} * (q - 8) + double{static_cast<float>(zero)};
  };
  for (const BFloat16Kernels* engine : engines_here())
    for (const bool both : {false, true}) {
      std::vector<uint16_t> high(kPadded * kPanel, 77), low(kPadded * kPanel, 77);
      engine->expand_int4({.weights = bytes.data(),
                           .depth = kDepth,
                           .group = kGroup,
                           .padded_depth = kPadded,
                           .panels = high.data(),
                           .panel_stride = kPadded * kPairColumns,
                           .low = both ? low.data() : nullptr});
      for (int64_t k = 0; k < kPadded; ++k)
        for (int64_t j = 0; j < kPanel; ++j) {
          const auto at = static_cast<size_t>(j / kPairColumns * kPadded * kPairColumns +
                                              k / 2 * 2 * kPairColumns + j % kPairColumns * 2 + k % 2);
          const double wanted = k < kDepth ? weight(k, j) : 0;
          const double sum = double{widened(high[at])} + (both ? widened(low[at]) : 0.0f);
          ASSERT_NEAR(sum, wanted, std::abs(wanted) * (both ? 0x1p-17 : 0x1p-8)) << engine->name;
          ASSERT_EQ(low[at] == 77, !both);
        }
    }
}

// (a + low) times a panel is what both give one after the other, on the model and on tiles.
TEST(BFloat16Parts, TilesAddBoth) {
  std::vector<const BFloat16Kernels*> all{&tile_model_engine()};
  if (const BFloat16Kernels* engine = bfloat16_kernels_of("amx-bf16")) all.push_back(engine);
  for (const BFloat16Kernels* engine : all)
    for (const int64_t rows : {1, 16, 17, 32})
      for (const int64_t columns : {7, 16, 17, 64}) {
        constexpr int64_t kDepth = 96, kStride = 100;
        std::mt19937 random(5);
        const auto whole = [&](int64_t count) {  // small ones: sums are exact in any order
          std::vector<uint16_t> bits;
          for (int64_t i = 0; i < count; ++i)
            bits.push_back(
                std::bit_cast<uint16_t>(BFloat16(static_cast<float>(static_cast<int>(random() % 15) - 7))));
          return bits;
        };
        const std::vector<uint16_t> a = whole(32 * kStride), low = whole(32 * kStride),
                                    b = whole(64 * kDepth);
        std::vector<float> sums(32 * 64, -1);
        engine->multiply({.a = a.data(),
                          .a_stride = kStride,
                          .rows = rows,
                          .panels = b.data(),
                          .panel_stride = kDepth * kPairColumns,
                          .num_panels = (columns + 31) / 32,
                          .depth = kDepth,
                          .start = nullptr,
                          .before = nullptr,
                          .sums = sums.data(),
                          .sums_stride = 64,
                          .sums_step = kPairColumns,
                          .y = nullptr,
                          .y_stride = 0,
                          .columns = columns,
                          .low = low.data()});
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            float wanted = 0;
            for (int64_t k = 0; k < kDepth; ++k) {
              const auto at = static_cast<size_t>(i * kStride + k);
              const uint16_t weight =
                  b[static_cast<size_t>(j / 32 * kDepth * 32 + k / 2 * 64 + j % 32 * 2 + k % 2)];
              wanted += (widened(a[at]) + widened(low[at])) * widened(weight);
            }
            ASSERT_EQ(sums[static_cast<size_t>(i * 64 + j)], wanted)
                << engine->name << ' ' << rows << ' ' << i << ' ' << j;
          }
      }
}

LinearWeight weight_of(DType dtype, int64_t out, int64_t in) {
  const Tensor full = Tensor::of(normal_numbers(out * in, 7), {out, in});
  if (dtype == DType::I8) {
    const auto [values, scales] = quantize_int8(full);
    return {.weight = values, .scales = scales};
  }
  if (dtype == DType::U8) {
    const auto [values, scales] = quantize_int4(full, 32);
    return {.weight = values, .scales = scales, .group_size = 32};
  }
  return {.weight = full.to(dtype)};
}

// On both sides of the number of rows from which tiles take them, and of the rows they take at once.
Tensor product(const PackedLinear& linear, const Tensor& x, InputPrecision precision) {
  const Tensor y = Tensor::empty({x.size(0), linear.out_features()}, DType::F32);
  linear.forward(x, y, {.precision = precision});
  return y;
}

void expect_many_as_few(DType dtype, DType input) {
  constexpr int64_t kIn = 610, kOut = 70;
  const PackedLinear linear(weight_of(dtype, kOut, kIn));
  const Tensor x = Tensor::of(normal_numbers(529 * kIn, 9), {529, kIn}).to(input);
  // Inputs are rounded to 2^-16 of the largest of some; magnitudes of weights are below 1.1 on average.
  const double most = 5 * 0x1p-16 * 1.1 * kIn;
  const auto part = [&](int64_t first, int64_t rows) {
    return x.as_strided({rows, kIn}, {kIn, 1}, first * kIn);
  };
  for (const int64_t rows : {16, 17, 33, 512, 513, 529}) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    const Tensor y = product(linear, part(0, rows), InputPrecision::Auto);
    double squares = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const Tensor alone = product(linear, part(i, 1), InputPrecision::Float32);
      for (int64_t j = 0; j < kOut; ++j) {
        const double difference = y.at(i * kOut + j) - alone.at(j);
        squares += difference * difference;
        ASSERT_NEAR(difference, 0, most) << i;
      }
    }
    // Errors of so many inputs mostly cancel; without second parts 0.02 would be left.
    EXPECT_LT(std::sqrt(squares / static_cast<double>(rows * kOut)), 2e-3);
    if (rows > linear.independent_rows(InputPrecision::Auto, input)) continue;
    for (int64_t i = 0; i < rows; ++i) {
      const Tensor alone = product(linear, part(i, 1), InputPrecision::Auto);
      for (int64_t j = 0; j < kOut; ++j) ASSERT_EQ(y.at(i * kOut + j), alone.at(j)) << i;
    }
  }
  EXPECT_GE(linear.independent_rows(InputPrecision::Auto, input), 16);
  EXPECT_EQ(linear.independent_rows(InputPrecision::Int16, input), INT64_MAX);
}

// On both sides of the number of rows from which tiles take them, and of the rows they take at once.
TEST(BFloat16Parts, ManyRowsAreAsFewAre) {
  for (const DType dtype : {DType::BF16, DType::I8, DType::U8})
    for (const DType input : {DType::F32, DType::F16, DType::BF16}) {
      SCOPED_TRACE(std::string(name(dtype)) + " times " + std::string(name(input)));
      expect_many_as_few(dtype, input);
    }
}

TEST(BFloat16Parts, InputsThatAreNotOrdinary) {
  for (const DType dtype : {DType::BF16, DType::I8}) {
    const PackedLinear linear(weight_of(dtype, 64, 256));
    const Tensor x = Tensor::full({20, 256}, 0, DType::F32);
    float* const rows = x.data_as<float>();
    rows[256 + 5] = std::numeric_limits<float>::quiet_NaN();
    rows[512 + 200] = kInfinity;
    rows[768] = std::numeric_limits<float>::denorm_min();
    rows[1024 + 3] = 0x1.ff8p127f;  // rounds to an infinity
    const Tensor y = linear(x), wanted = linear(x, {.precision = InputPrecision::Float32});
    for (int64_t j = 0; j < 64; ++j) {
      EXPECT_EQ(y.at(j), 0);
      EXPECT_TRUE(std::isnan(y.at(64 + j)));
      EXPECT_FALSE(std::isfinite(y.at(128 + j)));
      EXPECT_NEAR(y.at(192 + j), 0, 1e-36);
      const double exact = wanted.at(256 + j);
      // Integers' sums may overflow before they are scaled.
      if (!std::isfinite(exact) || linear.independent_rows() == INT64_MAX) continue;
      EXPECT_NEAR(y.at(256 + j), exact, std::abs(exact) * 0x1p-14 + 1e33) << name(dtype);
    }
  }
}

// 0 times infinity would be NaN: the second part of an input that has none.
TEST(BFloat16Parts, InfiniteWeights) {
  LinearWeight weight = weight_of(DType::BF16, 70, 300);
  weight.weight.data_as<BFloat16>()[65 * 300 + 299] = BFloat16(kInfinity);
  const PackedLinear linear(weight);
  const Tensor x = Tensor::full({20, 300}, 1.5, DType::F32), y = linear(x);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 70; ++j) ASSERT_EQ(y.at(i * 70 + j) == kInfinity, j == 65) << i << ' ' << j;
}

}  // namespace
}  // namespace weft::kernels
