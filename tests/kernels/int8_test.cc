// int8 products of every instruction set of this machine against sums in int64; rows quantized to int8.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/gemm_int8.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/packed_int8.h"
#include "kernels/tile_model.h"
#include "runtime/matrix_engines.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

std::vector<const Int8Kernels*> int8_levels() {
  std::vector<const Int8Kernels*> all{&int8_tile_model()};
  for (const Int8Kernels* found : kernels_here(&KernelLevel::int8)) all.push_back(found);
  for (const EngineKernels& one : engine_kernels())
    if (one.int8 != nullptr && runtime::has_matrix_engine(one.engine)) all.push_back(one.int8);
  return all;
}

std::vector<int8_t> bytes(int64_t count, std::mt19937& random, bool extreme) {
  std::uniform_int_distribution<int> uniform(-128, 127);
  std::vector<int8_t> values(static_cast<size_t>(count));
  for (int8_t& value : values) value = extreme ? int8_t{-128} : static_cast<int8_t>(uniform(random));
  return values;
}

TEST(PackedInt8, SumsAreExact) {
  std::mt19937 random(11);
  struct Int8Case {
    int64_t m, n, k;
  };
  for (const Int8Kernels* kernels : int8_levels())
    for (const Int8Case& c :
         {Int8Case{1, 1, 1}, Int8Case{1, 31, 0}, Int8Case{2, 32, 2}, Int8Case{5, 33, 3}, Int8Case{12, 65, 4},
          Int8Case{13, 7, 255}, Int8Case{97, 40, 33}, Int8Case{100, 430, 20}, Int8Case{4, 34, 1024},
          Int8Case{0, 8, 8}, Int8Case{16, 16, 64}, Int8Case{17, 300, 64}, Int8Case{33, 130, 128},
          Int8Case{70, 161, 1024}, Int8Case{32, 31, 65}})
      for (const bool extreme : {false, true})
        for (const int threads : {1, 2}) {
          SCOPED_TRACE(std::string(kernels->name) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) +
                       "x" + std::to_string(c.k));
          const int before = get_num_threads();
          set_num_threads(threads);
          const std::vector<int8_t> x = bytes(c.m * c.k, random, extreme),
                                    weight = bytes(c.n * c.k, random, extreme);
          std::vector<int32_t> sums(static_cast<size_t>(c.m * c.n + 1), 7);
          PackedInt8(*kernels, c.n, c.k, weight.data(), nullptr, nullptr).run(x.data(), c.m, sums.data());
          set_num_threads(before);
          for (int64_t i = 0; i < c.m; ++i)
            for (int64_t j = 0; j < c.n; ++j) {
              int64_t sum = 0;
              for (int64_t p = 0; p < c.k; ++p)
                sum += x[static_cast<size_t>(i * c.k + p)] * weight[static_cast<size_t>(j * c.k + p)];
              ASSERT_EQ(sums[static_cast<size_t>(i * c.n + j)], sum) << i << " " << j;
            }
          ASSERT_EQ(sums.back(), 7);
        }
}

TEST(GemmInt8, EveryLayout) {
  std::mt19937 random(13);
  struct Layout {
    bool turned;
    int64_t step, pad;
  };
  constexpr Layout kLayouts[] = {{false, 1, 0}, {false, 1, 3}, {true, 1, 0}, {true, 1, 5}, {false, 2, 1}};
  struct Int8Matrix {
    std::vector<int8_t> values;
    MatrixView<int8_t> view;
  };
  // What lies between the elements is random.
  const auto laid_out = [&](const std::vector<int8_t>& dense, int64_t rows, int64_t columns,
                            const Layout& layout) {
    const int64_t longer = (layout.turned ? rows : columns) * layout.step + layout.pad,
                  count = layout.turned ? columns : rows;
    Int8Matrix result{bytes(longer * count + 1, random, false), {}};
    result.view = layout.turned ? MatrixView<int8_t>{result.values.data(), layout.step, longer}
                                : MatrixView<int8_t>{result.values.data(), longer, layout.step};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.values[static_cast<size_t>(i * result.view.row_stride + j * result.view.column_stride)] =
            dense[static_cast<size_t>(i * columns + j)];
    return result;
  };
  const int before = get_num_threads();
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {3, 40, 0},
                                {33, 70, 65},
                                {64, 129, 64},
                                {300, 33, 130},
                                {5, 600, 7},
                                {4, 130, 300},
                                {26, 300, 5},
                                {24, 1100, 513},
                                {25, 144, 256},
                                {13, 2050, 255},
                                {100, 16, 70},
                                {100, 49, 257},
                                {32, 37, 63},
                                {33, 37, 64},
                                {40, 160, 1024}}) {
    const std::vector<int8_t> dense_a = bytes(m * k, random, k == 64),
                              dense_b = bytes(k * n, random, k == 64);
    std::vector<int32_t> expected(static_cast<size_t>(m * n + 1), 7);  // the last stays as it is
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += dense_a[static_cast<size_t>(i * k + p)] * dense_b[static_cast<size_t>(p * n + j)];
        expected[static_cast<size_t>(i * n + j)] = static_cast<int32_t>(sum);
      }
    for (const Layout& left : kLayouts)
      for (const Layout& right : kLayouts) {
        const Int8Matrix a = laid_out(dense_a, m, k, left), b = laid_out(dense_b, k, n, right);
        for (const Int8Kernels* kernels : int8_levels())
          for (const int threads : {1, 2}) {
            std::vector<int32_t> c(expected.size(), 7);
            set_num_threads(threads);
            gemm_int8(*kernels, m, n, k, a.view, b.view, c.data());
            set_num_threads(before);
            const int64_t wrong = std::mismatch(c.begin(), c.end(), expected.begin()).first - c.begin();
            ASSERT_EQ(wrong, m * n + 1) << kernels->name << " " << m << "x" << n << "x" << k << " at "
                                        << wrong / n << " " << wrong % n;
          }
      }
  }
}

TEST(PackedInt8, ScalesBiasActivationAndResidual) {
  std::mt19937 random(12);
  constexpr int64_t m = 15, n = 37, k = 50;
  const std::vector<int8_t> x = bytes(m * k, random, false), weight = bytes(n * k, random, false);
  std::vector<float> row_scales(m), scales(n), bias(n), residual(m * n);
  for (auto* const values : {&row_scales, &scales, &bias, &residual})
    for (float& value : *values) value = std::uniform_real_distribution<float>(0.001f, 0.02f)(random);
  for (const Int8Kernels* kernels : int8_levels()) {
    std::vector<float> y(m * n);
    PackedInt8(*kernels, n, k, weight.data(), scales.data(), bias.data())
        .run(x.data(), m,
             {.row_scales = row_scales.data(),
              .activation = RowActivation::Relu,
              .bfloat16 = false,
              .residual = residual.data(),
              .y = y.data()});
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        int32_t sum = 0;
        for (size_t p = 0; p < k; ++p) sum += x[i * k + p] * weight[j * k + p];
        const float value = static_cast<float>(sum) * row_scales[i] * scales[j] + bias[j];
        ASSERT_EQ(y[i * n + j], (value < 0 ? 0.0f : value) + residual[i * n + j]);
      }
  }
}

TEST(QuantizeTokens, HalvesToEvenAndWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const float x[5][4] = {{127.0f, 0.5f, 1.5f, -2.5f},
                         {0, 0, 0, -0.0f},
                         {1e-6f, -1e-6f, 0, 0},
                         {nan, 1, 2, 3},
                         {1, infinity, -infinity, 3}};
  int8_t q[5][4];
  float scales[5];
  quantize_tokens(x[0], 5, 4, q[0], scales);
  EXPECT_EQ(std::vector<int8_t>(q[0], q[1]), (std::vector<int8_t>{127, 0, 2, -2}));
  EXPECT_EQ(scales[0], 1.0f);
  EXPECT_EQ(std::vector<int8_t>(q[1], q[2]), (std::vector<int8_t>{0, 0, 0, 0}));
  EXPECT_EQ(scales[1], 1e-5f / 127.0f);
  EXPECT_EQ(std::vector<int8_t>(q[2], q[3]), (std::vector<int8_t>{13, -13, 0, 0}));
  EXPECT_TRUE(std::isnan(scales[3]));
  EXPECT_TRUE(std::isinf(scales[4]));
}

}  // namespace
}  // namespace weft::kernels
