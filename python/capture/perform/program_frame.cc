#include "capture/perform/program_frame.h"

#include <frameobject.h>

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe_structs.h>
#endif
#undef Py_BUILD_CORE

#include <algorithm>
#include <utility>

#include "capture/objects/made_once.h"

namespace weft::capture {

namespace {

using InterpreterFrame = ::_PyInterpreterFrame;

InterpreterFrame*& current_frame() {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_Get()->current_frame;
#else
  return PyThreadState_Get()->cframe->current_frame;
#endif
}

// Of a module of weft's, which stands for code that has no frames in Python.
bool is_hidden(const State& state, size_t f) {
  if (f == 0) return false;
  static constinit InternedName name("__name__");
  PyObject* module = PyDict_GetItemWithError(state.frames[f].globals.get(), name);
  return module && PyUnicode_Check(module) && utf8(module).starts_with("weft.");
}

PyFrameObject* object_of(const Frame& frame) {
  return reinterpret_cast<PyFrameObject*>(frame.python_frame.get());
}

bool is_held(const Frame& frame) { return frame.python_frame && Py_REFCNT(frame.python_frame.get()) > 1; }

PyFrameObject* make_object(Frame& frame) {
  if (!frame.python_frame)
    frame.python_frame = checked(reinterpret_cast<PyObject*>(
        PyFrame_New(PyThreadState_Get(), frame.code->code(), frame.globals.get(), nullptr)));
  return object_of(frame);
}

// Slots of locals, which own what they hold.
#if PY_VERSION_HEX >= 0x030E0000
// The lowest bit: the slot has no reference of its own, because the object is immortal, or lives as long for another reason.
constexpr uintptr_t kBorrowed = 1;

PyObject* object_in(_PyStackRef slot) { return reinterpret_cast<PyObject*>(slot.bits & ~kBorrowed); }

Ref exchange_slot(_PyStackRef& slot, PyObject* value) {
  PyObject* const before = object_in(slot);
  Ref result = (slot.bits & kBorrowed) != 0 ? Ref::borrow(before) : Ref::steal(before);
  const bool is_borrowed = !value || _Py_IsImmortal(value);
  slot.bits = reinterpret_cast<uintptr_t>(value) | (is_borrowed ? kBorrowed : 0);
  return result;
}
#else
PyObject* object_in(PyObject* slot) { return slot; }
Ref exchange_slot(PyObject*& slot, PyObject* value) { return Ref::steal(std::exchange(slot, value)); }
#endif

void set_position(const Frame& frame, int instruction) {
  auto* const at = reinterpret_cast<_Py_CODEUNIT*>(frame.code->code()->co_code_adaptive) +
                   frame.code->instructions[static_cast<size_t>(instruction)].offset / 2;
#if PY_VERSION_HEX >= 0x030D0000
  object_of(frame)->f_frame->instr_ptr = at;
#else
  object_of(frame)->f_frame->prev_instr = at;
#endif
}

// An outer frame's position is already behind its call.
int position(const State& state, size_t f, int at) {
  return f + 1 == state.frames.size() ? at : std::max(0, state.frames[f].ip - 1);
}

// What the frame object held before ends when it has what the frame holds.
void give_locals(Frame& frame) {
  auto* const slots = object_of(frame)->f_frame->localsplus;
  for (size_t i = 0; i < frame.locals.size(); ++i) exchange_slot(slots[i], frame.locals[i].release());
}

void take_locals(Frame& frame) {
  auto* const slots = object_of(frame)->f_frame->localsplus;
  const bool stay = is_held(frame);
  for (size_t i = 0; i < frame.locals.size(); ++i)
    frame.locals[i] = stay ? Ref::borrow(object_in(slots[i])) : exchange_slot(slots[i], nullptr);
}

// The frame object of the caller of frame f, as long as it is not linked in.
PyObject* caller_object(State& state, size_t f) {
  while (f-- > 0)
    if (!is_hidden(state, f)) return Py_NewRef(reinterpret_cast<PyObject*>(make_object(state.frames[f])));
  return reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get()));
}

void keep_caller(State& state, size_t f) {
  PyFrameObject* const object = object_of(state.frames[f]);
  if (!object->f_back) object->f_back = reinterpret_cast<PyFrameObject*>(caller_object(state, f));
}

}  // namespace

const Frame& program_frame(const State& state) {
  for (size_t f = state.frames.size(); f-- > 1;)
    if (!is_hidden(state, f)) return state.frames[f];
  return state.frames.front();
}

ProgramFrames::ProgramFrames(State& state, int at) : state_(state), caller_(current_frame()) {
  for (size_t f = 0; f < state.frames.size(); ++f)
    if (!is_hidden(state, f)) make_object(state.frames[f]);
  auto* previous = static_cast<InterpreterFrame*>(caller_);
  for (size_t f = 0; f < state.frames.size(); ++f) {
    Frame& frame = state.frames[f];
    if (is_hidden(state, f)) continue;
    set_position(frame, position(state, f, at));
    give_locals(frame);
    InterpreterFrame* const linked = object_of(frame)->f_frame;
    linked->frame_obj = object_of(frame);
    linked->owner = FRAME_OWNED_BY_THREAD;
    linked->previous = std::exchange(previous, linked);
  }
  current_frame() = previous;
}

ProgramFrames::~ProgramFrames() {
  current_frame() = static_cast<InterpreterFrame*>(caller_);
  for (size_t f = state_.frames.size(); f-- > 0;) {
    Frame& frame = state_.frames[f];
    if (is_hidden(state_, f)) continue;
    InterpreterFrame* const linked = object_of(frame)->f_frame;
    linked->previous = nullptr;
    linked->frame_obj = nullptr;
    linked->owner = FRAME_OWNED_BY_FRAME_OBJECT;
    take_locals(frame);
    if (is_held(frame)) keep_caller(state_, f);
  }
}

bool is_observed(const State& state) {
  return std::any_of(state.frames.begin(), state.frames.end(), is_held);
}

void add_traceback(State& state, size_t f, int instruction) {
  if (is_hidden(state, f)) return;
  Ref exception = take_exception();
  make_object(state.frames[f]);
  set_position(state.frames[f], instruction);
  keep_caller(state, f);
  set_exception(std::move(exception));
  PyTraceBack_Here(object_of(state.frames[f]));
}

void end_frame(State& state, size_t f, int instruction) {
  Frame& frame = state.frames[f];
  if (!is_held(frame)) return;
  set_position(frame, instruction);
  keep_caller(state, f);
  give_locals(frame);
}

}  // namespace weft::capture
