// Complex numbers in native loops: Python's, which are pairs of floats, and NumPy's complex128 scalars.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <map>

#include "capture/loops/builder.h"
#include "capture/loops/memory.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

// After the array API, which it uses.
#include <numpy/ufuncobject.h>

namespace weft::capture {

namespace {

constexpr int64_t kMaxPower = 8;
// From 3.14 on Python's arithmetic with a real number leaves the imaginary part alone, and infinities are recovered from products
// and quotients of which neither part is a number.
constexpr bool kHasMixedModes = PY_VERSION_HEX >= 0x030E0000;

// As an operand of complex arithmetic: real numbers have the imaginary part 0.
std::pair<Expr, Expr> parts_of(const LoopValue& value) {
  if (value.is_complex()) return {value.items[0].expr, value.items[1].expr};
  const Expr zero = Expr::constant("0.0");
  if (value.kind == LoopKind::Float) return {value.expr, zero};
  if (value.known) return {Expr::constant(float_literal(static_cast<double>(*value.known))), zero};
  return {cast("f64", value.expr), zero};
}

Expr times(const Expr& a, const Expr& b) { return Expr::apply(op::infix("*"), {a, b}); }
Expr minus(const Expr& a) { return Expr::apply(op::kMinus, {a}); }
Expr is_finite(const Expr& a) { return Expr::apply(op::kIsFinite, {a}); }

bool is_numpy(const LoopValue& value) {
  return value.kind == LoopKind::Numpy || value.kind == LoopKind::NumpyComplex;
}

}  // namespace

LoopValue loop_complex(bool of_numpy, Expr real, Expr imaginary) {
  LoopValue value;
  value.kind = of_numpy ? LoopKind::NumpyComplex : LoopKind::Complex;
  value.dtype = DType::C128;
  value.items = {loop_float(std::move(real)), loop_float(std::move(imaginary))};
  return value;
}

Expr element_of_complex(const LoopValue& value) {
  const auto [real, imaginary] = parts_of(value);
  return Expr::apply(op::kComplex, {real, imaginary});
}

std::string complex_element(const scalar::ExprNode& node, const std::vector<std::string>& args) {
  using scalar::Prim;
  switch (node.prim) {
    case Prim::Cast:
      if (node.dtype == DType::C128) return fmt::format("c128({})", args[0]);
      break;
    case Prim::Add: return fmt::format("({} + {})", args[0], args[1]);
    case Prim::Sub: return fmt::format("({} - {})", args[0], args[1]);
    case Prim::Mul: return fmt::format("({} * {})", args[0], args[1]);
    case Prim::Div: return fmt::format("({} / {})", args[0], args[1]);
    case Prim::Eq: return fmt::format("({} == {})", args[0], args[1]);
    case Prim::Ne: return fmt::format("!({} == {})", args[0], args[1]);
    case Prim::Neg: return fmt::format("(-{})", args[0]);
    case Prim::Abs: return fmt::format("absolute({})", args[0]);
    case Prim::Real: return args[0] + ".re";
    case Prim::Imag: return args[0] + ".im";
    case Prim::MakeComplex: return fmt::format("c128({}, {})", args[0], args[1]);
    default: break;
  }
  throw LoopUnsupported{"an operation on complex arrays"};
}

LoopValue LoopBuilder::new_complex(bool of_numpy, const Expr& real, const Expr& imaginary) {
  const Expr re = temporary("f64", real);
  return loop_complex(of_numpy, re, temporary("f64", imaginary));
}

LoopValue LoopBuilder::complex_element(const Place& place) {
  const Expr re = loaded("f64", place, ".re");
  return loop_complex(true, re, loaded("f64", place, ".im"));
}

// Is the result NumPy's? complex128 is, and what NumPy's scalar performs: a Python complex on the left takes
// a float64 as the float that it is.
bool LoopBuilder::gives_numpy(const LoopValue& a, const LoopValue& b) {
  if (a.kind == LoopKind::NumpyComplex || b.kind == LoopKind::NumpyComplex) return true;
  for (const LoopValue* part : {&a, &b})
    if (part->kind == LoopKind::Numpy && part->dtype != DType::F64 && part->dtype != DType::I64)
      throw LoopUnsupported{"a complex number and a NumPy scalar of this type"};
  return a.kind == LoopKind::Numpy || (b.kind == LoopKind::Numpy && b.dtype != DType::F64);
}

// Where it has to recover infinities, Python does it.
LoopValue LoopBuilder::recoverable(bool of_numpy, LoopValue value) {
  if (kHasMixedModes && !of_numpy)
    require(Expr::apply(op::kAnyIsNotNan, {value.items[0].expr, value.items[1].expr}));
  return value;
}

LoopValue LoopBuilder::complex_product(bool of_numpy, const LoopValue& a, const LoopValue& b) {
  const auto [ar, ai] = parts_of(a);
  const auto [br, bi] = parts_of(b);
  return recoverable(of_numpy, new_complex(of_numpy, Expr::apply(op::kDifferenceOfProducts, {ar, br, ai, bi}),
                                           Expr::apply(op::kSumOfProducts, {ar, bi, ai, br})));
}

// With a real number on one side, as Python computes from 3.14 on; nothing: as with an imaginary part of 0.
std::optional<LoopValue> LoopBuilder::mixed_complex(int op, const LoopValue& a, const LoopValue& b) {
  const auto [ar, ai] = parts_of(a);
  const auto [br, bi] = parts_of(b);
  const auto result = [&](std::string_view symbol, const Expr& imaginary) {
    return new_complex(false, Expr::apply(op::infix(symbol), {ar, br}), imaginary);
  };
  const bool is_real = !a.is_complex();  // the left one
  switch (op) {
    case NB_ADD: return result("+", is_real ? bi : ai);
    case NB_SUBTRACT: return result("-", is_real ? minus(bi) : ai);
    case NB_MULTIPLY: return result("*", is_real ? times(ar, bi) : times(ai, br));
    case NB_TRUE_DIVIDE: {
      if (is_real) return std::nullopt;
      require(Expr::apply(op::kIsNot0, {br}));
      return result("/", Expr::apply(op::infix("/"), {ai, br}));
    }
    default: return std::nullopt;
  }
}

// As Python multiplies: from the lowest bit on.
LoopValue LoopBuilder::complex_power(const LoopValue& a, const LoopValue& b, bool of_numpy) {
  if (!b.known || *b.known < 2 || *b.known > (of_numpy ? 3 : kMaxPower) || !a.is_complex())
    throw LoopUnsupported{"this power of a complex number"};
  if (of_numpy) {
    const LoopValue square = complex_product(true, a, a);
    return *b.known == 2 ? square : complex_product(true, a, square);
  }
  LoopValue result = loop_complex(false, Expr::constant("1.0"), Expr::constant("0.0")), factor = a;
  for (int64_t bits = *b.known; bits > 0; bits >>= 1) {
    if (bits & 1) result = complex_product(false, result, factor);
    if (bits > 1) factor = complex_product(false, factor, factor);
  }
  require(both(is_finite(result.items[0].expr), is_finite(result.items[1].expr)));
  return result;
}

LoopValue LoopBuilder::complex_binary(int op, const LoopValue& a, const LoopValue& b) {
  for (const LoopValue* part : {&a, &b})
    if (!part->is_complex() && !part->is_number())
      throw LoopUnsupported{"an operation on what is not a number"};
  const bool of_numpy = gives_numpy(a, b), is_mixed = a.is_complex() != b.is_complex();
  if (kHasMixedModes && !of_numpy && is_mixed)
    if (const auto result = mixed_complex(op, a, b)) return *result;
  const auto [ar, ai] = parts_of(a);
  const auto [br, bi] = parts_of(b);
  switch (op) {
    case NB_ADD:
    case NB_SUBTRACT: {
      const loopir::Operation& sum = op::infix(op == NB_ADD ? "+" : "-");
      return new_complex(of_numpy, Expr::apply(sum, {ar, br}), Expr::apply(sum, {ai, bi}));
    }
    case NB_MULTIPLY: return complex_product(of_numpy, a, b);
    case NB_TRUE_DIVIDE: {
      require(both(Expr::apply(op::kAnyIsNot0, {br, bi}),
                   both(Expr::apply(op::kIsNotNan, {br}), Expr::apply(op::kIsNotNan, {bi}))));
      const Expr quotient = temporary(
          "c128", Expr::apply(of_numpy ? op::kComplexQuotientOfNumpy : op::kComplexQuotient,
                              {Expr::apply(op::kComplex, {ar, ai}), Expr::apply(op::kComplex, {br, bi})}));
      const LoopValue result = new_complex(of_numpy, Expr::apply(op::kReal, {quotient}),
                                           Expr::apply(op::kImaginary, {quotient}));
      // A real number over a complex one has other zeros there.
      if (kHasMixedModes && !of_numpy && is_mixed)
        for (const LoopValue& part : result.items) require(Expr::apply(op::kIsNot0, {part.expr}));
      return recoverable(of_numpy, result);
    }
    case NB_POWER: return complex_power(a, b, of_numpy);
    default: throw LoopUnsupported{"an operation on complex numbers"};
  }
}

LoopValue LoopBuilder::complex_compare(int op, const LoopValue& a, const LoopValue& b) {
  if (op != Py_EQ && op != Py_NE) throw LoopUnsupported{"an order of complex numbers"};
  for (const LoopValue* part : {&a, &b}) {
    if (!part->is_complex() && !part->is_number())
      throw LoopUnsupported{"a comparison of what are not numbers"};
    if (part->is_number() && c_type(*part) != "f64")
      require(Expr::apply(op::kIsExact, {cast("i64", part->expr)}));
  }
  const auto [ar, ai] = parts_of(a);
  const auto [br, bi] = parts_of(b);
  const Expr same = Expr::apply(
      op::kBrackets, {both(Expr::apply(op::infix("=="), {ar, br}), Expr::apply(op::infix("=="), {ai, bi}))});
  const Expr equal = temporary("bool", op == Py_NE ? Expr::apply(op::kNot, {same}) : same);
  return is_numpy(a) || is_numpy(b) ? loop_numpy(DType::Bool, equal) : loop_bool(equal);
}

LoopValue LoopBuilder::complex_unary(Op op, const LoopValue& a) {
  if (op == Op::Positive) return a;
  if (op != Op::Negative) throw LoopUnsupported{"an operation that has no native form"};
  return new_complex(a.kind == LoopKind::NumpyComplex, minus(a.items[0].expr), minus(a.items[1].expr));
}

LoopValue LoopBuilder::complex_attribute(const LoopValue& owner, const std::string& name) {
  if (name != "real" && name != "imag") throw LoopUnsupported{fmt::format("the attribute '{}'", name)};
  const LoopValue& part = owner.items[name == "real" ? 0 : 1];
  return owner.kind == LoopKind::NumpyComplex ? loop_numpy(DType::F64, part.expr) : part;
}

LoopValue LoopBuilder::conjugate(const LoopValue& value, bool of_numpy) {
  return new_complex(of_numpy, value.items[0].expr, minus(value.items[1].expr));
}

// abs(z)
LoopValue LoopBuilder::complex_magnitude(const LoopValue& value) {
  const Expr result = temporary(
      "f64", Expr::apply(op::kCall2, {function("hypot"), value.items[0].expr, value.items[1].expr}));
  require(is_finite(result));
  return value.kind == LoopKind::NumpyComplex ? loop_numpy(DType::F64, result) : loop_float(result);
}

// complex(...)
LoopValue LoopBuilder::made_complex(const std::vector<LoopValue>& args) {
  if (args.size() == 1 && args[0].is_complex())
    return loop_complex(false, args[0].items[0].expr, args[0].items[1].expr);
  if (args.empty() || args.size() > 2) throw LoopUnsupported{"complex() of these arguments"};
  Expr parts[] = {Expr::constant("0.0"), Expr::constant("0.0")};
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_number()) throw LoopUnsupported{"complex() of these arguments"};
    parts[i] = args[i].kind == LoopKind::Numpy ? cast("f64", args[i].expr) : as_float(args[i]);
  }
  return new_complex(false, parts[0], parts[1]);
}

// cmath's functions and NumPy's on one complex number.
bool LoopBuilder::call_complex(const std::string& module, const std::string& name,
                               const std::vector<LoopValue>& args) {
  if (args.size() != 1 || !(args[0].is_complex() || args[0].is_number())) return false;
  const auto [re, im] = parts_of(args[0]);
  if (module == "math") return false;
  if (module == "cmath" && name == "phase")
    return push(loop_float(temporary("f64", Expr::apply(op::kCall2, {function("atan2"), im, re})))), true;
  if (module == "cmath" && name == "exp") {
    const auto compared = [&](const char* symbol, const char* limit) {
      return Expr::apply(op::infix(symbol), {re, Expr::constant(limit)});
    };
    require(both(both(compared("<", "700"), compared(">", "-700")), is_finite(im)));
    const auto called = [&](const char* name, const Expr& x) {
      return Expr::apply(op::kCall1, {function(name), x});
    };
    const Expr scale = temporary("f64", called("exp", re));
    const Expr imaginary = times(scale, called("sin", im));
    return push(new_complex(false, times(scale, called("cos", im)), imaginary)), true;
  }
  if (module == "cmath" || !args[0].is_complex()) return false;
  if (name == "conjugate") return push(conjugate(args[0], true)), true;
  static const auto& complex_ufuncs =
      *new std::set<std::string>{"exp", "sqrt", "log", "sin", "cos", "absolute"};
  if (!complex_ufuncs.count(name)) return false;
  // NumPy's own loop over one element: its vector code rounds as no function of the C library does.
  const Expr x = temporary("c128", element_of_complex(args[0])),
             call = function(LibraryFunction{"ufunc_" + name, ufunc_loop(name, DType::C128, 1), "UfuncLoop"});
  const bool is_real = name == "absolute";
  const std::string r = fresh_name("t");
  emit(fmt::format("{} {}; (*{})(&{}, &{});", is_real ? "f64" : "c128", r, call, x, r));
  if (is_real) {
    require(is_finite(Expr::name(r)));
    return push(loop_numpy(DType::F64, Expr::name(r))), true;
  }
  const Expr re_of_r = Expr::apply(op::kReal, {Expr::name(r)}),
             im_of_r = Expr::apply(op::kImaginary, {Expr::name(r)});
  require(both(is_finite(re_of_r), is_finite(im_of_r)));
  return push(new_complex(true, re_of_r, im_of_r)), true;
}

const void* ufunc_loop(const std::string& name, DType dtype, size_t num_operands) {
  struct Loop {
    PyUFuncGenericFunction function;
    void* data;
  };
  static constinit MadeOnce<std::map<std::string, Loop>> made;
  std::map<std::string, Loop>& loops = made.get([] { return std::map<std::string, Loop>(); });
  const std::string key = fmt::format("{} {}", name, c_type(dtype));
  if (auto found = loops.find(key); found != loops.end()) return &found->second;
  Ref numpy = checked(PyImport_ImportModule("numpy"));
  Ref object = checked(PyObject_GetAttrString(numpy.get(), name.c_str()));
  const auto* ufunc = reinterpret_cast<const PyUFuncObject*>(object.get());
  if (ufunc->core_enabled || ufunc->nout != 1 || static_cast<size_t>(ufunc->nin) != num_operands)
    return nullptr;
  const auto number = static_cast<char>(type_number(dtype));
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const char* const types = ufunc->types + i * ufunc->nargs;
    if (!std::all_of(types, types + ufunc->nin, [&](char type) { return type == number; })) continue;
    if (!is_complex(dtype) && types[ufunc->nin] != number) continue;
    // The ufuncs of NumPy's namespace live as long as the process.
    return &loops.emplace(key, Loop{ufunc->functions[i], const_cast<void*>(ufunc->data[i])}).first->second;
  }
  return nullptr;
}

}  // namespace weft::capture
