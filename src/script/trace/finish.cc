// From the flat graph of a trace to functions and methods.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "script/builtins/prim.h"
#include "script/optimize/graph_passes.h"
#include "script/program/function.h"
#include "script/trace/trace.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

ir::Type script_type(const TypePtr& type) { return {ir::Type::Kind::Script, {}, type}; }

}  // namespace

// Makes a method of each call of a module.
class TraceLifter {
 public:
  explicit TraceLifter(Trace& trace)
      : trace_(trace), modules_(*trace.modules_), items_(trace.scopes_.size()) {
    for (const auto& node : trace.graph_->body().nodes) add_item(*node);
  }

  void make_root(const std::string& name) {
    reserved_.insert({modules_.object(0)->type.get(), name});
    make_method(0, name);
  }

 private:
  // A node of a scope itself, or (node: null) a call inside it.
  struct Item {
    const ir::Node* node;
    size_t scope;
  };
  struct Body {
    size_t scope;
    std::unique_ptr<ir::Graph> graph;
    ValueMap values;                                         // of the flat graph, in this one
    std::vector<const ir::Value*> parameters;                // what it uses of the scopes around it
    std::map<std::vector<std::string>, ir::Value*> objects;  // sub-modules by path
  };
  struct Method {
    std::shared_ptr<Function> function;
    std::vector<const ir::Value*> parameters, results;
  };

  // ---- scopes
  size_t scope_of(const ir::Node& node) const { return trace_.node_scopes_.at(&node); }
  size_t module_of(size_t scope) const { return trace_.scopes_[scope].module; }
  bool is_within(size_t scope, size_t outer) const {
    while (scope > outer) scope = trace_.scopes_[scope].parent;
    return scope == outer;
  }

  void add_item(const ir::Node& node) {
    items_[scope_of(node)].push_back({&node, 0});
    for (size_t scope = scope_of(node); scope != 0; scope = trace_.scopes_[scope].parent) {
      if (!placed_.insert(scope).second) return;
      // The node itself was put into its own scope; the calls around it are put in theirs.
      items_[trace_.scopes_[scope].parent].push_back({nullptr, scope});
    }
  }

  void collect_results(size_t scope, size_t outer, std::vector<const ir::Value*>& results) const {
    for (const Item& item : items_[scope]) {
      if (!item.node) {
        collect_results(item.scope, outer, results);
        continue;
      }
      if (item.node->script == &prim::kConstant) continue;
      for (const ir::Value* output : item.node->outputs) {
        const bool leaves = std::any_of(output->uses.begin(), output->uses.end(), [&](const ir::Use& use) {
          return !use.user || !is_within(scope_of(*use.user), outer);
        });
        if (leaves) results.push_back(output);
      }
    }
  }

  // ---- methods
  Method make_method(size_t scope, const std::string& name) {
    const ClassTypePtr& type = modules_.object(module_of(scope))->type;
    Body body{scope, std::make_unique<ir::Graph>(type->name() + "." + name), {}, {}, {}};
    ir::Value* self = body.graph->add_param(body.graph->body(), script_type(type), "self");
    body.objects[{}] = self;
    if (scope == 0) {
      for (const ir::Value* input : trace_.inputs_) {
        body.values[input] = body.graph->add_param(body.graph->body(), input->type, input->name);
      }
    }
    emit_items(scope, body);
    Method method;
    if (scope == 0)
      method.results = {trace_.graph_->outputs()[0]};
    else
      collect_results(scope, scope, method.results);
    add_return(body, method.results);
    method.parameters = std::move(body.parameters);
    method.function = function_of(type->name() + "." + name, std::move(body.graph));
    type->add_method(method.function);
    return method;
  }

  void add_return(Body& body, const std::vector<const ir::Value*>& results) {
    ir::Graph& graph = *body.graph;
    std::vector<ir::Value*> values;
    std::vector<TypePtr> types;
    for (const ir::Value* result : results) {
      values.push_back(resolve(result, body));
      types.push_back(type_of(result));
    }
    ir::Value* returned = nullptr;
    if (values.size() == 1)
      returned = values[0];
    else if (values.empty())
      returned = add_constant(graph, graph.body(), IValue(), Type::none(), nullptr);
    else
      returned =
          graph.add_script_node(graph.body(), prim::kTupleConstruct, values, {Type::tuple(types)})->output();
    graph.add_return(graph.body(), returned);
  }

  void emit_items(size_t scope, Body& body) {
    for (const Item& item : items_[scope]) {
      if (item.node)
        copy(*item.node, body);
      else
        emit_call(item.scope, body);
    }
  }

  void emit_call(size_t scope, Body& body) {
    const auto path = modules_.path(module_of(body.scope), module_of(scope));
    // A module that is not below the calling one has no name there.
    if (!path) return emit_items(scope, body);
    const ClassType* type = modules_.object(module_of(scope))->type.get();
    const Method method = make_method(scope, unused_name(type));
    ir::Graph& graph = *body.graph;
    std::vector<ir::Value*> inputs = {object(*path, body)};
    for (const ir::Value* parameter : method.parameters) inputs.push_back(resolve(parameter, body));
    auto payload = std::make_shared<ir::ScriptPayload>();
    payload->text = method.function->name();
    payload->function = method.function;
    const TypePtr returned = method.function->schema().return_type();
    const ir::Node* call = graph.add_script_node(graph.body(), prim::kCallMethod, std::move(inputs),
                                                 {returned}, std::move(payload), location(scope));
    if (method.results.size() == 1) body.values[method.results[0]] = call->output();
    if (method.results.size() <= 1) return;
    const ir::Node* unpacked = graph.add_script_node(graph.body(), prim::kTupleUnpack, {call->output()},
                                                     returned->elements(), nullptr, call->location);
    for (size_t i = 0; i < method.results.size(); ++i) body.values[method.results[i]] = unpacked->outputs[i];
  }

  ir::SourceLocation location(size_t scope) const {
    const Item& first = items_[scope].front();
    return first.node ? first.node->location : location(first.scope);
  }

  // forward, forward1, forward2, … for the calls of one module.
  std::string unused_name(const ClassType* type) {
    std::string name = "forward";
    for (int i = 1; type->find_method(name) || reserved_.contains({type, name}); ++i)
      name = fmt::format("forward{}", i);
    reserved_.insert({type, name});
    return name;
  }

  // ---- values
  void copy(const ir::Node& node, Body& body) {
    std::vector<ir::Value*> inputs;
    std::vector<TypePtr> types;
    for (const ir::Value* input : node.inputs) inputs.push_back(resolve(input, body));
    for (const ir::Value* output : node.outputs) types.push_back(type_of(output));
    const ir::Node* made = body.graph->add_script_node(body.graph->body(), *node.script, std::move(inputs),
                                                       std::move(types), node.payload, node.location);
    for (size_t i = 0; i < node.outputs.size(); ++i) body.values[node.outputs[i]] = made->outputs[i];
  }

  ir::Value* resolve(const ir::Value* value, Body& body) {
    const auto found = body.values.find(value);
    if (found != body.values.end()) return found->second;
    if (const auto places = trace_.attributes_.find(value); places != trace_.attributes_.end()) {
      if (ir::Value* read = read_attribute(places->second, type_of(value), body))
        return body.values[value] = read;
    } else if (value->def && value->def->script == &prim::kConstant) {
      copy(*value->def, body);
      return body.values.at(value);
    }
    WEFT_ASSERT(body.scope != 0, "trace: a value is used that is not there");
    body.parameters.push_back(value);
    const std::string name =
        value->name.empty()
            ? (body.parameters.size() == 1 ? "input" : fmt::format("argument_{}", body.parameters.size()))
            : value->name;
    return body.values[value] = body.graph->add_param(body.graph->body(), value->type, name);
  }

  // From `self`; null where it is an attribute of no module below.
  ir::Value* read_attribute(const std::vector<TracedModules::Place>& places, const TypePtr& type,
                            Body& body) {
    for (const TracedModules::Place& place : places) {
      const auto path = modules_.path(module_of(body.scope), place.module);
      if (!path) continue;
      ir::Value* owner = object(*path, body);
      return place.name.empty() ? owner : get_attribute(owner, place.name, type, body);
    }
    return nullptr;
  }

  ir::Value* object(const std::vector<std::string>& path, Body& body) {
    ir::Value*& found = body.objects[path];
    if (found) return found;
    ir::Value* owner = object({path.begin(), path.end() - 1}, body);
    const auto& type = static_cast<const ClassType&>(*type_of(owner));
    found = get_attribute(owner, path.back(), type.attributes()[*type.find_slot(path.back())].type, body);
    return found;
  }

  static ir::Value* get_attribute(ir::Value* owner, const std::string& name, const TypePtr& type,
                                  Body& body) {
    auto payload = std::make_shared<ir::ScriptPayload>();
    payload->text = name;
    ir::Value* value =
        body.graph->add_script_node(body.graph->body(), prim::kGetAttr, {owner}, {type}, std::move(payload))
            ->output();
    value->name = name;
    return value;
  }

  Trace& trace_;
  const TracedModules& modules_;
  std::vector<std::vector<Item>> items_;
  std::set<size_t> placed_;
  std::set<std::pair<const ClassType*, std::string>> reserved_;
};

const ir::Graph& Trace::finish_graph(const Traced& output) {
  WEFT_CHECK(scope_ == 0, "weft.jit.trace: a module's call has not ended");
  graph_->add_return(graph_->body(), output.value);
  remove_dead_nodes(*graph_);
  return *graph_;
}

std::shared_ptr<Function> Trace::finish_function(const std::string& qualified_name) {
  graph_->name = qualified_name;
  return function_of(qualified_name, std::move(graph_));
}

void Trace::finish_method(const std::string& name) { TraceLifter(*this).make_root(name); }

}  // namespace weft::jit
