// Calls in native loops: Python functions, which are entered, and the functions on numbers that are known.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "capture/loops/builder.h"
#include "capture/loops/memory.h"
#include "capture/objects/numpy_api.h"
#include "capture/objects/ufuncs.h"

namespace weft::capture {

namespace {

struct MathFunction {
  const char* name;
  // Of the argument and the result: where Python would raise or warn, it performs the call.
  Expr (*allowed)(const Expr& x, const Expr& result);
  const void* address;
  bool is_numpys = true;  // NumPy's functions of float64 are computed by it, too
};

double (*const kNone)(double) = nullptr;
template <class F>
const void* address_of(F* f) {
  return reinterpret_cast<const void*>(f);
}
using F1 = double(double);
using F2 = double(double, double);

Expr compared(const Expr& x, const char* symbol, const char* limit) {
  return Expr::apply(op::infix(symbol), {x, Expr::constant(limit)});
}
Expr always(const Expr&, const Expr&) { return Expr::constant("true"); }
Expr is_finite_argument(const Expr& x, const Expr&) { return Expr::apply(op::kIsFinite, {x}); }
Expr stays_finite(const Expr& x, const Expr& result) {
  return Expr::apply(op::kOr,
                     {is_finite_argument(result, x), Expr::apply(op::kNot, {is_finite_argument(x, x)})});
}
Expr is_positive(const Expr& x, const Expr&) {
  return Expr::apply(op::kDoesNotHold, {compared(x, "<=", "0")});
}
Expr is_above_minus_1(const Expr& x, const Expr&) {
  return Expr::apply(op::kDoesNotHold, {compared(x, "<=", "-1")});
}
Expr is_within_1(const Expr& x, const Expr&) { return both(compared(x, ">=", "-1"), compared(x, "<=", "1")); }

Expr is_inside_1(const Expr& x, const Expr&) { return both(compared(x, ">", "-1"), compared(x, "<", "1")); }
Expr is_at_least_1(const Expr& x, const Expr&) {
  return Expr::apply(op::kDoesNotHold, {compared(x, "<", "1")});
}

const loopir::Operation& rounding(const std::string& name) {
  return name == "floor" ? op::kFloor : name == "ceil" ? op::kCeil : op::kTrunc;
}

const MathFunction kFunctions[] = {
    {"exp", stays_finite, address_of<F1>(std::exp)},
    {"expm1", stays_finite, address_of<F1>(std::expm1)},
    {"log", is_positive, address_of<F1>(std::log)},
    {"log2", is_positive, address_of<F1>(std::log2)},
    {"log10", is_positive, address_of<F1>(std::log10)},
    {"log1p", is_above_minus_1, address_of<F1>(std::log1p)},
    {"sin", is_finite_argument, address_of<F1>(std::sin)},
    {"cos", is_finite_argument, address_of<F1>(std::cos)},
    {"tan", is_finite_argument, address_of<F1>(std::tan)},
    {"asin", is_within_1, address_of<F1>(std::asin)},
    {"acos", is_within_1, address_of<F1>(std::acos)},
    {"atan", always, address_of<F1>(std::atan)},
    {"sinh", stays_finite, address_of<F1>(std::sinh)},
    {"cosh", stays_finite, address_of<F1>(std::cosh)},
    {"tanh", always, address_of<F1>(std::tanh)},
    {"exp2", stays_finite, address_of<F1>(std::exp2), false},
    {"cbrt", stays_finite, address_of<F1>(std::cbrt), false},
    {"erf", always, address_of<F1>(std::erf), false},
    {"erfc", always, address_of<F1>(std::erfc), false},
    {"asinh", always, address_of<F1>(std::asinh), false},
    {"acosh", is_at_least_1, address_of<F1>(std::acosh), false},
    {"atanh", is_inside_1, address_of<F1>(std::atanh), false},
};

// "sqrt" of math.sqrt and numpy.sqrt; NumPy's other names for the C library's functions.
std::string library_name(const std::string& name) {
  if (name == "arcsin") return "asin";
  if (name == "arccos") return "acos";
  if (name == "arctan") return "atan";
  return name;
}

const MathFunction* find_function(const std::string& name) {
  for (const MathFunction& f : kFunctions)
    if (library_name(name) == f.name) return &f;
  return nullptr;
}

}  // namespace

std::optional<DType> scalar_type(PyObject* object) {
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F64;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C128;
  if (!PyType_Check(object) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object), &PyGenericArrType_Type))
    return {};
  Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromTypeObject(object)));
  if (!descr) {
    PyErr_Clear();
    return {};
  }
  const auto dtype = dtype_of_descr(reinterpret_cast<PyArray_Descr*>(descr.get()));
  return dtype && is_element_dtype(*dtype) ? dtype : std::nullopt;
}

LibraryFunction library_function(const std::string& name) {
  for (const MathFunction& f : kFunctions)
    if (name == f.name) return {name, f.address, "Function1"};
  if (name == "pow") return {name, address_of<F2>(std::pow), "Function2"};
  if (name == "fmod") return {name, address_of<F2>(std::fmod), "Function2"};
  if (name == "atan2") return {name, address_of<F2>(std::atan2), "Function2"};
  if (name == "hypot") return {name, address_of<F2>(std::hypot), "Function2"};
  if (name == "powf") return {name, address_of<float(float, float)>(std::pow), "Function2f"};
  return {name, loop_library_function(name), name + "_function"};
}

std::string plain_name(PyObject* object) {
  Ref name = Ref::steal(PyObject_GetAttrString(object, "__name__"));
  PyErr_Clear();
  return name ? utf8(name.get()) : "";
}

bool makes_array(const std::string& name) {
  return name == "numpy.zeros" || name == "numpy.ones" || name == "numpy.empty" ||
         name == "numpy.zeros_like" || name == "numpy.ones_like" || name == "numpy.empty_like";
}

Expr LoopBuilder::function(const LibraryFunction& called) {
  const int number = static_cast<int>(result_.functions.size());
  if (function_of_.try_emplace(called.name, number, called.type).second)
    result_.functions.push_back(called.address);
  return Expr::function("c_" + called.name);
}

Expr LoopBuilder::function(const std::string& name) { return function(library_function(name)); }

// numpy.zeros(shape), numpy.zeros_like(array) and the like; a second argument is the type.
LoopValue LoopBuilder::made_array(const std::string& name, const std::vector<LoopValue>& args) {
  if (args.empty() || args.size() > 2) throw LoopUnsupported{fmt::format("numpy.{} of these", name)};
  const bool is_like = name.ends_with("_like");
  DType dtype = DType::F64;
  std::vector<std::string> sizes;
  if (is_like) {
    if (!is_arraylike(args[0])) throw LoopUnsupported{fmt::format("numpy.{} of these", name)};
    if (is_performed_once() && args[0].kind == LoopKind::Array)
      require_c_order(args[0]);
    else if (num_dims(args[0]) > 1)
      throw LoopUnsupported{fmt::format("numpy.{} of more dimensions", name)};
    dtype = args[0].dtype;
    sizes = shape_of(args[0]);
  } else {
    for (const LoopValue& size : args[0].kind == LoopKind::Tuple ? args[0].items : std::vector{args[0]}) {
      if (size.kind != LoopKind::Int && !(size.kind == LoopKind::Numpy && is_integral(size.dtype)))
        throw LoopUnsupported{fmt::format("numpy.{} of these", name)};
      sizes.push_back(as_index(size));
      const bool is_only = args[0].kind != LoopKind::Tuple && is_performed_once();
      require(fmt::format("(u64){} < (1UL << {})", sizes.back(), is_only ? 40 : 20));
    }
  }
  if (sizes.empty()) throw LoopUnsupported{"an array without dimensions"};
  if (args.size() == 2) {
    const auto given = args[1].kind == LoopKind::Const ? scalar_type(args[1].object) : std::nullopt;
    if (!given) throw LoopUnsupported{fmt::format("numpy.{} of this type", name)};
    dtype = *given;
  }
  for (std::string& size : sizes)
    if (loopir::Expr(size).begins_with_number()) size = temporary("i64", size);
  if (is_performed_once())
    return array_of_call(dtype, sizes, name.starts_with("empty") ? "" : name.starts_with("ones") ? "1" : "0");
  const LoopValue result = allocated(dtype, sizes);
  const std::string number = temporary(c_type(dtype), name.starts_with("ones") ? "1" : "0");
  Target target{result.items[0].expr, element_type(dtype), sizes, {}, ""};
  for (int d = 0; d < result.dims; ++d) target.strides.push_back(result.stride(d).expr);
  emit_elements(loop_numpy(dtype, number), dtype, target);
  return result;
}

LoopValue LoopBuilder::to_int(const LoopValue& value) {
  if (value.kind == LoopKind::Int) return value;
  const bool is_float =
      value.kind == LoopKind::Float || (value.kind == LoopKind::Numpy && is_floating(value.dtype));
  if (is_float)
    require(Expr::apply(op::infix("<"),
                        {Expr::apply(op::kAbsoluteFloat, {value.expr}), Expr::constant("0x1p62")}));
  if (value.kind == LoopKind::Numpy && value.dtype == DType::U64)
    require(Expr::apply(op::infix(">="), {cast("i64", value.expr), Expr::constant("0")}));
  const bool nonnegative = !is_float && (c_type(value) == "bool" || !is_signed(value.dtype));
  return loop_int(temporary("i64", cast("i64", value.expr)), nonnegative);
}

LoopValue LoopBuilder::absolute(const LoopValue& value) {
  if (value.kind == LoopKind::Either) return loop_either(absolute(value.items[0]).expr, value.items[1].expr);
  if (value.kind == LoopKind::Float)
    return loop_float(temporary("f64", Expr::apply(op::kAbsoluteFloat, {value.expr})));
  if (value.kind == LoopKind::Numpy && is_floating(value.dtype))
    return loop_numpy(value.dtype, temporary(c_type(value), Expr::apply(op::kAbsolute, {value.expr})));
  if (c_type(value) == "bool") {
    if (value.kind == LoopKind::Bool) return loop_int(temporary("i64", cast("i64", value.expr)), true);
    return value;
  }
  LoopValue result = value;
  result.known.reset();
  result.affine.reset();
  if (value.kind == LoopKind::Int || is_signed(value.dtype)) {
    const int bits = value.kind == LoopKind::Int ? 63 : itemsize(value.dtype) * 8 - 1;
    const Expr least = cast(c_type(value), Expr::constant(fmt::format("(1UL << {})", bits)));
    require(Expr::apply(op::infix("!="), {value.expr, least}));
    result.expr = temporary(c_type(value), Expr::apply(op::kMagnitude, {value.expr}));
  }
  result.nonnegative = value.kind == LoopKind::Int;
  return result;
}

LoopValue LoopBuilder::make_range(const std::vector<LoopValue>& args) {
  LoopValue range;
  range.kind = LoopKind::Range;
  if (args.empty() || args.size() > 3) throw LoopUnsupported{"range() of these arguments"};
  for (const LoopValue& arg : args) {
    if (arg.kind != LoopKind::Int && !(arg.kind == LoopKind::Numpy && is_integral(arg.dtype)))
      throw LoopUnsupported{"range() of what is not an int"};
    LoopValue part = arg;
    if (arg.kind == LoopKind::Numpy) part = loop_int(as_index(arg), !is_signed(arg.dtype));
    // Leaves room for one step behind the end.
    if (!part.known) require(Expr::apply(op::kLeavesRoom, {part.expr}));
    range.items.push_back(std::move(part));
  }
  if (args.size() == 1) range.items.insert(range.items.begin(), loop_known_int(0));
  if (args.size() < 3) range.items.push_back(loop_known_int(1));
  if (range.items[2].known == 0) throw LoopUnsupported{"range() with step 0"};
  if (!range.items[2].known)
    require(Expr::apply(op::infix("!="), {range.items[2].expr, Expr::constant("0")}));
  return range;
}

// Of numbers of different types: which of them it is decides the type.
void LoopBuilder::extremum_of_types(bool largest, const std::vector<LoopValue>& args) {
  const auto is_float = [](const LoopValue& arg) {
    return arg.kind == LoopKind::Float || (arg.kind == LoopKind::Numpy && arg.dtype == DType::F64);
  };
  const auto is_int = [](const LoopValue& arg) {
    return arg.kind == LoopKind::Int ||
           (arg.kind == LoopKind::Numpy && is_integral(arg.dtype) && arg.dtype != DType::U64);
  };
  const bool ints = std::all_of(args.begin(), args.end(), is_int);
  const char* type = ints ? "i64" : "f64";
  const std::string best = fresh_name("best"), which = fresh_name("which");
  for (size_t i = 0; i < args.size(); ++i) {
    const LoopValue& arg = args[i];
    if (!ints && !is_float(arg)) {
      if (arg.kind != LoopKind::Int) throw LoopUnsupported{"min or max of numbers of these types"};
      if (!arg.known) require(Expr::apply(op::kIsExact, {arg.expr}));
      if (arg.known && std::abs(*arg.known) > 1L << 53)
        throw LoopUnsupported{"min or max of a very large int"};
    }
    if (i == 0) {
      emit(fmt::format("{0} {1} = ({0}){2}; int {3} = 0;", type, best, arg.expr, which));
    } else {
      const Expr value = temporary(type, cast(type, arg.expr));
      emit(fmt::format("if ({0} {1} {2}) {2} = {0}, {3} = {4};", value, largest ? ">" : "<", best, which, i));
    }
  }
  materialize_all();
  std::map<std::string, std::vector<size_t>> groups;  // by type
  for (size_t i = 0; i < args.size(); ++i) {
    LoopValue value = generalized(args[i]);
    value.nonnegative = false;
    std::string key;
    append_key(value, key);
    groups[key].push_back(i);
  }
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    LoopValue value = generalized(args[group->second.front()]);
    value.nonnegative = false;
    value.expr = cast(c_type(value), Expr::name(best));
    std::vector<LoopFrame> after = frames_;
    after.back().stack.push_back(std::move(value));
    std::string condition;
    for (size_t i : group->second)
      condition += fmt::format("{}{} == {}", condition.empty() ? "" : " || ", which, i);
    const bool is_last = std::next(group) == groups.end();
    loopir::Way way = jump_to(after);
    emit(is_last ? loopir::go(std::move(way)) : loopir::branch(condition, std::move(way)));
  }
  block_done_ = true;
}

// min and max give the first of equals, as it is.
void LoopBuilder::extremum(bool largest, const std::vector<LoopValue>& args) {
  if (args.size() < 2) throw LoopUnsupported{"min or max of one argument"};
  const bool of_doubles =
      std::all_of(args.begin(), args.end(), [](const LoopValue& arg) { return arg.is_double(); });
  if (of_doubles) {
    LoopValue best = args[0];
    for (size_t i = 1; i < args.size(); ++i) best = extremum_of_doubles(largest, best, args[i]);
    return push(std::move(best));
  }
  if (args.size() > 2) {
    // As Python: each in turn against the best so far.
    std::set<std::string> types;
    for (LoopValue arg : args) {
      std::string key;
      arg = generalized(std::move(arg));
      arg.nonnegative = false;
      append_key(arg, key);
      types.insert(key);
    }
    if (types.size() > 1) return extremum_of_types(largest, args);
    extremum(largest, {args[0], args[1]});
    std::vector<LoopValue> rest{pop()};
    rest.insert(rest.end(), args.begin() + 2, args.end());
    return extremum(largest, rest);
  }
  const LoopValue displaced = compare(largest ? Py_GT : Py_LT, args[1], args[0]);
  std::string key_a, key_b;
  LoopValue a = generalized(args[0]), b = generalized(args[1]);
  a.nonnegative = b.nonnegative = a.nonnegative && b.nonnegative;
  append_key(a, key_a);
  append_key(b, key_b);
  if (key_a == key_b) {
    LoopValue result = a;
    result.expr = temporary(c_type(a), Expr::apply(op::kSelect, {displaced.expr, b.expr, a.expr}));
    return push(result);
  }
  std::vector<LoopFrame> other = frames_;
  other.back().stack.push_back(b);
  push(a);
  branch(displaced.expr, std::move(other), frames_);
}

bool LoopBuilder::call_math(const std::string& name, const std::vector<LoopValue>& args) {
  for (const LoopValue& arg : args)
    if (!arg.is_number()) return false;
  const auto give = [&](const Expr& expr) {
    push(loop_float(temporary("f64", expr)));
    return true;
  };
  if (args.size() == 2 && name == "atan2")
    return give(Expr::apply(op::kCall2, {function(name), as_float(args[0]), as_float(args[1])}));
  if (args.size() == 2 && name == "pow") {
    push(loop_float(float_operation(NB_POWER, DType::F64, args[0], args[1], args[1])));
    return true;
  }
  if (args.size() == 2 && name == "gcd") {
    if (args[0].kind != LoopKind::Int || args[1].kind != LoopKind::Int) return false;
    for (const LoopValue& arg : args)
      require(Expr::apply(op::infix(">"), {arg.expr, Expr::constant("-(1L << 62)")}));
    push(loop_int(temporary("i64", Expr::apply(op::kGreatestDivisor, {args[0].expr, args[1].expr})), true));
    return true;
  }
  if (args.size() == 2 && name == "copysign")
    return give(Expr::apply(op::kCopySign, {as_float(args[0]), as_float(args[1])}));
  if (args.size() != 1) return false;
  const Expr x = temporary("f64", as_float(args[0]));
  if (name == "sqrt") {
    require(Expr::apply(op::kDoesNotHold, {Expr::apply(op::infix("<"), {x, Expr::constant("0")})}));
    return give(Expr::apply(op::kSquareRoot, {x}));
  }
  if (name == "fabs") return give(Expr::apply(op::kAbsoluteFloat, {x}));
  if (name == "isnan" || name == "isfinite" || name == "isinf") {
    const loopir::Operation& test = name == "isnan"      ? op::kIsNan
                                    : name == "isfinite" ? op::kIsFinite
                                                         : op::kIsInfinite;
    push(loop_bool(temporary("bool", Expr::apply(test, {x}))));
    return true;
  }
  if (name == "floor" || name == "ceil" || name == "trunc") {
    if (args[0].kind != LoopKind::Float && !(args[0].kind == LoopKind::Numpy && is_floating(args[0].dtype)))
      return false;
    if (name == "trunc" && args[0].kind == LoopKind::Numpy && args[0].dtype == DType::F32)
      return false;  // no __trunc__
    push(to_int(loop_float(temporary("f64", Expr::apply(rounding(name), {x})))));
    return true;
  }
  const MathFunction* found = find_function(name);
  if (!found || name.starts_with("arc")) return false;
  const Expr r = temporary("f64", Expr::apply(op::kCall1, {function(found->name), x}));
  require(found->allowed(x, r));
  push(loop_float(r));
  return true;
}

bool LoopBuilder::call_numpy(const std::string& name, const std::vector<LoopValue>& args) {
  for (const LoopValue& arg : args)
    if (!arg.is_number()) return false;
  if (args.size() == 2 && (name == "minimum" || name == "maximum")) {
    const bool weak = args[0].is_python() && args[1].is_python();
    if (weak) return false;
    const DType dtype = common_dtype(args[0], args[1]);
    if (!is_loop_dtype(dtype) || dtype == DType::Bool) return false;
    const Expr a = as_dtype(args[0], dtype), b = as_dtype(args[1], dtype);
    push(loop_numpy(
        dtype, temporary(c_type(dtype), Expr::apply(name == "minimum" ? op::kMinimum : op::kMaximum, {a, b},
                                                    c_type(dtype)))));
    return true;
  }
  if (args.size() != 1) return false;
  const LoopValue& arg = args[0];
  if (name == "absolute") {
    if (arg.kind != LoopKind::Numpy) return false;
    push(absolute(arg));
    return true;
  }
  // What is computed in double precision; of 8- and 16-bit ints NumPy gives narrower floats.
  const bool is_f32 = arg.kind == LoopKind::Numpy && arg.dtype == DType::F32;
  if (arg.kind == LoopKind::Bool || (arg.kind == LoopKind::Numpy && itemsize(arg.dtype) < 4)) return false;
  const bool is_float =
      arg.kind == LoopKind::Float || (arg.kind == LoopKind::Numpy && is_floating(arg.dtype));
  const MathFunction* found = is_f32 ? nullptr : find_function(name);
  if (found && !found->is_numpys) found = nullptr;
  const bool is_test = name == "isnan" || name == "isfinite",
             is_exact = name == "fabs" || name == "floor" || name == "ceil" || name == "trunc";
  if (name != "sqrt" && !is_test && !(is_float && is_exact) && !found) return false;
  const DType dtype = is_f32 ? DType::F32 : DType::F64;
  const std::string type = c_type(dtype);
  const Expr x = temporary(type, is_f32 ? arg.expr : as_float(arg));
  const auto give = [&](const Expr& expr) {
    push(loop_numpy(dtype, temporary(type, expr)));
    return true;
  };
  if (name == "sqrt") {
    require(Expr::apply(op::kDoesNotHold, {Expr::apply(op::infix("<"), {x, Expr::constant("0")})}));
    return give(Expr::apply(op::kSquareRoot, {x}));
  }
  if (is_test) {
    push(loop_numpy(DType::Bool,
                    temporary("bool", Expr::apply(name == "isnan" ? op::kIsNan : op::kIsFinite, {x}))));
    return true;
  }
  if (is_exact) return give(Expr::apply(name == "fabs" ? op::kAbsolute : rounding(name), {x}));
  const Expr r = temporary("f64", Expr::apply(op::kCall1, {function(found->name), x}));
  require(found->allowed(x, r));
  push(loop_numpy(DType::F64, r));
  return true;
}

bool LoopBuilder::call_builtin(PyObject* callable, std::vector<LoopValue> args) {
  const bool has_either = std::any_of(args.begin(), args.end(),
                                      [](const LoopValue& arg) { return arg.kind == LoopKind::Either; });
  if (has_either && !settle_either(callable, args)) return false;
  const auto is_type = [&](PyTypeObject& type) { return callable == reinterpret_cast<PyObject*>(&type); };
  const std::string called = callable_name(callable);
  if (is_ufunc(callable) || is_type(PyFloat_Type) || is_type(PyLong_Type) || is_type(PyBool_Type) ||
      called.starts_with("math.") || called == "numpy.where" || called == "numpy.round" ||
      called == "numpy.clip")
    for (LoopValue& arg : args) arg = scalar_of(arg);
  const bool one_number = args.size() == 1 && args[0].is_number();
  if (is_type(PyRange_Type)) return push(make_range(args)), true;
  if (call_iterator(callable, args)) return true;
  if (is_type(PyLong_Type) && one_number) return push(to_int(args[0])), true;
  if (is_type(PyFloat_Type) && args.size() == 1 && args[0].kind == LoopKind::Const &&
      PyUnicode_CheckExact(args[0].object)) {
    const Ref number = Ref::steal(PyFloat_FromString(args[0].object));
    PyErr_Clear();
    if (!number) return false;
    return push(loop_known_float(PyFloat_AS_DOUBLE(number.get()))), true;
  }
  if (is_type(PyFloat_Type) && one_number) return push(loop_float(temporary("f64", as_float(args[0])))), true;
  if (is_type(PyType_Type) && args.size() == 1) return call_type(args[0]);
  if (is_type(PyBool_Type) && one_number) return push(loop_bool(temporary("bool", truth(args[0])))), true;
  if (const auto dtype = scalar_type(callable); dtype && one_number && is_loop_dtype(*dtype)) {
    push(loop_numpy(*dtype, temporary(c_type(*dtype), stored(args[0], *dtype))));
    return true;
  }
  const bool of_arrays = std::any_of(args.begin(), args.end(), [](const LoopValue& arg) {
    return is_arraylike(arg) || arg.kind == LoopKind::List || arg.kind == LoopKind::Tuple;
  });
  if (is_type(PyList_Type) && args.size() == 1 && (is_list(args[0]) || args[0].kind == LoopKind::Vector))
    return push(joined_lists(args)), true;
  if (is_type(PyList_Type) && args.empty()) return push(made_list({})), true;
  if (makes_array(callable_name(callable))) return push(made_array(plain_name(callable), args)), true;
  if (of_arrays && callable_name(callable).starts_with("numpy."))
    return call_array(plain_name(callable), args);
  if (is_ufunc(callable) && of_arrays) return call_array(plain_name(callable), args);
  if (is_type(PyComplex_Type)) return push(made_complex(args)), true;
  const bool of_complex =
      std::any_of(args.begin(), args.end(), [](const LoopValue& arg) { return arg.is_complex(); });
  if (is_ufunc(callable)) {
    const std::string name = plain_name(callable);
    if (of_complex) return call_complex("numpy", name, args);
    return call_numpy(name, args) || call_ufunc(callable, name, args);
  }
  if (call_numpy_on_numbers(callable_name(callable), args)) return true;
  if (!PyCFunction_Check(callable)) return false;
  const std::string name = callable_name(callable);
  if (name.starts_with("math.")) return call_python(name, args) || call_math(name.substr(5), args);
  if (name.starts_with("cmath.")) return call_complex("cmath", name.substr(6), args);
  if (name == "len" && args.size() == 1) {
    if (args[0].kind == LoopKind::Tuple || args[0].kind == LoopKind::List)
      return push(loop_known_int(static_cast<int64_t>(args[0].items.size()))), true;
    if (args[0].kind == LoopKind::Resized)
      return push(loop_int(temporary("i64", list_text(args[0]) + "->size"), true)), true;
    if (!is_array(args[0]) && args[0].kind != LoopKind::Vector) return false;
    return push(loop_int(size_text(args[0], 0), true)), true;
  }
  if (name == "abs" && args.size() == 1 && is_arraylike(args[0])) return call_array("absolute", args);
  if (name == "abs" && args.size() == 1 && args[0].is_complex())
    return push(complex_magnitude(args[0])), true;
  if (name == "abs" && args.size() == 1 && (args[0].is_number() || args[0].kind == LoopKind::Either))
    return push(absolute(args[0])), true;
  if ((name == "min" || name == "max") && args.size() > 1) return extremum(name == "max", args), true;
  if (name == "divmod" && args.size() == 2) {
    LoopValue quotient = binary(NB_FLOOR_DIVIDE, args[0], args[1]),
              rest = binary(NB_REMAINDER, args[0], args[1]);
    return push(loop_tuple({quotient, rest})), true;
  }
  return call_python(name, args);
}

}  // namespace weft::capture
