#include "scalar/math_calls.h"

#include <array>

#include "scalar/math_functions.h"
#include "scalar/special_functions.h"

namespace weft::scalar {
namespace {

struct Row {
  Prim prim;
  DType dtype;
  MathFunction function;
};

template <class F>
const void* address(F* function) {
  return reinterpret_cast<const void*>(function);
}

const auto& rows() {
#define WEFT_ROWS_OF(PRIM, NAME)                                        \
  Row{PRIM, DType::F32, {"weft_" #NAME "f", address(&weft_##NAME##f)}}, \
      Row{PRIM, DType::F64, {"weft_" #NAME, address(&weft_##NAME)}},
#define WEFT_OWN_ROWS(PRIM, NAME) WEFT_ROWS_OF(Prim::PRIM, NAME)
#define WEFT_SPECIAL_ROWS(NUMBER, NAME) WEFT_ROWS_OF(special_prim(NUMBER), NAME)
  static const std::array table = {
      WEFT_FOR_EACH_OWN_UNARY(WEFT_OWN_ROWS) WEFT_FOR_EACH_OWN_BINARY(WEFT_OWN_ROWS)
          WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_SPECIAL_ROWS) WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_SPECIAL_ROWS)};
#undef WEFT_SPECIAL_ROWS
#undef WEFT_OWN_ROWS
#undef WEFT_ROWS_OF
  return table;
}

}  // namespace

std::optional<MathFunction> math_function(Prim prim, DType dtype) {
  for (const Row& row : rows()) {
    if (row.prim == prim && row.dtype == dtype) return row.function;
  }
  return std::nullopt;
}

}  // namespace weft::scalar
