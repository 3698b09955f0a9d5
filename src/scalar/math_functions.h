// The functions that are not an instruction, as (primitive, name). All are weft's own text, so that eager
// kernels (one number) and generated code (vectors of any width) agree exactly.
#pragma once

// On vectors (scalar/elementary.h).
// clang-format off: it never comes to rest with these
#define WEFT_FOR_EACH_ELEMENTARY_UNARY(X) \
  X(Exp, exp)                             \
  X(Exp2, exp2)                           \
  X(Expm1, expm1)                         \
  X(Sinh, sinh)                           \
  X(Cosh, cosh)                           \
  X(Tanh, tanh)                           \
  X(Log, log)                             \
  X(Log2, log2)                           \
  X(Log10, log10)                         \
  X(Log1p, log1p)                         \
  X(Atan, atan)                           \
  X(Sin, sin)                             \
  X(Cos, cos)                             \
  X(Tan, tan)                             \
  X(Asin, asin)                           \
  X(Acos, acos)                           \
  X(Asinh, asinh)                         \
  X(Acosh, acosh)                         \
  X(Atanh, atanh)                         \
  X(Cbrt, cbrt)                           \
  X(Erf, erf)                             \
  X(Erfc, erfc)                           \
  X(Lgamma, lgamma)                       \
  X(Digamma, digamma)
// clang-format on
#define WEFT_FOR_EACH_ELEMENTARY_BINARY(X) X(Pow, pow) X(Atan2, atan2) X(Hypot, hypot)

// One lane at a time in generated code unless they are elementary.
// clang-format off: it never comes to rest with these
#define WEFT_FOR_EACH_OWN_UNARY(X)  \
  WEFT_FOR_EACH_ELEMENTARY_UNARY(X) \
  X(ErfInv, erfinv)                 \
  X(I0, i0)
// clang-format on
#define WEFT_FOR_EACH_OWN_BINARY(X) WEFT_FOR_EACH_ELEMENTARY_BINARY(X) X(Rem, fmod) X(NextAfter, nextafter)

extern "C" {
#define WEFT_DECLARE_UNARY(PRIM, NAME) \
  float weft_##NAME##f(float);         \
  double weft_##NAME(double);
#define WEFT_DECLARE_BINARY(PRIM, NAME) \
  float weft_##NAME##f(float, float);   \
  double weft_##NAME(double, double);
WEFT_FOR_EACH_OWN_UNARY(WEFT_DECLARE_UNARY)
WEFT_FOR_EACH_OWN_BINARY(WEFT_DECLARE_BINARY)
#undef WEFT_DECLARE_UNARY
#undef WEFT_DECLARE_BINARY
}
