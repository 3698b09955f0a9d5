#include "capture/objects/compiled_object.h"

namespace weft::capture {

namespace {

PyTypeObject* compiled_class = nullptr;
size_t offset_of_function = 0;

}  // namespace

void set_compiled_class(PyTypeObject* type, size_t function_offset) {
  compiled_class = type;
  offset_of_function = function_offset;
}

PyObject* compiled_function(PyObject* object) {
  if (Py_TYPE(object) != compiled_class) return nullptr;
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset_of_function);
}

}  // namespace weft::capture
