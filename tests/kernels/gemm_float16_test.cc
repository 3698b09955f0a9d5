// gemm_float16 on each engine of this machine that has tiles, and on a model of AMX's, against sums in
// float64.
#include "kernels/cpu/gemm_float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/tile_model.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

std::vector<const BFloat16Kernels*> engines_with_tiles() {
  std::vector<const BFloat16Kernels*> all{&tile_model_engine()};
  if (const BFloat16Kernels* engine = bfloat16_kernels_of("amx-bf16")) all.push_back(engine);
  return all;
}

enum HalfLayout { kHalfByRows, kHalfByColumns, kHalfOddRows, kHalfApart, kHalfBackwards, kHalfLayouts };

struct HalfMatrix {
  std::vector<Half> values;
  MatrixView<Half> view;
  double at(int64_t i, int64_t j) const {
    return static_cast<float>(view.data[i * view.row_stride + j * view.column_stride]);
  }
  Half& number(int64_t i, int64_t j) {
    return values[static_cast<size_t>(view.data - values.data() + i * view.row_stride +
                                      j * view.column_stride)];
  }
};

// All bits of float16's numbers, from 2^-24 to 2^scale.
HalfMatrix half_numbers(int64_t rows, int64_t columns, int layout, std::mt19937& random, int scale = 0) {
  const int64_t pad = layout == kHalfOddRows ? 5 : 0, step = layout == kHalfApart ? 2 : 1;
  HalfMatrix result;
  result.values.resize(static_cast<size_t>((rows + pad) * (columns + pad) * step * step));
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::uniform_int_distribution<int> exponent(-26, scale);
  for (Half& value : result.values) value = Half(std::ldexp(uniform(random), exponent(random)));
  const bool by_columns = layout == kHalfByColumns;
  result.view = {result.values.data(), by_columns ? 1 : (columns + pad) * step * step,
                 by_columns ? rows : step};
  if (layout == kHalfBackwards) {
    result.view.data += columns - 1;
    result.view.column_stride = -1;
  }
  return result;
}

void compare_halves(const BFloat16Kernels& engine, int64_t m, int64_t n, int64_t k, int layout_a,
                    int layout_b, bool with_bias, std::mt19937& random) {
  SCOPED_TRACE(std::string(engine.name) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
               std::to_string(k) + " layouts " + std::to_string(layout_a) + " " + std::to_string(layout_b));
  const HalfMatrix a = half_numbers(m, k, layout_a, random), b = half_numbers(k, n, layout_b, random),
                   bias = half_numbers(1, n, kHalfByRows, random);
  std::vector<Half> c(static_cast<size_t>(m * n + 1), Half(77.0f));
  ASSERT_TRUE(
      gemm_float16(engine, m, n, k, a.view, b.view, with_bias ? bias.values.data() : nullptr, c.data()));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = with_bias ? bias.at(0, j) : 0, magnitude = std::abs(sum);
      for (int64_t p = 0; p < k; ++p) {
        const double product = a.at(i, p) * b.at(p, j);
        sum += product, magnitude += std::abs(product);
      }
      double error = static_cast<double>(4 * k + 1) * 0x1p-24 * magnitude;
      error += 0x1p-11 * (std::abs(sum) + error) + 0x1p-25;
      ASSERT_NEAR(static_cast<float>(c[static_cast<size_t>(i * n + j)]), sum, error) << i << " " << j;
    }
  ASSERT_EQ(static_cast<float>(c.back()), 77.0f);
}

TEST(GemmFloat16, EveryLayout) {
  std::mt19937 random(1);
  for (const BFloat16Kernels* engine : engines_with_tiles())
    for (int a = 0; a < kHalfLayouts; ++a)
      for (int b = 0; b < kHalfLayouts; ++b)
        compare_halves(*engine, 66, 70, 45, a, b, (a + b) % 2 == 0, random);
}

// On each side of a tile, of two panels, of the inputs that are taken at once, of the rows of a task.
TEST(GemmFloat16, EveryEdge) {
  std::mt19937 random(2);
  for (const BFloat16Kernels* engine : engines_with_tiles()) {
    for (const int64_t m : {1, 15, 16, 17, 31, 32, 33, 65})
      compare_halves(*engine, m, 33, 40, 0, 1, true, random);
    for (const int64_t n : {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129})
      for (const int layout : {0, 1}) compare_halves(*engine, 34, n, 40, 0, layout, true, random);
    for (const int64_t k : {1, 2, 31, 32, 33, 511, 512, 513, 1030})
      for (const int layout : {0, 1}) compare_halves(*engine, 20, 40, k, 1 - layout, layout, false, random);
    for (const int64_t m : {1023, 1024, 1025, 2050}) compare_halves(*engine, m, 5, 33, 0, 0, true, random);
  }
}

TEST(GemmFloat16, ThreadsChangeNothing) {
  std::mt19937 random(3);
  const int64_t m = 1100, n = 150, k = 70;
  const HalfMatrix a = half_numbers(m, k, kHalfByRows, random),
                   b = half_numbers(k, n, kHalfByColumns, random);
  for (const BFloat16Kernels* engine : engines_with_tiles()) {
    std::vector<std::vector<Half>> results;
    const int before = get_num_threads();
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      results.emplace_back(static_cast<size_t>(m * n));
      ASSERT_TRUE(gemm_float16(*engine, m, n, k, a.view, b.view, nullptr, results.back().data()));
    }
    set_num_threads(before);
    for (size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint16_t>(results[0][i]), std::bit_cast<uint16_t>(results[1][i]));
      ASSERT_EQ(std::bit_cast<uint16_t>(results[0][i]), std::bit_cast<uint16_t>(results[2][i]));
    }
  }
}

// The largest and the smallest numbers, each the only one that is not zero: exact.
TEST(GemmFloat16, NumbersAtTheEdges) {
  for (const BFloat16Kernels* engine : engines_with_tiles())
    for (const float x : {65504.0f, -65504.0f, 0x1p-24f, -0x1p-24f, 0x1.ffcp-15f, 0x1.004p0f, 0x1.ffcp0f})
      for (const float y : {1.0f, 0x1p-1f, 0x1.004p-1f, 0x1.ffcp-2f}) {
        std::mt19937 random(4);
        HalfMatrix a = half_numbers(64, 40, kHalfByRows, random),
                   b = half_numbers(40, 33, kHalfByRows, random);
        std::fill(a.values.begin(), a.values.end(), Half(0.0f));
        std::fill(b.values.begin(), b.values.end(), Half(0.0f));
        a.number(3, 39) = Half(x), b.number(39, 32) = Half(y);
        std::vector<Half> c(64 * 33);
        ASSERT_TRUE(gemm_float16(*engine, 64, 33, 40, a.view, b.view, nullptr, c.data()));
        EXPECT_EQ(std::bit_cast<uint16_t>(c[3 * 33 + 32]), std::bit_cast<uint16_t>(Half(x * y)))
            << x << ' ' << y;
        EXPECT_EQ(static_cast<float>(c[0]), 0.0f);
      }
}

TEST(GemmFloat16, NumbersThatAreNotFiniteAreNotTaken) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float x : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()})
    for (int layout = 0; layout < kHalfLayouts; ++layout)
      for (const bool left : {true, false}) {
        std::mt19937 random(5);
        HalfMatrix a = half_numbers(64, 40, layout, random), b = half_numbers(40, 33, layout, random);
        (left ? a.number(63, 39) : b.number(39, 32)) = Half(x);
        std::vector<Half> c(64 * 33, Half(77.0f));
        EXPECT_FALSE(gemm_float16(tile_model_engine(), 64, 33, 40, a.view, b.view, nullptr, c.data()));
        for (const Half& each : c) ASSERT_EQ(static_cast<float>(each), 77.0f);
      }
}

}  // namespace
}  // namespace weft::kernels
