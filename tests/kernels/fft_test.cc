// Fourier transforms against sums in long double, and every instruction set's loops against the baseline's.
#include "kernels/cpu/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/fft_plan.h"
#include "kernels/cpu/levels.h"

namespace weft::kernels {
namespace {

constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;

template <class T>
std::vector<T> sample(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = uniform(random);
  return values;
}

// Element k of the transform of the pairs (or numbers) x[j * step], j < given.
template <class T>
std::pair<long double, long double> frequency(const T* x, int64_t given, int64_t step, bool real, int64_t n,
                                              int64_t k) {
  long double re = 0, im = 0;
  for (int64_t j = 0; j < std::min(given, n); ++j) {
    const long double angle = -kTwoPi * static_cast<long double>(j * k % n) / static_cast<long double>(n);
    const long double a = x[j * step * (real ? 1 : 2)], b = real ? 0 : x[j * step * 2 + 1];
    re += a * std::cos(angle) - b * std::sin(angle);
    im += a * std::sin(angle) + b * std::cos(angle);
  }
  return {re, im};
}

template <class T>
void check(int64_t outer, int64_t inner, int64_t n, int64_t given, std::mt19937& random) {
  SCOPED_TRACE(std::to_string(outer) + "x" + std::to_string(given) + "x" + std::to_string(inner) + " n " +
               std::to_string(n));
  const auto bound = static_cast<double>(std::numeric_limits<T>::epsilon()) * 4 *
                     std::sqrt(static_cast<double>(n)) * (1 + std::log2(static_cast<double>(n)));
  const int64_t half = n / 2 + 1, count = outer * inner;
  const std::vector<T> pairs = sample<T>(2 * count * given, random),
                       numbers = sample<T>(count * given, random);
  std::vector<T> complex(static_cast<size_t>(2 * count * n)),
      inverse = complex, real(static_cast<size_t>(2 * count * half)), full = complex,
      back(static_cast<size_t>(count * n));
  const FftShape shape{.outer = outer, .inner = inner, .n = n, .given = given, .result = n};
  FftShape onesided = shape;
  onesided.result = half;
  fft_complex<T>(shape, pairs.data(), complex.data(), false, T(1));
  FftShape way_back = shape;
  way_back.given = n;
  fft_complex<T>(way_back, complex.data(), inverse.data(), true, T(1) / static_cast<T>(n));
  fft_real<T>(onesided, numbers.data(), real.data(), T(2));
  fft_real<T>(shape, numbers.data(), full.data(), T(1));
  FftShape from_half = shape;
  from_half.given = half;
  fft_to_real<T>(from_half, real.data(), back.data(), T(0.5) / static_cast<T>(n));
  const int64_t stride = std::max<int64_t>(1, n / 40);
  for (int64_t s = 0; s < count; ++s) {
    const int64_t from = s / inner * given * inner + s % inner;
    const auto at = [&](int64_t k, int64_t size) {
      return static_cast<size_t>(2 * (s / inner * size * inner + k * inner + s % inner));
    };
    for (int64_t k = 0; k < n; k += stride) {
      const auto [re, im] = frequency(pairs.data() + 2 * from, given, inner, false, n, k);
      ASSERT_NEAR(complex[at(k, n)], re, bound) << k;
      ASSERT_NEAR(complex[at(k, n) + 1], im, bound) << k;
      const auto [real_re, real_im] = frequency(numbers.data() + from, given, inner, true, n, k);
      ASSERT_NEAR(full[at(k, n)], real_re, bound) << k;
      ASSERT_NEAR(full[at(k, n) + 1], real_im, bound) << k;
      if (k < half) {
        ASSERT_NEAR(real[at(k, half)], 2 * real_re, 2 * bound) << k;
        ASSERT_NEAR(real[at(k, half) + 1], 2 * real_im, 2 * bound) << k;
      }
      const auto element = static_cast<size_t>(2 * (from + k * inner));
      const bool there = k < given;
      // The way back gives the input, where it was not cut.
      if (given == n) {
        ASSERT_NEAR(inverse[at(k, n)], pairs[element], bound) << k;
      }
      ASSERT_NEAR(back[at(k, n) / 2], there ? numbers[element / 2] : T(0), bound) << k;
    }
  }
}

template <class T>
class Fft : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Fft, Types);

TYPED_TEST(Fft, EveryShortLength) {
  std::mt19937 random(1);
  for (int64_t n = 1; n <= 70; ++n) check<TypeParam>(n % 3 ? 1 : 9, 1, n, n, random);
  for (const int64_t n : {100, 121, 128, 191, 211, 240, 256, 343}) check<TypeParam>(1, 1, n, n, random);
}

TYPED_TEST(Fft, Layouts) {
  std::mt19937 random(2);
  for (const auto& [outer, inner] : {std::pair<int64_t, int64_t>{35, 1}, {2, 3}, {1, 9}, {2, 20}, {3, 32}})
    for (const int64_t n : {1, 2, 5, 8, 12, 30, 53}) {
      check<TypeParam>(outer, inner, n, n, random);
      check<TypeParam>(outer, inner, n, n + 3, random);
      check<TypeParam>(outer, inner, n, std::max<int64_t>(1, n - 3), random);
    }
}

TYPED_TEST(Fft, Long) {
  std::mt19937 random(3);
  for (const int64_t n : {16384, 19683, 16411, 32768, 3 * 16384}) check<TypeParam>(1, 1, n, 50, random);
}

TYPED_TEST(Fft, PlansAreDroppedAndMadeAgain) {
  const auto first = fft_plan<TypeParam>(97);
  for (int64_t n = 1; n < 400; ++n) fft_plan<TypeParam>(n);
  EXPECT_NE(first, fft_plan<TypeParam>(97));
  EXPECT_EQ(fft_plan<TypeParam>(97), fft_plan<TypeParam>(97));
}

// ---- instruction sets
// -------------------------------------------------------------------------------------------
template <class T>
std::vector<const FftKernels<T>*> sets_here() {
  if constexpr (std::is_same_v<T, float>)
    return kernels_here(&KernelLevel::fft32);
  else
    return kernels_here(&KernelLevel::fft64);
}

template <class T>
const FftKernels<T>& baseline() {
  if constexpr (std::is_same_v<T, float>)
    return kFft32Baseline;
  else
    return kFft64Baseline;
}

template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 100 * static_cast<double>(std::numeric_limits<T>::epsilon())) << i;
}

TYPED_TEST(Fft, PassesOfEveryInstructionSet) {
  using T = TypeParam;
  std::mt19937 random(4);
  for (const FftKernels<T>* kernels : sets_here<T>())
    for (const int64_t n : {8, 12, 30, 77, 128, 360, 1024, 13 * 8, 17 * 29})
      for (const int64_t width : {int64_t{1}, kFftWidth<T>})
        for (const FftPass<T>& pass : fft_plan<T>(n)->passes) {
          SCOPED_TRACE(std::to_string(n) + " radix " + std::to_string(pass.radix) + " width " +
                       std::to_string(width));
          const int64_t size = n * width;
          std::vector<T> in = sample<T>(2 * size, random), a(in.size()), b(in.size());
          baseline<T>().pass(pass, width, {in.data(), in.data() + size}, {a.data(), a.data() + size});
          kernels->pass(pass, width, {in.data(), in.data() + size}, {b.data(), b.data() + size});
          expect_same(a, b);
        }
}

TYPED_TEST(Fft, CopiesOfEveryInstructionSet) {
  using T = TypeParam;
  constexpr int64_t kWidth = kFftWidth<T>;
  std::mt19937 random(5);
  const auto run = [&](const FftKernels<T>& kernels, const std::vector<T>& in, int64_t n, int64_t count) {
    std::vector<T> all(in.size() * 4), parts(static_cast<size_t>(2 * n * kWidth)), tiles = parts;
    const Split<T> split{parts.data(), parts.data() + n * kWidth},
        tiled{tiles.data(), tiles.data() + n * kWidth};
    T* const out = all.data();
    kernels.split_rows(n, count, in.data(), kWidth + 1, true, split);
    kernels.join_rows(n, count, split, out, kWidth + 2, true, T(3));
    kernels.split_columns(n, count, in.data(), n + 1, false, split);
    kernels.join_columns(n, count, split, out + in.size(), n + 2, true, T(3));
    if (n % kWidth == 0)
      kernels.twiddle_transpose(n, count, split, in.data(), in.data() + 7, tiled, kWidth * kWidth);
    std::copy(tiles.begin(), tiles.end(), out + 2 * in.size());
    kernels.multiply(n, in.data(), in.data() + 2, out + 3 * in.size(), true, T(2));
    return all;
  };
  for (const FftKernels<T>* kernels : sets_here<T>())
    for (const int64_t n : {int64_t{1}, int64_t{7}, kWidth, 3 * kWidth, 3 * kWidth + 5})
      for (const int64_t count : {int64_t{3}, kWidth}) {
        const std::vector<T> in = sample<T>(2 * (n + 2) * (kWidth + 2), random);
        expect_same(run(baseline<T>(), in, n, count), run(*kernels, in, n, count));
      }
}

}  // namespace
}  // namespace weft::kernels
