// From an exported program's graph to a module of TorchScript, whose forward is that graph: the same values,
// operators, optimizations and interpreter then serve both formats.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "exported/json_access.h"
#include "weft/exported.h"

namespace weft::exported {

struct Lowered {
  jit::Module module;
  std::vector<Input> inputs;              // the user's, in order; constants among them
  std::vector<std::vector<std::string>> size_texts;  // of each input that is a tensor: sympy's text, or a number
};

// `graph_module`: of the schema. Tensors: parameters and buffers; constants.
Lowered lower(const Json& graph_module, const Tensors& weights, const Tensors& constants);

// What Python's functions on sizes are among the builtins; "" of one that gives its argument.
struct PythonFunction {
  const char* name;  // "_operator.add"
  const char* builtin;
};
std::span<const PythonFunction> python_functions();

// The operators that take graphs: "cond".
std::vector<std::string> region_names();

// What an operator on lists of tensors does with each of them; nullopt of other operators.
struct OperatorOfOne {
  std::string name, overload;  // "add", "Tensor" of "_foreach_add", "List"
};
std::optional<OperatorOfOne> operator_of_one(const std::string& name, const std::string& overload);

// The schema's own numbers.
DType dtype_of(const Json& number, const std::string& where);
int64_t number_of(DType dtype);
Device device_of(const Json& value, const std::string& where);

}  // namespace weft::exported
