// The loops beside quantized products: each instruction set gives the bits of plain arithmetic.
#include "kernels/cpu/affine_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/levels.h"

namespace weft::kernels {
namespace {

template <class T>
std::vector<T> random_numbers(std::mt19937& random, int64_t count, int low, int high) {
  std::uniform_int_distribution<int> distribution(low, high);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(distribution(random));
  return values;
}

TEST(AffineRows, SumsAreFinishedAlike) {
  std::mt19937 random(1);
  for (const AffineKernels* const kernels : kernels_here(&KernelLevel::affine)) {
    const char* const name = kernels->name;
    for (const int64_t columns : {1, 15, 16, 17, 31, 32, 50}) {
      for (const bool has_zeros : {false, true}) {
        const int64_t rows = 3, n = columns;
        const auto sums = random_numbers<int32_t>(random, rows * n, -50000, 50000),
                   less = random_numbers<int32_t>(random, n, -900, 900),
                   x_sums = random_numbers<int32_t>(random, rows, -99, 99),
                   zeros = random_numbers<int32_t>(random, n, -3, 3);
        std::vector<float> factors, bias;
        for (int64_t i = 0; i < n; ++i) {
          factors.push_back(0.001F + 0.00037F * static_cast<float>(i));
          bias.push_back(static_cast<float>(i) * 13.25F - 100);
        }
        bias[0] = std::nanf("");
        AffineRows args{.rows = rows,
                        .columns = n,
                        .sums = sums.data(),
                        .less = less.data(),
                        .x_sums = has_zeros ? x_sums.data() : nullptr,
                        .weight_zeros = has_zeros ? zeros.data() : nullptr,
                        .factors = factors.data(),
                        .bias = bias.data(),
                        .is_rounded = true,
                        .is_relu = false,
                        .least = -100,
                        .most = 155,
                        .zero = 100,
                        .y = nullptr,
                        .y_stride = n + 2};
        std::vector<uint8_t> bytes(static_cast<size_t>(rows * (n + 2)), 7);
        args.y = bytes.data();
        kernels->finish(args);
        std::vector<float> numbers(bytes.size(), 7);
        args.is_rounded = false;
        args.y = numbers.data();
        kernels->finish(args);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<size_t>(row * (n + 2) + i), c = static_cast<size_t>(i);
            const int32_t whole = sums[static_cast<size_t>(row * n + i)] - less[c] -
                                  (has_zeros ? x_sums[static_cast<size_t>(row)] * zeros[c] : 0);
            const auto sum = static_cast<float>(whole);
            const float limited = std::min(std::max(-100.0F, (sum + bias[c]) * factors[c]), 155.0F);
            EXPECT_EQ(bytes[at], static_cast<uint8_t>(std::nearbyint(limited) + 100)) << name << " " << i;
            const float number = std::fma(sum, factors[c], bias[c]);
            if (!std::isnan(number)) {
              EXPECT_EQ(numbers[at], number) << name << " " << i;
            }
          }
          EXPECT_EQ(bytes[static_cast<size_t>(row * (n + 2) + n)], 7) << name;  // nothing behind a row
        }
      }
    }
  }
}

TEST(AffineRows, DepthwiseSumsAndSigns) {
  std::mt19937 random(2);
  for (const AffineKernels* const kernels : kernels_here(&KernelLevel::affine)) {
    const char* const name = kernels->name;
    for (const int64_t columns : {1, 15, 16, 17, 40}) {
      const int64_t rows = 2, taps = 3;
      auto x = random_numbers<int8_t>(random, rows * taps * columns, -128, 127);
      auto weight = random_numbers<int16_t>(random, taps * columns, -128, 127);
      for (int64_t tap = 0; tap < taps; ++tap) x[static_cast<size_t>(tap * columns)] = -128;
      for (int64_t tap = 0; tap < taps; ++tap) weight[static_cast<size_t>(tap * columns)] = -128;
      std::vector<const int8_t*> places;
      for (int64_t i = 0; i < rows * taps; ++i) places.push_back(x.data() + i * columns);
      std::vector<int32_t> sums(static_cast<size_t>(rows * columns));
      kernels->multiply_depthwise({rows, taps, columns, places.data(), weight.data(), sums.data()});
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < columns; ++i) {
          int32_t sum = 0;
          for (int64_t tap = 0; tap < taps; ++tap)
            sum += x[static_cast<size_t>((row * taps + tap) * columns + i)] *
                   weight[static_cast<size_t>(tap * columns + i)];
          EXPECT_EQ(sums[static_cast<size_t>(row * columns + i)], sum) << name << " " << i;
        }
      std::vector<int8_t> turned(x.size());
      kernels->turn_signs(x.data(), static_cast<int64_t>(x.size()), turned.data());
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(turned[i], static_cast<int8_t>(static_cast<uint8_t>(x[i]) ^ 0x80));
    }
  }
}

// Every pair of bytes, within whole vectors and behind them; and sums beyond what int32 has.
TEST(AffineRows, SumsOfBytes) {
  for (const AffineKernels* const kernels : kernels_here(&KernelLevel::affine)) {
    const char* const name = kernels->name;
    std::vector<uint8_t> a, b;
    for (int i = 0; i < 256; ++i)
      for (int j = 0; j < 256; j += 3)
        a.push_back(static_cast<uint8_t>(i)), b.push_back(static_cast<uint8_t>(j));
    const auto count = static_cast<int64_t>(a.size()), in_vectors = count / 2 / 128 * 128;
    for (const float inverse : {9.0F, 3e8F}) {
      std::vector<uint8_t> y(a.size());
      kernels->add({.a = {a.data(), 0.07F, 3},
                    .b = {b.data(), 0.031F, 250},
                    .is_signed = false,
                    .is_relu = false,
                    .count = count,
                    .in_vectors = in_vectors,
                    .inverse = inverse,
                    .zero = 130,
                    .low = 0,
                    .high = 255,
                    .y = y.data()});
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        const auto number = [&](uint8_t byte, float scale, float zero) {
          return i < in_vectors ? std::fma(static_cast<float>(byte), scale, -zero * scale)
                                : (static_cast<float>(byte) - zero) * scale;
        };
        const float steps = (number(a[at], 0.07F, 3) + number(b[at], 0.031F, 250)) * inverse;
        // The conversion of a processor, and a sum that wraps.
        const int64_t whole = steps > -2147483648.0F
                                  ? static_cast<int64_t>(std::nearbyint(std::min(steps, 2147483520.0F)))
                                  : -2147483648LL;
        const auto sum = static_cast<int32_t>(static_cast<uint32_t>(whole) + 130U);
        ASSERT_EQ(y[at], std::clamp(sum, 0, 255)) << name << " " << i << " " << steps;
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels
