// Floats of which only the run tells whether they are Python's or NumPy's, as max(0.0, x[i]) gives them: the
// number and a flag, so that what differs in nothing but that needs no branch. Where it matters, the block
// splits in two.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

const std::string& number_of(const LoopValue& value) {
  return value.kind == LoopKind::Either ? value.items[0].expr : value.expr;
}

std::string is_numpy_expr(const LoopValue& value) {
  return value.kind == LoopKind::Either  ? value.items[1].expr
         : value.kind == LoopKind::Numpy ? "true"
                                         : "false";
}

// The value, if it is an Either, as one of the two.
LoopValue as_python(const LoopValue& value) {
  return value.kind == LoopKind::Either ? value.items[0] : value;
}
LoopValue as_numpy(const LoopValue& value) {
  return value.kind == LoopKind::Either ? loop_numpy(DType::F64, value.items[0].expr) : value;
}

}  // namespace

LoopValue loop_either(std::string number, std::string is_numpy) {
  LoopValue value;
  value.kind = LoopKind::Either;
  value.items = {loop_float(std::move(number)), loop_bool(std::move(is_numpy))};
  return value;
}

LoopValue LoopBuilder::extremum_of_doubles(bool largest, const LoopValue& a, const LoopValue& b) {
  const std::string displaced =
      temporary("bool", fmt::format("{} {} {}", number_of(b), largest ? ">" : "<", number_of(a)));
  const std::string number =
      temporary("f64", fmt::format("{} ? {} : {}", displaced, number_of(b), number_of(a)));
  if (a.kind == b.kind && a.kind == LoopKind::Float) return loop_float(number);
  if (a.kind == b.kind && a.kind == LoopKind::Numpy) return loop_numpy(DType::F64, number);
  return loop_either(
      number, temporary("bool", fmt::format("{} ? {} : {}", displaced, is_numpy_expr(b), is_numpy_expr(a))));
}

// Beside a NumPy scalar both must compute in float64; that is NumPy's then.
bool LoopBuilder::decides_numpy(const LoopValue& a, const LoopValue& b) {
  const LoopValue& other = a.kind == LoopKind::Either ? b : a;
  if (other.kind != LoopKind::Numpy) {
    if (!other.is_python() && other.kind != LoopKind::Either)
      throw LoopUnsupported{"an operation on what is not a number"};
    return false;
  }
  for (const LoopValue& as : {loop_float(""), loop_numpy(DType::F64, "")})
    if (common_dtype(as, other) != DType::F64)
      throw LoopUnsupported{"an operation whose type depends on which float it is"};
  return true;
}

LoopValue LoopBuilder::either_binary(int op, const LoopValue& a, const LoopValue& b) {
  if (decides_numpy(a, b)) return numpy_binary(op, as_numpy(a), as_numpy(b));
  const LoopValue result = float_binary(op, as_python(a), as_python(b));
  const bool both = a.kind == LoopKind::Either && b.kind == LoopKind::Either;
  return loop_either(result.expr,
                     both ? temporary("bool", fmt::format("{} | {}", is_numpy_expr(a), is_numpy_expr(b)))
                          : is_numpy_expr(a.kind == LoopKind::Either ? a : b));
}

// Whether a Python or a NumPy bool comes out must not matter.
LoopValue LoopBuilder::either_compare(int op, const LoopValue& a, const LoopValue& b) {
  if (decides_numpy(a, b)) return compare(op, as_numpy(a), as_numpy(b));
  const auto next = static_cast<size_t>(frame().ip);
  const std::vector<Instruction>& code = frame().code->instructions;
  const bool is_tested = code[next].op == Op::PopJumpIfTrue || code[next].op == Op::PopJumpIfFalse ||
                         code[next].op == Op::ToBool || code[next].op == Op::Not || code[next - 1].arg2;
  if (!is_tested) throw LoopUnsupported{"a truth value whose type depends on which float it is of"};
  return compare(op, as_python(a), as_python(b));
}

// What calls of known functions see: those that give the same for both floats. False: none is known.
bool LoopBuilder::settle_either(PyObject* callable, std::vector<LoopValue>& args) const {
  const bool is_function = PyCFunction_Check(callable);
  const std::string name = is_function ? callable_name(callable) : "";
  if (name == "abs" || name == "min" || name == "max" || name == "divmod") return true;
  const bool is_converted = callable == reinterpret_cast<PyObject*>(&PyLong_Type) ||
                            callable == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
                            callable == reinterpret_cast<PyObject*>(&PyBool_Type);
  if (!is_converted && !name.starts_with("math.")) {
    const bool of_doubles =
        std::all_of(args.begin(), args.end(), [](const LoopValue& arg) { return arg.is_double(); });
    if (std::string_view(Py_TYPE(callable)->tp_name) != "numpy.ufunc" || !of_doubles) return false;
    std::transform(args.begin(), args.end(), args.begin(), as_numpy);
    return true;
  }
  std::transform(args.begin(), args.end(), args.begin(), as_python);
  return true;
}

// Where an instruction does not know such floats: goes on as for the one or as for the other. False where
// there is none.
bool LoopBuilder::split_either() {
  std::vector<LoopValue>& stack = before_.back().stack;
  const auto found = std::find_if(stack.rbegin(), stack.rend(),
                                  [](const LoopValue& value) { return value.kind == LoopKind::Either; });
  if (found == stack.rend()) return false;
  const auto depth = static_cast<int>(found - stack.rbegin()) + 1;
  frames_ = before_;
  const bool is_computed = std::all_of(stack.begin(), stack.end(),
                                       [](const LoopValue& item) { return item.kind != LoopKind::Pending; });
  if (!is_computed) return false;
  const LoopValue value = top(depth);
  top(depth) = as_numpy(value);
  std::vector<LoopFrame> numpy = frames_;
  top(depth) = as_python(value);
  branch(is_numpy_expr(value), std::move(numpy), frames_);
  return true;
}

}  // namespace weft::capture
