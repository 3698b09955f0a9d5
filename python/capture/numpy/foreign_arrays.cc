#include "capture/numpy/foreign_arrays.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/objects/host_tensors.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

bool is_foreign(PyTypeObject* type) {
  const bool is_numpys = type == &PyArray_Type || PyType_IsSubtype(type, &PyGenericArrType_Type);
  if (is_numpys) return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  if (PyType_IsSubtype(type, &PyArray_Type)) return true;
  static constinit InternedName protocols[] = {
      InternedName("__array_function__"), InternedName("__array_ufunc__"), InternedName("__array__"),
      InternedName("__array_interface__"), InternedName("__array_struct__")};
  return std::any_of(std::begin(protocols), std::end(protocols),
                     [&](InternedName& name) { return _PyType_Lookup(type, name) != nullptr; });
}

// Of a real object that nothing has been asked of: no guard is needed for what holds none.
bool holds_foreign(PyObject* object, int depth) {
  if (is_tensor(object)) return false;
  if (depth > kMostDimensions) return true;
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
    PyObject** const items = PySequence_Fast_ITEMS(object);
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(object),
                       [&](PyObject* item) { return holds_foreign(item, depth + 1); });
  }
  if (!PyDict_CheckExact(object)) return is_foreign(Py_TYPE(object));
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value);)
    if (holds_foreign(value, depth + 1)) return true;
  return false;
}

bool holds_foreign(Evaluator& ev, const V& value, int depth) {
  if (!value) return false;
  if (depth > kMostDimensions) return true;
  if (value->kind == Kind::Lazy) {
    if (!holds_foreign(value->object.get(), depth)) return false;
    ev.realize(value);
  }
  switch (value->kind) {
    case Kind::Opaque:
      return value->object && !is_tensor(value->object.get()) && is_foreign(Py_TYPE(value->object.get()));
    case Kind::Instance: return is_foreign(value->object_type);
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
      return std::any_of(value->items.begin(), value->items.end(),
                         [&](const V& item) { return holds_foreign(ev, item, depth + 1); });
    default: return false;
  }
}

}  // namespace

void refuse_foreign_arrays(Evaluator& ev, const std::string& callable, const CallArgs& args) {
  const auto refuse = [&](const V& argument) {
    if (holds_foreign(ev, argument, 0))
      graph_break(fmt::format("a call of {} with an array of a class of its own", callable));
  };
  for (const V& argument : args.args) refuse(argument);
  for (const auto& [name, argument] : args.keywords) refuse(argument);
}

}  // namespace weft::capture
