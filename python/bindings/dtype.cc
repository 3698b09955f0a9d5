// weft.dtype and weft.device.
#include <fmt/format.h>

#include <array>

#include "bindings.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "errors.h"
#include "weft/error.h"

namespace weft::python {

namespace {

struct PyDType {
  DType value;
};

// The dtype objects are immortal: there is one per dtype, and `is` compares them.
std::array<PyObject*, kNumDTypes> g_dtypes;

constexpr std::pair<const char*, DType> kDtypeAliases[] = {
    {"half", DType::F16}, {"float", DType::F32}, {"double", DType::F64}, {"short", DType::I16},
    {"int", DType::I32},  {"long", DType::I64},  {"cfloat", DType::C64}, {"cdouble", DType::C128},
};

}  // namespace

nb::object to_python(DType dtype) { return nb::borrow(g_dtypes[static_cast<size_t>(dtype)]); }

DType dtype_of_python(nb::handle object) {
  if (nb::isinstance<PyDType>(object)) return nb::cast<PyDType&>(object).value;
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
  throw_error(ErrorKind::Type,
              fmt::format("device: expected a weft.device or a string, got {}", repr_text(object)));
}

namespace {

thread_local std::vector<Device> entered_devices;

}  // namespace

Device default_device() { return entered_devices.empty() ? Device{} : entered_devices.back(); }

void bind_dtypes(nb::module_& m) {
  nb::class_<PyDType> dtype(m, "dtype",
                            "The type of a tensor's elements; there is one object for each type.");
  dtype.def_prop_ro(
           "itemsize", [](const PyDType& d) { return itemsize(d.value); }, "Bytes per element.")
      .def_prop_ro("is_floating_point", [](const PyDType& d) { return is_floating(d.value); })
      .def_prop_ro("is_complex", [](const PyDType& d) { return is_complex(d.value); })
      .def_prop_ro("is_signed", [](const PyDType& d) { return is_signed(d.value); })
      .def("to_real", [](const PyDType& d) { return to_python(real_dtype(d.value)); })
      .def("__repr__",
           [](const PyDType& d) { return nb::str(fmt::format("weft.{}", name(d.value)).c_str()); })
      .def("__reduce__", [](const PyDType& d) { return nb::str(name(d.value).data()); })
      .def("__copy__", [](nb::object self) { return self; })
      .def("__deepcopy__", [](nb::object self, nb::handle) { return self; });
  dtype.attr("__module__") = "weft";
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType value = static_cast<DType>(i);
    nb::object object = nb::cast(PyDType{value});
    g_dtypes[static_cast<size_t>(i)] = object.inc_ref().ptr();
    m.attr(name(value).data()) = object;
  }
  for (const auto& [alias, value] : kDtypeAliases) m.attr(alias) = to_python(value);

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
      .def("__hash__", [](const Device& d) { return static_cast<int>(d.type) * 1000 + d.index; })
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
}

}  // namespace weft::python
