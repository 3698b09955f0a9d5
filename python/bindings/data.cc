// Between tensors and Python's numbers and sequences.
#include <fmt/format.h>

#include <cmath>

#include "bindings.h"
#include "core/copy.h"
#include "core/default_dtype.h"
#include "errors.h"
#include "weft/error.h"

namespace weft::python {

namespace {

bool is_number(PyObject* object) {
  return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
}
// A NumPy scalar: it exports its value as a 0-d buffer and is no sequence.
bool is_numpy_scalar(PyObject* object) {
  return PyObject_CheckBuffer(object) && PyObject_HasAttrString(object, "dtype") &&
         !PyObject_HasAttrString(object, "__dlpack__") && !PyObject_HasAttrString(object, "__setitem__");
}

DType dtype_of_number(PyObject* object) {
  if (PyBool_Check(object)) return DType::Bool;
  if (PyLong_Check(object)) return DType::I64;
  return PyFloat_Check(object) ? default_float() : default_complex();
}

[[noreturn]] void does_not_fit(PyObject* number, DType dtype) {
  PyErr_Clear();
  throw_error(ErrorKind::Value, fmt::format("tensor: {} does not fit {}", repr_text(number), name(dtype)));
}

// Writes a Python number as an element; an integer that the dtype cannot hold is an error.
void write_number(PyObject* object, DType dtype, void* element) {
  const auto convert = [&](DType from, const void* value) {
    convert_function(dtype, from)(element, 1, value, 1, 1);
  };
  if (PyBool_Check(object)) {
    const bool value = object == Py_True;
    convert(DType::Bool, &value);
  } else if (PyLong_Check(object)) {
    if (dtype == DType::U64) {
      const uint64_t value = PyLong_AsUnsignedLongLong(object);
      if (PyErr_Occurred()) does_not_fit(object, dtype);
      return convert(DType::U64, &value);
    }
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow && is_inexact(dtype)) {
      const double wide = PyLong_AsDouble(object);
      if (PyErr_Occurred()) does_not_fit(object, dtype);
      return convert(DType::F64, &wide);
    }
    if (overflow) does_not_fit(object, dtype);
    convert(DType::I64, &value);
    if (is_integral(dtype)) {
      int64_t back;
      convert_function(DType::I64, dtype)(&back, 1, element, 1, 1);
      if (back != value) does_not_fit(object, dtype);
    }
  } else if (PyFloat_Check(object)) {
    const double value = PyFloat_AS_DOUBLE(object);
    WEFT_CHECK(!is_integral(dtype) || std::isfinite(value),
               fmt::format("tensor: {} does not fit {}", value, name(dtype)));
    convert(DType::F64, &value);
  } else {
    WEFT_CHECK_TYPE(is_complex(dtype), fmt::format("tensor: a complex number does not fit {}", name(dtype)));
    const Py_complex value = PyComplex_AsCComplex(object);
    const std::complex<double> both(value.real, value.imag);
    convert(DType::C128, &both);
  }
}

// Two walks over nested sequences: one finds shape and dtype, one writes the elements.
class Nested {
 public:
  Nested(nb::handle data, std::optional<DType> dtype) {
    scan(data.ptr(), 0);
    result_ = Tensor::empty(shape_, dtype ? *dtype : dtype_.value_or(default_float()));
    next_ = result_.data_as<char>();
    write(data.ptr());
  }
  Tensor result() const { return result_; }

 private:
  static bool is_leaf(PyObject* object) {
    if (is_number(object)) return true;
    if (const Tensor* tensor = tensor_of_python(object)) return tensor->dim() == 0;
    return is_numpy_scalar(object);
  }

  static nb::object sequence(PyObject* object) {
    if (PyUnicode_Check(object) || PyBytes_Check(object) || !PySequence_Check(object)) {
      throw_error(ErrorKind::Type,
                  fmt::format("tensor: expected numbers, arrays or nested sequences of them, got {}",
                              Py_TYPE(object)->tp_name));
    }
    nb::object items = nb::steal(PySequence_Fast(object, "tensor: expected a sequence"));
    if (!items.is_valid()) nb::raise_python_error();
    return items;
  }

  void see(DType dtype) { dtype_ = dtype_ ? promote_types(*dtype_, dtype, Promotion::Torch) : dtype; }

  void scan(PyObject* object, size_t depth) {
    if (is_leaf(object)) {
      WEFT_CHECK(!leaf_depth_ || *leaf_depth_ == depth,
                 fmt::format("tensor: expected a sequence at depth {}, got a number", depth));
      leaf_depth_ = depth;
      if (is_number(object) && !is_numpy_scalar(object))
        see(dtype_of_number(object));
      else
        see(as_tensor(object, std::nullopt).dtype());
      return;
    }
    const nb::object items = sequence(object);
    const int64_t length = PySequence_Fast_GET_SIZE(items.ptr());
    WEFT_CHECK(!leaf_depth_ || depth < *leaf_depth_,
               fmt::format("tensor: expected a number at depth {}, got {}", depth, Py_TYPE(object)->tp_name));
    WEFT_CHECK(depth < 64, "tensor: sequences are nested more than 64 deep");
    if (depth == shape_.size()) {
      WEFT_CHECK(!closed_, fmt::format("tensor: expected no sequence at depth {}", depth));
      shape_.push_back(length);
      if (length == 0) closed_ = true;
    }
    WEFT_CHECK(shape_[depth] == length,
               fmt::format("tensor: expected a sequence of length {} at dimension {}, got {}", shape_[depth],
                           depth, length));
    for (int64_t i = 0; i < length; ++i) scan(PySequence_Fast_GET_ITEM(items.ptr(), i), depth + 1);
  }

  void write(PyObject* object) {
    if (is_leaf(object)) {
      if (is_number(object)) {
        write_number(object, result_.dtype(), next_);
      } else {
        const Tensor value = as_tensor(object, std::nullopt);
        convert_function(result_.dtype(), value.dtype())(next_, 1, value.data(), 1, 1);
      }
      next_ += itemsize(result_.dtype());
      return;
    }
    const nb::object items = sequence(object);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i)
      write(PySequence_Fast_GET_ITEM(items.ptr(), i));
  }

  Shape shape_;
  std::optional<DType> dtype_;
  std::optional<size_t> leaf_depth_;
  bool closed_ = false;
  Tensor result_;
  char* next_ = nullptr;
};

// What another library's array or this library's own shares; undefined for other objects.
Tensor shared_memory(nb::handle data) {
  if (const Tensor* tensor = tensor_of_python(data)) return *tensor;
  PyObject* object = data.ptr();
  if (PyBytes_Check(object) || (is_number(object) && !is_numpy_scalar(object))) return {};
  if (PyObject_CheckBuffer(object)) return tensor_from_buffer(data, true);
  if (PyObject_HasAttrString(object, "__dlpack__")) return from_dlpack(data, nb::none(), nb::none());
  if (PyObject_HasAttrString(object, "__array__"))
    return tensor_from_buffer(nb::module_::import_("numpy").attr("asarray")(data), true);
  return {};
}

}  // namespace

std::optional<Scalar> scalar_of_python(nb::handle object) {
  PyObject* value = object.ptr();
  if (PyBool_Check(value)) return Scalar(value == Py_True);
  if (const Sym* size = symbolic_int(value)) return Scalar(sym_specialize(*size));
  if (PyLong_Check(value)) {
    int overflow = 0;
    const int64_t integer = PyLong_AsLongLongAndOverflow(value, &overflow);
    WEFT_CHECK(overflow == 0, fmt::format("scalar: {} does not fit int64", repr_text(object)));
    return Scalar(integer);
  }
  if (PyFloat_Check(value)) return Scalar(PyFloat_AS_DOUBLE(value));
  if (PyComplex_Check(value)) {
    const Py_complex both = PyComplex_AsCComplex(value);
    return Scalar(std::complex<double>(both.real, both.imag));
  }
  if (!tensor_of_python(object) && is_numpy_scalar(value)) return tensor_from_buffer(object, true).item();
  return std::nullopt;
}

Tensor tensor_from_data(nb::handle data, std::optional<DType> dtype) {
  if (const Tensor shared = shared_memory(data); shared.defined()) {
    return dtype && *dtype != shared.dtype() ? shared.to(*dtype) : shared.clone();
  }
  return Nested(data, dtype).result();
}

Tensor as_tensor(nb::handle data, std::optional<DType> dtype) {
  if (const Tensor shared = shared_memory(data); shared.defined()) return dtype ? shared.to(*dtype) : shared;
  return Nested(data, dtype).result();
}

nb::object element_to_python(DType dtype, const void* element) {
  PyObject* result = nullptr;
  if (dtype == DType::Bool) {
    result = Py_NewRef(*static_cast<const bool*>(element) ? Py_True : Py_False);
  } else if (dtype == DType::U64) {
    result = PyLong_FromUnsignedLongLong(*static_cast<const uint64_t*>(element));
  } else if (is_integral(dtype)) {
    int64_t value;
    convert_function(DType::I64, dtype)(&value, 1, element, 1, 1);
    result = PyLong_FromLongLong(value);
  } else {
    std::complex<double> value;
    convert_function(DType::C128, dtype)(&value, 1, element, 1, 1);
    result = is_complex(dtype) ? PyComplex_FromDoubles(value.real(), value.imag())
                               : PyFloat_FromDouble(value.real());
  }
  if (!result) nb::raise_python_error();
  return nb::steal(result);
}

namespace {

nb::object nested_list(const Tensor& tensor, size_t d, const char* data) {
  if (d == tensor.shape().size()) return element_to_python(tensor.dtype(), data);
  nb::list result;
  for (int64_t i = 0; i < tensor.shape()[d]; ++i) {
    result.append(nested_list(tensor, d + 1, data + i * tensor.strides()[d] * itemsize(tensor.dtype())));
  }
  return result;
}

}  // namespace

nb::object to_list(const Tensor& tensor) {
  const Tensor here = on_host(tensor, "tolist");
  return nested_list(here, 0, here.data_as<char>());
}

Shape shape_of_python(nb::handle object, const char* what) {
  Shape shape;
  const auto push = [&](nb::handle item) {
    const Py_ssize_t size = PyNumber_AsSsize_t(item.ptr(), PyExc_ValueError);
    if (size == -1 && PyErr_Occurred()) nb::raise_python_error();
    shape.push_back(size);
  };
  if (PyIndex_Check(object.ptr()) && !tensor_of_python(object)) {
    push(object);
    return shape;
  }
  if (!PySequence_Check(object.ptr()) || PyUnicode_Check(object.ptr())) {
    throw_error(ErrorKind::Type, fmt::format("{}: expected an integer or a sequence of integers, got {}",
                                             what, Py_TYPE(object.ptr())->tp_name));
  }
  for (nb::handle item : nb::borrow<nb::object>(object)) push(item);
  return shape;
}

}  // namespace weft::python
