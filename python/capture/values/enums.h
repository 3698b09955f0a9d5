// Members of enum classes: objects that never change, known by identity.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

bool is_enum_class(PyTypeObject* type);
bool is_enum_member(PyObject* object);
// A function of the enum module itself, which its classes copy into the program's.
bool is_enum_function(PyObject* function);
// What stands in arithmetic for a member of IntEnum and the like; others, and all other values, stand for
// themselves. NumPy takes it for a number of type int64 or float64, not for a Python number.
V number_of_member(const V& value, bool for_array);
// The attribute of a member; null: a frame was pushed that will yield it.
V enum_attribute(Evaluator& ev, const V& member, PyObject* name);
// Class(value) and Class[name].
V enum_call(Evaluator& ev, PyTypeObject* type, const CallArgs& args);

}  // namespace weft::capture
