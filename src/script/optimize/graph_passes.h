// Passes over TorchScript's graphs, before they become code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"
#include "weft/ivalue.h"

namespace weft::jit {

class Function;
struct Builtin;

// What a call node calls; null for an interface's method, and for what is no call.
std::shared_ptr<Function> called_function(const ir::Node& node);
// Calls of functions and methods become the bodies of what they call; a function within itself stays a call.
// `may_inline`: the ones wanted; all by default.
void inline_calls(ir::Graph& graph, const std::function<bool(const Function&)>& may_inline = {});
// Copies the nodes of `from` to before `before` (at the end of `to`, if null). `values` maps the values that
// the nodes use and is extended by those that they define.
using ValueMap = std::unordered_map<const ir::Value*, ir::Value*>;
void copy_nodes(const ir::Block& from, ir::Block& to, ir::Node* before, ValueMap& values);
ir::Node* copy_node(const ir::Node& node, ir::Block& to, ir::Node* before, ValueMap& values);

// The constant that a value is; null if it is none.
const IValue* known_constant(const ir::Value* value);
ir::Value* add_constant(ir::Graph& graph, ir::Block& block, IValue value, const jit::TypePtr& type,
                        ir::Node* before);

// A constant tensor that is a number to the operators that take one: without dimensions, and real.
bool is_number_constant(const ir::Value* value);
// Does the builtin take its second operand as a number where that is such a constant?
bool takes_number(const Builtin& builtin);
// They get the numbers, as PyTorch's executor has it.
void replace_number_constants(ir::Graph& graph);
// A copy that has been changed so; functions that are given such constants become part of it, for what they
// compute follows from them. Null where there are none.
std::unique_ptr<ir::Graph> with_number_constants(const ir::Graph& graph);

// Pure builtins of constants become constants (no tensors), conditions that are known choose their branch,
// tuples and lists that are taken apart where they were made disappear.
void fold_script_constants(ir::Graph& graph);
// The same for tensors: pure builtins of constants become constants where nobody writes to their results or
// keeps them, and they are not much larger than their operands.
void fold_constant_tensors(ir::Graph& graph);
// The operand whose element the node reads, where that is made of numbers alone, as
// int(mul(NumToTensor(size(x, 0)), 2)).
std::optional<size_t> operand_of_numbers(const ir::Node& node);
// What makes such a tensor is copied to before whoever reads it.
void gather_numbers(ir::Graph& graph);
// aten::view becomes aten::reshape where nothing is written through it.
void relax_views(ir::Graph& graph);
// Nodes without effect whose results nobody uses.
void remove_dead_nodes(ir::Graph& graph);
// dropout(x, p, False) becomes x.
void remove_dropout(ir::Graph& graph);
// batch_norm of a convolution or linear layer becomes part of it, where all parameters are constants.
void fold_batch_norm(ir::Graph& graph);
// float32 constants and inputs become `dtype`, half precision; operators that name float32 get it, too.
void lower_precision(ir::Graph& graph, DType dtype);
// No effect but its results.
bool is_pure(const ir::Node& node);
// The builtin that a node runs; null for the interpreter's own operators.
const Builtin* builtin_of(const ir::Node& node);
// Nobody writes to the value's memory, or keeps it: pure builtins read it, and the same holds for their views
// of it.
bool is_only_read(const ir::Value* value);

}  // namespace weft::jit
