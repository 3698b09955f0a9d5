// NumPy's running sums and products, differences, sorting and outer products.
#include "capture/numpy/names.h"

namespace weft::capture {

namespace {

// Integers accumulate in 64 bits, as in NumPy's sums.
DType accumulation_dtype(DType d) {
  if (d == DType::Bool || (is_integral(d) && is_signed(d))) return DType::I64;
  return is_integral(d) ? DType::U64 : d;
}

// The array along one dimension: flattened when `axis` is None or absent.
std::pair<Tensor, Sym> along(Evaluator& ev, const V& array, const V& axis, const char* op) {
  Tensor tensor = as_tensor(ev, array);
  if (!axis || ev.is_none(axis))
    return {ops::call1("reshape", {tensor}, {{"shape", SymShape{product(ops::sym_shape(tensor))}}}), Sym(0)};
  return {tensor, Sym(ops::normalize_dim(op, ev.to_int(axis, "axis"), tensor.dim()))};
}

template <bool kProduct>
V cumulative(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, axis, dtype, out");
  if (bound[3] && !ev.is_none(bound[3])) graph_break("a running sum with out=");
  const char* op = kProduct ? "cumprod" : "cumsum";
  auto [tensor, dim] = along(ev, bound[0], bound[1], op);
  const DType dtype = bound[2] && !ev.is_none(bound[2]) ? to_dtype(ev, bound[2], "dtype")
                                                        : accumulation_dtype(tensor.dtype());
  return array_value(ops::call1(op, {cast_to(tensor, dtype)}, {{"dim", dim}}));
}

V diff(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, n, axis");
  Tensor tensor = as_tensor(ev, bound[0]);
  const int64_t count = bound[1] ? ev.to_int(bound[1], "n") : 1;
  const int64_t axis = bound[2] ? ev.to_int(bound[2], "axis") : -1;
  if (tensor.dtype() == DType::Bool || count < 0) graph_break("the difference of truth values");
  return array_value(ops::call1(
      "diff", {tensor}, {{"n", Sym(count)}, {"dim", Sym(ops::normalize_dim("diff", axis, tensor.dim()))}}));
}

V outer(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, b");
  Tensor a = as_tensor(ev, bound[0]), b = as_tensor(ev, bound[1]);
  const DType dtype = promote_types(a.dtype(), b.dtype(), Promotion::NumPy);
  return array_value(ops::call1("outer", {cast_to(a, dtype), cast_to(b, dtype)}));
}

}  // namespace

void register_numpy_sequences() {
  register_lowering("numpy.cumsum", cumulative<false>);
  register_lowering("numpy.cumprod", cumulative<true>);
  register_lowering("numpy.diff", diff);
  register_lowering("numpy.outer", outer);
  register_array_method("cumsum", cumulative<false>);
  register_array_method("cumprod", cumulative<true>);
}

}  // namespace weft::capture
