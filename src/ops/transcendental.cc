// Exponentials, logarithms, trigonometric and hyperbolic functions of one operand.
#include <type_traits>

#include "ops/define.h"

namespace weft::ops {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

// Of complex numbers by their parts, and of others by the function itself: Expr is one of both.
#define WEFT_OF_COMPLEX(X, REAL, COMPLEX)              \
  if constexpr (requires { copysign(X, X); }) {        \
    if constexpr (std::is_same_v<decltype(X), Expr>) { \
      if (is_complex(dtype(X))) return COMPLEX;        \
    }                                                  \
    return REAL;                                       \
  } else {                                             \
    return COMPLEX;                                    \
  }

template <class T>
T complex_expm1(T x) {
  const auto re = real(x), im = imag(x);
  const auto half = sin(im * 0.5);
  return make_complex(expm1(re) * cos(im) - half * half * 2.0, exp(re) * sin(im));
}
template <class T>
T complex_log1p(T x) {
  const auto re = real(x), im = imag(x);
  const auto near = log1p(re * (re + 2.0) + im * im) * 0.5;
  return make_complex(select((abs(re) < 0.5) & (abs(im) < 0.5), near, log(abs(x + 1.0))),
                      atan2(im, re + 1.0));
}

[[maybe_unused]] const OpDef* const kExponentials[] = {
    &unary<kInexact>("exp", DTypeRule::FloatOnly, [](auto x) { return exp(x); },
                     {.doc = "e**x.", .error = {1, 1}, .low = -80, .high = 80}),
    &unary<kInexact>("exp2", DTypeRule::FloatOnly,
                     [](auto x) { WEFT_OF_COMPLEX(x, exp2(x), exp(x * constant_like(kLn2, x))) },
                     {.doc = "2**x.", .error = {1, 1}, .low = -100, .high = 100}),
    &unary<kInexact>("expm1", DTypeRule::FloatOnly,
                     [](auto x) { WEFT_OF_COMPLEX(x, expm1(x), complex_expm1(x)) },
                     {.doc = "exp(x) - 1, accurate near 0.", .error = {1.25, 1.1}}),
    &unary<kInexact>(
        "log", DTypeRule::FloatOnly, [](auto x) { return log(x); },
        {.doc = "Natural logarithm; -inf at 0, NaN below.", .error = {1, 1}, .low = 0.001, .high = 100}),
    &unary<kInexact>("log2", DTypeRule::FloatOnly,
                     [](auto x) { WEFT_OF_COMPLEX(x, log2(x), log(x) * constant_like(1 / kLn2, x)) },
                     {.doc = "Logarithm to base 2.", .error = {1, 1}, .low = 0.001, .high = 100}),
    &unary<kInexact>("log10", DTypeRule::FloatOnly, [](auto x) { return log10(x); },
                     {.doc = "Logarithm to base 10.", .error = {1, 1}, .low = 0.001, .high = 100}),
    &unary<kInexact>("log1p", DTypeRule::FloatOnly,
                     [](auto x) { WEFT_OF_COMPLEX(x, log1p(x), complex_log1p(x)) },
                     {.doc = "log(1 + x), accurate near 0.", .error = {1, 1}, .low = -0.99, .high = 10}),
};

[[maybe_unused]] const OpDef* const kTrigonometric[] = {
    &unary<kInexact>("sin", DTypeRule::FloatOnly, [](auto x) { return sin(x); },
                     {.doc = "Sine, x in radians.", .error = {1, 1}, .low = -10, .high = 10}),
    &unary<kInexact>("cos", DTypeRule::FloatOnly, [](auto x) { return cos(x); },
                     {.doc = "Cosine, x in radians.", .error = {1, 1}, .low = -10, .high = 10}),
    &unary<kInexact>("tan", DTypeRule::FloatOnly, [](auto x) { return tan(x); },
                     {.doc = "Tangent, x in radians.", .error = {1, 1}, .low = -1.5, .high = 1.5}),
    &unary<kInexact>("asin", DTypeRule::FloatOnly, [](auto x) { return asin(x); },
                     {.doc = "Inverse sine in [-pi/2, pi/2]; NaN outside [-1, 1].",
                      .numpy = "numpy.arcsin(x)",
                      .error = {1, 1},
                      .low = -1,
                      .high = 1,
                      .aliases = {"arcsin"}}),
    &unary<kInexact>("acos", DTypeRule::FloatOnly, [](auto x) { return acos(x); },
                     {.doc = "Inverse cosine in [0, pi]; NaN outside [-1, 1].",
                      .numpy = "numpy.arccos(x)",
                      .error = {1, 1},
                      .low = -1,
                      .high = 1,
                      .aliases = {"arccos"}}),
    &unary<kInexact>("atan", DTypeRule::FloatOnly, [](auto x) { return atan(x); },
                     {.doc = "Inverse tangent in [-pi/2, pi/2].",
                      .numpy = "numpy.arctan(x)",
                      .error = {1, 1},
                      .low = -10,
                      .high = 10,
                      .aliases = {"arctan"}}),
    &unary<kInexact>(
        "sinc", DTypeRule::FloatOnly,
        [](auto x) {
          const auto angle = x * constant_like(M_PI, x);
          return select(x == constant_like(0, x), constant_like(1, x), sin(angle) / angle);
        },
        {.doc = "sin(pi x) / (pi x); 1 at 0. error: 4 ULP on [-0.5, 0.5]; growing toward its zeros.",
         .error = {4, 4},
         .low = -0.5,
         .high = 0.5}),
};

[[maybe_unused]] const OpDef* const kHyperbolic[] = {
    &unary<kInexact>("sinh", DTypeRule::FloatOnly, [](auto x) { return sinh(x); },
                     {.doc = "Hyperbolic sine.", .error = {1, 1.25}}),
    &unary<kInexact>("cosh", DTypeRule::FloatOnly, [](auto x) { return cosh(x); },
                     {.doc = "Hyperbolic cosine.", .error = {1.4, 1.4}}),
    &unary<kInexact>("tanh", DTypeRule::FloatOnly, [](auto x) { return tanh(x); },
                     {.doc = "Hyperbolic tangent.", .error = {1.5, 1}, .low = -10, .high = 10}),
    &unary<kInexact>("asinh", DTypeRule::FloatOnly, [](auto x) { return asinh(x); },
                     {.doc = "Inverse hyperbolic sine.",
                      .numpy = "numpy.arcsinh(x)",
                      .error = {1, 1},
                      .low = -10,
                      .high = 10,
                      .aliases = {"arcsinh"}}),
    &unary<kInexact>("acosh", DTypeRule::FloatOnly, [](auto x) { return acosh(x); },
                     {.doc = "Inverse hyperbolic cosine; NaN below 1.",
                      .numpy = "numpy.arccosh(x)",
                      .error = {1, 1},
                      .low = 1,
                      .high = 100,
                      .aliases = {"arccosh"}}),
    &unary<kInexact>("atanh", DTypeRule::FloatOnly, [](auto x) { return atanh(x); },
                     {.doc = "Inverse hyperbolic tangent; NaN outside [-1, 1].",
                      .numpy = "numpy.arctanh(x)",
                      .error = {1, 1},
                      .low = -0.99,
                      .high = 0.99,
                      .aliases = {"arctanh"}}),
};

#undef WEFT_OF_COMPLEX

}  // namespace
}  // namespace weft::ops
