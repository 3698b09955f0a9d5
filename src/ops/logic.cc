// Logic and bit operations of two operands.
#include "ops/define.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef* const kLogic[] = {
    &binary<kAllDTypes>("logical_and", DTypeRule::Bool,
                        [](auto x, auto y) { return (x != 0.0) & (y != 0.0); },
                        {.doc = "Whether both differ from zero."}),
    &binary<kAllDTypes>("logical_or", DTypeRule::Bool, [](auto x, auto y) { return (x != 0.0) | (y != 0.0); },
                        {.doc = "Whether either differs from zero."}),
    &binary<kAllDTypes>("logical_xor", DTypeRule::Bool,
                        [](auto x, auto y) { return (x != 0.0) ^ (y != 0.0); },
                        {.doc = "Whether exactly one differs from zero."}),
};

[[maybe_unused]] const OpDef* const kBits[] = {
    &binary < kBool | kIntegers > ("bitwise_and", DTypeRule::Same, [](auto x, auto y) { return x & y; },
                                   {.doc = "x & y, bit by bit."}),
    &binary<kBool | kIntegers>("bitwise_or", DTypeRule::Same, [](auto x, auto y) { return x | y; },
                               {.doc = "x | y, bit by bit."}),
    &binary<kBool | kIntegers>("bitwise_xor", DTypeRule::Same, [](auto x, auto y) { return x ^ y; },
                               {.doc = "x ^ y, bit by bit."}),
    &binary<kIntegers>("left_shift", DTypeRule::Same, [](auto x, auto y) { return shift_left(x, y); },
                       {.doc = "x << y; 0 where y is negative or at least the width.",
                        .low = 0,
                        .high = 9,
                        .aliases = {"bitwise_left_shift"},
                        .numpy_bool_is_int8 = true}),
    &binary<kIntegers>("right_shift", DTypeRule::Same, [](auto x, auto y) { return shift_right(x, y); },
                       {.doc = "x >> y, with the sign; 0 or -1 where y is negative or at least the width.",
                        .low = 0,
                        .high = 9,
                        .aliases = {"bitwise_right_shift"},
                        .numpy_bool_is_int8 = true}),
};

}  // namespace
}  // namespace weft::ops
