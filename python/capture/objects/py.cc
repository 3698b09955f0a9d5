#include "capture/objects/py.h"

#include <atomic>
#include <csignal>

#include "capture/objects/classes.h"
#include "capture/objects/host_tensors.h"

namespace weft::capture {

namespace {

// How many exceptions clear_error has handed to the interpreter that it has not raised yet.
std::atomic<int> pending_interrupts = 0;

int raise_interrupt(void* exception) {
  --pending_interrupts;
  const Ref kept = Ref::steal(static_cast<PyObject*>(exception));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(kept.get())), kept.get());
  return -1;
}

// The code objects of the functions that Python calls for signals.
bool handles_signals(PyObject* code) {
  const Ref module = Ref::steal(PyImport_ImportModule("_signal"));
  if (!module) return false;
  for (int number = 1; number < NSIG; ++number) {
    Ref handler = Ref::steal(PyObject_CallMethod(module.get(), "getsignal", "i", number));
    if (handler && PyMethod_Check(handler.get())) handler = Ref::borrow(PyMethod_GET_FUNCTION(handler.get()));
    if (handler && PyFunction_Check(handler.get()) && PyFunction_GET_CODE(handler.get()) == code) return true;
  }
  return false;
}

}  // namespace

bool is_of_signal(PyObject* exception) {
  if (!PyErr_GivenExceptionMatches(exception, PyExc_Exception)) return true;
  bool is_of_handler = false;
  for (Ref at = Ref::steal(PyException_GetTraceback(exception)); at && at.get() != Py_None && !is_of_handler;
       at = Ref::steal(PyObject_GetAttrString(at.get(), "tb_next"))) {
    const Ref frame = Ref::steal(PyObject_GetAttrString(at.get(), "tb_frame"));
    const Ref code = Ref::steal(PyObject_GetAttrString(frame.get(), "f_code"));
    is_of_handler = code && handles_signals(code.get());
  }
  PyErr_Clear();
  return is_of_handler;
}

Ref take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return Ref::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Ref::steal(value);
#endif
}

void set_exception(Ref exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception.release());
#else
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(exception.get()));
  PyObject* traceback = PyException_GetTraceback(exception.get());
  PyErr_Restore(Py_NewRef(type), exception.release(), traceback);
#endif
}

void clear_error() {
  if (!PyErr_Occurred()) return;
  Ref exception = take_exception();
  if (!exception || !is_of_signal(exception.get())) return;
  ++pending_interrupts;
  if (Py_AddPendingCall(raise_interrupt, exception.get()) == 0) {
    exception.release();
  } else {  // the interpreter's queue is full
    --pending_interrupts;
    PyErr_SetInterrupt();
  }
}

bool is_interrupt_pending() { return pending_interrupts > 0; }

bool has_plain_metaclass(PyTypeObject* type) {
  PyTypeObject* metaclass = Py_TYPE(type);
  if ((metaclass->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return true;
  PyObject* module = PyDict_GetItemString(metaclass->tp_dict, "__module__");
  return module && PyUnicode_Check(module) &&
         (PyUnicode_CompareWithASCIIString(module, "abc") == 0 ||
          PyUnicode_CompareWithASCIIString(module, "nanobind") == 0 ||
          PyUnicode_CompareWithASCIIString(module, "weft.torch._absent") == 0 ||
          PyUnicode_CompareWithASCIIString(module, "enum") == 0);
}

bool is_inert(PyObject* object) {
  if (PyType_Check(object)) return has_plain_metaclass(reinterpret_cast<PyTypeObject*>(object));
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!is_inert(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(object)) return is_inert(checked(PySequence_Tuple(object)).get());
  if (PySlice_Check(object)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    return is_inert(slice->start) && is_inert(slice->stop) && is_inert(slice->step);
  }
  return (Py_TYPE(object)->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_IMMUTABLETYPE)) !=
             Py_TPFLAGS_HEAPTYPE ||
         is_enum_member(object) || is_weft_constant(object) || is_annotation(object);
}

static Ref plain_repr(PyObject* object) {
  if (is_inert(object) && !PyModule_Check(object) && !is_enum_member(object) && !PyMethod_Check(object))
    return Ref::steal(PyObject_Repr(object));
  return checked(PyUnicode_FromFormat("<%s at %p>", Py_TYPE(object)->tp_name, object));
}

std::string short_repr(PyObject* object, size_t limit) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref text = plain_repr(object);
  std::string result = text ? utf8(text.get()) : std::string(Py_TYPE(object)->tp_name) + " object";
  if (!text) clear_error();
  PyErr_Restore(type, value, traceback);
  for (char& c : result)
    if (c == '\n') c = ' ';
  if (result.size() > limit) result = result.substr(0, limit - 3) + "...";
  return result;
}

Ref range_left(PyObject* iterator) {
  if (Py_TYPE(iterator) != &PyRangeIter_Type) return Ref();
  // (iter, (a range,), how many of it were given, or None)
  const Ref state = checked(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  PyObject* const range = PyTuple_GET_ITEM(PyTuple_GET_ITEM(state.get(), 1), 0);
  PyObject* const at = PyTuple_GET_SIZE(state.get()) > 2 ? PyTuple_GET_ITEM(state.get(), 2) : Py_None;
  if (!PyLong_Check(at)) return Ref::borrow(range);
  const Ref rest = checked(PySlice_New(at, nullptr, nullptr));
  return checked(PyObject_GetItem(range, rest.get()));
}

std::string callable_name(PyObject* object) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref module = Ref::steal(PyObject_GetAttrString(object, "__module__"));
  Ref name = Ref::steal(PyObject_GetAttrString(object, "__qualname__"));
  if (!name) name = Ref::steal(PyObject_GetAttrString(object, "__name__"));
  PyErr_Clear();
  std::string result = name && PyUnicode_Check(name.get()) ? utf8(name.get()) : Py_TYPE(object)->tp_name;
  if (module && PyUnicode_Check(module.get()) && utf8(module.get()) != "builtins")
    result = utf8(module.get()) + "." + result;
  PyErr_Restore(type, value, traceback);
  return result;
}

}  // namespace weft::capture
