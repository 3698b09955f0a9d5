#include "tensor_forms.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "core/default_dtype.h"
#include "core/printable.h"
#include "errors.h"
#include "jit_trace.h"
#include "ops/build.h"
#include "ops/view.h"
#include "weft/error.h"

namespace weft::python {

namespace {

// PyTorch's older names of a dtype's tensors: FloatTensor.
constexpr std::pair<const char*, DType> kTypeNames[] = {
    {"FloatTensor", DType::F32},
    {"DoubleTensor", DType::F64},
    {"HalfTensor", DType::F16},
    {"BFloat16Tensor", DType::BF16},
    {"LongTensor", DType::I64},
    {"IntTensor", DType::I32},
    {"ShortTensor", DType::I16},
    {"CharTensor", DType::I8},
    {"ByteTensor", DType::U8},
    {"BoolTensor", DType::Bool},
    {"ComplexFloatTensor", DType::C64},
    {"ComplexDoubleTensor", DType::C128},
    {"UInt16Tensor", DType::U16},
    {"UInt32Tensor", DType::U32},
    {"UInt64Tensor", DType::U64},
    {"Float8_e4m3fnTensor", DType::F8E4M3FN},
    {"Float8_e5m2Tensor", DType::F8E5M2},
    {"Float8_e4m3fnuzTensor", DType::F8E4M3FNUZ},
    {"Float8_e5m2fnuzTensor", DType::F8E5M2FNUZ},
    {"Float8_e8m0fnuTensor", DType::F8E8M0FNU},
};

SymShape sizes_of(nb::args args, const char* what) {
  SymShape sizes;
  const auto push = [&](nb::handle item) {
    if (const Sym* size = symbolic_int(item.ptr())) return sizes.push_back(*size);
    WEFT_CHECK_TYPE(PyIndex_Check(item.ptr()), fmt::format("{}: expected integers or a dtype, got {}", what,
                                                           Py_TYPE(item.ptr())->tp_name));
    const Py_ssize_t size = PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError);
    if (size == -1 && PyErr_Occurred()) nb::raise_python_error();
    sizes.push_back(Sym(size));
  };
  const bool is_sequence = args.size() == 1 && (PyTuple_Check(args[0].ptr()) || PyList_Check(args[0].ptr()));
  for (nb::handle item : is_sequence ? nb::borrow<nb::object>(args[0]) : nb::object(args)) push(item);
  return sizes;
}

// The same memory read as another dtype.
Tensor view_of_dtype(const Tensor& tensor, DType to) {
  const int64_t from_size = itemsize(tensor.dtype()), to_size = itemsize(to);
  if (tensor.is_traced()) {
    WEFT_CHECK(to != DType::Bool || tensor.dtype() == to, "view: bytes read as truth values");
    if (tensor.dtype() == to) return ops::build::reshape(tensor, ops::sym_shape(tensor));
  }
  if (from_size == to_size) return ops::memory_part("bitcast", tensor, to);
  const auto fits = [&](int64_t elements) { return elements * from_size % to_size == 0; };
  // One element's parts lie beside each other, whatever its dimension's stride is.
  const bool is_one = tensor.dim() > 0 && tensor.shape().back() == 1 && from_size > to_size;
  bool is_whole = tensor.dim() > 0 && (is_one || tensor.strides().back() == 1) &&
                  fits(tensor.shape().back()) && fits(tensor.offset());
  for (size_t d = 0; d + 1 < tensor.shape().size(); ++d) is_whole = is_whole && fits(tensor.strides()[d]);
  WEFT_CHECK(is_whole,
             fmt::format("view: {} with strides {} does not hold whole elements of {} in its last dimension",
                         describe(tensor), weft::str(tensor.strides()), name(to)));
  return ops::memory_part("bitcast", tensor, to);
}

Tensor view_of_shape(const Tensor& tensor, nb::args args) {
  const SymShape wanted = sizes_of(args, "view");
  if (tensor.is_traced()) {
    Shape shape;
    for (const Sym& size : ops::resolve_shape("view", ops::sym_shape(tensor), wanted))
      shape.push_back(size.hint());
    WEFT_CHECK(ops::view_strides(tensor.impl()->shape, tensor.strides(), shape),
               fmt::format("view: no view of {} has the shape {}", describe(tensor), weft::str(shape)));
    return ops::build::reshape(tensor, wanted);
  }
  Shape shape;
  for (const Sym& size : ops::resolve_shape("view", ops::sym_shape(tensor), wanted))
    shape.push_back(sym_specialize(size));
  const std::optional<Strides> strides = ops::view_strides(tensor.shape(), tensor.strides(), shape);
  WEFT_CHECK(strides,
             fmt::format("view: no view of {} with strides {} has the shape {}: its elements do not lie so; "
                         "use reshape()",
                         describe(tensor), weft::str(tensor.strides()), weft::str(shape)));
  return tensor.as_strided(std::move(shape), *strides, tensor.offset());
}

}  // namespace

DType dtype_of_type(nb::handle type) {
  std::string name;
  if (PyUnicode_Check(type.ptr()))
    name = text_view(type);
  else if (PyType_Check(type.ptr()) && PyObject_HasAttrString(type.ptr(), "_is_tensor_type"))
    name = "torch." + nb::cast<std::string>(type.attr("__name__"));
  else
    return dtype_of_python(type);
  for (const auto& [known, dtype] : kTypeNames)
    if (name == fmt::format("torch.{}", known) || name == fmt::format("torch.cuda.{}", known)) return dtype;
  if (!name.starts_with("torch.")) return dtype_of_python(type);
  throw_error(ErrorKind::Value, fmt::format("type: invalid type: '{}'", printable(name)));
}

nb::object type_name(const Tensor& tensor) {
  for (const auto& [known, dtype] : kTypeNames)
    if (dtype == tensor.dtype())
      return nb::str(
          fmt::format("torch.{}{}", tensor.device().type == DeviceType::CUDA ? "cuda." : "", known).c_str());
  return nb::none();
}

nb::object view(nb::handle self, nb::args args, nb::kwargs named) {
  const Tensor* const found = tensor_of_python(self);
  WEFT_CHECK_TYPE(found, fmt::format("view: expected a tensor, got {}", Py_TYPE(self.ptr())->tp_name));
  const Tensor& tensor = *found;
  const nb::object module = nb::module_::import_("weft._C");
  for (const auto& [key, value] : named) {
    WEFT_CHECK_TYPE(args.size() == 0 && nb::len(named) == 1,
                    "view: expected sizes or a dtype, and nothing else");
    const nb::tuple given = nb::make_tuple(value);
    return view(self, nb::borrow<nb::args>(given), nb::kwargs());
  }
  WEFT_CHECK_TYPE(args.size() > 0, "view: expected sizes or a dtype");
  if (args.size() == 1 && nb::isinstance(args[0], to_python(DType::F32).type())) {
    if (trace_handler) return module.attr("bitcast")(self, args[0]);
    return to_python(view_of_dtype(tensor, dtype_of_python(args[0])));
  }
  if (trace_handler) return module.attr("reshape")(self, *args);
  return to_python(view_of_shape(tensor, args));
}

Tensor of_arguments(nb::args args, nb::handle device) {
  const Device place = device.is_none() ? default_device() : device_of_python(device);
  const auto is_size = [](nb::handle item) { return PyLong_Check(item.ptr()) && !PyBool_Check(item.ptr()); };
  if (args.size() == 1 && !is_size(args[0]) && Py_TYPE(args[0].ptr()) != size_type) {
    WEFT_CHECK_TYPE(PySequence_Check(args[0].ptr()) && !PyUnicode_Check(args[0].ptr()),
                    fmt::format("Tensor: expected sizes or a sequence of numbers, got {}",
                                Py_TYPE(args[0].ptr())->tp_name));
    return tensor_from_data(args[0], default_float()).to(place);
  }
  if (args.size() == 0) return Tensor::empty({0}, default_float(), place);
  Shape shape;
  for (nb::handle item :
       args.size() == 1 && !is_size(args[0]) ? nb::borrow<nb::object>(args[0]) : nb::object(args)) {
    WEFT_CHECK_TYPE(is_size(item), fmt::format("Tensor: expected sizes or a sequence of numbers, got {}",
                                               Py_TYPE(item.ptr())->tp_name));
    shape.push_back(nb::cast<int64_t>(item));
  }
  return Tensor::empty(shape, default_float(), place);
}

}  // namespace weft::python
