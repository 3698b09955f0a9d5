#pragma once

#include <type_traits>

#include "weft/dtype.h"

namespace weft {

template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define WEFT_CASE(NAME, TYPE) \
  case DType::NAME: return f(std::type_identity<TYPE>{});
    WEFT_FOR_EACH_DTYPE(WEFT_CASE)
#undef WEFT_CASE
    default: refuse_stored_only("", dtype);
  }
}

}  // namespace weft
