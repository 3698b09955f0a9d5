// x[...] and x[...] = value: basic indexing gives views, arrays of integers or bool go on to
// core/index_arrays.
#include <fmt/format.h>

#include "array.h"
#include "bindings.h"
#include "core/index_arrays.h"
#include "ops/registry.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::python {

namespace {

// The view that the integers, slices, None and Ellipsis of an index select, and the arrays among its items
// by dimension of that view.
struct Selection {
  Tensor view;
  std::vector<Tensor> arrays;
  bool has_arrays = false;
};

bool is_array_index(nb::handle item) {
  return PyBool_Check(item.ptr()) || tensor_of_python(item) || PyList_Check(item.ptr()) ||
         PyTuple_Check(item.ptr()) || PyRange_Check(item.ptr()) || PyObject_CheckBuffer(item.ptr());
}

bool is_integer_index(nb::handle item) {
  if (PyBool_Check(item.ptr())) return false;
  if (PyLong_Check(item.ptr())) return true;
  if (const Tensor* tensor = tensor_of_python(item))
    return tensor->dim() == 0 && is_integral(tensor->dtype());
  // NumPy integers have __index__; so have its 0-d arrays, which mean the same.
  return PyIndex_Check(item.ptr()) && !PyObject_HasAttrString(item.ptr(), "__len__");
}

Tensor array_index(nb::handle item) {
  if (PyBool_Check(item.ptr())) return Tensor::scalar(Scalar(item.ptr() == Py_True), DType::Bool);
  Tensor index = as_tensor(item, std::nullopt);
  if (index.numel() == 0 && PySequence_Check(item.ptr()) && !tensor_of_python(item)) return index.to(DType::I64);
  // PyTorch's tensors of uint8 are masks.
  if (index.dtype() == DType::U8 && tensor_of_python(item) && !is_array(item.ptr()) && !index.is_traced())
    return index.to(DType::Bool);
  WEFT_CHECK_INDEX(index.dtype() == DType::Bool || is_integral(index.dtype()),
                   fmt::format("index: arrays of integers or bool index a tensor, got {}", describe(index)));
  return index;
}

// Dimensions of the tensor that an item takes up.
int64_t dimensions_of(nb::handle item) {
  if (item.is_none() || item.ptr() == Py_Ellipsis) return 0;
  if (is_integer_index(item) || PySlice_Check(item.ptr())) return 1;
  if (is_array_index(item)) {
    const Tensor index = array_index(item);
    return index.dtype() == DType::Bool ? index.dim() : 1;
  }
  throw_error(ErrorKind::Index,
              fmt::format("index: expected integers, slices, None, ... or arrays of integers or bool, got {}",
                          Py_TYPE(item.ptr())->tp_name));
}

class Selector {
 public:
  Selector(const Tensor& tensor, nb::handle index) : tensor_(tensor), offset_(tensor.offset()) {
    const nb::tuple items = PyTuple_Check(index.ptr()) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
    int64_t taken = 0, ellipses = 0;
    for (nb::handle item : items) {
      taken += dimensions_of(item);
      ellipses += item.ptr() == Py_Ellipsis;
    }
    WEFT_CHECK_INDEX(ellipses <= 1, "index: at most one ... may appear");
    WEFT_CHECK_INDEX(taken <= tensor.dim(), fmt::format("index: {} indices for {}", taken, describe(tensor)));
    for (nb::handle item : items) {
      if (item.ptr() == Py_Ellipsis) {
        for (int64_t i = taken; i < tensor.dim(); ++i) keep(0, size(), 1);
      } else {
        select(item);
      }
    }
    while (dim_ < tensor.shape().size()) keep(0, size(), 1);
  }

  Selection finish() {
    Selection result;
    result.view = tensor_.as_strided(std::move(shape_), std::move(strides_), offset_);
    result.arrays = std::move(arrays_);
    for (const Tensor& array : result.arrays) result.has_arrays |= array.defined();
    return result;
  }

 private:
  int64_t size() const { return tensor_.shape()[dim_]; }
  int64_t stride() const { return tensor_.strides()[dim_]; }

  void push(int64_t size, int64_t stride, Tensor array = {}) {
    shape_.push_back(size);
    strides_.push_back(stride);
    arrays_.push_back(std::move(array));
  }
  void keep(int64_t start, int64_t length, int64_t step) {
    if (length > 0) offset_ += start * stride();
    push(length, stride() * step);
    ++dim_;
  }

  void select(nb::handle item) {
    if (item.is_none()) return push(1, 0);
    if (PySlice_Check(item.ptr())) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
      const Py_ssize_t length = PySlice_AdjustIndices(size(), &start, &stop, step);
      return keep(start, length, step);
    }
    if (is_integer_index(item)) {
      const Py_ssize_t given = PyNumber_AsSsize_t(item.ptr(), PyExc_IndexError);
      if (given == -1 && PyErr_Occurred()) nb::raise_python_error();
      WEFT_CHECK_INDEX(
          given >= -size() && given < size(),
          fmt::format("index: {} is out of range for dimension {} of size {}", given, dim_, size()));
      offset_ += (given < 0 ? given + size() : given) * stride();
      ++dim_;
      return;
    }
    const Tensor index = array_index(item);
    if (index.dtype() != DType::Bool) {
      push(size(), stride(), index.to(DType::I64));
      ++dim_;
      return;
    }
    // A truth value by itself is a mask of one more dimension, of size 1.
    if (index.dim() == 0)
      return push(1, 0, Tensor::full({index.item().to_bool() ? 1 : 0}, Scalar(0), DType::I64));
    const std::vector<Tensor> positions = true_positions(index);
    for (int64_t d = 0; d < index.dim(); ++d) {
      WEFT_CHECK_INDEX(index.size(d) == size(),
                       fmt::format("index: the mask {} does not match dimension {} of {}", describe(index),
                                   dim_, describe(tensor_)));
      push(size(), stride(), positions[static_cast<size_t>(d)]);
      ++dim_;
    }
  }

  const Tensor& tensor_;
  Shape shape_;
  Strides strides_;
  std::vector<Tensor> arrays_;
  int64_t offset_;
  size_t dim_ = 0;
};

// The same as operators, where the tensor or an index stands for a value of a graph.
class RecordedSelector {
 public:
  RecordedSelector(const Tensor& tensor, nb::handle index) : view_(tensor) {
    const nb::tuple items = PyTuple_Check(index.ptr()) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
    int64_t taken = 0;
    for (nb::handle item : items) taken += dimensions_of(item);
    WEFT_CHECK_INDEX(taken <= tensor.dim(), fmt::format("index: {} indices for {}", taken, describe(tensor)));
    for (nb::handle item : items) {
      if (item.ptr() == Py_Ellipsis) {
        dim_ += tensor.dim() - taken;
        indices_.resize(static_cast<size_t>(dim_));
      } else {
        select(item);
      }
    }
  }
  Tensor get() const { return has_arrays_ ? weft::index(view_, indices_) : view_; }
  void set(const Tensor& source) const {
    view_.copy_from(has_arrays_ ? weft::index_put(view_, source, indices_) : source);
  }

 private:
  void select(nb::handle item) {
    const Tensor* tensor = tensor_of_python(item);
    if (item.is_none()) {
      view_ = weft::unsqueeze(view_, dim_);
      return push({});
    }
    if (PySlice_Check(item.ptr())) return slice(item);
    if (const Sym* at = symbolic_int(item.ptr())) return select_symbolic(*at);
    if (tensor == nullptr && is_integer_index(item)) {
      view_ = weft::select(view_, dim_, nb::cast<int64_t>(item));
      return;
    }
    Tensor index = array_index(item);
    if (index.dtype() == DType::Bool && index.dim() == 0) {
      view_ = weft::unsqueeze(view_, dim_);
      index = weft::reshape(index, {1});
    }
    push(std::move(index));
    has_arrays_ = true;
  }
  Sym size() const { return ops::sym_shape(view_)[static_cast<size_t>(dim_)]; }
  void take(Sym start, Sym stop, Sym step) {
    view_ =
        ops::call1("slice", {view_}, {{"dim", Sym(dim_)}, {"start", start}, {"stop", stop}, {"step", step}});
  }
  void select_symbolic(Sym at) {
    WEFT_CHECK_INDEX(!sym_lt(at, -size()) && sym_lt(at, size()),
                     fmt::format("index: {} is out of range for dimension {} of size {}", sym_specialize(at),
                                 dim_, sym_specialize(size())));
    if (sym_lt(at, Sym(0))) at = at + size();
    take(at, at + Sym(1), Sym(1));
    view_ = weft::select(view_, dim_, 0);
  }
  // One bound of a slice, clipped as Python does for a positive step.
  Sym bound(PyObject* given, Sym missing) const {
    if (given == Py_None) return missing;
    const Sym* symbolic = symbolic_int(given);
    Py_ssize_t number = 0;
    if (!symbolic && !_PyEval_SliceIndex(given, &number)) nb::raise_python_error();
    Sym value = symbolic ? *symbolic : Sym(number);
    if (sym_lt(value, Sym(0))) {
      value = value + size();
      if (sym_lt(value, Sym(0))) value = Sym(0);
    }
    return sym_lt(size(), value) ? size() : value;
  }
  void slice(nb::handle item) {
    auto* parts = reinterpret_cast<PySliceObject*>(item.ptr());
    Py_ssize_t step = 1;
    if (parts->step != Py_None && !_PyEval_SliceIndex(parts->step, &step)) nb::raise_python_error();
    if (parts->start == Py_None && parts->stop == Py_None && step == 1) return push({});
    if (step > 0) {
      const Sym start = bound(parts->start, Sym(0)), stop = bound(parts->stop, size());
      take(start, sym_lt(stop, start) ? start : stop, Sym(step));
    } else {
      Py_ssize_t start, stop;
      if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
      PySlice_AdjustIndices(view_.size(dim_), &start, &stop, step);
      view_ = weft::slice(view_, dim_, start, stop, step);
    }
    push({});
  }
  void push(Tensor index) {
    indices_.push_back(std::move(index));
    ++dim_;
  }

  Tensor view_;
  std::vector<Tensor> indices_;
  int64_t dim_ = 0;
  bool has_arrays_ = false;
};

bool is_recorded(const Tensor& tensor, nb::handle index) {
  const auto is_traced = [](nb::handle item) {
    const Tensor* found = tensor_of_python(item);
    return found && found->is_traced();
  };
  if (tensor.is_traced() || is_traced(index)) return true;
  if (!PyTuple_Check(index.ptr())) return false;
  for (nb::handle item : nb::borrow<nb::tuple>(index))
    if (is_traced(item)) return true;
  return false;
}

}  // namespace

Tensor get_item(const Tensor& tensor, nb::handle index) {
  if (is_recorded(tensor, index)) return RecordedSelector(tensor, index).get();
  Selection selection = Selector(tensor, index).finish();
  return selection.has_arrays ? index_get(selection.view, selection.arrays) : selection.view;
}

void set_item(const Tensor& tensor, nb::handle index, nb::handle value) {
  Tensor source;
  if (const auto scalar = scalar_of_python(value))
    source = tensor_from_data(value, std::nullopt);
  else
    source = as_tensor(value, std::nullopt);
  WEFT_CHECK_TYPE(!is_complex(source.dtype()) || is_complex(tensor.dtype()),
                  fmt::format("index assignment: a complex value does not fit {}", describe(tensor)));
  if (is_recorded(tensor, index) || source.is_traced()) return RecordedSelector(tensor, index).set(source);
  const Selection selection = Selector(tensor, index).finish();
  if (selection.has_arrays)
    index_set(selection.view, selection.arrays, source);
  else
    selection.view.copy_from(source);
}

}  // namespace weft::python
