// The operators that the interpreter knows by itself: what needs a node's payload or its own control of
// execution. Everything else is a Builtin (script/builtins/builtin.h).
#pragma once

#include "ir/graph.h"

namespace weft::jit::prim {

extern const ir::ScriptOp kConstant;       // () [value] -> T
extern const ir::ScriptOp kUninitialized;  // () -> T: never read
extern const ir::ScriptOp kGetAttr;        // (object) [text] -> T
extern const ir::ScriptOp kSetAttr;        // (object, value) [text] -> ()
extern const ir::ScriptOp
    kCreateObject;  // () [type: class] -> object, its slots None until __init__ has set them
extern const ir::ScriptOp
    kCallFunction;  // (arguments…) [function] -> T; all arguments of the schema, in order
extern const ir::ScriptOp
    kCallMethod;  // (object, arguments…) [text; function unless the object is an interface] -> T
extern const ir::ScriptOp kListConstruct;   // (values…) -> List[T]
extern const ir::ScriptOp kDictConstruct;   // (key, value, …) -> Dict[K, V]
extern const ir::ScriptOp kTupleConstruct;  // (values…) -> Tuple or NamedTuple
extern const ir::ScriptOp kTupleUnpack;     // (tuple) -> values…
extern const ir::ScriptOp kTupleIndex;      // (tuple, int) -> T
extern const ir::ScriptOp kTupleSlice;      // (tuple, int begin, int end) -> tuple, constants both
extern const ir::ScriptOp kListUnpack;      // (list) -> values…; ValueError for another length
// (value) [type; text: "list, tuple", any of those] -> bool; the type may be null where there is a text.
extern const ir::ScriptOp kIsInstance;
extern const ir::ScriptOp kUncheckedCast;  // (value) -> T: the type checker knows it is
extern const ir::ScriptOp kCast;           // (value) -> T: checked at run time (Any to T, Union to a member)
extern const ir::ScriptOp kRaise;          // (message) [text: exception's class name] -> never returns
extern const ir::ScriptOp kFork;           // (arguments…) [function] -> Future[T]
extern const ir::ScriptOp kPrint;          // (values…) -> ()
extern const ir::ScriptOp kFormat;         // (format, values…) -> str
extern const ir::ScriptOp kEnumName;       // (enum) -> str
extern const ir::ScriptOp kEnumValue;      // (enum) -> T

// Whether a node computes nothing. Null, a parameter's, does not count.
bool is_constant(const ir::Node* node);

}  // namespace weft::jit::prim

// Control flow. If: the condition is a bool. Loop, as TorchScript's prim::Loop: inputs (int trip count, bool
// condition, carried…), block parameters (int counter, carried…), block returns (bool condition, carried…);
// the outputs are the carried values. Early return, break and continue have been made into conditions by the
// compiler.
