// Numbers in native loops: Python's ints (64 bits, or Python goes on), floats and bools, and NumPy's scalars.
#include <fmt/format.h>
#include <opcode.h>

#include <cstdlib>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

const char* comparison(int op) {
  constexpr const char* kNames[] = {"<", "<=", "==", "!=", ">", ">="};
  return kNames[op];
}

Expr min_of(DType dtype) {
  return Expr::constant(dtype == DType::I64
                            ? "(-9223372036854775807L - 1)"
                            : fmt::format("({})({}L << {})", c_type(dtype), -1, itemsize(dtype) * 8 - 1));
}

Expr is_not_zero(const Expr& value) { return Expr::apply(op::infix("!="), {value, Expr::constant("0")}); }
Expr is_at_least_zero(const Expr& value) {
  return Expr::apply(op::infix(">="), {value, Expr::constant("0")});
}

// With what a mask or a divisor tells of the result.
LoopValue within(LoopValue result, int op, const LoopValue& a, const LoopValue& b) {
  if (op == NB_AND) {
    for (const LoopValue* part : {&a, &b}) {
      const std::optional<int64_t> most = part->known ? part->known : part->most;
      if (most && *most >= 0) result.most = std::min(*most, result.most.value_or(*most));
    }
  } else if (op == NB_REMAINDER && b.known && *b.known > 0) {
    result.most = *b.known - 1;
  }
  if (result.kind == LoopKind::Int && result.most) result.nonnegative = true;
  return result;
}

}  // namespace

Expr LoopBuilder::as_float(const LoopValue& value) {
  if (value.kind == LoopKind::Float) return value.expr;
  if (value.known) return Expr::constant(float_literal(static_cast<double>(*value.known)));
  return cast("f64", value.expr);
}

Expr LoopBuilder::as_dtype(const LoopValue& value, DType dtype) {
  if (value.kind == LoopKind::Numpy && value.dtype == dtype) return value.expr;
  if (value.kind == LoopKind::Float && dtype == DType::F64) return value.expr;
  // A Python int must fit.
  if (value.kind == LoopKind::Int && is_integral(dtype) && dtype != DType::I64) {
    if (dtype == DType::U64)
      require(is_at_least_zero(value.expr));
    else
      require(Expr::apply(op::kFitsInto, {value.expr}, c_type(dtype)));
  }
  if (dtype == DType::Bool) return Expr::apply(op::kIsNot0, {value.expr});
  return cast(c_type(dtype), value.expr);
}

// NEP 50: a Python number is as wide as what it meets, but not of a lesser kind.
DType LoopBuilder::common_dtype(const LoopValue& a, const LoopValue& b) {
  if (a.kind == LoopKind::Numpy && b.kind == LoopKind::Numpy)
    return promote_types(a.dtype, b.dtype, Promotion::NumPy);
  const LoopValue& scalar = a.kind == LoopKind::Numpy ? b : a;
  const DType dtype = a.kind == LoopKind::Numpy ? a.dtype : b.dtype;
  const WeakKind weak = scalar.kind == LoopKind::Float ? WeakKind::Float
                        : scalar.kind == LoopKind::Int ? WeakKind::Int
                                                       : WeakKind::Bool;
  return promote_weak(dtype, weak, Promotion::NumPy);
}

LoopValue LoopBuilder::binary(int op, const LoopValue& a, const LoopValue& b) {
  op = operator_of(op);
  if (a.kind == LoopKind::Either || b.kind == LoopKind::Either) return either_binary(op, a, b);
  if (a.is_complex() || b.is_complex()) return complex_binary(op, a, b);
  if (!a.is_number() || !b.is_number()) unsupported("an operation on what is not a number");
  if (a.kind == LoopKind::Numpy || b.kind == LoopKind::Numpy) return numpy_binary(op, a, b);
  return python_binary(op, a, b);
}

LoopValue LoopBuilder::python_binary(int op, const LoopValue& a, const LoopValue& b) {
  const bool logical = op == NB_AND || op == NB_OR || op == NB_XOR;
  if (a.kind == LoopKind::Bool && b.kind == LoopKind::Bool && logical)
    return loop_bool(operation("bool", a.expr, op == NB_AND ? "&" : op == NB_OR ? "|" : "^", b.expr));
  if (a.kind == LoopKind::Float || b.kind == LoopKind::Float) return float_binary(op, a, b);
  if (op == NB_TRUE_DIVIDE) {
    if (!b.known || *b.known == 0) require(is_not_zero(b.expr));
    for (const LoopValue* part : {&a, &b})
      if (part->kind == LoopKind::Int && !part->known &&
          !check_before(part->affine, Expr::constant("-(1L << 53)"), Expr::constant("(1L << 53)")))
        require(Expr::apply(op::kIsExact, {part->expr}));
    for (const LoopValue* part : {&a, &b})
      if (part->known && std::abs(*part->known) > 1L << 53) unsupported("a quotient of very large ints");
    return loop_float(operation("f64", as_float(a), "/", as_float(b)));
  }
  return int_binary(op, a, b);
}

// In a checked version: sums and products that cannot overflow, because their parts are checked to be small.
LoopValue LoopBuilder::affine_binary(int op, const LoopValue& a, const LoopValue& b) {
  LoopValue result;
  if (op != NB_ADD && op != NB_SUBTRACT && op != NB_MULTIPLY) return result;
  const LoopAffineRef affine = op == NB_MULTIPLY ? affine_product(a.affine, b.affine)
                                                 : affine_sum(a.affine, b.affine, op == NB_SUBTRACT);
  if (parallel_ ? !affine : !check_before(affine, Expr(), Expr())) return result;
  const char* symbol = op == NB_ADD ? "+" : op == NB_SUBTRACT ? "-" : "*";
  result =
      loop_int(operation("i64", a.expr, symbol, b.expr), op != NB_SUBTRACT && a.nonnegative && b.nonnegative);
  result.affine = affine;
  return result;
}

LoopValue LoopBuilder::int_binary(int op, const LoopValue& a, const LoopValue& b) {
  const bool nonnegative =
      (a.nonnegative || a.kind == LoopKind::Bool) && (b.nonnegative || b.kind == LoopKind::Bool);
  const Expr x = a.kind == LoopKind::Bool ? cast("i64", a.expr) : a.expr;
  const Expr y = b.kind == LoopKind::Bool ? cast("i64", b.expr) : b.expr;
  const auto checked_by = [&](const char* function, bool true_if_fits = false) {
    return overflowing("i64", function, true_if_fits, x, y);
  };
  const auto plain_result = [&](const char* symbol) {
    return loop_int(operation("i64", x, symbol, y), nonnegative);
  };
  if (checked_ || parallel_) {
    LoopValue result = affine_binary(op, a, b);
    if (result.affine) return result;
  }
  if (LoopValue sum = counter_binary(op, a, b); sum.is_counter) return sum;
  switch (op) {
    case NB_ADD: return loop_int(checked_by("__builtin_add_overflow"), nonnegative);
    case NB_SUBTRACT: return loop_int(checked_by("__builtin_sub_overflow"));
    case NB_MULTIPLY: return loop_int(checked_by("__builtin_mul_overflow"), nonnegative);
    case NB_FLOOR_DIVIDE:
    case NB_REMAINDER: {
      if (!b.known || *b.known == 0 || *b.known == -1)
        require(Expr::apply(op::kDividesInts, {y, x, min_of(DType::I64)}));
      const bool quotient = op == NB_FLOOR_DIVIDE;
      if (nonnegative) return within(plain_result(quotient ? "/" : "%"), op, a, b);
      if (!quotient && b.known && *b.known > 0)
        return within(remainder_by(loop_int(""), x, *b.known), op, a, b);
      const Expr result = Expr::apply(quotient ? op::kFloorQuotient : op::kFloorRemainder, {x, y});
      return within(loop_int(temporary("i64", result), !quotient && b.nonnegative), op, a, b);
    }
    case NB_AND: return within(plain_result("&"), op, a, b);
    case NB_OR: return plain_result("|");
    case NB_XOR: return plain_result("^");
    case NB_LSHIFT: return loop_int(checked_by("shift_left_into", true), nonnegative);
    case NB_RSHIFT:
      require(is_at_least_zero(y));
      return loop_int(temporary("i64", Expr::apply(op::kShiftRight, {x, y})), a.nonnegative);
    case NB_POWER:
      require(is_at_least_zero(y));
      return loop_int(checked_by("int_power_into", true), nonnegative);
    default: unsupported("an operation that has no native form");
  }
}

Expr LoopBuilder::float_operation(int op, DType dtype, const LoopValue& a, const LoopValue& b,
                                  const LoopValue& power) {
  const std::string type = c_type(dtype);
  const Expr x = dtype == DType::F64 ? as_float(a) : as_dtype(a, dtype),
             y = dtype == DType::F64 ? as_float(b) : as_dtype(b, dtype);
  switch (op) {
    case NB_ADD: return operation(type, x, "+", y);
    case NB_SUBTRACT: return operation(type, x, "-", y);
    case NB_MULTIPLY: return operation(type, x, "*", y);
    case NB_TRUE_DIVIDE: require(is_not_zero(y)); return operation(type, x, "/", y);
    case NB_FLOOR_DIVIDE:
    case NB_REMAINDER:
      require(both(is_not_zero(y), Expr::apply(op::kIsFinite, {x})));
      return temporary(type, Expr::apply(op == NB_REMAINDER ? op::kFloatRemainder : op::kFloatQuotient,
                                         {x, y, function("fmod")}, type));
    case NB_POWER: {
      Expr result;
      if (dtype == DType::F32) {
        result = temporary(type, Expr::apply(op::kCall2, {function("powf"), x, y}));
      } else if (power.known == 2) {
        result = temporary(type, Expr::apply(op::kSquareAsPower, {x, function("pow")}));
      } else {
        result = temporary(type, Expr::apply(op::kCall2, {function("pow"), x, y}));
      }
      require(Expr::apply(op::kIsFinite, {result}));
      return result;
    }
    default: unsupported("an operation that has no native form for floats");
  }
}

LoopValue LoopBuilder::float_binary(int op, const LoopValue& a, const LoopValue& b) {
  return loop_float(float_operation(op, DType::F64, a, b, b));
}

LoopValue LoopBuilder::numpy_binary(int op, const LoopValue& a, const LoopValue& b) {
  DType dtype = common_dtype(a, b);
  if (!is_loop_dtype(dtype)) unsupported(fmt::format("a NumPy scalar of {}", name(dtype)));
  if (is_floating(dtype)) return loop_numpy(dtype, float_operation(op, dtype, a, b, b));
  if (dtype == DType::I64)
    if (LoopValue sum = counter_binary(op, a, b); sum.is_counter) return sum;
  if (op == NB_TRUE_DIVIDE) {
    const Expr x = as_dtype(a, dtype), y = as_dtype(b, dtype);
    require(is_not_zero(y));
    return loop_numpy(DType::F64,
                      temporary("f64", Expr::apply(op::infix("/"), {cast("f64", x), cast("f64", y)})));
  }
  const Expr x = as_dtype(a, dtype), y = as_dtype(b, dtype);
  if (dtype == DType::Bool) {
    const char* symbol = op == NB_AND || op == NB_MULTIPLY ? "&"
                         : op == NB_OR || op == NB_ADD     ? "|"
                         : op == NB_XOR                    ? "^"
                                                           : nullptr;
    if (!symbol) unsupported("an operation on NumPy bools");
    return loop_numpy(dtype, operation("bool", x, symbol, y));
  }
  if (op == NB_REMAINDER && is_signed(dtype) && b.known && *b.known > 0)
    return within(remainder_by(loop_numpy(dtype, ""), x, *b.known), op, a, b);
  if (LoopValue count = count_binary(op, dtype, a, b); count.is_count) return count;
  return within(numpy_int_binary(op, dtype, x, y), op, a, b);
}

// Python's remainder by a positive number: C++'s has the sign of `x`, and is zero where this one is.
LoopValue LoopBuilder::remainder_by(LoopValue result, const Expr& x, int64_t divisor) {
  const std::string type = c_type(result);
  const Expr by = Expr::constant(std::to_string(divisor));
  result.remainder = temporary(type, Expr::apply(op::kRemainder, {x, by}, type));
  result.expr = temporary(type, Expr::apply(op::kRemainderAsPython, {result.remainder, by}, type));
  return result;
}

LoopValue LoopBuilder::numpy_int_binary(int op, DType dtype, const Expr& x, const Expr& y) {
  const std::string type = c_type(dtype);
  const auto simple = [&](const loopir::Operation& operation) {
    return loop_numpy(dtype, temporary(type, Expr::apply(operation, {x, y}, type)));
  };
  const auto checked_by = [&](const char* call) {
    return loop_numpy(dtype, overflowing(type, call, false, x, y));
  };
  switch (op) {
    // Where it wraps, NumPy warns.
    case NB_ADD: return checked_by("__builtin_add_overflow");
    case NB_SUBTRACT: return checked_by("__builtin_sub_overflow");
    case NB_MULTIPLY: return checked_by("__builtin_mul_overflow");
    case NB_FLOOR_DIVIDE:
    case NB_REMAINDER:
      if (is_signed(dtype))
        require(Expr::apply(op::kDividesInts, {y, x, min_of(dtype)}));
      else
        require(is_not_zero(y));
      return simple(op == NB_REMAINDER ? op::kFloorRemainderOf : op::kFloorQuotientOf);
    case NB_AND: return loop_numpy(dtype, operation(type, x, "&", y));
    case NB_OR: return loop_numpy(dtype, operation(type, x, "|", y));
    case NB_XOR: return loop_numpy(dtype, operation(type, x, "^", y));
    case NB_LSHIFT:
    case NB_RSHIFT:
      require(Expr::apply(op::kIsBelow, {y, Expr::constant(std::to_string(itemsize(dtype) * 8))}));
      if (op == NB_RSHIFT) return loop_numpy(dtype, operation(type, x, ">>", y));
      return simple(op::kShiftLeft);
    case NB_POWER: {
      const Expr result = Expr::name(fresh_name("t"));
      if (dtype != DType::I64) unsupported("a power of NumPy ints");
      emit(loopir::declare("i64", result));
      require(Expr::apply(op::kIntPowerInto, {y, x, result}));
      return loop_numpy(dtype, result);
    }
    default: unsupported("an operation on NumPy ints");
  }
}

LoopValue LoopBuilder::compare(int op, const LoopValue& a, const LoopValue& b) {
  if (a.kind == LoopKind::Either || b.kind == LoopKind::Either) return either_compare(op, a, b);
  if (a.is_complex() || b.is_complex()) return complex_compare(op, a, b);
  if (!a.is_number() || !b.is_number()) unsupported("a comparison of what are not numbers");
  const char* symbol = comparison(op);
  if ((op == Py_EQ || op == Py_NE) && !a.remainder.empty() && b.known == 0) {
    const Expr test = temporary("bool", Expr::apply(op::infix(symbol), {a.remainder, Expr::constant("0")}));
    return a.kind == LoopKind::Int ? loop_bool(test) : loop_numpy(DType::Bool, test);
  }
  if (a.is_python() && b.is_python()) {
    const bool a_float = a.kind == LoopKind::Float, b_float = b.kind == LoopKind::Float;
    if (a_float == b_float) {
      const Expr x = a_float ? a.expr : cast("i64", a.expr), y = a_float ? b.expr : cast("i64", b.expr);
      return loop_bool(temporary("bool", Expr::apply(op::infix(symbol), {x, y})));
    }
    const LoopValue& integer = a_float ? b : a;
    if (integer.known && std::abs(*integer.known) > 1L << 53)
      unsupported("a comparison with a very large int");
    if (integer.kind == LoopKind::Int && !integer.known &&
        !check_before(integer.affine, Expr::constant("-(1L << 53)"), Expr::constant("(1L << 53)")))
      require(Expr::apply(op::kIsExact, {integer.expr}));
    return loop_bool(operation("bool", as_float(a), symbol, as_float(b)));
  }
  const DType dtype = common_dtype(a, b);
  if (!is_loop_dtype(dtype)) unsupported(fmt::format("a comparison in {}", name(dtype)));
  const bool has_python_int = a.kind == LoopKind::Int || b.kind == LoopKind::Int;
  // NumPy compares ints exactly, whatever their types.
  if (!is_floating(dtype) && dtype != DType::U64)
    return loop_numpy(
        DType::Bool,
        temporary("bool", Expr::apply(op::infix(symbol), {cast("i64", a.expr), cast("i64", b.expr)})));
  if (is_floating(dtype) && a.kind != LoopKind::Float && b.kind != LoopKind::Float && !has_python_int &&
      !(a.kind == LoopKind::Numpy && is_floating(a.dtype)) &&
      !(b.kind == LoopKind::Numpy && is_floating(b.dtype)))
    unsupported("a comparison of signed and unsigned NumPy ints");
  const Expr x = as_dtype(a, dtype), y = as_dtype(b, dtype);
  return loop_numpy(DType::Bool, operation("bool", x, symbol, y));
}

LoopValue LoopBuilder::unary(Op op, const LoopValue& a) {
  if (op == Op::Not) return loop_bool(temporary("bool", Expr::apply(op::kNot, {truth(a)})));
  if (a.is_complex()) return complex_unary(op, a);
  if (is_arraylike(a) && op == Op::Invert && !is_floating(a.dtype)) return pending("invert", {a});
  if (is_arraylike(a) && op == Op::Negative && a.dtype != DType::Bool) return pending("negative", {a});
  if (a.kind == LoopKind::Either) return loop_either(unary(op, a.items[0]).expr, a.items[1].expr);
  if (!a.is_number()) unsupported("an operation on what is not a number");
  const bool is_float = a.kind == LoopKind::Float || (a.kind == LoopKind::Numpy && is_floating(a.dtype));
  const std::string type = a.kind == LoopKind::Bool ? "i64" : c_type(a);
  LoopValue result = a.kind == LoopKind::Bool ? loop_int("") : a;
  result.nonnegative = result.is_counter = false;
  result.known.reset();
  result.known_float.reset();
  result.affine.reset();
  result.most.reset();
  result.remainder = Expr();
  if (op == Op::Positive && a.kind != LoopKind::Bool &&
      !(a.kind == LoopKind::Numpy && a.dtype == DType::Bool))
    return a;
  if (op == Op::Negative) {
    if (a.known && *a.known != INT64_MIN) return loop_known_int(-*a.known);
    if (a.kind == LoopKind::Numpy && !is_signed(a.dtype)) unsupported("the negative of an unsigned scalar");
    if (!is_float && a.kind != LoopKind::Bool)
      require(Expr::apply(op::infix("!="), {a.expr, min_of(a.kind == LoopKind::Int ? DType::I64 : a.dtype)}));
    result.expr = temporary(type, Expr::apply(op::kNegative, {a.expr}, type));
    result.affine = affine_sum(affine_literal(0), a.affine, true);
    return result;
  }
  if (op == Op::Invert && !is_float && a.kind != LoopKind::Bool) {
    result.expr = temporary(type, Expr::apply(type == "bool" ? op::kNot : op::kInvert, {a.expr}));
    return result;
  }
  unsupported("an operation that has no native form");
}

Expr LoopBuilder::truth(const LoopValue& value) {
  if (value.kind == LoopKind::ScalarArray) return truth(scalar_of(value));
  if (value.kind == LoopKind::Const && value.object == Py_None) return Expr::constant("false");
  if (value.is_complex()) return Expr::apply(op::kAnyIsNot0, {value.items[0].expr, value.items[1].expr});
  if (value.kind == LoopKind::Either) return truth(value.items[0]);
  if (value.kind == LoopKind::Resized) return temporary("bool", list_text(value) + "->size != 0");
  if (value.kind == LoopKind::Vector) return Expr::apply(op::kIsNot0, {size_text(value, 0)});
  if (!value.is_number()) unsupported("the truth of what is not a number");
  if (c_type(value) == "bool") return value.expr;
  return Expr::apply(op::kIsNot0, {value.remainder.empty() ? value.expr : value.remainder});
}

Expr LoopBuilder::as_index(const LoopValue& value) {
  if (value.kind == LoopKind::Int) return value.expr;
  if (value.kind != LoopKind::Numpy || !is_integral(value.dtype)) unsupported("an index that is not an int");
  if (value.dtype == DType::U64) require(is_at_least_zero(cast("i64", value.expr)));
  return value.dtype == DType::I64 ? value.expr : cast("i64", value.expr);
}

}  // namespace weft::capture
