// Python functions that are evaluated to their end within one instruction: special methods, properties,
// descriptors.
#include <fmt/format.h>

#include "capture/classes.h"
#include "capture/enums.h"
#include "capture/evaluator.h"
#include "capture/made_once.h"

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
      if (is_last && frame().code->instructions[static_cast<size_t>(frame().ip)].op == Op::Return) break;
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
  V value = frame().on_return == OnReturn::Instance ? frame().extra : top();
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

namespace {

constexpr const char* kOperators[][2] = {
    {"__add__", "__radd__"},       {"__and__", "__rand__"},       {"__floordiv__", "__rfloordiv__"},
    {"__lshift__", "__rlshift__"}, {"__matmul__", "__rmatmul__"}, {"__mul__", "__rmul__"},
    {"__mod__", "__rmod__"},       {"__or__", "__ror__"},         {"__pow__", "__rpow__"},
    {"__rshift__", "__rrshift__"}, {"__sub__", "__rsub__"},       {"__truediv__", "__rtruediv__"},
    {"__xor__", "__rxor__"}};
constexpr const char* kComparisons[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kReflected[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

// Does an array leave its operators to the object?
bool arrays_defer_to(PyTypeObject* type) {
  static constinit InternedName ufunc("__array_ufunc__"), priority("__array_priority__");
  if (PyObject* found = _PyType_Lookup(type, ufunc)) return found == Py_None;
  PyObject* found = _PyType_Lookup(type, priority);
  if (!found || (!PyFloat_Check(found) && !PyLong_Check(found))) return false;
  const double value = PyFloat_AsDouble(found);
  PyErr_Clear();
  return value > 0;
}

}  // namespace

// Tries the operands' methods in Python's order; null where none of them is the program's.
V Evaluator::instance_operator(const V& a, const V& b, const char* plain, const char* reflected,
                               bool is_comparison) {
  PyTypeObject *class_a = program_class(a), *class_b = program_class(b);
  const bool both = class_a && class_b;
  const bool subclass_first = both && class_a != class_b && PyType_IsSubtype(class_b, class_a);
  const auto attempt = [&](const V& self, const char* name, const V& other) -> V {
    PyObject* method = python_method(self, name);
    V value = method ? call_method_now(self, method, {other}) : nullptr;
    return value && value->is(Py_NotImplemented) ? nullptr : value;
  };
  if (a->kind == Kind::Array && !(class_b && arrays_defer_to(class_b))) return nullptr;
  if (subclass_first)
    if (V value = attempt(b, reflected, a)) return value;
  if (V value = attempt(a, plain, b)) return value;
  // Operands of one class are not asked twice, except in comparisons.
  const bool is_done = subclass_first || (both && class_a == class_b && !is_comparison);
  return is_done ? nullptr : attempt(b, reflected, a);
}

V Evaluator::instance_binary(int op, const V& a, const V& b) {
  if (!program_class(a) && !program_class(b)) return nullptr;
  const auto& names = kOperators[static_cast<size_t>(op % 13)];
  if (op >= 13) {
    const std::string in_place = std::string("__i") + (names[0] + 2);
    if (PyObject* method = python_method(a, in_place.c_str())) {
      V value = call_method_now(a, method, {b});
      if (!value->is(Py_NotImplemented)) return value;
    }
  }
  return instance_operator(a, b, names[0], names[1], false);
}

V Evaluator::instance_compare(int op, const V& a, const V& b) {
  if (!program_class(a) && !program_class(b)) return nullptr;
  if (op == Py_NE && !python_method(a, "__ne__")) {
    V equal = python_method(a, "__eq__") ? instance_operator(a, b, "__eq__", "__eq__", true) : nullptr;
    return equal ? bool_value(!truth(equal)) : nullptr;
  }
  return instance_operator(a, b, kComparisons[op], kComparisons[kReflected[op]], true);
}

// The truth that a class written in Python gives its instance; nullopt where it says nothing.
std::optional<bool> Evaluator::instance_truth(const V& instance) {
  for (const char* name : {"__bool__", "__len__"})
    if (PyObject* method = python_method(instance, name)) return truth(call_method_now(instance, method, {}));
  return std::nullopt;
}

V Evaluator::instance_iterator(const V& instance) {
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
