// Calls, functions and structural matching, performed for real.
#include <algorithm>

#include "capture/objects/classes.h"
#include "capture/perform/concrete.h"
#include "capture/perform/enter_call.h"
#include "interpreter_lock.h"

namespace weft::capture {

namespace {

// Where the callable and its first positional argument lie below `count` arguments.
struct CallSlots {
  PyObject* callable;
  size_t first;  // index in the stack of the first argument
};

CallSlots call_slots(const Frame& frame, size_t count) {
  const size_t base = frame.stack.size() - count - 2;
  PyObject *a = frame.stack[base].get(), *b = frame.stack[base + 1].get();
  if (!a) return {b, base + 2};
  return {a, b ? base + 1 : base + 2};
}

// Are the frame's variables its own? While CPython's frame of it is linked in, they are there.
bool holds_variables(const Frame& frame) {
  return std::any_of(frame.locals.begin(), frame.locals.end(), [](const Ref& local) { return bool(local); });
}

// What super() takes from the frame that calls it: the class whose method that is, and its first argument.
std::vector<PyObject*> arguments_of_super(const Frame& frame) {
  const auto refuse = [](const char* text) {
    PyErr_SetString(PyExc_RuntimeError, text);
    throw PythonError{};
  };
  const Code& code = *frame.code;
  if (code.code()->co_argcount == 0) refuse("super(): no arguments");
  PyObject* self = frame.locals[0].get();
  if (self && PyCell_Check(self)) self = PyCell_GET(self);
  if (!self) refuse("super(): arg[0] deleted");
  for (int i = code.num_locals - code.num_free; i < code.num_locals; ++i) {
    const auto slot = static_cast<size_t>(i);
    if (PyUnicode_CompareWithASCIIString(code.local_names[slot].get(), "__class__") != 0) continue;
    PyObject* type = PyCell_GET(frame.locals[slot].get());
    if (!type) refuse("super(): empty __class__ cell");
    return {type, self};
  }
  refuse("super(): __class__ cell not found");
  return {};
}

// A method of a builtin class that takes no keywords: CPython, which calls the class's function, names the
// class in the error. Null for any other callable.
PyObject* function_of_class(PyObject* callable) {
  if (!PyCFunction_CheckExact(callable) || PyCFunction_GET_FLAGS(callable) & METH_KEYWORDS) return nullptr;
  PyObject* const self = PyCFunction_GET_SELF(callable);
  if (!self || PyModule_Check(self)) return nullptr;
  const Ref name =
      checked(PyUnicode_FromString(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name));
  PyObject* const found = _PyType_Lookup(Py_TYPE(self), name.get());
  return found && Py_IS_TYPE(found, &PyMethodDescr_Type) ? found : nullptr;
}

void call(Frame& frame, size_t count, PyObject* kwnames) {
  const CallSlots slots = call_slots(frame, count);
  std::vector<PyObject*> args;
  for (size_t i = slots.first; i < frame.stack.size(); ++i) args.push_back(frame.stack[i].get());
  if (args.empty() && slots.callable == reinterpret_cast<PyObject*>(&PySuper_Type) && holds_variables(frame))
    args = arguments_of_super(frame);
  const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  PyObject* callable = slots.callable;
  if (PyObject* const function = named ? function_of_class(callable) : nullptr) {
    args.insert(args.begin(), PyCFunction_GET_SELF(callable));
    callable = function;
  }
  Ref result = checked(python::calling_python(
      [&] { return PyObject_Vectorcall(callable, args.data(), args.size() - named, kwnames); }));
  frame.stack.resize(frame.stack.size() - count - 2);
  push(frame, result);
}

}  // namespace

bool enter_call(State& state, const Code& code) {
  Frame& frame = state.frames.back();
  const Instruction& in = frame.code->instructions[static_cast<size_t>(frame.ip)];
  if (in.op != Op::Call) return false;
  const auto count = static_cast<size_t>(in.arg);
  const CallSlots slots = call_slots(frame, count);
  std::vector<PyObject*> args;
  for (size_t i = slots.first; i < frame.stack.size(); ++i) args.push_back(frame.stack[i].get());
  PyObject* function = slots.callable;
  if (PyMethod_Check(function)) {
    args.insert(args.begin(), PyMethod_GET_SELF(function));
    function = PyMethod_GET_FUNCTION(function);
  }
  if (!PyFunction_Check(function) ||
      PyFunction_GET_CODE(function) != reinterpret_cast<PyObject*>(code.code()))
    return false;
  PyObject* const kwnames =
      in.arg2 >= 0 ? frame.code->constants[static_cast<size_t>(in.arg2)].get() : nullptr;
  const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  Frame called = make_frame(function, args.data(), args.size() - named, kwnames);
  ++frame.ip;
  frame.stack.resize(frame.stack.size() - count - 2);
  state.frames.push_back(std::move(called));
  return true;
}

Ref called_name(PyObject* function) {
  return checked(PyObject_CallOneArg(protocol_function("called_name").get(), function));
}

namespace {

void call_ex(Frame& frame, bool has_keywords) {
  Ref keywords = has_keywords ? pop(frame) : Ref(), args = pop(frame);
  const CallSlots called = call_slots(frame, 0);
  if (!PyTuple_CheckExact(args.get()) && !Py_TYPE(args.get())->tp_iter && !PySequence_Check(args.get())) {
    PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s",
                 called_name(called.callable).get(), Py_TYPE(args.get())->tp_name);
    throw PythonError{};
  }
  if (!PyTuple_CheckExact(args.get())) args = checked(PySequence_Tuple(args.get()));
  if (keywords && !PyDict_CheckExact(keywords.get())) {
    Ref copy = checked(PyDict_New());
    check(PyDict_Update(copy.get(), keywords.get()));
    keywords = copy;
  }
  Ref callable = Ref::borrow(called.callable);
  Ref result = checked(
      python::calling_python([&] { return PyObject_Call(callable.get(), args.get(), keywords.get()); }));
  frame.stack.resize(frame.stack.size() - 2);
  push(frame, result);
}

void set_function_attribute(PyObject* object, int flag, const Ref& value) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  switch (flag) {
    case 1: check(PyFunction_SetDefaults(object, value.get())); break;
    case 2: check(PyFunction_SetKwDefaults(object, value.get())); break;
    case 4: Py_XSETREF(function->func_annotations, value.new_reference()); break;
    case 8: check(PyFunction_SetClosure(object, value.get())); break;
#if PY_VERSION_HEX >= 0x030E0000
    case 16: Py_XSETREF(function->func_annotate, value.new_reference()); break;
#endif
  }
}

void make_function(Frame& frame, int flags) {
  Ref code = pop(frame);
  Ref function = checked(PyFunction_New(code.get(), frame.globals.get()));
  for (int flag : {8, 4, 2, 1})
    if (flags & flag) set_function_attribute(function.get(), flag, pop(frame));
  push(frame, function);
}

bool has_flag(PyObject* object, unsigned long flag) { return (Py_TYPE(object)->tp_flags & flag) != 0; }

Ref match_keys(PyObject* keys, PyObject* subject) {
  Ref get = checked(PyObject_GetAttrString(subject, "get"));
  Ref missing = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  const Py_ssize_t count = PyTuple_GET_SIZE(keys);
  Ref values = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* args[] = {PyTuple_GET_ITEM(keys, i), missing.get()};
    Ref value = checked(PyObject_Vectorcall(get.get(), args, 2, nullptr));
    if (value == missing) return Ref::borrow(Py_None);
    PyTuple_SET_ITEM(values.get(), i, value.release());
  }
  return values;
}

// The attributes a class pattern extracts, or None when the subject does not match.
Ref match_class(PyObject* subject, PyObject* type, Py_ssize_t positional, PyObject* names) {
  const int is_instance = PyObject_IsInstance(subject, type);
  check(is_instance);
  if (!is_instance) return Ref::borrow(Py_None);
  Ref found = checked(PyList_New(0));
  if (positional > 0) {
    Ref match_args = Ref::steal(PyObject_GetAttrString(type, "__match_args__"));
    if (!match_args) {
      PyErr_Clear();
      match_args = checked(PyTuple_New(0));
    }
    constexpr unsigned long kMatchSelf = 1UL << 22;  // int, str, list, …: the subject itself
    if (PyTuple_GET_SIZE(match_args.get()) == 0 && positional == 1 &&
        (reinterpret_cast<PyTypeObject*>(type)->tp_flags & kMatchSelf) != 0) {
      check(PyList_Append(found.get(), subject));
    } else {
      if (PyTuple_GET_SIZE(match_args.get()) < positional) {
        PyErr_Format(PyExc_TypeError, "%s() accepts %zd positional sub-pattern%s (%zd given)",
                     reinterpret_cast<PyTypeObject*>(type)->tp_name, PyTuple_GET_SIZE(match_args.get()),
                     PyTuple_GET_SIZE(match_args.get()) == 1 ? "" : "s", positional);
        throw PythonError{};
      }
      for (Py_ssize_t i = 0; i < positional; ++i) {
        Ref value = Ref::steal(PyObject_GetAttr(subject, PyTuple_GET_ITEM(match_args.get(), i)));
        if (!value) {
          if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
          PyErr_Clear();
          return Ref::borrow(Py_None);
        }
        check(PyList_Append(found.get(), value.get()));
      }
    }
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    Ref value = Ref::steal(PyObject_GetAttr(subject, PyTuple_GET_ITEM(names, i)));
    if (!value) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
      PyErr_Clear();
      return Ref::borrow(Py_None);
    }
    check(PyList_Append(found.get(), value.get()));
  }
  return checked(PyList_AsTuple(found.get()));
}

}  // namespace

bool step_calls(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::Call:
      call(frame, static_cast<size_t>(in.arg),
           in.arg2 >= 0 ? frame.code->constants[static_cast<size_t>(in.arg2)].get() : nullptr);
      return true;
    case Op::CallKw: {
      Ref names = pop(frame);
      call(frame, static_cast<size_t>(in.arg), names.get());
      return true;
    }
    case Op::CallEx: call_ex(frame, (in.arg & 1) != 0); return true;
    case Op::MakeFunction: make_function(frame, in.arg); return true;
    case Op::SetFunctionAttribute: {
      Ref function = pop(frame), value = pop(frame);
      set_function_attribute(function.get(), in.arg, value);
      push(frame, function);
      return true;
    }
    case Op::MatchMapping:
    case Op::MatchSequence: {
      const unsigned long flag = in.op == Op::MatchMapping ? Py_TPFLAGS_MAPPING : Py_TPFLAGS_SEQUENCE;
      push(frame, Ref::borrow(has_flag(peek(frame, 1).get(), flag) ? Py_True : Py_False));
      return true;
    }
    case Op::MatchKeys: push(frame, match_keys(peek(frame, 1).get(), peek(frame, 2).get())); return true;
    case Op::MatchClass: {
      Ref names = pop(frame), type = pop(frame), subject = pop(frame);
      push(frame, match_class(subject.get(), type.get(), in.arg, names.get()));
      return true;
    }
    default: return false;
  }
}

}  // namespace weft::capture
