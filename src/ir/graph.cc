#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::ir {

std::string SourceLocation::str() const {
  if (!file || file->empty()) return "";
  const size_t slash = file->find_last_of('/');
  const std::string_view base = std::string_view(*file).substr(slash == std::string::npos ? 0 : slash + 1);
  return fmt::format("{}:{}", base, line);
}

std::string_view Node::kind_name() const {
  switch (kind) {
    case NodeKind::Op: return op->name;
    case NodeKind::Constant: return "constant";
    case NodeKind::If: return "if";
    case NodeKind::Loop: return "loop";
    case NodeKind::Script: return script->name;
  }
  return "?";
}

Graph::Graph(std::string graph_name) : name(std::move(graph_name)), env_(std::make_unique<SymEnv>()) {
  body_.graph = this;
}

Graph::~Graph() = default;

Value* Graph::new_value(Type type) {
  auto value = std::make_unique<Value>();
  value->type = std::move(type);
  value->id = next_id_++;
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::add_param(Block& block, Type type, std::string value_name) {
  Value* value = new_value(std::move(type));
  value->block = &block;
  value->index = block.params.size();
  value->name = std::move(value_name);
  block.params.push_back(value);
  return value;
}

Value* Graph::add_input(TensorType type, std::string value_name) {
  return add_param(body_, Type{.kind = Type::Kind::Tensor, .tensor = std::move(type), .script = {}},
                   std::move(value_name));
}

Node* Graph::insert(Block& block, std::unique_ptr<Node> node, Node* before) {
  WEFT_ASSERT(!before || before->parent == &block, "insertion point is in another block");
  Node* result = node.get();
  result->parent = &block;
  result->position = block.nodes.insert(before ? before->position : block.nodes.end(), std::move(node));
  for (size_t i = 0; i < result->inputs.size(); ++i) {
    if (Value* value = result->inputs[i]) value->uses.push_back({result, nullptr, i});
  }
  return result;
}

namespace {

// Schema order, defaults filled in, annotations last.
Attrs complete_attrs(const OpDef& op, const Attrs& attrs) {
  Attrs result;
  for (const ops::Param& param : op.params) {
    if (param.is_tensor()) continue;
    if (const ops::Attr* attr = attrs.find(param.name)) {
      result.set(param.name, *attr);
    } else if (param.has_default) {
      result.set(param.name, param.default_value);
    } else if (param.optional) {
      result.set(param.name, std::monostate{});
    }
  }
  for (const auto& [name, attr] : attrs.items()) {
    if (!result.find(name)) result.set(name, attr);
  }
  return result;
}

}  // namespace

Node* Graph::add_typed_node(Block& block, const OpDef& op, std::vector<Value*> inputs, Attrs attrs,
                            std::vector<TensorType> types, SourceLocation location, Node* before) {
  auto node = std::make_unique<Node>();
  node->op = &op;
  node->inputs = std::move(inputs);
  node->attrs = complete_attrs(op, attrs);
  node->location = std::move(location);
  Node* result = insert(block, std::move(node), before);
  for (TensorType& type : types) {
    add_output(result, Type{.kind = Type::Kind::Tensor, .tensor = std::move(type), .script = {}});
  }
  return result;
}

Node* Graph::add_node(Block& block, const OpDef& op, std::vector<Value*> inputs, Attrs attrs,
                      SourceLocation location, Node* before) {
  std::vector<TensorType> operands;
  operands.reserve(inputs.size());
  for (const Value* value : inputs) operands.push_back(value ? value->tensor() : TensorType{.absent = true});
  const Attrs plain = without_annotations(complete_attrs(op, attrs));
  std::vector<TensorType> types;
  try {
    types = ops::infer(op, operands, plain);
  } catch (const Error& error) {
    const std::string where = location.str();
    if (where.empty()) throw;
    throw error.with_note("at " + where);
  }
  return add_typed_node(block, op, std::move(inputs), std::move(attrs), std::move(types), std::move(location),
                        before);
}

Node* Graph::add_constant(Block& block, Tensor tensor, SourceLocation location, Node* before) {
  auto node = std::make_unique<Node>();
  node->kind = NodeKind::Constant;
  node->location = std::move(location);
  TensorType type{tensor.dtype(), {}, tensor.device()};
  for (int64_t size : tensor.shape()) type.shape.push_back(size);
  node->constant = std::move(tensor);
  Node* result = insert(block, std::move(node), before);
  add_output(result, Type{.kind = Type::Kind::Tensor, .tensor = std::move(type), .script = {}});
  return result;
}

Node* Graph::add_script_node(Block& block, const ScriptOp& op, std::vector<Value*> inputs,
                             std::vector<jit::TypePtr> types, std::shared_ptr<const ScriptPayload> payload,
                             SourceLocation location, Node* before) {
  auto node = std::make_unique<Node>();
  node->kind = NodeKind::Script;
  node->script = &op;
  node->inputs = std::move(inputs);
  node->payload = std::move(payload);
  node->location = std::move(location);
  Node* result = insert(block, std::move(node), before);
  for (jit::TypePtr& type : types) {
    add_output(result, Type{.kind = Type::Kind::Script, .tensor = {}, .script = std::move(type)});
  }
  return result;
}

Node* Graph::add_control(Block& block, NodeKind kind, std::vector<Value*> inputs, SourceLocation location,
                         Node* before) {
  WEFT_ASSERT(kind == NodeKind::If || kind == NodeKind::Loop, "not a control-flow node");
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->inputs = std::move(inputs);
  node->location = std::move(location);
  Node* result = insert(block, std::move(node), before);
  for (int i = 0; i < (kind == NodeKind::If ? 2 : 1); ++i) {
    auto inner = std::make_unique<Block>();
    inner->graph = this;
    inner->owner = result;
    result->blocks.push_back(std::move(inner));
  }
  return result;
}

Value* Graph::add_output(Node* node, Type type) {
  Value* value = new_value(std::move(type));
  value->def = node;
  value->index = node->outputs.size();
  node->outputs.push_back(value);
  return value;
}

void Graph::add_return(Block& block, Value* value) {
  value->uses.push_back({nullptr, &block, block.returns.size()});
  block.returns.push_back(value);
}

void Graph::add_write_back(size_t input, Value* value) {
  value->uses.push_back({nullptr, nullptr, write_backs.size()});
  write_backs.push_back({input, value});
}

namespace {

// The last uses are looked at first: users are mostly erased from the back.
void drop_use(Value& value, const Use& use) {
  const auto found = std::find(value.uses.rbegin(), value.uses.rend(), use);
  if (found != value.uses.rend()) value.uses.erase(std::next(found).base());
}

}  // namespace

void Graph::set_input(Node* node, size_t operand, Value* value) {
  Value*& slot = node->inputs.at(operand);
  if (slot) drop_use(*slot, {node, nullptr, operand});
  slot = value;
  if (value) value->uses.push_back({node, nullptr, operand});
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  for (const Use& use : from->uses) {
    if (use.user) {
      use.user->inputs[use.operand] = to;
    } else if (use.block) {
      use.block->returns[use.operand] = to;
    } else {
      write_backs[use.operand].value = to;
    }
    to->uses.push_back(use);
  }
  from->uses.clear();
}

// Inner blocks first, so that what they use of the outside is released too.
void Graph::drop_operands(Node* node) {
  for (const auto& block : node->blocks) {
    for (const auto& inner : block->nodes) drop_operands(inner.get());
    for (size_t i = 0; i < block->returns.size(); ++i)
      drop_use(*block->returns[i], {nullptr, block.get(), i});
  }
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    if (Value* value = node->inputs[i]) drop_use(*value, {node, nullptr, i});
  }
}

void Graph::erase(Node* node) {
  for (const Value* value : node->outputs) {
    WEFT_ASSERT(value->uses.empty(),
                fmt::format("erasing {}, whose output %{} is used", node->kind_name(), value->id));
  }
  drop_operands(node);
  for (Value* value : node->outputs) value->def = nullptr;
  node->parent->nodes.erase(node->position);
}

void Graph::move_before(Node* node, Node* before) {
  before->parent->nodes.splice(before->position, node->parent->nodes, node->position);
  node->parent = before->parent;
}

bool is_annotation(std::string_view attribute) {
  return std::find(std::begin(kAnnotations), std::end(kAnnotations), attribute) != std::end(kAnnotations);
}

Attrs without_annotations(const Attrs& attrs) {
  if (std::none_of(attrs.items().begin(), attrs.items().end(),
                   [](auto& item) { return is_annotation(item.first); })) {
    return attrs;
  }
  Attrs result;
  for (const auto& [name, attr] : attrs.items()) {
    if (!is_annotation(name)) result.set(name, attr);
  }
  return result;
}

void for_each_node(const Block& block, const std::function<void(Node&)>& f) {
  for (auto it = block.nodes.begin(); it != block.nodes.end();) {
    Node& node = **it++;
    if (node.blocks.empty()) {
      f(node);
      continue;
    }
    f(node);
    for (const auto& inner : node.blocks) for_each_node(*inner, f);
  }
}

}  // namespace weft::ir
