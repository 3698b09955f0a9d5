// gemm_f32 against sums in float64, for every layout of its operands; every instruction set's loops.
#include "kernels/cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/gemm_kernels.h"
#include "kernels/cpu/levels.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

struct Matrix {
  std::vector<float> values;
  MatrixView<float> view;
  float at(int64_t i, int64_t j) const { return view.data[i * view.row_stride + j * view.column_stride]; }
};

enum Layout {
  kRows,
  kColumns,
  kPaddedRows,
  kPaddedColumns,
  kStrided,
  kReversed,
  kOneRow,
  kOneColumn,
  kLayouts
};

Matrix sample(int64_t rows, int64_t columns, int layout, std::mt19937& random) {
  const int64_t pad = layout == kPaddedRows || layout == kPaddedColumns ? 5 : 0,
                step = layout == kStrided ? 2 : 1;
  Matrix result;
  result.values.resize(static_cast<size_t>((rows + pad) * (columns + pad) * step * step));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : result.values) value = uniform(random);
  const bool by_columns = layout == kColumns || layout == kPaddedColumns;
  result.view = {result.values.data(), by_columns ? 1 : (columns + pad) * step * step,
                 by_columns ? rows + pad : step};
  if (layout == kReversed) {
    result.view.data += columns - 1;
    result.view.column_stride = -1;
  }
  if (layout == kOneRow) result.view.row_stride = 0;  // of an expanded tensor
  if (layout == kOneColumn) result.view = {result.values.data(), 1, 0};
  return result;
}

void check(int64_t m, int64_t n, int64_t k, int layout_a, int layout_b, std::mt19937& random) {
  SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " layouts " +
               std::to_string(layout_a) + " " + std::to_string(layout_b));
  const Matrix a = sample(m, k, layout_a, random), b = sample(k, n, layout_b, random);
  std::vector<float> c(static_cast<size_t>(m * n + 1), 77.0f);
  gemm_f32(m, n, k, a.view, b.view, c.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double product = static_cast<double>(a.at(i, p)) * b.at(p, j);
        sum += product, magnitude += std::abs(product);
      }
      ASSERT_NEAR(c[static_cast<size_t>(i * n + j)], sum, static_cast<double>(k + 1) * 0x1p-24 * magnitude)
          << i << " " << j;
    }
  ASSERT_EQ(c.back(), 77.0f);
}

TEST(Gemm, EveryLayout) {
  std::mt19937 random(1);
  constexpr int64_t kSizes[][3] = {{1, 1, 1},    {1, 300, 70},   {300, 1, 70}, {1, 70, 300}, {4, 33, 65},
                                   {6, 100, 17}, {7, 5, 9},      {13, 48, 31}, {25, 97, 64}, {64, 64, 64},
                                   {12, 16, 1},  {37, 200, 130}, {100, 3, 50}, {3, 32, 2},   {5, 64, 40}};
  for (const auto& [m, n, k] : kSizes)
    for (int layout_a = 0; layout_a < kLayouts; ++layout_a)
      for (int layout_b = 0; layout_b < kLayouts; ++layout_b) check(m, n, k, layout_a, layout_b, random);
}

TEST(Gemm, RandomSizes) {
  std::mt19937 random(2);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (int i = 0; i < 200; ++i)
    check(pick(50), pick(250), pick(150), static_cast<int>(pick(4)) - 1, static_cast<int>(pick(4)) - 1,
          random);
}

// Up to twelve rows go through b a few of its rows at a time, in stretches of columns.
TEST(Gemm, FewRows) {
  std::mt19937 random(4);
  for (const int64_t m : {2, 3, 8, 12, 13})
    for (const int64_t k : {31, 32, 33, 65})
      for (const int64_t n : {15, 31, 32, 33, 1023, 1025, 2100}) check(m, n, k, kRows, kPaddedRows, random);
}

TEST(Gemm, NoProductsAreZero) {
  std::vector<float> c(6, 1.0f);
  gemm_f32(2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, c.data());
  EXPECT_EQ(c, std::vector<float>(6));
}

TEST(Gemm, BitsDoNotDependOnThreads) {
  const int before = get_num_threads();
  std::mt19937 random(3);
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{200, 300, 400}, {1, 5000, 300}, {3, 900, 1000}}) {
    for (const int layout : {kRows, kColumns}) {
      const Matrix a = sample(m, k, kRows, random), b = sample(k, n, layout, random);
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        std::vector<float> c(static_cast<size_t>(m * n));
        gemm_f32(m, n, k, a.view, b.view, c.data());
        if (first.empty()) first = c;
        ASSERT_EQ(first, c);
      }
    }
  }
  set_num_threads(before);
}

std::vector<const GemmKernels*> kernels_of_this_machine() { return kernels_here(&KernelLevel::gemm); }

// Every tile of every instruction set, with a part of the last vector, two runs and a residual.
TEST(GemmKernels, EveryTile) {
  std::mt19937 random(4);
  for (const GemmKernels* kernels : kernels_of_this_machine()) {
    for (int vectors = 1; vectors <= kMaxTileVectors; ++vectors) {
      const int64_t width = vectors * kernels->lanes, columns = width - 1, length = 5, runs = 2;
      for (int rows = 1; rows <= kernels->max_rows[vectors]; ++rows) {
        const Matrix x = sample(rows, runs * length, kRows, random),
                     w = sample(runs * length, width, kRows, random);
        const Matrix residual = sample(rows, width, kRows, random), start = sample(1, width, kRows, random);
        std::vector<const float*> table;
        for (int64_t run = 0; run < runs; ++run)
          for (int i = 0; i < rows; ++i)
            table.push_back(&x.values[static_cast<size_t>(i * runs * length + run * length)]);
        std::vector<float> y(static_cast<size_t>(rows * width), 77.0f);
        kernels->tile[vectors][rows]({.rows = table.data(),
                                      .rows_stride = rows,
                                      .num_runs = runs,
                                      .run_length = length,
                                      .weights = w.values.data(),
                                      .weight_stride = width,
                                      .start = start.values.data(),
                                      .accumulate = false,
                                      .y = y.data(),
                                      .y_stride = width,
                                      .residual = residual.values.data(),
                                      .residual_stride = width,
                                      .columns = columns,
                                      .low = 0,
                                      .high = 6});
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            double sum = start.at(0, j) + static_cast<double>(residual.at(i, j));
            for (int64_t p = 0; p < runs * length; ++p) sum += static_cast<double>(x.at(i, p)) * w.at(p, j);
            ASSERT_NEAR(y[static_cast<size_t>(i * width + j)], std::clamp(sum, 0.0, 6.0), 1e-5)
                << kernels->name << " " << rows << "x" << vectors;
          }
          ASSERT_EQ(y[static_cast<size_t>(i * width + columns)], 77.0f);
        }
      }
    }
  }
}

TEST(GemmKernels, Transpose) {
  std::mt19937 random(5);
  for (const GemmKernels* kernels : kernels_of_this_machine()) {
    for (const auto& [rows, columns] :
         {std::array<int64_t, 2>{1, 1}, {3, 5}, {4, 4}, {17, 33}, {64, 16}, {5, 40}}) {
      const Matrix from = sample(rows, columns, kRows, random);
      std::vector<float> to(static_cast<size_t>(rows * columns));
      kernels->transpose(rows, columns, from.values.data(), columns, to.data(), rows);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(to[static_cast<size_t>(j * rows + i)], from.at(i, j));
    }
  }
}

}  // namespace
}  // namespace weft::kernels
