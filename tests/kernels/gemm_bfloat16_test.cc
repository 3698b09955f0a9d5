// gemm_bfloat16 on each engine of this machine, and on a model of AMX's tiles, against sums in float64.
#include "kernels/cpu/gemm_bfloat16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/levels.h"
#include "kernels/tile_model.h"
#include "runtime/matrix_engines.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

std::vector<const BFloat16Kernels*> engines() {
  std::vector<const BFloat16Kernels*> all{&tile_model_engine()};
  for (const EngineKernels& one : engine_kernels())
    if (const BFloat16Kernels* engine = bfloat16_kernels_of(one.engine)) all.push_back(engine);
  return all;
}

struct BitsMatrix {
  std::vector<BFloat16> values;
  MatrixView<BFloat16> view;
  double at(int64_t i, int64_t j) const {
    return static_cast<float>(view.data[i * view.row_stride + j * view.column_stride]);
  }
};

enum BitsLayout { kByRows, kByColumns, kOddRows, kOddColumns, kApart, kBackwards, kBitsLayouts };

BitsMatrix numbers(int64_t rows, int64_t columns, int layout, std::mt19937& random) {
  const int64_t pad = layout == kOddRows || layout == kOddColumns ? 5 : 0, step = layout == kApart ? 2 : 1;
  BitsMatrix result;
  result.values.resize(static_cast<size_t>((rows + pad) * (columns + pad) * step * step));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (BFloat16& value : result.values) value = BFloat16(uniform(random));
  const bool by_columns = layout == kByColumns || layout == kOddColumns;
  result.view = {result.values.data(), by_columns ? 1 : (columns + pad) * step * step,
                 by_columns ? rows + pad : step};
  if (layout == kBackwards) {
    result.view.data += columns - 1;
    result.view.column_stride = -1;
  }
  return result;
}

void compare(const BFloat16Kernels& engine, int64_t m, int64_t n, int64_t k, int layout_a, int layout_b,
             bool with_bias, std::mt19937& random) {
  SCOPED_TRACE(std::string(engine.name) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
               std::to_string(k) + " layouts " + std::to_string(layout_a) + " " + std::to_string(layout_b));
  const BitsMatrix a = numbers(m, k, layout_a, random), b = numbers(k, n, layout_b, random),
                   bias = numbers(1, n, kByRows, random);
  std::vector<BFloat16> c(static_cast<size_t>(m * n + 1), BFloat16(77.0f));
  gemm_bfloat16(engine, m, n, k, a.view, b.view, with_bias ? bias.values.data() : nullptr, c.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double product = a.at(i, p) * b.at(p, j);
        sum += product, magnitude += std::abs(product);
      }
      double error = static_cast<double>(k) * 0x1p-24 * magnitude;
      error += 0x1p-8 * (std::abs(sum) + error);
      if (with_bias) {
        sum += bias.at(0, j);
        error += 0x1p-8 * (std::abs(sum) + error);
      }
      ASSERT_NEAR(static_cast<float>(c[static_cast<size_t>(i * n + j)]), sum, error) << i << " " << j;
    }
  ASSERT_EQ(static_cast<float>(c.back()), 77.0f);
}

// Weights that are read where they lie: on each side of the most rows for that, of the rows of weights that
// are taken at once, of the depth, with what is left of it.
TEST(GemmBFloat16, FewRowsOfManyWeights) {
  std::mt19937 random(7);
  for (const BFloat16Kernels* engine : engines()) {
    for (const int64_t m : {95, 96, 97}) compare(*engine, m, 600, 400, kByRows, kByColumns, true, random);
    for (const int64_t n : {143, 144, 145, 155, 157})
      for (const int64_t k : {400, 401, 511, 513})
        compare(*engine, 33, n, k, kByRows, kOddColumns, n % 2 == 0, random);
  }
}

TEST(GemmBFloat16, EveryLayout) {
  std::mt19937 random(1);
  constexpr int64_t kSizes[][3] = {{1, 1, 1},    {1, 300, 71}, {300, 1, 70}, {1, 70, 300},   {4, 33, 65},
                                   {6, 100, 17}, {7, 5, 9},    {13, 48, 31}, {17, 31, 33},   {25, 97, 64},
                                   {64, 64, 64}, {12, 16, 1},  {16, 40, 40}, {37, 200, 130}, {100, 3, 50}};
  for (const BFloat16Kernels* engine : engines())
    for (const auto& [m, n, k] : kSizes)
      for (int a = 0; a < kBitsLayouts; ++a)
        for (int b = 0; b < kBitsLayouts; ++b) compare(*engine, m, n, k, a, b, (a + b) % 2 == 1, random);
}

TEST(GemmBFloat16, EdgesOfItsWays) {
  std::mt19937 random(2);
  for (const BFloat16Kernels* engine : engines()) {
    for (const int layout : {kByRows, kByColumns, kOddColumns}) {
      // Rows: of a tile, of the ways without packing; columns: of panels and their groups.
      for (const int64_t m : {11, 12, 13, 16, 17, 24, 25, 31, 32, 33, 47, 64, 65, 70})
        compare(*engine, m, 33, 34, kByRows, layout, m % 2 == 0, random);
      for (const int64_t n : {31, 32, 33, 63, 65, 255, 256, 257, 289, 1023, 1025, 2049})
        compare(*engine, n % 2 == 0 ? 5 : 34, n, 9, kByRows, layout, true, random);
      // Depth: of pairs and tiles, of panels, of rows of a that lie in one place of the cache.
      for (const int64_t k : {2, 3, 15, 16, 31, 32, 33, 63, 1500, 2048, 3071, 3072, 3073, 4096, 6145})
        compare(*engine, 33, 35, k, kByRows, layout, k % 2 == 0, random);
      compare(*engine, 1040, 33, 3074, kByRows, layout, true, random);
    }
  }
}

// The last of an odd number of products: what lies behind it, the next row's first number, is not read.
TEST(GemmBFloat16, OddDepthsEndAlone) {
  constexpr int64_t kRows = 26, kColumns = 70;
  for (const BFloat16Kernels* engine : engines())
    for (const int64_t k : {1, 3, 33, 3073}) {
      std::vector<BFloat16> a(static_cast<size_t>(kRows * k), BFloat16(1.0f)),
          b(static_cast<size_t>(k * kColumns), BFloat16(0.5f)), c(static_cast<size_t>(kRows * kColumns));
      for (int64_t i = 1; i < kRows; i += 2)
        a[static_cast<size_t>(i * k)] = BFloat16(std::numeric_limits<float>::infinity());
      gemm_bfloat16(*engine, kRows, kColumns, k, {a.data(), k, 1}, {b.data(), kColumns, 1}, nullptr,
                    c.data());
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kColumns; ++j) {
          const auto sum = static_cast<float>(c[static_cast<size_t>(i * kColumns + j)]);
          if (i % 2 == 1)
            ASSERT_TRUE(std::isinf(sum)) << engine->name << ' ' << k << ' ' << i << ' ' << j;
          else
            ASSERT_EQ(sum, static_cast<float>(BFloat16(0.5f * static_cast<float>(k))))
                << engine->name << ' ' << k << ' ' << i << ' ' << j;
        }
    }
}

// On tiles, few rows times many columns that are contiguous: b is read where it lies.
TEST(GemmBFloat16, FewRowsAndLongColumns) {
  std::mt19937 random(6);
  for (const BFloat16Kernels* engine : engines()) {
    for (const int64_t m : {4, 5, 15, 16, 17, 31, 32, 33, 48, 49, 65})
      compare(*engine, m, 300, 230, m % 2 == 0 ? kByRows : kByColumns, kByColumns, m % 3 == 0, random);
    for (const int64_t n : {127, 128, 129, 159, 161, 300})
      compare(*engine, 7, n, 64, kByRows, kByColumns, n % 2 == 0, random);
    for (const int64_t k : {31, 32, 33, 63, 511, 512, 513, 544, 1024, 1057})
      compare(*engine, 6, 130, k, kByRows, k % 2 == 0 ? kByColumns : kOddColumns, true, random);
    compare(*engine, 9, 200, 100, kApart, kByColumns, true, random);
  }
}

TEST(GemmBFloat16, RandomSizes) {
  std::mt19937 random(3);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (const BFloat16Kernels* engine : engines())
    for (int i = 0; i < 150; ++i)
      compare(*engine, pick(60), pick(250), pick(150), static_cast<int>(pick(kBitsLayouts)) - 1,
              static_cast<int>(pick(kBitsLayouts)) - 1, i % 2 == 0, random);
}

TEST(GemmBFloat16, NothingToAdd) {
  for (const BFloat16Kernels* engine : engines()) {
    std::vector<BFloat16> c(6, BFloat16(1.0f));
    const std::vector<BFloat16> bias{BFloat16(1.0f), BFloat16(2.0f), BFloat16(3.0f)};
    gemm_bfloat16(*engine, 2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, nullptr, c.data());
    for (const BFloat16 value : c) EXPECT_EQ(static_cast<float>(value), 0.0f);
    gemm_bfloat16(*engine, 2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, bias.data(), c.data());
    EXPECT_EQ(static_cast<float>(c[5]), 3.0f);
    gemm_bfloat16(*engine, 0, 3, 2, {nullptr, 2, 1}, {nullptr, 3, 1}, nullptr, nullptr);
  }
}

TEST(GemmBFloat16, BitsDoNotDependOnThreads) {
  const int before = get_num_threads();
  std::mt19937 random(4);
  for (const BFloat16Kernels* engine : engines()) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{200, 300, 100},
                                  {40, 320, 3200},
                                  {1, 3000, 300},
                                  {3, 900, 500},
                                  {20, 900, 500},
                                  {300, 70, 64}}) {
      for (const int layout : {kByRows, kByColumns}) {
        const BitsMatrix a = numbers(m, k, kByRows, random), b = numbers(k, n, layout, random);
        std::vector<uint16_t> first;
        for (const int threads : {1, 2, 3}) {
          set_num_threads(threads);
          std::vector<uint16_t> c(static_cast<size_t>(m * n));
          gemm_bfloat16(*engine, m, n, k, a.view, b.view, nullptr, reinterpret_cast<BFloat16*>(c.data()));
          if (first.empty()) first = c;
          ASSERT_EQ(first, c) << engine->name;
        }
      }
    }
  }
  set_num_threads(before);
}

// One product (or a sum of two) in every way there is: few rows by rows and by columns, many rows.
std::vector<float> in_every_way(const BFloat16Kernels& engine, std::array<float, 2> x,
                                std::array<float, 2> y) {
  std::vector<float> results;
  for (const int64_t m : {1, 40}) {
    for (const bool by_columns : {false, true}) {
      constexpr int64_t kColumns = 34;
      std::vector<BFloat16> a(static_cast<size_t>(2 * m)), b(2 * kColumns),
          c(static_cast<size_t>(m * kColumns));
      for (size_t i = 0; i < a.size(); ++i) a[i] = BFloat16(x[i % 2]);
      for (size_t i = 0; i < b.size(); ++i)
        b[i] = BFloat16(y[by_columns ? i % 2 : i / static_cast<size_t>(kColumns)]);
      gemm_bfloat16(engine, m, kColumns, 2, {a.data(), 2, 1},
                    {b.data(), by_columns ? 1 : kColumns, by_columns ? 2 : 1}, nullptr, c.data());
      results.push_back(static_cast<float>(c.front()));
      results.push_back(static_cast<float>(c.back()));
    }
  }
  return results;
}

TEST(GemmBFloat16, NotFiniteAndRoundedToEven) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNaN = std::numeric_limits<float>::quiet_NaN();
  struct Case {
    std::array<float, 2> x, y;
    float expected;
  };
  constexpr float kLargest = 0x1.fep127f;
  const Case cases[] = {
      {{1, kNaN}, {1, 1}, kNaN},
      {{kInfinity, 1}, {1, 1}, kInfinity},
      {{1, -kInfinity}, {1, 2}, -kInfinity},
      {{kInfinity, 0}, {0, 0}, kNaN},
      {{kInfinity, kInfinity}, {1, -1}, kNaN},
      {{kLargest, kLargest}, {1, 1}, kInfinity},
      {{kLargest, 0}, {1, 1}, kLargest},
      {{kLargest, 0x1p118f}, {1, 1}, kLargest},   // below half of a step
      {{kLargest, 0x1p119f}, {1, 1}, kInfinity},  // half of a step: to even, which is infinity
      {{1, 0x1p-8f}, {1, 1}, 1},                  // half of a step, to even: down
      {{1, 0x1.8p-7f}, {1, 1}, 1 + 0x1p-6f},      // half of a step, to even: up
      {{1, 0x1.02p-8f}, {1, 1}, 1 + 0x1p-7f},     // above half of a step
      {{-1, -0x1p-8f}, {1, 1}, -1},
      {{0x1p-126f, 0}, {1, 1}, 0x1p-126f},  // the smallest normal number
      {{0x1p-120f, -0x1p-120f}, {0x1p-6f, 0}, 0x1p-126f},
  };
  for (const BFloat16Kernels* engine : engines())
    for (const Case& c : cases)
      for (const float result : in_every_way(*engine, c.x, c.y)) {
        if (std::isnan(c.expected))
          EXPECT_TRUE(std::isnan(result)) << engine->name << " " << c.x[0] << " " << c.x[1];
        else
          EXPECT_EQ(result, c.expected) << engine->name << " " << c.x[0] << " " << c.x[1];
      }
}

// Instructions take denormals for zero, in operands and in sums.
TEST(GemmBFloat16, DenormalsAreZero) {
  for (const EngineKernels& one : engine_kernels()) {
    const BFloat16Kernels* engine = bfloat16_kernels_of(one.engine);
    if (!engine) continue;
    for (const float result : in_every_way(*engine, {0x1p-130f, 0}, {0x1p100f, 0})) EXPECT_EQ(result, 0.0f);
    for (const float result : in_every_way(*engine, {0x1p-100f, 0}, {0x1p-30f, 0})) EXPECT_EQ(result, 0.0f);
  }
}

TEST(GemmBFloat16, PanelsAreAsPlainOnes) {
  std::mt19937 random(5);
  for (const BFloat16Kernels* engine : engines()) {
    for (const auto& [columns, depth, padded] : {std::array<int64_t, 3>{32, 32, 32},
                                                 {1, 1, 2},
                                                 {31, 33, 34},
                                                 {33, 5, 32},
                                                 {70, 64, 64},
                                                 {20, 0, 32}}) {
      const BitsMatrix b = numbers(std::max<int64_t>(1, depth), columns, kByRows, random);
      const auto* const bits = reinterpret_cast<const uint16_t*>(b.view.data);
      const int64_t panel = padded * kPairColumns, panels = (columns + kPairColumns - 1) / kPairColumns;
      std::vector<uint16_t> expected(static_cast<size_t>(panels * panel), 1), got(expected.size(), 2), turned;
      pack_panels_plainly({bits, columns, columns, depth, padded, expected.data(), panel}, 1);
      engine->pack_rows({bits, columns, columns, depth, padded, got.data(), panel});
      EXPECT_EQ(expected, got) << engine->name << " " << columns << " " << depth;
      turned.resize(b.values.size());
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < columns; ++j)
          turned[static_cast<size_t>(j * depth + k)] = bits[k * columns + j];
      std::fill(got.begin(), got.end(), uint16_t{3});
      engine->pack_columns({turned.data(), depth, columns, depth, padded, got.data(), panel});
      EXPECT_EQ(expected, got) << engine->name << " " << columns << " " << depth;
    }
  }
}

TEST(MatrixEngines, EachIsUsableOrSaysWhyNot) {
  ASSERT_FALSE(runtime::matrix_engines().empty());
  for (const runtime::MatrixEngine& engine : runtime::matrix_engines()) {
    EXPECT_EQ(runtime::has_matrix_engine(engine.name), engine.why_not.empty()) << engine.name;
    if (!engine.why_not.empty()) {
      EXPECT_EQ(runtime::matrix_engine_speedup(engine.name), 0) << engine.name;
      EXPECT_EQ(bfloat16_kernels_of(engine.name.c_str()), nullptr) << engine.name;
    } else if (engine.numbers == "bfloat16") {
      EXPECT_GT(runtime::matrix_engine_speedup(engine.name), 0) << engine.name;
      ASSERT_NE(bfloat16_kernels_of(engine.name.c_str()), nullptr) << engine.name;
      EXPECT_EQ(bfloat16_kernels_of(engine.name.c_str())->name, engine.name);
    }
  }
  EXPECT_FALSE(runtime::has_matrix_engine("none"));
}

}  // namespace
}  // namespace weft::kernels
