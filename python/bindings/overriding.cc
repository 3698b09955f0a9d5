// Calls that arguments' classes or modes take over: what operators ask before they run, while anything may,
// and which classes of programs are such.
#include "overriding.h"

#include <algorithm>

#include "bindings.h"
#include "once.h"

namespace weft::python {

namespace {

PyTypeObject* g_tensor_type = nullptr;
PyObject *g_build_class = nullptr, *g_on_class = nullptr;

// How many modes of the thread take every call over.
constinit thread_local int override_modes = 0;

// May the class of an argument take calls over? The handler finds out; what is plain is passed over here.
bool may_override(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (may_override(PySequence_Fast_GET_ITEM(object, i))) return true;
    return false;
  }
  const PyTypeObject* const type = Py_TYPE(object);
  return type != g_tensor_type && type != &PyLong_Type && type != &PyFloat_Type && type != &PyBool_Type &&
         type != &PyUnicode_Type && object != Py_None;
}

bool has_own_override(PyTypeObject* type) {
  static constinit MadeOnce<PyObject*> name;
  return PyDict_Contains(type->tp_dict,
                         name.get([] { return PyUnicode_InternFromString("__torch_function__"); })) == 1;
}

// builtins.__build_class__: a class statement of the program, after which g_on_class sees classes that may
// override.
PyObject* build_class(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* keywords) {
  PyObject* const made = PyObject_Vectorcall(g_build_class, args, static_cast<size_t>(nargs), keywords);
  if (!made || !PyType_Check(made)) return made;
  auto* const type = reinterpret_cast<PyTypeObject*>(made);
  if (!PyType_IsSubtype(type, g_tensor_type) && !has_own_override(type)) return made;
  PyObject* const seen = PyObject_CallOneArg(g_on_class, made);
  if (!seen) {
    Py_DECREF(made);
    return nullptr;
  }
  Py_DECREF(seen);
  return made;
}

PyMethodDef g_build_class_def = {"__build_class__",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(build_class)),
                                 METH_FASTCALL | METH_KEYWORDS, nullptr};

void watch_classes(nb::callable on_class) {
  if (g_on_class) return;
  g_on_class = on_class.release().ptr();
  const nb::object builtins = nb::module_::import_("builtins");
  g_build_class = nb::object(builtins.attr("__build_class__")).release().ptr();
  builtins.attr("__build_class__") = nb::steal(PyCFunction_New(&g_build_class_def, nullptr));
}

}  // namespace

PyObject* call_offered(PyObject* callable, PyObject* const* args, size_t nargs, PyObject* keywords) {
  const size_t count = nargs + (keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0);
  if (override_modes == 0 && !std::any_of(args, args + count, may_override)) return nullptr;
  nb::list positional;
  nb::dict named;
  for (size_t i = 0; i < nargs; ++i) positional.append(nb::handle(args[i]));
  for (size_t i = nargs; i < count; ++i)
    named[nb::handle(PyTuple_GET_ITEM(keywords, i - nargs))] = nb::handle(args[i]);
  nb::object result =
      nb::borrow<nb::object>(override_handler)(nb::handle(callable), nb::tuple(positional), named);
  return result.ptr() == Py_NotImplemented ? nullptr : result.release().ptr();
}

void bind_overriding(nb::module_& m) {
  g_tensor_type = reinterpret_cast<PyTypeObject*>(nb::object(m.attr("Tensor")).ptr());
  m.def(
      "_set_override_handler",
      [](nb::handle handler) {
        Py_XDECREF(override_handler);
        override_handler = handler.is_none() ? nullptr : Py_NewRef(handler.ptr());
      },
      nb::arg("handler").none(),
      "What operators offer calls to before they run: called with (operator, args, kwargs), NotImplemented "
      "where they are "
      "to run.");
  m.def("_set_override_modes", [](int count) { override_modes = count; });
  m.def("_watch_classes", &watch_classes,
        "From now on on_class is called with each class of a program's class statements that derives from "
        "Tensor or has a "
        "__torch_function__ of its own.");
  m.def("_may_override", [](nb::args args) { return override_modes != 0 || may_override(args.ptr()); });
}

}  // namespace weft::python
