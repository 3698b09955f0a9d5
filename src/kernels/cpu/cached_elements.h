// Numbers of a cache of keys and values, whose dtype is float32, float16, bfloat16 or int8. Of int8, the row
// of a head at one position is its numbers and behind them their scale, a float32: a number is at most half
// of 1/127 of the row's largest away from what was stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/cached_attention_kernels.h"
#include "weft/dtype.h"

namespace weft::kernels {

// Elements of the cache's dtype that a row of so many numbers takes.
inline int64_t cached_row(DType dtype, int64_t numbers) {
  return dtype == DType::I8 ? numbers + static_cast<int64_t>(sizeof(float)) : numbers;
}

// Of floating dtypes.
template <class F>
void visit_cached(DType dtype, F&& f) {
  if (dtype == DType::F32)
    f(static_cast<float*>(nullptr));
  else if (dtype == DType::F16)
    f(static_cast<Half*>(nullptr));
  else
    f(static_cast<BFloat16*>(nullptr));
}

// With a number that is not finite, the row is NaN.
inline void store_int8_row(const float* from, int64_t count, int8_t* to) {
  float largest = 0, broken = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::abs(from[i])), broken += from[i] * 0.0f;
  constexpr float kSteps = 127, kLeast = 1e-30f;  // less is zero
  const bool is_finite = broken == 0, is_zero = largest < kLeast;
  const float factor = is_finite && !is_zero ? kSteps / largest : 0;
  const float scale = !is_finite ? std::numeric_limits<float>::quiet_NaN() : is_zero ? 0 : largest / kSteps;
  for (int64_t i = 0; i < count; ++i)
    to[i] = is_finite ? static_cast<int8_t>(std::nearbyint(from[i] * factor)) : int8_t{1};
  std::memcpy(to + count, &scale, sizeof scale);
}

inline void store_cached(DType dtype, const float* from, int64_t count, void* to) {
  if (dtype == DType::I8) return store_int8_row(from, count, static_cast<int8_t*>(to));
  visit_cached(dtype, [&]<class T>(T*) {
    for (int64_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = static_cast<T>(from[i]);
  });
}

inline void load_cached(DType dtype, const void* from, int64_t count, float* to) {
  if (dtype == DType::I8) {
    const auto* const row = static_cast<const int8_t*>(from);
    float scale = 0;
    std::memcpy(&scale, row + count, sizeof scale);
    for (int64_t i = 0; i < count; ++i) to[i] = scale * static_cast<float>(row[i]);
    return;
  }
  visit_cached(dtype, [&]<class T>(T*) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<const T*>(from)[i]);
  });
}

inline void attend_cached(DType dtype, const CachedQueries& queries) {
  const CachedAttentionKernels& kernels = cached_attention_kernels();
  if (dtype == DType::F32)
    kernels.attend_f32(queries);
  else if (dtype == DType::F16)
    kernels.attend_f16(queries);
  else if (dtype == DType::I8)
    kernels.attend_i8(queries);
  else
    kernels.attend_bf16(queries);
}

}  // namespace weft::kernels
