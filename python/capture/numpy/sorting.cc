// NumPy's sorting, searching, scans, and picking elements by position.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"

namespace weft::capture {
namespace {

V flattened(const Tensor& x) {
  return array_value(ops::call1("reshape", {x}, {{"shape", SymShape{product(ops::sym_shape(x))}}}));
}

// The operand and the axis; axis=None flattens, an absent axis is `otherwise` (nullopt: None).
std::pair<Tensor, int64_t> along_axis(Evaluator& ev, const V& array, const V& axis,
                                      std::optional<int64_t> otherwise, const char* op) {
  Tensor x = as_tensor(ev, array);
  if (axis ? ev.is_none(axis) : !otherwise) return {flattened(x)->tensor, 0};
  if (x.dim() == 0) graph_break(fmt::format("{}() of a 0-d array", op));
  return {x, ops::normalize_dim(op, axis ? to_axis(ev, axis) : *otherwise, x.dim())};
}

// Every order of NumPy's gives the same sorted elements.
void check_kind(Evaluator& ev, const V& kind, const V& stable) {
  if (!given(ev, kind)) return;
  const std::string text = ev.to_string(kind, "kind");
  const bool is_known = text == "quicksort" || text == "heapsort" || text == "mergesort" || text == "stable";
  if (!is_known || given(ev, stable)) graph_break("sort() with this kind=");
}

V sort(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, kind, order, *, stable");
  check_kind(ev, bound[2], bound[4]);
  if (given(ev, bound[3])) graph_break("sort() with order=");
  const auto [x, dim] = along_axis(ev, bound[0], bound[1], -1, "sort");
  const V result = array_value(ops::call1("sort_values", {x}, {{"dim", Sym(dim)}}));
  return x.dim() > 1 && bound[0]->kind == Kind::Array ? laid_out(result, copy_order(bound[0])) : result;
}

// Only the stable order is the same in every implementation.
V argsort(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, kind, order, *, stable");
  check_kind(ev, bound[2], bound[4]);
  const std::string kind = given(ev, bound[2]) ? ev.to_string(bound[2], "kind") : "";
  const bool stable = (given(ev, bound[4]) && ev.truth(bound[4])) || kind == "stable" || kind == "mergesort";
  if (!stable)
    graph_break("argsort() that is not stable: equal elements have no defined order (use kind='stable')");
  if (given(ev, bound[3])) graph_break("argsort() with order=");
  const auto [x, dim] = along_axis(ev, bound[0], bound[1], -1, "argsort");
  return array_value(ops::call1("argsort", {x}, {{"dim", Sym(dim)}}));
}

V searchsorted(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, v, side, sorter");
  if (given(ev, bound[3])) graph_break("searchsorted() with sorter=");
  const std::string side = bound[2] ? ev.to_string(bound[2], "side") : "left";
  if (side != "left" && side != "right") graph_break("searchsorted() with an unknown side");
  const Tensor sequence = as_tensor(ev, bound[0]);
  if (sequence.dim() != 1) graph_break("searchsorted() in an array that is not one-dimensional");
  return array_or_scalar(
      ops::call1("searchsorted", {sequence, as_tensor(ev, bound[1])}, {{"right", side == "right"}}));
}

// cumsum and cumprod: integers widen as the sums do.
V scan(Evaluator& ev, CallArgs& args, const char* op) {
  std::vector<V> bound = bind_arguments(args, "a, axis, dtype, out");
  if (given(ev, bound[3])) graph_break(fmt::format("{}() with out=", op));
  const auto [x, dim] = along_axis(ev, bound[0], bound[1], std::nullopt, op);
  const DType d = x.dtype();
  const DType dtype = given(ev, bound[2])               ? to_dtype(ev, bound[2], "dtype")
                      : is_inexact(d)                   ? d
                      : is_integral(d) && !is_signed(d) ? DType::U64
                                                        : DType::I64;
  if (dtype == DType::F16) graph_break("a scan in half precision, which NumPy rounds at every step");
  V result = array_value(ops::call1(op, {cast_to(x, dtype)}, {{"dim", Sym(dim)}, {"dtype", dtype}}));
  return laid_out_as(result, {bound[0]});
}
V cumsum(Evaluator& ev, CallArgs& args) { return scan(ev, args, "cumsum"); }
V cumprod(Evaluator& ev, CallArgs& args) { return scan(ev, args, "cumprod"); }

V diff(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, n, axis, prepend, append");
  for (size_t i : {3u, 4u})
    if (bound[i]) graph_break("diff() with prepend= or append=");
  const Tensor x = as_tensor(ev, bound[0]);
  if (x.dim() == 0) graph_break("diff() of a 0-d array");
  const int64_t n = bound[1] ? ev.to_int(bound[1], "n") : 1, axis = bound[2] ? to_axis(ev, bound[2]) : -1;
  if (n <= 0) graph_break("diff() of no order");  // of order 0 it is the array itself
  V result = array_value(ops::call1("diff", {x}, {{"n", Sym(n)}, {"dim", Sym(axis)}}));
  return laid_out_as(result, {bound[0]});
}

// What operators make by views alone is an array of its own in NumPy.
Tensor copied(const Tensor& tensor) { return ops::call1("cast", {tensor}, {{"dtype", tensor.dtype()}}); }

V flip(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "m, axis");
  const V& array = ev.realize(bound[0]);
  if (array->kind != Kind::Array) graph_break("flip() of something that is not an array");
  if (array->tensor.dim() == 0 && bound[1] && !ev.is_none(bound[1]))
    graph_break("flip() of a number along an axis");
  const std::vector<int64_t> axes = to_axes(ev, bound[1], array->tensor.dim(), "flip");
  if (array->tensor.dim() == 0) return array_or_scalar(copied(array->tensor));  // the element
  V value = array_value(ops::call1("flip", {array->tensor}, {{"dims", SymShape(axes.begin(), axes.end())}}));
  value->view_of = array;
  return value;
}

// x[i + shift] = x[i], as two slices joined.
V roll(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, shift, axis");
  const Tensor x = as_tensor(ev, bound[0]);
  const auto list = [&](const V& v, const char* what) {
    SymShape result;
    if (ev.is_int(v)) return SymShape{Sym(ev.to_int(v, what))};
    for (const V& item : ev.elements(v)) result.push_back(Sym(ev.to_int(item, what)));
    return result;
  };
  const SymShape shifts = list(bound[1], "a shift");
  if (!given(ev, bound[2])) {
    if (shifts.size() != 1) graph_break("roll() with several shifts and no axis");
    return array_value(copied(ops::call1("roll", {x}, {{"shifts", shifts}})));
  }
  const SymShape axes = list(bound[2], "an axis");
  if (axes.size() != shifts.size()) graph_break("roll() with as many shifts as axes");
  V result = array_value(copied(ops::call1("roll", {x}, {{"shifts", shifts}, {"dims", axes}})));
  return bound[0]->kind == Kind::Array ? laid_out(result, copy_order(bound[0])) : result;
}

V ptp(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, out, keepdims");
  if (given(ev, bound[2])) graph_break("ptp() with out=");
  CallArgs reduction;
  reduction.args = {bound[0]};
  if (bound[1]) reduction.keywords.emplace_back("axis", bound[1]);
  if (bound[3]) reduction.keywords.emplace_back("keepdims", bound[3]);
  const V high = find_array_method("max")(ev, reduction), low = find_array_method("min")(ev, reduction);
  return numpy_pointwise(ev, "sub", {high, low});
}

V repeat(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, repeats, axis");
  if (!ev.is_int(bound[1])) graph_break("repeat() with an array of counts");
  const Sym count = ev.to_sym(bound[1], "repeats");
  const auto [x, dim] = along_axis(ev, bound[0], bound[2], std::nullopt, "repeat");
  // A dimension of `count` behind the axis, merged into it.
  SymShape shape = ops::sym_shape(x), wide = shape, result = shape;
  wide.insert(wide.begin() + dim + 1, Sym(1));
  SymShape stretched = wide;
  stretched[static_cast<size_t>(dim) + 1] = count;
  result[static_cast<size_t>(dim)] = shape[static_cast<size_t>(dim)] * count;
  const Tensor expanded =
      ops::call1("expand", {ops::call1("reshape", {x}, {{"shape", wide}})}, {{"shape", stretched}});
  return array_value(copied(ops::call1("reshape", {expanded}, {{"shape", result}})));
}

V tile(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "A, reps");
  return array_value(
      copied(ops::call1("tile", {as_tensor(ev, bound[0])}, {{"dims", to_shape(ev, bound[1], "reps")}})));
}

template <bool kReadOnly>
V broadcast_to(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "array, shape, subok");
  const V array = ev.realize(bound[0])->kind == Kind::Array ? bound[0] : array_value(as_tensor(ev, bound[0]));
  const SymShape shape = to_shape(ev, bound[1], "a shape");
  if (std::any_of(shape.begin(), shape.end(), [](Sym size) { return size.hint() < 0; }))
    graph_break("a negative size");  // which expand() takes for the array's own
  V value = array_value(ops::call1("expand", {array->tensor}, {{"shape", shape}}));
  if (array->flavor == Flavor::NdArray) value->view_of = array;
  value->read_only = kReadOnly;
  return value;
}

V moveaxis(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, source, destination");
  const V& array = ev.realize(bound[0]);
  if (array->kind != Kind::Array) graph_break("moveaxis() of something that is not an array");
  const int64_t ndim = array->tensor.dim();
  if (ndim == 0) graph_break("moveaxis() of a number");
  const auto axes = [&](const V& v) {
    return to_axes(ev, ev.is_int(v) ? tuple_value({v}) : tuple_value(ev.elements(v)), ndim, "moveaxis");
  };
  const std::vector<int64_t> from = axes(bound[1]), to = axes(bound[2]);
  if (from.size() != to.size()) graph_break("moveaxis() with as many sources as destinations");
  if (std::set(from.begin(), from.end()).size() < from.size() ||
      std::set(to.begin(), to.end()).size() < to.size())
    graph_break("moveaxis() with a repeated axis");
  std::vector<int64_t> order(static_cast<size_t>(ndim), -1);
  for (size_t i = 0; i < from.size(); ++i) order[static_cast<size_t>(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    place = next++;
  }
  CallArgs transposed;
  std::vector<V> axis_values;
  for (int64_t axis : order) axis_values.push_back(int_value(axis));
  transposed.args = {array, tuple_value(axis_values)};
  return find_array_method("transpose")(ev, transposed);
}

template <bool kReadOnly>
V diagonal(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, offset, axis1, axis2");
  const auto number = [&](size_t i, int64_t otherwise) {
    return Sym(bound[i] ? to_axis(ev, bound[i]) : otherwise);
  };
  const Tensor x = as_tensor(ev, bound[0]);
  if (x.dim() < 2) graph_break("the diagonal of an array that is not a matrix");
  V value = array_value(ops::call1(
      "diagonal", {x}, {{"offset", number(1, 0)}, {"dim1", number(2, 0)}, {"dim2", number(3, 1)}}));
  value->view_of = bound[0];
  value->read_only = kReadOnly;
  return value;
}

// A read-only view: every window's dimensions behind those of the array.
V sliding_windows(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "x, window_shape, axis, subok, writeable");
  for (size_t i = 3; i < 5; ++i)
    if (bound[i] && ev.truth(bound[i]))
      graph_break("sliding_window_view() of a subclass or to be written through");
  const V& array = ev.realize(bound[0]);
  if (array->kind != Kind::Array) graph_break("sliding_window_view() of something that is not an array");
  const auto listed = [&](const V& v) {
    return ev.is_int(v) ? tuple_value({v}) : tuple_value(ev.elements(v));
  };
  const V sizes = listed(bound[1]);
  const std::vector<int64_t> axes =
      to_axes(ev, bound[2] && !ev.is_none(bound[2]) ? listed(bound[2]) : none_value(), array->tensor.dim(),
              "sliding_window_view");
  if (axes.size() != sizes->items.size()) graph_break("sliding_window_view() with as many windows as axes");
  Tensor windows = array->tensor;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = ev.to_int(sizes->items[i], "a window");
    const Sym room = ops::sym_shape(windows)[static_cast<size_t>(axes[i])];
    if (size < 1 || room.hint() < size) graph_break("sliding_window_view() with these windows");
    windows = ops::call1("unfold", {windows}, {{"dim", Sym(axes[i])}, {"size", Sym(size)}, {"step", Sym(1)}});
  }
  V value = array_value(std::move(windows));
  value->view_of = bound[0];
  value->read_only = true;
  return value;
}

V eye(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "N, M, k, dtype");
  for (const V& size : {bound[0], bound[1]})
    if (given(ev, size)) refuse_bool(ev, size, "a size");
  const Sym rows = ev.to_sym(bound[0], "a size"),
            columns = given(ev, bound[1]) ? ev.to_sym(bound[1], "a size") : rows;
  const DType dtype = given(ev, bound[3]) ? to_dtype(ev, bound[3], "dtype") : DType::F64;
  const Sym k(bound[2] ? ev.to_int(bound[2], "k") : 0);
  return array_value(ops::call1("eye", {}, {{"n", rows}, {"m", columns}, {"k", k}, {"dtype", dtype}}));
}

V identity(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "n, dtype");
  CallArgs square;
  square.args = {bound[0]};
  if (bound[1]) square.keywords.emplace_back("dtype", bound[1]);
  return eye(ev, square);
}

template <bool kUpper>
V triangle(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "m, k");
  const Tensor x = as_tensor(ev, bound[0]);
  if (x.dim() < 2) graph_break("a triangle of an array that is not a matrix");
  const V result = array_value(ops::call1(kUpper ? "triu" : "tril", {x},
                                          {{"diagonal", bound[1] ? ev.to_sym(bound[1], "k") : Sym(0)}}));
  // NumPy selects by a mask of the last two axes, which is in C order.
  Strides mask(static_cast<size_t>(x.dim()), 0);
  mask.end()[-2] = 2, mask.end()[-1] = 1;
  return laid_out(result, iteration_order(std::vector<Strides>{mask, deciding_strides(x)}, x.dim()));
}

V atleast(Evaluator& ev, CallArgs& args, int64_t ndim, const char* op) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break(fmt::format("{}() of several arrays", op));
  const V& array = ev.realize(args.args[0]);
  if (array->kind == Kind::Array && array->flavor == Flavor::NdArray && array->tensor.dim() >= ndim)
    return array;
  const Tensor result = ops::call1(op, {as_tensor(ev, array)});
  return array->kind == Kind::Array ? view(array, result) : array_value(copy_tensor(result));
}
V atleast_1d(Evaluator& ev, CallArgs& args) { return atleast(ev, args, 1, "atleast_1d"); }
V atleast_2d(Evaluator& ev, CallArgs& args) { return atleast(ev, args, 2, "atleast_2d"); }

V close(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, b, rtol, atol, equal_nan");
  const auto tolerance = [&](const V& v, double otherwise) {
    if (!v) return otherwise;
    const Ref number = ev.constant(v);
    if (!number || !PyFloat_Check(number.get())) graph_break("isclose() with a computed tolerance");
    return PyFloat_AS_DOUBLE(number.get());
  };
  const double rtol = tolerance(bound[2], 1e-5), atol = tolerance(bound[3], 1e-8);
  if (bound[4] && ev.truth(bound[4])) graph_break("isclose() with equal_nan=");
  const V y = array_or_scalar(as_tensor(ev, bound[1])), x = array_or_scalar(as_tensor(ev, bound[0]));
  // |x - y| <= atol + rtol * |y| where y is finite, else x == y. source: numpy.isclose.
  const V number_rtol = const_value(checked(PyFloat_FromDouble(rtol))),
          number_atol = const_value(checked(PyFloat_FromDouble(atol)));
  const auto op = [&](const char* name, const V& a, const V& b) { return numpy_pointwise(ev, name, {a, b}); };
  const V bound_on = op("add", number_atol, op("mul", number_rtol, numpy_pointwise(ev, "abs", {y})));
  const V near = op("le", numpy_pointwise(ev, "abs", {op("sub", x, y)}), bound_on);
  const V both = op("logical_and", near, numpy_pointwise(ev, "isfinite", {y}));
  return op("logical_or", both, op("eq", x, y));
}

}  // namespace

void register_numpy_sorting() {
  const std::pair<const char*, Lowering> functions[] = {{"numpy.sort", sort},
                                                        {"numpy.argsort", argsort},
                                                        {"numpy.searchsorted", searchsorted},
                                                        {"numpy.cumsum", cumsum},
                                                        {"numpy.cumprod", cumprod},
                                                        {"numpy.diff", diff},
                                                        {"numpy.flip", flip},
                                                        {"numpy.roll", roll},
                                                        {"numpy.ptp", ptp},
                                                        {"numpy.repeat", repeat},
                                                        {"numpy.tile", tile},
                                                        {"numpy.broadcast_to", broadcast_to<true>},
                                                        {"numpy.moveaxis", moveaxis},
                                                        {"numpy.diagonal", diagonal<true>},
                                                        {"numpy.eye", eye},
                                                        {"numpy.identity", identity},
                                                        {"numpy.tril", triangle<false>},
                                                        {"numpy.triu", triangle<true>},
                                                        {"numpy.atleast_1d", atleast_1d},
                                                        {"numpy.atleast_2d", atleast_2d},
                                                        {"numpy.isclose", close}};
  for (const auto& [name, lowering] : functions) register_lowering(name, lowering);
  const std::pair<const char*, Lowering> methods[] = {{"argsort", argsort}, {"searchsorted", searchsorted},
                                                      {"cumsum", cumsum},   {"cumprod", cumprod},
                                                      {"repeat", repeat},   {"diagonal", diagonal<true>}};
  for (const auto& [name, lowering] : methods) register_array_method(name, lowering);
  register_lowering("numpy.lib.stride_tricks.sliding_window_view", sliding_windows);
  register_lowering("weft._entered.shapes.broadcast_view", broadcast_to<false>);
  register_lowering("weft._entered.arrays.diagonal_view", diagonal<false>);
}

}  // namespace weft::capture
