// What the files on Python's builtin functions and methods share.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// Breaks unless there are `low` to `high` positional arguments and no others.
void expect(const CallArgs& args, size_t low, size_t high);
// The arguments as a real tuple; breaks where one is not known.
Ref as_tuple(Evaluator& ev, const std::vector<V>& args);
// Calls a function without side effects on constants.
V fold(Evaluator& ev, const char* module, const char* name, CallArgs& args);
V fold_call(Evaluator& ev, PyObject* function, const CallArgs& args);

// The StopIteration at the end of an iterator, with what a generator returned.
[[noreturn]] void raise_end_of(Evaluator& ev, const V& iterator);

// Methods of list, dict, tuple, str and other builtin values.
V call_builtin_method(Evaluator& ev, const V& self, const std::string& name, CallArgs& args);

void register_builtins();
void register_builtin_classes();
void register_copying();
bool is_inspect_signature(PyObject* function);
// `_parameters` of one that the program has, whose identity is to be guarded; null of other objects.
V parameters_of_signature(Evaluator& ev, const V& owner);
V signature_of(Evaluator& ev, PyObject* signature, const CallArgs& args);

}  // namespace weft::capture
