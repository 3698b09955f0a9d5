// The instructions performed for real, by family. Each handler pops its operands and pushes its results, or
// throws PythonError; false means that the family does not have the instruction.
#pragma once

#include <string>

#include "capture/perform/state.h"

namespace weft::capture {

bool step_data(Frame& frame, const Instruction& in);
bool step_names(Frame& frame, const Instruction& in);
bool step_control(Frame& frame, const Instruction& in);
bool step_calls(Frame& frame, const Instruction& in);

inline Ref pop(Frame& frame) {
  Ref top = std::move(frame.stack.back());
  frame.stack.pop_back();
  return top;
}
inline void push(Frame& frame, Ref value) { frame.stack.push_back(std::move(value)); }
inline Ref& peek(Frame& frame, int depth) {
  return frame.stack[frame.stack.size() - static_cast<size_t>(depth)];
}
inline void check(int result) {
  if (result < 0) throw PythonError{};
}

Ref tuple_of(const std::vector<Ref>& items);
// What Python calls the function in messages: "module.function()".
Ref called_name(PyObject* function);

// Of a list, tuple or dict, or 0.
size_t exact_length(PyObject* object);
// What Python says of more values than are unpacked; `length`: of a list, tuple or dict, which 3.14 tells, or 0.
std::string too_many_to_unpack(size_t wanted, size_t length);

// One arithmetic instruction on real objects (`arg` as in BINARY_OP).
Ref binary_operation(int arg, PyObject* a, PyObject* b);
// str, repr or ascii of the value, or the value itself, for conversions 1, 2, 3 and 0.
Ref convert_value(PyObject* value, int conversion);
Ref format_value(PyObject* value, int conversion, PyObject* specification);

}  // namespace weft::capture
