#include "scalar/special_functions.h"

namespace weft::scalar {

#define WEFT_DEFINE_UNARY(NUMBER, NAME) \
  Expr NAME(const Expr& a) { return make(special_prim(NUMBER), a.dtype(), {a}); }
#define WEFT_DEFINE_BINARY(NUMBER, NAME) \
  Expr NAME(const Expr& a, const Expr& b) { return make(special_prim(NUMBER), a.dtype(), {a, b}); }
WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_DEFINE_UNARY)
WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_DEFINE_BINARY)
#undef WEFT_DEFINE_UNARY
#undef WEFT_DEFINE_BINARY

}  // namespace weft::scalar
