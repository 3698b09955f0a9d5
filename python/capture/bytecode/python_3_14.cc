// What CPython 3.14 added.
#include "capture/bytecode/decoder.h"

#if PY_VERSION_HEX >= 0x030E0000

namespace weft::capture {

namespace {

constexpr int kSubscript = 26;  // of BINARY_OP
constexpr int kEnter = 0, kExit = 1;  // of LOAD_SPECIAL

// `opcode._common_constants`.
Ref common_constant(int number) {
  const Ref module = checked(PyImport_ImportModule("opcode"));
  const Ref all = checked(PyObject_GetAttrString(module.get(), "_common_constants"));
  return checked(PySequence_GetItem(all.get(), number));
}

bool has_slice(PyObject* value) {
  if (!PyTuple_CheckExact(value)) return PySlice_Check(value);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
    if (has_slice(PyTuple_GET_ITEM(value, i))) return true;
  return false;
}

// `with` is six instructions, which end with the call of __enter__: (manager) -> (__exit__, self, what it gives). The method is
// bound here: the slot of its self is a hidden one.
constexpr Raw kWith[] = {{COPY, 1}, {LOAD_SPECIAL, kExit}, {SWAP, 2}, {SWAP, 3}, {LOAD_SPECIAL, kEnter}, {CALL, 0}};

}  // namespace

bool is_with(std::span<const Raw> raw, size_t at) {
  for (size_t i = 0; i < std::size(kWith); ++i)
    if (at + i >= raw.size() || raw[at + i].opcode != kWith[i].opcode || raw[at + i].arg != kWith[i].arg) return false;
  return true;
}

bool ends_with(std::span<const Raw> raw, size_t at) {
  return at + 1 >= std::size(kWith) && is_with(raw, at + 1 - std::size(kWith));
}

// Slices of constants are constants, and so are tuples of them: they are built, as before 3.14.
void Decoder::load_slices(PyObject* value) {
  if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    load_constant(Ref::borrow(slice->start));
    load_constant(Ref::borrow(slice->stop));
    if (slice->step != Py_None) load_constant(Ref::borrow(slice->step));
    emit(Op::BuildSlice, slice->step != Py_None ? 3 : 2);
  } else if (has_slice(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) load_slices(PyTuple_GET_ITEM(value, i));
    emit(Op::BuildTuple, static_cast<int>(PyTuple_GET_SIZE(value)));
  } else {
    load_constant(Ref::borrow(value));
  }
}

bool Decoder::lower_of_3_14(int opcode, int arg) {
  if (is_with(raw_, at_)) left_of_with_ = std::size(kWith);
  if (left_of_with_ > 0) {
    emit(--left_of_with_ > 0 ? Op::Nop : Op::BeforeWith);
    return true;
  }
  switch (opcode) {
    case NOT_TAKEN: emit(Op::Nop); return true;
    case POP_ITER: emit(Op::PopTop); return true;
    case LOAD_CONST: {
      PyObject* const value = code_.constants[static_cast<size_t>(arg)].get();
      if (!has_slice(value)) return false;
      load_slices(value);
      return true;
    }
    case LOAD_SMALL_INT: load_constant(checked(PyLong_FromLong(arg))); return true;
    case LOAD_COMMON_CONSTANT: {
      Ref value = common_constant(arg);
      // Where any(), all() and tuple() of a generator expression are what they were, CPython goes over the
      // generator in the caller. Here they are always called, as before.
      const bool is_asked_for = at_ + 1 < raw_.size() && raw_[at_ + 1].opcode == IS_OP;
      if (is_asked_for)
        load_constant(Ref::borrow(Py_None));
      else if (value.get() == PyExc_AssertionError)
        emit(Op::LoadAssertionError);
      else
        load_constant(std::move(value));
      return true;
    }
    case LOAD_FAST_BORROW: emit(Op::LoadFast, arg); return true;
    case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
      emit(Op::LoadFast, arg >> 4);
      emit(Op::LoadFast, arg & 15);
      return true;
    case BINARY_OP:
      if (arg != kSubscript) return false;
      emit(Op::Subscript);
      return true;
    // Without keyword arguments a null lies in their place.
    case CALL_FUNCTION_EX: {
      const bool has_keywords = raw_[at_ - 1].opcode != PUSH_NULL;
      if (!has_keywords) code_.instructions.back().op = Op::Nop;
      emit(Op::CallEx, has_keywords ? 1 : 0);
      return true;
    }
    case BUILD_INTERPOLATION: emit(Op::BuildInterpolation, arg >> 2, arg & 1); return true;
    case BUILD_TEMPLATE: emit(Op::BuildTemplate); return true;
  }
  return false;
}

}  // namespace weft::capture

#endif
