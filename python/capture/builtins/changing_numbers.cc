#include "capture/builtins/changing_numbers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "bindings.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/numpy/names.h"
#include "core/default_dtype.h"
#include "ops/build.h"
#include "ops/iteration_order.h"
#include "ops/range.h"

namespace weft::capture {

namespace {

using ops::build::expand;

bool changes(Evaluator& ev, const V& value) { return changing_number(ev, value).defined(); }

// dtype=, which may be absent or None; false where it is not known.
bool read_dtype(Evaluator& ev, const CallArgs& args, std::optional<DType>& dtype) {
  for (const auto& [key, value] : args.keywords) {
    if (ev.is_none(value)) continue;
    const bool is_host = key == "device" && ev.realize(value)->is_const() &&
                         python::device_of_python(value->object.get()) == Device{};
    if (is_host) continue;
    if (key != "dtype" || !ev.realize(value)->is_const()) return false;
    dtype = python::dtype_of_python(value->object.get());
  }
  return true;
}

// The call with 1 in place of the number gives ones of the right dtype.
V filled(Evaluator& ev, PyObject* callable, const CallArgs& args) {
  CallArgs plain = args;
  V* fill = args.args.size() > 1 ? &plain.args[1] : nullptr;
  for (auto& [key, value] : plain.keywords)
    if (key == "value" || key == "fill_value") fill = &value;
  if (!fill) return nullptr;
  const Tensor number = changing_number(ev, *fill);
  if (!number.defined()) return nullptr;
  *fill = is_floating(number.dtype()) ? const_value(checked(PyFloat_FromDouble(1))) : int_value(1);
  const V ones = call_on_tensors(ev, callable, plain);
  const DType dtype = ones->items[0]->tensor.dtype();
  if (dtype == DType::Bool || is_complex(dtype)) return nullptr;
  const std::vector<ops::Operand> factors = {ones->items[0]->tensor, cast_to(number, dtype)};
  V made = array_value(ops::invoke_in_order(ops::get_op("mul"), factors, {}));
  made->order = ones->items[0]->order;
  return tensor_value(std::move(made));
}

// masked_fill(x, mask, number)
V masked(Evaluator& ev, const CallArgs& args) {
  if (args.args.size() != 3 || !args.keywords.empty()) return nullptr;
  const Tensor number = changing_number(ev, args.args[2]);
  const V &x = ev.realize(args.args[0]), &mask = ev.realize(args.args[1]);
  if (!number.defined() || x->kind != Kind::Tensor || mask->kind != Kind::Tensor) return nullptr;
  const Tensor &given = ev.realize(x->items[0])->tensor, &where = ev.realize(mask->items[0])->tensor;
  if (where.dtype() != DType::Bool || given.dtype() == DType::Bool || is_complex(given.dtype()))
    return nullptr;
  return tensor_value(array_value(ops::invoke("where", {where, cast_to(number, given.dtype()), given})));
}

// As the operator counts: from both ends, in the result's dtype (ops/creation.cc).
V linspace(Evaluator& ev, const CallArgs& args) {
  if (args.args.size() != 3 ||
      std::none_of(args.args.begin(), args.args.end(), [&](const V& arg) { return changes(ev, arg); }))
    return nullptr;
  std::optional<DType> given;
  if (!read_dtype(ev, args, given)) return nullptr;
  const DType dtype = given.value_or(default_float());
  const V &start = args.args[0], &end = args.args[1], &steps = args.args[2];
  if ((dtype != DType::F32 && dtype != DType::F64) || !ev.is_int(steps)) return nullptr;
  const Sym count = ev.to_sym(steps, "steps");
  if (sym_lt(count, Sym(2))) return nullptr;
  constexpr int kMultiply = 5, kSubtract = 10, kDivide = 11;
  const V intervals = ev.binary(kSubtract, steps, int_value(1));
  const V width = ev.binary(kDivide, ev.binary(kSubtract, end, start), intervals);
  const V first = ev.binary(kSubtract, end, ev.binary(kMultiply, width, intervals));
  const auto number = [&](const V& value) { return cast_to(ev.to_tensor(value), dtype); };
  const Tensor position = ops::build::iota(count, Scalar(0), Scalar(1), DType::I64);
  const Tensor distance = ops::invoke("mul", {cast_to(position, dtype), number(width)});
  const Tensor is_early = ops::invoke("lt", {position, ev.to_tensor(sym_value(floor_div(count, Sym(2))))});
  return tensor_value(
      array_value(ops::invoke("where", {is_early, ops::invoke("add", {distance, number(start)}),
                                        ops::invoke("add", {distance, number(first)})})));
}

// The query takes the scale that follows from sizes.
V attention(Evaluator& ev, PyObject* callable, const CallArgs& args) {
  const auto found = std::find_if(args.keywords.begin(), args.keywords.end(),
                                  [](const auto& pair) { return pair.first == "scale"; });
  if (found == args.keywords.end() || args.args.empty() || ev.realize(args.args[0])->kind != Kind::Tensor ||
      ev.realize(found->second)->kind != Kind::Scalar || !Evaluator::is_derived_number(found->second))
    return nullptr;
  const Tensor& query = ev.realize(args.args[0]->items[0])->tensor;
  if (query.dtype() != DType::F32 && query.dtype() != DType::F64) return nullptr;  // they would be rounded
  const Tensor scale = cast_to(changing_number(ev, found->second), query.dtype());
  CallArgs scaled = args;
  scaled.args[0] = tensor_value(array_value(ops::invoke("mul", {query, scale})));
  scaled.keywords[static_cast<size_t>(found - args.keywords.begin())].second =
      const_value(checked(PyFloat_FromDouble(1)));
  return call_on_tensors(ev, callable, scaled);
}

bool holds_changing(Evaluator& ev, const V& value) {
  ev.realize(value);
  if (value->kind != Kind::List && value->kind != Kind::Tuple) return changes(ev, value);
  return std::any_of(value->items.begin(), value->items.end(),
                     [&](const V& item) { return holds_changing(ev, item); });
}

bool holds_floats(Evaluator& ev, const V& value) {
  ev.realize(value);
  if (value->kind == Kind::List || value->kind == Kind::Tuple)
    return std::any_of(value->items.begin(), value->items.end(),
                       [&](const V& item) { return holds_floats(ev, item); });
  return !ev.is_int(value);
}

// Undefined where something else is among the numbers.
Tensor stacked(Evaluator& ev, const V& value, DType dtype) {
  ev.realize(value);
  if (value->kind == Kind::List || value->kind == Kind::Tuple) {
    std::vector<Tensor> parts;
    for (const V& item : value->items) {
      const Tensor part = stacked(ev, item, dtype);
      if (!part.defined() || (!parts.empty() && part.dim() + 1 != parts[0].dim())) return {};
      parts.push_back(ops::build::unsqueeze(part, 0));
    }
    return parts.empty() ? Tensor() : ops::build::join(parts, 0);
  }
  const Tensor number = changing_number(ev, value);
  if (number.defined()) return cast_to(number, dtype);
  const bool is_number = value->is_const() &&
                         (PyLong_CheckExact(value->object.get()) || PyFloat_CheckExact(value->object.get()));
  return is_number ? ops::build::full({}, *scalar_of(value->object.get()), dtype) : Tensor();
}

}  // namespace

Tensor changing_number(Evaluator& ev, const V& value) {
  if (!value) return {};
  ev.realize(value);
  const bool is_float = value->kind == Kind::Scalar && value->weak == WeakKind::Float;
  return is_float || value->kind == Kind::SymInt ? ev.to_tensor(value) : Tensor();
}

V call_with_changing_numbers(Evaluator& ev, PyObject* callable, const CallArgs& args) {
  const ops::OpDef* const op = python::operator_of_python(callable);
  if (!op) return nullptr;
  if (op->name == "full" || op->name == "full_like") return filled(ev, callable, args);
  if (op->name == "masked_fill") return masked(ev, args);
  if (op->name == "scaled_dot_product_attention") return attention(ev, callable, args);
  return op->name == "linspace" ? linspace(ev, args) : nullptr;
}

V range_of_changing_floats(Evaluator& ev, const V& start, const V& stop, const V& step, DType dtype) {
  if (!ops::is_rounded_in_runs(dtype)) return nullptr;
  bool is_float = false, is_derived = false;
  for (const V& bound : {start, stop, step}) {
    const bool derived = Evaluator::is_derived_number(ev.realize(bound));
    const bool known = bound->is_const() &&
                       (PyLong_CheckExact(bound->object.get()) || PyFloat_CheckExact(bound->object.get()));
    if (!derived && !known) return nullptr;
    is_derived |= derived;
    is_float |= !ev.is_int(bound);
  }
  if (!is_float || !is_derived) return nullptr;
  constexpr int kSubtract = 10, kDivide = 11;
  const V ratio = ev.realize(ev.binary(kDivide, ev.binary(kSubtract, stop, start), step));
  if (!Evaluator::is_derived_number(ratio) || ev.truth(ev.compare(Py_LT, ratio, int_value(0))))
    return nullptr;  // a step that leads away from the end is an error
  const V count = ev.computed(0, lowered_object("math.ceil"), {ratio});
  if (!count || !ev.is_int(count)) return nullptr;
  const Sym size = ev.to_sym(count, "a number of elements");
  if (sym_lt(size, Sym(0))) return nullptr;
  const Tensor whole = ev.to_tensor(sym_value(ops::whole_runs(size, dtype)));
  return tensor_value(
      array_value(ops::range_in_runs(size, whole, ev.to_tensor(start), ev.to_tensor(step), dtype)));
}

V fill_with_changing_number(Evaluator& ev, const V& self, const CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) return nullptr;
  const Tensor number = changing_number(ev, args.args[0]);
  const Tensor& tensor = ev.realize(self->items[0])->tensor;
  if (!number.defined() || tensor.dtype() == DType::Bool || is_complex(tensor.dtype())) return nullptr;
  CallArgs copied;
  copied.args = {tensor_value(array_value(expand(cast_to(number, tensor.dtype()), ops::sym_shape(tensor))))};
  return call_tensor_method(ev, self, "copy_", copied);
}

V tensor_of_changing_numbers(Evaluator& ev, const CallArgs& args) {
  if (args.args.size() != 1 || !holds_changing(ev, args.args[0])) return nullptr;
  std::optional<DType> given;
  if (!read_dtype(ev, args, given)) return nullptr;
  const DType dtype = given.value_or(holds_floats(ev, args.args[0]) ? default_float() : DType::I64);
  if (dtype == DType::Bool || is_complex(dtype)) return nullptr;
  const Tensor made = stacked(ev, args.args[0], dtype);
  return made.defined() ? tensor_value(array_value(ops::call1("cast", {made}, {{"dtype", dtype}}))) : nullptr;
}

}  // namespace weft::capture
