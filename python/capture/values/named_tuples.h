// Named tuples as values: tuples with a type, whose fields are attributes.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

// A class that collections.namedtuple or typing.NamedTuple made, and that changes nothing of what a tuple
// does.
bool is_named_tuple(PyTypeObject* type);
// The field of that name; null where there is none.
V named_tuple_field(const V& tuple, PyObject* name);
bool is_named_tuple_method(const std::string& name);
V named_tuple_method(const V& tuple, const std::string& name, CallArgs& args);
V make_named_tuple(PyTypeObject* type, CallArgs& args);
// The object of that type with the elements of `tuple`.
Ref build_named_tuple(PyObject* type, const Ref& tuple);

}  // namespace weft::capture
