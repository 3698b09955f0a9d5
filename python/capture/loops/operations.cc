// The operator table's operations in native loops: what they take of values, and how they are computed.
#include "capture/loops/operations.h"

#include <fmt/format.h>

#include <complex>

#include "nest/vocabulary.h"
#include "scalar/elementary.h"

namespace weft::capture {

using scalar::Prim;

ops::Operand operand_type(const LoopValue& value) {
  switch (value.kind) {
    case LoopKind::Int: return Scalar(int64_t{1});
    case LoopKind::Bool: return Scalar(true);
    case LoopKind::Float: return Scalar(1.0);
    case LoopKind::Complex: return Scalar(std::complex<double>(0, 1));
    default: return Tensor::empty({1}, value.dtype);
  }
}

ops::Attrs default_attributes(const ops::OpDef& op) {
  ops::Attrs attrs;
  for (const ops::Param& param : op.params)
    if (!param.is_tensor()) attrs.set(param.name, param.default_value);
  return attrs;
}

std::string literal(const Scalar& value, DType dtype) {
  if (dtype == DType::C128) {
    const std::complex<double> number = value.to_complex();
    return fmt::format("c128({}, {})", float_literal(number.real()), float_literal(number.imag()));
  }
  if (dtype == DType::Bool) return value.to_bool() ? "true" : "false";
  if (is_floating(dtype)) return fmt::format("({}){}", c_type(dtype), float_literal(value.to_double()));
  return fmt::format(
      "({}){}", c_type(dtype),
      integer_literal(value.is_float() ? static_cast<int64_t>(value.to_double()) : value.to_int()));
}

Expr applied(const scalar::ExprNode& node, const std::vector<Expr>& args, std::set<Prim>& elementary,
             const std::function<Expr(const LibraryFunction&)>& function) {
  const auto called = [&](const Expr& what) {
    if (args.size() == 1) return Expr::apply(op::kCall1, {what, args[0]});
    if (args.size() == 2) return Expr::apply(op::kCall2, {what, args[0], args[1]});
    return Expr::apply(op::kCall3, {what, args[0], args[1], args[2]});
  };
  const DType dtype = node.args.back().dtype();
  if (node.prim == Prim::Select) return in_brackets(Expr::apply(op::kSelect, args));
  if (dtype == DType::C128 || node.dtype == DType::C128) {
    std::vector<std::string> texts;
    for (const Expr& arg : args) texts.push_back(arg.text());
    return complex_element(node, texts);
  }
  switch (node.prim) {
    case Prim::Cast: return node.dtype == DType::Bool ? Expr::apply(op::kIsNot0, args) : in_brackets(args[0]);
    case Prim::Neg: return in_brackets(Expr::apply(op::kMinus, args));
    case Prim::Not: return in_brackets(Expr::apply(dtype == DType::Bool ? op::kNot : op::kInvert, args));
    default: break;
  }
  if (is_floating(dtype) && (node.prim == Prim::Mod || node.prim == Prim::FloorDiv)) {
    const bool is_rest = node.prim == Prim::Mod;
    return Expr::apply(is_rest ? op::kFloatRemainder : op::kFloatQuotientOfNumpy,
                       {args[0], args[1], function(library_function("fmod"))}, c_type(dtype));
  }
  if (!nest::is_printable(node.prim, dtype)) throw LoopUnsupported{"an operation on arrays of this type"};
  if (is_floating(dtype) && scalar::is_elementary(node.prim)) {
    elementary.insert(node.prim);
    return called(Expr::function(fmt::format("elementary::{}", scalar::prim_name(node.prim))));
  }
  if (is_floating(dtype) && has_number_function(node.prim, dtype))
    return called(function(number_function(node.prim, dtype, args.size())));
  const char* name =
      dtype == DType::Bool ? nest::mask_function(node.prim) : nest::prelude_function(node.prim, dtype);
  if (const char* symbol = name ? nullptr : nest::infix(node.prim, dtype))
    return in_brackets(Expr::apply(op::infix(symbol), args));
  if (!name) throw LoopUnsupported{"an operation on arrays of this type"};
  return called(Expr::function(name));
}

}  // namespace weft::capture
