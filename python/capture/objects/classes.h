// What kinds of classes there are: those whose instances the evaluator makes and reads itself, enums, named
// tuples.
#pragma once

#include "capture/objects/py.h"

namespace weft::capture {

// A class of the program's whose instances hold their attributes as object's do.
bool is_plain_class(PyTypeObject* type);
// One of them that is called as usual; who makes the instance is not asked.
bool is_instantiable(PyTypeObject* type);
// A class of the program's that is a subclass of dict or of OrderedDict; a missing key is an error.
bool is_dict_class(PyTypeObject* type);
// types.SimpleNamespace
bool is_namespace_class(PyTypeObject* type);
// Its method of this name that is written in Python, or null; borrowed.
PyObject* python_function_of(PyTypeObject* type, const char* name);
// A module that is imported already, past an __import__ of the program's; else it is imported.
Ref loaded_module(const char* name);
// A function of weft._protocols.
Ref protocol_function(const char* name);
// A function of weft._entered_library, which stands in for a part of Python's own; a new reference.
Ref entered_function(const char* name);

// A method that weft.nn.Module itself defines.
bool is_method_of_modules(PyObject* function);
// Attributes of its instances are set in __init__, past its own __setattr__, and read as any other's.
bool is_frozen_dataclass(PyTypeObject* type);
// The exception of this class with these args; no __init__ of the program's own is called.
Ref real_exception(PyObject* type, const Ref& args);

bool is_enum_class(PyTypeObject* type);
// `int | float`.
bool is_union(PyObject* object);
// List[int], Optional[Tensor], typing.List: what annotations are made of never changes.
bool is_annotation(PyObject* object);
bool is_enum_member(PyObject* object);
// A function of the enum module itself, which its classes copy into the program's.
bool is_enum_function(PyObject* function);

// A class that collections.namedtuple or typing.NamedTuple made, or a subclass of one, that changes nothing
// of what a tuple does.
bool is_named_tuple(PyTypeObject* type);
// The names of its fields, a tuple; null unless all are strings. Borrowed.
PyObject* fields_of_named_tuple(PyTypeObject* type);
// The object of that type with the elements of `tuple`.
Ref build_named_tuple(PyObject* type, const Ref& tuple);

// Does what a class has by some name decide what an assignment to that name does?
inline bool is_data_descriptor(PyObject* object) { return Py_TYPE(object)->tp_descr_set != nullptr; }

}  // namespace weft::capture
