// weft.Tensor objects among the values of a NumPy program. A value of Kind::Tensor holds the array of its
// memory.
#pragma once

#include "capture/evaluate/evaluator.h"
#include "capture/objects/host_tensors.h"

namespace weft::capture {

V tensor_value(V array);
bool has_tensor_value(Evaluator& ev, const CallArgs& args);
V call_on_tensors(Evaluator& ev, PyObject* callable, CallArgs& args);
V call_tensor_method(Evaluator& ev, const V& self, const std::string& name, CallArgs& args);
// Assigns to an attribute; false where that is no part of a graph.
bool store_tensor_attribute(Evaluator& ev, const V& self, const std::string& name, const V& value);
V tensor_attribute(Evaluator& ev, const V& self, const std::string& name);
// Of an attribute that is not called: `size` is then the number of elements.
V read_attribute(Evaluator& ev, V attribute);
// A ufunc of NumPy's, which reads the tensors' memory: the result is a tensor (__array_wrap__).
V ufunc_of_tensors(Evaluator& ev, PyObject* ufunc, const CallArgs& args);
// min() and max() of two 0-d tensors, or of one and a number: in a whole graph a tensor, whichever it is, as
// PyTorch has it. Null for anything else.
V extreme_of_tensors(Evaluator& ev, int compare, const std::vector<V>& items);
// By the name of a function of the operator module.
V operate_on_tensors(Evaluator& ev, const char* function, std::vector<V> operands);

void register_weft_tensors();

// A call of weft.nn._types.pinned: a number that the program's course depends on, whose value is a guard.
V pinned_number(Evaluator& ev, const CallArgs& args);

}  // namespace weft::capture
