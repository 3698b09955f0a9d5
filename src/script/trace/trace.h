// Tracing: an eager run recorded as a TorchScript graph.
//
// What is recorded. While a thread traces, the Python layer (python/weft/jit/_trace*.py) hands every
// operation to a Trace: calls of weft operators (they all pass through one function, python/bindings/ops.cc),
// the methods of Tensor that are no operators, indexing, calls of modules and of script functions. A thread
// that does not trace pays for one comparison a call.
//
// How. An operation is recorded as the aten builtins that mean the same, and those builtins are what computes
// the result of the run: a trace cannot say anything else than what has been executed. Most weft operators
// have a builtin of their name, and `call_operator` fits the arguments to one of its overloads; the others
// are written as calls of builtins or as compositions of other operators in python/weft/jit/_trace_rules,
// a table by the operator's name. An operator with neither is refused by name.
//
// Values. A tensor is known by its TensorImpl, which a Trace holds weakly. What it does not know is a
// constant of the program: parameters and buffers of the traced module become reads of its attributes.
// Updates in place are recorded as the in-place builtins and give the tensor a new value. Sizes are ints of
// the graph (aten::size); in Python they are ints that carry their value along.
//
// Modules. All nodes go to one flat graph; each remembers in which call of which module it was made. `finish`
// then makes every call a method of the called module's class (forward, forward1, …): values that the call
// uses from outside become its parameters, values that are used after it its results, attributes are read
// from `self`. Calls of script functions and modules stay calls, so their control flow is kept.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "script/emit/emitter.h"
#include "script/emit/overload.h"
#include "script/program/compilation_unit.h"
#include "weft/ivalue.h"

namespace weft::jit {

// A value while it is recorded: what it is in this run, and what stands for it in the graph.
struct Traced {
  IValue now;
  ir::Value* value = nullptr;
};

// What a tensor was when it was recorded.
struct TensorForm {
  DType dtype;
  Device device;
  Shape shape;
  Strides strides;
  int64_t offset;
};

// The modules that a trace makes, as they will be saved. Modules are numbered; the root is 0.
class TracedModules {
 public:
  explicit TracedModules(std::shared_ptr<CompilationUnit> unit) : unit_(std::move(unit)) {}

  // "__torch__.package.Net" for a class of the user's; a number is put in where the name is taken.
  size_t add(const std::string& class_name, bool training);
  // A script module, as it is.
  size_t add_script(std::shared_ptr<Object> object);
  void add_child(size_t parent, const std::string& name, size_t child);
  void add_tensor(size_t module, const std::string& name, const Tensor& tensor, bool is_parameter,
                  bool is_persistent);

  struct Place {
    size_t module;
    std::string name;
  };
  // Where a tensor is an attribute; empty where it is none.
  std::span<const Place> places(const TensorImpl* tensor) const;
  // Names that lead from one module to another; nullopt where none do.
  std::optional<std::vector<std::string>> path(size_t from, size_t to) const;
  const std::shared_ptr<Object>& object(size_t module) const { return nodes_[module].object; }
  const std::shared_ptr<CompilationUnit>& unit() const { return unit_; }

 private:
  struct Node {
    std::shared_ptr<Object> object;
    std::vector<std::pair<std::string, size_t>> children;
  };
  std::shared_ptr<CompilationUnit> unit_;
  std::vector<Node> nodes_;
  std::unordered_map<const TensorImpl*, std::vector<Place>> places_;
};

class Trace {
 public:
  // `modules`: null when a function is traced.
  Trace(std::shared_ptr<CompilationUnit> unit, std::shared_ptr<TracedModules> modules);

  // --- where recording is
  void set_location(const std::string& file, int line);
  // A call of a module begins and ends.
  void enter(size_t module);
  void leave();

  // --- values
  // A parameter of the traced function: a tensor, or tuples, lists and dictionaries of them. The tensors of
  // the result are others over the same memory, so that each input is a value of its own.
  Traced add_input(const std::string& name, const IValue& example);
  // A parameter that the function reads as this very tensor: one of an enclosing function.
  void add_closure(const std::string& name, const Tensor& tensor);
  Traced constant(IValue value);
  // The tensor's value; an attribute's or a constant's where it was not computed here.
  Traced tensor(const Tensor& tensor);
  // Does it come from the inputs or from a recorded operation?
  bool is_computed(const Tensor& tensor) const;
  // Null for values that are no tensors.
  const TensorForm* form(const ir::Value* value) const;
  // Where a value is an attribute of modules; empty where it is none.
  std::span<const TracedModules::Place> places(const ir::Value* value) const;
  Traced list(std::vector<Traced> elements);
  Traced tuple(std::vector<Traced> elements);
  Traced dict(std::vector<std::pair<Traced, Traced>> items);

  // --- operations: recorded and executed; their results
  struct Argument {
    std::string name;  // empty: positional
    Traced value;
  };
  // A builtin by name, "aten::add", or by name and overload.
  std::vector<Traced> call(const std::string& name, const std::vector<Argument>& arguments);
  // The builtin that is the operator `op` under `name`: one argument for each of op.params. nullopt if there
  // is none.
  struct OperatorArgument {
    Traced value;
    bool is_default = false;
  };
  std::optional<std::vector<Traced>> call_operator(const std::string& name, const ops::OpDef& op,
                                                   std::vector<OperatorArgument> arguments);
  Traced call_function(std::shared_ptr<Function> function, const std::vector<Argument>& arguments);
  // Of a script module among the traced modules.
  Traced call_method(size_t module, const std::string& method, const std::vector<Argument>& arguments);

  // --- the end
  // The graph as it is now, for comparison with that of another run.
  const ir::Graph& finish_graph(const Traced& output);
  const ir::Graph& graph() const { return *graph_; }
  std::shared_ptr<Function> finish_function(const std::string& qualified_name);
  void finish_method(const std::string& name);

 private:
  friend class TraceLifter;
  struct Scope {
    size_t parent;
    size_t module;
  };
  struct Known {
    std::weak_ptr<TensorImpl> tensor;
    ir::Value* value;
  };

  std::vector<Traced> call(const Builtin& builtin, const std::vector<Argument>& arguments);
  std::vector<Traced> add_call(const Builtin& builtin, SchemaMatch match, ir::Node* before,
                               const std::vector<Argument>& arguments);
  // Nodes that were added since the last call belong to the current scope and line.
  void note_nodes();
  std::vector<Traced> run_new_nodes(ir::Node* last_before,
                                    std::unordered_map<const ir::Value*, IValue> known);
  Traced bind_input(const IValue& example, ir::Value* value);
  Traced result(IValue now, ir::Value* value, const std::unordered_map<const ir::Value*, IValue>& known,
                bool is_update);
  void bind(const Tensor& tensor, ir::Value* value);
  ir::Node* last_node();
  ir::Value* kept_tensor(ir::Value* value);
  CallArguments kept_tensors(CallArguments arguments);
  CallArguments call_arguments(const std::vector<Argument>& arguments) const;
  ir::Value* attribute(TracedModules::Place place, const TypePtr& type);

  std::shared_ptr<CompilationUnit> unit_;
  std::shared_ptr<TracedModules> modules_;
  std::unique_ptr<ir::Graph> graph_;
  Emitter emitter_;
  Range range_;
  ir::SourceLocation location_;
  std::vector<ir::Value*> inputs_;
  std::vector<Scope> scopes_ = {{0, 0}};
  size_t scope_ = 0;
  std::unordered_map<const ir::Node*, size_t> node_scopes_;
  ir::Node* last_noted_ = nullptr;
  std::unordered_map<const TensorImpl*, Known> known_;
  std::unordered_map<const ir::Value*, TensorForm> forms_;
  // Values that are attributes of modules.
  std::unordered_map<const ir::Value*, std::vector<TracedModules::Place>> attributes_;
  std::unordered_map<size_t, ir::Value*> script_modules_;
};

}  // namespace weft::jit
