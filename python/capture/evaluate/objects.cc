// Operators on instances of the program's own classes: their methods are entered, in the order in which
// Python asks them.
#include <fmt/format.h>

#include <array>

#include "capture/builtins/enums.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"

namespace weft::capture {

namespace {

struct OperatorNames {
  const char *plain, *reflected, *in_place, *symbol;
};
// By NB_*.
constexpr std::array<OperatorNames, 13> kBinary = {{{"__add__", "__radd__", "__iadd__", "+"},
                                                    {"__and__", "__rand__", "__iand__", "&"},
                                                    {"__floordiv__", "__rfloordiv__", "__ifloordiv__", "//"},
                                                    {"__lshift__", "__rlshift__", "__ilshift__", "<<"},
                                                    {"__matmul__", "__rmatmul__", "__imatmul__", "@"},
                                                    {"__mul__", "__rmul__", "__imul__", "*"},
                                                    {"__mod__", "__rmod__", "__imod__", "%"},
                                                    {"__or__", "__ror__", "__ior__", "|"},
                                                    {"__pow__", "__rpow__", "__ipow__", "**"},
                                                    {"__rshift__", "__rrshift__", "__irshift__", ">>"},
                                                    {"__sub__", "__rsub__", "__isub__", "-"},
                                                    {"__truediv__", "__rtruediv__", "__itruediv__", "/"},
                                                    {"__xor__", "__rxor__", "__ixor__", "^"}}};
constexpr int kAdd = 0, kMultiply = 5, kRemainder = 6, kOr = 7, kPower = 8;

struct ComparisonNames {
  const char *plain, *reflected, *symbol;
};
// By Py_LT to Py_GE.
constexpr std::array<ComparisonNames, 6> kCompare = {{{"__lt__", "__gt__", "<"},
                                                      {"__le__", "__ge__", "<="},
                                                      {"__eq__", "__eq__", "=="},
                                                      {"__ne__", "__ne__", "!="},
                                                      {"__gt__", "__lt__", ">"},
                                                      {"__ge__", "__le__", ">="}}};

PyObject* lookup(PyTypeObject* type, const char* name) {
  const Ref text = checked(PyUnicode_InternFromString(name));
  return _PyType_Lookup(type, text.get());
}

bool is_of_object(PyObject* found) {
  return Py_TYPE(found) == &PyWrapperDescr_Type && PyDescr_TYPE(found) == &PyBaseObject_Type;
}

// Does an array leave its operators to the object?
bool arrays_defer_to(PyTypeObject* type) {
  if (PyObject* found = lookup(type, "__array_ufunc__")) return found == Py_None;
  PyObject* found = lookup(type, "__array_priority__");
  if (!found || (!PyFloat_Check(found) && !PyLong_Check(found))) return false;
  const double value = PyFloat_AsDouble(found);
  PyErr_Clear();
  return value > 0;
}

enum class Sequence : uint8_t { None, List, Tuple, Text, Bytes };

Sequence sequence_kind(PyTypeObject* type) {
  return type == &PyList_Type      ? Sequence::List
         : type == &PyTuple_Type   ? Sequence::Tuple
         : type == &PyUnicode_Type ? Sequence::Text
         : type == &PyBytes_Type   ? Sequence::Bytes
                                   : Sequence::None;
}

// Does Python's own implementation for values of this type answer NotImplemented for instances of any class?
bool declines(PyTypeObject* type, int op, bool in_place, bool is_left) {
  for (PyTypeObject* simple : {&PyLong_Type, &PyBool_Type, &PyFloat_Type, &PyComplex_Type, &PyTuple_Type,
                               &PyRange_Type, &PyFrozenSet_Type, &PySet_Type, &PyFunction_Type, &PyType_Type,
                               &PyModule_Type, Py_TYPE(Py_None), Py_TYPE(Py_Ellipsis)})
    if (type == simple) return true;
  if (type == &PyUnicode_Type || type == &PyBytes_Type) return op != kRemainder || !is_left;
  if (type == &PyList_Type) return !(in_place && is_left && (op == kAdd || op == kMultiply));
  if (type == &PyDict_Type) return !(in_place && is_left && op == kOr);
  return false;
}

}  // namespace

// What the class of `self` has of this name, written in Python; null where it has nothing of its own. Breaks
// for anything else.
PyObject* Evaluator::operator_method(const V& self, const char* name) {
  PyTypeObject* type = program_class(self);
  PyObject* found = type ? lookup(type, name) : nullptr;
  if (!found || is_of_object(found)) return nullptr;
  if (self->is_const() && (!PyFunction_Check(found) || is_enum_function(found))) return nullptr;
  if (!PyFunction_Check(found)) graph_break(fmt::format("a method {} that is not written in Python", name));
  return python_method(self, name);
}

// `self.name(other)`, or for != an inverted ==.
std::optional<Evaluator::Asked> Evaluator::asked(const V& self, const char* name, const V& other) {
  if (PyObject* method = operator_method(self, name)) return Asked{pinned(method), {self, other}};
  if (std::string_view(name) != "__ne__") return std::nullopt;
  PyObject* is_equal = operator_method(self, "__eq__");
  if (!is_equal) return std::nullopt;
  const Ref differs = protocol_function("differs");
  return Asked{pinned(differs.get()), {pinned(is_equal), self, other}};
}

// Who is asked of the two operands, where one of them is the program's. `operation`: NB_*, or a comparison.
std::optional<Evaluator::Question> Evaluator::question(int operation, bool is_comparison, const V& a,
                                                       const V& b) {
  realize(a);
  realize(b);
  PyTypeObject *class_a = program_class(a), *class_b = program_class(b);
  if (!class_a && !class_b) return std::nullopt;
  const int op = is_comparison ? operation : operation % 13;
  const bool in_place = !is_comparison && operation >= 13;
  const char* plain =
      is_comparison ? kCompare[static_cast<size_t>(op)].plain : kBinary[static_cast<size_t>(op)].plain;
  const char* reflected = is_comparison ? kCompare[static_cast<size_t>(op)].reflected
                                        : kBinary[static_cast<size_t>(op)].reflected;
  if (a->kind == Kind::Array && !(class_b && arrays_defer_to(class_b))) return std::nullopt;
  Question result;
  const auto ask = [&](const V& self, const char* name, const V& other) {
    std::optional<Asked> one = asked(self, name, other);
    if (one) result.asked.push_back(std::move(*one));
    return one.has_value();
  };
  if (in_place) ask(a, kBinary[static_cast<size_t>(op)].in_place, b);
  bool is_reflected = !is_comparison && class_a && class_a == class_b;  // b has been asked, or is not at all
  if (class_a && class_b && class_a != class_b && PyType_IsSubtype(class_b, class_a)) {
    const bool comes_first = is_comparison || lookup(class_b, reflected) != lookup(class_a, reflected);
    if (comes_first) is_reflected = ask(b, reflected, a) || is_comparison;
  }
  ask(a, plain, b);
  if (!is_reflected) ask(b, reflected, a);
  // What a stand-in has no method for, the class that it stands for may have.
  if (stood_for(a) || stood_for(b)) {
    const bool is_known = result.asked.size() == 1 && class_a == class_b;
    if (!is_known) leave_library("an operator of the standard library's");
  }
  if (result.asked.empty()) return std::nullopt;
  PyTypeObject *type_a = python_type(a), *type_b = python_type(b);
  if (!type_a || !type_b) graph_break("an operator on an object that weft does not know");
  if (b->kind == Kind::Array) {
    // NumPy's own turn.
    PyObject* of_numpy = lookup(type_b, reflected);
    if (!of_numpy) graph_break("an operator that arrays do not have");
    result.asked.push_back({pinned(of_numpy), {b, a}});
  }
  // A tensor leaves its operators to a class that overrides them all.
  const bool is_overridden = overrides_operators(a, b);
  for (const auto& [value, type, is_left] : {std::tuple{a, type_a, true}, std::tuple{b, type_b, false}})
    if (!program_class(value) && value->kind != Kind::Array && !is_comparison &&
        !(is_overridden && value->kind == Kind::Tensor) && !declines(type, op, in_place, is_left))
      graph_break("an operator on an object that weft does not know");
  if (is_comparison && (op == Py_EQ || op == Py_NE)) {
    result.otherwise = bool_value(same_object(a, b) == (op == Py_EQ));
    return result;
  }
  result.otherwise = str_value(
      is_comparison ? fmt::format("'{}' not supported between instances of '{}' and '{}'",
                                  kCompare[static_cast<size_t>(op)].symbol, type_a->tp_name, type_b->tp_name)
                    : refusal_of_operator(op, in_place, type_a, type_b));
  return result;
}

// What Python says where no operand answers.
std::string Evaluator::refusal_of_operator(int op, bool in_place, PyTypeObject* a, PyTypeObject* b) {
  const Sequence left = sequence_kind(a), right = sequence_kind(b);
  if (op == kAdd && left == Sequence::Bytes) return fmt::format("can't concat {} to bytes", b->tp_name);
  if (op == kAdd && left != Sequence::None)
    return fmt::format("can only concatenate {} (not \"{}\") to {}", a->tp_name, b->tp_name, a->tp_name);
  if (op == kMultiply && (left != Sequence::None || (right != Sequence::None && !in_place))) {
    PyTypeObject* times = left != Sequence::None ? b : a;
    if (lookup(times, "__index__")) graph_break("repetition of a sequence by an object");
    return fmt::format("can't multiply sequence by non-int of type '{}'", times->tp_name);
  }
  const std::string symbol = kBinary[static_cast<size_t>(op)].symbol;
  return fmt::format("unsupported operand type(s) for {}: '{}' and '{}'",
                     in_place       ? symbol + "="
                     : op == kPower ? "** or pow()"
                                    : symbol,
                     a->tp_name, b->tp_name);
}

// The operator's value; null where a frame was pushed that will yield it.
V Evaluator::answer(const Question& question) {
  std::vector<V> rest = {question.otherwise};
  for (size_t i = 1; i < question.asked.size(); ++i) {
    rest.push_back(question.asked[i].function);
    rest.push_back(tuple_value(question.asked[i].args));
  }
  const V others = tuple_value(std::move(rest));
  CallArgs args;
  args.args = question.asked[0].args;
  if (const V value = call(question.asked[0].function, std::move(args))) {
    if (!realize(value)->is(Py_NotImplemented)) return value;
    ask_others(others);
    return nullptr;
  }
  frame().on_return = OnReturn::Answer;
  frame().extra = others;
  return nullptr;
}

void Evaluator::ask_others(const V& others) {
  CallArgs args;
  args.args = elements(others);
  enter(protocol_function("ask_others").get(), std::move(args));
}

V Evaluator::instance_binary(int op, const V& a, const V& b) {
  const size_t depth = frames_.size();
  const std::optional<Question> asked = question(op, false, a, b);
  if (!asked) return nullptr;
  V value = answer(*asked);
  return value ? value : run_to_return(depth);
}

V Evaluator::instance_compare(int op, const V& a, const V& b) {
  const size_t depth = frames_.size();
  const std::optional<Question> asked = question(op, true, a, b);
  if (!asked) return nullptr;
  V value = answer(*asked);
  return value ? value : run_to_return(depth);
}

// True if the instruction was such an operator: a frame was pushed, which yields the result in the operands'
// place.
bool Evaluator::execute_special_methods(const Instruction& in) {
  const size_t depth = frames_.size();
  const auto finish = [&](V value, int operands) {
    auto& stack = frames_[depth - 1].stack;
    stack.resize(stack.size() - static_cast<size_t>(operands));
    if (value) push(std::move(value));
    return true;
  };
  const auto enter_method = [&](const char* name, const V& self, std::vector<V> others, int operands) {
    if (realize(self)->kind != Kind::Instance) return false;
    PyObject* method = python_method(self, name);
    if (!method) return false;
    CallArgs args;
    args.args = std::move(others);
    args.args.insert(args.args.begin(), self);
    enter(method, std::move(args));
    return finish(nullptr, operands);
  };
  const auto is_instance = [&](int at) { return top(at) && realize(top(at))->kind == Kind::Instance; };
  switch (in.op) {
    case Op::Negative: return enter_method("__neg__", top(), {}, 1);
    case Op::Subscript: return top(2) && enter_method("__getitem__", top(2), {top(1)}, 2);
    case Op::BinarySlice: {
      V slice = make_value(Kind::Slice);
      slice->items = {top(2), top(1), none_value()};
      return enter_method("__getitem__", top(3), {slice}, 3);
    }
    case Op::Compare:
    case Op::Binary: {
      // Where a bool is wanted of a comparison (in.arg2), the jump that follows asks for the truth.
      if (!is_instance(2) && !is_instance(1)) return false;
      const std::optional<Question> asked = question(in.arg, in.op == Op::Compare, top(2), top(1));
      return asked && finish(answer(*asked), 2);
    }
    default: return false;
  }
}

}  // namespace weft::capture
