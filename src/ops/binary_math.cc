// Powers, angles, floating-point manipulation and logarithmic sums of two or three operands.
#include "ops/define.h"

namespace weft::ops {
namespace {

constexpr double kLog2E = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;

[[maybe_unused]] const OpDef* const kPowers[] = {
    &binary<kNumbers>("pow", DTypeRule::Same, [](auto x, auto y) { return pow(x, y); },
                      {.doc = "x**y. Integers wrap; a negative integer exponent gives 1 / x**|y| truncated.",
                       .numpy = "numpy.power(x, y)",
                       .error = {1, 1},
                       .low = 0.1,
                       .high = 4,
                       .aliases = {"power"},
                       .numpy_bool_is_int8 = true}),
    &binary<kFloats>("atan2", DTypeRule::FloatOnly, [](auto x, auto y) { return atan2(x, y); },
                     {.doc = "The angle of the point (y, x) in [-pi, pi].",
                      .numpy = "numpy.arctan2(x, y)",
                      .error = {1.25, 1.3},
                      .aliases = {"arctan2"}}),
    &binary<kFloats>("hypot", DTypeRule::FloatOnly, [](auto x, auto y) { return hypot(x, y); },
                     {.doc = "sqrt(x**2 + y**2) without overflow.", .error = {1, 1}}),
    &binary<kFloats>("copysign", DTypeRule::FloatOnly, [](auto x, auto y) { return copysign(x, y); },
                     {.doc = "|x| with y's sign."}),
    &binary<dtype_bit(DType::F32) | dtype_bit(DType::F64)>(
        "nextafter", DTypeRule::FloatOnly, [](auto x, auto y) { return nextafter(x, y); },
        {.doc = "The next representable number after x toward y."}),
    &binary<kFloats>("heaviside", DTypeRule::FloatOnly,
                     [](auto x, auto y) {
                       const auto step = select(x > 0.0, constant_like(1, x), constant_like(0, x));
                       return select(isnan(x), x, select(x == 0.0, y, step));
                     },
                     {.doc = "0 for x < 0, y for x = 0, 1 for x > 0."}),
    &binary<kIntegers>("heaviside_integer", DTypeRule::Same,
                       [](auto x, auto y) {
                         const auto step = select(x > 0.0, constant_like(1, x), constant_like(0, x));
                         return select(x == 0.0, y, step);
                       },
                       {.doc = "heaviside of integers, which stay integers under PyTorch's rules.",
                        .numpy = "numpy.heaviside(x, y).astype(x.dtype)"}),
    &binary<kFloats>("ldexp", DTypeRule::FloatOnly,
                     [](auto x, auto y) {
                       // Three equal steps, so that no factor overflows where the result does not.
                       const double limit = dtype(x) == DType::F64 ? 700 : 100;
                       const auto part = minimum(maximum(trunc(y / 3.0), constant_like(-limit, y)),
                                                 constant_like(limit, y));
                       const auto rest = minimum(maximum(y - part * 2.0, constant_like(-limit, y)),
                                                 constant_like(limit, y));
                       return x * exp2(part) * exp2(part) * exp2(rest);
                     },
                     {.doc = "x * 2**y.", .numpy = "x * numpy.exp2(y)", .error = {2, 2}}),
};

[[maybe_unused]] const OpDef* const kLogarithmic[] = {
    &binary<kFloats>(
        "logaddexp", DTypeRule::FloatOnly,
        [](auto x, auto y) {
          const auto larger = maximum(x, y);
          return select(x == y, x + kLn2, larger + log1p(exp(-abs(x - y))));
        },
        {.doc = "log(exp(x) + exp(y)), without overflow. error: absolute, where the result is near 0.",
         .error = {3, 3},
         .low = 0,
         .high = 20}),
    &binary<kFloats>(
        "logaddexp2", DTypeRule::FloatOnly,
        [](auto x, auto y) {
          const auto larger = maximum(x, y);
          return select(x == y, x + 1.0, larger + log1p(exp2(-abs(x - y))) * kLog2E);
        },
        {.doc = "log2(2**x + 2**y), without overflow. error: absolute, where the result is near 0.",
         .error = {3, 3},
         .low = 0,
         .high = 20}),
    &binary<kFloats>(
        "xlogy", DTypeRule::FloatOnly,
        [](auto x, auto y) { return select(isnan(y), y, select(x == 0.0, x * 0.0, x * log(y))); },
        {.doc = "x * log(y); 0 for x = 0.",
         .numpy = "x * numpy.log(y)",
         .error = {2.5, 2.5},
         .low = 0.1,
         .high = 10}),
};

[[maybe_unused]] const OpDef* const kCombined[] = {
    &ternary<kNumbers>(
        "addcmul", "Tensor x, Tensor y, Tensor z", DTypeRule::Same,
        [](auto x, auto y, auto z, const Params& p) { return x + param_like(p, 0, x) * y * z; },
        {.doc = "x + value * y * z.",
         .numpy = "x + value * y * z",
         .error = {8, 8},
         .low = 0.1,
         .high = 3,
         .params = ", *, Scalar value=1"}),
    &ternary<kFloats | kComplex>(
        "addcdiv", "Tensor x, Tensor y, Tensor z", DTypeRule::FloatOnly,
        [](auto x, auto y, auto z, const Params& p) { return x + param_like(p, 0, x) * (y / z); },
        {.doc = "x + value * y / z.",
         .numpy = "x + value * (y / z)",
         .error = {8, 8},
         .low = 0.1,
         .high = 3,
         .params = ", *, Scalar value=1"}),
    &ternary<kFloats>(
        "fused_multiply_add", "Tensor x, Tensor y, Tensor z", DTypeRule::FloatOnly,
        [](auto x, auto y, auto z) { return fma(x, y, z); },
        {.doc = "x * y + z, rounded once.", .numpy = "x * y + z", .error = {1, 2}, .low = 0.1, .high = 3}),
    &ternary<kReal>("clamp_between", "Tensor x, Tensor low, Tensor high", DTypeRule::Same,
                    [](auto x, auto low, auto high) { return minimum(maximum(x, low), high); },
                    {.doc = "minimum(maximum(x, low), high) in one pass: high where low > high; NaN stays.",
                     .numpy = "numpy.minimum(numpy.maximum(x, low), high)"}),
    &ternary<kFloats>("lerp", "Tensor x, Tensor y, Tensor weight", DTypeRule::FloatOnly,
                      [](auto x, auto y, auto weight) {
                        return select(weight < 0.5, x + weight * (y - x), y - (y - x) * (1.0 - weight));
                      },
                      {.doc = "x + weight * (y - x): x at weight 0, y at weight 1, exactly.",
                       .numpy = "x + weight * (y - x)",
                       .error = {16, 16},
                       .low = 0.1,
                       .high = 1}),
};

}  // namespace
}  // namespace weft::ops
