// NumPy's functions of single numbers in native loops: what ufuncs compute comes from the operator table, for
// each node of an operator an instruction; what no instruction computes is NumPy's own loop over one element.
#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "capture/loops/memory.h"
#include "capture/loops/operations.h"
#include "capture/objects/numpy_api.h"
#include "capture/objects/ufuncs.h"
#include "nest/vocabulary.h"

namespace weft::capture {

namespace {

using scalar::Prim;

// Operators that the language has as well, as NB_*.
std::optional<int> binary_of(std::string_view name) {
  static const auto& operators = *new std::map<std::string_view, int>{
      {"add", NB_ADD},
      {"sub", NB_SUBTRACT},
      {"mul", NB_MULTIPLY},
      {"true_divide", NB_TRUE_DIVIDE},
      {"floor_divide", NB_FLOOR_DIVIDE},
      {"remainder", NB_REMAINDER},
      {"bitwise_and", NB_AND},
      {"bitwise_or", NB_OR},
      {"bitwise_xor", NB_XOR},
      {"left_shift", NB_LSHIFT},
      {"right_shift", NB_RSHIFT},
      {"pow", NB_POWER},
  };
  const auto found = operators.find(name);
  return found == operators.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int> comparison_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return {};
  return static_cast<int>(found - std::begin(kNames));
}

// NumPy refuses most functions of truth values, and widens others to a byte.
bool takes_bools(std::string_view name) {
  constexpr std::string_view kNames[] = {"logical_and", "logical_or", "logical_xor", "logical_not",
                                         "bitwise_not", "maximum",    "minimum",     "abs"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Nodes that give no infinity and no NaN where no operand is one.
bool is_exact(Prim prim) {
  switch (prim) {
    case Prim::Arg:
    case Prim::Const:
    case Prim::Neg:
    case Prim::Abs:
    case Prim::Not:
    case Prim::Floor:
    case Prim::Ceil:
    case Prim::Trunc:
    case Prim::RoundEven:
    case Prim::IsNan:
    case Prim::Min:
    case Prim::Max:
    case Prim::FMin:
    case Prim::FMax:
    case Prim::Eq:
    case Prim::Ne:
    case Prim::Lt:
    case Prim::Le:
    case Prim::And:
    case Prim::Or:
    case Prim::Xor:
    case Prim::CopySign:
    case Prim::Select: return true;
    default: return false;
  }
}

bool all_nodes(const scalar::Expr& expr, const std::function<bool(const scalar::ExprNode&)>& holds) {
  const scalar::ExprNode& node = expr.node();
  return holds(node) && std::all_of(node.args.begin(), node.args.end(),
                                    [&](const scalar::Expr& arg) { return all_nodes(arg, holds); });
}

// One that rounds as NumPy's does: arithmetic, and no function of a library, nor a factor that is rounded.
// Which of two zeros is the larger, only NumPy's loop knows.
bool is_arithmetic(const scalar::ExprNode& node) {
  if (node.prim == Prim::Arg) return true;
  if (node.prim == Prim::Const) {
    const double twice = is_floating(node.dtype) ? 2 * node.value.to_double() : 0;
    return twice == std::trunc(twice);
  }
  if (node.prim >= Prim::Exp || node.prim == Prim::NextAfter || node.prim == Prim::Fma) return false;
  const DType dtype = node.args.back().dtype();
  if (is_floating(dtype) && node.prim >= Prim::Min && node.prim <= Prim::FMax) return false;
  return node.prim == Prim::Cast || node.prim == Prim::Select ||
         (nest::is_printable(node.prim, dtype) && !has_number_function(node.prim, dtype));
}

// Does NumPy warn of nothing? It warns of infinities and NaN that come of none.
Expr is_no_warning(const Expr& result, const std::vector<Expr>& operands) {
  Expr any_nan, any_infinite;
  for (const Expr& x : operands) {
    const Expr nan = Expr::apply(op::kIsNan, {x}), infinite = Expr::apply(op::kIsInfinite, {x});
    any_nan = any_nan.empty() ? nan : Expr::apply(op::kOr, {any_nan, nan});
    any_infinite = any_infinite.empty() ? infinite : Expr::apply(op::kOr, {any_infinite, infinite});
  }
  const Expr comes_of_one =
      Expr::apply(op::kSelect, {Expr::apply(op::kIsNan, {result}), any_nan, any_infinite});
  return Expr::apply(op::kOr,
                     {Expr::apply(op::kIsFinite, {result}), Expr::apply(op::kBrackets, {comes_of_one})});
}

// Does NumPy warn of nothing that the operator `name` gives? Of logaddexp it warns of NaN that comes of NaN,
// too, of powers of infinities that come of others.
Expr is_no_warning_of(std::string_view name, const Expr& result, const std::vector<Expr>& operands) {
  if (name == "pow") return Expr::apply(op::kIsFinite, {result});
  const Expr usual = is_no_warning(result, operands);
  if (name != "logaddexp" && name != "logaddexp2") return usual;
  return both(Expr::apply(op::kIsNotNan, {result}), Expr::apply(op::kBrackets, {usual}));
}

// Others may have its name.
bool is_numpys_own(PyObject* ufunc, const std::string& name) {
  const Ref numpy = checked(PyImport_ImportModule("numpy"));
  const Ref own = Ref::steal(PyObject_GetAttrString(numpy.get(), name.c_str()));
  if (!own) PyErr_Clear();
  return own.get() == ufunc;
}

}  // namespace

// The number in the type that an operator computes in.
Expr LoopBuilder::operand(const LoopValue& value, DType dtype) {
  const bool is_narrowed = value.kind == LoopKind::Float && dtype == DType::F32;
  return temporary(c_type(dtype), is_narrowed ? stored(value, dtype) : as_dtype(value, dtype));
}

Expr LoopBuilder::computed(const scalar::Expr& expr, const std::vector<Expr>& operands,
                           std::map<const scalar::ExprNode*, Expr>& known) {
  const scalar::ExprNode& node = expr.node();
  if (node.prim == Prim::Arg) return operands[static_cast<size_t>(node.index)];
  if (node.prim == Prim::Const) return Expr::constant(literal(node.value, node.dtype));
  if (const auto found = known.find(&node); found != known.end()) return found->second;
  std::vector<Expr> args;
  for (const scalar::Expr& arg : node.args) args.push_back(computed(arg, operands, known));
  const std::string type = c_type(node.dtype);
  return known[&node] = temporary(type, cast(type, applied(node, args, elementary_, function_names())));
}

bool LoopBuilder::call_ufunc(PyObject* ufunc, const std::string& name, const std::vector<LoopValue>& args) {
  const char* const operation = operator_of_ufunc(name);
  if (!is_numpys_own(ufunc, name)) return false;
  if (operation) return call_operator(operation, name, args);
  if (name == "divmod" && args.size() == 2) {
    if (!call_operator("floor_divide", name, args)) return false;
    const LoopValue quotient = pop();
    if (!call_operator("remainder", name, args)) return false;
    return push(loop_tuple({quotient, pop()})), true;
  }
  return call_other_ufunc(name, args);
}

// A ufunc of floats without an operator: NumPy's loop computes it.
bool LoopBuilder::call_other_ufunc(const std::string& name, const std::vector<LoopValue>& args) {
  if (args.empty() || args.size() > 2) return false;
  std::vector<ops::Operand> types;
  std::vector<LoopValue> numbers = args;
  for (LoopValue& number : numbers) {
    if (!number.is_number()) return false;
    if (args.size() == 1 || (args[0].is_python() && args[1].is_python())) number = as_numpy_scalar(number);
    types.push_back(operand_type(number));
  }
  if (types.size() == 1) types.push_back(types[0]);
  const DType dtype = ops::promoted_types(ops::get_op("maximum"), types, Promotion::NumPy).compute;
  const void* const loop =
      dtype == DType::F64 || dtype == DType::F32 ? ufunc_loop(name, dtype, args.size()) : nullptr;
  if (!loop) return false;
  std::vector<Expr> operands;
  for (const LoopValue& number : numbers) operands.push_back(operand(number, dtype));
  const Expr result = looped(name, loop, operands, dtype, dtype);
  require(Expr::apply(op::kIsFinite, {result}));
  return push(loop_numpy(dtype, result)), true;
}

Expr LoopBuilder::looped(const std::string& ufunc, const void* loop, const std::vector<Expr>& operands,
                         DType compute, DType result) {
  std::vector<Expr> called{
      function(LibraryFunction{fmt::format("ufunc_{}_{}", ufunc, c_type(compute)), loop, "UfuncLoop"})};
  called.insert(called.end(), operands.begin(), operands.end());
  const std::string type = c_type(result);
  return temporary(type,
                   Expr::apply(operands.size() == 1 ? op::kUfunc1 : op::kUfunc2, std::move(called), type));
}

// Of the operator `name`: false where native code has none.
bool LoopBuilder::call_operator(const std::string& name, const std::string& ufunc,
                                const std::vector<LoopValue>& args) {
  if (name == "sign") return call_sign(args);
  const ops::OpDef& op = ops::get_op(name);
  const auto num_operands = std::count_if(op.params.begin(), op.params.end(),
                                          [](const ops::Param& param) { return param.is_tensor(); });
  if (!op.semantics || static_cast<size_t>(num_operands) != args.size()) return false;
  const auto is_number = [](const LoopValue& arg) { return arg.is_number(); };
  if (!std::all_of(args.begin(), args.end(), is_number)) return false;
  std::vector<LoopValue> numbers = args;
  if (std::all_of(args.begin(), args.end(), [](const LoopValue& arg) { return arg.is_python(); }))
    std::transform(args.begin(), args.end(), numbers.begin(), as_numpy_scalar);
  std::vector<ops::Operand> types;
  for (const LoopValue& number : numbers) types.push_back(operand_type(number));
  const ops::PromotedTypes promoted = ops::promoted_types(op, types, Promotion::NumPy);
  const bool is_float = is_floating(promoted.compute);
  if (!is_loop_dtype(promoted.compute) || !is_loop_dtype(promoted.result)) return false;
  if (const auto compared = comparison_of(name))
    return push(compare(*compared, numbers[0], numbers[1])), true;
  const bool is_power = name == "pow";
  if (is_power && is_float && (numbers[1].known_float == 0.5)) return call_numpy("sqrt", {numbers[0]});
  const auto binary = binary_of(name);
  if (binary && (!is_power || promoted.compute == DType::I64)) {
    const LoopValue result = numpy_binary(*binary, numbers[0], numbers[1]);
    const auto as_computed = [&](const LoopValue& number) { return as_dtype(number, promoted.compute); };
    if (is_floating(result.dtype))
      require(is_no_warning(result.expr, {as_computed(numbers[0]), as_computed(numbers[1])}));
    return push(result), true;
  }
  if (promoted.compute == DType::Bool && !takes_bools(name)) return false;
  std::vector<Expr> operands;
  std::vector<scalar::Expr> leaves;
  for (size_t i = 0; i < numbers.size(); ++i)
    leaves.push_back(scalar::Expr::arg(static_cast<int>(i), promoted.compute));
  const scalar::Expr semantics = op.semantics(leaves, default_attributes(op));
  const bool is_plain = all_nodes(semantics, is_arithmetic);
  const void* const loop = is_plain ? nullptr : ufunc_loop(ufunc, promoted.compute, args.size());
  if (!is_plain && !loop) return false;
  for (const LoopValue& number : numbers) operands.push_back(operand(number, promoted.compute));
  // Negative powers of ints are errors.
  if (is_power && !is_float) require(Expr::apply(op::infix(">="), {operands[1], Expr::constant("0")}));
  // By zero NumPy warns.
  if (name == "fmod" && !is_float) require(Expr::apply(op::infix(">"), {operands[1], Expr::constant("0")}));
  Expr result;
  if (loop) {
    result = looped(ufunc, loop, operands, promoted.compute, promoted.result);
    if (is_power && is_float) {
      const Expr is_root = Expr::apply(op::infix("=="), {operands[1], Expr::constant("0.5")});
      const Expr root = Expr::apply(op::kSquareRoot, {operands[0]});
      result = temporary(c_type(promoted.result), Expr::apply(op::kSelect, {is_root, root, result}));
    }
  } else {
    std::map<const scalar::ExprNode*, Expr> known;
    result = computed(semantics, operands, known);
  }
  const auto exact = [](const scalar::ExprNode& node) { return is_exact(node.prim); };
  if (is_floating(promoted.result) && (loop || !all_nodes(semantics, exact)))
    require(is_no_warning_of(name, result, operands));
  return push(loop_numpy(promoted.result, result)), true;
}

bool LoopBuilder::call_sign(const std::vector<LoopValue>& args) {
  if (args.size() != 1 || !args[0].is_number()) return false;
  const LoopValue x = as_numpy_scalar(args[0]);
  if (!is_loop_dtype(x.dtype) || x.dtype == DType::Bool) return false;
  const std::string type = c_type(x.dtype);
  return push(loop_numpy(x.dtype, temporary(type, Expr::apply(op::kSign, {temporary(type, x.expr)}, type)))),
         true;
}

// numpy.round(x, decimals)
bool LoopBuilder::call_round(const LoopValue& given, int64_t decimals) {
  constexpr int64_t kMostDecimals = 15;  // powers of ten that are exact
  if (!given.is_number()) return false;
  const LoopValue x = as_numpy_scalar(given);
  if (is_integral(x.dtype) && decimals >= 0) return push(loop_numpy(x.dtype, x.expr)), true;
  if (!is_floating(x.dtype) || decimals < -kMostDecimals || decimals > kMostDecimals) return false;
  const std::string type = c_type(x.dtype);
  const Expr value = temporary(type, x.expr);
  if (decimals == 0)
    return push(loop_numpy(x.dtype, temporary(type, Expr::apply(op::kRound, {value})))), true;
  double power = 1;
  for (int64_t i = 0; i < std::abs(decimals); ++i) power *= 10;
  const Expr by = temporary(type, cast(type, Expr::constant(float_literal(power))));
  const Expr scaled = operation(type, value, decimals > 0 ? "*" : "/", by);
  const Expr whole = temporary(type, Expr::apply(op::kRound, {scaled}));
  const Expr result = operation(type, whole, decimals > 0 ? "/" : "*", by);
  require(is_no_warning(result, {value}));
  return push(loop_numpy(x.dtype, result)), true;
}

// numpy.clip(x, low, high); None: no limit.
bool LoopBuilder::call_clip(const std::vector<LoopValue>& args) {
  const auto is_none = [](const LoopValue& arg) {
    return arg.kind == LoopKind::Const && arg.object == Py_None;
  };
  if (args.size() != 3) return false;
  if (is_none(args[1]) || is_none(args[2])) {
    if (is_none(args[1]) && is_none(args[2])) return false;
    return is_none(args[1]) ? call_operator("minimum", "minimum", {args[0], args[2]})
                            : call_operator("maximum", "maximum", {args[0], args[1]});
  }
  std::vector<ops::Operand> types;
  // The number is an array by itself: it is not as wide as what it meets.
  std::vector<LoopValue> numbers = args;
  for (const LoopValue& number : numbers)
    if (!number.is_number()) return false;
  numbers[0] = as_numpy_scalar(numbers[0]);
  for (const LoopValue& number : numbers) types.push_back(operand_type(number));
  const DType first =
      ops::promoted_types(ops::get_op("maximum"), std::vector{types[0], types[1]}, Promotion::NumPy).compute;
  types = {Tensor::empty({1}, first), types[2]};
  const DType dtype = ops::promoted_types(ops::get_op("minimum"), types, Promotion::NumPy).compute;
  if (!is_loop_dtype(dtype) || dtype == DType::Bool) return false;
  std::vector<Expr> operands;
  for (const LoopValue& number : numbers) operands.push_back(operand(number, dtype));
  const std::string type = c_type(dtype);
  if (is_floating(dtype))
    require(both(Expr::apply(op::kIsNotNan, {operands[1]}), Expr::apply(op::kIsNotNan, {operands[2]})));
  const Expr low = temporary(type, Expr::apply(op::kNotBelow, {operands[0], operands[1]}));
  return push(loop_numpy(dtype, temporary(type, Expr::apply(op::kNotAbove, {low, operands[2]})))), true;
}

// numpy.where(condition, x, y)
bool LoopBuilder::call_where(const std::vector<LoopValue>& args) {
  const auto is_number = [](const LoopValue& arg) { return arg.is_number(); };
  if (args.size() != 3 || !std::all_of(args.begin(), args.end(), is_number)) return false;
  const LoopValue x = as_numpy_scalar(args[1]), y = as_numpy_scalar(args[2]);
  const auto is_wide = [](DType dtype) { return dtype == DType::F64 || dtype == DType::I64; };
  // Between narrower types and Python's numbers NumPy's versions choose differently.
  if (x.dtype != y.dtype && !(is_wide(x.dtype) && is_wide(y.dtype))) return false;
  const DType dtype = x.dtype == y.dtype ? x.dtype : DType::F64;
  const std::string type = c_type(dtype);
  const Expr chosen = Expr::apply(op::kSelect, {truth(args[0]), temporary(type, as_dtype(x, dtype)),
                                                temporary(type, as_dtype(y, dtype))});
  return push(scalar_array(loop_numpy(dtype, temporary(type, chosen)))), true;
}

// Functions of NumPy that are no ufuncs.
bool LoopBuilder::call_numpy_on_numbers(const std::string& name, const std::vector<LoopValue>& args) {
  if (args.size() == 1 && (name == "numpy.real" || name == "numpy.imag")) {
    const auto part = number_attribute(args[0], name == "numpy.real" ? "real" : "imag");
    return part ? push(*part), true : false;
  }
  if (name == "numpy.fix" && args.size() == 1 && args[0].is_double()) return call_numpy("trunc", args);
  if (name == "numpy.clip") return call_clip(args);
  if (name == "numpy.where") return call_where(args);
  if (name != "numpy.round" && name != "numpy.around") return false;
  if (args.empty() || args.size() > 2 || (args.size() == 2 && !args[1].known)) return false;
  return call_round(args[0], args.size() == 2 ? *args[1].known : 0);
}

}  // namespace weft::capture
