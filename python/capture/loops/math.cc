// Functions in native loops that no instruction computes and no generated code inlines: the library's, of
// numbers.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"
#include "scalar/elementary.h"
#include "scalar/math_calls.h"

namespace weft::capture {

using scalar::Prim;

bool has_number_function(Prim prim, DType dtype) {
  return (dtype == DType::F32 || dtype == DType::F64) && !scalar::is_elementary(prim) &&
         scalar::math_function(prim, dtype);
}

LibraryFunction number_function(Prim prim, DType dtype, size_t num_args) {
  const std::string type = c_type(dtype);
  return {fmt::format("{}_{}_{}", num_args == 1 ? "unary" : "binary", scalar::prim_name(prim), type),
          scalar::math_function(prim, dtype)->address,
          fmt::format("NumberFunction<{}>",
                      num_args == 1 ? type + ", " + type : type + ", " + type + ", " + type)};
}

// What NumPy looks at in integers before it computes: zero as a divisor, negative exponents.
void LoopBuilder::check_integers(const std::string& op, const std::vector<LoopValue>& operands) {
  if (op == "pow") throw LoopUnsupported{"a power of an array of integers"};
  if (op != "floor_divide" && op != "remainder" && op != "fmod") return;
  if (!operands[1].is_number()) throw LoopUnsupported{"a division of integers by an array"};
  require(Expr::apply(op::infix(">"), {operands[1].expr, Expr::constant("0")}));
}

// base ** exponent; NumPy has shorter ways for some numbers.
LoopValue LoopBuilder::power_of_array(const LoopValue& base, const LoopValue& exponent) {
  std::optional<double> known = exponent.known_float;
  if (exponent.known) known = static_cast<double>(*exponent.known);
  const bool is_array_of_floats = is_arraylike(base) && is_floating(base.dtype);
  if (is_arraylike(base) && known == 2 && base.dtype != DType::Bool) return pending("square", {base});
  if (is_array_of_floats && known == 0.5) return pending("sqrt", {base});
  if (is_array_of_floats && known == -1) return pending("divide", {loop_known_float(1.0), base});
  if (base.dtype == DType::C128 || exponent.dtype == DType::C128)
    throw LoopUnsupported{"a power of complex arrays"};
  if (is_array_of_floats && exponent.is_number() && !known)
    require(Expr::apply(op::infix("!="), {exponent.expr, Expr::constant("0.5")}));
  return pending("power", {base, exponent});
}

// min(max(values, low), high)
LoopValue LoopBuilder::clipped(std::vector<LoopValue> args) {
  const auto is_none = [](const LoopValue& value) {
    return value.kind == LoopKind::Const && value.object == Py_None;
  };
  LoopValue result = args[0];
  if (!is_none(args[1])) result = pending("maximum", {result, args[1]});
  return is_none(args[2]) ? result : pending("minimum", {result, args[2]});
}

// 1, -1 and 0 by the sign; NaN of NaN.
LoopValue LoopBuilder::sign(const LoopValue& array) {
  const DType dtype = array.dtype;
  if (!is_floating(dtype) && !(is_integral(dtype) && is_signed(dtype)))
    throw LoopUnsupported{fmt::format("numpy.sign of {}", name(dtype))};
  const LoopValue x = materialized(array);
  const auto number = [&](int value) {
    return loop_numpy(dtype, cast(c_type(dtype), Expr::constant(std::to_string(value))));
  };
  parts_.push_back(x);
  const LoopValue at_most_0 = pending("where", {pending("less", {x, number(0)}), number(-1), x});
  const LoopValue others = pending("where", {pending("equal", {x, number(0)}), number(0), at_most_0});
  return pending("where", {pending("greater", {x, number(0)}), number(1), others});
}

// The root of the sum of squares of an array of any shape.
LoopValue LoopBuilder::norm(const LoopValue& array) {
  LoopValue line = array;
  if (num_dims(array) != 1) {
    line = materialized(array, true);
    std::string count = "1L";
    for (const std::string& size : shape_of(line)) count += " * " + size;
    line = loop_view(line.dtype, line.index, line.items[0].expr, {loop_int(temporary("i64", count), true)},
                     {loop_known_int(1)});
    parts_.push_back(line);
  }
  const LoopValue squares = product(line, line);
  return loop_numpy(squares.dtype,
                    temporary(c_type(squares.dtype), Expr::apply(op::kSquareRoot, {squares.expr})));
}

}  // namespace weft::capture
