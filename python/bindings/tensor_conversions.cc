// What gives the elements of weft.Tensor and weft.numpy.ndarray another dtype, device or order in memory.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "array.h"
#include "bindings.h"
#include "core/pinned.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "errors.h"
#include "memory_format.h"
#include "ops/iteration_order.h"
#include "tensor_class.h"
#include "tensor_forms.h"
#include "weft/error.h"

namespace weft::python {
namespace {

// The device that `text`, which is no dtype's name, names.
Device device_named(const std::string& text) {
  std::vector<std::string> names = device_names();
  const std::string kind = text.substr(0, text.find(':'));
  if (std::find(names.begin(), names.end(), kind) != names.end()) return Device::parse(text);
  for (int i = 0; i < kNumDTypes; ++i) names.emplace_back(name(static_cast<DType>(i)));
  throw_error(ErrorKind::Type, fmt::format("to: expected a dtype or a device, got '{}'{}", printable(text),
                                           did_you_mean(text, names)));
}

Tensor contiguous_in(const Tensor& tensor, nb::handle wanted) {
  const MemoryFormat format = memory_format(wanted, MemoryFormat::Contiguous);
  WEFT_CHECK(format != MemoryFormat::Preserve, "contiguous: preserve_format is no order of elements");
  return lies_in(tensor, format) ? tensor : clone_in(tensor, format);
}

Tensor moved_to(const Tensor& tensor, Device device, bool non_blocking) {
  return non_blocking && device != tensor.device() ? start_move(tensor, device) : tensor.to(device);
}

// to(dtype), to(device), to(other), to(device, dtype) and the same by keyword; behind them non_blocking and
// copy.
Tensor to(const Tensor& tensor, nb::args args, nb::handle dtype, nb::handle device, bool non_blocking,
          bool copy, nb::handle format) {
  std::optional<DType> wanted = optional_dtype(dtype);
  Device target = device.is_none() ? tensor.device() : device_of_python(device);
  size_t flags = 0;
  for (nb::handle argument : args) {
    if (PyBool_Check(argument.ptr())) {
      WEFT_CHECK_TYPE(++flags <= 2, "to: expected at most two truth values, non_blocking and copy");
      (flags == 1 ? non_blocking : copy) = argument.ptr() == Py_True;
      continue;
    }
    if (const Tensor* other = tensor_of_python(argument)) {
      wanted = other->dtype();
      target = other->device();
    } else if (nb::isinstance<Device>(argument) || PyLong_Check(argument.ptr())) {
      target = device_of_python(argument);
    } else if (PyUnicode_Check(argument.ptr())) {
      const std::string_view text = text_view(argument);
      if (const std::optional<DType> named = dtype_from_name(text))
        wanted = named;
      else
        target = device_named(std::string(text));
    } else if (!argument.is_none()) {
      wanted = dtype_of_python(argument);
    }
  }
  const Tensor moved =
      moved_to(tensor, target, non_blocking && wanted.value_or(tensor.dtype()) == tensor.dtype());
  const Tensor result = ops::to_in_order(moved, wanted.value_or(tensor.dtype()));
  const MemoryFormat memory = memory_format(format, MemoryFormat::Preserve);
  if (memory != MemoryFormat::Preserve && !lies_in(result, memory)) return clone_in(result, memory);
  return copy && result.impl() == tensor.impl() ? clone_in(result, MemoryFormat::Preserve) : result;
}

// T is Tensor or Array.
template <class T, class Class>
void bind_conversions_of(Class& c) {
  c.def(
       "to",
       [](nb::object self, nb::args args, nb::handle dtype, nb::handle device, nb::handle other,
          bool non_blocking, bool copy, nb::handle format) -> nb::object {
         const T& t = own<T>(self);
         nb::object given = args;
         if (!other.is_none()) given = nb::make_tuple(other);
         const Tensor result = to(t, nb::borrow<nb::args>(given), dtype, device, non_blocking, copy, format);
         return result.impl() == t.impl() ? self : nb::cast(T(result));
       },
       nb::arg("args"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
       nb::arg("other") = nb::none(), nb::arg("non_blocking") = false, nb::arg("copy") = false,
       nb::arg("memory_format") = nb::none(),
       "The tensor with another dtype or device; itself where nothing changes.")
      .def(
          "type",
          [](nb::object self, nb::handle dtype, bool non_blocking) -> nb::object {
            (void)non_blocking;
            const T& t = own<T>(self);
            if (dtype.is_none()) return type_name(t);
            const DType wanted = dtype_of_type(dtype);
            return wanted == t.dtype() ? self : nb::cast(T(ops::to_in_order(t, wanted)));
          },
          nb::arg("dtype") = nb::none(), nb::arg("non_blocking") = false,
          "Without a dtype PyTorch's name of the tensor's: 'torch.FloatTensor'; else the tensor in that "
          "dtype.")
      .def(
          "astype", [](const T& t, nb::handle dtype) { return T(t.to(dtype_of_python(dtype))); },
          nb::arg("dtype"))
      .def(
          "cpu",
          [](nb::object self, nb::handle format) -> nb::object {
            const T& t = own<T>(self);
            const Tensor result = to(t, nb::args(nb::steal<nb::args>(PyTuple_New(0))), nb::none(),
                                     nb::cast(Device()), false, false, format);
            return result.impl() == t.impl() ? self : nb::cast(T(result));
          },
          nb::arg("memory_format") = nb::none())
      .def(
          "to_device",
          [](const T& t, nb::handle device, nb::handle stream) {
            WEFT_CHECK(stream.is_none(), "to_device: a CPU tensor has no stream");
            return T(t.to(device_of_python(device)));
          },
          nb::arg("device"), nb::kw_only(), nb::arg("stream") = nb::none(),
          "The tensor on another device; itself where it is there. source: the array API.")
      .def(
          "cuda",
          [](const T& t, nb::handle device, bool non_blocking, nb::handle format) {
            (void)format;
            const Device target = device.is_none() ? Device{DeviceType::CUDA, 0} : device_of_python(device);
            return T(moved_to(t, target, non_blocking));
          },
          nb::arg("device") = nb::none(), nb::arg("non_blocking") = false,
          nb::arg("memory_format") = nb::none())
      .def(
          "pin_memory",
          [](nb::object self, nb::handle device) -> nb::object {
            (void)device;
            const T& t = own<T>(self);
            const Tensor result = pinned(t);
            return result.impl() == t.impl() ? self : nb::cast(T(result));
          },
          nb::arg("device") = nb::none(),
          "A copy in memory that GPUs copy from and to by themselves (to(device, non_blocking=True)); itself "
          "where it is there.")
      .def(
          "is_pinned",
          [](const T& t, nb::handle device) {
            (void)device;
            return is_pinned(t);
          },
          nb::arg("device") = nb::none())
      .def(
          "contiguous",
          [](nb::object self, nb::handle format) -> nb::object {
            const T& t = own<T>(self);
            const Tensor result = contiguous_in(t, format);
            return result.impl() == t.impl() ? self : nb::cast(T(result));
          },
          nb::arg("memory_format") = nb::none(), "Itself where its elements lie in this order, else a copy.")
      .def(
          "clone",
          [](const T& t, nb::handle format) {
            const bool is_numpy = std::is_same_v<T, Array>;
            return T(clone_in(
                t, memory_format(format, is_numpy ? MemoryFormat::Contiguous : MemoryFormat::Preserve)));
          },
          nb::arg("memory_format") = nb::none(),
          "A copy; the order of dimensions in memory stays where the elements lie densely.");
  static constexpr std::pair<const char*, DType> kConversions[] = {
      {"half", DType::F16},   {"bfloat16", DType::BF16}, {"float", DType::F32}, {"double", DType::F64},
      {"short", DType::I16},  {"int", DType::I32},       {"long", DType::I64},  {"bool", DType::Bool},
      {"cfloat", DType::C64}, {"cdouble", DType::C128},  {"byte", DType::U8},   {"char", DType::I8},
  };
  for (const auto& [method, dtype] : kConversions) {
    c.def(
        method,
        [dtype = dtype](nb::object self, nb::handle format) -> nb::object {
          const T& t = own<T>(self);
          const MemoryFormat memory = memory_format(format, MemoryFormat::Preserve);
          const Tensor result = ops::to_in_order(t, dtype);
          if (memory != MemoryFormat::Preserve && !lies_in(result, memory))
            return nb::cast(T(clone_in(result, memory)));
          return result.impl() == t.impl() ? self : nb::cast(T(result));
        },
        nb::arg("memory_format") = nb::none());
  }
}

}  // namespace

void bind_conversions(nb::class_<Tensor>& c) { bind_conversions_of<Tensor>(c); }
void bind_conversions(nb::class_<Array, Tensor>& c) { bind_conversions_of<Array>(c); }

}  // namespace weft::python
