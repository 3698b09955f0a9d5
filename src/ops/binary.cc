// Arithmetic of two operands.
#include "ops/define.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef* const kOps[] = {
    &binary<kAllDTypes>("add", DTypeRule::Same, [](auto x, auto y) { return x + y; },
                        {.doc = "x + y. Integers wrap; bool: logical or.\n"
                                "dtype:  any. error: exactly rounded; f16 and bf16 are rounded once from float32.\n"
                                "source: IEEE 754."}),
    &binary<kNumbers>("sub", DTypeRule::Same, [](auto x, auto y) { return x - y; },
                      {.doc = "x - y. Integers wrap. TypeError for bool: use logical_xor.",
                       .numpy = "numpy.subtract(x, y)", .aliases = {"subtract"}}),
    &binary<kAllDTypes>("mul", DTypeRule::Same, [](auto x, auto y) { return x * y; },
                        {.doc = "x * y. Integers wrap; bool: logical and.",
                         .numpy = "numpy.multiply(x, y)", .aliases = {"multiply"}}),
};

}  // namespace
}  // namespace weft::ops
