// The one graph: typed SSA with structured control flow, symbolic sizes, and mutation made explicit.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "weft/ivalue.h"
#include "weft/sym.h"
#include "weft/tensor.h"

namespace weft::ir {

using ops::Attrs;
using ops::OpDef;
using ops::TensorType;

class Graph;
struct Block;
struct Node;

struct InlinedCall;

// Where in the user's program a node comes from.
struct SourceLocation {
  std::shared_ptr<const std::string> file;
  int line = 0;
  std::shared_ptr<const InlinedCall> inlined = nullptr;  // the call that the node was a part of
  std::string str() const;                               // "kmeans.py:4", "" if unknown
};

// A call whose place the called function's nodes have taken.
struct InlinedCall {
  std::string function;
  SourceLocation location;  // of the call, in the function around
};

// Tensor: dtype, shape and device are known, as compiled graphs need them. Script: a value of a TorchScript
// program, whose tensors have any dtype and shape.
struct Type {
  enum class Kind : uint8_t { Tensor, Script };
  Kind kind = Kind::Tensor;
  TensorType tensor;    // Kind::Tensor
  jit::TypePtr script;  // Kind::Script
  std::string str() const;
};

// An operator outside the table of tensor operators: "aten::append", "prim::GetAttr". Lives as long as the
// process.
struct ScriptOp {
  std::string_view name;  // lives as long as the program
};

// What a Script node carries, by its operator.
struct ScriptPayload {
  std::string text;                         // an attribute's or method's name
  IValue value;                             // a constant
  jit::TypePtr type;                        // of a cast or test
  std::shared_ptr<jit::Function> function;  // called or forked
};

// A node's operand; a block's return (no user); or a write-back of the graph (neither user nor block).
struct Use {
  Node* user;
  Block* block;
  size_t operand;
  friend bool operator==(const Use&, const Use&) = default;
};

struct Value {
  Type type;
  Node* def = nullptr;     // null for block parameters and graph inputs
  Block* block = nullptr;  // for parameters
  size_t index = 0;        // among def's outputs or the block's parameters
  int id = 0;              // prints as %id
  std::string name;        // as the user calls it, if known; prints as %name
  int symbol = -1;         // for 0-d integer inputs and loop counters: the graph's symbol with the same value
  std::vector<Use> uses;

  const TensorType& tensor() const { return type.tensor; }
};

// Structural nodes have op == nullptr and one of the other kinds.
enum class NodeKind : uint8_t {
  Op,        // op(inputs) {attrs}
  Constant,  // attribute `tensor`: a captured array
  If,        // inputs: condition (0-d bool); blocks: then, else; outputs: the blocks' returns
  Loop,      // inputs: trip count (0-d i64), initial condition, carried…; block params: i, carried…;
             // block returns: condition, carried…
  Script,    // script(inputs) [payload]
};

struct Node {
  NodeKind kind = NodeKind::Op;
  const OpDef* op = nullptr;
  std::vector<Value*> inputs;  // a null entry is an absent optional operand
  std::vector<Value*> outputs;
  Attrs attrs;
  Tensor constant;                               // NodeKind::Constant
  const ScriptOp* script = nullptr;              // NodeKind::Script
  std::shared_ptr<const ScriptPayload> payload;  // NodeKind::Script; may be null
  std::vector<std::unique_ptr<Block>> blocks;
  SourceLocation location;
  Block* parent = nullptr;
  std::list<std::unique_ptr<Node>>::iterator position;

  Value* output() const { return outputs.at(0); }
  bool is(std::string_view op_name) const {
    return op ? op->name == op_name : script && script->name == op_name;
  }
  std::string_view kind_name() const;  // the operator's name, "constant", "if", "loop"
};

struct Block {
  Graph* graph = nullptr;
  Node* owner = nullptr;  // null for the graph's body
  std::vector<Value*> params;
  std::list<std::unique_ptr<Node>> nodes;
  std::vector<Value*> returns;
};

// A graph input whose contents the function changed: after the run, input `input` holds `value`.
struct WriteBack {
  size_t input;
  Value* value;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph");
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  SymEnv& env() { return *env_; }
  const SymEnv& env() const { return *env_; }
  Block& body() { return body_; }
  const Block& body() const { return body_; }
  std::vector<Value*>& inputs() { return body_.params; }
  std::vector<Value*>& outputs() { return body_.returns; }
  const std::vector<Value*>& inputs() const { return body_.params; }
  const std::vector<Value*>& outputs() const { return body_.returns; }
  std::vector<WriteBack> write_backs;

  Value* add_input(TensorType type, std::string value_name = "");
  Value* add_param(Block& block, Type type, std::string value_name = "");
  // Appends to `block` (or inserts before `before`), infers output types, links uses. Attributes are put in
  // the schema's order and absent ones take their defaults.
  Node* add_node(Block& block, const OpDef& op, std::vector<Value*> inputs, Attrs attrs,
                 SourceLocation location = {}, Node* before = nullptr);
  // The same with the output types given.
  Node* add_typed_node(Block& block, const OpDef& op, std::vector<Value*> inputs, Attrs attrs,
                       std::vector<TensorType> types, SourceLocation location = {}, Node* before = nullptr);
  // The array is held, not copied: it must not change afterwards.
  Node* add_constant(Block& block, Tensor tensor, SourceLocation location = {}, Node* before = nullptr);
  Node* add_script_node(Block& block, const ScriptOp& op, std::vector<Value*> inputs,
                        std::vector<jit::TypePtr> types,
                        std::shared_ptr<const ScriptPayload> payload = nullptr, SourceLocation location = {},
                        Node* before = nullptr);
  // An `if` with two empty blocks or a `loop` with one; parameters, returns and outputs are added by the
  // caller.
  Node* add_control(Block& block, NodeKind kind, std::vector<Value*> inputs, SourceLocation location = {},
                    Node* before = nullptr);
  Value* add_output(Node* node, Type type);
  void add_return(Block& block, Value* value);
  void add_write_back(size_t input, Value* value);
  void set_input(Node* node, size_t operand, Value* value);
  // Every use of `from`, returns and write-backs included, becomes a use of `to`.
  void replace_uses(Value* from, Value* to);
  // Asserts that the outputs have no uses.
  void erase(Node* node);
  // Takes a node out of its block and puts it before `before`, in that node's block.
  void move_before(Node* node, Node* before);

  std::unique_ptr<Graph> clone() const;
  std::string str() const;  // parses back: ir/parser.h

 private:
  std::unique_ptr<SymEnv> env_;
  Block body_;
  std::vector<std::unique_ptr<Value>> values_;
  int next_id_ = 0;
  Value* new_value(Type type);
  Node* insert(Block& block, std::unique_ptr<Node> node, Node* before);
  void drop_operands(Node* node);
  friend class Parser;
  friend class Cloner;
};

// Attributes that passes add to a node beyond its operator's schema. Eager calls and inference do not see
// them.
//   through  on argmin and argmax: a monotone pointwise function f that the operand was stripped of. The node
//            means argmin(f(x)): codegen compares in x, and applies f where two x are within rounding.
//   memory_order  of results that do not lie in C order (ops/memory_order.h).
//   own_memory  on permute: what is computed is kept with its dimensions in this order, as the caller wants
//            it to lie in memory, rather than a view of it in another.
inline constexpr std::string_view kOwnMemory = "own_memory";
inline constexpr std::string_view kAnnotations[] = {"through", "memory_order", kOwnMemory};
bool is_annotation(std::string_view attribute);
Attrs without_annotations(const Attrs& attrs);

// Calls f(node) for every node, those of inner blocks after their owner. f may erase the node it is given,
// unless that has blocks.
void for_each_node(const Block& block, const std::function<void(Node&)>& f);

// Throws an internal error naming the first rule broken: operands defined before use, uses consistent,
// types equal to what inference gives, block signatures, schema's attributes present.
void verify(const Graph& graph);
// Parses what Graph::str() printed; ValueError with line and column.
std::unique_ptr<Graph> parse_graph(std::string_view text);
// The definition of what a graph means: operator by operator, eagerly. Applies write-backs.
std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs);
// Values of the graph's symbols, read off the inputs' shapes (and 0-d integer inputs bound to symbols).
// ValueError naming the input where a rank, dtype or known size differs. Loop counters keep their hints.
std::vector<int64_t> bind_symbols(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace weft::ir
