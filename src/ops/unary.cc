// Rounding, signs, powers and parts of one operand.
#include "ops/define.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef* const kSigns[] = {
    &unary<kAllDTypes>(
        "abs", DTypeRule::Real, [](auto x) { return abs(x); },
        {.doc = "|x|; a complex operand gives its real dtype. The lowest value of a signed integer stays.",
         .error = {1, 1},
         .aliases = {"absolute"}}),
    &unary<kReal>("fabs", DTypeRule::FloatOnly, [](auto x) { return abs(x); },
                  {.doc = "|x| in floating point."}),
    &unary<kNumbers>("neg", DTypeRule::Same, [](auto x) { return -x; },
                     {.doc = "-x. Integers wrap. TypeError for bool: use logical_not.",
                      .numpy = "numpy.negative(x)",
                      .aliases = {"negative"}}),
    &unary<kNumbers>("positive", DTypeRule::Same, [](auto x) { return x; },
                     {.doc = "x itself. TypeError for bool."}),
    &unary<kNumbers>("signum", DTypeRule::Same,
                     [](auto x) {
                       const auto one = constant_like(1, x), zero = constant_like(0, x);
                       if (is_complex(dtype(x))) {
                         const auto unit = x / cast_like(abs(x), x);
                         return select(x == zero, zero, unit);
                       }
                       return select(x > zero, one, select(x < zero, -one, select(x == zero, zero, x)));
                     },
                     {.doc = "-1, 0 or 1; NaN for NaN; x / |x| for complex x != 0.",
                      .numpy = "numpy.sign(x)",
                      .error = {2, 2}}),
    &unary<kFloats>("sign_or_zero", DTypeRule::Same,
                    [](auto x) {
                      const auto one = constant_like(1, x), zero = constant_like(0, x);
                      return select(x > zero, one, select(x < zero, -one, zero));
                    },
                    {.doc = "-1, 0 or 1; 0 for NaN.", .numpy = "numpy.nan_to_num(numpy.sign(x))"}),
    &unary<kBool | kReal>("signbit", DTypeRule::Bool,
                          [](auto x) {
                            if constexpr (requires { copysign(x, x); }) {
                              if (is_floating(dtype(x))) return copysign(constant_like(1, x), x) < 0.0;
                            }
                            return x < 0.0;
                          },
                          {.doc = "Whether the sign bit is set: true for -0."}),
};

[[maybe_unused]] const OpDef* const kRounding[] = {
    &unary < kBool | kReal > ("floor", DTypeRule::Same, [](auto x) { return floor(x); },
                              {.doc = "The largest integer not above x, in x's dtype."}),
    &unary<kBool | kReal>("ceil", DTypeRule::Same, [](auto x) { return ceil(x); },
                          {.doc = "The smallest integer not below x, in x's dtype."}),
    &unary<kBool | kReal>("trunc", DTypeRule::Same, [](auto x) { return trunc(x); },
                          {.doc = "x without its fraction, in x's dtype.", .aliases = {"fix"}}),
    &unary<kFloats>("rint", DTypeRule::FloatOnly, [](auto x) { return round_even(x); },
                    {.doc = "The nearest integer, ties to even."}),
    &unary<kBool | kReal>(
        "round", DTypeRule::Same,
        [](auto x, const Params& p) {
          if (!is_inexact(dtype(x)) || p.is(0, 0)) return round_even(x);
          const auto scale = constant_like(std::pow(10.0, std::fabs(p.real(0))), x);
          return p.real(0) > 0 ? round_even(x * scale) / scale : round_even(x / scale) * scale;
        },
        {.doc = "x rounded to `decimals` places, ties to even. Integers are returned unchanged.",
         .numpy = "numpy.round(x, decimals)",
         .aliases = {"around"},
         .params = ", *, int decimals=0"}),
    &unary<kFloats>("frac", DTypeRule::FloatOnly, [](auto x) { return x - trunc(x); },
                    {.doc = "x - trunc(x): the fraction, with x's sign.", .numpy = "x - numpy.trunc(x)"}),
};

[[maybe_unused]] const OpDef* const kPowers[] = {
    &unary<kInexact>("sqrt", DTypeRule::FloatOnly, [](auto x) { return sqrt(x); },
                     {.doc = "Square root; NaN for x < 0.", .error = {0.5, 0.5}, .low = 0, .high = 100}),
    &unary<kInexact>(
        "rsqrt", DTypeRule::FloatOnly, [](auto x) { return 1.0 / sqrt(x); },
        {.doc = "1 / sqrt(x).", .numpy = "1 / numpy.sqrt(x)", .error = {1.5, 1.5}, .low = 0.01, .high = 100}),
    &unary<kNumbers>("square", DTypeRule::Same, [](auto x) { return x * x; },
                     {.doc = "x * x. Integers wrap.", .error = {0.5, 0.5}, .numpy_bool_is_int8 = true}),
    &unary<kFloats>("cbrt", DTypeRule::FloatOnly, [](auto x) { return cbrt(x); },
                    {.doc = "Cube root.", .error = {1, 1}, .low = -100, .high = 100}),
    &unary<kFloats>("deg2rad", DTypeRule::FloatOnly, [](auto x) { return x * (M_PI / 180); },
                    {.doc = "Degrees to radians.",
                     .error = {1.5, 1.5},
                     .low = -720,
                     .high = 720,
                     .aliases = {"radians"}}),
    &unary<kFloats>("rad2deg", DTypeRule::FloatOnly, [](auto x) { return x * (180 / M_PI); },
                    {.doc = "Radians to degrees.", .error = {1.5, 1.5}, .aliases = {"degrees"}}),
};

[[maybe_unused]] const OpDef* const kParts[] = {
    &unary<kAllDTypes>("real", DTypeRule::Real, [](auto x) { return real(x); },
                       {.doc = "The real part; a real operand itself."}),
    &unary<kAllDTypes>("imag", DTypeRule::Real, [](auto x) { return imag(x); },
                       {.doc = "The imaginary part; zero for a real operand."}),
    &unary<kNumbers>("conj", DTypeRule::Same, [](auto x) { return conj(x); },
                     {.doc = "Complex conjugate; a real operand itself.",
                      .aliases = {"conjugate"},
                      .numpy_bool_is_int8 = true}),
    &unary<kInexact>("angle", DTypeRule::Real, [](auto x) { return atan2(imag(x), real(x)); },
                     {.doc = "The argument atan2(imag, real): 0 or pi for a real operand.", .error = {1, 1}}),
};

[[maybe_unused]] const OpDef* const kPredicates[] = {
    &unary<kAllDTypes>("isnan", DTypeRule::Bool, [](auto x) { return isnan(x); },
                       {.doc = "Whether x (either part of a complex x) is NaN; false for integers."}),
    &unary<kAllDTypes>("isfinite", DTypeRule::Bool, [](auto x) { return x - x == 0.0; },
                       {.doc = "Whether x (both parts of a complex x) is neither infinite nor NaN."}),
    &unary<kAllDTypes>("isinf", DTypeRule::Bool,
                       [](auto x) {
                         const auto infinite = [](auto part) { return (part - part != 0.0) & ~isnan(part); };
                         return infinite(real(x)) | infinite(imag(x));
                       },
                       {.doc = "Whether x (either part of a complex x) is infinite."}),
    &unary<kBool | kReal>("isposinf", DTypeRule::Bool, [](auto x) { return (x - x != 0.0) & (x > 0.0); },
                          {.doc = "Whether x is +infinity."}),
    &unary<kBool | kReal>("isneginf", DTypeRule::Bool, [](auto x) { return (x - x != 0.0) & (x < 0.0); },
                          {.doc = "Whether x is -infinity."}),
    &unary<kAllDTypes>("logical_not", DTypeRule::Bool, [](auto x) { return x == 0.0; },
                       {.doc = "Whether x equals zero."}),
    &unary<kBool | kIntegers>("bitwise_not", DTypeRule::Same, [](auto x) { return ~x; },
                              {.doc = "All bits inverted; logical not of bool.",
                               .numpy = "numpy.invert(x)",
                               .aliases = {"invert", "bitwise_invert"}}),
};

}  // namespace
}  // namespace weft::ops
