// weft.dtype and weft.device.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>

#include "bindings.h"
#include "core/default_dtype.h"
#include "core/grad_mode.h"
#include "core/print_options.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "errors.h"
#include "ops/autocast.h"
#include "weft/error.h"

namespace weft::python {

namespace {

// A dtype of weft's tensors, or one that PyTorch has and weft's tensors cannot have: programs compare with
// it.
struct ForeignDType {
  const char* name;
  int size;  // bytes per element
  DTypeKind kind;
};
struct PyDType {
  DType value;
  const ForeignDType* foreign = nullptr;

  std::string_view name() const { return foreign ? foreign->name : weft::name(value); }
  int size() const { return foreign ? foreign->size : itemsize(value); }
  DTypeKind kind() const { return foreign ? foreign->kind : info(value).kind; }
};

constexpr ForeignDType kForeign[] = {
    {"complex32", 4, DTypeKind::Complex},
    {"bcomplex32", 4, DTypeKind::Complex},
    {"float4_e2m1fn_x2", 1, DTypeKind::Float},
    {"uint1", 1, DTypeKind::Unsigned},
    {"uint2", 1, DTypeKind::Unsigned},
    {"uint3", 1, DTypeKind::Unsigned},
    {"uint4", 1, DTypeKind::Unsigned},
    {"uint5", 1, DTypeKind::Unsigned},
    {"uint6", 1, DTypeKind::Unsigned},
    {"uint7", 1, DTypeKind::Unsigned},
    {"int1", 1, DTypeKind::Signed},
    {"int2", 1, DTypeKind::Signed},
    {"int3", 1, DTypeKind::Signed},
    {"int4", 1, DTypeKind::Signed},
    {"int5", 1, DTypeKind::Signed},
    {"int6", 1, DTypeKind::Signed},
    {"int7", 1, DTypeKind::Signed},
    {"quint2x4", 1, DTypeKind::Unsigned},
    {"bits8", 1, DTypeKind::Unsigned},
    {"bits16", 2, DTypeKind::Unsigned},
    {"bits1x8", 1, DTypeKind::Unsigned},
    {"bits2x4", 1, DTypeKind::Unsigned},
    {"bits4x2", 1, DTypeKind::Unsigned},
};

// Made when they are asked for; as immortal as the others.
std::array<PyObject*, std::size(kForeign)> g_foreign{};

nb::object foreign_dtype(std::string_view name) {
  for (size_t i = 0; i < std::size(kForeign); ++i) {
    if (kForeign[i].name != name) continue;
    if (!g_foreign[i]) g_foreign[i] = nb::cast(PyDType{DType::Bool, &kForeign[i]}).release().ptr();
    return nb::borrow(g_foreign[i]);
  }
  throw nb::key_error(std::string(name).c_str());
}

// The dtype objects are immortal: there is one per dtype, and `is` compares them.
std::array<PyObject*, kNumStoredDTypes> g_dtypes;

constexpr std::pair<const char*, DType> kDtypeAliases[] = {
    {"half", DType::F16}, {"float", DType::F32}, {"double", DType::F64}, {"short", DType::I16},
    {"int", DType::I32},  {"long", DType::I64},  {"cfloat", DType::C64}, {"cdouble", DType::C128},
};

}  // namespace

nb::object to_python(DType dtype) { return nb::borrow(g_dtypes[static_cast<size_t>(dtype)]); }

DType dtype_of_python(nb::handle object) {
  if (nb::isinstance<PyDType>(object)) {
    const PyDType& dtype = nb::cast<PyDType&>(object);
    if (dtype.foreign)
      throw_error(ErrorKind::Type, fmt::format("dtype: weft has no tensors of {}", dtype.name()));
    return dtype.value;
  }
  PyObject* type = object.ptr();
  if (type == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (type == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (type == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F64;
  if (type == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C128;
  std::string text;
  if (PyUnicode_Check(type)) {
    text = text_view(object);
  } else if (PyObject_HasAttrString(type, "newbyteorder")) {  // numpy.dtype
    text = text_view(nb::object(object.attr("name")));
  } else if (PyType_Check(type) && PyObject_HasAttrString(type, "dtype")) {  // a NumPy scalar type
    text = text_view(nb::object(object.attr("__name__")));
    if (text == "bool_") text = "bool";
  }
  if (const auto dtype = dtype_from_name(text)) return *dtype;
  std::vector<std::string> names;
  for (int i = 0; i < kNumDTypes; ++i) names.emplace_back(name(static_cast<DType>(i)));
  throw_error(ErrorKind::Type,
              fmt::format("dtype: expected a weft or NumPy dtype of numbers or bool, got {}{}",
                          repr_text(object), did_you_mean(text, names)));
}

std::optional<DType> optional_dtype(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return dtype_of_python(object);
}

Device device_of_python(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<Device>(object)) return nb::cast<Device>(object);
  if (PyUnicode_Check(object.ptr())) return Device::parse(text_view(object));
  // A number is one of the accelerator's.
  if (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr()))
    return Device::parse(fmt::format("cuda:{}", repr_text(object)));
  throw_error(ErrorKind::Type,
              fmt::format("device: expected a weft.device or a string, got {}", repr_text(object)));
}

namespace {

thread_local std::vector<Device> entered_devices;
thread_local Device usual_device;  // torch.set_default_device

}  // namespace

Device default_device() { return entered_devices.empty() ? usual_device : entered_devices.back(); }

namespace {

nb::object real_part(const PyDType& dtype) {
  if (!dtype.foreign) return to_python(real_dtype(dtype.value));
  if (dtype.kind() != DTypeKind::Complex) return foreign_dtype(dtype.name());
  return to_python(dtype.name() == "complex32" ? DType::F16 : DType::BF16);
}

nb::object complex_of(const PyDType& dtype) {
  if (dtype.foreign) {
    if (dtype.kind() == DTypeKind::Complex) return foreign_dtype(dtype.name());
  } else {
    switch (dtype.value) {
      case DType::F16: return foreign_dtype("complex32");
      case DType::BF16: return foreign_dtype("bcomplex32");
      case DType::F32:
      case DType::C64: return to_python(DType::C64);
      case DType::F64:
      case DType::C128: return to_python(DType::C128);
      default: break;
    }
  }
  throw_error(ErrorKind::Runtime, fmt::format("to_complex: {} has no complex dtype", dtype.name()));
}

}  // namespace

void bind_print_options(nb::module_& m) {
  m.def(
      "_set_print_options",
      [](std::optional<int> precision, std::optional<int64_t> threshold, std::optional<int64_t> edge_items,
         std::optional<int64_t> line_width, nb::object scientific) {
        PrintOptions& options = print_options();
        options.precision = precision.value_or(options.precision);
        options.threshold = threshold.value_or(options.threshold);
        options.edge_items = edge_items.value_or(options.edge_items);
        options.line_width = line_width.value_or(options.line_width);
        options.scientific = scientific.is_none() ? std::nullopt : std::optional(nb::cast<bool>(scientific));
      },
      nb::arg("precision").none(), nb::arg("threshold").none(), nb::arg("edge_items").none(),
      nb::arg("line_width").none(), nb::arg("scientific").none());
  m.def(
      "_set_printed_module", [](const std::string& name) { print_options().module = name; }, nb::arg("name"));
  m.def("_set_torch_refusals", &set_torch_refusals, nb::arg("on"));
  m.def("_may_overlap", &may_overlap, nb::arg("a"), nb::arg("b"));
}

void bind_dtypes(nb::module_& m) {
  nb::class_<PyDType> dtype(m, "dtype",
                            "The type of a tensor's elements; there is one object for each type.");
  dtype.def_prop_ro(
           "itemsize", [](const PyDType& d) { return d.size(); }, "Bytes per element.")
      .def_prop_ro("is_floating_point", [](const PyDType& d) { return d.kind() == DTypeKind::Float; })
      .def_prop_ro("is_complex", [](const PyDType& d) { return d.kind() == DTypeKind::Complex; })
      .def_prop_ro("is_signed",
                   [](const PyDType& d) {
                     return d.kind() >= DTypeKind::Signed && (d.foreign || d.value != DType::F8E8M0FNU);
                   })
      .def("to_real", &real_part, "The dtype of a complex number's parts; itself otherwise.")
      .def("to_complex", &complex_of, "The complex dtype of numbers of this one.")
      .def("__repr__",
           [](const PyDType& d) {
             return nb::str(fmt::format("{}.{}", print_options().module, d.name()).c_str());
           })
      .def("__reduce__",
           [](const PyDType& d) -> nb::object {
             if (d.foreign)
               return nb::make_tuple(nb::module_::import_("weft").attr("_foreign_dtype"),
                                     nb::make_tuple(d.foreign->name));
             return nb::str(name(d.value).data());
           })
      .def("__copy__", [](nb::object self) { return self; })
      .def("__deepcopy__", [](nb::object self, nb::handle) { return self; });
  dtype.attr("__module__") = "weft";
  for (int i = 0; i < kNumStoredDTypes; ++i) {
    const DType value = static_cast<DType>(i);
    nb::object object = nb::cast(PyDType{value});
    g_dtypes[static_cast<size_t>(i)] = object.inc_ref().ptr();
    m.attr(name(value).data()) = object;
  }
  for (const auto& [alias, value] : kDtypeAliases) m.attr(alias) = to_python(value);
  m.def("_foreign_dtype", [](const std::string& name) { return foreign_dtype(name); }, nb::arg("name"));
  m.def(
      "get_default_dtype", [] { return to_python(default_float()); },
      "The dtype of tensors that are made of Python's floats; float32 until it is set.");
  m.def(
      "set_default_dtype",
      [](nb::handle object) {
        const DType given = dtype_of_python(object);
        WEFT_CHECK_TYPE(
            is_floating(given),
            fmt::format("set_default_dtype: expected a floating-point dtype, got {}", name(given)));
        set_default_float(given);
      },
      nb::arg("d"), "Sets it, for the whole process.");
  m.def(
      "_autocast",
      [] {
        const ops::Autocast state = ops::autocast();
        return nb::make_tuple(state.enabled, to_python(state.dtype), state.keeps_casts);
      },
      "Of this thread, on the CPU: whether operators cast, the dtype of products, whether casts are to be "
      "kept.");
  m.def(
      "_set_autocast",
      [](bool enabled, nb::handle dtype, bool keeps_casts) {
        ops::set_autocast({enabled, dtype_of_python(dtype), keeps_casts});
      },
      nb::arg("enabled"), nb::arg("dtype"), nb::arg("keeps_casts"));
  m.def(
      "_grad_mode",
      [] {
        const GradMode mode = grad_mode();
        return nb::make_tuple(mode.grad, mode.inference);
      },
      "Of this thread: whether gradients are enabled, whether in inference mode.");
  m.def(
      "_set_grad_mode", [](bool grad, bool inference) { set_grad_mode({grad, inference}); }, nb::arg("grad"),
      nb::arg("inference"));

  nb::class_<Device> device(
      m, "device",
      "Where a tensor's elements live: device('cpu'), device('cuda', 1), device('meta').\n\n"
      "In a with statement: where what is made inside lives, and the arrays of compiled NumPy functions that "
      "are\n"
      "called inside. On 'meta' these compute no element: shapes and dtypes come out, as weft tensors on "
      "'meta'.");
  device
      .def(
          "__init__",
          [](Device* self, nb::handle type, nb::object index) {
            Device parsed = device_of_python(type);
            if (!index.is_none()) {
              WEFT_CHECK_TYPE(PyUnicode_Check(type.ptr()) && PyLong_Check(index.ptr()),
                              fmt::format("device: expected a str and an int, got {} and {}",
                                          Py_TYPE(type.ptr())->tp_name, Py_TYPE(index.ptr())->tp_name));
              parsed = Device::parse(fmt::format("{}:{}", text_view(type), repr_text(index)));
            }
            new (self) Device(parsed);
          },
          nb::arg("type"), nb::arg("index") = nb::none())
      .def_prop_ro("type", [](const Device& d) { return nb::str(d.name().data(), d.name().size()); })
      .def_prop_ro(
          "index",
          [](const Device& d) -> nb::object { return d.is_numbered() ? nb::cast(d.index) : nb::none(); })
      .def("__str__", [](const Device& d) { return nb::str(d.str().c_str()); })
      .def("__repr__",
           [](const Device& d) {
             return nb::str(d.is_numbered()
                                ? fmt::format("device(type='{}', index={})", d.name(), d.index).c_str()
                                : fmt::format("device(type='{}')", d.str()).c_str());
           })
      .def(
          "__eq__",
          [](const Device& d, nb::handle other) {
            return nb::isinstance<Device>(other) && d == nb::cast<Device>(other);
          },
          nb::arg().none())
      .def("__hash__", [](const Device& d) { return nb::hash(nb::str(d.str().c_str())); })
      .def("__enter__",
           [](nb::object self) {
             entered_devices.push_back(nb::cast<Device>(self));
             return self;
           })
      .def("__exit__",
           [](nb::handle, nb::args) {
             if (!entered_devices.empty()) entered_devices.pop_back();
           })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(nb::str(nb::cast<Device>(self).str().c_str())));
      });
  device.attr("__module__") = "weft";
  m.def(
      "_set_default_device",
      [](nb::handle object) {
        const Device given = device_of_python(object);
        require_available(given);
        usual_device = given;
      },
      nb::arg("device").none());
  m.def(
      "get_default_device", [] { return default_device(); }, "Where tensors are made unless told otherwise.");
}

}  // namespace weft::python
