#include "weft/call.h"

#include <fmt/format.h>

#include "ops/registry.h"
#include "ops/torch_rules.h"

namespace weft {
namespace {

ops::Attr to_attribute(const ops::OpDef& op, const ops::Param& param, const Argument& argument) {
  using Type = ops::Param::Type;
  return std::visit(
      [&]<class T>(const T& value) -> ops::Attr {
        if constexpr (std::is_same_v<T, int64_t>) {
          if (param.type == Type::Float) return static_cast<double>(value);
          if (param.type == Type::Scalar) return Scalar(value);
          if (param.type == Type::IntList) return SymShape{Sym(value)};
          return Sym(value);
        } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, bool>) {
          if (param.type == Type::Scalar) return Scalar(value);
          return value;
        } else if constexpr (std::is_same_v<T, IntList>) {
          // One number where the schema tells it from a list of one: C++ does not.
          const bool single =
              value.size() == 1 && op.schema.find("int|int[] " + param.name) != std::string::npos;
          if (single) return Sym(value[0]);
          return SymShape(value.begin(), value.end());
        } else if constexpr (std::is_same_v<T, Scalar>) {
          WEFT_CHECK_TYPE(param.type == Type::Scalar,
                          fmt::format("{}: argument '{}' is not a number", op.name, param.name));
          return value;
        } else {
          return value;
        }
      },
      argument);
}

// Composites that are arithmetic take numbers like the pointwise operators they are written over.
bool takes_numbers(const ops::OpDef& op) {
  return op.kind == ops::OpKind::Pointwise || op.name == "div" || op.name == "float_power" ||
         op.name == "clip";
}

}  // namespace

std::vector<Tensor> call(std::string_view name, std::vector<Operand> operands,
                         std::vector<NamedArgument> arguments) {
  const ops::OpDef* op = ops::find_op(name);
  WEFT_CHECK_TYPE(op != nullptr, fmt::format("weft has no operator '{}'", name));
  ops::OpArgs args;
  for (const NamedArgument& argument : arguments) {
    const ops::Param* param = op->find_param(argument.name);
    WEFT_CHECK_TYPE(param != nullptr, fmt::format("{}: no argument '{}'\n  {}{}", op->name, argument.name,
                                                  op->name, op->schema));
    args.attrs.set(param->name, to_attribute(*op, *param, argument.value));
  }
  if (takes_numbers(*op)) {
    std::vector<ops::Operand> list;
    for (Operand& operand : operands) {
      list.push_back(operand.is_number ? ops::Operand(operand.number)
                                       : ops::Operand(std::move(operand.tensor)));
    }
    return {ops::invoke(*op, list, args.attrs, Promotion::Torch)};
  }
  for (Operand& operand : operands) {
    WEFT_CHECK_TYPE(!operand.is_number, fmt::format("{}: expected a tensor, got the number {}\n  {}{}",
                                                    op->name, operand.number.str(), op->name, op->schema));
    args.tensors.push_back(std::move(operand.tensor));
  }
  const std::vector<ops::Operand> given(args.tensors.begin(), args.tensors.end());
  const ops::OpDef& meant = ops::torch_overload(*op, given, args.attrs);
  // Functions of weft/ops.h give what their declarations say.
  return ops::call(meant.num_outputs == op->num_outputs ? meant : *op, std::move(args));
}

}  // namespace weft
