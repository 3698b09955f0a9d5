// What the files on Python's builtin functions and methods share.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// Breaks unless there are `low` to `high` positional arguments and no others.
void expect(const CallArgs& args, size_t low, size_t high);
// The arguments as a real tuple; breaks where one is not known.
Ref as_tuple(Evaluator& ev, const std::vector<V>& args);
// What is lowered under this path, whatever the module has there now; borrowed.
PyObject* lowered_object(const std::string& path);
// Calls a function without side effects on constants.
V fold(Evaluator& ev, const char* module, const char* name, CallArgs& args);
V fold_call(Evaluator& ev, PyObject* function, const CallArgs& args);
// str(), repr() and ascii() of anything that is known, by the methods of classes written in Python.
V text_of(Evaluator& ev, const char* function, const V& value);

// The StopIteration at the end of an iterator, with what a generator returned.
[[noreturn]] void raise_end_of(Evaluator& ev, const V& iterator);

int find_key(Evaluator& ev, const V& dict, const V& key);
V dict_key(Evaluator& ev, const V& key);
void set_dict_item(Evaluator& ev, const V& dict, const V& key, const V& value);

void register_builtin_classes();
void register_copying();
bool is_inspect_signature(PyObject* function);
// `_parameters` of one that the program has, whose identity is to be guarded; null of other objects.
V parameters_of_signature(Evaluator& ev, const V& owner);
V signature_of(Evaluator& ev, PyObject* signature, const CallArgs& args);

}  // namespace weft::capture
