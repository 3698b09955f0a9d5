// Numbers of a cache of keys and values, whose dtype is float32, float16 or bfloat16.
#pragma once

#include <cstdint>

#include "kernels/cpu/cached_attention_kernels.h"
#include "weft/dtype.h"

namespace weft::kernels {

template <class F>
void visit_cached(DType dtype, F&& f) {
  if (dtype == DType::F32)
    f(static_cast<float*>(nullptr));
  else if (dtype == DType::F16)
    f(static_cast<Half*>(nullptr));
  else
    f(static_cast<BFloat16*>(nullptr));
}

inline void store_cached(DType dtype, const float* from, int64_t count, void* to) {
  visit_cached(dtype, [&]<class T>(T*) {
    for (int64_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = static_cast<T>(from[i]);
  });
}

inline void attend_cached(DType dtype, const CachedQueries& queries) {
  const CachedAttentionKernels& kernels = cached_attention_kernels();
  if (dtype == DType::F32)
    kernels.attend_f32(queries);
  else if (dtype == DType::F16)
    kernels.attend_f16(queries);
  else
    kernels.attend_bf16(queries);
}

}  // namespace weft::kernels
