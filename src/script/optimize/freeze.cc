// freeze: a module's code without the module. Calls are inlined and attributes become constants.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/printable.h"
#include "script/builtins/builtin.h"
#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "script/program/compilation_unit.h"
#include "script/program/function.h"
#include "weft/error.h"
#include "weft/jit/module.h"

namespace weft::jit {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::Value;

// An attribute of one object: what may be read or written.
using Place = std::pair<const Object*, std::string>;

// A method that is kept, or a forked function that is given objects whose attributes are known.
struct Method {
  std::shared_ptr<Function> original;
  std::shared_ptr<Graph> graph;
  bool is_forked = false;
};

class Freezer {
 public:
  Freezer(const Module& module, const std::vector<std::string>& preserved) : module_(module) {
    WEFT_CHECK(!module.has_attribute("training") || !module.is_training(),
               "freeze: the module is in training mode; call eval() first");
    add_method("forward");
    for (const std::string& name : preserved) {
      if (module.has_method(name))
        add_method(name);
      else if (module.has_attribute(name))
        kept_attributes_.insert(name);
      else
        throw_error(ErrorKind::Value, fmt::format("freeze: '{}' has neither a method nor an attribute '{}'",
                                                  module.type_name(), name));
    }
  }

  Module run() {
    for (size_t i = 0; i < methods_.size(); ++i) {  // which grows
      inline_calls(*methods_[i].graph);
      add_forked_functions(*methods_[i].graph);
    }
    // A branch that is never taken writes nothing.
    for (const Method& method : methods_) fold_script_constants(*method.graph);
    for (const Method& method : methods_) find_written(*method.graph);
    for (Method& method : methods_) {
      fold_attributes(*method.graph);
      fold_script_constants(*method.graph);
      // A branch that is gone may have been the reason for a call or an attribute.
      fold_attributes(*method.graph);
      remove_dropout(*method.graph);
      fold_script_constants(*method.graph);
      fold_constant_tensors(*method.graph);
      remove_dead_nodes(*method.graph);
    }
    return rebuild();
  }

 private:
  void add_method(const std::string& name) {
    std::shared_ptr<Function> function = module_.method(name);
    methods_.push_back({function, function->graph().clone()});
    known_[methods_.back().graph->inputs()[0]] = module_.object().get();
  }

  // Each fork of a known object gets a copy of its function, to be frozen like the methods.
  void add_forked_functions(const Graph& graph) {
    std::vector<Node*> forks;
    ir::for_each_node(graph.body(), [&](Node& node) {
      if (node.kind == NodeKind::Script && node.script == &prim::kFork) forks.push_back(&node);
    });
    for (Node* fork : forks) {
      const std::shared_ptr<Function> function = fork->payload->function;
      std::unique_ptr<Graph> copy = function->graph().clone();
      bool has_known = false;
      for (size_t i = 0; i < fork->inputs.size(); ++i) {
        const Object* object = object_of(fork->inputs[i]);
        if (object) known_[copy->inputs()[i]] = object;
        has_known |= object != nullptr;
      }
      if (!has_known) continue;
      auto stand_in = std::make_shared<Function>(function->qualified_name(), function->schema(), nullptr);
      set_forked_function(fork, stand_in);
      methods_.push_back({std::move(stand_in), std::move(copy), true});
    }
  }

  static void set_forked_function(Node* fork, std::shared_ptr<Function> function) {
    auto payload = std::make_shared<ir::ScriptPayload>(*fork->payload);
    payload->function = std::move(function);
    fork->payload = std::move(payload);
  }

  // The object that a value is known to be.
  const Object* object_of(const Value* value) const {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    if (!value->def || value->def->script != &prim::kGetAttr) return nullptr;
    const Object* owner = object_of(value->def->inputs[0]);
    if (!owner) return nullptr;
    const std::string& name = value->def->payload->text;
    if (!owner->has_attribute(name) || written_.contains({owner, name})) return nullptr;
    const IValue& attribute = owner->attribute(name);
    return attribute.is(IValue::Tag::Object) ? attribute.to_object().get() : nullptr;
  }

  // Attributes that are assigned, or whose value something changes in place.
  void find_written(const Graph& graph) {
    ir::for_each_node(graph.body(), [&](Node& node) {
      if (node.kind != NodeKind::Script) return;
      if (node.script == &prim::kSetAttr) {
        if (const Object* owner = object_of(node.inputs[0])) written_.insert({owner, node.payload->text});
      } else if (node.script == &prim::kGetAttr) {
        const Object* owner = object_of(node.inputs[0]);
        if (owner && may_be_changed(node.outputs[0], 0)) written_.insert({owner, node.payload->text});
      }
    });
  }

  // Follows a value through what may alias it.
  static bool may_be_changed(const Value* value, int depth) {
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth) return true;
    for (const ir::Use& use : value->uses) {
      const Node* user = use.user;
      if (!user || user->kind != NodeKind::Script) {
        if (user && (user->kind == NodeKind::Loop || user->kind == NodeKind::If) && is_container(value))
          return true;
        continue;
      }
      if (is_builtin(*user)) {
        const auto& builtin = static_cast<const Builtin&>(*user->script);
        const auto& arguments = builtin.schema.arguments;
        if (use.operand < arguments.size() && arguments[use.operand].is_written) return true;
        if (!builtin.is_pure && is_container(value)) return true;
        const bool is_view = value->type.script->is(TypeKind::Tensor) && user->outputs.size() == 1 &&
                             views().contains(builtin.name);
        if (is_view && may_be_changed(user->outputs[0], depth + 1)) return true;
      } else if (user->script == &prim::kUncheckedCast && may_be_changed(user->outputs[0], depth + 1)) {
        return true;
      }
    }
    return false;
  }
  static bool is_container(const Value* value) {
    return value->type.script->is(TypeKind::List) || value->type.script->is(TypeKind::Dict) ||
           value->type.script->is(TypeKind::Class);
  }
  static bool is_builtin(const Node& node) { return find_builtin_op(node.script); }
  static bool find_builtin_op(const ir::ScriptOp* op) {
    const auto candidates = find_builtins(op->name);
    return std::any_of(candidates.begin(), candidates.end(),
                       [&](const Builtin* candidate) { return candidate == op; });
  }
  static const std::set<std::string, std::less<>>& views() {
    static const auto& names = *new std::set<std::string, std::less<>>{
        "aten::view",   "aten::reshape", "aten::transpose", "aten::t",          "aten::permute",
        "aten::select", "aten::slice",   "aten::squeeze",   "aten::unsqueeze",  "aten::expand",
        "aten::narrow", "aten::detach",  "aten::flatten",   "aten::contiguous", "aten::to",
        "aten::alias",  "aten::diagonal"};
    return names;
  }

  static bool may_be_constant(const IValue& value) {
    if (value.is(IValue::Tag::Object) || value.is(IValue::Tag::Future) || value.is(IValue::Tag::Dict))
      return false;
    if (value.is_list() || value.is(IValue::Tag::Tuple)) {
      return std::all_of(value.elements().begin(), value.elements().end(), may_be_constant);
    }
    return true;
  }

  void fold_attributes(Graph& graph) {
    std::vector<Node*> reads;
    ir::for_each_node(graph.body(), [&](Node& node) {
      if (node.kind == NodeKind::Script && node.script == &prim::kGetAttr) reads.push_back(&node);
    });
    std::map<const Node*, IValue> constants;
    for (Node* node : reads) {
      const Object* owner = object_of(node->inputs[0]);
      const std::string& name = node->payload->text;
      if (!owner || !owner->has_attribute(name) || written_.contains({owner, name})) continue;
      if (owner == module_.object().get() && kept_attributes_.contains(name)) continue;
      const IValue& value = owner->attribute(name);
      if (may_be_constant(value)) constants[node] = value;
    }
    for (Node* node : reads) {
      const auto found = constants.find(node);
      if (found == constants.end()) continue;
      Value* constant =
          add_constant(graph, *node->parent, found->second, node->outputs[0]->type.script, node);
      graph.replace_uses(node->outputs[0], constant);
      graph.erase(node);
    }
  }

  // The functions that are forked, now that their graphs are done: without the parameters that they no longer
  // use.
  void finish_forked_functions(const ClassTypePtr& type) {
    std::map<const Function*, Method*> frozen;
    for (Method& method : methods_) {
      if (method.is_forked) frozen[method.original.get()] = &method;
    }
    for (auto method = methods_.rbegin(); method != methods_.rend(); ++method) {  // inner ones first
      std::vector<Node*> forks;
      ir::for_each_node(method->graph->body(), [&](Node& node) {
        if (node.kind == NodeKind::Script && node.script == &prim::kFork &&
            frozen.contains(node.payload->function.get()))
          forks.push_back(&node);
      });
      for (Node* fork : forks)
        finish_fork(*method->graph, fork, *frozen.at(fork->payload->function.get()), type);
      remove_dead_nodes(*method->graph);
    }
  }

  void finish_fork(Graph& caller, Node* fork, Method& forked, const ClassTypePtr& type) {
    std::vector<Value*>& parameters = forked.graph->inputs();
    Schema schema = forked.original->schema();
    std::vector<Value*> inputs = fork->inputs;
    for (size_t i = parameters.size(); i-- > 0;) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      if (!known_.contains(parameters[i])) continue;
      if (parameters[i]->uses.empty()) {
        parameters.erase(parameters.begin() + at);
        schema.arguments.erase(schema.arguments.begin() + at);
        inputs.erase(inputs.begin() + at);
      } else if (known_.at(parameters[i]) == module_.object().get()) {
        parameters[i]->type.script = schema.arguments[i].type = type;
      }
    }
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i]->index = i;
    auto function = std::make_shared<Function>(forked.original->qualified_name(), std::move(schema),
                                               [graph = forked.graph] { return graph->clone(); });
    Node* replacement =
        caller.add_script_node(*fork->parent, prim::kFork, std::move(inputs), {fork->outputs[0]->type.script},
                               fork->payload, fork->location, fork);
    set_forked_function(replacement, std::move(function));
    caller.replace_uses(fork->outputs[0], replacement->outputs[0]);
    caller.erase(fork);
  }

  // A class of its own with what is left.
  Module rebuild() {
    const auto unit = CompilationUnit::create();
    unit->keep(module_.unit());  // calls that were not inlined
    const ClassType& before = *module_.object()->type;
    const ClassTypePtr type = ClassType::create(unit->unique_name(before.name()), true);
    auto object = std::make_shared<Object>(Object{type, {}});
    finish_forked_functions(type);
    const auto keep = [&](const std::string& name) {
      const auto slot = before.find_slot(name);
      if (!slot || type->find_slot(name)) return;
      type->add_attribute(before.attributes()[*slot]);
      object->slots.push_back(module_.object()->slots[*slot]);
    };
    keep("training");
    for (const std::string& name : kept_attributes_) keep(name);
    for (const Method& method : methods_) {
      for (const Value* parameter : method.graph->inputs()) {
        if (object_of(parameter) != module_.object().get()) continue;
        for (const ir::Use& use : parameter->uses) {
          if (use.user && (use.user->script == &prim::kGetAttr || use.user->script == &prim::kSetAttr))
            keep(use.user->payload->text);
        }
      }
    }
    unit->add_type(type);
    for (Method& method : methods_) {
      if (method.is_forked) continue;
      method.graph->inputs()[0]->type.script = type;
      Schema schema = method.original->schema();
      schema.arguments[0].type = type;
      const auto made = std::make_shared<Function>(type->name() + "." + method.original->name(), std::move(schema),
                                                   [graph = method.graph] { return graph->clone(); });
      made->impl().precondition = method.original->impl().precondition;
      type->add_method(made);
    }
    return Module(std::move(object), unit);
  }

  const Module& module_;
  std::vector<Method> methods_;
  std::map<const Value*, const Object*> known_;  // parameters that are given these objects
  std::set<std::string> kept_attributes_;
  std::set<Place> written_;
};

// Rewrites the graph of every method.
Module with_graphs(const Module& module, const std::string& mode,
                   const std::function<void(Graph&)>& rewrite) {
  const ClassTypePtr& type = module.object()->type;
  const std::vector<std::shared_ptr<Function>> methods = type->methods();
  for (const auto& method : methods) {
    std::shared_ptr<Graph> graph = method->graph().clone();
    rewrite(*graph);
    type->remove_method(method->name());
    const auto rewritten = std::make_shared<Function>(method->qualified_name(), method->schema(),
                                                      [graph] { return graph->clone(); });
    rewritten->impl().compile_at_once = true;
    rewritten->impl().mode = mode;
    rewritten->impl().precondition = method->impl().precondition;
    type->add_method(rewritten);
  }
  return module;
}

}  // namespace

Module freeze(const Module& module, const std::vector<std::string>& preserved) {
  return Freezer(module, preserved).run();
}

Module optimize_for_inference(const Module& module, const std::vector<std::string>& preserved,
                              std::optional<DType> dtype, const std::string& mode) {
  WEFT_CHECK_TYPE(!dtype || *dtype == DType::BF16 || *dtype == DType::F16 || *dtype == DType::F32,
                  fmt::format("optimize_for_inference: expected dtype bfloat16, float16 or float32, got {}",
                              name(*dtype)));
  WEFT_CHECK(mode == "default" || mode == "reduce-overhead" || mode == "max-autotune",
             fmt::format("optimize_for_inference: mode must be default, reduce-overhead or max-autotune, got "
                         "'{}'",
                         printable(mode)));
  return with_graphs(freeze(module, preserved), mode, [&](Graph& graph) {
    fold_batch_norm(graph);
    if (dtype && *dtype != DType::F32) lower_precision(graph, *dtype);
    remove_dead_nodes(graph);
  });
}

}  // namespace weft::jit
