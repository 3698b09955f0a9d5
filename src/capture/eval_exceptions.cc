// Exceptions raised and caught inside a segment, context managers, and generators that are used up at once.
#include <fmt/format.h>

#include <utility>

#include "capture/evaluator.h"
#include "weft/error.h"

namespace weft::capture {

// An exception of a class whose construction has no side effects.
V Evaluator::make_exception(PyTypeObject* type, std::vector<V> args) {
  static PyObject *init = PyUnicode_InternFromString("__init__"),
                  *make = PyUnicode_InternFromString("__new__");
  for (PyObject* name : {init, make}) {
    PyObject* found = _PyType_Lookup(type, name);
    if (!found || PyFunction_Check(found) || Py_TYPE(found) == &PyStaticMethod_Type)
      graph_break(fmt::format("a call of {}", callable_name(reinterpret_cast<PyObject*>(type))));
  }
  V exception = make_value(Kind::Exception);
  exception->object_type = type;
  exception->items = std::move(args);
  return exception;
}

bool Evaluator::has_handler() const {
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
#if PY_VERSION_HEX >= 0x030C0000
  Ref exception = Ref::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  Ref exception = Ref::steal(value);
#endif
  const std::string reason = fmt::format("the operation raises {}", short_repr(exception.get()));
  auto* type_object = Py_TYPE(exception.get());
  if (!has_handler() || (type_object->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0) graph_break(reason);
  Ref args = checked(PyObject_GetAttrString(exception.get(), "args"));
  std::vector<V> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    values.push_back(pinned(PyTuple_GET_ITEM(args.get(), i)));
  throw AbstractRaise{make_exception(type_object, std::move(values))};
}

bool Evaluator::unwind_to_handler(const V& exception) {
  // frame().ip is the raising instruction; outer frames stand behind their call.
  for (size_t f = frames_.size(); f-- > 0;) {
    AbstractFrame& at = frames_[f];
    const int instruction = f + 1 == frames_.size() ? at.ip : at.ip - 1;
    const int offset = at.code->instructions[static_cast<size_t>(instruction)].offset;
    const Handler* handler = at.code->find_handler(offset);
    if (!handler) continue;
    if (exception->kind == Kind::Exception && !exception->context && exception != handled_) {
      static const V before = make_value(Kind::Handled);
      exception->context = handled_ ? handled_ : before;
    }
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

bool Evaluator::execute_exceptions(const Instruction& in) {
  switch (in.op) {
    case Op::Raise: {
      if (in.arg == 2) graph_break("raise … from …");
      if (in.arg == 0) {
        if (!handled_ || handled_->kind != Kind::Exception || !has_handler())
          graph_break("an exception is raised again");
        throw AbstractRaise{handled_};
      }
      V exception = realize(top());
      if (!has_handler()) graph_break("an exception that the function does not catch");
      if (exception->is_const() && PyExceptionClass_Check(exception->object.get()))
        exception = make_exception(reinterpret_cast<PyTypeObject*>(exception->object.get()), {});
      if (exception->kind != Kind::Exception)
        graph_break("an exception that capture knows nothing of is raised");
      throw AbstractRaise{exception};
    }
    case Op::Reraise: {
      const V exception = realize(top());
      if (exception->kind != Kind::Exception || !has_handler()) graph_break("an exception is raised again");
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
      const V previous = top();
      if (previous->kind != Kind::Handled && previous->kind != Kind::Exception)
        graph_break("the end of a handler entered before");
      handled_ = previous->kind == Kind::Handled ? nullptr : previous;
      drop(1);
      return true;
    }
    case Op::CheckExcMatch: {
      PyTypeObject* type = python_type(top(2));
      Ref classes = constant(top(1));
      if (!type || !classes) graph_break("a handler for an unknown exception");
      const int matches = PyErr_GivenExceptionMatches(reinterpret_cast<PyObject*>(type), classes.get());
      drop(1);
      push(bool_value(matches != 0));
      return true;
    }
    case Op::BeforeWith: {
      const V manager = realize(top());
      static PyObject *enter_name = PyUnicode_InternFromString("__enter__"),
                      *exit_name = PyUnicode_InternFromString("__exit__");
      if (manager->kind != Kind::Instance) graph_break("a context manager that capture knows nothing of");
      if (!manager->source) pin_type(manager->object_type);
      PyObject *on_enter = _PyType_Lookup(manager->object_type, enter_name),
               *on_exit = _PyType_Lookup(manager->object_type, exit_name);
      if (!on_enter || !on_exit || !PyFunction_Check(on_enter) || !PyFunction_Check(on_exit))
        graph_break("a context manager that capture knows nothing of");
      CallArgs args;
      args.args = {manager};
      const size_t depth = frames_.size();
      enter(on_enter, std::move(args));
      V exit = make_value(Kind::Method);
      exit->items = {manager, pinned(on_exit)};
      frames_[depth - 1].stack.back() = exit;
      return true;
    }
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

namespace {

// Where the iterators among values stand, to go back to.
class Positions {
 public:
  void remember(const V& value) {
    if (!value || value->kind != Kind::Iter || value->iter == IterKind::Generator) return;
    positions_.emplace_back(value, value->index);
    for (const V& part : value->items) remember(part);
  }
  void restore() {
    for (auto& [iterator, index] : positions_) iterator->index = index;
  }

 private:
  std::vector<std::pair<V, int64_t>> positions_;
};

}  // namespace

// A generator's next element, or null at its end. Where an instruction of it cannot be evaluated, the generator is as it
// was, unless this step already had an effect. A step counts as an effect on whoever takes it.
V Evaluator::resume(const V& generator) {
  if (generator->index < 0) return nullptr;
  const size_t depth = frames_.size();
  const int64_t effects = num_effects_;
  Positions positions;
  for (const V& argument : generator->items) positions.remember(argument);
  if (generator->suspended) {
    for (const V& value : generator->suspended->locals) positions.remember(value);
    for (const V& value : generator->suspended->stack) positions.remember(value);
  }
  const size_t outer = std::exchange(generator_depth_, depth);
  const auto restore = [&](const char* reason) {
    generator_depth_ = outer;
    frames_.resize(depth);
    yielded_ = nullptr;
    positions.restore();
    if (num_effects_ != effects) throw CaptureAborted{reason};
  };
  V element;
  try {
    if (generator->suspended) {
      frames_.push_back(*generator->suspended);
    } else {
      CallArgs args;
      args.args.assign(generator->items.begin() + 1, generator->items.end());
      const V& function = generator->items[0];
      if (function->is_const()) enter(function->object.get(), std::move(args));
      else enter_made(function, std::move(args));
    }
    while (!element) {
      if (frames_.size() == depth + 1 &&
          frame().code->instructions[static_cast<size_t>(frame().ip)].op == Op::Return)
        break;
      run_instruction();
      element = std::exchange(yielded_, nullptr);
    }
  } catch (const AbstractRaise&) {
    restore("an exception inside a generator");
    graph_break("an exception inside a generator");
  } catch (const PythonError&) {
    PyErr_Clear();
    restore("an exception inside a generator");
    graph_break("an exception inside a generator");
  } catch (...) {
    restore("a generator that cannot be evaluated to its end");
    throw;
  }
  generator_depth_ = outer;
  generator->suspended = element ? std::make_shared<AbstractFrame>(std::move(frames_.back())) : nullptr;
  frames_.resize(depth);
  generator->index = element ? generator->index + 1 : -1;
  ++num_effects_;
  return element;
}

// All that are left. Where that cannot be evaluated, a generator that had not started is as it was.
std::vector<V> Evaluator::all_of_generator(const V& generator) {
  Positions positions;
  for (const V& argument : generator->items) positions.remember(argument);
  const bool has_started = generator->index != 0;
  const int64_t effects = num_effects_;
  std::vector<V> values;
  try {
    while (V element = resume(generator)) {
      values.push_back(element);
      if (values.size() > 10000) graph_break("a long generator");
    }
  } catch (...) {
    // Each step counts one.
    if (has_started || num_effects_ - effects != static_cast<int64_t>(values.size()))
      throw CaptureAborted{"a generator that cannot be evaluated to its end"};
    positions.restore();
    generator->suspended = nullptr;
    generator->index = 0;
    num_effects_ = effects;
    throw;
  }
  return values;
}

}  // namespace weft::capture
