// Python arguments of an operator call, matched with its schema.
#pragma once

#include "bindings.h"
#include "errors.h"

namespace weft::python {

struct OpArguments {
  std::vector<ops::Operand> operands;  // the Tensor parameters, lists flattened
  ops::Attrs attrs;                    // all others, defaults filled in but for pointwise operators
  // Of functions that make tensors: what PyTorch's take besides; borrowed, null where absent.
  PyObject* requires_grad = nullptr;
  PyObject* memory_format = nullptr;
};

// True for operators that promote tensors and numbers themselves (ops::invoke).
bool takes_scalars(const ops::OpDef& op);

// TypeError naming the operator, the parameter, what is expected and what came. `out` receives the argument
// of that name of operators that do not declare one (null where `out` is not allowed). NumPy's scalars are
// numbers like Python's under PyTorch's rules, 0-d arrays of their dtype under NumPy's.
OpArguments parse_arguments(const ops::OpDef& op, PyObject* const* args, size_t nargs, PyObject* keywords,
                            PyObject** out, Promotion rules = Promotion::Torch);

// The Python values of a call by parameter, borrowed; null where absent.
struct MatchedArguments {
  std::vector<PyObject*> values;
  PyObject* out = nullptr;
  nb::object collected;  // holds f(1, 2)'s for f([1, 2])
};
MatchedArguments match_arguments(const ops::OpDef& op, PyObject* const* args, size_t nargs,
                                 PyObject* keywords);

// Numbers among the operands become 0-d tensors of the dtype that a Python number takes beside the first
// tensor.
void make_tensors(std::vector<ops::Operand>& operands, Promotion rules);

}  // namespace weft::python
