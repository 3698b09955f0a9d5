#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "ir/symbols.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Attrs;
using ir::Graph;
using ir::Node;
using ir::Value;

// A rule gives the value that stands for the node's only output, or null where it does not apply. It may add
// nodes before the one it is given.
using Rule = Value* (*)(Graph& graph, Node& node);

bool is_op(const Value* value, std::string_view name) { return value && value->def && value->def->is(name); }

// Is every value of `from` a value of `to`?
bool holds_all(DType to, DType from) {
  if (to == from || from == DType::Bool) return true;
  if (to == DType::Bool) return false;
  if (is_complex(to)) return holds_all(real_dtype(to), real_dtype(from));
  if (is_complex(from)) return false;
  const auto integer_bits = [](DType d) {
    return itemsize(d) * 8 - (info(d).kind == DTypeKind::Signed ? 1 : 0);
  };
  if (is_integral(from)) {
    if (is_integral(to)) {
      const bool sign_fits = info(to).kind == DTypeKind::Signed || info(from).kind == DTypeKind::Unsigned;
      return sign_fits && integer_bits(to) >= integer_bits(from);
    }
    const int digits = to == DType::F16 ? 11 : to == DType::BF16 ? 8 : to == DType::F32 ? 24 : 53;
    return integer_bits(from) <= digits;
  }
  if (is_integral(to)) return false;
  return to == DType::F64 || (to == DType::F32 && itemsize(from) == 2);
}

Value* simplify_cast(Graph& graph, Node& node) {
  Value* x = node.inputs[0];
  const DType to = node.output()->tensor().dtype;
  if (x->tensor().dtype == to) return x;
  if (!is_op(x, "cast")) return nullptr;
  const DType middle = x->tensor().dtype;
  Value* source = x->def->inputs[0];
  const DType from = source->tensor().dtype;
  if (!holds_all(middle, from)) return nullptr;
  if (from == to) return source;
  // Integers wrap where floating-point numbers do not: going through the latter is not the same.
  if (is_integral(to) && is_inexact(middle) && !is_inexact(from) && !holds_all(to, from)) return nullptr;
  // Complex to real drops a part, which is zero here; real to bool compares with zero either way.
  return graph.add_node(*node.parent, *node.op, {source}, {{"dtype", to}}, node.location, &node)->output();
}

// ---- views -----------------------------------------------------------------------------------------------

bool same_as_operand(const Node& node) {
  return ir::same_type(node.output()->tensor(), node.inputs[0]->tensor());
}

Value* add_like(Graph& graph, Node& node, Value* operand, Attrs attrs) {
  return graph.add_node(*node.parent, *node.op, {operand}, std::move(attrs), node.location, &node)->output();
}

Value* simplify_permute(Graph& graph, Node& node) {
  const std::vector<int64_t> outer = node.attrs.get_ints("dims");
  const auto normalize = [](int64_t d, size_t n) { return d < 0 ? d + static_cast<int64_t>(n) : d; };
  bool identity = true;
  for (size_t i = 0; i < outer.size(); ++i)
    identity &= normalize(outer[i], outer.size()) == static_cast<int64_t>(i);
  if (identity) return node.inputs[0];
  if (!is_op(node.inputs[0], "permute")) return nullptr;
  const Node& inner = *node.inputs[0]->def;
  const std::vector<int64_t> first = inner.attrs.get_ints("dims");
  SymShape merged;
  for (int64_t d : outer) {
    const auto position = static_cast<size_t>(normalize(d, outer.size()));
    merged.push_back(normalize(first[position], outer.size()));
  }
  return add_like(graph, node, inner.inputs[0], {{"dims", merged}});
}

Value* simplify_reshape(Graph& graph, Node& node) {
  if (same_as_operand(node)) return node.inputs[0];
  Value* x = node.inputs[0];
  if (!is_op(x, "reshape")) return nullptr;
  return add_like(graph, node, x->def->inputs[0], {{"shape", node.output()->tensor().shape}});
}

Value* simplify_expand(Graph& graph, Node& node) {
  if (same_as_operand(node)) return node.inputs[0];
  if (!is_op(node.inputs[0], "expand")) return nullptr;
  return add_like(graph, node, node.inputs[0]->def->inputs[0], {{"shape", node.output()->tensor().shape}});
}

Value* simplify_slice(Graph&, Node& node) {
  const Sym* step = std::get_if<Sym>(&node.attrs.at("step"));
  if (step && step->is_constant() && step->constant() == 1 && same_as_operand(node)) return node.inputs[0];
  // Only where an update is to be made of it: elsewhere the updated array is what stays in memory.
  const auto& uses = node.output()->uses;
  const bool is_base =
      uses.size() == 1 && uses[0].user && uses[0].user->is("slice_update") && uses[0].operand == 0;
  Value* x = node.inputs[0];
  if (!is_base || !is_op(x, "slice_update") || is_written(x) || !selects_same_range(node, *x->def))
    return nullptr;
  return x->def->inputs[1];
}

// What `a[i] += x` leaves, which stores a part twice.
Value* simplify_slice_update(Graph& graph, Node& node) {
  Value *base = node.inputs[0], *source = node.inputs[1];
  if (is_written(base)) return nullptr;
  if (is_op(source, "slice") && source->def->inputs[0] == base && selects_same_range(node, *source->def))
    return base;
  if (!is_op(base, "slice_update") || !selects_same_range(node, *base->def)) return nullptr;
  return graph
      .add_node(*node.parent, *node.op, {base->def->inputs[0], source}, node.attrs, node.location, &node)
      ->output();
}

// ---- arithmetic ------------------------------------------------------------------------------------------

bool is_uniform(const Value* value, double number) {
  const std::optional<Scalar> scalar = uniform_constant(value);
  if (!scalar || scalar->is_complex()) return false;
  return scalar->to_double() == number && std::signbit(scalar->to_double()) == std::signbit(number);
}

// The operand that the node's output equals in type, if the other is a constant that passes `is_neutral`.
Value* without_neutral(Node& node, bool either_side, const std::function<bool(const Value*)>& is_neutral) {
  for (size_t i = 0; i < (either_side ? 2u : 1u); ++i) {
    Value* x = node.inputs[i];
    if (is_neutral(node.inputs[1 - i]) && ir::same_type(x->tensor(), node.output()->tensor())) return x;
  }
  return nullptr;
}

// x + -0.0 is x; x + 0.0 is not, where x is -0.0. Integers have one zero.
bool is_zero_for(const Value* value, double floating_zero) {
  return is_uniform(value, is_floating(value->tensor().dtype) ? floating_zero : 0.0);
}

// add and sub scale their second operand by alpha.
bool has_alpha(const Node& node) {
  const Scalar& alpha = node.attrs.get<Scalar>("alpha");
  return alpha.is_complex() || alpha.to_double() != 1.0;
}

Value* simplify_add(Graph&, Node& node) {
  if (has_alpha(node) || is_complex(node.output()->tensor().dtype)) return nullptr;
  return without_neutral(node, true, [](const Value* value) { return is_zero_for(value, -0.0); });
}

Value* simplify_sub(Graph&, Node& node) {
  if (has_alpha(node) || is_complex(node.output()->tensor().dtype)) return nullptr;
  return without_neutral(node, false, [](const Value* value) { return is_zero_for(value, 0.0); });
}

Value* simplify_mul(Graph&, Node& node) {
  if (is_complex(node.output()->tensor().dtype)) return nullptr;
  return without_neutral(node, true, [](const Value* value) { return is_uniform(value, 1.0); });
}

Value* simplify_div(Graph&, Node& node) {
  if (!is_floating(node.output()->tensor().dtype)) return nullptr;
  return without_neutral(node, false, [](const Value* value) { return is_uniform(value, 1.0); });
}

// NumPy computes x**2 as x*x, and the product of two equal numbers is rounded exactly.
Value* simplify_pow(Graph& graph, Node& node) {
  if (is_complex(node.output()->tensor().dtype)) return nullptr;
  Value* x = node.inputs[0];
  if (!ir::same_type(x->tensor(), node.output()->tensor())) return nullptr;
  if (is_uniform(node.inputs[1], 1.0)) return x;
  if (!is_uniform(node.inputs[1], 2.0)) return nullptr;
  return graph.add_node(*node.parent, ops::get_op("mul"), {x, x}, {}, node.location, &node)->output();
}

// Of integers on the host, where the divisor is two to the power of what is given; -1: something else.
int log_of_divisor(const Node& node) {
  const ir::TensorType& type = node.output()->tensor();
  const std::optional<Scalar> divisor =
      is_integral(type.dtype) ? uniform_constant(node.inputs[1]) : std::nullopt;
  if (!divisor || type.device != Device() || !ir::same_type(node.inputs[0]->tensor(), type)) return -1;
  const int64_t number = divisor->to_int();
  return number > 0 && std::has_single_bit(static_cast<uint64_t>(number))
             ? std::countr_zero(static_cast<uint64_t>(number))
             : -1;
}

// Rounded down, the quotient is a shift and the rest are the low bits, below zero too.
Value* with_integer(Graph& graph, Node& node, const char* op, int64_t number) {
  const Tensor value = Tensor::scalar(Scalar(number), node.output()->tensor().dtype);
  Value* const constant = graph.add_constant(*node.parent, value, node.location, &node)->output();
  return graph.add_node(*node.parent, ops::get_op(op), {node.inputs[0], constant}, {}, node.location, &node)
      ->output();
}
Value* simplify_floor_divide(Graph& graph, Node& node) {
  const int bits = log_of_divisor(node);
  return bits < 0 ? nullptr : with_integer(graph, node, "right_shift", bits);
}
Value* simplify_remainder(Graph& graph, Node& node) {
  const int bits = log_of_divisor(node);
  return bits < 0 ? nullptr : with_integer(graph, node, "bitwise_and", (int64_t{1} << bits) - 1);
}

// What these do to real numbers is nothing.
Value* simplify_real_identity(Graph&, Node& node) {
  return node.is("positive") || !is_complex(node.inputs[0]->tensor().dtype) ? node.inputs[0] : nullptr;
}

// f(f(x)) is x.
Value* simplify_involution(Graph&, Node& node) {
  Value* x = node.inputs[0];
  if (!x->def || x->def->op != node.op) return nullptr;
  Value* source = x->def->inputs[0];
  return ir::same_type(source->tensor(), node.output()->tensor()) ? source : nullptr;
}

// f(f(x)) is f(x).
Value* simplify_idempotent(Graph&, Node& node) {
  Value* x = node.inputs[0];
  return x->def && x->def->op == node.op && same_as_operand(node) ? x : nullptr;
}

// f(x, x) is x. NaN stays NaN.
Value* simplify_equal_operands(Graph&, Node& node) {
  const size_t last = node.inputs.size() - 1;
  return node.inputs[last] == node.inputs[last - 1] &&
                 ir::same_type(node.inputs[last]->tensor(), node.output()->tensor())
             ? node.inputs[last]
             : nullptr;
}

struct NamedRule {
  std::string_view op;
  Rule rule;
};

constexpr NamedRule kRules[] = {
    {"cast", simplify_cast},
    {"permute", simplify_permute},
    {"reshape", simplify_reshape},
    {"expand", simplify_expand},
    {"slice", simplify_slice},
    {"slice_update", simplify_slice_update},
    {"add", simplify_add},
    {"sub", simplify_sub},
    {"mul", simplify_mul},
    {"true_divide", simplify_div},
    {"pow", simplify_pow},
    {"floor_divide", simplify_floor_divide},
    {"remainder", simplify_remainder},
    {"neg", simplify_involution},
    {"bitwise_not", simplify_involution},
    {"logical_not", simplify_involution},
    {"positive", simplify_real_identity},
    {"conj", simplify_real_identity},
    {"real", simplify_real_identity},
    {"abs", simplify_idempotent},
    {"floor", simplify_idempotent},
    {"ceil", simplify_idempotent},
    {"trunc", simplify_idempotent},
    {"minimum", simplify_equal_operands},
    {"maximum", simplify_equal_operands},
    {"where", simplify_equal_operands},
};

bool simplify(Graph& graph, Node& node) {
  if (node.kind != ir::NodeKind::Op || node.outputs.size() != 1 || node.output()->uses.empty()) return false;
  for (const NamedRule& rule : kRules) {
    if (!node.is(rule.op)) continue;
    Value* replacement = rule.rule(graph, node);
    if (!replacement || !may_replace(node.output(), replacement)) continue;
    graph.replace_uses(node.output(), replacement);
    graph.erase(&node);
    return true;
  }
  return false;
}

}  // namespace

void canonicalize(Graph& graph) {
  // Every rule removes a node or shortens a chain, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    ir::for_each_node(graph.body(), [&](Node& node) { changed |= simplify(graph, node); });
  }
}

}  // namespace weft::passes
