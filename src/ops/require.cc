// A check inside a graph: what it was captured for does not hold for the values at hand.
#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

std::vector<TensorType> infer_require(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  WEFT_CHECK_TYPE(operands[1].dtype == DType::Bool, fmt::format("{}: expected a condition of dtype bool{}",
                                                                op.name, describe_operands(op, operands)));
  return {operands[0]};
}

std::vector<Tensor> eager_require(const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor condition = operands[1].contiguous();
  const bool* const values = condition.data_as<bool>();
  const bool holds = std::all_of(values, values + condition.numel(), [](bool value) { return value; });
  const std::string error = attrs.get<std::string>("error");
  if (!holds && !error.empty()) throw_error(ErrorKind::Runtime, error);
  WEFT_CHECK(holds, "require: the condition does not hold for these values");
  return {operands[0].clone()};
}

[[maybe_unused]] const OpDef* const kRequireOps[] = {
    &register_op(
        {.name = "require",
         .schema = "(Tensor x, Tensor condition, *, str error='') -> Tensor",
         .doc =
             "A copy of `x`, provided that all elements of the boolean `condition` are true.\n"
             "raises: ValueError where they are not; RuntimeError with the text `error` where it is given.",
         .infer = infer_require,
         .eager = eager_require}),
};

}  // namespace
}  // namespace weft::ops
