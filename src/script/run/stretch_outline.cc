#include "script/run/stretch_outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "script/run/stretch.h"
#include "weft/error.h"

namespace weft::jit {

using ir::Block;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Use;
using ir::Value;

namespace {

// May a stretch take values of this type?
bool can_enter_stretch(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Tensor:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Number:
    case TypeKind::String:
    case TypeKind::None:
    case TypeKind::Device: return true;
    case TypeKind::List:
    case TypeKind::Optional:
    case TypeKind::Tuple:
      return type.fields().empty() && std::all_of(type.elements().begin(), type.elements().end(),
                                                  [](const TypePtr& t) { return can_enter_stretch(*t); });
    default: return false;
  }
}

using Names = std::unordered_set<std::string_view>;

// Of a tensor, what a trace knows without its elements.
const auto& kMetadata =
    *new Names{"aten::size",       "aten::dim",           "aten::len",       "aten::numel",
               "prim::dtype",      "prim::device",        "prim::shape",     "prim::layout",
               "prim::is_cuda",    "prim::ndim",          "prim::is_nested", "aten::is_floating_point",
               "aten::is_complex", "prim::requires_grad", "aten::__is__",    "aten::__isnot__"};
// Their results' shapes follow from elements, or they make a tensor that every call must make anew.
const auto& kNotTraceable = *new Names{"aten::nonzero",
                                       "aten::nonzero_numpy",
                                       "aten::masked_select",
                                       "aten::unique",
                                       "aten::_unique2",
                                       "aten::unique_consecutive",
                                       "aten::unique_dim",
                                       "aten::unique_dim_consecutive",
                                       "aten::histogram",
                                       "aten::ctc_loss",
                                       "aten::linalg_lu",
                                       "aten::lu_unpack",
                                       "aten::_nested_tensor_from_mask",
                                       "aten::to_padded_tensor",
                                       "aten::bincount",
                                       "aten::argwhere",
                                       "aten::histc",
                                       "aten::wait",
                                       "aten::_grouped_mm",
                                       "prim::id",
                                       "aten::save"};
// These make a tensor of numbers; or of a tensor's elements.
const auto& kMadeOfNumbers = *new Names{"aten::tensor", "aten::as_tensor"};
// An index of integers gives a result whose shape is known; a mask does not.
const auto& kIndexing = *new Names{"aten::index", "aten::index_put"};
const auto& kMakeIndices = *new Names{"aten::arange", "aten::argmax", "aten::argmin", "aten::argsort"};
// Their results have their first operand's dtype, as long as that is no bool.
const auto& kKeepIntegers =
    *new Names{"aten::view",      "aten::reshape", "aten::unsqueeze",    "aten::squeeze", "aten::permute",
               "aten::transpose", "aten::t",       "aten::contiguous",   "aten::flatten", "aten::select",
               "aten::slice",     "aten::expand",  "aten::detach",       "aten::clone",   "aten::flip",
               "aten::roll",      "aten::add",     "aten::sub",          "aten::mul",     "aten::clamp",
               "aten::remainder", "aten::tile",    "aten::floor_divide", "aten::repeat"};
// The operand that says that the module is in training: random or with changing statistics then, pure
// otherwise.
const auto& kTrainFlags = *new std::unordered_map<std::string_view, size_t>{
    {"aten::dropout", 2},          {"aten::feature_dropout", 2},
    {"aten::alpha_dropout", 2},    {"aten::feature_alpha_dropout", 2},
    {"aten::dropout_", 2},         {"aten::feature_dropout_", 2},
    {"aten::batch_norm", 5},       {"aten::instance_norm", 5},
    {"aten::native_batch_norm", 5}};
// They make a list of their own.
const auto& kListFunctions =
    *new Names{"aten::slice", "aten::add", "aten::mul", "aten::list", "prim::rangelist"};
const auto& kStructure = *new std::unordered_set<const ir::ScriptOp*>{
    &prim::kListConstruct, &prim::kTupleConstruct, &prim::kTupleUnpack, &prim::kTupleIndex,
    &prim::kTupleSlice,    &prim::kListUnpack,     &prim::kIsInstance,  &prim::kUncheckedCast,
    &prim::kCast,          &prim::kFormat};

bool is_tensor(const Value* value) { return value->type.script && value->type.script->is(TypeKind::Tensor); }
// Null for the interpreter's own operators.
const Builtin* builtin_in(const Node& node) { return node.script == &kStretch ? nullptr : builtin_of(node); }
bool holds_tensor(const Type& type) {
  return type.is(TypeKind::Tensor) || std::any_of(type.elements().begin(), type.elements().end(),
                                                  [](const TypePtr& t) { return holds_tensor(*t); });
}
bool holds_tensor(const Value* value) { return value->type.script && holds_tensor(*value->type.script); }

bool can_enter(const Value* value) {
  return value->type.kind == ir::Type::Kind::Script ? can_enter_stretch(*value->type.script)
                                                    : prim::is_constant(value->def);
}

bool returns_view(const Builtin& builtin) {
  return builtin.text.find("(a", builtin.text.find("->")) != std::string::npos;
}

// An operator on tensors, as those that a stretch is worth it for: the interpreter makes views as quickly.
bool computes_tensor(const Node& node) {
  const Builtin* builtin = builtin_in(node);
  if (!builtin || (builtin->is_pure && returns_view(*builtin))) return false;
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [](const Value* v) { return holds_tensor(v); });
}
// Several operators for a trace: a composite, as a variance, or one of many tensors, as an encoder layer.
bool is_several(const Node& node) {
  constexpr int64_t kMany = 5;
  const std::string_view name = node.script->name, space = "aten::";
  const ops::OpDef* const op = name.starts_with(space) ? ops::find_op(name.substr(space.size())) : nullptr;
  return (op != nullptr && op->kind == ops::OpKind::Composite) ||
         std::count_if(node.inputs.begin(), node.inputs.end(),
                       [](const Value* input) { return is_tensor(input); }) > kMany;
}
size_t count_computing(const Node& node) {
  size_t count = computes_tensor(node);
  if (count != 0 && is_several(node)) count = 2;
  for (const auto& block : node.blocks) {
    for (const auto& inner : block->nodes) count += count_computing(*inner);
  }
  return count;
}

bool changes_tensor(const Node& node) {
  const Builtin* builtin = builtin_in(node);
  if (!builtin) return node.script == &prim::kCallFunction || node.script == &prim::kCallMethod;
  return std::any_of(builtin->schema.arguments.begin(), builtin->schema.arguments.end(),
                     [](const SchemaArgument& argument) {
                       return argument.is_written && argument.type->is(TypeKind::Tensor);
                     });
}

// What a chain of views and updates starts from.
const Value* root_of(const Value* value) {
  while (value->def && value->def->kind == NodeKind::Script && !value->def->inputs.empty()) {
    const Builtin* builtin = builtin_in(*value->def);
    const bool is_view = builtin ? returns_view(*builtin) : kStructure.contains(value->def->script);
    if (!is_view) break;
    value = value->def->inputs[0];
  }
  return value;
}
// A trace would write to a constant's elements once, rather than at every call.
bool may_be_written(const Value* value) {
  const Value* root = root_of(value);
  return !root->def || (root->def->kind == NodeKind::Script && !prim::is_constant(root->def));
}

// "aten::add_", which does what the pure "aten::add" does: a trace records it as an update.
bool is_update(const Builtin& builtin) {
  if (!builtin.name.ends_with('_') || builtin.name.ends_with("__")) return false;
  const std::string name = builtin.qualified.substr(0, builtin.qualified.size() - 1);
  const Builtin* function = find_builtin(builtin.overload.empty() ? name : name + "." + builtin.overload);
  return function && function->is_pure && !returns_view(*function);
}

// None, or a tensor of integers: uint8 is what masks of old versions have.
bool is_index(const IValue& value) {
  if (!value.is_tensor()) return value.is_none();
  const Tensor& tensor = value.to_tensor();
  return tensor.defined() && is_integral(tensor.dtype()) && tensor.dtype() != DType::U8;
}
// "aten::to" with such a dtype.
bool is_cast_to_integers(const Node& node, const Builtin& builtin) {
  if (builtin.name != "aten::to") return false;
  const auto& arguments = builtin.schema.arguments;
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [](const SchemaArgument& argument) { return argument.name == "dtype"; });
  const IValue* const dtype =
      found == arguments.end() ? nullptr : known_constant(node.inputs[size_t(found - arguments.begin())]);
  constexpr DType kIntegers[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  return dtype && dtype->is_int() && std::any_of(std::begin(kIntegers), std::end(kIntegers), [&](DType one) {
           return dtype_number(one) == dtype->to_int();
         });
}
// Whatever the inputs are.
bool is_index(const Value* value) {
  if (const IValue* known = known_constant(value)) return is_index(*known);
  const Builtin* const builtin = value->def ? builtin_in(*value->def) : nullptr;
  if (!builtin) return false;
  if (kMakeIndices.contains(builtin->name) || is_cast_to_integers(*value->def, *builtin)) return true;
  return kKeepIntegers.contains(builtin->name) && is_tensor(value->def->inputs[0]) &&
         is_index(value->def->inputs[0]);
}

// What gives truth values, whatever the inputs are.
const auto& kMakeMasks = *new Names{
    "aten::eq",    "aten::ne",          "aten::lt",          "aten::le",         "aten::gt",
    "aten::ge",    "aten::logical_not", "aten::logical_and", "aten::logical_or", "aten::logical_xor",
    "aten::isnan", "aten::isinf",       "aten::isfinite",    "aten::isin"};
bool may_be_index(const Value* value) {
  if (const IValue* known = known_constant(value)) return is_index(*known);
  const Builtin* const builtin = value->def ? builtin_in(*value->def) : nullptr;
  return !builtin || !kMakeMasks.contains(builtin->name);
}

// What is taken for granted of the values that index, where their dtypes are not known.
enum class Indices { AsKnown, NoMasks };

// Does the shape of the result follow from elements?
bool depends_on_elements(const Node& node, const Builtin& builtin, bool reads_tensor, Indices indices) {
  if (kMadeOfNumbers.contains(builtin.name)) return reads_tensor;
  if (builtin.name == "aten::repeat_interleave")
    return builtin.overload != "self_int" && !operand_of_numbers(node);
  if (!kIndexing.contains(builtin.name)) return kNotTraceable.contains(builtin.name);
  if (const IValue* const known = known_constant(node.inputs[1])) {
    const std::vector<IValue>& values = known->elements();
    return !std::all_of(values.begin(), values.end(), [](const IValue& one) { return is_index(one); });
  }
  const Node* const list = node.inputs[1]->def;
  return !list || list->script != &prim::kListConstruct ||
         !std::all_of(list->inputs.begin(), list->inputs.end(), [&](const Value* one) {
           return is_index(one) || (indices == Indices::NoMasks && may_be_index(one));
         });
}

bool can_run_builtin(const Node& node, const Builtin& builtin, Indices indices) {
  const bool reads_tensor =
      std::any_of(node.inputs.begin(), node.inputs.end(), [](const Value* v) { return holds_tensor(v); });
  if (depends_on_elements(node, builtin, reads_tensor, indices)) return false;
  const bool gives_tensor =
      std::any_of(node.outputs.begin(), node.outputs.end(), [](const Value* v) { return holds_tensor(v); });
  if (const auto flag = kTrainFlags.find(builtin.name); flag != kTrainFlags.end())
    return node.inputs.size() > flag->second;
  if (reads_tensor && !gives_tensor) return kMetadata.contains(builtin.name) || operand_of_numbers(node);
  if (is_update(builtin)) return is_tensor(node.inputs[0]) && may_be_written(node.inputs[0]);
  if (!builtin.is_pure) return !gives_tensor && kListFunctions.contains(builtin.name);
  return true;
}

// May the node run when a stretch is traced? Attributes are read before.
bool can_run_traced(const Node& node, Indices indices) {
  if (prim::is_constant(&node)) return true;
  const auto fits = [](const Value* value) { return can_enter(value); };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), fits) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), fits))
    return false;
  if (node.kind == NodeKind::If) {
    for (const auto& block : node.blocks) {
      if (!std::all_of(block->returns.begin(), block->returns.end(), fits)) return false;
      for (const auto& inner : block->nodes) {
        if (inner->script != &prim::kRaise && inner->script != &prim::kGetAttr &&
            !can_run_traced(*inner, indices))
          return false;
      }
    }
    return true;
  }
  if (node.kind != NodeKind::Script) return false;
  if (kStructure.contains(node.script)) return true;
  const Builtin* builtin = builtin_in(node);
  return builtin && can_run_builtin(node, *builtin, indices);
}

class Outliner {
 public:
  Outliner(Graph& graph, bool compile_at_once, const std::string& mode)
      : graph_(graph), compile_at_once_(compile_at_once), mode_(mode) {}

  size_t run() {
    find_steady();
    visit(graph_.body());
    return count_;
  }

 private:
  // Attributes that nothing in the graph writes or assigns.
  void find_steady() {
    std::unordered_set<std::string_view> assigned;
    ir::for_each_node(graph_.body(), [&](const Node& node) {
      if (node.script == &prim::kSetAttr) assigned.insert(node.payload->text);
    });
    ir::for_each_node(graph_.body(), [&](const Node& node) {
      if (node.script == &prim::kGetAttr && is_only_read(node.outputs[0]) &&
          !assigned.contains(node.payload->text))
        steady_.insert(node.outputs[0]);
    });
  }

  void visit(Block& block) {
    std::vector<Node*> run;
    for (auto it = block.nodes.begin(); it != block.nodes.end();) {
      Node& node = **it++;
      if (prim::is_constant(&node)) continue;
      if (node.script == &prim::kGetAttr && !run.empty()) {
        if (hoist(node, *run.front(), run)) continue;
      } else if (can_run_traced(node, indices_) &&
                 hoist_attributes(node, run.empty() ? node : *run.front(), run)) {
        run.push_back(&node);
        continue;
      }
      take_out(std::exchange(run, {}));
      for (const auto& inner : node.blocks) visit(*inner);
    }
    take_out(std::move(run));
  }

  // ---- attributes --------------------------------------------------------------------------------------
  // Nothing in a run writes attributes: reading one moves to before it.
  static bool hoist(Node& get, Node& before, const std::vector<Node*>& run) {
    const Node* def = get.inputs[0]->def;
    if (def && std::count(run.begin(), run.end(), def)) return false;
    if (&get != &before) get.parent->graph->move_before(&get, &before);
    return true;
  }
  // Those read in the node's branches.
  static bool hoist_attributes(Node& node, Node& before, const std::vector<Node*>& run) {
    for (const auto& block : node.blocks) {
      for (auto it = block->nodes.begin(); it != block->nodes.end();) {
        Node& inner = **it++;
        if (inner.script == &prim::kGetAttr) {
          if (!is_outside(inner.inputs[0], node) || !hoist(inner, before, run)) return false;
        } else if (!hoist_attributes(inner, before, run)) {
          return false;
        }
      }
    }
    return true;
  }
  static bool is_outside(const Value* value, const Node& node) {
    const Block* block = value->def ? value->def->parent : value->block;
    for (; block && block->owner; block = block->owner->parent) {
      if (block->owner == &node) return false;
    }
    return true;
  }

  // ---- one stretch -------------------------------------------------------------------------------------
  struct Candidate {
    Block* block;
    std::vector<Node*> nodes;
    std::unordered_set<const Node*> set;
    std::vector<Value*> inputs, outputs;
    StretchDefinition definition;
  };

  void take_out(std::vector<Node*> nodes) {
    while (!nodes.empty() && count_computing(*nodes.back()) == 0) nodes.pop_back();
    size_t count = 0;
    for (const Node* node : nodes) count += count_computing(*node);
    if (count < 2) return;
    Candidate stretch{nodes[0]->parent, std::move(nodes), {}, {}, {}, {}};
    stretch.set.insert(stretch.nodes.begin(), stretch.nodes.end());
    for (const Node* node : stretch.nodes) find_inputs(*node, stretch);
    if (!std::all_of(stretch.inputs.begin(), stretch.inputs.end(), can_enter)) return;
    find_outputs(stretch);
    if (!check_train_flags(stretch) || shares_memory(stretch)) return;
    replace(stretch);
  }

  void find_inputs(const Node& node, Candidate& stretch) {
    const auto note = [&](Value* value) {
      if (prim::is_constant(value->def) || is_inside(value, stretch)) return;
      if (!std::count(stretch.inputs.begin(), stretch.inputs.end(), value)) stretch.inputs.push_back(value);
    };
    for (Value* input : node.inputs) note(input);
    for (const auto& block : node.blocks) {
      for (const auto& inner : block->nodes) find_inputs(*inner, stretch);
      for (Value* value : block->returns) note(value);
    }
  }

  // Is the value made by the stretch's nodes, or in their blocks?
  static bool is_inside(const Value* value, const Candidate& stretch) {
    const Node* node = value->def ? value->def : value->block->owner;
    for (; node; node = node->parent->owner) {
      if (stretch.set.contains(node)) return true;
    }
    return false;
  }
  static bool is_used_outside(const Value* value, const Candidate& stretch) {
    return std::any_of(value->uses.begin(), value->uses.end(), [&](const Use& use) {
      const Node* user = use.user ? use.user : use.block ? use.block->owner : nullptr;
      while (user && user->parent != stretch.block) user = user->parent->owner;
      return !user || !stretch.set.contains(user);
    });
  }

  static void find_outputs(Candidate& stretch) {
    for (Node* node : stretch.nodes) {
      for (Value* output : node->outputs) {
        if (is_used_outside(output, stretch)) stretch.outputs.push_back(output);
      }
    }
  }

  // A train flag is a constant False, or checked when the stretch is run.
  static bool check_train_flags(Candidate& stretch) {
    return std::all_of(stretch.nodes.begin(), stretch.nodes.end(),
                       [&](const Node* node) { return check_train_flag(*node, stretch); });
  }
  static bool check_train_flag(const Node& node, Candidate& stretch) {
    for (const auto& block : node.blocks) {
      for (const auto& inner : block->nodes) {
        if (!check_train_flag(*inner, stretch)) return false;
      }
    }
    const Builtin* builtin = builtin_in(node);
    const auto flag = builtin ? kTrainFlags.find(builtin->name) : kTrainFlags.end();
    if (flag == kTrainFlags.end()) return true;
    const Value* train = node.inputs[flag->second];
    if (const IValue* known = known_constant(train)) return known->is_bool() && !known->to_bool();
    const auto found = std::find(stretch.inputs.begin(), stretch.inputs.end(), train);
    if (found == stretch.inputs.end()) return false;
    stretch.definition.must_be_false.push_back(static_cast<size_t>(found - stretch.inputs.begin()));
    return true;
  }

  // Do two results view the same memory of the stretch's own, and may that be written later? They would be
  // two.
  bool shares_memory(const Candidate& stretch) const {
    std::unordered_set<const Value*> roots;
    bool is_shared = false;
    for (const Value* output : stretch.outputs) {
      const Value* root = root_of(output);
      is_shared |= is_inside(root, stretch) && !roots.insert(root).second;
    }
    if (!is_shared) return false;
    bool is_written = false;
    ir::for_each_node(graph_.body(), [&](Node& node) { is_written |= changes_tensor(node); });
    return is_written;
  }
  // Becomes: (ok, values…) = stretch(inputs…); if ok: values…, else: the operators.
  void replace(Candidate& stretch) {
    build_graph(stretch);
    Node& last = *stretch.nodes.back();
    std::vector<TypePtr> types{Type::boolean()};
    for (const Value* output : stretch.outputs) types.push_back(output->type.script);
    auto payload = std::make_shared<StretchPayload>();
    stretch.definition.compile_at_once = compile_at_once_;
    stretch.definition.mode = mode_;
    for (size_t i = 0; i < stretch.inputs.size(); ++i)
      if (steady_.contains(stretch.inputs[i])) stretch.definition.steady.push_back(i);
    payload->stretch = std::make_shared<const Stretch>(std::move(stretch.definition),
                                                       fmt::format("{}_{}", graph_.name, count_++));
    Node* run = graph_.add_script_node(*stretch.block, kStretch, stretch.inputs, std::move(types),
                                       std::move(payload), last.location, &last);
    Node* choice = graph_.add_control(*stretch.block, NodeKind::If, {run->outputs[0]}, last.location, &last);
    const bool is_guess = indices_ == Indices::NoMasks &&
                          !std::all_of(stretch.nodes.begin(), stretch.nodes.end(), [](const Node* node) {
                            return can_run_traced(*node, Indices::AsKnown);
                          });
    const ValueMap values = copy_to(*choice->blocks[1], stretch);
    for (size_t i = 0; i < stretch.outputs.size(); ++i) {
      graph_.add_return(*choice->blocks[0], run->outputs[i + 1]);
      graph_.add_return(*choice->blocks[1], values.at(stretch.outputs[i]));
      graph_.replace_uses(stretch.outputs[i], graph_.add_output(choice, stretch.outputs[i]->type));
    }
    for (auto it = stretch.nodes.rbegin(); it != stretch.nodes.rend(); ++it) graph_.erase(*it);
    if (is_guess) visit_again(*choice->blocks[1]);
  }
  // Where a value that indexes is a mask after all, what lies between such is compiled.
  void visit_again(Block& block) {
    indices_ = Indices::AsKnown;
    visit(block);
    indices_ = Indices::NoMasks;
  }
  static ValueMap copy_to(Block& block, const Candidate& stretch) {
    ValueMap values;
    for (const Node* node : stretch.nodes) note_outside(*node, values);
    for (const Node* node : stretch.nodes) copy_node(*node, block, nullptr, values);
    return values;
  }
  // What is used from outside stays as it is; what is made inside is overwritten when it is copied.
  static void note_outside(const Node& node, ValueMap& values) {
    for (Value* input : node.inputs) values.try_emplace(input, input);
    for (const auto& block : node.blocks) {
      for (const auto& inner : block->nodes) note_outside(*inner, values);
      for (Value* value : block->returns) values.try_emplace(value, value);
    }
  }

  void build_graph(Candidate& stretch) {
    auto graph = std::make_unique<Graph>(graph_.name);
    ValueMap values;
    for (const Value* input : stretch.inputs)
      values[input] = graph->add_param(graph->body(), input->type, input->name);
    for (const Node* node : stretch.nodes) {
      copy_constants(*node, *graph, values);
      copy_node(*node, graph->body(), nullptr, values);
    }
    for (const Value* output : stretch.outputs) graph->add_return(graph->body(), values.at(output));
    stretch.definition.graph = std::move(graph);
  }
  // Constants stay where they are, and are in the stretch's graph too.
  static void copy_constants(const Node& node, Graph& graph, ValueMap& values) {
    const auto copy = [&](const Value* value) {
      if (prim::is_constant(value->def) && !values.contains(value))
        copy_node(*value->def, graph.body(), nullptr, values);
    };
    for (const Value* input : node.inputs) copy(input);
    for (const auto& block : node.blocks) {
      for (const auto& inner : block->nodes) copy_constants(*inner, graph, values);
      for (const Value* value : block->returns) copy(value);
    }
  }

  Graph& graph_;
  const bool compile_at_once_;
  const std::string& mode_;
  Indices indices_ = Indices::NoMasks;
  std::unordered_set<const Value*> steady_;
  size_t count_ = 0;
};

}  // namespace

size_t outline_stretches(Graph& graph, bool compile_at_once, const std::string& mode) {
  return Outliner(graph, compile_at_once, mode).run();
}

}  // namespace weft::jit
