// Functions that read the variables of the frames that call them.
#pragma once

#include <string>

#include "capture/objects/py.h"

namespace weft::capture {

// The name of a function that the function reaches, itself among them, and whose code reads variables of a
// frame object; empty where there is none. Python performs such a program as it is: compiled code does not
// keep variables that nobody reads any more. What is reached through arguments, and through methods of
// objects, is not looked at.
std::string reader_of_frames(PyObject* function);

// Does the callable look at the variables of the frame that calls it? locals, eval and the like.
bool reads_its_callers_variables(PyObject* callable, size_t arguments);

// Does the callable tell, or is it told, when objects end? weakref.ref, sys.getrefcount.
bool watches_ends(PyObject* callable);

}  // namespace weft::capture
