// How errors of weft become Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "weft/dtype.h"
#include "weft/error.h"

namespace weft::python {

// Python's own class for it.
PyObject* exception_type(ErrorKind kind);
// weft.return_types.LinAlgError where a matrix is singular or the like: messages of these begin with "linalg.".
PyObject* exception_type(const Error& error);

// Raises `type` with this text, in which bytes that are no UTF-8 (a message may quote a damaged file) are
// "\xff".
void set_error(PyObject* type, std::string_view message);
// Of a class that is also PyTorch's for such a mistake (weft/_errors.py), or under NumPy's rules just Python's own.
void set_error(const Error& error, Promotion rules = Promotion::Torch);

// The characters of a str, as long as it lives. UnicodeEncodeError for lone surrogates, TypeError for what is
// no str.
std::string_view text_view(nanobind::handle text);
// repr() as messages show it: printable, and cut.
std::string repr_text(nanobind::handle object);

// The module's functions and the methods of its classes name the argument that they do not take, what was
// expected and what came. To be called when all of them are bound.
void explain_arguments(nanobind::module_& module);

}  // namespace weft::python
