// Traces compute sizes on tensors of one integer: int(mul(NumToTensor(size(x, 0)), 2)). A tensor's element
// ends a compiled stretch; integers do not.
#include <algorithm>
#include <optional>
#include <string>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"

namespace weft::jit {
namespace {

using ir::Block;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

bool is_int(const Value* value) { return value->type.script && value->type.script->is(TypeKind::Int); }
bool is_named(const Node* node, std::string_view name) {
  return node && node->kind == NodeKind::Script && node->script->name == name;
}

// The integer that a constant is: a number, or a tensor of one integer.
std::optional<int64_t> constant_integer(const Value* value) {
  const IValue* known = known_constant(value);
  if (!known) return std::nullopt;
  if (known->is_int()) return known->to_int();
  if (!known->is_tensor()) return std::nullopt;
  const Tensor& tensor = known->to_tensor();
  if (!tensor.defined() || tensor.dim() != 0 || tensor.dtype() != DType::I64) return std::nullopt;
  return tensor.item().to_int();
}

class SizeArithmetic {
 public:
  explicit SizeArithmetic(Graph& graph) : graph_(graph) {}

  void visit(Block& block) {
    for (auto it = block.nodes.begin(); it != block.nodes.end();) {
      Node& node = **it++;
      for (const auto& inner : node.blocks) visit(*inner);
      const bool reads = is_named(&node, "aten::Int") || is_named(&node, "aten::IntImplicit");
      if (!reads || !is_int(node.output()) || is_int(node.inputs[0])) continue;
      before_ = &node;
      if (!can_be_integer(node.inputs[0], 0)) continue;
      graph_.replace_uses(node.output(), integer_of(node.inputs[0]));
      graph_.erase(&node);
    }
  }

 private:
  static constexpr int kMostDepth = 24;
  struct Operation {
    const char* on_integers;
    bool is_floored_division = false, is_division = false;
  };

  // What a node does to its first two operands.
  static std::optional<Operation> operation_of(const Node& node) {
    const std::string_view name = node.script->name;
    const auto is_one = [&](size_t i) {
      return node.inputs.size() <= i || constant_integer(node.inputs[i]) == 1;
    };
    if (node.inputs.size() < 2) return std::nullopt;
    if (name == "aten::mul") return Operation{"aten::mul.int"};
    if (name == "aten::add" && is_one(2)) return Operation{"aten::add.int"};
    if (name == "aten::sub" && is_one(2)) return Operation{"aten::sub.int"};
    if (name == "aten::floor_divide") return Operation{"aten::floordiv.int", true, true};
    if (name == "aten::remainder") return Operation{"aten::remainder.int", true, true};
    if (name != "aten::div" || node.inputs.size() < 3) return std::nullopt;
    const IValue* mode = known_constant(node.inputs[2]);
    if (!mode || !mode->is_string()) return std::nullopt;
    if (mode->to_string() == "floor") return Operation{"aten::floordiv.int", true, true};
    if (mode->to_string() == "trunc") return Operation{"aten::floordiv.int", false, true};
    return std::nullopt;
  }

  bool can_be_integer(const Value* value, int depth) const {
    if (is_int(value) || constant_integer(value)) return true;
    const Node* node = value->def;
    if (!node || node->kind != NodeKind::Script || prim::is_constant(node) || depth > kMostDepth)
      return false;
    if (is_named(node, "prim::NumToTensor") || is_named(node, "aten::detach"))
      return can_be_integer(node->inputs[0], depth + 1);
    const auto operation = operation_of(*node);
    if (!operation || !can_be_integer(node->inputs[0], depth + 1) ||
        !can_be_integer(node->inputs[1], depth + 1))
      return false;
    if (!operation->is_division) return true;
    const auto divisor = constant_integer(node->inputs[1]);
    return divisor && *divisor > 0 && (operation->is_floored_division || is_nonnegative(node->inputs[0], 0));
  }

  // Sizes, and what is made of them by adding and multiplying.
  static bool is_nonnegative(const Value* value, int depth) {
    if (const auto known = constant_integer(value)) return *known >= 0;
    const Node* node = value->def;
    if (!node || node->kind != NodeKind::Script || prim::is_constant(node) || depth > kMostDepth)
      return false;
    for (const char* size : {"aten::size", "aten::len", "aten::dim", "aten::numel"})
      if (is_named(node, size)) return true;
    if (is_named(node, "prim::NumToTensor") || is_named(node, "aten::detach") || is_named(node, "aten::Int"))
      return is_nonnegative(node->inputs[0], depth + 1);
    const auto operation = operation_of(*node);
    return operation && std::string_view(operation->on_integers) != "aten::sub.int" &&
           is_nonnegative(node->inputs[0], depth + 1) && is_nonnegative(node->inputs[1], depth + 1);
  }

  Value* integer_of(Value* value) {
    if (is_int(value)) return value;
    Block& block = *before_->parent;
    if (const auto known = constant_integer(value))
      return add_constant(graph_, block, IValue(*known), Type::integer(), before_);
    const Node* node = value->def;
    if (node->inputs.size() == 1) return integer_of(node->inputs[0]);
    const Operation operation = *operation_of(*node);
    Value* left = integer_of(node->inputs[0]);
    Value* right = integer_of(node->inputs[1]);
    return graph_
        .add_script_node(block, *find_builtin(operation.on_integers), {left, right}, {Type::integer()},
                         nullptr, node->location, before_)
        ->output();
  }

  Graph& graph_;
  Node* before_ = nullptr;
};

}  // namespace

void fold_size_tensors(Graph& graph) { SizeArithmetic(graph).visit(graph.body()); }

}  // namespace weft::jit
