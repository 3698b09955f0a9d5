// Arithmetic of two operands.
#include "ops/define.h"

namespace weft::ops {
namespace {

// x * y where y is a parameter that is usually 1 (alpha, value): an expression leaves the product out.
template <class X>
X scaled(const X& x, const Params& p, size_t index) {
  return p.is(index, 1) ? x : x * param_like(p, index, x);
}

[[maybe_unused]] const OpDef* const kArithmetic[] = {
    &binary<kAllDTypes>("add", DTypeRule::Same,
                        [](auto x, auto y, const Params& p) { return x + scaled(y, p, 0); },
                        {.doc = "x + alpha * y. Integers wrap; bool: logical or.",
                         .numpy = "numpy.add(x, alpha * y)",
                         .error = {0.5, 0.5},
                         .params = ", *, Scalar alpha=1"}),
    &binary<kNumbers>("sub", DTypeRule::Same,
                      [](auto x, auto y, const Params& p) { return x - scaled(y, p, 0); },
                      {.doc = "x - alpha * y. Integers wrap. TypeError for bool: use logical_xor.",
                       .numpy = "numpy.subtract(x, alpha * y)",
                       .error = {0.5, 0.5},
                       .aliases = {"subtract"},
                       .params = ", *, Scalar alpha=1"}),
    &binary<kAllDTypes>("mul", DTypeRule::Same, [](auto x, auto y) { return x * y; },
                        {.doc = "x * y. Integers wrap; bool: logical and.",
                         .numpy = "numpy.multiply(x, y)",
                         .error = {0.5, 0.5},
                         .aliases = {"multiply"}}),
    &binary<kInexact>("true_divide", DTypeRule::FloatOnly, [](auto x, auto y) { return x / y; },
                      {.doc = "x / y in floating point. NumPy's rules: integers divide in float64.",
                       .error = {0.5, 0.5},
                       .low = 0.1,
                       .high = 10}),
    &binary<kIntegers>("trunc_divide", DTypeRule::Same, [](auto x, auto y) { return x / y; },
                       {.doc = "Integer quotient rounded toward zero; 0 for y = 0.",
                        .numpy = "numpy.trunc(numpy.true_divide(x, y)).astype(x.dtype)",
                        .low = 1,
                        .high = 10}),
    &binary<kReal>(
        "floor_divide", DTypeRule::Same, [](auto x, auto y) { return floor_div(x, y); },
        {.doc = "The largest integer not above x / y, in the operands' dtype, consistent with remainder.\n"
                "Integers: 0 for y = 0.",
         .error = {0, 0},
         .low = 0.5,
         .high = 10,
         .numpy_bool_is_int8 = true}),
    &binary<kReal>("remainder", DTypeRule::Same, [](auto x, auto y) { return mod(x, y); },
                   {.doc = "x - y * floor(x / y): the sign is y's. Integers: 0 for y = 0; floating: NaN.",
                    .error = {0.5, 0.5},
                    .low = 0.5,
                    .high = 10,
                    .aliases = {"mod"},
                    .numpy_bool_is_int8 = true}),
    &binary<kReal>(
        "fmod", DTypeRule::Same, [](auto x, auto y) { return rem(x, y); },
        {.doc = "x - y * trunc(x / y): the sign is x's. Exact. Integers: 0 for y = 0; floating: NaN.",
         .low = 0.5,
         .high = 10,
         .numpy_bool_is_int8 = true}),
};

[[maybe_unused]] const OpDef* const kExtremes[] = {
    &binary<kAllDTypes>(
        "maximum", DTypeRule::Same, [](auto x, auto y) { return maximum(x, y); },
        {.doc = "The larger operand; NaN if either is NaN. Complex: by real, then imaginary part."}),
    &binary<kAllDTypes>(
        "minimum", DTypeRule::Same, [](auto x, auto y) { return minimum(x, y); },
        {.doc = "The smaller operand; NaN if either is NaN. Complex: by real, then imaginary part."}),
    &binary<kAllDTypes>("fmax", DTypeRule::Same, [](auto x, auto y) { return fmax(x, y); },
                        {.doc = "The larger operand; the other one if one is NaN."}),
    &binary<kAllDTypes>("fmin", DTypeRule::Same, [](auto x, auto y) { return fmin(x, y); },
                        {.doc = "The smaller operand; the other one if one is NaN."}),
};

[[maybe_unused]] const OpDef* const kIntegerArithmetic[] = {
    &binary<kIntegers>("gcd", DTypeRule::Same, [](auto x, auto y) { return gcd(x, y); },
                       {.doc = "Greatest common divisor of |x| and |y|; gcd(0, 0) = 0."}),
    &binary<kIntegers>("lcm", DTypeRule::Same,
                       [](auto x, auto y) {
                         const auto divisor = gcd(x, y);
                         return select(divisor == 0.0, divisor, abs(x) / divisor * abs(y));
                       },
                       {.doc = "Least common multiple of |x| and |y|; 0 if either is 0."}),
};

}  // namespace
}  // namespace weft::ops
