// Subscripts of arrays: integers, slices, None and Ellipsis become views, arrays of integers are gathered;
// assignment goes through both.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

struct Indexed {
  Tensor tensor;
  bool all_integers = true;  // NumPy gives a scalar
  // Index arrays, one for each leading dimension of `tensor`, undefined for those that stay whole; empty
  // where the subscript is a view.
  std::vector<Tensor> arrays;
};

Tensor reshape(const Tensor& tensor, SymShape shape) {
  return ops::call1("reshape", {tensor}, {{"shape", std::move(shape)}});
}

// One bound of a slice over `size` elements, clipped as Python does for a positive step.
Sym clip_bound(Evaluator& ev, const V& bound, Sym size, Sym missing) {
  if (ev.is_none(bound)) return missing;
  Sym value = ev.to_sym(bound, "a bound of a slice");
  if (sym_lt(value, Sym(0))) {
    value = value + size;
    if (sym_lt(value, Sym(0))) value = Sym(0);
  }
  if (sym_lt(size, value)) value = size;
  return value;
}

Tensor take_slice(Evaluator& ev, const Tensor& tensor, int64_t dim, const V& slice) {
  const Sym size = ops::sym_shape(tensor)[static_cast<size_t>(dim)];
  const V &start = slice->items[0], &stop = slice->items[1], &step = slice->items[2];
  const int64_t stride = ev.is_none(step) ? 1 : ev.to_int(step, "the step of a slice");
  if (stride == 0) graph_break("a slice with step zero");
  Sym begin, end;
  if (stride > 0) {
    begin = clip_bound(ev, start, size, Sym(0));
    end = clip_bound(ev, stop, size, size);
    if (sym_lt(end, begin)) end = begin;
  } else {
    // Known sizes only: Python's own arithmetic.
    Py_ssize_t first = 0, last = 0;
    const int64_t length = sym_specialize(size);
    first = ev.is_none(start) ? length - 1 : static_cast<Py_ssize_t>(ev.to_int(start, "a bound of a slice"));
    last = ev.is_none(stop) ? -length - 1 : static_cast<Py_ssize_t>(ev.to_int(stop, "a bound of a slice"));
    const Py_ssize_t count = PySlice_AdjustIndices(length, &first, &last, stride);
    // The same elements as a forward slice, reversed.
    const int64_t low = count > 0 ? first + (count - 1) * stride : 0, high = count > 0 ? first + 1 : 0;
    Tensor forward =
        ops::call1("slice", {tensor},
                   {{"dim", Sym(dim)}, {"start", Sym(low)}, {"stop", Sym(high)}, {"step", Sym(-stride)}});
    return ops::call1("flip", {forward}, {{"dims", SymShape{Sym(dim)}}});
  }
  if (stride == 1 && sym_known_equal(begin, Sym(0)) && sym_known_equal(end, size)) return tensor;
  return ops::call1("slice", {tensor},
                    {{"dim", Sym(dim)}, {"start", begin}, {"stop", end}, {"step", Sym(stride)}});
}

bool is_slice(const V& part) {
  return part->kind == Kind::Slice || (part->is_const() && PySlice_Check(part->object.get()));
}
bool is_integer(const V& part) {
  return part->kind == Kind::SymInt ||
         (part->is_const() && PyLong_Check(part->object.get()) && !PyBool_Check(part->object.get()));
}

// An index array: integers or a mask.
Tensor index_array(Evaluator& ev, const V& part, Sym size) {
  if (part->kind == Kind::Scalar || part->is_const()) graph_break("a subscript of this type");
  if (part->kind == Kind::List || part->kind == Kind::Tuple) {
    // A known mask is the positions where it is true.
    std::vector<V> positions;
    bool mask = !part->items.empty();
    for (size_t i = 0; i < part->items.size() && mask; ++i) {
      const Ref item = ev.constant(part->items[i]);
      mask = item && PyBool_Check(item.get());
      if (mask && item.get() == Py_True) positions.push_back(int_value(static_cast<int64_t>(i)));
    }
    if (mask && size.is_constant() && size.constant() == static_cast<int64_t>(part->items.size()))
      return cast_to(as_tensor(ev, list_value(std::move(positions))), DType::I64);
  }
  Tensor result = as_tensor(ev, part);
  // NumPy takes a sequence of nothing for integers.
  if (part->kind != Kind::Array && product(ops::sym_shape(result)).is_constant() && result.numel() == 0)
    return cast_to(result, DType::I64);
  if (result.dtype() == DType::Bool) {
    if (result.dim() == 0) graph_break("a truth value as a subscript");
    return result;
  }
  if (!is_integral(result.dtype())) graph_break("a subscript with an array that is not of integers");
  if (result.dtype() == DType::I64) return result;
  return laid_out(array_value(cast_to(result, DType::I64)),
                  iteration_order(std::vector<Tensor>{result}, result.dim()))
      ->tensor;
}

V slice_of(const V& part) {
  if (!part->is_const()) return part;
  auto* object = reinterpret_cast<PySliceObject*>(part->object.get());
  V slice = make_value(Kind::Slice);
  slice->items = {const_value(Ref::borrow(object->start)), const_value(Ref::borrow(object->stop)),
                  const_value(Ref::borrow(object->step))};
  return slice;
}

[[noreturn]] void raise_out_of_bounds(Evaluator& ev, Sym at, int64_t axis, Sym size) {
  ev.raise(PyExc_IndexError,
           {str_value(fmt::format("index {} is out of bounds for axis {} with size {}", sym_specialize(at),
                                  axis, sym_specialize(size)))},
           "an index out of bounds");
}

Indexed index(Evaluator& ev, const V& array, const V& key) {
  std::vector<V> parts = ev.realize(key)->kind == Kind::Tuple ? key->items : std::vector<V>{key};
  if (key->is_const() && PyTuple_CheckExact(key->object.get())) parts = ev.elements(key);
  int64_t consumed = 0;
  bool has_ellipsis = false, has_arrays = false;
  std::vector<Tensor> index_arrays(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const V& part = ev.realize(parts[i]);
    if (part->is(Py_Ellipsis)) {
      if (has_ellipsis) graph_break("two ellipses in a subscript");
      has_ellipsis = true;
    } else if (is_slice(part) || is_integer(part)) {
      ++consumed;
    } else if (!part->is(Py_None)) {
      const Sym size = consumed < array->tensor.dim() && !has_ellipsis
                           ? ops::sym_shape(array->tensor)[static_cast<size_t>(consumed)]
                           : Sym(-1);
      index_arrays[i] = index_array(ev, part, size);
      consumed += index_arrays[i].dtype() == DType::Bool ? index_arrays[i].dim() : 1;
      has_arrays = true;
    }
  }
  Indexed result{array->tensor, true, {}};
  if (consumed > array->tensor.dim()) graph_break("too many indices");
  if (has_ellipsis || consumed < array->tensor.dim()) result.all_integers = false;
  const int64_t rest = array->tensor.dim() - consumed;
  Tensor& tensor = result.tensor;
  int64_t dim = 0, dropped = 0, num_new = 0;  // dropped: dimensions that integers have taken away
  const auto set_array = [&](Tensor indices, int64_t num_dims) {
    result.arrays.resize(static_cast<size_t>(dim));
    result.arrays.push_back(std::move(indices));
    dim += num_dims;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const V& part = parts[i];
    if (index_arrays[i].defined()) {
      const bool is_mask = index_arrays[i].dtype() == DType::Bool;
      set_array(index_arrays[i], is_mask ? index_arrays[i].dim() : 1);
    } else if (part->is(Py_Ellipsis)) {
      dim += rest;
    } else if (part->is(Py_None)) {
      SymShape shape = ops::sym_shape(tensor);
      shape.insert(shape.begin() + dim, Sym(1));
      tensor = reshape(tensor, std::move(shape));
      ++dim;
      ++num_new;
      result.all_integers = false;
    } else if (is_slice(part)) {
      tensor = take_slice(ev, tensor, dim++, slice_of(part));
      result.all_integers = false;
    } else if (has_arrays) {
      // Beside arrays an integer is an array of no dimensions.
      set_array(ev.to_tensor(part), 1);
    } else {
      const Sym size = ops::sym_shape(tensor)[static_cast<size_t>(dim)];
      Sym at = ev.to_sym(part, "an index");
      const Sym given = at;
      if (sym_lt(at, Sym(0))) at = at + size;
      if (sym_lt(at, Sym(0)) || sym_ge(at, size))
        raise_out_of_bounds(ev, given, dim + dropped - num_new, size);
      ++dropped;
      tensor = ops::call1("slice", {tensor},
                          {{"dim", Sym(dim)}, {"start", at}, {"stop", at + Sym(1)}, {"step", Sym(1)}});
      SymShape shape = ops::sym_shape(tensor);
      shape.erase(shape.begin() + dim);
      tensor = reshape(tensor, std::move(shape));
    }
  }
  return result;
}

// NumPy iterates over the index arrays, where they select single elements; otherwise their dimensions lie
// outermost, and those that stay whole as they do in the array.
AxisOrder gathered_order(const Indexed& target, int64_t ndim) {
  const int64_t num_leading = static_cast<int64_t>(target.arrays.size()), num_dims = target.tensor.dim();
  std::vector<Tensor> indices;
  std::vector<int64_t> indexed;
  for (int64_t d = 0; d < num_leading; ++d) {
    if (!target.arrays[static_cast<size_t>(d)].defined()) continue;
    indices.push_back(target.arrays[static_cast<size_t>(d)]);
    indexed.push_back(d);
  }
  const auto num_indexed = static_cast<int64_t>(indexed.size());
  if (num_indexed == num_dims) return iteration_order(indices, ndim);
  const int64_t num_new = ndim - (num_dims - num_indexed);
  // Dimensions of index arrays that stand beside each other take their place, others come first.
  const int64_t first = indexed.back() - indexed.front() + 1 == num_indexed ? indexed.front() : 0;
  AxisOrder whole = without_axes(iteration_order(std::vector<Tensor>{target.tensor}, num_dims), indexed,
                                 num_dims, false),
            order;
  if (whole.empty())
    for (int64_t d = 0; d < num_dims - num_indexed; ++d) whole.push_back(d);
  for (int64_t d = 0; d < num_new; ++d) order.push_back(first + d);
  for (int64_t d : whole) order.push_back(d < first ? d : d + num_new);
  return order;
}

// x[index arrays]: a new array.
V gathered(Evaluator& ev, const V& key, const Indexed& target) {
  bool any_array = false;
  for (const Tensor& indices : target.arrays) {
    if (!indices.defined()) continue;
    if (indices.dtype() == DType::Bool) graph_break("a subscript with a mask, which selects by value");
    any_array |= indices.dim() > 0;
  }
  // A scalar of NumPy's alone selects a view.
  if (!any_array && target.arrays.size() == 1 && target.tensor.dim() > 1 &&
      ev.realize(key)->kind == Kind::Array && key->flavor == Flavor::NumpyScalar)
    graph_break("a view at a computed position");
  std::vector<Tensor> operands = target.arrays;
  operands.insert(operands.begin(), target.tensor);
  Tensor result = ops::call1("index", std::move(operands));
  if (result.dim() == 0 && target.all_integers) return array_value(result, Flavor::NumpyScalar);
  const int64_t ndim = result.dim();
  return laid_out(array_value(std::move(result)), gathered_order(target, ndim));
}

// array[key] combined with value, repeated positions counting each time.
V combine_at(Evaluator& ev, CallArgs& args, std::string_view whole, std::string_view parts,
             const ops::Attrs& attrs) {
  std::vector<V> bound = bind_arguments(args, "a, indices, b");
  const V& array = ev.realize(bound[0]);
  if (array->kind != Kind::Array || array->flavor != Flavor::NdArray)
    graph_break("ufunc.at() of this object");
  Indexed target = index(ev, array, bound[1]);
  const V& value = ev.realize(bound[2]);
  const Tensor source = cast_to(as_tensor(ev, value), target.tensor.dtype());
  Tensor updated;
  if (target.arrays.empty()) {
    updated = ops::call1(whole, {target.tensor, source});
  } else {
    std::vector<Tensor> operands = target.arrays;
    operands.insert(operands.begin(), {target.tensor, source});
    updated = ops::call1(parts, std::move(operands), attrs);
  }
  ev.prepare_mutation(array);
  ev.record_update(target.tensor, updated);
  return none_value();
}

V add_at(Evaluator& ev, CallArgs& args) {
  return combine_at(ev, args, "add", "index_put", {{"accumulate", true}});
}
V minimum_at(Evaluator& ev, CallArgs& args) {
  return combine_at(ev, args, "minimum", "index_extreme", {{"largest", false}});
}
V maximum_at(Evaluator& ev, CallArgs& args) {
  return combine_at(ev, args, "maximum", "index_extreme", {{"largest", true}});
}

}  // namespace

void register_numpy_index() {
  register_lowering("weft._entered.ufunc_methods.add_at", add_at);
  register_lowering("weft._entered.ufunc_methods.minimum_at", minimum_at);
  register_lowering("weft._entered.ufunc_methods.maximum_at", maximum_at);
}

V numpy_subscript(Evaluator& ev, const V& array, const V& key) {
  Indexed result = index(ev, array, key);
  if (!result.arrays.empty()) return gathered(ev, key, result);
  // A scalar is a copy: later assignments to the array do not reach it.
  if (result.all_integers)
    return array_value(ops::call1("cast", {result.tensor}, {{"dtype", result.tensor.dtype()}}),
                       Flavor::NumpyScalar);
  if (array->flavor == Flavor::NumpyScalar)
    return array_value(ops::call1("cast", {result.tensor}, {{"dtype", result.tensor.dtype()}}));
  V value = array_value(result.tensor);
  value->view_of = array;
  return value;
}

void assign(Evaluator& ev, const V& target, const Tensor& view, const V& source) {
  check_storable(ev, source, view.dtype());
  ev.prepare_mutation(target);
  Tensor value;
  if (ev.realize(source)->kind == Kind::Array)
    value = source->tensor;
  else
    value = as_tensor(ev, source);
  if (is_complex(value.dtype()) && !is_complex(view.dtype()))
    graph_break("assignment of complex numbers to a real array");
  if (view.dim() == 0 && value.dim() > 0) graph_break("assignment of an array to one element");
  // Leading dimensions of size one are dropped, as NumPy's assignment does.
  SymShape shape = ops::sym_shape(value);
  const size_t wanted = static_cast<size_t>(view.dim());
  while (shape.size() > wanted && shape[0].is_constant() && shape[0].constant() == 1) {
    shape.erase(shape.begin());
    value = reshape(value, shape);
  }
  const SymShape into = ops::sym_shape(view);
  const SymShape both = ops::broadcast_shapes("assignment", std::vector<SymShape>{shape, into});
  if (both.size() != into.size()) graph_break("assignment of an array with more dimensions");
  for (size_t i = 0; i < into.size(); ++i)
    if (!sym_eq(both[i], into[i])) graph_break("assignment of a larger array");
  ev.record_update(view, value);
}

void numpy_store(Evaluator& ev, const V& array, const V& key, const V& value) {
  if (array->flavor != Flavor::NdArray) graph_break("assignment to an item of a scalar");
  Indexed target = index(ev, array, key);
  if (target.arrays.empty()) return assign(ev, array, target.tensor, value);
  check_storable(ev, value, target.tensor.dtype());
  const Tensor source = ev.realize(value)->kind == Kind::Array ? value->tensor : as_tensor(ev, value);
  if (is_complex(source.dtype()) && !is_complex(target.tensor.dtype()))
    graph_break("assignment of complex numbers to a real array");
  for (const Tensor& indices : target.arrays)
    if (indices.defined() && indices.dtype() == DType::Bool && source.dim() > 0)
      graph_break("assignment of several values through a mask");
  std::vector<Tensor> operands = target.arrays;
  operands.insert(operands.begin(), {target.tensor, source});
  const Tensor updated = ops::call1("index_put", std::move(operands), {{"accumulate", false}});
  ev.prepare_mutation(array);
  ev.record_update(target.tensor, updated);
}

}  // namespace weft::capture
