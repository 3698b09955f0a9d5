// Conversion between dtypes.
#include <fmt/format.h>

#include "ops/registry.h"
#include "scalar/expr.h"

namespace weft::ops {
namespace {

std::vector<TensorType> infer_cast(const OpDef&, std::span<const TensorType> operands, const Attrs& attrs) {
  TensorType type = operands[0];
  type.dtype = attrs.get<DType>("dtype");
  return {type};
}

const OpDef& kCast = register_op({
    .name = "cast",
    .schema = "(Tensor x, dtype dtype) -> Tensor",
    .kind = OpKind::Pointwise,
    .doc = "The same values in another dtype. Floating to integer truncates (undefined when out of range); "
           "complex\n"
           "to real drops the imaginary part; anything to bool: whether it differs from zero.",
    .numpy = "x.astype(dtype)",
    .aliases = {"astype"},
    .infer = infer_cast,
    .eager = [](const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) -> std::vector<Tensor> {
      return {operands[0].to(attrs.get<DType>("dtype"))};
    },
    .semantics = [](std::span<const scalar::Expr> operands,
                    const Attrs& attrs) { return scalar::cast(attrs.get<DType>("dtype"), operands[0]); },
});

}  // namespace
}  // namespace weft::ops
