// Operators on instances of the program's own classes: their methods are entered, as Python would call them.
#include <fmt/format.h>

#include <array>

#include "capture/evaluator.h"

namespace weft::capture {

namespace {

struct OperatorNames {
  const char *plain, *reflected, *in_place;
};
// By NB_*.
constexpr std::array<OperatorNames, 13> kBinary = {{{"__add__", "__radd__", "__iadd__"},
                                                    {"__and__", "__rand__", "__iand__"},
                                                    {"__floordiv__", "__rfloordiv__", "__ifloordiv__"},
                                                    {"__lshift__", "__rlshift__", "__ilshift__"},
                                                    {"__matmul__", "__rmatmul__", "__imatmul__"},
                                                    {"__mul__", "__rmul__", "__imul__"},
                                                    {"__mod__", "__rmod__", "__imod__"},
                                                    {"__or__", "__ror__", "__ior__"},
                                                    {"__pow__", "__rpow__", "__ipow__"},
                                                    {"__rshift__", "__rrshift__", "__irshift__"},
                                                    {"__sub__", "__rsub__", "__isub__"},
                                                    {"__truediv__", "__rtruediv__", "__itruediv__"},
                                                    {"__xor__", "__rxor__", "__ixor__"}}};
// By Py_LT to Py_GE.
constexpr std::array<const char*, 6> kCompare = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};

// A method written in Python that certainly has the answer: one that may return NotImplemented leads to
// others.
PyObject* special_method(const V& value, const char* name) {
  if (value->kind != Kind::Instance) return nullptr;
  const Ref text = checked(PyUnicode_InternFromString(name));
  PyObject* found = _PyType_Lookup(value->object_type, text.get());
  if (!found || !PyFunction_Check(found)) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(found));
  const Ref undecided = checked(PyUnicode_InternFromString("NotImplemented"));
  const int holds = PySequence_Contains(code->co_names, undecided.get());
  if (holds < 0) throw PythonError{};
  if (holds) return nullptr;  // decided where it is evaluated within the instruction
  return found;
}

bool defines(const V& value, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  return value->kind == Kind::Instance && _PyType_Lookup(value->object_type, text.get());
}

}  // namespace

// True if the instruction was such an operator: a frame was pushed, which yields the result in the operands'
// place.
bool Evaluator::execute_special_methods(const Instruction& in) {
  const auto enter_method = [&](PyObject* method, const V& self, std::vector<V> others, int operands) {
    if (!self->source) pin_type(self->object_type);
    const size_t depth = frames_.size();
    CallArgs args;
    args.args = std::move(others);
    args.args.insert(args.args.begin(), self);
    enter(method, std::move(args));
    auto& stack = frames_[depth - 1].stack;
    stack.resize(stack.size() - static_cast<size_t>(operands));
    return true;
  };
  const auto is_instance = [&](int depth) {
    return top(depth) && realize(top(depth))->kind == Kind::Instance;
  };
  switch (in.op) {
    case Op::Negative: {
      if (!is_instance(1)) return false;
      const V a = top();
      PyObject* method = special_method(a, "__neg__");
      return method && enter_method(method, a, {}, 1);
    }
    case Op::Subscript: {
      if (!is_instance(2)) return false;
      const V a = top(2), key = top(1);
      PyObject* method = special_method(a, "__getitem__");
      return method && enter_method(method, a, {key}, 2);
    }
    case Op::BinarySlice: {
      if (!is_instance(3)) return false;
      const V a = top(3);
      V slice = make_value(Kind::Slice);
      slice->items = {top(2), top(1), none_value()};
      PyObject* method = special_method(a, "__getitem__");
      return method && enter_method(method, a, {slice}, 3);
    }
    case Op::Compare: {
      // Where a bool is wanted of it (in.arg2), the jump that follows asks for the truth.
      if (!is_instance(2)) return false;
      const V a = top(2), b = top(1);
      // A subclass's method comes before.
      if (is_instance(1) && b->object_type != a->object_type) return false;
      PyObject* method = special_method(a, kCompare[static_cast<size_t>(in.arg)]);
      return method && enter_method(method, a, {b}, 2);
    }
    case Op::Binary: {
      const OperatorNames& names = kBinary[static_cast<size_t>(in.arg % 13)];
      if (is_instance(2)) {
        const V a = top(2), b = top(1);
        if (is_instance(1) && b->object_type != a->object_type && defines(b, names.reflected)) return false;
        if (in.arg >= 13)
          if (PyObject* method = special_method(a, names.in_place)) return enter_method(method, a, {b}, 2);
        PyObject* method = special_method(a, names.plain);
        return method && enter_method(method, a, {b}, 2);
      }
      if (!is_instance(1)) return false;
      const V a = top(2), b = top(1);
      // Python's numbers leave it to the other operand; arrays do not.
      const bool is_number =
          a->kind == Kind::SymInt || a->kind == Kind::Scalar ||
          (a->is_const() && (PyLong_Check(a->object.get()) || PyFloat_CheckExact(a->object.get())));
      PyObject* method = is_number ? special_method(b, names.reflected) : nullptr;
      return method && enter_method(method, b, {a}, 2);
    }
    default: return false;
  }
}

}  // namespace weft::capture
