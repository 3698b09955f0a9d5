// Exceptions raised and caught inside a segment, context managers, and generators that are used up at once.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "capture/evaluate/awaiting.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/made_once.h"
#include "weft/error.h"

namespace weft::capture {

// An exception of a class whose construction has no side effects; an __init__ of the program's own is not
// called.
V Evaluator::make_exception(PyTypeObject* type, std::vector<V> args) {
  static constinit InternedName make("__new__");
  PyObject* found = _PyType_Lookup(type, make);
  if (!found || PyFunction_Check(found) || Py_TYPE(found) == &PyStaticMethod_Type)
    graph_break(fmt::format("a call of {}", callable_name(reinterpret_cast<PyObject*>(type))));
  V exception = make_value(Kind::Exception);
  exception->object_type = type;
  exception->items = std::move(args);
  return exception;
}

// Class(*args): null when a frame was pushed, of its __init__.
V Evaluator::construct_exception(PyTypeObject* type, CallArgs args) {
  static constinit InternedName name("__init__");
  PyObject* init = _PyType_Lookup(type, name);
  const bool is_python = init && PyFunction_Check(init);
  if (!is_python && !args.keywords.empty())
    graph_break(
        fmt::format("a call of {} with keyword arguments", callable_name(reinterpret_cast<PyObject*>(type))));
  V exception = make_exception(type, args.args);
  if (!is_python) return exception;
  pin_type(type);
  args.args.insert(args.args.begin(), exception);
  enter(init, std::move(args), OnReturn::Instance, exception);
  return nullptr;
}

V Evaluator::make_exception_now(PyTypeObject* type) {
  const size_t depth = frames_.size();
  V exception = construct_exception(type, {});
  return exception ? exception : run_to_return(depth);
}

// BaseException.__init__
V initialize_exception(const V& exception, CallArgs& args) {
  const initproc plain = reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_init;
  PyTypeObject* builtin = exception->object_type;
  while ((builtin->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0) builtin = builtin->tp_base;
  if (exception->source || builtin->tp_init != plain || !args.keywords.empty())
    graph_break("a call of __init__ of an exception");
  exception->items = args.args;
  return none_value();
}

bool Evaluator::has_handler() const {
  if (awaited_exceptions_ > 0) return true;
  for (size_t f = 0; f < frames_.size(); ++f) {
    const AbstractFrame& frame = frames_[f];
    // An instruction being executed has moved ip on; outer frames stand behind their call.
    const int at = frame.ip - 1;
    if (at >= 0 && frame.code->find_handler(frame.code->instructions[static_cast<size_t>(at)].offset))
      return true;
  }
  return false;
}

void Evaluator::raise(PyObject* type, std::vector<V> args, const std::string& reason) {
  if (!has_handler()) graph_break(reason);
  throw AbstractRaise{make_exception(reinterpret_cast<PyTypeObject*>(type), std::move(args))};
}

void Evaluator::raise_pending() {
  Ref exception = take_exception();
  if (is_of_signal(exception.get())) {
    set_exception(std::move(exception));
    clear_error();
    graph_break("a signal arrived");
  }
  const std::string reason = fmt::format("the operation raises {}", short_repr(exception.get()));
  auto* type_object = Py_TYPE(exception.get());
  if (!has_handler() || (type_object->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0) graph_break(reason);
  Ref args = checked(PyObject_GetAttrString(exception.get(), "args"));
  std::vector<V> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    values.push_back(pinned(PyTuple_GET_ITEM(args.get(), i)));
  throw AbstractRaise{make_exception(type_object, std::move(values))};
}

bool Evaluator::unwind_to_handler(const V& exception, size_t lowest) {
  // frame().ip is the raising instruction; outer frames stand behind their call.
  for (size_t f = frames_.size(); f-- > lowest;) {
    AbstractFrame& at = frames_[f];
    const int instruction = f + 1 == frames_.size() ? at.ip : at.ip - 1;
    const int offset = at.code->instructions[static_cast<size_t>(instruction)].offset;
    const Handler* handler = at.code->find_handler(offset);
    if (!handler && at.stands_for_call) return false;  // NumPy raises its own
    if (!handler) continue;
    if (exception->kind == Kind::Exception && !exception->context && exception != handled_) {
      static constinit MadeOnce<V> before;
      exception->context = handled_ ? handled_ : before.get([] { return make_value(Kind::Handled); });
    }
    if (exception->kind == Kind::Exception && !exception->place.code) exception->place = place_;
    frames_.resize(f + 1);
    AbstractFrame& target = frames_.back();
    target.stack.resize(static_cast<size_t>(handler->depth));
    if (handler->push_lasti) target.stack.push_back(int_value(offset));
    target.stack.push_back(exception);
    target.ip = handler->target;
    return true;
  }
  return false;
}

namespace {

bool is_a(const V& exception, PyObject* type) {
  return exception->kind == Kind::Exception &&
         PyType_IsSubtype(exception->object_type, reinterpret_cast<PyTypeObject*>(type));
}

// The exception behind `from`, or None.
V raised_from(Evaluator& ev, const V& cause) {
  if (cause->kind == Kind::Exception || cause->is(Py_None)) return cause;
  if (cause->is_const() && PyExceptionClass_Check(cause->object.get()))
    return ev.make_exception_now(reinterpret_cast<PyTypeObject*>(cause->object.get()));
  graph_break("an exception raised from an unknown one");
}

}  // namespace

// `count`: of operands, the exception and what it is raised from; 0: the one that is being handled.
void Evaluator::raise_given(int count) {
  if (count == 0) {
    if (!handled_ || handled_->kind != Kind::Exception || handled_->source || !has_handler())
      graph_break("an exception is raised again");
    throw AbstractRaise{handled_};
  }
  const V cause = count == 2 ? raised_from(*this, realize(top())) : nullptr;
  V exception = realize(top(count == 2 ? 2 : 1));
  if (!has_handler()) graph_break("an exception that the function does not catch");
  if (exception->is_const() && PyExceptionClass_Check(exception->object.get()))
    exception = make_exception_now(reinterpret_cast<PyTypeObject*>(exception->object.get()));
  if (exception->kind != Kind::Exception || exception->source)
    graph_break("an exception that weft does not know is raised");
  if (cause) exception->cause = cause;
  throw AbstractRaise{exception};
}

// Calls __enter__ of the manager on top of the stack, in whose place its bound __exit__ is left.
void Evaluator::enter_context(const V& manager) {
  static constinit InternedName enter_name("__enter__"), exit_name("__exit__");
  if (manager->kind != Kind::Instance) graph_break("a context manager that weft does not know");
  if (!manager->source) pin_type(manager->object_type);
  PyObject *on_enter = _PyType_Lookup(manager->object_type, enter_name),
           *on_exit = _PyType_Lookup(manager->object_type, exit_name);
  if (!on_enter || !on_exit || !PyFunction_Check(on_enter) || !PyFunction_Check(on_exit))
    graph_break("a context manager that weft does not know");
  CallArgs args;
  args.args = {manager};
  if (Lowering ends_segment = find_lowering(on_enter)) ends_segment(*this, args);
  const size_t depth = frames_.size();
  enter(on_enter, std::move(args));
  V exit = make_value(Kind::Method);
  exit->items = {manager, pinned(on_exit)};
  frames_[depth - 1].stack.back() = exit;
}

void Evaluator::leave_traceback(const V& exception) {
  leave_to_python(exception->place, "the program looks at the traceback of an exception");
}

bool Evaluator::execute_exceptions(const Instruction& in) {
  switch (in.op) {
    case Op::Raise: raise_given(in.arg);
    case Op::Reraise: {
      const V exception = realize(top());
      if (exception->kind != Kind::Exception || exception->source || !has_handler())
        graph_break("an exception is raised again");
      throw AbstractRaise{exception};
    }
    case Op::PushExcInfo: {
      V exception = realize(top());
      if (exception->kind != Kind::Exception) graph_break("an exception that was raised for real");
      drop(1);
      push(handled_ ? handled_ : make_value(Kind::Handled));
      push(exception);
      handled_ = exception;
      return true;
    }
    case Op::PopExcept: {
      const V previous = realize(top());
      if (previous->kind != Kind::Handled && previous->kind != Kind::Exception && !is_none(previous))
        graph_break("the end of a handler entered before");
      handled_ = previous->kind == Kind::Handled ? nullptr : previous;
      drop(1);
      return true;
    }
    case Op::CheckExcMatch: {
      PyTypeObject* type = python_type(top(2));
      Ref classes = constant(top(1));
      if (!type || !classes) graph_break("a handler for an unknown exception");
      for (const V& one : PyTuple_Check(classes.get()) ? elements(top(1)) : std::vector<V>{top(1)})
        if (!realize(one)->is_const() || !PyExceptionClass_Check(one->object.get()))
          graph_break("a handler for what is no exception");
      const int matches = PyErr_GivenExceptionMatches(reinterpret_cast<PyObject*>(type), classes.get());
      drop(1);
      push(bool_value(matches != 0));
      return true;
    }
    case Op::BeforeWith: enter_context(V(realize(top()))); return true;
    case Op::WithExceptStart: {
      // Position 4: __exit__; the exception lies on top.
      const V exception = realize(top(1));
      if (exception->kind != Kind::Exception)
        graph_break("a context manager left by an exception that was raised for real");
      CallArgs args;
      const V traceback = make_value(Kind::Traceback);
      traceback->items = {exception};
      args.args = {const_value(Ref::borrow(reinterpret_cast<PyObject*>(exception->object_type))), exception,
                   traceback};
      push(call_now(top(4), std::move(args)));
      return true;
    }
    case Op::Send: execute_send(in); return true;
    case Op::StopIterationError:
      if (python_type(top()) == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))
        graph_break("a StopIteration that leaves a generator");
      return true;
    case Op::Yield: {
      if (generator_depth_ == 0 || frames_.size() != generator_depth_ + 1) graph_break("yield");
      yielded_ = top();
      drop(1);
      push(none_value());
      return true;
    }
    default: return false;
  }
}

void Evaluator::remember(const V& iterator) {
  advances_.push_back({iterator, iterator->index, iterator->suspended, iterator->returned});
}

// Each step of a generator counts as one effect.
bool Evaluator::go_back(const Mark& mark) {
  while (advances_.size() > mark.advances) {
    Advance& last = advances_.back();
    last.iterator->index = last.index;
    last.iterator->suspended = std::move(last.suspended);
    last.iterator->returned = std::move(last.returned);
    if (last.iterator->iter == IterKind::Generator) --num_effects_;
    advances_.pop_back();
  }
  return num_effects_ == mark.effects;
}

void Evaluator::undo(const Mark& mark, const char* what) {
  if (!go_back(mark)) throw CaptureAborted{what};
}

// A generator's next element, or null at its end. Where an instruction of it cannot be evaluated, the
// generator is as it was, unless this step already had an effect. A step counts as an effect on whoever takes
// it.
V Evaluator::resume(const V& generator, const V& sent, const V& thrown) {
  if (generator->index < 0) {
    if (thrown) throw AbstractRaise{thrown};
    return nullptr;
  }
  const size_t depth = frames_.size();
  const Mark before = mark();
  const size_t outer = std::exchange(generator_depth_, depth);
  const auto leave = [&] {
    generator_depth_ = outer;
    frames_.resize(depth);
    yielded_ = nullptr;
  };
  V element;
  try {
    if (generator->suspended) {
      frames_.push_back(*generator->suspended);
      if (sent) top() = sent;
    } else {
      CallArgs args;
      const size_t positional = generator->items.size() - generator->keys.size();
      args.args.assign(generator->items.begin() + 1,
                       generator->items.begin() + static_cast<std::ptrdiff_t>(positional));
      for (size_t i = 0; i < generator->keys.size(); ++i)
        args.keywords.emplace_back(utf8(generator->keys[i]->object.get()), generator->items[positional + i]);
      const V& function = generator->items[0];
      if (function->is_const())
        enter(function->object.get(), std::move(args));
      else
        enter_made(function, std::move(args));
    }
    if (thrown) {
      // As if the `yield` itself had raised it.
      --frame().ip;
      if (!unwind_to_handler(thrown, depth)) throw AbstractRaise{thrown};
    }
    while (!element) {
      if (frames_.size() == depth + 1 &&
          frame().code->instructions[static_cast<size_t>(frame().ip)].op == Op::Return)
        break;
      run_nested_instruction(depth);
      element = std::exchange(yielded_, nullptr);
    }
  } catch (const AbstractRaise& raised) {
    // It leaves the generator, which is at its end.
    leave();
    if (is_a(raised.exception, PyExc_StopIteration))
      throw CaptureAborted{"a StopIteration that leaves a generator"};
    end(generator);
    throw;
  } catch (...) {
    leave();
    undo(before, "a generator that cannot be evaluated to its end");
    throw;
  }
  generator_depth_ = outer;
  remember(generator);
  if (!generator->suspended) generator->place = place_;
  if (!element) generator->returned = realize(top());
  generator->suspended = element ? std::make_shared<AbstractFrame>(std::move(frames_.back())) : nullptr;
  if (element) note_under_way(generator);
  frames_.resize(depth);
  generator->index = element ? generator->index + 1 : -1;
  ++num_effects_;
  return element;
}

// Is its `yield` inside a `try` or `with`? Since 3.12, one handler is around the body of each.
void Evaluator::note_under_way(const V& generator) {
  const AbstractFrame& suspended = *generator->suspended;
  const Code& code = *suspended.code;
  const Handler* handler = code.find_handler(code.instructions[static_cast<size_t>(suspended.ip - 1)].offset);
  if (!handler || code.instructions[static_cast<size_t>(handler->target)].op == Op::StopIterationError)
    return;
  if (std::find(under_way_.begin(), under_way_.end(), generator) == under_way_.end())
    under_way_.push_back(generator);
}

namespace {

class Reached {
 public:
  void add(const V& value) {
    if (!value || !values_.insert(value.get()).second) return;
    for (const V& item : value->items) add(item);
    for (const V& key : value->keys) add(key);
    for (const V& attribute : value->attributes) add(attribute);
    for (const V& other : {value->context, value->cause, value->returned, value->view_of}) add(other);
    if (value->suspended) add(*value->suspended);
  }
  void add(const AbstractFrame& frame) {
    for (const V& value : frame.locals) add(value);
    for (const V& value : frame.stack) add(value);
    add(frame.extra);
  }
  bool contains(const V& value) const { return values_.contains(value.get()); }

 private:
  std::unordered_set<const Value*> values_;
};

}  // namespace

// One that the program has let go of is closed there.
void Evaluator::check_generators() {
  std::erase_if(under_way_, [](const V& generator) { return !generator->suspended; });
  if (under_way_.empty()) return;
  Reached reached;
  for (const AbstractFrame& frame : frames_) reached.add(frame);
  for (const auto& [key, store] : global_stores_) reached.add(store.second);
  for (const V& value : dirty_) reached.add(value);
  reached.add(handled_);
  for (const V& generator : std::vector<V>(under_way_)) {
    if (reached.contains(generator)) continue;
    bool is_closed = false;
    try {
      close(generator);
      is_closed = true;
    } catch (const GraphBreak&) {
    } catch (const AbstractRaise&) {
    } catch (const CaptureAborted&) {
    }
    if (!is_closed) leave_to_python(generator->place, "a generator ends where it is let go of");
  }
}

// Nothing comes from it any more.
void Evaluator::end(const V& generator) {
  remember(generator);
  generator->suspended = nullptr;
  generator->index = -1;
  ++num_effects_;
}

V Evaluator::send(const V& generator, const V& sent) {
  if (generator->index == 0 && !is_none(sent))
    graph_break("a value sent into a generator that has not started");
  return resume(generator, generator->suspended ? sent : nullptr);
}

V Evaluator::throw_into(const V& generator, const V& exception) {
  if (generator->index > 0) return resume(generator, nullptr, exception);
  end(generator);
  throw AbstractRaise{exception};
}

void Evaluator::close(const V& generator) {
  if (!generator->suspended) return end(generator);
  const Awaiting awaiting(awaited_exceptions_);
  V element;
  try {
    element = throw_into(generator, make_exception(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), {}));
  } catch (const AbstractRaise& raised) {
    if (!is_a(raised.exception, PyExc_GeneratorExit) && !is_a(raised.exception, PyExc_StopIteration)) throw;
  }
  if (element) throw CaptureAborted{"a generator that goes on when it is closed"};
}

V Evaluator::attribute_or_null(const V& owner, PyObject* name) {
  const Awaiting awaiting(awaited_exceptions_);
  try {
    return attribute_now(owner, name);
  } catch (const AbstractRaise& raised) {
    if (!is_a(raised.exception, PyExc_AttributeError)) throw;
  }
  return nullptr;
}

V Evaluator::next_of_instance(const V& instance) {
  PyObject* method = python_method(instance, "__next__");
  if (!method) graph_break("next() of an unknown iterator");
  const Awaiting awaiting(awaited_exceptions_);
  try {
    return call_method_now(instance, method, {});
  } catch (const AbstractRaise& raised) {
    if (!is_a(raised.exception, PyExc_StopIteration)) throw;
  }
  return nullptr;
}

// `yield from`: the value sent lies above the iterator.
void Evaluator::execute_send(const Instruction& in) {
  const V it = iterator(top(2)), sent = realize(top());
  V element;
  if (it->kind == Kind::Iter && it->iter == IterKind::Generator)
    element = send(it, sent);
  else if (is_none(sent))
    element = next(it);
  else
    graph_break("a value sent into an iterator that is no generator");
  drop(1);
  top() = it;
  if (element) {
    push(element);
    return;
  }
  if (PY_VERSION_HEX < 0x030C0000) drop(1);
  push(it->returned ? it->returned : none_value());
  frame().ip = in.arg;
}

// All that are left. Where that cannot be evaluated, the generator is as it was.
std::vector<V> Evaluator::all_of_generator(const V& generator) {
  const Mark before = mark();
  std::vector<V> values;
  try {
    while (V element = resume(generator)) {
      values.push_back(element);
      if (values.size() > 10000) graph_break("a long generator");
    }
  } catch (const AbstractRaise&) {
    throw;
  } catch (...) {
    undo(before, "a generator that cannot be evaluated to its end");
    throw;
  }
  return values;
}

}  // namespace weft::capture
