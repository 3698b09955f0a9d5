// Choosing between operands by a condition.
#include "ops/define.h"

namespace weft::ops {
namespace {

[[maybe_unused]] const OpDef& kWhere = detail::define<kAllDTypes, 3, true>(
    "where", "Tensor condition, Tensor x, Tensor y", DTypeRule::Same,
    [](auto condition, auto x, auto y) { return select(condition, x, y); },
    {.doc =
         "x where condition holds, else y. condition: bool (anything else: whether it differs from zero)."});

}  // namespace
}  // namespace weft::ops
