// Members of enum classes: objects that never change, known by identity.
#pragma once

#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"

namespace weft::capture {

// What stands in arithmetic for a member of IntEnum and the like; others, and all other values, stand for
// themselves. NumPy takes it for a number of type int64 or float64, not for a Python number.
V number_of_member(const V& value, bool for_array);
// The attribute of a member; null: a frame was pushed that will yield it.
V enum_attribute(Evaluator& ev, const V& member, PyObject* name);
// Class(value) and Class[name].
V enum_call(Evaluator& ev, PyTypeObject* type, const CallArgs& args);

}  // namespace weft::capture
