// Every way that kernels may choose by measurement (runtime/autotune.h), beside the default one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_bfloat16.h"
#include "kernels/cpu/packed_bfloat16.h"
#include "kernels/cpu/packed_int8.h"
#include "kernels/tile_model.h"
#include "runtime/autotune.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr size_t kMostCandidates = 8;

std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

std::vector<uint16_t> random_halves(int64_t count, unsigned seed) {
  std::vector<uint16_t> bits;
  for (const float value : random_floats(count, seed)) {
    const BFloat16 half(value);
    std::memcpy(&bits.emplace_back(), &half, sizeof half);
  }
  return bits;
}

// compute(): by each candidate, on one thread and on two, as by default, bit by bit.
template <class Compute>
void expect_same(const Compute& compute) {
  const int before = get_num_threads();
  const auto wanted = compute();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (size_t candidate = 0; candidate < kMostCandidates; ++candidate) {
      const runtime::CandidateScope scope(candidate);
      EXPECT_EQ(compute(), wanted) << "candidate " << candidate << ", threads: " << threads;
    }
  }
  set_num_threads(before);
}

struct ProductSizes {
  int64_t m, n, k;
};
// Below and above what is measured; whole tiles and parts of them; more of the depth than panels have.
constexpr ProductSizes kSizes[] = {{1, 96, 64},    {5, 33, 40},     {97, 129, 96},  {200, 100, 65},
                                   {300, 513, 33}, {130, 520, 256}, {37, 64, 4130}, {64, 2100, 2048}};

TEST(Candidates, PackedFloat32GivesTheSame) {
  for (const auto& [m, n, k] : kSizes) {
    const std::vector<float> x = random_floats(m * k, 1), weight = random_floats(n * k, 2),
                             bias = random_floats(n, 3), residual = random_floats(m * n, 4);
    const PackedLinear linear(k, n, weight.data(), bias.data(), Activation::Relu);
    expect_same([&] {
      std::vector<float> y(static_cast<size_t>(m * n));
      linear.run(x.data(), m, y.data(), residual.data());
      return y;
    });
  }
}

TEST(Candidates, ConvolutionGivesTheSame) {
  const ConvParams params{
      .in_channels = 36, .out_channels = 50, .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}};
  const std::vector<float> x = random_floats(2 * 19 * 17 * 36, 1), weight = random_floats(50 * 36 * 9, 2);
  const PackedConv conv(params, weight.data(), nullptr);
  expect_same([&] {
    std::vector<float> y(2 * 10 * 17 * 50);
    conv.run(x.data(), 2, 19, 17, y.data());
    return y;
  });
}

TEST(Candidates, PackedInt8GivesTheSame) {
  for (const auto& [m, n, k] : kSizes) {
    std::mt19937 generator(5);
    std::vector<int8_t> x(static_cast<size_t>(m * k)), weight(static_cast<size_t>(n * k));
    for (int8_t& value : x) value = static_cast<int8_t>(generator());
    for (int8_t& value : weight) value = static_cast<int8_t>(generator());
    const std::vector<float> scales = random_floats(n, 1), row_scales = random_floats(m, 2);
    const PackedInt8 matrix(int8_kernels(), n, k, weight.data(), scales.data(), nullptr);
    expect_same([&] {
      std::vector<float> y(static_cast<size_t>(m * n));
      matrix.run(x.data(), m, Int8Finish{.row_scales = row_scales.data(), .y = y.data()});
      return y;
    });
  }
}

void expect_same_products(const BFloat16Kernels& engine, const ProductSizes& sizes) {
  const auto& [m, n, k] = sizes;
  const std::vector<uint16_t> x = random_halves(m * k, 1), weight = random_halves(n * k, 2);
  const std::vector<float> bias = random_floats(n, 3);
  const PackedBFloat16 packed(engine, n, k, weight.data(), bias.data());
  expect_same([&] {
    std::vector<uint16_t> y(static_cast<size_t>(m * n));
    packed.run({.data = x.data(), .stride = k}, m, {.y = y.data(), .y_stride = n});
    return y;
  });
  // The right operand's columns contiguous, as those of weights are, or its rows.
  for (const bool turned : {true, false}) {
    std::vector<BFloat16> added;
    for (const float value : bias) added.emplace_back(value);
    const auto* const right = reinterpret_cast<const BFloat16*>(weight.data());
    expect_same([&] {
      std::vector<uint16_t> y(static_cast<size_t>(m * n));
      gemm_bfloat16(engine, m, n, k, {reinterpret_cast<const BFloat16*>(x.data()), k, 1},
                    turned ? MatrixView<BFloat16>{right, 1, k} : MatrixView<BFloat16>{right, n, 1},
                    added.data(), reinterpret_cast<BFloat16*>(y.data()));
      return y;
    });
  }
}

TEST(Candidates, BFloat16GivesTheSame) {
  const BFloat16Kernels* const engine = bfloat16_kernels_of("avx512-bf16");
  if (!engine) GTEST_SKIP() << "no AVX512-BF16";
  for (const ProductSizes& sizes : kSizes) expect_same_products(*engine, sizes);
}

// Weights where they lie are a candidate, too: by default (few rows), and where they are not.
TEST(Candidates, BFloat16OnTilesGivesTheSame) {
  constexpr int64_t kMostOfModel = 2 << 20;
  for (const ProductSizes& sizes : kSizes) {
    if (sizes.m * sizes.n * sizes.k <= kMostOfModel) expect_same_products(tile_model_engine(), sizes);
    if (const BFloat16Kernels* engine = bfloat16_kernels_of("amx-bf16")) expect_same_products(*engine, sizes);
  }
}

// BLAS may add in another order.
TEST(Candidates, Float32WithinTheBound) {
  constexpr int64_t kColumnStep = 7;  // every seventh column is compared
  for (const auto& [m, n, k] : kSizes) {
    for (const bool turned : {false, true}) {
      const std::vector<float> a = random_floats(m * k, 1), b = random_floats(k * n, 2);
      const MatrixView<float> right =
          turned ? MatrixView<float>{b.data(), 1, k} : MatrixView<float>{b.data(), n, 1};
      std::vector<double> sums, bounds;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; j += kColumnStep) {
          double sum = 0, magnitude = 0;
          for (int64_t p = 0; p < k; ++p) {
            const double product = double{a[static_cast<size_t>(i * k + p)]} *
                                   b[static_cast<size_t>(p * right.row_stride + j * right.column_stride)];
            sum += product, magnitude += std::abs(product);
          }
          sums.push_back(sum), bounds.push_back(static_cast<double>(k) * 0x1p-24 * magnitude);
        }
      }
      for (size_t candidate = 0; candidate < kMostCandidates; ++candidate) {
        const runtime::CandidateScope scope(candidate);
        std::vector<float> c(static_cast<size_t>(m * n), -1.0f);
        gemm_f32(m, n, k, {a.data(), k, 1}, right, c.data());
        int64_t wrong = 0;
        size_t at = 0;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; j += kColumnStep, ++at)
            wrong += !(std::abs(c[static_cast<size_t>(i * n + j)] - sums[at]) <= bounds[at]);
        EXPECT_EQ(wrong, 0) << m << " x " << n << " x " << k << ", candidate " << candidate;
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels
