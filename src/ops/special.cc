// Error, gamma and Bessel functions, and functions of probabilities.
#include "ops/define.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef* const kOps[] = {
    &unary<kFloats>(
        "erf", DTypeRule::FloatOnly, [](auto x) { return erf(x); },
        {.doc = "Error function. source: SLEEF.", .numpy = "numpy.vectorize(math.erf)(x)", .error = {1, 1}}),
    &unary<kFloats>("erfc", DTypeRule::FloatOnly, [](auto x) { return erfc(x); },
                    {.doc = "1 - erf(x), accurate for large x. source: SLEEF.",
                     .numpy = "numpy.vectorize(math.erfc)(x)",
                     .error = {1.5, 1.5},
                     .low = -3,
                     .high = 9}),
    &unary<kFloats>(
        "erfinv", DTypeRule::FloatOnly, [](auto x) { return erfinv(x); },
        {.doc = "y with erf(y) = x; +-inf at +-1, NaN outside. source: Giles' approximation, Newton steps.",
         .error = {1, 4},
         .low = -0.99,
         .high = 0.99}),
    &unary<kFloats>(
        "lgamma", DTypeRule::FloatOnly, [](auto x) { return lgamma(x); },
        {.doc = "log|gamma(x)|. error: from 2.5 on; absolute near its zeros 1 and 2. source: SLEEF.",
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
    &unary<kFloats>("sigmoid", DTypeRule::FloatOnly, [](auto x) { return 1.0 / (1.0 + exp(-x)); },
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

}  // namespace
}  // namespace weft::ops
