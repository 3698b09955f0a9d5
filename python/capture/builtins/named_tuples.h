// Named tuples as values: tuples with a type, whose fields are attributes.
#pragma once

#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"

namespace weft::capture {

// The field of that name; null where there is none.
V named_tuple_field(const V& tuple, PyObject* name);
bool is_named_tuple_method(const std::string& name);
V named_tuple_method(const V& tuple, const std::string& name, CallArgs& args);
V builtin_namedtuple(Evaluator& ev, CallArgs& args);
V make_named_tuple(Evaluator& ev, PyTypeObject* type, CallArgs& args);

}  // namespace weft::capture
