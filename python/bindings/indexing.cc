// x[...] and x[...] = value: basic indexing gives views, arrays of integers or bool go on to
// core/index_arrays.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "array.h"
#include "bindings.h"
#include "core/backend.h"
#include "core/distinct_elements.h"
#include "core/index_arrays.h"
#include "ops/build.h"
#include "ops/registry.h"
#include "ops/torch_rules.h"
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

// PyTorch's tensors of uint8 are masks.
bool is_byte_mask(nb::handle item) {
  const Tensor* tensor = tensor_of_python(item);
  return tensor && tensor->dtype() == DType::U8 && !is_array(item.ptr());
}

bool is_integer_index(nb::handle item) {
  if (PyBool_Check(item.ptr())) return false;
  if (PyLong_Check(item.ptr())) return true;
  if (const Tensor* tensor = tensor_of_python(item))
    return tensor->dim() == 0 && is_integral(tensor->dtype()) && !is_byte_mask(item);
  // NumPy integers have __index__; so have its 0-d arrays, which mean the same.
  return PyIndex_Check(item.ptr()) && !PyObject_HasAttrString(item.ptr(), "__len__");
}

Tensor array_index(nb::handle item) {
  if (PyBool_Check(item.ptr())) return Tensor::scalar(Scalar(item.ptr() == Py_True), DType::Bool);
  Tensor index = as_tensor(item, std::nullopt);
  if (index.numel() == 0 && PySequence_Check(item.ptr()) && !tensor_of_python(item))
    return index.to(DType::I64);
  if (is_byte_mask(item))
    return index.is_traced() ? ops::build::cast(index, DType::Bool) : index.to(DType::Bool);
  WEFT_CHECK_INDEX(index.dtype() == DType::Bool || is_integral(index.dtype()),
                   fmt::format("index: arrays of integers or bool index a tensor, got {}", describe(index)));
  return index;
}

// Programs for PyTorch get PyTorch's refusals: of steps backwards, and of what it does not assign.
std::atomic<bool> torch_refusals = false;

bool refuses(Promotion rules) { return rules == Promotion::Torch && torch_refusals; }

// PyTorch takes a list that holds sequences, slices, None or ... for the tuple of its items.
nb::tuple items_of(nb::handle index, Promotion rules) {
  if (PyTuple_Check(index.ptr())) return nb::borrow<nb::tuple>(index);
  constexpr Py_ssize_t longest = 31;
  if (refuses(rules) && PyList_Check(index.ptr()) && PyList_GET_SIZE(index.ptr()) <= longest) {
    for (nb::handle item : nb::borrow<nb::list>(index)) {
      if (item.is_none() || item.ptr() == Py_Ellipsis || PySlice_Check(item.ptr()) ||
          tensor_of_python(item) || PySequence_Check(item.ptr()))
        return nb::tuple(nb::borrow<nb::list>(index));
    }
  }
  return nb::make_tuple(index);
}

void check_step(Py_ssize_t step, Promotion rules) {
  WEFT_CHECK(step > 0 || !refuses(rules), "step must be greater than zero");
}

// Dimensions of the tensor that an item takes up.
int64_t dimensions_of(nb::handle item) {
  if (item.is_none() || item.ptr() == Py_Ellipsis) return 0;
  if (is_integer_index(item) || PySlice_Check(item.ptr())) return 1;
  if (is_array_index(item)) {
    const Tensor index = array_index(item);
    return index.dtype() == DType::Bool ? index.dim() : 1;
  }
  throw_error(PyUnicode_Check(item.ptr()) ? ErrorKind::Type : ErrorKind::Index,
              fmt::format("index: expected integers, slices, None, ... or arrays of integers or bool, got {}",
                          Py_TYPE(item.ptr())->tp_name));
}

class Selector {
 public:
  Selector(const Tensor& tensor, nb::handle index, Promotion rules = Promotion::Torch)
      : tensor_(tensor), offset_(tensor.offset()), rules_(rules) {
    const nb::tuple items = items_of(index, rules);
    int64_t taken = 0, ellipses = 0;
    for (nb::handle item : items) {
      taken += dimensions_of(item);
      ellipses += item.ptr() == Py_Ellipsis;
    }
    WEFT_CHECK_INDEX(ellipses <= 1 || refuses(rules), "index: at most one ... may appear");
    WEFT_CHECK_INDEX(taken <= tensor.dim(), fmt::format("index: {} indices for {}", taken, describe(tensor)));
    for (nb::handle item : items) {
      if (item.ptr() == Py_Ellipsis) {
        // The first of several stands for every dimension that no other item takes.
        for (; taken < tensor.dim(); ++taken) keep(0, size(), 1);
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
    if (item.is_none()) {
      // PyTorch: as if the dimension behind it were split.
      const bool is_split = rules_ == Promotion::Torch;
      return push(1, !is_split ? 0 : dim_ < tensor_.shape().size() ? size() * stride() : 1);
    }
    if (PySlice_Check(item.ptr())) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
      check_step(step, rules_);
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
    const std::vector<Tensor> positions = true_positions(index.to(Device()));
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
  Promotion rules_;
  size_t dim_ = 0;
};

// The same as operators, where the tensor or an index stands for a value of a graph.
class RecordedSelector {
 public:
  RecordedSelector(const Tensor& tensor, nb::handle index, Promotion rules) : view_(tensor), rules_(rules) {
    const nb::tuple items = items_of(index, rules);
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
    if (rules_ == Promotion::Torch && !has_arrays_ && source.dim() > 0) check_distinct_elements(view_);
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
    if (step != 0) check_step(step, rules_);
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
  Promotion rules_;
};

// A mask and nothing but whole dimensions beside it.
bool is_mask(nb::handle index) {
  const auto is_truth = [](nb::handle item) {
    const Tensor* tensor = tensor_of_python(item);
    if (PyList_Check(item.ptr()) && PyList_GET_SIZE(item.ptr()) > 0)
      return PyBool_Check(PyList_GET_ITEM(item.ptr(), 0)) != 0;
    return tensor && (tensor->dtype() == DType::Bool || tensor->dtype() == DType::U8);
  };
  return is_truth(index);
}

// PyTorch assigns tensors, Python's numbers and NumPy's integers.
void check_assigned(const Tensor& tensor, nb::handle value) {
  PyObject* object = value.ptr();
  const bool is_number = PyFloat_Check(object) || PyComplex_Check(object) || PyLong_Check(object) ||
                         (PyIndex_Check(object) && !PyObject_HasAttrString(object, "__len__"));
  WEFT_CHECK_TYPE(is_number || tensor_of_python(value),
                  fmt::format("index assignment: a {} cannot be assigned to {}", Py_TYPE(object)->tp_name,
                              describe(tensor)));
}

// A tensor that goes to chosen elements has their dtype, but for one number for all that a mask chooses.
void check_put(const Tensor& tensor, nb::handle index, nb::handle value) {
  const Tensor* source = tensor_of_python(value);
  if (!source || source->dtype() == tensor.dtype() || (source->numel() == 1 && is_mask(index))) return;
  throw_error(ErrorKind::Runtime, fmt::format("index assignment: the value {} does not have the dtype of {}",
                                              describe(*source), describe(tensor)));
}

// Arrays of numbers where the view's elements are; those of the host go along.
std::vector<Tensor> beside(const Tensor& view, const std::vector<Tensor>& arrays) {
  std::vector<Tensor> result;
  for (const Tensor& array : arrays) {
    if (!array.defined() || array.device() == view.device()) {
      result.push_back(array);
      continue;
    }
    if (!is_on_host(array.device()))
      throw_error(ErrorKind::Runtime,
                  fmt::format("index: indices should be either on cpu or on the same device as the "
                              "indexed tensor ({}), got {}",
                              view.device().str(), array.device().str()));
    result.push_back(array.to(view.device()));
  }
  return result;
}

Tensor get_selected(const Selection& selection) {
  if (!selection.has_arrays) return selection.view;
  std::vector<Tensor> operands = beside(selection.view, selection.arrays);
  if (is_on_host(selection.view.device())) return index_get(selection.view, operands);
  operands.insert(operands.begin(), selection.view);
  return ops::call(ops::get_op("gather_nd"), {std::move(operands), {}})[0];
}

void set_selected(const Selection& selection, const Tensor& source) {
  const Tensor& view = selection.view;
  const std::vector<Tensor> arrays = beside(view, selection.arrays);
  if (is_on_host(view.device())) return index_set(view, arrays, source);
  WEFT_CHECK(!view.storage()->read_only(),
             fmt::format("index assignment: the target {} is read-only", describe(view)));
  std::vector<ops::TensorType> types{ops::type_of(view)};
  for (const Tensor& array : arrays)
    types.push_back(array.defined() ? ops::type_of(array) : ops::TensorType{.absent = true});
  const std::vector<ops::TensorType> named = ops::infer(ops::get_op("gather_nd"), types, {});
  Shape shape;
  for (const Sym& size : named[0].shape) shape.push_back(size.constant());
  const Tensor dense = Tensor::empty(shape, view.dtype(), view.device());
  dense.copy_from(source);
  if (backend_of(view.device()).set_indexed(view, arrays, dense)) return;
  std::vector<Tensor> here;
  for (const Tensor& array : arrays) here.push_back(array.defined() ? array.to(Device()) : array);
  const Tensor copy = view.to(Device());
  index_set(copy, here, dense.to(Device()));
  view.copy_from(copy);
}

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

void set_torch_refusals(bool on) { torch_refusals = on; }
bool torch_refuses(Promotion rules) { return refuses(rules); }

Tensor get_item(const Tensor& tensor, nb::handle index, Promotion rules) {
  if (is_recorded(tensor, index)) return RecordedSelector(tensor, index, rules).get();
  // One mask for all dimensions needs no positions.
  if (const Tensor* mask = tensor_of_python(index);
      mask != nullptr && mask->dtype() == DType::Bool && mask->dim() > 0 && mask->shape() == tensor.shape())
    return weft::index(tensor, {*mask});
  return get_selected(Selector(tensor, index, rules).finish());
}

void set_item(const Tensor& tensor, nb::handle index, nb::handle value, Promotion rules) {
  const auto scalar = scalar_of_python(value);
  if (refuses(rules)) {
    check_assigned(tensor, value);
    if (index.ptr() == Py_False) return;
    if (scalar) ops::refuse_overflow(*scalar, tensor.dtype(), !is_mask(index));
  }
  Tensor source;
  if (scalar && refuses(rules) && scalar->is_complex() && !is_complex(tensor.dtype()))
    source = tensor.dtype() == DType::Bool ? Tensor::scalar(Scalar(scalar->to_complex() != 0.0), DType::Bool)
                                           : Tensor::scalar(Scalar(scalar->to_double()), DType::F64);
  else if (scalar)
    source = tensor_from_data(value, std::nullopt);
  else
    source = as_tensor(value, std::nullopt);
  const auto check_complex = [&](bool may_lose_parts) {
    WEFT_CHECK_TYPE(!is_complex(source.dtype()) || is_complex(tensor.dtype()) || may_lose_parts,
                    fmt::format("index assignment: a complex value does not fit {}", describe(tensor)));
  };
  if (is_recorded(tensor, index) || source.is_traced()) {
    check_complex(false);
    return RecordedSelector(tensor, index, rules).set(source);
  }
  const Selection selection = Selector(tensor, index, rules).finish();
  const bool is_none_chosen =
      std::any_of(selection.arrays.begin(), selection.arrays.end(),
                  [](const Tensor& array) { return array.defined() && array.numel() == 0; });
  if (refuses(rules) && scalar && !selection.has_arrays)
    ops::refuse_overflow(*scalar, tensor.dtype(), selection.view.numel() == 1);
  if (refuses(rules) && selection.has_arrays && !PyBool_Check(index.ptr()) && !is_none_chosen)
    check_put(tensor, index, value);
  check_complex(rules == Promotion::Torch && !scalar && !selection.has_arrays);
  if (selection.has_arrays)
    set_selected(selection, source);
  else {
    if (rules == Promotion::Torch && source.dim() > 0) check_distinct_elements(selection.view);
    selection.view.copy_from(source);
  }
}

}  // namespace weft::python
