// Comparisons.
#include "ops/define.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef* const kCompareOps[] = {
    &binary<kAllDTypes>("eq", DTypeRule::Bool, [](auto x, auto y) { return x == y; },
                        {.doc = "x == y; false for NaN.", .numpy = "numpy.equal(x, y)"}),
    &binary<kAllDTypes>(
        "ne", DTypeRule::Bool, [](auto x, auto y) { return x != y; },
        {.doc = "x != y; true for NaN.", .numpy = "numpy.not_equal(x, y)", .aliases = {"not_equal"}}),
    &binary<kAllDTypes>("lt", DTypeRule::Bool, [](auto x, auto y) { return x < y; },
                        {.doc = "x < y; false for NaN. Complex: by real, then imaginary part.",
                         .numpy = "numpy.less(x, y)",
                         .aliases = {"less"}}),
    &binary<kAllDTypes>("le", DTypeRule::Bool, [](auto x, auto y) { return x <= y; },
                        {.doc = "x <= y; false for NaN. Complex: by real, then imaginary part.",
                         .numpy = "numpy.less_equal(x, y)",
                         .aliases = {"less_equal"}}),
    &binary<kAllDTypes>("gt", DTypeRule::Bool, [](auto x, auto y) { return x > y; },
                        {.doc = "x > y; false for NaN. Complex: by real, then imaginary part.",
                         .numpy = "numpy.greater(x, y)",
                         .aliases = {"greater"}}),
    &binary<kAllDTypes>("ge", DTypeRule::Bool, [](auto x, auto y) { return x >= y; },
                        {.doc = "x >= y; false for NaN. Complex: by real, then imaginary part.",
                         .numpy = "numpy.greater_equal(x, y)",
                         .aliases = {"greater_equal"}}),
    &binary<kFloats | kComplex>("isclose", DTypeRule::Bool,
                                [](auto x, auto y, const Params& p) {
                                  const auto magnitude = abs(y);
                                  const auto tolerance = constant_like(p.real(1), magnitude) +
                                                         constant_like(p.real(0), magnitude) * magnitude;
                                  const auto close = (x == y) | ((abs(x - y) <= tolerance) & (y - y == 0.0));
                                  return p.real(2) != 0 ? close | (isnan(x) & isnan(y)) : close;
                                },
                                {.doc = "|x - y| <= atol + rtol * |y|; infinities are close to themselves "
                                        "only, NaN only with equal_nan.",
                                 .numpy = "numpy.isclose(x, y, rtol, atol, equal_nan)",
                                 .params = ", float rtol=1e-05, float atol=1e-08, bool equal_nan=False"}),
};

}  // namespace
}  // namespace weft::ops
