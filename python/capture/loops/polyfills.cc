// Polyfills: Python functions that native loops enter in place of functions that Python and NumPy have in C
// (weft/_loop_polyfills.py). Until one returns it has changed nothing that the program sees: what it cannot
// compute, and what raises, is Python's to perform, from the call on that it stands in for.
#include <algorithm>

#include "capture/loops/builder.h"
#include "capture/objects/made_once.h"

namespace weft::capture {

bool is_polyfill(const LoopFrame& frame) {
  static constinit InternedName key("__name__");
  PyObject* const module = PyDict_GetItemWithError(frame.globals, key);
  return module && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(module, "weft._loop_polyfills") == 0;
}

bool LoopBuilder::in_stand_in() const { return std::any_of(frames_.begin(), frames_.end(), stands_in); }

void LoopBuilder::note_effect() const {
  if (in_stand_in() && !is_polyfill(frames_.back()))
    unsupported("an update within a call that Python may perform once more");
}

std::pair<std::string, int> LoopBuilder::stood_in_for() const {
  const auto first = std::find_if(before_.begin(), before_.end(), stands_in);
  const LoopFrame& caller = *(first - 1);
  const auto found = stood_in_for_.find({caller.code, caller.ip});
  return {found == stood_in_for_.end() ? "" : found->second, caller.code->line(caller.ip)};
}

bool LoopBuilder::enter_polyfill(const Instruction& in, const std::string& why) {
  const std::vector<LoopFrame> now = frames_;
  frames_ = before_;
  Operands operands = operands_of_call(in);
  frames_ = now;
  if (operands.callable.kind != LoopKind::Const) return false;
  const Ref module = checked(PyImport_ImportModule("weft._loop_polyfills"));
  const Ref polyfills = checked(PyObject_GetAttrString(module.get(), "REPLACEMENTS"));
  PyObject* const object = PyDict_GetItemWithError(polyfills.get(), operands.callable.object);
  PyErr_Clear();  // what has no hash is none of them
  if (!object) return false;
  const auto* function = reinterpret_cast<PyFunctionObject*>(object);
  LoopFrame entered;
  entered.code = &decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  entered.globals = function->func_globals;
  entered.builtins = function->func_builtins;
  entered.role = LoopFrame::Role::StandIn;
  frames_ = before_;
  materialize_all();
  if (entered.code->is_generator) {
    ++frame().ip;
    operands = operands_of_call(in);
    const Keywords keywords = operands.take_keywords();
    push(made_generator(object, {}, std::move(operands.args), keywords));
    return true;
  }
  stood_in_for_[{frame().code, frame().ip}] = why;
  // The call stays what the frame around it does next.
  std::vector<LoopValue> stack = frame().stack;
  operands = operands_of_call(in);
  frame().stack = std::move(stack);
  const Keywords keywords = operands.take_keywords();
  enter(std::move(entered), {function->func_defaults, function->func_kwdefaults}, {},
        std::move(operands.args), keywords);
  return true;
}

void LoopBuilder::leave_stand_in() {
  materialize_all();
  LoopValue value = pop();
  frames_.pop_back();
  operands_of_call(frame().code->instructions[static_cast<size_t>(frame().ip)]);
  ++frame().ip;
  push(std::move(value));
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

}  // namespace weft::capture
