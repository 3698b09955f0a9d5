// NumPy's functions that pick elements at the positions other arrays give.
#include "capture/numpy/names.h"

namespace weft::capture {
namespace {

Tensor positions(Evaluator& ev, const V& value) {
  Tensor result = as_tensor(ev, value);
  if (!is_integral(result.dtype())) graph_break("positions that are not integers");
  return cast_to(result, DType::I64);
}

V take(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, indices, axis, out, mode");
  if (!bound[1]) graph_break("take() of no positions");
  if (given(ev, bound[3])) graph_break("take() with out=");
  if (bound[4] && ev.to_string(bound[4], "mode") != "raise") graph_break("take() with mode=");
  Tensor x = as_tensor(ev, bound[0]);
  if (x.dim() == 0) graph_break("take() from a 0-d array");
  ops::Attrs attrs{{"dim", ops::Attr{}}};
  if (given(ev, bound[2])) attrs.set("dim", Sym(ops::normalize_dim("take", to_axis(ev, bound[2]), x.dim())));
  return array_or_scalar(ops::call1("take", {x, positions(ev, bound[1])}, attrs));
}

V take_along_axis(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "arr, indices, axis");
  if (!bound[1] || !bound[2]) graph_break("take_along_axis() without an axis");
  Tensor x = as_tensor(ev, bound[0]), index = positions(ev, bound[1]);
  ops::Attrs attrs{{"dim", ops::Attr{}}};
  if (ev.is_none(bound[2])) {
    if (index.dim() != 1) graph_break("take_along_axis() of a flattened array at positions with dimensions");
  } else {
    attrs.set("dim", Sym(ops::normalize_dim("take_along_axis", to_axis(ev, bound[2]), x.dim())));
  }
  return array_value(ops::call1("take_along_dim", {x, index}, attrs));
}

}  // namespace

void register_numpy_positions() {
  register_lowering("numpy.take", take);
  register_lowering("numpy.take_along_axis", take_along_axis);
  register_array_method("take", take);
}

}  // namespace weft::capture
