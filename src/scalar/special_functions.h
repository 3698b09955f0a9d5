// Bessel, gamma and normal distribution functions and orthogonal polynomials: primitives beyond those of
// scalar/expr.h, in a table of their own, so that one more is no reason to compile every file again. They are
// plain functions, called one lane at a time by generated code; kernels of GPUs have their text
// (scalar/special_text.h).
#pragma once

#include "scalar/expr.h"
#include "scalar/number.h"

// (primitive's number after kFirstSpecial, name)
// clang-format off: it never comes to rest with these
#define WEFT_FOR_EACH_SPECIAL_UNARY(X) \
  X(0, airy_ai)                        \
  X(1, bessel_j0)                      \
  X(2, bessel_j1)                      \
  X(3, bessel_y0)                      \
  X(4, bessel_y1)                      \
  X(5, i0e)                            \
  X(6, i1)                             \
  X(7, i1e)                            \
  X(8, modified_bessel_k0)             \
  X(9, modified_bessel_k1)             \
  X(10, scaled_modified_bessel_k0)     \
  X(11, scaled_modified_bessel_k1)     \
  X(12, spherical_bessel_j0)           \
  X(13, erfcx)                         \
  X(14, ndtri)                         \
  X(15, log_ndtr)
#define WEFT_FOR_EACH_SPECIAL_BINARY(X) \
  X(16, zeta)                           \
  X(17, polygamma)                      \
  X(18, igamma)                         \
  X(19, igammac)                        \
  X(20, chebyshev_polynomial_t)         \
  X(21, chebyshev_polynomial_u)         \
  X(22, chebyshev_polynomial_v)         \
  X(23, chebyshev_polynomial_w)         \
  X(24, shifted_chebyshev_polynomial_t) \
  X(25, shifted_chebyshev_polynomial_u) \
  X(26, shifted_chebyshev_polynomial_v) \
  X(27, shifted_chebyshev_polynomial_w) \
  X(28, hermite_polynomial_h)           \
  X(29, hermite_polynomial_he)          \
  X(30, laguerre_polynomial_l)          \
  X(31, legendre_polynomial_p)
// clang-format on

extern "C" {
#define WEFT_DECLARE_UNARY(NUMBER, NAME) \
  float weft_##NAME##f(float);           \
  double weft_##NAME(double);
#define WEFT_DECLARE_BINARY(NUMBER, NAME) \
  float weft_##NAME##f(float, float);     \
  double weft_##NAME(double, double);
WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_DECLARE_UNARY)
WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_DECLARE_BINARY)
#undef WEFT_DECLARE_UNARY
#undef WEFT_DECLARE_BINARY
}

namespace weft::scalar {

inline constexpr int kFirstSpecial = static_cast<int>(Prim::Hypot) + 1;
inline constexpr int kNumSpecial = 32;
constexpr Prim special_prim(int number) { return static_cast<Prim>(kFirstSpecial + number); }
constexpr bool is_special(Prim prim) { return static_cast<int>(prim) >= kFirstSpecial; }

#define WEFT_DEFINE_UNARY(NUMBER, NAME)          \
  Expr NAME(const Expr& a);                      \
  template <class T>                             \
    requires is_float_v<T>                       \
  Number<T> NAME(Number<T> a) {                  \
    if constexpr (std::is_same_v<T, float>)      \
      return Number<T>(weft_##NAME##f(a.value)); \
    else                                         \
      return Number<T>(weft_##NAME(a.value));    \
  }
#define WEFT_DEFINE_BINARY(NUMBER, NAME)                  \
  Expr NAME(const Expr& a, const Expr& b);                \
  template <class T>                                      \
    requires is_float_v<T>                                \
  Number<T> NAME(Number<T> a, Number<T> b) {              \
    if constexpr (std::is_same_v<T, float>)               \
      return Number<T>(weft_##NAME##f(a.value, b.value)); \
    else                                                  \
      return Number<T>(weft_##NAME(a.value, b.value));    \
  }
WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_DEFINE_UNARY)
WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_DEFINE_BINARY)
#undef WEFT_DEFINE_UNARY
#undef WEFT_DEFINE_BINARY

}  // namespace weft::scalar
