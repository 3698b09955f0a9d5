// Error, gamma and Bessel functions, and functions of probabilities.
#include "ops/define.h"
#include "scalar/special_functions.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef* const kSpecialOps[] = {
    &unary<kFloats>(
        "erf", DTypeRule::FloatOnly, [](auto x) { return erf(x); },
        {.doc = "Error function.", .numpy = "numpy.vectorize(math.erf)(x)", .error = {1.25, 1.25}}),
    &unary<kFloats>("erfc", DTypeRule::FloatOnly, [](auto x) { return erfc(x); },
                    {.doc = "1 - erf(x), accurate for large x.",
                     .numpy = "numpy.vectorize(math.erfc)(x)",
                     .error = {6, 6},
                     .low = -3,
                     .high = 9}),
    &unary<kFloats>(
        "erfinv", DTypeRule::FloatOnly, [](auto x) { return erfinv(x); },
        {.doc = "y with erf(y) = x; +-inf at +-1, NaN outside. source: Giles' approximation, Newton steps.",
         .error = {1, 4},
         .low = -0.99,
         .high = 0.99}),
    &unary<kFloats>("lgamma", DTypeRule::FloatOnly, [](auto x) { return lgamma(x); },
                    {.doc = "log|gamma(x)|. error: from 2.5 on; absolute near its negative zeros. source: "
                            "recurrence, Stirling's series.",
                     .numpy = "numpy.vectorize(math.lgamma)(x)",
                     .error = {2, 4},
                     .low = 2.5,
                     .high = 30}),
    &unary<kFloats>(
        "digamma", DTypeRule::FloatOnly, [](auto x) { return digamma(x); },
        {.doc = "Derivative of log gamma; NaN at negative integers. source: recurrence, asymptotic series.",
         .error = {1, 16},
         .low = 0.1,
         .high = 30,
         .aliases = {"psi"}}),
    &unary<kFloats>("i0", DTypeRule::FloatOnly, [](auto x) { return i0(x); },
                    {.doc = "Modified Bessel function of the first kind, order 0; NaN at infinities, as "
                            "NumPy's. source: power and asymptotic series.",
                     .error = {1, 16},
                     .low = -20,
                     .high = 20}),
    &unary<kFloats | kComplex>("sigmoid", DTypeRule::FloatOnly, [](auto x) { return 1.0 / (1.0 + exp(-x)); },
                               {.doc = "1 / (1 + exp(-x)).",
                                .numpy = "1 / (1 + numpy.exp(-x))",
                                .error = {3, 3},
                                .low = -30,
                                .high = 30,
                                .aliases = {"expit"}}),
    &unary<kFloats>(
        "logit", DTypeRule::FloatOnly,
        [](auto x, const Params& p) {
          const auto clamped =
              p.given(0) ? minimum(maximum(x, constant_like(p.real(0), x)), constant_like(1 - p.real(0), x))
                         : x;
          return log(clamped / (1.0 - clamped));
        },
        {.doc = "log(x / (1 - x)), x clamped to [eps, 1 - eps] if eps is given; NaN outside [0, 1].\n"
                "error: absolute, near 1/2.",
         .numpy = "numpy.log(x / (1 - x))",
         .error = {8, 8},
         .low = 0.01,
         .high = 0.4,
         .params = ", float? eps=None"}),
};

constexpr DTypeSet kSingleDouble = dtype_bit(DType::F32) | dtype_bit(DType::F64);

[[maybe_unused]] const OpDef* const kBessel[] = {
    &unary<kSingleDouble>("airy_ai", DTypeRule::FloatOnly, [](auto x) { return airy_ai(x); },
                          {.doc = "Airy function Ai; NaN at infinities. error: absolute, near its zeros.\n"
                                  "source: power series, K of order 1/3, asymptotic series below -9.",
                           .error = {1, 32},
                           .low = -2,
                           .high = 10}),
    &unary<kSingleDouble>(
        "bessel_j0", DTypeRule::FloatOnly, [](auto x) { return bessel_j0(x); },
        {.doc = "Bessel function of the first kind, order 0; NaN at infinities. source: the C library.",
         .error = {1, 8},
         .low = -2,
         .high = 2}),
    &unary<kSingleDouble>(
        "bessel_j1", DTypeRule::FloatOnly, [](auto x) { return bessel_j1(x); },
        {.doc = "Bessel function of the first kind, order 1; NaN at infinities. source: the C library.",
         .error = {1, 8},
         .low = -3,
         .high = 3}),
    &unary<kSingleDouble>("bessel_y0", DTypeRule::FloatOnly, [](auto x) { return bessel_y0(x); },
                          {.doc = "Bessel function of the second kind, order 0: -inf at 0, NaN below and at "
                                  "infinity. source: the C library.",
                           .error = {1, 8},
                           .low = 1.2,
                           .high = 3}),
    &unary<kSingleDouble>("bessel_y1", DTypeRule::FloatOnly, [](auto x) { return bessel_y1(x); },
                          {.doc = "Bessel function of the second kind, order 1: -inf at 0, NaN below and at "
                                  "infinity. source: the C library.",
                           .error = {1, 8},
                           .low = 0.1,
                           .high = 2}),
    &unary<kSingleDouble>("spherical_bessel_j0", DTypeRule::FloatOnly,
                          [](auto x) { return spherical_bessel_j0(x); },
                          {.doc = "sin(x) / x: 1 at 0, 0 at infinities.",
                           .numpy = "numpy.sin(x) / x",
                           .error = {1, 2},
                           .low = -3,
                           .high = 3}),
    &unary<kFloats>("i0e", DTypeRule::FloatOnly, [](auto x) { return i0e(x); },
                    {.doc = "exp(-|x|) * i0(x). source: power and asymptotic series.",
                     .error = {1, 32},
                     .low = -40,
                     .high = 40}),
    &unary<kFloats>("i1", DTypeRule::FloatOnly, [](auto x) { return i1(x); },
                    {.doc = "Modified Bessel function of the first kind, order 1; NaN at infinities.\n"
                            "source: power and asymptotic series.",
                     .error = {1, 32},
                     .low = -40,
                     .high = 40}),
    &unary<kFloats>("i1e", DTypeRule::FloatOnly, [](auto x) { return i1e(x); },
                    {.doc = "exp(-|x|) * i1(x). source: power and asymptotic series.",
                     .error = {1, 32},
                     .low = -40,
                     .high = 40}),
    &unary<kSingleDouble>("modified_bessel_i0", DTypeRule::FloatOnly, [](auto x) { return i0(x); },
                          {.doc = "i0, of float32 and float64.", .error = {1, 16}, .low = -20, .high = 20}),
    &unary<kSingleDouble>("modified_bessel_i1", DTypeRule::FloatOnly, [](auto x) { return i1(x); },
                          {.doc = "i1, of float32 and float64.", .error = {1, 32}, .low = -20, .high = 20}),
    &unary<kSingleDouble>(
        "modified_bessel_k0", DTypeRule::FloatOnly, [](auto x) { return modified_bessel_k0(x); },
        {.doc = "Modified Bessel function of the second kind, order 0: inf at 0, NaN below.\n"
                "source: power series; above 1 Steed's continued fraction.",
         .error = {1, 32},
         .low = 0.01,
         .high = 20}),
    &unary<kSingleDouble>(
        "modified_bessel_k1", DTypeRule::FloatOnly, [](auto x) { return modified_bessel_k1(x); },
        {.doc = "Modified Bessel function of the second kind, order 1: inf at 0, NaN below.\n"
                "source: power series; above 1 Steed's continued fraction.",
         .error = {1, 32},
         .low = 0.01,
         .high = 20}),
    &unary<kSingleDouble>(
        "scaled_modified_bessel_k0", DTypeRule::FloatOnly,
        [](auto x) { return scaled_modified_bessel_k0(x); },
        {.doc = "exp(x) * modified_bessel_k0(x).", .error = {1, 32}, .low = 0.01, .high = 20}),
    &unary<kSingleDouble>(
        "scaled_modified_bessel_k1", DTypeRule::FloatOnly,
        [](auto x) { return scaled_modified_bessel_k1(x); },
        {.doc = "exp(x) * modified_bessel_k1(x).", .error = {1, 32}, .low = 0.01, .high = 20}),
};

[[maybe_unused]] const OpDef* const kGamma[] = {
    &binary<kSingleDouble>(
        "zeta", DTypeRule::FloatOnly, [](auto x, auto y) { return zeta(x, y); },
        {.doc = "Hurwitz' zeta function: the sum of (k + y)**-x over k >= 0; inf at x = 1, NaN "
                "below.\nsource: Euler and Maclaurin's formula.",
         .error = {1, 16},
         .low = 1.1,
         .high = 10}),
    &unary<kFloats>("polygamma", DTypeRule::FloatOnly,
                    [](auto x, const Params& p) { return polygamma(constant_like(p.real(0), x), x); },
                    {.doc = "The n-th derivative of digamma. source: digamma, zeta.",
                     .error = {1, 64},
                     .low = 0.5,
                     .high = 20,
                     .params = ", int n=1"}),
    &binary<kFloats>(
        "igamma", DTypeRule::FloatOnly, [](auto x, auto y) { return igamma(x, y); },
        {.doc = "Regularized lower incomplete gamma function P(x, y); NaN for negative operands.\n"
                "source: power series, Legendre's continued fraction.",
         .error = {1, 256},
         .low = 0.1,
         .high = 20,
         .aliases = {"gammainc"}}),
    &binary<kFloats>("igammac", DTypeRule::FloatOnly, [](auto x, auto y) { return igammac(x, y); },
                     {.doc = "Regularized upper incomplete gamma function Q(x, y) = 1 - P(x, y).\n"
                             "source: power series, Legendre's continued fraction.",
                      .error = {1, 256},
                      .low = 0.1,
                      .high = 20,
                      .aliases = {"gammaincc"}}),
};

constexpr double kSqrtHalf = 0.70710678118654752440;

[[maybe_unused]] const OpDef* const kNormal[] = {
    &unary<kSingleDouble>("erfcx", DTypeRule::FloatOnly, [](auto x) { return erfcx(x); },
                          {.doc = "exp(x**2) * erfc(x), without overflow for x > 0.",
                           .error = {1, 16},
                           .low = -5,
                           .high = 100}),
    &unary<kFloats>("ndtr", DTypeRule::FloatOnly, [](auto x) { return (1.0 + erf(x * kSqrtHalf)) * 0.5; },
                    {.doc = "The standard normal distribution function. error: absolute, below 0.",
                     .numpy = "(1 + numpy.vectorize(math.erf)(x * numpy.sqrt(x.dtype.type(0.5)))) / 2",
                     .error = {2, 2},
                     .low = 0,
                     .high = 6}),
    &unary<kSingleDouble>("ndtri", DTypeRule::FloatOnly, [](auto x) { return ndtri(x); },
                          {.doc = "The inverse of ndtr: -inf at 0, inf at 1, NaN outside.\n"
                                  "source: Hastings' approximation, Halley's method.",
                           .error = {1, 64},
                           .low = 0.001,
                           .high = 0.45}),
    &unary<kSingleDouble>(
        "log_ndtr", DTypeRule::FloatOnly, [](auto x) { return log_ndtr(x); },
        {.doc = "log(ndtr(x)), accurate where ndtr is tiny.", .error = {1, 16}, .low = -20, .high = 5}),
    &unary<kFloats>("entr", DTypeRule::FloatOnly,
                    [](auto x) {
                      const auto zero = constant_like(0, x);
                      const auto below = select(x == 0.0, zero, constant_like(-HUGE_VAL, x));
                      return select(isnan(x), x, select(x > 0.0, -x * log(x), below));
                    },
                    {.doc = "-x * log(x): 0 at 0, -inf below.",
                     .numpy = "-x * numpy.log(x)",
                     .error = {2.5, 2.5},
                     .low = 1.2,
                     .high = 10}),
    &binary<kFloats>(
        "xlog1py", DTypeRule::FloatOnly,
        [](auto x, auto y) { return select(isnan(y), y, select(x == 0.0, x * 0.0, x * log1p(y))); },
        {.doc = "x * log(1 + y); 0 for x = 0.",
         .numpy = "x * numpy.log1p(y)",
         .error = {2.5, 2.5},
         .low = 0.1,
         .high = 10}),
};

// Orthogonal polynomials of x, of degree n; n is cut to an integer, and 0 results where it is negative.
#define WEFT_POLYNOMIAL(NAME, TEXT)                                                          \
  &binary<kSingleDouble>(                                                                    \
      #NAME, DTypeRule::FloatOnly, [](auto x, auto y) { return NAME(x, y); },                \
      {.doc = TEXT " of x, of degree y, which is cut to an integer; 0 for a negative one.\n" \
                   "error: absolute, near its zeros. source: recurrence of three terms.",    \
       .error = {64, 64},                                                                    \
       .low = 1.1,                                                                           \
       .high = 4})
[[maybe_unused]] const OpDef* const kPolynomials[] = {
    WEFT_POLYNOMIAL(chebyshev_polynomial_t, "Chebyshev polynomial of the first kind"),
    WEFT_POLYNOMIAL(chebyshev_polynomial_u, "Chebyshev polynomial of the second kind"),
    WEFT_POLYNOMIAL(chebyshev_polynomial_v, "Chebyshev polynomial of the third kind"),
    WEFT_POLYNOMIAL(chebyshev_polynomial_w, "Chebyshev polynomial of the fourth kind"),
    WEFT_POLYNOMIAL(shifted_chebyshev_polynomial_t, "Chebyshev polynomial of the first kind at 2x - 1,"),
    WEFT_POLYNOMIAL(shifted_chebyshev_polynomial_u, "Chebyshev polynomial of the second kind at 2x - 1,"),
    WEFT_POLYNOMIAL(shifted_chebyshev_polynomial_v, "Chebyshev polynomial of the third kind at 2x - 1,"),
    WEFT_POLYNOMIAL(shifted_chebyshev_polynomial_w, "Chebyshev polynomial of the fourth kind at 2x - 1,"),
    WEFT_POLYNOMIAL(hermite_polynomial_h, "Physicists' Hermite polynomial"),
    WEFT_POLYNOMIAL(hermite_polynomial_he, "Probabilists' Hermite polynomial"),
    WEFT_POLYNOMIAL(laguerre_polynomial_l, "Laguerre polynomial"),
    WEFT_POLYNOMIAL(legendre_polynomial_p, "Legendre polynomial"),
};
#undef WEFT_POLYNOMIAL

}  // namespace
}  // namespace weft::ops
