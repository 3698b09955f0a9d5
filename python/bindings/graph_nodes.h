// Graphs of TorchScript as Python reads them.
#pragma once

#include "bindings.h"
#include "script/program/function.h"

namespace weft::python {

// (operator, overload, [(argument, by keyword only?, is it the default?, operand)], [result], file, line). Operands and
// results are numbers of values; an operand that is a constant of a dtype is the dtype.
nb::tuple node_to_python(const ir::Node& node);

// The graph without calls: {"block": block, "constants": {number: value}, "types": {number: "List[int]"},
// "arguments": [(name, has it a default?, the default)]} where a block is
// ([parameter], [(node, text of its payload, [block])], [result]).
nb::dict inlined_to_python(const jit::Function& function);

}  // namespace weft::python
