// The evaluator's main loop, jumps, names and containers.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "capture/bytecode/jumps.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/numpy_api.h"
#include "capture/perform/concrete.h"
#include "ops/tracer.h"

namespace weft::capture {

namespace {

constexpr int kMaxSteps = 200'000;  // instructions in one segment
constexpr int kMaxIdleSteps =
    2000;  // of them, in a loop, one after the other without an operation of the graph

std::shared_ptr<const std::string> file_of(const Code& code) {
  static auto& files = *new std::unordered_map<const Code*, std::shared_ptr<const std::string>>;
  auto& file = files[&code];
  if (!file) file = std::make_shared<const std::string>(code.file());
  return file;
}

// An iterator of the interpreter's own that an earlier segment has made: Python takes its next element.
bool is_begun(const V& iterator) {
  static constexpr std::string_view kTypes[] = {
      "odict_iterator",   "list_iterator",      "tuple_iterator", "range_iterator",       "dict_itemiterator",
      "dict_keyiterator", "dict_valueiterator", "set_iterator",   "list_reverseiterator", "zip",
      "enumerate"};
  return iterator->kind == Kind::Opaque &&
         std::find(std::begin(kTypes), std::end(kTypes), Py_TYPE(iterator->object.get())->tp_name) !=
             std::end(kTypes);
}

}  // namespace

V CallArgs::keyword(std::string_view name) const {
  for (const auto& [key, value] : keywords)
    if (key == name) return value;
  return nullptr;
}

Evaluator::Evaluator(const State& state, History& history, const Settings& settings)
    : settings_(settings),
      history_(history),
      variant_(std::make_shared<Variant>()),
      tracer_(utf8(state.frames.back().code->code()->co_name)),
      autocast_(ops::autocast()),
      grad_mode_(grad_mode()) {
  tracer_.follow_devices();
  for (size_t f = 0; f < state.frames.size(); ++f) {
    const Frame& from = state.frames[f];
    AbstractFrame frame{from.code, from.globals, from.builtins, {}, {}, from.ip, from.on_return, nullptr};
    const auto lazy = [&](const Ref& object, Source::Step step, size_t index, Ref key) -> V {
      if (!object) return nullptr;
      return lazy_value(object.get(), make_source({.step = step,
                                                   .base = {},
                                                   .frame = static_cast<int>(f),
                                                   .index = static_cast<int>(index),
                                                   .key = key,
                                                   .object = {},
                                                   .object2 = {}}));
    };
    for (size_t i = 0; i < from.locals.size(); ++i)
      frame.locals.push_back(lazy(from.locals[i], Source::Step::Local, i, from.code->local_names[i]));
    for (size_t i = 0; i < from.stack.size(); ++i)
      frame.stack.push_back(lazy(from.stack[i], Source::Step::Stack, i, Ref()));
    frame.extra = lazy(from.extra, Source::Step::Extra, 0, Ref());
    if (frame.extra) frame.extra = unify(frame.extra);
    frames_.push_back(std::move(frame));
  }
}

std::shared_ptr<Variant> Evaluator::evaluate() {
  ops::TracerScope scope(&tracer_);
  // Operators that are recorded cast as the state says where they are called; the program's changes of it
  // when the segment has run.
  struct ModesScope {
    ops::Autocast autocast = ops::autocast();
    GradMode grad = grad_mode();
    ~ModesScope() {
      ops::set_autocast(autocast);
      set_grad_mode(grad);
    }
  } modes_scope;
  std::string reason;
  bool is_planned = false, keeps_variables = false, is_last = false;
  while (true) {
    const size_t depth = frames_.size() - 1;
    const int at = frame().ip;
    const Code* code = frame().code;
    const bool in_stand_in =
        !history_.knows({Lesson::Kind::PythonsLibrary}) && is_stand_in(frame().globals.get());
    const Instruction& in = code->instructions[static_cast<size_t>(at)];
    advances_.clear();
    const Mark before = mark();
    place_ = {code, at};
    const Lesson pythons = {Lesson::Kind::PythonsInstruction, place_};
    try {
      if (history_.knows({Lesson::Kind::SeenObject, place_}))
        graph_break("the program looks at objects that it makes");
      if (in.op == Op::Return && frames_.size() == 1) {
        finish_return(is_unread_list(top()) ? top() : realize(top()));
        return variant_;
      }
      if (is_at_plain_loop()) {
        finish_break("thousands of its steps compute with Python's objects, not with arrays");
        variant_->enters_plain_loop = true;
        return variant_;
      }
      if (history_.knows({Lesson::Kind::PythonsInstruction, place_}) && !yielded_) {
        finish_break("an operation that ends the graph when it has had an effect");
        return variant_;
      }
      if (ends_at_loop(&reason)) {
        finish_break(reason.empty() ? "a loop that runs as native code" : reason);
        variant_->enters_loop = reason.empty();
        return variant_;
      }
      try {
        run_instruction();
      } catch (const PythonError&) {
        raise_pending();
      }
      check_generators();
      continue;
    } catch (const GraphBreak& signal) {
      reason = signal.reason;
      is_planned = signal.is_planned;
      is_last = signal.is_last;
      keeps_variables = signal.keeps_variables || is_last;
    } catch (const Error& error) {
      // A user error becomes NumPy's own when the operation is performed for real.
      reason = error.what();
    } catch (const AbstractRaise& raised) {
      frames_.resize(depth + 1);
      frame().ip = at;
      if (unwind_to_handler(raised.exception)) continue;
      is_planned = false;
      keeps_variables = true;
      reason = "an exception that the function does not catch";
    } catch (const CaptureAborted& aborted) {
      if (aborted.then != CaptureAborted::Then::EndEarlier) throw;
      begin_again(pythons, aborted.reason);
    }
    if (!is_planned)
      leave_to_numpy(depth);
    else if (settings_.fullgraph)
      leave_custom_operator(depth);  // what follows within it may be an end that is not planned
    // What a stand-in cannot do, or does not expect, the original does, and words what it raises.
    const bool is_call = in.op == Op::Call || in.op == Op::CallKw || in.op == Op::CallEx;
    if (in_stand_in && !is_call && in.op != Op::Raise) leave_library(reason);
    // The instruction has had effects, and cannot be evaluated to its end: the segment ends before it.
    if (!go_back(before)) begin_again(pythons, reason);
    frames_.resize(depth + 1);
    frame().ip = at;
    finish_break(reason, keeps_variables);
    variant_->ends_planned = is_planned;
    variant_->is_last = is_last;
    return variant_;
  }
}

void Evaluator::begin_again(const Lesson& lesson, std::string reason, CaptureAborted::Then otherwise) {
  const bool is_new = history_.learn(lesson);
  throw CaptureAborted{std::move(reason), is_new ? CaptureAborted::Then::CaptureAgain : otherwise};
}

void Evaluator::capture_as_constant(const V& number) {
  const bool is_new = history_.keep_constant(number->source->str());
  throw CaptureAborted{"a number that an operator must know",
                       is_new ? CaptureAborted::Then::CaptureAgain : CaptureAborted::Then::EndEarlier};
}

void Evaluator::leave_to_python(const Place& place, std::string reason) {
  if (!place.code) throw CaptureAborted{std::move(reason)};
  begin_again({Lesson::Kind::SeenObject, place}, std::move(reason));
}

void Evaluator::leave_library(std::string reason) {
  begin_again({Lesson::Kind::PythonsLibrary}, std::move(reason), CaptureAborted::Then::GiveUp);
}

void let_go(const V& value) {
  if (value && value->source && value->object && !is_identity_type(value->object.get()) &&
      !ends_quietly(value->object.get()))
    graph_break(fmt::format("the end of an object of type {}", Py_TYPE(value->object.get())->tp_name));
}

void Evaluator::release(const V& value) {
  if (!value || !value->source || !value->object) return;
  const auto step = value->source->step;
  if (step != Source::Step::Local && step != Source::Step::Stack) return;
  if (value->kind != Kind::Lazy && value->kind != Kind::Opaque && value->kind != Kind::Instance &&
      value->kind != Kind::List && value->kind != Kind::Tuple && value->kind != Kind::Dict)
    return;
  PyObject* const object = value->object.get();
  if (is_identity_type(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object)) return;
  if (!ends_quietly(object))
    graph_break(fmt::format("the end of an object of type {}", Py_TYPE(object)->tp_name));
  Guards& guards = variant_->guards;
  guards.add({.op = GuardOp::EndsQuietly, .a = guards.load(value->source)},
             fmt::format("the end of {} is not seen", value->source->str()));
}

void Evaluator::release_all(const AbstractFrame& frame) {
  for (const V& value : frame.locals) release(value);
}

bool Evaluator::is_at_plain_loop() {
  return history_.knows({Lesson::Kind::PlainLoop, {frame().code, frame().ip}}) && !yielded_ &&
         !is_in_stand_in();
}

// A loop that goes on and on without an operation of the graph is Python's: the segment is captured again, up
// to it.
void Evaluator::count_step() {
  if (++steps_taken_ > kMaxSteps) graph_break("a very long computation");
  const size_t nodes = tracer_.graph().body().nodes.size();
  idle_steps_ = nodes == std::exchange(num_nodes_, nodes) ? idle_steps_ + 1 : 0;
  if (idle_steps_ != kMaxIdleSteps || settings_.fullgraph || !settings_.is_usual() || is_in_stand_in())
    return;
  for (const AbstractFrame& frame : frames_) {
    const int head = outermost_loop(*frame.code, &frame == &frames_.back() ? frame.ip : frame.ip - 1);
    if (head < 0) continue;
    const Lesson lesson = {Lesson::Kind::PlainLoop, {frame.code, head}};
    if (!history_.knows(lesson)) begin_again(lesson, "a loop is Python's");
    break;
  }
}

void Evaluator::run_instruction() {
  const int at = frame().ip;
  const Instruction& in = frame().code->instructions[static_cast<size_t>(at)];
  tracer_.set_location({file_of(*frame().code), frame().code->line(at)});
  count_step();
  if (in.op == Op::Return) return execute_return();
  frame().ip = at + 1;
  execute(in);
}

// Does the innermost frame, which returns, leave the answer to others?
bool Evaluator::is_undecided() {
  return frame().on_return == OnReturn::Answer && realize(top())->is(Py_NotImplemented);
}

// What the innermost frame, which returns, gives its caller.
V Evaluator::returned_value() {
  if (frame().on_return != OnReturn::Instance) return top();
  if (!is_none(top())) graph_break("an __init__ that returns a value");
  return frame().extra;
}

void Evaluator::execute_return() {
  if (is_undecided()) {
    const V others = frame().extra;
    release_all(frame());
    frames_.pop_back();
    return ask_others(others);
  }
  V value = returned_value();
  release_all(frame());
  const bool is_discarded = frame().on_return == OnReturn::Discard;
  frames_.pop_back();
  if (!is_discarded) push(std::move(value));
}

void Evaluator::execute(const Instruction& in) {
  if (execute_special_methods(in) || execute_patterns(in) || execute_data(in) || execute_names(in) ||
      execute_control(in) || execute_calls(in) || execute_exceptions(in))
    return;
  graph_break(fmt::format("instruction {}", op_name(in.op)));
}

bool Evaluator::has_tensor_input() const {
  return std::any_of(variant_->inputs.begin(), variant_->inputs.end(),
                     [](const GraphInput& input) { return input.type == GraphInput::Type::Tensor; });
}

bool Evaluator::execute_control(const Instruction& in) {
  switch (in.op) {
    case Op::Nop: return true;
    case Op::PopTop:
      release(top());
      drop(1);
      return true;
    case Op::PushNull: push(nullptr); return true;
    case Op::Copy: push(top(in.arg)); return true;
    case Op::Swap: std::swap(top(1), top(in.arg)); return true;
    case Op::Jump: frame().ip = in.arg; return true;
    case Op::JumpBack:
      note_backward_jump(in.arg);
      frame().ip = in.arg;
      return true;
    case Op::PopJumpIfTrue:
    case Op::PopJumpIfFalse: {
      const bool jumps = truth(top()) == (in.op == Op::PopJumpIfTrue);
      if (jumps && in.arg < frame().ip) note_backward_jump(in.arg);
      drop(1);
      if (jumps) frame().ip = in.arg;
      return true;
    }
    case Op::PopJumpIfNone:
    case Op::PopJumpIfNotNone: {
      const bool jumps = is_none(top()) == (in.op == Op::PopJumpIfNone);
      drop(1);
      if (jumps) frame().ip = in.arg;
      return true;
    }
    case Op::JumpIfTrueOrPop:
    case Op::JumpIfFalseOrPop:
      if (truth(top()) == (in.op == Op::JumpIfTrueOrPop))
        frame().ip = in.arg;
      else
        drop(1);
      return true;
    case Op::GetIter: {
      V it = iterator(top());
      drop(1);
      push(it);
      return true;
    }
    case Op::ForIter: {
      if (is_begun(realize(top())))
        throw GraphBreak{.reason = "the next round of a loop", .is_planned = true};
      if (realize(top())->kind == Kind::Generator) iterator(top());
      V item = next(top());
      if (item) {
        push(item);
      } else {
        drop(1);
        frame().ip = in.arg;
      }
      return true;
    }
    default: return false;
  }
}

V Evaluator::load_global(PyObject* name) {
  const std::string key = fmt::format("{} {}", static_cast<const void*>(frame().globals.get()), utf8(name));
  if (auto found = global_stores_.find(key); found != global_stores_.end()) return found->second.second;
  PyObject* value = PyDict_GetItemWithError(frame().globals.get(), name);
  if (!value) value = PyDict_GetItemWithError(frame().builtins.get(), name);
  if (!value) graph_break(fmt::format("the name '{}' is not defined", utf8(name)));
  return lazy_value(value, make_source({.step = Source::Step::Global,
                                        .base = {},
                                        .key = Ref::borrow(name),
                                        .object = frame().globals,
                                        .object2 = frame().builtins}));
}

namespace {

// The name that a relative import stands for.
Ref absolute_name(PyObject* name, long level, PyObject* globals) {
  if (level == 0) return Ref::borrow(name);
  PyObject* const package = PyDict_GetItemString(globals, "__package__");
  if (!package || !PyUnicode_Check(package)) graph_break("a relative import outside of a package");
  std::string full = utf8(package);
  for (long i = 1; i < level; ++i) {
    const size_t dot = full.rfind('.');
    if (dot == std::string::npos) graph_break("a relative import beyond the package");
    full.resize(dot);
  }
  if (PyUnicode_GET_LENGTH(name) > 0) full += "." + utf8(name);
  return checked(PyUnicode_InternFromString(full.c_str()));
}

// A module of weft's, which does nothing but define its names when it is loaded; under PyTorch's name, too,
// where weft stands in for it.
bool is_part_of_weft(const std::string& name) {
  if (name.starts_with("weft.")) return true;
  if (!name.starts_with("torch.")) return false;
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const torch = PyDict_GetItemString(modules, "torch");
  return torch && torch == PyDict_GetItemString(modules, "weft.torch");
}

}  // namespace

// A module that is loaded already: importing it again has no effect, and gives what is found in sys.modules.
// The names that are taken from it and the level lie on the stack.
V Evaluator::import(PyObject* given) {
  const Ref from_list = constant(top(1)), level = constant(top(2));
  if (!from_list || !level) graph_break("an import that is not known");
  const Ref name = absolute_name(given, PyLong_AsLong(level.get()), frame().globals.get());
  // The program may have put another function in the place of __import__.
  const Ref importer = checked(PyUnicode_InternFromString("__import__"));
  PyObject* function = PyDict_GetItemWithError(frame().builtins.get(), importer.get());
  if (!function || !PyCFunction_Check(function)) graph_break("an import by another function");
  realize(lazy_value(function, make_source({.step = Source::Step::DictItem,
                                            .base = pinned_source(frame().builtins.get()),
                                            .key = importer,
                                            .object = {},
                                            .object2 = {}})));
  PyObject* modules = PyImport_GetModuleDict();
  const auto loaded = [&](const Ref& key) {
    PyObject* module = PyDict_GetItemWithError(modules, key.get());
    if (!module && is_part_of_weft(utf8(key.get()))) {
      checked(PyImport_Import(key.get()));
      module = PyDict_GetItemWithError(modules, key.get());
    }
    if (!module || !PyModule_CheckExact(module)) graph_break("an import");
    PyObject* dict = PyModule_GetDict(module);
    const bool has_hook = PyDict_GetItemString(dict, "__getattr__") != nullptr;
    if (has_hook && (!PyDict_GetItemString(dict, "__path__") || !PyDict_GetItemString(dict, "__spec__")))
      graph_break("an import of a module that has a __getattr__");
    return realize(lazy_value(module, make_source({.step = Source::Step::DictItem,
                                                   .base = pinned_source(modules),
                                                   .key = key,
                                                   .object = {},
                                                   .object2 = {}})));
  };
  V module = loaded(name);
  const std::string full = utf8(name.get());
  if (from_list.get() == Py_None) {
    if (full.find('.') == std::string::npos) return module;
    return loaded(checked(PyUnicode_InternFromString(full.substr(0, full.find('.')).c_str())));
  }
  // What a package does not have is imported as its part.
  PyObject* dict = PyModule_GetDict(module->object.get());
  for (Py_ssize_t i = 0; PyTuple_Check(from_list.get()) && i < PyTuple_GET_SIZE(from_list.get()); ++i)
    if (!PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(from_list.get(), i)) &&
        !(is_part_of_weft(full) && has_attribute(module, PyTuple_GET_ITEM(from_list.get(), i))))
      graph_break("an import of what is no entry of a module");
  return module;
}

void Evaluator::raise_unbound_local(size_t slot) {
  const std::string name = utf8(frame().code->local_names[slot].get());
  raise(PyExc_UnboundLocalError,
        {str_value(
            fmt::format("cannot access local variable '{}' where it is not associated with a value", name))},
        "an unbound local variable");
}

bool Evaluator::execute_names(const Instruction& in) {
  const auto slot = static_cast<size_t>(in.arg);
  switch (in.op) {
    case Op::LoadConst: push(const_value(frame().code->constants[slot])); return true;
    case Op::LoadFast:
      if (!frame().locals[slot]) raise_unbound_local(slot);
      push(frame().locals[slot]);
      return true;
    case Op::LoadFastAndClear: push(std::exchange(frame().locals[slot], nullptr)); return true;
    case Op::StoreFast:
      release(frame().locals[slot]);
      frame().locals[slot] = top();
      drop(1);
      return true;
    case Op::DeleteFast:
      if (!frame().locals[slot]) graph_break("an unbound local variable");
      release(frame().locals[slot]);
      frame().locals[slot] = nullptr;
      return true;
    case Op::LoadGlobal: push(load_global(name(in))); return true;
    case Op::StoreGlobal: {
      const std::string key =
          fmt::format("{} {}", static_cast<const void*>(frame().globals.get()), utf8(name(in)));
      if (!global_stores_.count(key)) global_order_.push_back(key);
      Ref place = checked(PyTuple_Pack(2, frame().globals.get(), name(in)));
      ++num_effects_;
      global_stores_[key] = {place, top()};
      drop(1);
      return true;
    }
    case Op::MakeCell: {
      V cell = make_value(Kind::Cell);
      cell->items = {frame().locals[slot]};
      frame().locals[slot] = cell;
      return true;
    }
    case Op::LoadDeref: {
      const V& cell = realize(frame().locals[slot]);
      if (cell->kind != Kind::Cell || !cell->items[0]) graph_break("an unbound closure variable");
      push(cell->items[0]);
      return true;
    }
    case Op::StoreDeref: {
      const V& cell = realize(frame().locals[slot]);
      if (cell->kind != Kind::Cell) graph_break("a closure variable without a cell");
      ++num_effects_;
      mark_dirty(cell);
      cell->items[0] = top();
      drop(1);
      return true;
    }
    case Op::LoadAssertionError: push(pinned(PyExc_AssertionError)); return true;
    case Op::ImportName: {
      const V module = import(name(in));
      drop(2);
      push(module);
      return true;
    }
    case Op::ImportFrom: {
      PyObject* module = realize(top())->is_const() ? top()->object.get() : nullptr;
      if (!module || !PyModule_Check(module) || !PyDict_GetItemWithError(PyModule_GetDict(module), name(in)))
        graph_break("an import of what is no entry of a module");
      push(attribute(top(), name(in)));
      return true;
    }
    default: return false;
  }
}

}  // namespace weft::capture
