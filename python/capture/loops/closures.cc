// Functions that native loops make (a lambda, a comprehension's), and generators of theirs and of the
// program's: where a generator goes on is a part of its type, so that each of its suspensions is a block of
// its own.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

PyFunctionObject* function_of(const LoopValue& value) {
  return reinterpret_cast<PyFunctionObject*>(value.object);
}

bool holds_closure(const LoopValue& value, const PyObject* object) {
  if (value.kind == LoopKind::Closure && value.object == object) return true;
  return std::any_of(value.items.begin(), value.items.end(),
                     [&](const LoopValue& item) { return holds_closure(item, object); });
}

}  // namespace

LoopValue LoopBuilder::made_function(const LoopValue& code, const LoopValue& closure) {
  if (code.kind != LoopKind::Const || !PyCode_Check(code.object))
    unsupported("a function of what is not known");
  for (const LoopValue& cell : closure.items)
    if (cell.kind != LoopKind::Cell) unsupported("a function over what is no closure variable");
  PyObject*& made = made_functions_[{code.object, frame().globals}];
  if (!made) {
    result_.kept.push_back(checked(PyFunction_New(code.object, frame().globals)));
    made = result_.kept.back().get();
  }
  LoopValue function;
  function.kind = LoopKind::Closure;
  function.object = made;
  function.items = closure.items;
  return function;
}

// One variable at most holds a function that the loop makes: in the next round it is another.
void LoopBuilder::note_in_variable(const LoopValue& value) const {
  if (value.kind == LoopKind::Method) unsupported("a method in a variable");
  if (value.kind == LoopKind::Generator || value.kind == LoopKind::Rest)
    unsupported("a generator or iterator in a variable");
  if (value.kind == LoopKind::Dict) unsupported("a dict in a variable");
  for (const LoopValue& item : value.items) note_in_variable(item);
  if (value.kind != LoopKind::Closure) return;
  for (const LoopFrame& frame : frames_)
    for (const std::vector<LoopValue>* values : {&frame.locals, &frame.stack})
      for (const LoopValue& other : *values)
        if (holds_closure(other, value.object)) unsupported("a function in two variables");
}

void LoopBuilder::call_closure(const LoopValue& closure, std::vector<LoopValue> args,
                               const Keywords& keywords) {
  for (LoopValue& arg : args) arg = materialized(arg);
  parts_.insert(parts_.end(), args.begin(), args.end());
  materialize_all();
  const PyFunctionObject* function = function_of(closure);
  LoopFrame entered;
  entered.code = &decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  entered.globals = function->func_globals;
  entered.builtins = function->func_builtins;
  if (entered.code->is_generator)
    return push(made_generator(closure.object, closure.items, std::move(args), keywords));
  enter(std::move(entered), {}, closure.items, std::move(args), keywords);
}

LoopValue LoopBuilder::made_generator(PyObject* object, const std::vector<LoopValue>& cells,
                                      std::vector<LoopValue> args, const Keywords& keywords) {
  const auto* function = reinterpret_cast<PyFunctionObject*>(object);
  const Code& code = decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  if (!code.is_generator || code.var_args || code.keyword_only > 0 || code.iterates_argument)
    unsupported("a generator of this function");
  LoopValue generator;
  generator.kind = LoopKind::Generator;
  generator.object = object;
  generator.index = 0;
  generator.items = bound_arguments(code, {function->func_defaults, nullptr}, std::move(args), keywords);
  generator.items.resize(static_cast<size_t>(code.num_locals - code.num_free));
  generator.items.insert(generator.items.end(), cells.begin(), cells.end());
  result_.kept.push_back(Ref::borrow(object));
  entered_.insert(&code);
  return generator;
}

// The generator on top of the stack goes on. An exit cannot hand Python one that has begun.
void LoopBuilder::resume() {
  if (!in_stand_in()) unsupported("iteration over a generator");
  if (frames_.size() >= kMaxCallDepth) unsupported("calls that are nested deeply");
  materialize_all();
  LoopValue& generator = top();
  const PyFunctionObject* function = function_of(generator);
  LoopFrame entered;
  entered.code = &decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  entered.globals = function->func_globals;
  entered.builtins = function->func_builtins;
  entered.role = LoopFrame::Role::Generator;
  entered.ip = generator.index;
  const auto num_locals = static_cast<std::ptrdiff_t>(entered.code->num_locals);
  entered.locals.assign(generator.items.begin(), generator.items.begin() + num_locals);
  entered.stack.assign(generator.items.begin() + num_locals, generator.items.end());
  if (generator.index > 0) entered.stack.push_back(loop_const(Py_None));  // what `yield` gives
  generator.items.clear();
  frames_.push_back(std::move(entered));
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

void LoopBuilder::yield_value() {
  if (frame().role != LoopFrame::Role::Generator) unsupported("instruction Yield");
  materialize_all();
  LoopValue value = pop();
  std::vector<LoopFrame> suspended{std::move(frames_.back())};
  frames_.pop_back();
  drop_dead(suspended);
  LoopValue& generator = top();
  generator.index = suspended[0].ip;
  generator.items = std::move(suspended[0].locals);
  generator.items.insert(generator.items.end(), suspended[0].stack.begin(), suspended[0].stack.end());
  push(std::move(value));
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

// On behind the loop that goes over it.
void LoopBuilder::end_generator() {
  frames_.pop_back();
  pop();
  frame().ip = frame().code->instructions[static_cast<size_t>(frame().ip) - 1].arg;
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

}  // namespace weft::capture
