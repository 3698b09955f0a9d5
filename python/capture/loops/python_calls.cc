// Python's functions and methods of single numbers in native loops: round, isinstance, bit_length, math's.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>

#include "capture/loops/builder.h"
#include "capture/objects/generators.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// Ints that do not fit are told by -1: all results are 0 at least.
int64_t integer_root(int64_t n) {
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (root > 0 && root > n / root) --root;
  while (root + 1 <= n / (root + 1)) ++root;
  return root;
}

int64_t factorial(int64_t n) {
  int64_t result = 1;
  if (n < 0) return -1;
  for (int64_t k = 2; k <= n; ++k)
    if (__builtin_mul_overflow(result, k, &result)) return -1;
  return result;
}

int64_t combinations(int64_t n, int64_t k) {
  if (n < 0 || k < 0) return -1;
  if (k > n) return 0;
  k = std::min(k, n - k);
  int64_t result = 1;
  for (int64_t i = 1; i <= k; ++i) {
    if (__builtin_mul_overflow(result, n - k + i, &result)) return -1;
    result /= i;
  }
  return result;
}

int64_t least_multiple(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == INT64_MIN || b == INT64_MIN) return -1;
  int64_t result = 0;
  return __builtin_mul_overflow(std::abs(a) / std::gcd(a, b), std::abs(b), &result) ? -1 : result;
}

int64_t permutations(int64_t n, int64_t k) {
  if (n < 0 || k < 0) return -1;
  if (k > n) return 0;
  int64_t result = 1;
  for (int64_t i = 0; i < k; ++i)
    if (__builtin_mul_overflow(result, n - i, &result)) return -1;
  return result;
}

double load_exponent(double x, int64_t exponent) {
  return std::ldexp(x, static_cast<int>(std::clamp<int64_t>(exponent, -5000, 5000)));
}
double fraction_of(double x) {
  double whole = 0;
  return std::modf(x, &whole);
}
double mantissa_of(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent);
}
double exponent_of(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent;
}

// Of a base that is in the range of the divisor, a positive one.
int64_t power_modulo(int64_t base, int64_t exponent, int64_t divisor) {
  __int128 result = 1 % divisor, factor = (base % divisor + divisor) % divisor;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * factor % divisor;
    factor = factor * factor % divisor;
  }
  return static_cast<int64_t>(result);
}

// The decimal number nearest to x that has so many digits behind the point, ties to an even digit.
double round_decimal(double x, int64_t digits) {
  char text[400];
  const auto end =
      std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, static_cast<int>(digits));
  double result = 0;
  std::from_chars(text, end.ptr, result);
  return result;
}

// What Python has a way of its own to compute; NaN where it raises.
double call_python_function(int64_t callable, double x, double y, int64_t count) {
  Ref args[] = {Ref::steal(PyFloat_FromDouble(x)), Ref::steal(PyFloat_FromDouble(y))};
  PyObject* const given[] = {args[0].get(), args[1].get()};
  Ref result;
  if (given[0] && given[1])
    result = Ref::steal(PyObject_Vectorcall(reinterpret_cast<PyObject*>(callable), given,
                                            static_cast<size_t>(count), nullptr));
  if (result && PyFloat_CheckExact(result.get())) return PyFloat_AS_DOUBLE(result.get());
  clear_error();
  return std::numeric_limits<double>::quiet_NaN();
}
double call_python_function_1(int64_t callable, double x) { return call_python_function(callable, x, 0, 1); }
double call_python_function_2(int64_t callable, double x, double y) {
  return call_python_function(callable, x, y, 2);
}

Expr beside_number(const Expr& a, const char* symbol, const char* number) {
  return Expr::apply(op::infix(symbol), {a, Expr::constant(number)});
}

bool is_float(const LoopValue& value) {
  return value.kind == LoopKind::Float || (value.kind == LoopKind::Numpy && is_floating(value.dtype));
}

// The class of a number or array; null where it is not known.
Ref class_of(const LoopValue& value) {
  PyTypeObject* type = nullptr;
  switch (value.kind) {
    case LoopKind::Int: type = &PyLong_Type; break;
    case LoopKind::Float: type = &PyFloat_Type; break;
    case LoopKind::Bool: type = &PyBool_Type; break;
    case LoopKind::Complex: type = &PyComplex_Type; break;
    case LoopKind::Tuple: type = &PyTuple_Type; break;
    case LoopKind::Resized:
    case LoopKind::List: type = &PyList_Type; break;
    case LoopKind::Array:
    case LoopKind::Row:
    case LoopKind::View: type = &PyArray_Type; break;
    case LoopKind::Numpy:
    case LoopKind::NumpyComplex: return Ref::steal(PyArray_TypeObjectFromType(type_number(value.dtype)));
    case LoopKind::Const:
      if (value.object != Py_None && !PyUnicode_CheckExact(value.object)) return {};
      type = Py_TYPE(value.object);
      break;
    default: return {};
  }
  return Ref::borrow(reinterpret_cast<PyObject*>(type));
}

// Is it an instance of the class, or of one in the tuple? Nothing where only Python can tell.
std::optional<bool> is_instance(PyTypeObject* type, const LoopValue& of) {
  if (of.kind == LoopKind::Tuple) {
    bool any = false;
    for (const LoopValue& item : of.items) {
      const auto found = is_instance(type, item);
      if (!found) return {};
      any |= *found;
    }
    return any;
  }
  // Other classes of classes have an __instancecheck__ of their own.
  if (of.kind != LoopKind::Const || !PyType_CheckExact(of.object)) return {};
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(of.object)) != 0;
}

}  // namespace

// round(x), round(x, digits)
bool LoopBuilder::call_python_round(const std::vector<LoopValue>& args) {
  const LoopValue& x = args[0];
  if (x.kind == LoopKind::Int || x.kind == LoopKind::Bool) {
    if (args.size() == 2 && !(args[1].known && *args[1].known >= 0)) return false;
    return push(to_int(x)), true;
  }
  if (args.size() == 1) {
    if (x.kind == LoopKind::Numpy && x.dtype == DType::Bool) return false;
    if (!is_float(x)) return push(to_int(x)), true;
    return push(to_int(
               loop_float(temporary("f64", Expr::apply(op::kRound, {temporary("f64", as_float(x))}))))),
           true;
  }
  if (!args[1].known) return false;
  const int64_t digits = *args[1].known;
  if (x.kind == LoopKind::Numpy) return call_round(x, digits);
  if (x.kind != LoopKind::Float || digits < 0 || digits > 22) return false;
  require(Expr::apply(op::kIsFinite, {x.expr}));
  const Expr rounded =
      temporary("f64", Expr::apply(op::kCall2, {function(library_function("round_decimal", round_decimal)),
                                                x.expr, Expr::constant(integer_literal(digits))}));
  require(Expr::apply(op::kIsFinite, {rounded}));
  return push(loop_float(rounded)), true;
}

// Functions that are looked up by their whole name: those of one number or several, and isinstance().
bool LoopBuilder::call_python(const std::string& name, const std::vector<LoopValue>& args) {
  const auto is_number = [](const LoopValue& arg) { return arg.is_number(); };
  if (name == "isinstance" && args.size() == 2) {
    const Ref type = class_of(args[0]);
    if (!type) return false;
    const auto found = is_instance(reinterpret_cast<PyTypeObject*>(type.get()), args[1]);
    if (!found) return false;
    return push(loop_bool(Expr::constant(*found ? "true" : "false"))), true;
  }
  if (call_on_items(name, args)) return true;
  if (args.empty() || !std::all_of(args.begin(), args.end(), is_number)) return false;
  if (name == "round" && args.size() <= 2) return call_python_round(args);
  if (name == "pow" && args.size() == 2) return push(binary(NB_POWER, args[0], args[1])), true;
  const bool are_ints =
      std::all_of(args.begin(), args.end(), [](const LoopValue& arg) { return arg.kind == LoopKind::Int; });
  if (name == "pow" && args.size() == 3 && are_ints) {
    require(both(beside_number(args[1].expr, ">=", "0"), beside_number(args[2].expr, ">", "0")));
    return push(loop_int(
               temporary("i64",
                         Expr::apply(op::kCall3, {function(library_function("power_modulo", power_modulo)),
                                                  args[0].expr, args[1].expr, args[2].expr})),
               true)),
           true;
  }
  return are_ints ? call_math_of_ints(name, args) : call_math_of_floats(name, args);
}

bool LoopBuilder::call_math_of_ints(const std::string& name, const std::vector<LoopValue>& args) {
  if (args.size() == 1 && (name == "math.floor" || name == "math.ceil" || name == "math.trunc"))
    return push(args[0]), true;
  Expr result;
  if (args.size() == 1 && name == "math.isqrt") {
    require(beside_number(args[0].expr, ">=", "0"));
    result =
        Expr::apply(op::kCall1, {function(library_function("integer_root", integer_root)), args[0].expr});
  } else if (args.size() == 1 && name == "math.factorial") {
    result = Expr::apply(op::kCall1, {function(library_function("factorial", factorial)), args[0].expr});
  } else if (args.size() == 2 && (name == "math.comb" || name == "math.perm" || name == "math.lcm")) {
    const LibraryFunction called = name == "math.comb"   ? library_function("combinations", combinations)
                                   : name == "math.perm" ? library_function("permutations", permutations)
                                                         : library_function("least_multiple", least_multiple);
    result = Expr::apply(op::kCall2, {function(called), args[0].expr, args[1].expr});
  } else {
    return call_math_of_floats(name, args);
  }
  result = temporary("i64", result);
  require(beside_number(result, ">=", "0"));
  return push(loop_int(result, true)), true;
}

bool LoopBuilder::call_math_of_floats(const std::string& name, const std::vector<LoopValue>& args) {
  const auto give = [&](const Expr& value) { return push(loop_float(temporary("f64", value))), true; };
  if (args.size() == 1 && (name == "math.radians" || name == "math.degrees")) {
    const double factor = name == "math.radians" ? std::numbers::pi / 180 : 180 / std::numbers::pi;
    return give(Expr::apply(op::infix("*"), {as_float(args[0]), Expr::constant(float_literal(factor))}));
  }
  const auto called_1 = [&](const char* what, double (*function_of)(double), const Expr& x) {
    return temporary("f64", Expr::apply(op::kCall1, {function(library_function(what, function_of)), x}));
  };
  if (args.size() == 1 && (name == "math.modf" || name == "math.frexp")) {
    const Expr x = temporary("f64", as_float(args[0]));
    require(Expr::apply(op::kIsFinite, {x}));
    if (name == "math.frexp") {
      const LoopValue exponent = to_int(loop_float(called_1("exponent_of", exponent_of, x)));
      return push(loop_tuple({loop_float(called_1("mantissa_of", mantissa_of, x)), exponent})), true;
    }
    const Expr whole = temporary("f64", Expr::apply(op::kTrunc, {x}));
    return push(loop_tuple({loop_float(called_1("fraction_of", fraction_of, x)), loop_float(whole)})), true;
  }
  const bool is_pythons_own = args.size() == 1
                                  ? name == "math.gamma" || name == "math.lgamma" || name == "math.ulp"
                                  : args.size() == 2 && name == "math.hypot";
  if (is_pythons_own) return call_pythons_own(name, args);
  if (args.size() != 2) return false;
  if (name == "math.ldexp" && args[1].kind == LoopKind::Int) {
    const Expr x = temporary("f64", as_float(args[0]));
    const Expr result = temporary(
        "f64", Expr::apply(op::kCall2,
                           {function(library_function("load_exponent", load_exponent)), x, args[1].expr}));
    require(Expr::apply(op::kOr, {Expr::apply(op::kIsFinite, {result}),
                                  Expr::apply(op::kNot, {Expr::apply(op::kIsFinite, {x})})}));
    return push(loop_float(result)), true;
  }
  if (name == "math.isclose") {
    const Expr x = temporary("f64", as_float(args[0])), y = temporary("f64", as_float(args[1]));
    return push(loop_bool(temporary("bool", Expr::apply(op::kIsClose, {x, y})))), true;
  }
  const bool is_log = name == "math.log";
  if (!is_log && name != "math.fmod" && name != "math.remainder" && name != "math.nextafter") return false;
  const Expr x = temporary("f64", as_float(args[0])), y = temporary("f64", as_float(args[1]));
  if (is_log) {
    const auto log = [&](const Expr& of) {
      return temporary("f64", Expr::apply(op::kCall1, {function("log"), of}));
    };
    require(both(beside_number(x, ">", "0"), beside_number(y, ">", "0")));
    const Expr number = log(x), base = log(y);
    require(beside_number(base, "!=", "0"));
    return give(Expr::apply(op::infix("/"), {number, base}));
  }
  using F2 = double(double, double);
  const LibraryFunction called = name == "math.fmod" ? library_function("fmod")
                                 : name == "math.remainder"
                                     ? library_function("remainder", static_cast<F2*>(std::remainder))
                                     : library_function("nextafter", static_cast<F2*>(std::nextafter));
  const Expr result = temporary("f64", Expr::apply(op::kCall2, {function(called), x, y}));
  // NaN that comes of none is an error.
  require(Expr::apply(op::kOr,
                      {Expr::apply(op::kIsNotNan, {result}),
                       Expr::apply(op::kOr, {Expr::apply(op::kIsNan, {x}), Expr::apply(op::kIsNan, {y})})}));
  return push(loop_float(result)), true;
}

// A function of math whose results only Python has to the last bit: it is called.
bool LoopBuilder::call_pythons_own(const std::string& name, const std::vector<LoopValue>& args) {
  const std::string own_name = name.substr(name.find('.') + 1);
  const Ref callable = imported("math", own_name.c_str());
  if (!callable || !PyCFunction_Check(callable.get()))
    return false;  // the program may have put another there
  result_.kept.push_back(callable);
  const std::string object = "object_" + own_name;
  function(LibraryFunction{object, callable.get(), "i64"});
  std::vector<Expr> operands{Expr::name("c_" + object)};
  for (const LoopValue& arg : args) operands.push_back(temporary("f64", as_float(arg)));
  const LibraryFunction called = args.size() == 1
                                     ? library_function("call_python_function_1", call_python_function_1)
                                     : library_function("call_python_function_2", call_python_function_2);
  const Expr result = drawn(called, "f64", std::move(operands));
  require(Expr::apply(op::kIsNotNan, {result}));
  return push(loop_float(result)), true;
}

std::optional<LoopValue> LoopBuilder::number_attribute(const LoopValue& owner, const std::string& name) {
  const bool is_imaginary = name == "imag";
  if (!owner.is_number() || (!is_imaginary && name != "real")) return {};
  if (owner.kind == LoopKind::Numpy && owner.dtype == DType::Bool) return {};
  if (!is_imaginary) return owner.kind == LoopKind::Bool ? to_int(owner) : owner;
  if (owner.kind == LoopKind::Numpy) return loop_numpy(owner.dtype, cast(c_type(owner), Expr::constant("0")));
  return owner.kind == LoopKind::Float ? loop_known_float(0.0) : loop_known_int(0);
}

bool LoopBuilder::call_type(const LoopValue& value) {
  const Ref type = class_of(value);
  if (!type) return false;
  result_.kept.push_back(type);
  return push(loop_const(type.get())), true;
}

bool LoopBuilder::has_number_method(const LoopValue& owner, const std::string& name) {
  if (!owner.is_number()) return false;
  if (owner.kind == LoopKind::Int || owner.kind == LoopKind::Bool)
    return name == "bit_length" || name == "bit_count" || name == "conjugate";
  if (owner.kind == LoopKind::Float) return name == "is_integer" || name == "conjugate";
  return name == "item" || name == "round" || name == "conjugate" || name == "is_integer" || name == "astype";
}

bool LoopBuilder::call_number_method(const LoopValue& owner, const std::string& name,
                                     const std::vector<LoopValue>& args) {
  if (name == "round" && args.size() <= 1 && (args.empty() || args[0].known))
    return call_round(owner, args.empty() ? 0 : *args[0].known);
  if (name == "astype" && args.size() == 1 && args[0].kind == LoopKind::Const) {
    const auto dtype = scalar_type(args[0].object);
    if (!dtype || !is_loop_dtype(*dtype)) return false;
    return push(loop_numpy(*dtype, temporary(c_type(*dtype), stored(owner, *dtype)))), true;
  }
  if (!args.empty()) return false;
  const Expr& x = owner.expr;
  if (name == "bit_length" || name == "bit_count") {
    const Expr number = temporary("i64", cast("i64", x));
    const Expr count = Expr::apply(name == "bit_length" ? op::kBitLength : op::kBitCount, {number});
    return push(loop_int(temporary("i64", count), true)), true;
  }
  if (name == "conjugate" && owner.kind != LoopKind::Bool)
    return owner.kind == LoopKind::Numpy && owner.dtype == DType::Bool ? false : (push(owner), true);
  if (name == "is_integer" && is_float(owner)) {
    const Expr value = temporary("f64", as_float(owner));
    const Expr is_whole = Expr::apply(op::infix("=="), {Expr::apply(op::kFloor, {value}), value});
    return push(loop_bool(temporary("bool", both(Expr::apply(op::kIsFinite, {value}), is_whole)))), true;
  }
  if (name != "item" || owner.kind != LoopKind::Numpy) return false;
  if (owner.dtype == DType::Bool) return push(loop_bool(x)), true;
  if (is_float(owner)) return push(loop_float(temporary("f64", as_float(owner)))), true;
  return push(to_int(owner)), true;
}

}  // namespace weft::capture
