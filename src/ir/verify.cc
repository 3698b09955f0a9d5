// The rules every graph obeys. A broken one is a bug of whatever built or rewrote the graph.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"
#include "ir/symbols.h"
#include "ir/text.h"

namespace weft::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    check_block(graph_.body());
    for (size_t i = 0; i < graph_.write_backs.size(); ++i) check_write_back(i);
    for (const auto& [value, expected] : uses_) check_uses(value, expected);
  }

 private:
  [[noreturn]] void fail(const Node* node, const std::string& rule) const {
    std::string message = fmt::format("graph {}: ", graph_.name);
    if (node) {
      message += node->outputs.empty() ? std::string(node->kind_name())
                                       : fmt::format("{} (%{})", node->kind_name(), node->outputs[0]->id);
      message += ": ";
    }
    message += rule;
    if (node && !node->location.str().empty()) message += " at " + node->location.str();
    throw_error(ErrorKind::Internal, message);
  }

  static std::string show(const Value* value) {
    return value->name.empty() ? fmt::format("%{}", value->id) : "%" + value->name;
  }

  void define(const Node* node, const Value* value) {
    if (!defined_.insert(value).second) fail(node, fmt::format("{} is defined twice", show(value)));
    uses_.try_emplace(value);
  }

  void use(const Node* node, const Value* value, const Use& use) {
    if (!defined_.contains(value)) fail(node, fmt::format("{} is used before its definition", show(value)));
    uses_[value].push_back(use);
  }

  void check_block(const Block& block) {
    if (block.graph != &graph_) fail(block.owner, "a block belongs to another graph");
    std::vector<const Value*> scope;
    for (size_t i = 0; i < block.params.size(); ++i) {
      const Value* param = block.params[i];
      if (param->block != &block || param->index != i || param->def) {
        fail(block.owner, fmt::format("parameter {} does not know its block", show(param)));
      }
      define(block.owner, param);
      scope.push_back(param);
    }
    for (const auto& node : block.nodes) {
      if (node->parent != &block) fail(node.get(), "the node does not know its block");
      check_node(*node);
      for (const Value* output : node->outputs) scope.push_back(output);
    }
    for (size_t i = 0; i < block.returns.size(); ++i) {
      use(block.owner, block.returns[i], Use{nullptr, const_cast<Block*>(&block), i});
    }
    if (block.owner) {
      for (const Value* value : scope) defined_.erase(value);
    }
  }

  void check_node(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i]) use(&node, node.inputs[i], Use{const_cast<Node*>(&node), nullptr, i});
    }
    switch (node.kind) {
      case NodeKind::Op: check_op(node); break;
      case NodeKind::Constant: check_constant(node); break;
      case NodeKind::If: check_if(node); break;
      case NodeKind::Loop: check_loop(node); break;
      case NodeKind::Script:
        if (!node.script) fail(&node, "a script node has no operator");
        break;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value* output = node.outputs[i];
      if (output->def != &node || output->index != i)
        fail(&node, fmt::format("output {} does not know its node", show(output)));
      define(&node, output);
    }
  }

  void check_op(const Node& node) {
    if (!node.op) fail(&node, "an operator node has no operator");
    if (node.op->kind == ops::OpKind::Composite) fail(&node, "a composite operator is not a graph node");
    for (const ops::Param& param : node.op->params) {
      if (param.is_tensor()) continue;
      const ops::Attr* attr = node.attrs.find(param.name);
      if (!attr) fail(&node, fmt::format("attribute '{}' is missing", param.name));
      if (!accepts(param, *attr)) {
        fail(&node, fmt::format("attribute '{}' has the wrong type: {}", param.name, attr_text(*attr)));
      }
    }
    for (const auto& [name, attr] : node.attrs.items()) {
      if (!node.op->find_param(name) && !is_annotation(name))
        fail(&node, fmt::format("unknown attribute '{}'", name));
    }
    check_operand_count(node);
    check_inference(node);
  }

  static bool accepts(const ops::Param& param, const ops::Attr& attr) {
    using Type = ops::Param::Type;
    if (std::holds_alternative<std::monostate>(attr)) return param.optional || param.has_default;
    switch (param.type) {
      case Type::Bool: return std::holds_alternative<bool>(attr);
      case Type::Int: return std::holds_alternative<Sym>(attr);
      case Type::Float: return std::holds_alternative<double>(attr);
      case Type::Scalar: return std::holds_alternative<Scalar>(attr);
      case Type::String: return std::holds_alternative<std::string>(attr);
      case Type::DType: return std::holds_alternative<DType>(attr);
      case Type::Device: return std::holds_alternative<Device>(attr);
      case Type::IntList: return std::holds_alternative<SymShape>(attr);
      case Type::Tensor:
      case Type::TensorList: return false;
    }
    return false;
  }

  void check_operand_count(const Node& node) {
    size_t required = 0, most = 0;
    bool open = false;
    for (const ops::Param& param : node.op->params) {
      if (!param.is_tensor()) continue;
      open = open || param.num_operands() < 0;
      for (int64_t i = 0; i < param.num_operands(); ++i, ++most) {
        if (most < node.inputs.size() && !node.inputs[most] && !param.optional && !open) {
          fail(&node, fmt::format("operand '{}' is absent", param.name));
        }
      }
      if (!param.optional) required = most;
    }
    if (node.inputs.size() < required || (!open && node.inputs.size() > most)) {
      fail(&node, fmt::format("expected {} operands, got {}", most, node.inputs.size()));
    }
  }

  void check_inference(const Node& node) {
    std::vector<TensorType> operands, types;
    for (const Value* value : node.inputs)
      operands.push_back(value ? value->tensor() : TensorType{.absent = true});
    try {
      types = ops::infer(*node.op, operands, without_annotations(node.attrs));
    } catch (const Error& error) {
      fail(&node, fmt::format("inference failed: {}", error.what()));
    }
    if (types.size() != node.outputs.size()) {
      fail(&node, fmt::format("expected {} outputs, got {}", types.size(), node.outputs.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (!same_type(types[i], node.outputs[i]->tensor())) {
        fail(&node, fmt::format("output {} has type {}, inference gives {}", show(node.outputs[i]),
                                type_text(node.outputs[i]->tensor()), type_text(types[i])));
      }
    }
  }

  void check_constant(const Node& node) {
    if (!node.constant.defined()) fail(&node, "a constant has no data");
    if (node.outputs.size() != 1) fail(&node, "a constant has one output");
    const TensorType& type = node.outputs[0]->tensor();
    bool same = type.dtype == node.constant.dtype() && type.shape.size() == node.constant.shape().size();
    for (size_t d = 0; same && d < type.shape.size(); ++d) {
      same = type.shape[d].is_constant() && type.shape[d].constant() == node.constant.shape()[d];
    }
    if (!same)
      fail(&node, fmt::format("type {} is not the data's, {}", type_text(type), describe(node.constant)));
  }

  void check_scalar(const Node& node, size_t operand, DType dtype, std::string_view what) {
    if (operand >= node.inputs.size() || !node.inputs[operand])
      fail(&node, fmt::format("{} is absent", what));
    check_scalar_value(&node, node.inputs[operand], dtype, what);
  }

  void check_scalar_value(const Node* node, const Value* value, DType dtype, std::string_view what) {
    if (value->type.kind == Type::Kind::Script) {
      const jit::TypeKind wanted = dtype == DType::Bool ? jit::TypeKind::Bool : jit::TypeKind::Int;
      if (!value->type.script->is(wanted))
        fail(node, fmt::format("{} has type {}", what, type_text(value->type)));
      return;
    }
    if (value->tensor().dtype != dtype || !value->tensor().shape.empty()) {
      fail(node, fmt::format("{} must be {}[], got {}", what, short_name(dtype), type_text(value->type)));
    }
  }

  // `a` may be of a subtype.
  void check_same(const Node& node, const Value* a, const Value* b, const std::string& what) {
    if (a->type.kind != b->type.kind)
      fail(&node, fmt::format("{}: {} is of another kind than {}", what, show(a), show(b)));
    if (a->type.kind == Type::Kind::Script) {
      if (!a->type.script->is_subtype_of(*b->type.script)) {
        fail(&node, fmt::format("{}: {} has type {}, expected {}", what, show(a), type_text(a->type),
                                type_text(b->type)));
      }
      return;
    }
    if (!same_type(a->tensor(), b->tensor())) {
      fail(&node, fmt::format("{}: {} has type {}, expected {}", what, show(a), type_text(a->type),
                              type_text(b->type)));
    }
  }

  void check_if(const Node& node) {
    if (node.inputs.size() != 1) fail(&node, "an if has one operand");
    check_scalar(node, 0, DType::Bool, "the condition");
    if (node.blocks.size() != 2) fail(&node, "an if has two blocks");
    for (const auto& block : node.blocks) {
      if (!block->params.empty()) fail(&node, "a branch has no parameters");
      check_block(*block);
      if (block->returns.size() != node.outputs.size()) {
        fail(&node, fmt::format("a branch yields {} values, expected {}", block->returns.size(),
                                node.outputs.size()));
      }
      for (size_t i = 0; i < node.outputs.size(); ++i)
        check_same(node, block->returns[i], node.outputs[i], "yielded value");
    }
  }

  void check_loop(const Node& node) {
    check_scalar(node, 0, DType::I64, "the trip count");
    check_scalar(node, 1, DType::Bool, "the condition");
    if (node.blocks.size() != 1) fail(&node, "a loop has one block");
    const Block& body = *node.blocks[0];
    const size_t carried = node.inputs.size() - 2;
    if (body.params.size() != carried + 1) {
      fail(&node, fmt::format("the body has {} parameters, expected {}", body.params.size(), carried + 1));
    }
    check_scalar_value(&node, body.params[0], DType::I64, "the counter");
    check_block(body);
    if (body.returns.size() != carried + 1) {
      fail(&node, fmt::format("the body yields {} values, expected {}", body.returns.size(), carried + 1));
    }
    check_scalar_value(&node, body.returns[0], DType::Bool, "the yielded condition");
    if (node.outputs.size() != carried) {
      fail(&node, fmt::format("the loop has {} outputs, expected {}", node.outputs.size(), carried));
    }
    for (size_t i = 0; i < carried; ++i) {
      check_same(node, node.inputs[i + 2], body.params[i + 1], "carried value");
      check_same(node, body.returns[i + 1], body.params[i + 1], "yielded value");
      check_same(node, node.outputs[i], body.params[i + 1], "output");
    }
  }

  void check_write_back(size_t i) {
    const WriteBack& write = graph_.write_backs[i];
    if (write.input >= graph_.inputs().size())
      fail(nullptr, fmt::format("write-back to input {}, which does not exist", write.input));
    use(nullptr, write.value, Use{nullptr, nullptr, i});
    const Value* input = graph_.inputs()[write.input];
    if (!same_type(write.value->tensor(), input->tensor())) {
      fail(nullptr, fmt::format("write-back of {} to {}: type {}, expected {}", show(write.value),
                                show(input), type_text(write.value->type), type_text(input->type)));
    }
  }

  void check_uses(const Value* value, const std::vector<Use>& expected) {
    const auto sorted = [](std::vector<Use> uses) {
      std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
        return std::tie(a.user, a.block, a.operand) < std::tie(b.user, b.block, b.operand);
      });
      return uses;
    };
    const bool same = value->uses == expected || sorted(value->uses) == sorted(expected);
    if (!same) {
      fail(value->def, fmt::format("the use list of {} has {} entries, expected {} that agree with the graph",
                                   show(value), value->uses.size(), expected.size()));
    }
  }

  const Graph& graph_;
  std::unordered_set<const Value*> defined_;
  std::unordered_map<const Value*, std::vector<Use>> uses_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace weft::ir
