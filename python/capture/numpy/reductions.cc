// NumPy's reductions.
#include <fmt/format.h>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "weft/error.h"

namespace weft::capture {

void refuse_bool(Evaluator& ev, const V& value, const char* what) {
  if (ev.realize(value)->is(Py_True) || value->is(Py_False))
    graph_break(fmt::format("{} that is a truth value", what));
}

int64_t to_axis(Evaluator& ev, const V& axis) {
  refuse_bool(ev, axis, "an axis");
  return ev.to_int(axis, "an axis");
}

std::vector<int64_t> to_axes(Evaluator& ev, const V& axis, int64_t ndim, const char* op) {
  std::vector<int64_t> axes;
  if (!axis || ev.is_none(axis)) {
    for (int64_t d = 0; d < ndim; ++d) axes.push_back(d);
    return axes;
  }
  const bool many = axis->kind == Kind::Tuple || axis->kind == Kind::List ||
                    (axis->is_const() && PyTuple_CheckExact(axis->object.get()));
  for (const V& item : many ? ev.elements(axis) : std::vector<V>{axis})
    axes.push_back(ops::normalize_dim(op, to_axis(ev, item), ndim));
  return axes;
}

namespace {

struct Reduction {
  V array;
  Tensor tensor;
  std::vector<int64_t> axes;
  bool keepdims = false, all = false;
  V dtype, out, initial, where;
  Sym count() const {
    Sym n(1);
    for (int64_t axis : axes) n = n * ops::sym_shape(tensor)[static_cast<size_t>(axis)];
    return n;
  }
};

constexpr const char* kSignature = "a, axis, dtype, out, keepdims, initial, where";
constexpr const char* kShortSignature = "a, axis, out, keepdims, initial, where";
constexpr const char* kVarSignature = "a, axis, dtype, out, ddof, keepdims, *, where, mean, correction";

bool was_passed(Evaluator& ev, const V& value) {
  if (!value) return false;
  ev.realize(value);
  // np._NoValue stands for an argument that was not given.
  return !(value->object && std::string_view(Py_TYPE(value->object.get())->tp_name) == "numpy._NoValueType");
}

Reduction parse(Evaluator& ev, CallArgs& args, const char* signature, const char* op,
                std::vector<V>* rest = nullptr) {
  std::vector<V> bound = bind_arguments(args, signature);
  if (!bound[0]) graph_break("a reduction of nothing");
  const bool has_dtype = signature != kShortSignature, is_var = signature == kVarSignature;
  size_t next = has_dtype ? 3 : 2;
  Reduction r;
  r.array = bound[0];
  r.tensor = as_tensor(ev, bound[0]);
  const V axis = was_passed(ev, bound[1]) ? bound[1] : nullptr;
  r.axes = to_axes(ev, axis, r.tensor.dim(), op);
  r.all = !axis || ev.is_none(axis);
  if (has_dtype && was_passed(ev, bound[2]) && !ev.is_none(bound[2])) r.dtype = bound[2];
  if (was_passed(ev, bound[next]) && !ev.is_none(bound[next])) r.out = bound[next];
  if (is_var) ++next;
  if (was_passed(ev, bound[next + 1])) r.keepdims = ev.truth(bound[next + 1]);
  const auto unusual = [&](const V& v) { return was_passed(ev, v) && !ev.is_none(v) && !v->is(Py_True); };
  if (is_var) {
    for (size_t i = next + 2; i < bound.size(); ++i)
      if (unusual(bound[i])) graph_break("a variance with where=, mean= or correction=");
    if (r.out) graph_break("a variance with out=");
  } else {
    if (was_passed(ev, bound[next + 2]) && !ev.is_none(bound[next + 2])) r.initial = bound[next + 2];
    if (unusual(bound[next + 3])) r.where = bound[next + 3];
  }
  if (rest) *rest = bound;
  return r;
}

SymShape dims(const std::vector<int64_t>& axes) { return SymShape(axes.begin(), axes.end()); }

Tensor reduce(const Reduction& r, std::string_view op, const Tensor& tensor) {
  if (r.axes.empty()) graph_break("a reduction over no axis");
  return ops::call1(op, {tensor}, {{"dim", dims(r.axes)}, {"keepdim", r.keepdims}});
}

// The elements where= names, and `neutral` elsewhere.
Tensor selected(Evaluator& ev, const Reduction& r, const Tensor& tensor, const Tensor& neutral) {
  if (!r.where) return tensor;
  const Tensor mask = as_tensor(ev, r.where);
  if (mask.dtype() != DType::Bool || mask.dim() > tensor.dim()) graph_break("a reduction with this where=");
  const Tensor result = ops::call1("where", {mask, tensor, neutral});
  if (str(ops::sym_shape(result)) != str(ops::sym_shape(tensor)))
    graph_break("a reduction with a larger where=");
  return result;
}

Tensor number(int64_t value, DType dtype) { return Tensor::scalar(Scalar(value), dtype); }

// initial= as a value of the result's dtype.
Tensor initial_value(Evaluator& ev, const Reduction& r, DType dtype) {
  check_storable(ev, r.initial, dtype);
  const Tensor value = as_tensor(ev, r.initial);
  if (value.dim() != 0 || (is_inexact(value.dtype()) && !is_inexact(dtype)) || is_complex(value.dtype()))
    graph_break("a reduction with this initial=");
  return cast_to(value, dtype);
}

// The new array, laid out as NumPy's reduction.
V laid_out_reduced(const V& result, const Reduction& r) {
  const int64_t ndim = r.tensor.dim();
  return laid_out(
      result, without_axes(iteration_order(std::vector<Tensor>{r.tensor}, ndim), r.axes, ndim, r.keepdims));
}

// The reduction's value, or out= after the assignment.
V finished(Evaluator& ev, const Reduction& r, const Tensor& tensor) {
  // What is reduced over no axis would be the array itself, with its later changes.
  const bool is_same = tensor.dim() == 0 && r.tensor.dim() == 0;
  V result = array_or_scalar(is_same ? ops::call1("cast", {tensor}, {{"dtype", tensor.dtype()}}) : tensor);
  result = laid_out_reduced(result, r);
  if (!r.out) return result;
  V out = r.out;
  if (ev.realize(out)->kind == Kind::Tuple && out->items.size() == 1) out = out->items[0];
  if (ev.realize(out)->kind != Kind::Array || out->flavor != Flavor::NdArray ||
      out->tensor.dtype() != tensor.dtype() ||
      str(ops::sym_shape(out->tensor)) != str(ops::sym_shape(tensor)))
    graph_break("a reduction with out= of another shape or dtype");
  assign(ev, out, out->tensor, result);
  return out;
}

// Results of the accumulating reductions: integers widen to 64 bits.
DType sum_dtype(DType d) {
  if (d == DType::Bool || (is_integral(d) && is_signed(d))) return DType::I64;
  return is_integral(d) ? DType::U64 : d;
}

template <bool kProduct>
V sum(Evaluator& ev, CallArgs& args) {
  Reduction r = parse(ev, args, kSignature, kProduct ? "prod" : "sum");
  const DType dtype = r.dtype ? to_dtype(ev, r.dtype, "dtype") : sum_dtype(r.tensor.dtype());
  const Tensor elements = selected(ev, r, cast_to(r.tensor, dtype), number(kProduct ? 1 : 0, dtype));
  Tensor total = elements.dim() > 0 ? reduce(r, kProduct ? "prod" : "sum", elements)
                 : kProduct         ? elements
                                    : ops::call1("add", {elements, number(0, dtype)});  // sums start from 0.0
  total = cast_to(total, dtype);  // the operator adds narrow integers up in wide ones
  if (r.initial) total = ops::call1(kProduct ? "mul" : "add", {initial_value(ev, r, dtype), total});
  return finished(ev, r, total);
}

template <bool kMax>
V extreme(Evaluator& ev, CallArgs& args) {
  Reduction r = parse(ev, args, kShortSignature, kMax ? "max" : "min");
  if (r.where && !r.initial) graph_break("max() with where= and no initial=");
  const DType dtype = r.tensor.dtype();
  Tensor elements = r.tensor, initial;
  if (r.initial) {
    initial = initial_value(ev, r, dtype);
    elements = selected(ev, r, elements, initial);
  }
  Tensor result = elements.dim() == 0 ? elements : reduce(r, kMax ? "amax" : "amin", elements);
  if (r.initial) result = ops::call1(kMax ? "maximum" : "minimum", {result, initial});
  return finished(ev, r, result);
}

template <bool kAll>
V quantifier(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, out, keepdims, *, where");
  Reduction r = parse(ev, args, kShortSignature, kAll ? "all" : "any");
  if (r.initial) graph_break("any() with initial=");
  const Tensor elements =
      r.where ? selected(ev, r, cast_to(r.tensor, DType::Bool), number(kAll, DType::Bool)) : r.tensor;
  if (elements.dim() == 0) return finished(ev, r, cast_to(elements, DType::Bool));
  return finished(ev, r, reduce(r, kAll ? "all" : "any", elements));
}

Tensor divide(Evaluator& ev, const Tensor& x, Sym count) {
  return numpy_pointwise(ev, "true_divide", {array_value(x), sym_value(count)})->tensor;
}

Tensor mean_of(Evaluator& ev, Reduction r, DType compute) {
  Tensor total = reduce(r, "sum", cast_to(r.tensor, compute));
  return divide(ev, total, r.count());
}

V mean(Evaluator& ev, CallArgs& args) {
  Reduction r = parse(ev, args, kSignature, "mean");
  if (r.initial || r.where) graph_break("mean() with where=");
  if (r.tensor.dim() == 0 && !r.axes.empty()) graph_break("the mean of a scalar along an axis");
  if (sym_eq(r.count(), Sym(0))) graph_break("the mean of nothing");
  DType result = r.dtype                        ? to_dtype(ev, r.dtype, "dtype")
                 : is_inexact(r.tensor.dtype()) ? r.tensor.dtype()
                                                : DType::F64;
  // NumPy adds up half precision in single.
  const DType compute = result == DType::F16 && !r.dtype ? DType::F32 : result;
  if (r.tensor.dim() == 0 && is_complex(result))
    graph_break("the mean of one complex number");  // divided by one
  if (r.tensor.dim() == 0)
    return finished(ev, r,
                    cast_to(ops::call1("add", {cast_to(r.tensor, result), number(0, result)}), result));
  return finished(ev, r, cast_to(mean_of(ev, r, compute), result));
}

template <bool kRoot>
V variance(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound;
  Reduction r = parse(ev, args, kVarSignature, kRoot ? "std" : "var", &bound);
  if (is_complex(r.tensor.dtype()) || r.tensor.dtype() == DType::F16 || r.tensor.dim() == 0)
    graph_break("a variance of this dtype");
  const DType dtype = r.dtype                        ? to_dtype(ev, r.dtype, "dtype")
                      : is_inexact(r.tensor.dtype()) ? r.tensor.dtype()
                                                     : DType::F64;
  if (!is_inexact(dtype)) graph_break("a variance of this dtype");
  const int64_t ddof = was_passed(ev, bound[4]) ? ev.to_int(bound[4], "ddof") : 0;
  const Sym count = r.count();
  if (sym_le(count, Sym(ddof))) graph_break("a variance of too few elements");
  Reduction kept = r;
  kept.keepdims = true;
  const V x = array_value(cast_to(r.tensor, dtype));
  const V centered = numpy_pointwise(ev, "sub", {x, array_value(mean_of(ev, kept, dtype))});
  Tensor total = reduce(r, "sum", numpy_pointwise(ev, "mul", {centered, centered})->tensor);
  const V result = laid_out_reduced(array_or_scalar(divide(ev, total, count - Sym(ddof))), r);
  return kRoot ? numpy_pointwise(ev, "sqrt", {result}) : result;
}

template <bool kMax>
V arg_extreme(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, out, *, keepdims");
  Tensor tensor = as_tensor(ev, bound[0]);
  if (bound[2] && !ev.is_none(bound[2])) graph_break("argmin() with out=");
  const bool keepdims = was_passed(ev, bound[3]) && ev.truth(bound[3]);
  const char* op = kMax ? "argmax" : "argmin";
  for (Sym size : ops::sym_shape(tensor))
    if (sym_eq(size, Sym(0))) graph_break("argmin() of an empty array");
  ops::Attrs attrs{{"keepdim", keepdims}};
  if (bound[1] && !ev.is_none(bound[1]))
    attrs.set("dim", Sym(ops::normalize_dim(op, to_axis(ev, bound[1]), tensor.dim())));
  else
    attrs.set("dim", ops::Attr{});
  return array_or_scalar(ops::call1(op, {tensor}, attrs));
}

V count_nonzero(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, *, keepdims");
  CallArgs sum_args;
  V mask = numpy_pointwise(ev, "ne", {array_value(as_tensor(ev, bound[0])), int_value(0)});
  sum_args.args = {mask};
  if (bound[1]) sum_args.keywords.emplace_back("axis", bound[1]);
  if (bound[2]) sum_args.keywords.emplace_back("keepdims", bound[2]);
  return sum<false>(ev, sum_args);
}

// Norms of vectors, and the Frobenius norm of matrices.
V norm(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "x, ord, axis, keepdims");
  Tensor x = as_tensor(ev, bound[0]);
  if (!is_inexact(x.dtype())) x = cast_to(x, DType::F64);
  if (is_complex(x.dtype()) || x.dtype() == DType::F16) graph_break("the norm of this dtype");
  const bool keepdims = bound[3] && ev.truth(bound[3]);
  const bool no_axis = !bound[2] || ev.is_none(bound[2]);
  std::vector<int64_t> axes = to_axes(ev, bound[2], x.dim(), "norm");
  double order = 2;
  if (bound[1] && !ev.is_none(bound[1])) {
    Ref object = ev.constant(bound[1]);
    if (object && PyUnicode_Check(object.get()) && utf8(object.get()) == "fro" && axes.size() == 2) {
      order = 2;
    } else {
      if (!object || !(PyFloat_Check(object.get()) || PyLong_Check(object.get())))
        graph_break("the order of a norm");
      order = PyFloat_AsDouble(object.get());
      if (no_axis ? x.dim() != 1 : axes.size() != 1) graph_break("a matrix norm");
    }
  }
  if (x.dim() == 0 || axes.size() > (no_axis ? 64u : 2u)) graph_break("the norm over these axes");
  const V value = array_value(x);
  Reduction r;
  r.tensor = x;
  r.axes = axes;
  r.keepdims = keepdims;
  const auto reduced = [&](const char* op, const Tensor& tensor) {
    return laid_out_reduced(array_or_scalar(reduce(r, op, tensor)), r);
  };
  if (order == 2)
    return numpy_pointwise(ev, "sqrt", {reduced("sum", numpy_pointwise(ev, "mul", {value, value})->tensor)});
  const V magnitude = numpy_pointwise(ev, "abs", {value});
  if (order == 1) return reduced("sum", magnitude->tensor);
  if (std::isinf(order)) return reduced(order > 0 ? "amax" : "amin", magnitude->tensor);
  if (order == 0) {
    const V differs = numpy_pointwise(ev, "ne", {value, int_value(0)});
    return reduced("sum", cast_to(differs->tensor, x.dtype()));
  }
  const auto power = [&](const V& base, double exponent) {
    return numpy_binary(ev, 8, base, const_value(checked(PyFloat_FromDouble(exponent))));
  };
  return power(reduced("sum", power(magnitude, order)->tensor), 1 / order);
}

}  // namespace

void register_numpy_reductions() {
  const std::pair<const char*, Lowering> functions[] = {{"numpy.sum", sum<false>},
                                                        {"numpy.prod", sum<true>},
                                                        {"numpy.max", extreme<true>},
                                                        {"numpy.amax", extreme<true>},
                                                        {"numpy.min", extreme<false>},
                                                        {"numpy.amin", extreme<false>},
                                                        {"numpy.all", quantifier<true>},
                                                        {"numpy.any", quantifier<false>},
                                                        {"numpy.mean", mean},
                                                        {"numpy.var", variance<false>},
                                                        {"numpy.std", variance<true>},
                                                        {"numpy.argmax", arg_extreme<true>},
                                                        {"numpy.argmin", arg_extreme<false>},
                                                        {"numpy.count_nonzero", count_nonzero},
                                                        {"numpy.linalg.norm", norm}};
  for (const auto& [name, lowering] : functions) register_lowering(name, lowering);
  // Methods of arrays as well, but for four.
  for (const auto& [path, lowering] : functions) {
    const std::string_view name = std::string_view(path).substr(sizeof("numpy.") - 1);
    if (name != "amax" && name != "amin" && name != "count_nonzero" && name != "linalg.norm")
      register_array_method(name.data(), lowering);
  }
}

}  // namespace weft::capture
