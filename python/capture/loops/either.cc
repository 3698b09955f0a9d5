// Floats of which only the run tells whether they are Python's or NumPy's, as max(0.0, x[i]) gives them: the
// number and a flag, so that what differs in nothing but that needs no branch. Where it matters, the block
// splits in two.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

const Expr& number_of(const LoopValue& value) {
  return value.kind == LoopKind::Either ? value.items[0].expr : value.expr;
}

Expr is_numpy_expr(const LoopValue& value) {
  if (value.kind == LoopKind::Either) return value.items[1].expr;
  return Expr::constant(value.kind == LoopKind::Numpy ? "true" : "false");
}

// The value, if it is an Either, as one of the two.
LoopValue as_python(const LoopValue& value) {
  return value.kind == LoopKind::Either ? value.items[0] : value;
}
LoopValue as_numpy(const LoopValue& value) {
  return value.kind == LoopKind::Either ? loop_numpy(DType::F64, value.items[0].expr) : value;
}

}  // namespace

LoopValue loop_either(Expr number, Expr is_numpy) {
  LoopValue value;
  value.kind = LoopKind::Either;
  value.items = {loop_float(std::move(number)), loop_bool(std::move(is_numpy))};
  return value;
}

LoopValue LoopBuilder::extremum_of_doubles(bool largest, const LoopValue& a, const LoopValue& b) {
  const Expr displaced = operation("bool", number_of(b), largest ? ">" : "<", number_of(a));
  const Expr number = temporary("f64", Expr::apply(op::kSelect, {displaced, number_of(b), number_of(a)}));
  if (a.kind == b.kind && a.kind == LoopKind::Float) return loop_float(number);
  if (a.kind == b.kind && a.kind == LoopKind::Numpy) return loop_numpy(DType::F64, number);
  return loop_either(
      number, temporary("bool", Expr::apply(op::kSelect, {displaced, is_numpy_expr(b), is_numpy_expr(a)})));
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
  return loop_either(result.expr, both ? operation("bool", is_numpy_expr(a), "|", is_numpy_expr(b))
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

namespace {

bool sets(const Code& code, int begin, int end, size_t local) {
  for (int i = begin; i < end; ++i) {
    const Instruction& in = code.instructions[static_cast<size_t>(i)];
    if (in.op == Op::StoreFast && static_cast<size_t>(in.arg) == local) return true;
  }
  return false;
}

}  // namespace

// A sum that begins with 0.0 before an inner loop is NumPy's float behind the loop's first round, which would
// be a block of its own each time the loop begins.
void LoopBuilder::find_either_locals() const {
  LoopObjects::EitherLocals found;
  std::map<std::string, std::map<size_t, std::set<LoopKind>>> kinds;  // by position and local
  for (const Block& block : blocks_) {
    const LoopFrame& frame = block.frames.back();
    const Code& code = *frame.code;
    const int end = loop_end(code, frame.ip), around = outermost_loop(code, frame.ip);
    if (end < 0 || around == frame.ip) continue;
    std::string position;
    for (const LoopFrame& one : block.frames)
      position += fmt::format("{} {} ", static_cast<const void*>(one.code), one.ip);
    for (size_t i = 0; i < frame.locals.size(); ++i) {
      const LoopValue& local = frame.locals[i];
      if (!local.is_leaf() || !local.is_double()) continue;
      std::set<LoopKind>& seen = kinds[position][i];
      seen.insert(local.kind);
      if (seen.size() == 2 && sets(code, frame.ip, end, i) &&
          (sets(code, around, frame.ip, i) || sets(code, end, loop_end(code, around), i)))
        found.insert({&code, frame.ip, i});
    }
  }
  const LoopObjects::EitherLocals& known = result_.objects.either_locals;
  if (std::includes(known.begin(), known.end(), found.begin(), found.end())) return;
  found.insert(known.begin(), known.end());
  throw LoopEitherLocals{std::move(found)};
}

void LoopBuilder::hold_either(std::vector<LoopFrame>& frames) const {
  LoopFrame& frame = frames.back();
  const LoopObjects::EitherLocals& known = result_.objects.either_locals;
  for (auto at = known.lower_bound({frame.code, frame.ip, 0}); at != known.end(); ++at) {
    const auto& [code, head, local] = *at;
    if (code != frame.code || head != frame.ip) return;
    LoopValue& value = frame.locals[local];
    if (value.is_leaf() && value.is_double()) value = loop_either(value.expr, is_numpy_expr(value));
  }
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
