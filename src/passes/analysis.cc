#include "passes/analysis.h"

#include <algorithm>
#include <cstring>

#include "core/backend.h"
#include "ops/effects.h"

namespace weft::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

bool is_view(const Node* node) { return node && node->op && node->op->kind == ops::OpKind::View; }

// Does a node that uses `value`, or a view of it, change it?
bool is_changed(const Value* value) {
  return std::any_of(value->uses.begin(), value->uses.end(), [](const ir::Use& use) {
    if (!use.user) return false;
    if (!use.user->blocks.empty()) return writes_memory(*use.user);
    if (is_view(use.user)) return std::any_of(use.user->outputs.begin(), use.user->outputs.end(), is_changed);
    if (!use.user->op) return false;
    const std::span<const size_t> written = ops::written_operands(*use.user->op);
    return std::find(written.begin(), written.end(), use.operand) != written.end();
  });
}

// What a region yields may be anything from outside it.
bool is_external(const Value* root) { return !root->def || root->def->kind != NodeKind::Op; }

}  // namespace

const Value* view_root(const Value* value) {
  while (is_view(value->def) && value->def->inputs.size() == 1 && value->def->inputs[0])
    value = value->def->inputs[0];
  return value;
}

bool selects_same_range(const Node& a, const Node& b) {
  const auto is_range = [](const Node& node) { return node.is("slice") || node.is("slice_update"); };
  if (!is_range(a) || !is_range(b)) return false;
  const size_t ndim = a.inputs[0]->tensor().shape.size();
  const auto dim = [ndim](const Node& node) {
    const auto n = static_cast<int64_t>(ndim);
    return (node.attrs.get_int("dim") + n) % n;
  };
  if (b.inputs[0]->tensor().shape.size() != ndim || dim(a) != dim(b)) return false;
  for (const char* name : {"start", "stop", "step"})
    if (!sym_known_equal(std::get<Sym>(a.attrs.at(name)), std::get<Sym>(b.attrs.at(name)))) return false;
  return true;
}

namespace {

template <class Predicate>
bool is_true_inside(const Node& node, Predicate predicate) {
  if (node.op && predicate(*node.op)) return true;
  return std::any_of(node.blocks.begin(), node.blocks.end(), [&](const auto& block) {
    return std::any_of(block->nodes.begin(), block->nodes.end(),
                       [&](const auto& inner) { return is_true_inside(*inner, predicate); });
  });
}

}  // namespace

bool has_effects(const Node& node) { return is_true_inside(node, ops::has_side_effects); }
bool writes_memory(const Node& node) {
  return is_true_inside(node, [](const ir::OpDef& op) { return !ops::written_operands(op).empty(); });
}

bool is_written(const Value* value) { return is_changed(view_root(value)); }

bool escapes(const Value* value) {
  return std::any_of(value->uses.begin(), value->uses.end(), [](const ir::Use& use) {
    if (!use.user) return use.block != nullptr;
    if (!use.user->blocks.empty()) return true;
    return is_view(use.user) && std::any_of(use.user->outputs.begin(), use.user->outputs.end(), escapes);
  });
}

namespace {

// A tensor of elements that are one in memory is copied when it is handed out; what is a view of it is not
// one of the copy.
bool repeats_elements(const Value* value) {
  for (; is_view(value->def) && !value->def->inputs.empty(); value = value->def->inputs[0])
    if (value->def->is("expand")) return true;
  return false;
}

// It may be computed where the input that it is written to lies.
bool is_written_back(const Value* value) {
  return std::any_of(value->uses.begin(), value->uses.end(),
                     [](const ir::Use& use) { return !use.user && !use.block; });
}

bool has_escaping_views(const Value* value) {
  return std::any_of(value->uses.begin(), value->uses.end(),
                     [](const ir::Use& use) { return is_view(use.user) && escapes(use.user->outputs[0]); });
}

}  // namespace

bool may_replace(const Value* from, const Value* to) {
  const Value* root = view_root(to);
  if (view_root(from) == root) return true;
  if (is_written(from) || is_written(to)) return false;
  if (repeats_elements(to) && has_escaping_views(from)) return false;
  return !escapes(from) || !(is_external(root) || escapes(root) || is_written_back(root));
}

std::optional<Scalar> uniform_constant(const Value* value) {
  constexpr size_t kMostUses = 1024;  // which are all looked at, once for each of them
  const Node* node = value ? value->def : nullptr;
  if (node && (value->uses.size() > kMostUses || is_written(value))) return std::nullopt;
  if (node && node->is("full") && !is_complex(value->tensor().dtype)) {
    return Tensor::scalar(node->attrs.get<Scalar>("value"), value->tensor().dtype).item();
  }
  if (!node || node->kind != NodeKind::Constant || node->constant.numel() == 0 ||
      node->constant.numel() > 64) {
    return std::nullopt;
  }
  const Tensor dense = node->constant.to(Device()).contiguous();
  const auto size = static_cast<size_t>(itemsize(dense.dtype()));
  const char* data = static_cast<const char*>(dense.data());
  for (int64_t i = 1; i < dense.numel(); ++i) {
    if (std::memcmp(data, data + static_cast<size_t>(i) * size, size) != 0) return std::nullopt;
  }
  return dense.as_strided({}, {}, dense.offset()).item();
}

bool has_operator(const ir::Value& value, std::string_view op) {
  return backend_of(value.tensor().device).has_operator(ops::get_op(op));
}

bool is_deterministic(const ir::OpDef& op) { return !ops::draws(op); }

namespace {

constexpr int kDepth = 32;

bool non_negative(const Value* value, int depth);

bool all_operands(const Node& node, int depth, size_t first = 0) {
  for (size_t i = first; i < node.inputs.size(); ++i) {
    if (!node.inputs[i] || !non_negative(node.inputs[i], depth)) return false;
  }
  return true;
}

bool constant_non_negative(const Tensor& tensor) {
  if (tensor.numel() > 1024) return false;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (tensor.at(i) < 0) return false;
  }
  return true;
}

bool non_negative(const Value* value, int depth) {
  const DType dtype = value->tensor().dtype;
  if (is_complex(dtype)) return false;
  if (info(dtype).kind <= DTypeKind::Unsigned) return true;
  const Node* node = value->def;
  if (!node || depth == 0) return false;
  if (is_written(value)) return false;
  if (node->kind == NodeKind::Constant) return constant_non_negative(node->constant);
  if (node->kind != NodeKind::Op) return false;
  if (const std::optional<Scalar> scalar = uniform_constant(value)) return scalar->to_double() >= 0;
  --depth;
  const std::string_view name = node->op->name;
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const Value* x = node->inputs.empty() ? nullptr : node->inputs[0];
  if (is_view(node)) return x && non_negative(x, depth);
  if (name == "cast") {
    // A signed result of an unsigned operand may wrap; a floating one of anything that fits does not.
    return is_floating(dtype) && non_negative(x, depth);
  }
  if (is({"minimum", "maximum", "amin", "amax", "where", "relu"})) {
    if (name == "relu") return true;
    return all_operands(*node, depth, name == "where" ? 1 : 0);
  }
  // Integers wrap: what follows holds for floating-point numbers only.
  if (!is_floating(dtype)) return false;
  if (is({"abs", "fabs", "square", "sqrt", "exp", "exp2", "sigmoid", "hypot"})) return true;
  if (name == "mul") return x == node->inputs[1] || all_operands(*node, depth);
  if (name == "add") {
    const Scalar& alpha = node->attrs.get<Scalar>("alpha");
    return !alpha.is_complex() && alpha.to_double() >= 0 && all_operands(*node, depth);
  }
  if (is({"true_divide", "sum", "prod", "cumsum"})) return all_operands(*node, depth);
  if (name == "pow") {
    const std::optional<Scalar> exponent = uniform_constant(node->inputs[1]);
    return exponent && exponent->is_float() && exponent->to_double() == 2.0;
  }
  return false;
}

}  // namespace

bool is_non_negative(const Value* value) { return non_negative(value, kDepth); }

}  // namespace weft::passes
