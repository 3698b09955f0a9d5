#include "scalar/vector_math.h"

#include <array>

#include "scalar/sleef_functions.h"
#include "scalar/special_functions.h"

// Only the addresses of the vector variants are taken here, so their vector types are not spelled.
extern "C" {
#define WEFT_DECLARE(PRIM, NAME, ACCURACY)           \
  void Sleef_finz_##NAME##f4_##ACCURACY##avx2128();  \
  void Sleef_finz_##NAME##f8_##ACCURACY##avx2();     \
  void Sleef_finz_##NAME##f16_##ACCURACY##avx512f(); \
  void Sleef_finz_##NAME##d2_##ACCURACY##avx2128();  \
  void Sleef_finz_##NAME##d4_##ACCURACY##avx2();     \
  void Sleef_finz_##NAME##d8_##ACCURACY##avx512f();
WEFT_FOR_EACH_SLEEF_UNARY(WEFT_DECLARE)
#undef WEFT_DECLARE
}

namespace weft::scalar {
namespace {

struct Row {
  Prim prim;
  DType dtype;
  int vector_bytes;
  MathFunction function;
};

template <class F>
const void* address(F* function) {
  return reinterpret_cast<const void*>(function);
}

const auto& rows() {
#define WEFT_ROW(PRIM, DTYPE, BYTES, LANES, SYMBOL) \
  Row{Prim::PRIM, DType::DTYPE, BYTES, {#SYMBOL, address(&SYMBOL), LANES}},
#define WEFT_SPECIAL_ROWS(NUMBER, NAME)                                                       \
  Row{special_prim(NUMBER), DType::F32, 0, {"weft_" #NAME "f", address(&weft_##NAME##f), 1}}, \
      Row{special_prim(NUMBER), DType::F64, 0, {"weft_" #NAME, address(&weft_##NAME), 1}},
#define WEFT_SLEEF_ROWS(PRIM, NAME, ACCURACY)                             \
  WEFT_ROW(PRIM, F32, 0, 1, Sleef_finz_##NAME##f1_##ACCURACY##purecfma)   \
  WEFT_ROW(PRIM, F32, 16, 4, Sleef_finz_##NAME##f4_##ACCURACY##avx2128)   \
  WEFT_ROW(PRIM, F32, 32, 8, Sleef_finz_##NAME##f8_##ACCURACY##avx2)      \
  WEFT_ROW(PRIM, F32, 64, 16, Sleef_finz_##NAME##f16_##ACCURACY##avx512f) \
  WEFT_ROW(PRIM, F64, 0, 1, Sleef_finz_##NAME##d1_##ACCURACY##purecfma)   \
  WEFT_ROW(PRIM, F64, 16, 2, Sleef_finz_##NAME##d2_##ACCURACY##avx2128)   \
  WEFT_ROW(PRIM, F64, 32, 4, Sleef_finz_##NAME##d4_##ACCURACY##avx2)      \
  WEFT_ROW(PRIM, F64, 64, 8, Sleef_finz_##NAME##d8_##ACCURACY##avx512f)
#define WEFT_OWN_ROWS(PRIM, NAME)           \
  WEFT_ROW(PRIM, F32, 0, 1, weft_##NAME##f) \
  WEFT_ROW(PRIM, F64, 0, 1, weft_##NAME)
  static const std::array table = {WEFT_FOR_EACH_SLEEF_UNARY(WEFT_SLEEF_ROWS) WEFT_FOR_EACH_OWN_UNARY(
      WEFT_OWN_ROWS) WEFT_FOR_EACH_OWN_BINARY(WEFT_OWN_ROWS) WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_SPECIAL_ROWS)
                                       WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_SPECIAL_ROWS)};
#undef WEFT_SPECIAL_ROWS
#undef WEFT_OWN_ROWS
#undef WEFT_SLEEF_ROWS
#undef WEFT_ROW
  return table;
}

}  // namespace

std::optional<MathFunction> math_function(Prim prim, DType dtype, int vector_bytes) {
  for (const Row& row : rows()) {
    if (row.prim == prim && row.dtype == dtype && row.vector_bytes == vector_bytes) return row.function;
  }
  return std::nullopt;
}

std::vector<MathFunction> all_math_functions() {
  std::vector<MathFunction> functions;
  for (const Row& row : rows()) functions.push_back(row.function);
  return functions;
}

}  // namespace weft::scalar
