// Python functions that are evaluated to their end within one instruction: special methods, properties,
// descriptors.
#include <fmt/format.h>

#include "capture/builtins/enums.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"

namespace weft::capture {

// One instruction of the frames from number `lowest` on; exceptions that their handlers catch go on there.
void Evaluator::run_nested_instruction(size_t lowest) {
  const size_t depth = frames_.size() - 1;
  const int at = frame().ip;
  try {
    try {
      run_instruction();
    } catch (const PythonError&) {
      raise_pending();
    }
  } catch (const AbstractRaise& raised) {
    frames_.resize(depth + 1);
    frame().ip = at;
    if (!unwind_to_handler(raised.exception, lowest)) throw;
  }
}

// The value of the frames above the first `depth`, which were entered.
V Evaluator::run_to_return(size_t depth) {
  const Mark before = mark();
  try {
    while (true) {
      const bool is_last = frames_.size() == depth + 1;
      if (is_last && frame().code->instructions[static_cast<size_t>(frame().ip)].op == Op::Return &&
          !is_undecided())
        break;
      run_nested_instruction(depth);
    }
  } catch (const AbstractRaise&) {
    frames_.resize(depth);
    throw;
  } catch (...) {
    frames_.resize(depth);
    undo(before, "a method that cannot be evaluated to its end");
    throw;
  }
  V value = returned_value();
  frames_.resize(depth);
  return value;
}

V Evaluator::call_now(const V& callable, CallArgs args) {
  const size_t depth = frames_.size();
  V value = call(callable, std::move(args));
  return value ? value : run_to_return(depth);
}

V Evaluator::attribute_now(const V& owner, PyObject* name) {
  const size_t depth = frames_.size();
  V value = attribute(owner, name);
  return value ? value : run_to_return(depth);
}

PyTypeObject* program_class(const V& value) {
  if (value->kind == Kind::Instance || value->kind == Kind::Exception) return value->object_type;
  return value->is_const() && is_enum_member(value->object.get()) ? Py_TYPE(value->object.get()) : nullptr;
}

// A method of the instance's class that is written in Python, or null.
PyObject* Evaluator::python_method(const V& instance, const char* name) {
  PyTypeObject* type = program_class(realize(instance));
  if (!type) return nullptr;
  const Ref text = checked(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(type, text.get());
  if (!found || !PyFunction_Check(found) || (instance->is_const() && is_enum_function(found))) return nullptr;
  if (!instance->source || instance->is_const()) pin_type(type);
  return found;
}

V Evaluator::call_method_now(const V& self, PyObject* method, std::vector<V> others) {
  CallArgs args;
  args.args = std::move(others);
  args.args.insert(args.args.begin(), self);
  return call_now(pinned(method), std::move(args));
}

// The truth that a class written in Python gives its instance; nullopt where it says nothing.
std::optional<bool> Evaluator::instance_truth(const V& instance) {
  if (const V held = as_dict(instance, "__len__"); held && !has_own(instance, "__bool__"))
    return !held->items.empty();
  for (const char* name : {"__bool__", "__len__"}) {
    if (!has_own(instance, name)) continue;
    PyObject* method = python_method(instance, name);
    if (!method && instance->is_const()) return std::nullopt;
    if (!method) break;
    const V answer = realize(call_method_now(instance, method, {}));
    if (std::string_view(name) == "__len__") return length_of(answer) != 0;
    if (answer->is_const() && PyBool_Check(answer->object.get())) return answer->is(Py_True);
    if (answer->kind == Kind::Scalar && answer->weak == WeakKind::Bool) return truth(answer);
    break;
  }
  graph_break("the truth of an object that weft does not know");
}

// What __len__ has given, as the length that it stands for.
int64_t Evaluator::length_of(const V& given) {
  const bool is_plain =
      given->kind == Kind::SymInt || (given->is_const() && PyLong_CheckExact(given->object.get()));
  const int64_t length = is_plain ? to_int(given, "a length") : -1;
  if (length < 0) graph_break("a __len__ that gives no length");
  return length;
}

bool Evaluator::has_own(const V& instance, const char* name) {
  PyTypeObject* type = program_class(realize(instance));
  if (!type) return false;
  if (!instance->source || instance->is_const()) pin_type(type);
  const Ref text = checked(PyUnicode_InternFromString(name));
  return _PyType_Lookup(type, text.get()) != nullptr;
}

V Evaluator::instance_iterator(const V& instance) {
  if (const V held = as_dict(instance, "__iter__")) return iterator(held);
  PyObject* method = python_method(instance, "__iter__");
  if (!method) graph_break("iteration over an object that weft does not know");
  V it = realize(call_method_now(instance, method, {}));
  if (it->kind != Kind::Instance)
    return it->kind == Kind::Iter || it->kind == Kind::Generator ? iterator(it) : nullptr;
  static constinit MadeOnce<Ref> each;
  V generator = make_value(Kind::Generator);
  generator->items = {const_value(each.get([] { return entered_function("each_next"); })), it};
  return iterator(generator);
}

// A descriptor of the program's own: what its __get__ gives, or null where it has none.
V Evaluator::descriptor_value(const V& owner, PyObject* found) {
  static constinit InternedName get("__get__");
  PyObject* method = _PyType_Lookup(Py_TYPE(found), get);
  if (!method || !PyFunction_Check(method)) return nullptr;
  return call_method_now(pinned(found), method,
                         {owner, pinned(reinterpret_cast<PyObject*>(owner->object_type))});
}

// True if a property or descriptor of the program's took the value.
bool Evaluator::set_through_descriptor(const V& owner, PyObject* found, const V& value) {
  static constinit InternedName set("__set__");
  if (Py_TYPE(found) == &PyProperty_Type) {
    const Ref setter = checked(PyObject_GetAttrString(found, "fset"));
    if (!PyFunction_Check(setter.get())) return false;
    call_method_now(owner, setter.get(), {value});
    return true;
  }
  PyObject* method = _PyType_Lookup(Py_TYPE(found), set);
  if (!method || !PyFunction_Check(method)) return false;
  call_method_now(pinned(found), method, {owner, value});
  return true;
}

}  // namespace weft::capture
