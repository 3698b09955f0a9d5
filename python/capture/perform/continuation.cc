// A frame's function is made anew with its own instructions behind a prologue that sets the stack and jumps
// to where the frame is. Its locals become arguments; cells come as a closure.
#include "capture/perform/continuation.h"

#include <opcode.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "capture/bytecode/jumps.h"
#include "capture/objects/made_once.h"
#include "capture/perform/program_frame.h"
#include "interpreter_lock.h"

#if PY_VERSION_HEX >= 0x030D0000
#include <opcode_ids.h>
#endif

namespace weft::capture {

namespace {

// Kinds of slots, in co_localspluskinds.
constexpr int kLocal = 0x20, kCell = 0x40, kFree = 0x80;

int kind_of(const Code& code, size_t slot) {
  return static_cast<uint8_t>(PyBytes_AS_STRING(code.code()->co_localspluskinds)[slot]);
}

const Instruction& instruction_at(const Frame& frame) {
  return frame.code->instructions[static_cast<size_t>(frame.ip)];
}

bool can_continue(const Frame& frame, bool is_innermost) {
  const Code& code = *frame.code;
  if (code.is_generator || frame.ip >= static_cast<int>(code.instructions.size()) || frame.ip == 0)
    return false;
  if ((code.code()->co_flags & CO_OPTIMIZED) == 0) return false;
  const Instruction& in = instruction_at(frame);
  // Some of CPython's instructions are several here.
  if (code.instructions[static_cast<size_t>(frame.ip - 1)].offset == in.offset) return false;
  // The slots below a call's arguments are read in more ways here than each CPython reads them.
  if (std::any_of(frame.stack.begin(), frame.stack.end(), [](const Ref& value) { return !value; }))
    return false;
  // What is pushed for the exception that is being handled tells places of the code. Where one is, an
  // exception leads to a COPY that takes it from the stack.
  const int offset = is_innermost ? in.offset : code.instructions[static_cast<size_t>(frame.ip - 1)].offset;
  const Handler* handler = code.find_handler(offset);
  if (handler && code.instructions[static_cast<size_t>(handler->target)].op == Op::Copy) return false;
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    const int kind = kind_of(code, i);
    if ((kind & (kCell | kFree)) == 0) continue;
    PyObject* cell = frame.locals[i].get();
    if (!cell || !PyCell_Check(cell)) return false;
    // An argument's cell is made anew: nobody else may have it.
    if ((kind & kLocal) != 0 && (Py_REFCNT(cell) > 1 || !PyCell_GET(cell))) return false;
  }
  return true;
}

class CodeWriter {
 public:
  // At least `units` of them.
  void add(int opcode, size_t arg = 0, size_t units = 1) {
    for (size_t unit = 4; unit > 1; --unit) {
      const size_t rest = arg >> (8 * (unit - 1));
      if (rest || unit <= units) write(EXTENDED_ARG, rest & 255);
    }
    write(opcode, arg & 255);
  }
  size_t units() const { return bytes_.size() / 2; }
  const std::string& bytes() const { return bytes_; }

 private:
  void write(int opcode, size_t arg) {
    bytes_ += static_cast<char>(opcode);
    bytes_ += static_cast<char>(arg);
  }
  std::string bytes_;
};

size_t unit_of(const Code& code, int instruction) {
  return static_cast<size_t>(code.instructions[static_cast<size_t>(instruction)].offset) / 2;
}

// Six bits a byte, the highest first; 64: there is more.
void write_number(std::string& table, size_t value, bool begins_entry = false) {
  const size_t start = table.size();
  int shift = 0;
  while (value >> (shift + 6)) shift += 6;
  for (; shift >= 0; shift -= 6) table += static_cast<char>((value >> shift & 63) | (shift > 0 ? 64 : 0));
  if (begins_entry) table[start] = static_cast<char>(table[start] | 128);
}

// The exception table of the code behind so many units.
std::string shifted_handlers(const Code& code, size_t units) {
  std::string table;
  for (const Handler& handler : code.handlers) {
    write_number(table, static_cast<size_t>(handler.start) / 2 + units, true);
    write_number(table, static_cast<size_t>(handler.end - handler.start) / 2);
    write_number(table, unit_of(code, handler.target) + units);
    write_number(table, static_cast<size_t>(handler.depth_of_cpython) << 1 | (handler.push_lasti ? 1 : 0));
  }
  return table;
}

// Of instructions that are on no line.
std::string without_lines(size_t units) {
  constexpr size_t kMost = 8, kNoLocation = 15;
  std::string result;
  for (; units > 0; units -= std::min(units, kMost))
    result += static_cast<char>(128 | kNoLocation << 3 | (std::min(units, kMost) - 1));
  return result;
}

std::string text_of(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

Ref bytes_of(const std::string& text) {
  return checked(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// Where a loop is left for, and the instructions there that a jump takes the place of.
struct Exits {
  std::vector<int> targets;  // instructions
  static constexpr size_t kJumpUnits = 3;
};

size_t num_units(const Code& code) {
  return static_cast<size_t>(PyBytes_GET_SIZE(checked(PyCode_GetCode(code.code())).get())) / 2;
}

// The locals of the function that calls it, by name.
PyObject* locals_of_caller(PyObject*, PyObject*) {
  const Ref frame = Ref::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  if (!frame) return PyDict_New();
  const Ref locals = Ref::steal(PyFrame_GetLocals(reinterpret_cast<PyFrameObject*>(frame.get())));
  Ref copy = Ref::steal(locals ? PyDict_New() : nullptr);
  if (!copy || PyDict_Update(copy.get(), locals.get()) < 0) return nullptr;
  return copy.release();
}

PyObject* locals_function() {
  static constinit PyMethodDef definition = {"locals_of_caller", locals_of_caller, METH_NOARGS, nullptr};
  static constinit MadeOnce<Ref> function;
  return function.get([] { return checked(PyCFunction_New(&definition, nullptr)); }).get();
}

// What a function returns that has left its loop: (exit_marker, number of the exit, locals).
PyObject* exit_marker() {
  static constinit MadeOnce<Ref> marker;
  return marker
      .get([] { return checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))); })
      .get();
}

void write_exit(CodeWriter& code, std::vector<Ref>& constants, size_t number) {
  const auto load = [&](Ref value) {
    code.add(LOAD_CONST, constants.size());
    constants.push_back(std::move(value));
  };
  load(Ref::borrow(exit_marker()));
  load(checked(PyLong_FromSize_t(number)));
#if PY_VERSION_HEX < 0x030D0000
  code.add(PUSH_NULL);
#endif
  load(Ref::borrow(locals_function()));
#if PY_VERSION_HEX >= 0x030D0000
  code.add(PUSH_NULL);
#endif
#if PY_VERSION_HEX < 0x030C0000
  code.add(PRECALL, 0);
  code.add(CACHE);
  constexpr int kCallCaches = 4;
#else
  constexpr int kCallCaches = 3;
#endif
  code.add(CALL, 0);
  for (int i = 0; i < kCallCaches; ++i) code.add(CACHE);
  code.add(BUILD_TUPLE, 3);
  code.add(RETURN_VALUE);
}

// The frame's function, which begins where the frame is and, where there are exits, ends at them; `args`: its
// arguments.
Ref continuation_of(const Frame& frame, std::vector<Ref>& args, const Exits& exits = {}) {
  const Code& code = *frame.code;
  PyCodeObject* old = code.code();
  std::vector<Ref> cells, cell_names, free_names, constants = code.constants;
  std::vector<size_t> unbound, cells_to_make;
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    const int kind = kind_of(code, i);
    const Ref& local = frame.locals[i];
    if ((kind & kLocal) == 0) {
      cells.push_back(local);
      free_names.push_back(code.local_names[i]);
      continue;
    }
    if ((kind & kCell) != 0) {
      cell_names.push_back(code.local_names[i]);
      cells_to_make.push_back(i);
      args.push_back(Ref::borrow(PyCell_GET(local.get())));
      continue;
    }
    if (!local) unbound.push_back(i);
    args.push_back(local ? local : Ref::borrow(Py_None));
  }
  CodeWriter prologue;
  if (!cells.empty()) prologue.add(COPY_FREE_VARS, cells.size());
  for (size_t i : cells_to_make) prologue.add(MAKE_CELL, i);
  prologue.add(RESUME);
  for (size_t i : unbound) prologue.add(DELETE_FAST, i);
  const auto nulls = code.null_above.find(frame.ip);
  for (size_t i = 0; i < frame.stack.size(); ++i) {
    prologue.add(LOAD_CONST, constants.size());
    constants.push_back(frame.stack[i]);
    if (nulls != code.null_above.end() && std::ranges::count(nulls->second, static_cast<int>(i)) > 0)
      prologue.add(PUSH_NULL);
  }
  prologue.add(JUMP_FORWARD, unit_of(code, frame.ip));
  std::string body = text_of(checked(PyCode_GetCode(old)).get());
  CodeWriter ends;
  for (size_t k = 0; k < exits.targets.size(); ++k) {
    const size_t from = unit_of(code, exits.targets[k]);
    CodeWriter jump;
    jump.add(JUMP_FORWARD, body.size() / 2 + ends.units() - from - Exits::kJumpUnits, Exits::kJumpUnits);
    body.replace(2 * from, jump.bytes().size(), jump.bytes());
    write_exit(ends, constants, k);
  }
  const size_t units = prologue.units();
  const Ref changed = checked(PyDict_New());
  const auto set = [&](const char* name, const Ref& value) {
    if (PyDict_SetItemString(changed.get(), name, value.get()) < 0) throw PythonError{};
  };
  const auto number = [](size_t value) { return checked(PyLong_FromSize_t(value)); };
  set("co_code", bytes_of(prologue.bytes() + body + ends.bytes()));
  set("co_exceptiontable", bytes_of(shifted_handlers(code, units)));
  set("co_linetable",
      bytes_of(without_lines(units) + text_of(old->co_linetable) + without_lines(ends.units())));
  set("co_consts", tuple_of(constants));
  set("co_cellvars", tuple_of(cell_names));
  set("co_freevars", tuple_of(free_names));
  set("co_argcount", number(args.size()));
  set("co_posonlyargcount", number(0));
  set("co_kwonlyargcount", number(0));
  set("co_flags", number(static_cast<size_t>(old->co_flags & ~(CO_VARARGS | CO_VARKEYWORDS))));
  set("co_stacksize", number(static_cast<size_t>(old->co_stacksize) + 4));
  const Ref replace = checked(PyObject_GetAttrString(code.object.get(), "replace"));
  const Ref made = checked(PyObject_Call(replace.get(), checked(PyTuple_New(0)).get(), changed.get()));
  Ref function = checked(PyFunction_NewWithQualName(made.get(), frame.globals.get(), old->co_qualname));
  if (!cells.empty() && PyFunction_SetClosure(function.get(), tuple_of(cells).get()) < 0) throw PythonError{};
  return function;
}

// What the frame holds is the function's then.
Ref call_continuation(Frame& frame, const Exits& exits) {
  std::vector<Ref> args;
  const Ref function = continuation_of(frame, args, exits);
  std::vector<PyObject*> pointers;
  for (const Ref& arg : args) pointers.push_back(arg.get());
  for (size_t i = 0; i < frame.locals.size(); ++i)
    if ((kind_of(*frame.code, i) & (kCell | kFree)) == 0) frame.locals[i] = Ref();
  frame.stack.clear();
  return checked(python::calling_python(
      [&] { return PyObject_Vectorcall(function.get(), pointers.data(), pointers.size(), nullptr); }));
}

// The innermost frame's, called by the frame around it.
Ref call_innermost(State& state, const Exits& exits) {
  Frame innermost = std::move(state.frames.back());
  state.frames.pop_back();
  Ref value;
  try {
    std::optional<ProgramFrames> around;
    if (!state.frames.empty()) around.emplace(state, state.frames.back().ip - 1);
    value = call_continuation(innermost, exits);
  } catch (const PythonError&) {
  }
  state.frames.push_back(std::move(innermost));
  if (!value) throw PythonError{};
  return value;
}

Exits exits_of(const Code& code, int head) {
  const int end = loop_end(code, head), count = static_cast<int>(code.instructions.size());
  std::set<int> targets;
  if (end < count && code.instructions[static_cast<size_t>(end - 1)].op != Op::JumpBack) targets.insert(end);
  for (int i = head; i < end; ++i) {
    const Instruction& in = code.instructions[static_cast<size_t>(i)];
    if (is_jump(in.op) && (in.arg < head || in.arg >= end)) targets.insert(in.arg);
  }
  return {{targets.begin(), targets.end()}};
}

// Nothing leads into the middle of what the jumps take the place of.
bool can_be_left(const Code& code, const Exits& exits) {
  const auto count = static_cast<int>(code.instructions.size());
  const auto size = num_units(code);
  for (const int target : exits.targets) {
    if (target >= count || (target > 0 && unit_of(code, target - 1) == unit_of(code, target))) return false;
    const size_t begin = unit_of(code, target), end = begin + Exits::kJumpUnits;
    if (end > size) return false;
    const auto is_within = [&](int other) {
      return other < count && unit_of(code, other) > begin && unit_of(code, other) < end;
    };
    for (const int other : jump_targets(code))
      if (is_within(other)) return false;
    for (const Handler& handler : code.handlers)
      if (is_within(handler.target)) return false;
  }
  return true;
}

// The innermost frame's function has raised.
void leave_by_exception(State& state) {
  state.frames.pop_back();
  if (state.frames.empty()) throw PythonError{};
  --state.frames.back().ip;  // the call
  unwind(state);
}

}  // namespace

bool can_continue_in_python(const State& state) {
  if (is_observed(state)) return false;
  for (size_t i = 0; i < state.frames.size(); ++i)
    if (!can_continue(state.frames[i], i + 1 == state.frames.size())) return false;
  return true;
}

StepResult continue_in_python(State& state, Ref& result) {
  while (true) {
    Ref value;
    try {
      value = call_innermost(state, {});
    } catch (const PythonError&) {
      leave_by_exception(state);
      return StepResult::Next;
    }
    if (leave_frame(state, std::move(value), result) == StepResult::Returned) return StepResult::Returned;
  }
}

bool can_continue_loop(const State& state) {
  const Frame& frame = state.frames.back();
  const int head = outermost_loop(*frame.code, frame.ip);
  if (head < 0 || is_observed(state) || !can_continue(frame, true)) return false;
  // Functions that the loop makes would hold another cell than the one the frame goes on with.
  for (size_t i = 0; i < frame.locals.size(); ++i)
    if ((kind_of(*frame.code, i) & kLocal) != 0 && (kind_of(*frame.code, i) & kCell) != 0) return false;
  // Behind the loop the stack is empty: all that is on it are the loops' iterators.
  size_t iterators = 0;
  for (int i = head; i <= frame.ip; ++i) {
    const bool is_for = frame.code->instructions[static_cast<size_t>(i)].op == Op::ForIter;
    if (is_for && loop_end(*frame.code, i) > frame.ip) ++iterators;
  }
  return frame.stack.size() == iterators && can_be_left(*frame.code, exits_of(*frame.code, head));
}

StepResult continue_loop_in_python(State& state, Ref& result) {
  const Code& code = *state.frames.back().code;
  const Exits exits = exits_of(code, outermost_loop(code, state.frames.back().ip));
  Ref value;
  try {
    value = call_innermost(state, exits);
  } catch (const PythonError&) {
    leave_by_exception(state);
    return StepResult::Next;
  }
  PyObject* o = value.get();
  if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) != 3 || PyTuple_GET_ITEM(o, 0) != exit_marker())
    return leave_frame(state, std::move(value), result);
  Frame& frame = state.frames.back();
  PyObject* locals = PyTuple_GET_ITEM(o, 2);
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    if ((kind_of(code, i) & kLocal) != 0)
      frame.locals[i] = Ref::borrow(PyDict_GetItemWithError(locals, code.local_names[i].get()));
  }
  frame.ip = exits.targets[PyLong_AsSize_t(PyTuple_GET_ITEM(o, 1))];
  return StepResult::Next;
}

}  // namespace weft::capture
