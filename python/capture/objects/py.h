// Owned references and errors of the Python C API.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <string>
#include <utility>

namespace weft::capture {

// An owned reference to a Python object, possibly null.
class Ref {
 public:
  Ref() = default;
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  static Ref steal(PyObject* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return steal(object);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  PyObject* new_reference() const { return Py_XNewRef(object_); }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  PyObject* object_ = nullptr;
};

// Thrown while the Python error indicator is set.
struct PythonError {};

// Takes a new reference from the C API; throws PythonError when it is null.
inline Ref checked(PyObject* object) {
  if (!object) throw PythonError{};
  return Ref::steal(object);
}

inline std::string utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
  if (!data) {
    PyErr_Clear();
    return "?";
  }
  return std::string(data, static_cast<size_t>(size));
}

// The exception that is set, which is set no longer.
Ref take_exception();
// Sets it again, with its traceback as it is.
void set_exception(Ref exception);
// The exception that is set, while what it must not disturb is done; set again afterwards, unless another one
// is.
class ExceptionSetAside {
 public:
  ExceptionSetAside() : exception_(PyErr_Occurred() ? take_exception() : Ref()) {}
  ~ExceptionSetAside() {
    if (exception_ && !PyErr_Occurred()) set_exception(std::move(exception_));
  }
  ExceptionSetAside(const ExceptionSetAside&) = delete;
  ExceptionSetAside& operator=(const ExceptionSetAside&) = delete;

 private:
  Ref exception_;
};
// Was it raised by a signal, whose handler runs wherever Python code does, also in a call of capture's own?
// What is no error (KeyboardInterrupt), and what a handler that is a Python function has raised.
bool is_of_signal(PyObject* exception);
// Forgets the error that is set. What a signal has raised is raised later, where the interpreter performs its
// pending calls.
void clear_error();
// Has clear_error put off an exception that was not raised yet?
bool is_interrupt_pending();

// repr() cut to a length that fits a log line; never raises, and runs no code of the program's.
std::string short_repr(PyObject* object, size_t limit = 60);
// Is nothing of the program's called by what is done to instances of the class as an object?
bool has_plain_metaclass(PyTypeObject* type);
// Do comparing, hashing, printing and the like of the object run no code of the program's?
bool is_inert(PyObject* object);
// The range that an iterator over a range still gives; null for any other object.
Ref range_left(PyObject* iterator);
// "module.qualname" of a callable, or its type's name; never raises.
std::string callable_name(PyObject* object);

}  // namespace weft::capture
