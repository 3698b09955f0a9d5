// Python sources that are entered in place of functions of NumPy's and the standard library's: where a graph
// would end within one of NumPy's, the whole call is NumPy's.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

namespace {

// A frame of weft's sources for NumPy's functions, or of NumPy's own; no function of the program's that these
// call.
bool is_of_numpy(const AbstractFrame& frame) {
  PyObject* name = PyDict_GetItemString(frame.globals.get(), "__name__");
  if (!name || !PyUnicode_Check(name)) return false;
  const std::string module = utf8(name);
  return module.starts_with("weft._entered.") || module == "numpy" || module.starts_with("numpy.");
}

}  // namespace

bool is_stand_in(PyObject* globals) {
  PyObject* const package = PyDict_GetItemString(globals, "__package__");
  return package && PyUnicode_Check(package) &&
         PyUnicode_CompareWithASCIIString(package, "weft._entered_library") == 0;
}

// Is a method of a stand-in under way?
bool Evaluator::is_in_stand_in() const {
  return std::any_of(frames_.begin(), frames_.end(),
                     [](const AbstractFrame& frame) { return is_stand_in(frame.globals.get()); });
}

void Evaluator::enter_for(const std::string& callable, PyObject* source, CallArgs args) {
  if (history_.knows({Lesson::Kind::NumpysCall, {frame().code, frame().ip - 1}}))
    graph_break(fmt::format("a call of {} with these arguments", callable));
  enter(source, std::move(args));
  frames_.back().stands_for_call = true;
}

bool is_call_of_custom_operator(PyFunctionObject* function) {
  PyObject* const module = PyDict_GetItemString(function->func_globals, "__name__");
  return module && PyUnicode_Check(module) &&
         (PyUnicode_CompareWithASCIIString(module, "weft.torch._ops") == 0 ||
          PyUnicode_CompareWithASCIIString(module, "weft.library._operators") == 0) &&
         PyUnicode_CompareWithASCIIString(function->func_name, "__call__") == 0;
}

// Where a graph would end within an operator that the program has made, the whole call is Python's.
void Evaluator::leave_custom_operator(size_t depth) {
  const auto first = std::find_if(frames_.begin(), frames_.end(),
                                  [](const AbstractFrame& at) { return at.is_custom_operator; });
  if (first == frames_.end() || first > frames_.begin() + static_cast<std::ptrdiff_t>(depth)) return;
  const AbstractFrame& caller = *(first - 1);
  const Lesson lesson = {Lesson::Kind::CustomOperator, {caller.code, caller.ip - 1}};
  if (!history_.knows(lesson)) begin_again(lesson, "the graph ends within a custom operator");
}

void Evaluator::leave_to_numpy(size_t depth) {
  leave_custom_operator(depth);
  const auto first = std::find_if(frames_.begin(), frames_.end(),
                                  [](const AbstractFrame& at) { return at.stands_for_call; });
  if (first == frames_.end() || first > frames_.begin() + static_cast<std::ptrdiff_t>(depth)) return;
  if (!std::all_of(first, frames_.end(), is_of_numpy)) return;
  const AbstractFrame& caller = *(first - 1);
  const Lesson lesson = {Lesson::Kind::NumpysCall, {caller.code, caller.ip - 1}};
  if (!history_.knows(lesson)) begin_again(lesson, "the graph ends within a function of NumPy's");
}

}  // namespace weft::capture
