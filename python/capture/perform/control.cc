// Names, attributes, jumps, exceptions and calls, performed for real.
#include <algorithm>
#include <utility>

#include "capture/objects/classes.h"
#include "capture/objects/lifetimes.h"
#include "capture/perform/concrete.h"
#include "capture/perform/program_frame.h"
#include "interpreter_lock.h"

namespace weft::capture {

namespace {

PyObject* name_of(const Frame& frame, const Instruction& in) {
  return frame.code->names[static_cast<size_t>(in.arg)].get();
}

// A NameError that says which name.
void set_name_error(const char* text, PyObject* name) {
  PyErr_Format(PyExc_NameError, text, name);
  const Ref error = take_exception();
  if (PyObject_SetAttrString(error.get(), "name", name) < 0) throw PythonError{};
  PyErr_SetObject(PyExc_NameError, error.get());
}

[[noreturn]] void raise_unbound(const Frame& frame, int slot) {
  const bool free = slot >= frame.code->num_locals - frame.code->num_free;
  PyObject* const name = frame.code->local_names[static_cast<size_t>(slot)].get();
  if (free)
    set_name_error(
        "cannot access free variable '%U' where it is not associated with a value in enclosing scope", name);
  else
    PyErr_Format(PyExc_UnboundLocalError,
                 "cannot access local variable '%U' where it is not associated with a value", name);
  throw PythonError{};
}

Ref load_global(const Frame& frame, PyObject* name) {
  PyObject* value = PyDict_GetItemWithError(frame.globals.get(), name);
  if (!value && !PyErr_Occurred()) value = PyDict_GetItemWithError(frame.builtins.get(), name);
  if (!value) {
    if (!PyErr_Occurred()) set_name_error("name '%U' is not defined", name);
    throw PythonError{};
  }
  return Ref::borrow(value);
}

Ref load_super(Frame& frame, PyObject* name) {
  Ref self = pop(frame), type = pop(frame), super = pop(frame);
  PyObject* args[] = {type.get(), self.get()};
  Ref proxy = checked(PyObject_Vectorcall(super.get(), args, 2, nullptr));
  return checked(PyObject_GetAttr(proxy.get(), name));
}

Ref import_from(PyObject* module, PyObject* name) {
  if (Ref value = Ref::steal(PyObject_GetAttr(module, name))) return value;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
  PyErr_Clear();
  PyObject* args[] = {module, name};
  Ref found = checked(PyObject_Vectorcall(protocol_function("import_elsewhere").get(), args, 2, nullptr));
  if (!PyObject_TypeCheck(found.get(), reinterpret_cast<PyTypeObject*>(PyExc_ImportError))) return found;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(found.get())), found.get());
  throw PythonError{};
}

bool step_cells(Frame& frame, const Instruction& in) {
  const auto slot = static_cast<size_t>(in.arg);
  switch (in.op) {
    case Op::MakeCell: frame.locals[slot] = checked(PyCell_New(frame.locals[slot].get())); return true;
    case Op::LoadDeref: {
      PyObject* value = PyCell_GET(frame.locals[slot].get());
      if (!value) raise_unbound(frame, in.arg);
      push(frame, Ref::borrow(value));
      return true;
    }
    default: return false;
  }
}

}  // namespace

bool step_names(Frame& frame, const Instruction& in) {
  const auto slot = static_cast<size_t>(in.arg);
  switch (in.op) {
    case Op::LoadConst: push(frame, frame.code->constants[slot]); return true;
    case Op::LoadFast:
      if (!frame.locals[slot]) raise_unbound(frame, in.arg);
      push(frame, frame.locals[slot]);
      return true;
    case Op::LoadFastAndClear: push(frame, std::exchange(frame.locals[slot], Ref())); return true;
    case Op::LoadGlobal: push(frame, load_global(frame, name_of(frame, in))); return true;
    case Op::StoreGlobal:
      check(PyDict_SetItem(frame.globals.get(), name_of(frame, in), pop(frame).get()));
      return true;
    case Op::DeleteGlobal:
      if (PyDict_DelItem(frame.globals.get(), name_of(frame, in)) < 0) {
        if (PyErr_ExceptionMatches(PyExc_KeyError))
          set_name_error("name '%U' is not defined", name_of(frame, in));
        throw PythonError{};
      }
      return true;
    case Op::LoadAttr:
      push(frame, checked(PyObject_GetAttr(pop(frame).get(), name_of(frame, in))));
      return true;
    case Op::LoadMethod: {
      Ref owner = pop(frame), method = checked(PyObject_GetAttr(owner.get(), name_of(frame, in)));
      push(frame, Ref());
      push(frame, method);
      return true;
    }
    case Op::StoreAttr: {
      Ref owner = pop(frame), value = pop(frame);
      check(PyObject_SetAttr(owner.get(), name_of(frame, in), value.get()));
      return true;
    }
    case Op::DeleteAttr: check(PyObject_SetAttr(pop(frame).get(), name_of(frame, in), nullptr)); return true;
    case Op::LoadSuperAttr: push(frame, load_super(frame, name_of(frame, in))); return true;
    case Op::LoadSuperMethod: {
      Ref method = load_super(frame, name_of(frame, in));
      push(frame, Ref());
      push(frame, method);
      return true;
    }
    case Op::ImportName: {
      Ref from_list = pop(frame), level = pop(frame);
      PyObject* name = name_of(frame, in);
      // Where the program has put its own function there, that one is called.
      PyObject* importer = PyDict_GetItemString(frame.builtins.get(), "__import__");
      if (!importer) {
        PyErr_SetString(PyExc_ImportError, "__import__ not found");
        throw PythonError{};
      }
      PyObject* args[] = {name, frame.globals.get(), Py_None, from_list.get(), level.get()};
      push(frame,
           checked(python::calling_python([&] { return PyObject_Vectorcall(importer, args, 5, nullptr); })));
      return true;
    }
    case Op::ImportFrom: {
      push(frame, import_from(peek(frame, 1).get(), name_of(frame, in)));
      return true;
    }
    case Op::LoadAssertionError: push(frame, Ref::borrow(PyExc_AssertionError)); return true;
    case Op::LoadBuildClass: {
      PyObject* build = PyDict_GetItemString(frame.builtins.get(), "__build_class__");
      if (!build) {
        PyErr_SetString(PyExc_NameError, "__build_class__ not found");
        throw PythonError{};
      }
      push(frame, Ref::borrow(build));
      return true;
    }
    default: return step_cells(frame, in);
  }
}

namespace {

bool truth(PyObject* value) {
  const int result = PyObject_IsTrue(value);
  check(result);
  return result != 0;
}

// `raise`, `raise X` and `raise X from Y`: leaves the exception set and throws.
[[noreturn]] void raise_exception(Frame& frame, int count) {
  if (count == 0) {
    Ref current = Ref::steal(PyErr_GetHandledException());
    if (!current || current.get() == Py_None)
      PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
    else
      set_exception(std::move(current));
    throw PythonError{};
  }
  Ref cause = count == 2 ? pop(frame) : Ref(), exception = pop(frame);
  if (PyExceptionClass_Check(exception.get())) exception = checked(PyObject_CallNoArgs(exception.get()));
  if (!PyExceptionInstance_Check(exception.get())) {
    PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    throw PythonError{};
  }
  if (cause) {
    if (PyExceptionClass_Check(cause.get())) cause = checked(PyObject_CallNoArgs(cause.get()));
    if (cause.get() == Py_None) {
      PyException_SetCause(exception.get(), nullptr);
    } else if (PyExceptionInstance_Check(cause.get())) {
      PyException_SetCause(exception.get(), cause.release());
    } else {
      PyErr_SetString(PyExc_TypeError, "exception causes must derive from BaseException");
      throw PythonError{};
    }
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  throw PythonError{};
}

bool is_caught_class(PyObject* type) {
  if (!PyTuple_Check(type)) return PyExceptionClass_Check(type);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); ++i)
    if (!PyExceptionClass_Check(PyTuple_GET_ITEM(type, i))) return false;
  return true;
}

// Each version of Python says in its own words what is missing.
[[noreturn]] void raise_as_with_does(PyObject* manager) {
  const Ref names = checked(PyDict_New());
  if (PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()) == 0 &&
      PyDict_SetItemString(names.get(), "manager", manager) == 0)
    Ref::steal(PyRun_String("with manager: pass", Py_file_input, names.get(), names.get()));
  const Ref exception = take_exception();
  PyException_SetTraceback(exception.get(), Py_None);
  set_exception(exception);
  throw PythonError{};
}

// What the class of a context manager has for a `with` statement.
Ref special_of(PyObject* manager, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  PyTypeObject* type = Py_TYPE(manager);
  PyObject* found = _PyType_Lookup(type, text.get());
  if (!found) raise_as_with_does(manager);
  const descrgetfunc get = Py_TYPE(found)->tp_descr_get;
  return get ? checked(get(found, manager, reinterpret_cast<PyObject*>(type))) : Ref::borrow(found);
}

bool step_exceptions(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::Raise: raise_exception(frame, in.arg);
    case Op::Reraise: {
      Ref exception = pop(frame);
      set_exception(std::move(exception));
      throw PythonError{};
    }
    case Op::PushExcInfo: {
      Ref exception = pop(frame), previous = Ref::steal(PyErr_GetHandledException());
      push(frame, previous ? previous : Ref::borrow(Py_None));
      PyErr_SetHandledException(exception.get());
      push(frame, exception);
      return true;
    }
    case Op::PopExcept: {
      Ref previous = pop(frame);
      PyErr_SetHandledException(previous.get() == Py_None ? nullptr : previous.get());
      return true;
    }
    case Op::CheckExcMatch: {
      Ref type = pop(frame);
      if (!is_caught_class(type.get())) {
        PyErr_SetString(PyExc_TypeError,
                        "catching classes that do not inherit from BaseException is not allowed");
        throw PythonError{};
      }
      const int matches = PyErr_GivenExceptionMatches(peek(frame, 1).get(), type.get());
      push(frame, Ref::borrow(matches ? Py_True : Py_False));
      return true;
    }
    case Op::WithExceptStart: {
      PyObject *exception = peek(frame, 1).get(), *exit = peek(frame, 4).get();
      Ref traceback = Ref::steal(PyException_GetTraceback(exception));
      PyObject* args[] = {reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception,
                          traceback ? traceback.get() : Py_None};
      push(frame,
           checked(python::calling_python([&] { return PyObject_Vectorcall(exit, args, 3, nullptr); })));
      return true;
    }
    case Op::BeforeWith: {
      Ref manager = pop(frame);
      const Ref enter = special_of(manager.get(), "__enter__");
      const Ref exit = special_of(manager.get(), "__exit__");
      Ref entered = checked(python::calling_python([&] { return PyObject_CallNoArgs(enter.get()); }));
      push(frame, exit);
      push(frame, entered);
      return true;
    }
    default: return false;
  }
}

}  // namespace

// Sets frame.ip for jumps; the caller has already moved it to the next instruction.
bool step_control(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::Nop: return true;
    case Op::PushNull: push(frame, Ref()); return true;
    case Op::Copy: push(frame, peek(frame, in.arg)); return true;
    case Op::Swap: std::swap(peek(frame, 1), peek(frame, in.arg)); return true;
    case Op::Jump:
    case Op::JumpBack: frame.ip = in.arg; return true;
    case Op::PopJumpIfTrue:
      if (truth(pop(frame).get())) frame.ip = in.arg;
      return true;
    case Op::PopJumpIfFalse:
      if (!truth(pop(frame).get())) frame.ip = in.arg;
      return true;
    case Op::PopJumpIfNone:
      if (pop(frame).get() == Py_None) frame.ip = in.arg;
      return true;
    case Op::PopJumpIfNotNone:
      if (pop(frame).get() != Py_None) frame.ip = in.arg;
      return true;
    case Op::JumpIfTrueOrPop:
    case Op::JumpIfFalseOrPop:
      if (truth(peek(frame, 1).get()) == (in.op == Op::JumpIfTrueOrPop))
        frame.ip = in.arg;
      else
        frame.stack.pop_back();
      return true;
    case Op::GetIter: push(frame, checked(PyObject_GetIter(pop(frame).get()))); return true;
    case Op::ForIter: {
      Ref item = Ref::steal(PyIter_Next(peek(frame, 1).get()));
      if (item) {
        push(frame, item);
      } else {
        if (PyErr_Occurred()) throw PythonError{};
        frame.stack.pop_back();
        frame.ip = in.arg;
      }
      return true;
    }
    default: return step_exceptions(frame, in);
  }
}

namespace {

// Nothing runs where it is let go.
bool is_quiet(const Ref& value) { return !value || Py_REFCNT(value.get()) > 1 || ends_quietly(value.get()); }

bool is_plain(const Ref& value) {
  return value && (PyLong_CheckExact(value.get()) || PyFloat_CheckExact(value.get()) ||
                   PyUnicode_CheckExact(value.get()));
}

// Does the instruction work on the frame's own variables or values, so that no code runs that could look at
// the frame?
bool is_frames_own(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::Nop:
    case Op::PushNull:
    case Op::Copy:
    case Op::Swap:
    case Op::LoadConst:
    case Op::LoadFast:
    case Op::LoadFastAndClear:
    case Op::LoadGlobal:
    case Op::LoadAssertionError:
    case Op::LoadBuildClass:
    case Op::MakeCell:
    case Op::LoadDeref:
    case Op::MakeFunction:
    case Op::SetFunctionAttribute:
    case Op::Is:
    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildSlice:
    case Op::ListAppend:
    case Op::Jump:
    case Op::JumpBack:
    case Op::PushExcInfo: return true;
    case Op::Binary:
    case Op::Compare: return is_plain(peek(frame, 1)) && is_plain(peek(frame, 2));
    case Op::Negative:
    case Op::Invert: return is_plain(peek(frame, 1));
    case Op::PopJumpIfTrue:
    case Op::PopJumpIfFalse:
    case Op::PopJumpIfNone:
    case Op::PopJumpIfNotNone: return PyBool_Check(peek(frame, 1).get());
    default: return false;
  }
}

// What the frame holds no longer where the instruction changes a variable or drops a value.
Ref take_out(Frame& frame, const Instruction& in) {
  const auto slot = static_cast<size_t>(in.arg);
  switch (in.op) {
    case Op::PopTop: return pop(frame);
    case Op::StoreFast: {
      Ref value = pop(frame);
      std::swap(frame.locals[slot], value);
      return value;
    }
    case Op::DeleteFast:
      if (!frame.locals[slot]) raise_unbound(frame, in.arg);
      return std::exchange(frame.locals[slot], Ref());
    case Op::StoreDeref: {
      Ref old = Ref::borrow(PyCell_GET(frame.locals[slot].get()));
      check(PyCell_Set(frame.locals[slot].get(), pop(frame).get()));
      return old;
    }
    default: {
      Ref old = Ref::borrow(PyCell_GET(frame.locals[slot].get()));
      if (!old) raise_unbound(frame, in.arg);
      check(PyCell_Set(frame.locals[slot].get(), nullptr));
      return old;
    }
  }
}

bool takes_out(Op op) {
  return op == Op::PopTop || op == Op::StoreFast || op == Op::DeleteFast || op == Op::StoreDeref ||
         op == Op::DeleteDeref;
}

void perform(Frame& frame, const Instruction& in) {
  if (step_data(frame, in) || step_names(frame, in) || step_control(frame, in) || step_calls(frame, in))
    return;
  PyErr_Format(PyExc_SystemError, "weft cannot perform instruction %s", std::string(op_name(in.op)).c_str());
  throw PythonError{};
}

// The innermost frame, which has returned.
Frame take_frame(State& state) {
  end_frame(state, state.frames.size() - 1, state.frames.back().ip);
  Frame ended = std::move(state.frames.back());
  state.frames.pop_back();
  return ended;
}

// The method of an operator has answered NotImplemented.
void ask_others(State& state) {
  const Ref others = take_frame(state).extra;
  std::vector<PyObject*> args;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others.get()); ++i)
    args.push_back(PyTuple_GET_ITEM(others.get(), i));
  state.frames.push_back(
      make_frame(protocol_function("ask_others").get(), args.data(), args.size(), nullptr));
}

// __init__ has returned a value: its caller raises.
void refuse_value_of_init(State& state, const Ref& value) {
  take_frame(state);
  PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", Py_TYPE(value.get())->tp_name);
  --state.frames.back().ip;  // which stands behind its call
  unwind(state);
}

}  // namespace

StepResult leave_frame(State& state, Ref value, Ref& result) {
  const Frame& frame = state.frames.back();
  if (frame.on_return == OnReturn::Answer && value.get() == Py_NotImplemented) {
    ask_others(state);
    return StepResult::Next;
  }
  if (frame.on_return == OnReturn::Instance && value.get() != Py_None) {
    refuse_value_of_init(state, value);
    return StepResult::Next;
  }
  Frame ended = take_frame(state);
  if (ended.on_return == OnReturn::Instance) value = std::move(ended.extra);
  const bool is_discarded = ended.on_return == OnReturn::Discard;
  if (state.frames.empty()) {
    result = std::move(value);
    return StepResult::Returned;
  }
  if (!std::all_of(ended.locals.begin(), ended.locals.end(), is_quiet)) {
    in_program_frames(state, state.frames.back().ip - 1, [&] { ended.locals.clear(); });
  }
  if (!is_discarded) push(state.frames.back(), std::move(value));
  return StepResult::Next;
}

StepResult step(State& state, Ref& result) {
  Frame& frame = state.frames.back();
  const Instruction& in = frame.code->instructions[static_cast<size_t>(frame.ip)];
  if (in.op == Op::Return) {
    return leave_frame(state, pop(frame), result);
  }
  const int instruction = frame.ip;
  try {
    ++frame.ip;
    if (takes_out(in.op)) {
      Ref old = take_out(frame, in);
      if (is_quiet(old) && !is_observed(state)) return StepResult::Next;
      in_program_frames(state, instruction, [&] { old = Ref(); });
    } else if (is_frames_own(frame, in)) {
      perform(frame, in);
    } else {
      in_program_frames(state, instruction, [&] { perform(frame, in); });
    }
  } catch (const PythonError&) {
    frame.ip = instruction;
    unwind(state);
  }
  return StepResult::Next;
}

}  // namespace weft::capture
