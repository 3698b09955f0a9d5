// What loops over float32 or float64 share.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/dtype.h"

namespace weft::kernels {

inline constexpr int64_t kElementsPerTask = 16 * 1024;

template <class F>
void visit_float(DType dtype, F&& f) {
  if (dtype == DType::F32)
    f(std::type_identity<float>{});
  else
    f(std::type_identity<double>{});
}

}  // namespace weft::kernels
