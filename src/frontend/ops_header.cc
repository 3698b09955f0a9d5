#include "frontend/ops_header.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "ops/registry.h"

namespace weft::frontend {
namespace {

using ops::Param;
using Type = ops::Param::Type;

bool is_tensor(const Param& param) { return param.is_tensor(); }

// Of several operands, each may be a number; a function of one number would hide those of <cmath>.
bool may_take_numbers(const ops::OpDef& op) {
  size_t operands = 0;
  for (const Param& param : op.params) operands += is_tensor(param);
  return operands > 1 && (op.kind == ops::OpKind::Pointwise || op.name == "div" || op.name == "float_power" ||
                          op.name == "clip");
}

std::string type_of(const ops::OpDef& op, const Param& param) {
  const auto maybe = [&](std::string_view type) {
    return param.optional ? fmt::format("std::optional<{}>", type) : std::string(type);
  };
  switch (param.type) {
    case Type::Tensor: return may_take_numbers(op) ? "const Operand&" : "const Tensor&";
    case Type::TensorList: return "const std::vector<Tensor>&";
    case Type::Bool: return maybe("bool");
    case Type::Int: return maybe("int64_t");
    case Type::Float: return maybe("double");
    case Type::Scalar: return maybe("Scalar");
    case Type::String: return maybe("std::string");
    case Type::DType: return maybe("DType");
    case Type::Device: return maybe("Device");
    case Type::IntList: return "const IntList&";
  }
  return "?";
}

std::string list_text(const SymShape& list) {
  std::string text = weft::str(list);
  text.front() = '{';
  text.back() = '}';
  return text;
}

std::string default_of(const Param& param) {
  if (is_tensor(param)) return "{}";
  const ops::Attr& value = param.default_value;
  if (!param.has_default || std::holds_alternative<std::monostate>(value)) {
    return param.type == Type::IntList ? "{}" : "std::nullopt";
  }
  if (const SymShape* list = std::get_if<SymShape>(&value)) return list_text(*list);
  if (const DType* dtype = std::get_if<DType>(&value))
    return fmt::format("*dtype_from_name(\"{}\")", name(*dtype));
  return ir::attr_text(value);
}

std::string parameters(const ops::OpDef& op) {
  const auto may_be_left_out = [](const Param& param) { return param.has_default || param.optional; };
  size_t required = 0;  // a default before a parameter without one is none in C++
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (!may_be_left_out(op.params[i])) required = i + 1;
  }
  std::string text;
  for (size_t i = 0; i < op.params.size(); ++i) {
    const Param& param = op.params[i];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type_of(op, param), param.name);
    if (i >= required) text += " = " + default_of(param);
  }
  return text;
}

std::string arguments(const ops::OpDef& op) {
  // `joined` is everything up to the last list, `operands` the tensors after it.
  std::string joined, operands, rest;
  const auto join = [&](const std::string& list) {
    if (joined.empty()) joined = "{" + operands + "}";
    joined = fmt::format("detail::joined({}, {})", joined, list);
    operands.clear();
  };
  for (const Param& param : op.params) {
    if (param.type == Type::TensorList) {
      if (!joined.empty() && !operands.empty()) join("{" + operands + "}");
      join(param.name);
    } else if (is_tensor(param)) {
      operands += fmt::format("{}{}", operands.empty() ? "" : ", ", param.name);
    } else {
      const std::string_view convert =
          param.type == Type::IntList && param.optional ? "optional_list" : "argument";
      rest += fmt::format("{}{{\"{}\", detail::{}({})}}", rest.empty() ? "" : ", ", param.name, convert,
                          param.name);
    }
  }
  if (!joined.empty() && !operands.empty()) join("{" + operands + "}");
  const std::string all = joined.empty() ? "{" + operands + "}" : joined;
  return fmt::format("\"{}\", {}{}", op.name, all, rest.empty() ? "" : ", {" + rest + "}");
}

std::string first_line(const std::string& doc) { return doc.substr(0, doc.find('\n')); }

void add_function(std::string& out, const ops::OpDef& op) {
  const std::string call = fmt::format("call({})", arguments(op));
  std::string result, body;
  if (op.num_outputs == 1) {
    result = "Tensor";
    body = call + "[0]";
  } else if (op.num_outputs < 0) {
    result = "std::vector<Tensor>";
    body = call;
  } else {
    result = fmt::format("std::array<Tensor, {}>", op.num_outputs);
    body = fmt::format("detail::to_array<{}>({})", op.num_outputs, call);
  }
  if (!op.doc.empty()) out += "// " + first_line(op.doc) + "\n";
  out += fmt::format("inline {} {}({}) {{\n  return {};\n}}\n", result, op.name, parameters(op), body);
}

constexpr std::string_view kHead =
    R"(// One function per operator, in alphabetical order: written from the operator table when weft is built.
#pragma once

// clang-format off
#include "weft/call.h"

namespace weft {

)";

constexpr std::string_view kTail = R"(
inline Tensor operator+(const Tensor& x, const Operand& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Operand& y) { return sub(x, y); }
inline Tensor operator*(const Tensor& x, const Operand& y) { return mul(x, y); }
inline Tensor operator/(const Tensor& x, const Operand& y) { return div(x, y); }
inline Tensor operator+(const Scalar& x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(const Scalar& x, const Tensor& y) { return sub(x, y); }
inline Tensor operator*(const Scalar& x, const Tensor& y) { return mul(x, y); }
inline Tensor operator/(const Scalar& x, const Tensor& y) { return div(x, y); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator<(const Tensor& x, const Operand& y) { return lt(x, y); }
inline Tensor operator<=(const Tensor& x, const Operand& y) { return le(x, y); }
inline Tensor operator>(const Tensor& x, const Operand& y) { return gt(x, y); }
inline Tensor operator>=(const Tensor& x, const Operand& y) { return ge(x, y); }
inline Tensor operator&(const Tensor& x, const Operand& y) { return bitwise_and(x, y); }
inline Tensor operator|(const Tensor& x, const Operand& y) { return bitwise_or(x, y); }
inline Tensor operator^(const Tensor& x, const Operand& y) { return bitwise_xor(x, y); }
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }

// The p-norm over `dim` (all dimensions when empty).
inline Tensor norm(const Tensor& x, double p = 2.0, const IntList& dim = {}, bool keepdim = false) {
  return vector_norm(x, p, dim, keepdim);
}

}  // namespace weft
)";

}  // namespace

std::string ops_header() {
  std::string out(kHead);
  bool has_norm = false;
  for (const auto& [name, op] : ops::all_ops()) {
    if (name != op->name) continue;
    has_norm |= name == "norm";
    add_function(out, *op);
  }
  std::string_view tail = kTail;
  if (has_norm) tail = tail.substr(0, tail.find("// The p-norm"));
  out += tail;
  if (has_norm) out += "}  // namespace weft\n";
  return out;
}

}  // namespace weft::frontend
