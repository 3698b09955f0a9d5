#include "capture/program_frame.h"

#include <algorithm>
#include <exception>
#include <map>

#include "capture/made_once.h"
#include "interpreter_lock.h"

namespace weft::capture {

namespace {

struct Action {
  void (*perform)(void*);
  void* context;
  std::exception_ptr error;  // other than Python's
};

PyObject* perform(PyObject* capsule, PyObject*) {
  auto* action = static_cast<Action*>(PyCapsule_GetPointer(capsule, nullptr));
  try {
    action->perform(action->context);
    Py_RETURN_NONE;
  } catch (const PythonError&) {
  } catch (abi::__forced_unwind&) {
    runtime::sleep_until_exit();
  } catch (...) {
    action->error = std::current_exception();
    PyErr_SetString(PyExc_SystemError, "an action failed");
  }
  return nullptr;
}

// A function `lambda action: action()` in whose frame the line is always `line`.
Ref make_function(const Frame& frame, int line) {
  static constinit MadeOnce<Ref> code;
  const Ref& own_code = code.get([] {
    const Ref globals = checked(PyDict_New());
    const Ref function =
        checked(PyRun_String("lambda action: action()", Py_eval_input, globals.get(), globals.get()));
    return Ref::borrow(PyFunction_GetCode(function.get()));
  });
  const Ref replace = checked(PyObject_GetAttrString(own_code.get(), "replace")),
            none = checked(PyTuple_New(0));
  const PyCodeObject* own = frame.code->code();
  const Ref changes = checked(Py_BuildValue("{s:O,s:O,s:i}", "co_filename", own->co_filename, "co_name",
                                            own->co_name, "co_firstlineno", line));
  const Ref changed = checked(PyObject_Call(replace.get(), none.get(), changes.get()));
  return checked(PyFunction_New(changed.get(), frame.globals.get()));
}

// The same one for all instructions of a line.
Ref function_of(const Frame& frame, int instruction) {
  static auto& functions =
      *new std::map<std::pair<const Code*, int>, Ref>;  // as long as the process, as Code is
  Ref& function = functions[{frame.code, std::max(1, frame.code->line(instruction))}];
  if (!function || PyFunction_GetGlobals(function.get()) != frame.globals.get())
    function = make_function(frame, std::max(1, frame.code->line(instruction)));
  return function;
}

// The exception that is set came through the frame made here, which is none of the program's.
void forget_frame() {
#if PY_VERSION_HEX >= 0x030C0000
  const Ref exception = Ref::steal(PyErr_GetRaisedException());
  const Ref traceback = Ref::steal(PyException_GetTraceback(exception.get()));
  if (traceback) {
    PyObject* next =
        reinterpret_cast<PyObject*>(reinterpret_cast<PyTracebackObject*>(traceback.get())->tb_next);
    PyException_SetTraceback(exception.get(), next ? next : Py_None);
  }
  PyErr_SetRaisedException(exception.new_reference());
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref held = Ref::steal(traceback);
  PyObject* next =
      held ? reinterpret_cast<PyObject*>(reinterpret_cast<PyTracebackObject*>(held.get())->tb_next) : nullptr;
  PyErr_Restore(type, value, Py_XNewRef(next));
#endif
}

}  // namespace

const Frame& program_frame(const State& state) {
  for (size_t f = state.frames.size(); f-- > 1;) {
    PyObject* module = PyDict_GetItemString(state.frames[f].globals.get(), "__name__");
    if (!module || !PyUnicode_Check(module) || utf8(module).rfind("weft.", 0) != 0) return state.frames[f];
  }
  return state.frames.front();
}

void in_program_frame(const State& state, int at, void (*act)(void*), void* context) {
  static constinit PyMethodDef method = {"action", perform, METH_NOARGS, nullptr};
  const Frame& frame = program_frame(state);
  // An outer frame's position is already behind its call.
  const int instruction = &frame == &state.frames.back() ? at : frame.ip - 1;
  Action action{.perform = act, .context = context, .error = {}};
  const Ref capsule = checked(PyCapsule_New(&action, nullptr, nullptr)),
            callable = checked(PyCFunction_New(&method, capsule.get())),
            function = function_of(frame, instruction);
  const Ref done =
      Ref::steal(python::calling_python([&] { return PyObject_CallOneArg(function.get(), callable.get()); }));
  if (done) return;
  if (action.error) {
    PyErr_Clear();
    std::rethrow_exception(action.error);
  }
  forget_frame();
  throw PythonError{};
}

}  // namespace weft::capture
