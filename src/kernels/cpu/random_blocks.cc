#include "kernels/cpu/random_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace weft::kernels {
namespace {

constexpr int64_t kWordsAtOnce = 1024;
constexpr int kPairsAtOnce = 64;  // pairs at a time

// log(x) of (0, 1], Cephes' polynomial. Products and sums are fused as written: the bits are PyTorch's.
inline float log_of(float x) {
  const float at_least = std::max(x, 1.17549435e-38F);
  const auto bits = std::bit_cast<int32_t>(at_least);
  auto exponent = static_cast<float>((bits >> 23) - 0x7e);
  float m = std::bit_cast<float>((bits & 0x007fffff) | 0x3f000000);
  const bool is_low = m < 0.707106781186547524F;
  const float rest = is_low ? m : 0.0F;
  exponent -= is_low ? 1.0F : 0.0F;
  m = (m - 1.0F) + rest;
  const float z = m * m;
  float y = 7.0376836292E-2F;
  y = __builtin_fmaf(y, m, -1.1514610310E-1F);
  y = __builtin_fmaf(y, m, 1.1676998740E-1F);
  y = __builtin_fmaf(y, m, -1.2420140846E-1F);
  y = __builtin_fmaf(y, m, 1.4249322787E-1F);
  y = __builtin_fmaf(y, m, -1.6668057665E-1F);
  y = __builtin_fmaf(y, m, 2.0000714765E-1F);
  y = __builtin_fmaf(y, m, -2.4999993993E-1F);
  y = __builtin_fmaf(y, m, 3.3333331174E-1F);
  y *= m;
  y = __builtin_fmaf(y, z, exponent * -2.12194440e-4F);
  y = __builtin_fmaf(-z, 0.5F, y);
  return __builtin_fmaf(exponent, 0.693359375F, m + y);
}

// Sine and cosine of [0, 2 pi), Cephes' polynomials.
inline void sine_and_cosine(float x, float* sine, float* cosine) {
  const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516F) + 1) & ~1;
  const auto y = static_cast<float>(octant);
  x = __builtin_fmaf(y, -0.78515625F, x);
  x = __builtin_fmaf(y, -2.4187564849853515625e-4F, x);
  x = __builtin_fmaf(y, -3.77489497744594108e-8F, x);
  const float z = x * x;
  float c = 2.443315711809948E-005F;
  c = __builtin_fmaf(c, z, -1.388731625493765E-003F);
  c = __builtin_fmaf(c, z, 4.166664568298827E-002F);
  c *= z;
  c = __builtin_fmaf(c, z, -(z * 0.5F)) + 1.0F;
  float s = -1.9515295891E-4F;
  s = __builtin_fmaf(s, z, 8.3321608736E-3F);
  s = __builtin_fmaf(s, z, -1.6666654611E-1F);
  s *= z;
  s = __builtin_fmaf(s, x, x);
  const bool is_swapped = (octant & 2) != 0;
  const auto sine_sign = static_cast<uint32_t>(octant & 4) << 29,
             cosine_sign = static_cast<uint32_t>(~(octant - 2) & 4) << 29;
  *sine = std::bit_cast<float>(std::bit_cast<uint32_t>(is_swapped ? c : s) ^ sine_sign);
  *cosine = std::bit_cast<float>(std::bit_cast<uint32_t>(is_swapped ? s : c) ^ cosine_sign);
}

// `blocks` blocks of sixteen uniform numbers become normal ones, in place.
void normal_of_uniform(float* out, int64_t blocks, float mean, float deviation) {
  constexpr int kBlocks = kPairsAtOnce / 8;
  alignas(64) std::array<float, kPairsAtOnce> u1, u2, sine, cosine;
  for (int64_t begin = 0; begin < blocks; begin += kBlocks) {
    const int64_t taken = std::min<int64_t>(kBlocks, blocks - begin);
    float* const block = out + begin * 16;
    for (int64_t b = 0; b < taken; ++b) {
      std::copy_n(block + b * 16, 8, u1.data() + b * 8);
      std::copy_n(block + b * 16 + 8, 8, u2.data() + b * 8);
    }
    const auto lanes = static_cast<size_t>(taken * 8);
    for (size_t i = 0; i < lanes; ++i) {
      const float radius = __builtin_sqrtf(-2.0F * log_of(1.0F - u1[i]));
      float s, c;
      sine_and_cosine(6.28318530717958647692F * u2[i], &s, &c);
      cosine[i] = __builtin_fmaf(radius * c, deviation, mean);
      sine[i] = __builtin_fmaf(radius * s, deviation, mean);
    }
    for (int64_t b = 0; b < taken; ++b) {
      std::copy_n(cosine.data() + b * 8, 8, block + b * 16);
      std::copy_n(sine.data() + b * 8, 8, block + b * 16 + 8);
    }
  }
}

}  // namespace

void doubles_of_words(const uint32_t* words, double* numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // Both halves are exact; signed integers convert faster.
    const auto upper = static_cast<double>(static_cast<int32_t>(words[2 * i] & 0x1fffffU));
    const double lower = static_cast<double>(static_cast<int32_t>(words[2 * i + 1] ^ 0x80000000U)) + 0x1p31;
    numbers[i] = (upper * 0x1p32 + lower) * 0x1p-53;
  }
}

void uniform_floats(RandomState& state, float* out, int64_t count, float low, float high) {
  std::array<uint32_t, kWordsAtOnce> words;
  const float width = high - low;
  for (int64_t begin = 0; begin < count; begin += kWordsAtOnce) {
    const int64_t taken = std::min(kWordsAtOnce, count - begin);
    state.words.draw(words.data(), taken);
    for (int64_t i = 0; i < taken; ++i) {
      const float unit =
          static_cast<float>(static_cast<int32_t>(words[static_cast<size_t>(i)] & 0xffffffU)) * 0x1p-24F;
      const float value = __builtin_fmaf(unit, width, low);
      out[begin + i] = value >= high ? low : value;
    }
  }
}

// The blocks of a batch are transformed while they are in the cache. The last sixteen numbers are drawn again
// where the count is no multiple of sixteen, when all others have been drawn.
void normal_floats(RandomState& state, float* out, int64_t count, float mean, float deviation) {
  for (int64_t begin = 0; begin < count; begin += kWordsAtOnce) {
    const int64_t taken = std::min(kWordsAtOnce, count - begin);
    uniform_floats(state, out + begin, taken, 0.0F, 1.0F);
    normal_of_uniform(out + begin, taken / 16, mean, deviation);
  }
  if (count % 16 == 0) return;
  uniform_floats(state, out + count - 16, 16, 0.0F, 1.0F);
  normal_of_uniform(out + count - 16, 1, mean, deviation);
}

}  // namespace weft::kernels
