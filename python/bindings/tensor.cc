// weft.Tensor: attributes, elements and the protocols of Python. Operators come from the table; what moves
// and converts: tensor_conversions.cc.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "array.h"
#include "bindings.h"
#include "core/backend.h"
#include "core/distinct_elements.h"
#include "core/memory_watch.h"
#include "core/print_options.h"
#include "core/quantized.h"
#include "jit_trace.h"
#include "memory_format.h"
#include "ops/build.h"
#include "ops/torch_rules.h"
#include "ops/view.h"
#include "requires_grad.h"
#include "tensor_class.h"
#include "tensor_forms.h"
#include "weft/error.h"

namespace weft::python {

nb::object to_python(const Tensor& tensor) {
  if (!tensor.defined()) return nb::none();
  return nb::cast(tensor);
}

const Tensor* tensor_of_python(nb::handle object) {
  if (!nb::isinstance<Tensor>(object)) return nullptr;
  return nb::inst_ptr<Tensor>(object);
}

namespace {

template <class T>
constexpr Promotion rules_of_class() {
  return std::is_same_v<T, Array> ? Promotion::NumPy : Promotion::Torch;
}

nb::tuple tuple_of(const std::vector<int64_t>& values) {
  nb::list list;
  for (const int64_t value : values) list.append(value);
  return nb::tuple(list);
}

// Another tensor object over the same view.
Tensor alias(const Tensor& tensor) {
  return tensor.is_traced() ? tensor : tensor.as_strided(tensor.shape(), tensor.strides(), tensor.offset());
}

Tensor reversed(const Tensor& tensor, size_t first, size_t last) {
  if (tensor.is_traced()) {
    std::vector<int64_t> order;
    for (size_t d = 0; d < static_cast<size_t>(tensor.dim()); ++d)
      order.push_back(static_cast<int64_t>(d < first || d >= last ? d : first + last - 1 - d));
    return ops::build::permute(tensor, order);
  }
  Shape shape = tensor.shape();
  Strides strides = tensor.strides();
  std::reverse(shape.begin() + static_cast<std::ptrdiff_t>(first),
               shape.begin() + static_cast<std::ptrdiff_t>(last));
  std::reverse(strides.begin() + static_cast<std::ptrdiff_t>(first),
               strides.begin() + static_cast<std::ptrdiff_t>(last));
  return tensor.as_strided(std::move(shape), std::move(strides), tensor.offset());
}

size_t axis_of(const Tensor& tensor, int64_t d, const char* what) {
  WEFT_CHECK_INDEX(d >= -tensor.dim() && d < tensor.dim(),
                   fmt::format("{}: dimension {} is out of range for {}", what, d, describe(tensor)));
  return static_cast<size_t>(d < 0 ? d + tensor.dim() : d);
}

nb::object part(nb::handle self, const char* name) {
  const Tensor& tensor = own<Tensor>(self);
  if (!is_array(self.ptr()) && !trace_handler && !is_complex(tensor.dtype())) {
    if (std::string_view(name) == "real") return nb::borrow(self);
    throw_error(ErrorKind::Type, fmt::format("imag: expected complex numbers, got {}", describe(tensor)));
  }
  if (is_complex(tensor.dtype()) && !trace_handler) {
    const Tensor view = ops::memory_part(name, tensor, real_dtype(tensor.dtype()));
    return to_python(view, is_array(self.ptr()) ? Promotion::NumPy : Promotion::Torch);
  }
  return nb::module_::import_("weft._C").attr(name)(self);
}

void set_part(nb::handle self, const char* name, nb::handle value) {
  nb::object parts = part(self, name);
  set_item(*tensor_of_python(parts), nb::ellipsis(), value, Promotion::NumPy);
}

nb::object repr_tensor(nb::handle self) {
  const Tensor& tensor = own<Tensor>(self);
  if (tensor.is_traced())  // whoever captures leaves the text to Python
    throw_error(ErrorKind::Runtime, fmt::format("repr: {} is traced: it has no elements yet that could be "
                                                "written down",
                                                describe(tensor)));
  PyTypeObject* const type = Py_TYPE(self.ptr());
  const std::string_view full = type->tp_name;
  const bool is_own = is_array(self.ptr()) ||
                      nb::type<Tensor>().is(nb::handle(reinterpret_cast<PyObject*>(type))) ||
                      PyObject_HasAttrString(self.ptr(), "_is_module_tensor");
  const bool flag = nb::cast<bool>(self.attr("requires_grad"));
  return nb::str(str(tensor, is_own ? "tensor" : full.substr(full.rfind('.') + 1), flag).c_str());
}

// Of one element, in the process's memory.
Tensor single_on_host(const Tensor& tensor, const char* what) {
  Tensor here = on_host(tensor, what);
  WEFT_CHECK(here.numel() == 1,
             fmt::format("{}: expected a tensor of one element, got {}", what, describe(tensor)));
  return here;
}

Scalar single(const Tensor& tensor, const char* what) { return single_on_host(tensor, what).item(); }

nb::object item(const Tensor& tensor) {
  const Tensor here = single_on_host(tensor, "item");
  if (here.is_traced()) here.item();  // says why not
  if (is_quantized(here.dtype())) return item(dequantize(here));
  return element_to_python(here.dtype(), here.data());
}

// NumPy's protocol: copy=None copies only where the dtype asks for it, False refuses to, True always does.
nb::object array_protocol(const Tensor& tensor, nb::handle dtype, nb::handle copy) {
  nb::object array = to_numpy(tensor);
  const bool convert =
      !dtype.is_none() && !array.attr("dtype").equal(nb::module_::import_("numpy").attr("dtype")(dtype));
  if (!copy.is_none() && !nb::cast<bool>(copy)) {
    WEFT_CHECK(!convert, "__array__: a copy is needed to change the dtype, and copy=False forbids it");
    return array;
  }
  if (convert) return array.attr("astype")(dtype);
  return copy.is_none() ? array : array.attr("copy")();
}

// Pickles hold dtype, shape and the elements in C order.
nb::object reduce_tensor(const Tensor& tensor) {
  const bool has_elements = has_memory(tensor.device());
  const Tensor dense = has_elements ? tensor.to(Device()).contiguous() : tensor;
  const size_t nbytes =
      !has_elements ? 0 : static_cast<size_t>(dense.numel()) * static_cast<size_t>(itemsize(dense.dtype()));
  return nb::make_tuple(
      nb::module_::import_("weft").attr("_rebuild_tensor"),
      nb::make_tuple(to_python(dense.dtype()), tuple_of(dense.shape()), nb::cast(tensor.device()),
                     nb::bytes(has_elements ? dense.data() : "", nbytes)));
}

Tensor rebuild(nb::handle dtype, nb::handle shape, Device device, nb::bytes data) {
  const Tensor tensor = Tensor::empty(shape_of_python(shape, "pickle"), dtype_of_python(dtype));
  if (!has_memory(device)) return tensor.to(device);
  const size_t nbytes = static_cast<size_t>(tensor.numel()) * static_cast<size_t>(itemsize(tensor.dtype()));
  WEFT_CHECK(data.size() == nbytes,
             fmt::format("pickle: expected {} bytes of elements, got {}", nbytes, data.size()));
  std::memcpy(tensor.data(), data.c_str(), nbytes);
  return tensor.to(device);
}

template <class T>
nb::object iterate(const T& tensor) {
  WEFT_CHECK_TYPE(tensor.dim() > 0, "iteration over a 0-d tensor");
  nb::list rows;
  for (int64_t i = 0; i < tensor.shape()[0]; ++i) rows.append(nb::cast(T(get_item(tensor, nb::int_(i)))));
  return nb::steal(PyObject_GetIter(rows.ptr()));
}

nb::object format_tensor(nb::handle self, nb::str specification) {
  const Tensor& tensor = own<Tensor>(self);
  if (tensor.dim() > 0) {
    WEFT_CHECK_TYPE(nb::len(specification) == 0 || is_array(self.ptr()),
                    fmt::format("format: '{}' formats one number, not {}",
                                nb::cast<std::string>(specification), describe(tensor)));
    return nb::steal(PyObject_Format(nb::str(self).ptr(), specification.ptr()));
  }
  nb::object result = nb::steal(PyObject_Format(item(tensor).ptr(), specification.ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

void bind_attributes(nb::class_<Tensor>& c) {
  c.def_prop_ro(
       "shape", [](const Tensor& t) { return size_object(t.shape()); }, "Sizes, as a weft.Size.")
      .def_prop_ro("dtype", [](const Tensor& t) { return to_python(t.dtype()); })
      .def_prop_ro("device", [](const Tensor& t) { return t.device(); })
      .def_prop_ro("ndim", [](const Tensor& t) { return t.dim(); })
      .def_prop_ro("itemsize", [](const Tensor& t) { return itemsize(t.dtype()); })
      .def_prop_ro(
          "nbytes", [](const Tensor& t) { return t.numel() * itemsize(t.dtype()); }, "Bytes of the elements.")
      .def_prop_rw(
          "real", [](nb::handle self) { return part(self, "real"); },
          [](nb::handle self, nb::handle value) { set_part(self, "real", value); })
      .def_prop_rw(
          "imag", [](nb::handle self) { return part(self, "imag"); },
          [](nb::handle self, nb::handle value) { set_part(self, "imag", value); })
      .def_prop_rw(
          "data", [](const Tensor& t) { return alias(t); },
          [](nb::handle self, const Tensor& value) { const_cast<Tensor&>(own<Tensor>(self)) = value; },
          "The tensor without its history; assigned, this object stands for that tensor.")
      .def(
          "_become_",
          [](nb::handle self, const Tensor& other) {
            const_cast<Tensor&>(own<Tensor>(self)) = other;
            return nb::borrow(self);
          },
          nb::arg("other"))
      .def(
          "where",
          [](nb::handle self, nb::handle condition, nb::handle other) {
            return nb::module_::import_("weft._C").attr("where")(condition, self, other);
          },
          nb::arg("condition"), nb::arg("other"), "The tensor where the condition holds, else `other`.")
      .def_prop_ro("is_cuda", [](const Tensor& t) { return t.device().type == DeviceType::CUDA; })
      .def_prop_ro("is_meta", [](const Tensor& t) { return t.device().type == DeviceType::Meta; })
      .def_prop_rw("requires_grad", &requires_grad, &set_requires_grad,
                   "A flag that is kept: weft computes no gradients.")
      .def("dim", [](const Tensor& t) { return t.dim(); })
      .def(
          "numel", [](const Tensor& t) { return t.numel(); }, "Number of elements.")
      .def("nelement", [](const Tensor& t) { return t.numel(); })
      .def(
          "element_size", [](const Tensor& t) { return itemsize(t.dtype()); }, "Bytes per element.")
      .def(
          "_sizes",
          [](const Tensor& t, std::optional<int64_t> dim) -> nb::object {
            if (!dim) return size_object(t.shape());
            return nb::int_(t.size(*dim));
          },
          nb::arg("dim") = nb::none())
      .def_prop_ro(
          "size",
          [](nb::handle self) {
            return nb::module_::import_("weft.numpy._array")
                .attr("Size")(nb::cast<const Tensor&>(self).numel(), self);
          },
          "The number of elements, as the array API has it; called, the sizes or one of them, as PyTorch has "
          "it.")
      .def(
          "stride",
          [](const Tensor& t, std::optional<int64_t> dim) -> nb::object {
            if (!dim) return tuple_of(t.strides());
            return nb::int_(t.strides()[axis_of(t, *dim, "stride")]);
          },
          nb::arg("dim") = nb::none(), "Strides in elements; they may be zero or negative.")
      .def("storage_offset", [](const Tensor& t) { return t.offset(); })
      .def("data_ptr",
           [](const Tensor& t) {
             note_exposed(t.storage());
             return reinterpret_cast<uintptr_t>(t.data());
           })
      .def(
          "is_contiguous",
          [](const Tensor& t, nb::handle format) {
            return lies_in(t, memory_format(format, MemoryFormat::Contiguous));
          },
          nb::arg("memory_format") = nb::none())
      .def("view", &view,
           "The same memory with another shape, or read as another dtype: never a copy.\n"
           "raises: RuntimeError where the strides allow no such view.")
      .def("is_floating_point", [](const Tensor& t) { return is_floating(t.dtype()); })
      .def("is_complex", [](const Tensor& t) { return is_complex(t.dtype()); })
      .def("is_signed", [](const Tensor& t) { return is_signed(t.dtype()); });
}

// What gives tensors of the class that it is called on: T is Tensor or Array.
template <class T, class Class>
void bind_views(Class& c) {
  c.def_prop_ro(
       "T", [](const T& t) { return T(reversed(t, 0, static_cast<size_t>(t.dim()))); },
       "A view with the dimensions reversed.")
      .def_prop_ro(
          "mT",
          [](const T& t) {
            if (t.dim() == 0 && std::is_same_v<T, Tensor>) return t;
            WEFT_CHECK(t.dim() >= 2, fmt::format("mT: expected at least 2 dimensions, got {}", describe(t)));
            const auto ndim = static_cast<size_t>(t.dim());
            return T(reversed(t, ndim - 2, ndim));
          },
          "A view with the last two dimensions swapped.")
      .def("detach", [](const T& t) { return T(t.as_strided(t.shape(), t.strides(), t.offset())); })
      .def("__iter__", &iterate<T>)
      .def(
          "__getitem__",
          [](const T& t, nb::handle index) { return T(get_item(t, index, rules_of_class<T>())); },
          nb::arg("index").none())
      .def("__copy__", [](const T& t) { return T(t.as_strided(t.shape(), t.strides(), t.offset())); })
      .def("__deepcopy__", [](const T& t, nb::dict memo) {
        (void)memo;
        return T(t.clone());
      });
}

void bind_elements(nb::class_<Tensor>& c) {
  c.def(
       "copy_",
       [](nb::object self, nb::handle source, bool non_blocking) {
         (void)non_blocking;
         if (!is_array(self.ptr())) check_distinct_elements(own<Tensor>(self));
         own<Tensor>(self).copy_from(as_tensor(source, std::nullopt));
         return self;
       },
       nb::arg("src"), nb::arg("non_blocking") = false, "Elementwise assignment, broadcast and converted.")
      .def(
          "_overwrite_",
          [](nb::object self, nb::handle source) {
            own<Tensor>(self).copy_from(as_tensor(source, std::nullopt));
            return self;
          },
          "copy_(), also where elements of the tensor share memory.")
      .def(
          "fill_",
          [](nb::object self, nb::handle value) {
            const Tensor* number = tensor_of_python(value);
            WEFT_CHECK(!number || number->dim() == 0 || is_array(self.ptr()),
                       fmt::format("fill_: expected a number, got {}", describe(*number)));
            const Tensor& filled = own<Tensor>(self);
            nb::object part;
            if (const auto scalar = scalar_of_python(value);
                scalar && torch_refuses(Promotion::Torch) && !is_array(self.ptr())) {
              ops::refuse_overflow(*scalar, filled.dtype(), filled.numel() == 1);
              if (filled.dtype() == DType::Bool)
                value = part = nb::bool_(scalar->to_complex() != 0.0);
              else if (scalar->is_complex() && !is_complex(filled.dtype()))
                value = part = value.attr("real");
            }
            set_item(filled, nb::ellipsis(), value, Promotion::NumPy);
            return self;
          },
          nb::arg("value"))
      .def("zero_",
           [](nb::object self) {
             own<Tensor>(self).copy_from(Tensor::scalar(0, DType::I64));
             return self;
           })
      .def("item", &item, "The Python number of a tensor of one element.")
      .def(
          "tolist", [](const Tensor& t) { return to_list(t); }, "Nested lists of Python numbers.")
      .def(
          "numpy", [](const Tensor& t, bool force) { return to_numpy(force ? t.to(Device()) : t); },
          nb::kw_only(), nb::arg("force") = false,
          "A NumPy array over the same memory; force: of another device, a copy.");
}

void bind_protocols(nb::class_<Tensor>& c) {
  c.def("__repr__", &repr_tensor)
      .def("__len__",
           [](const Tensor& t) {
             WEFT_CHECK_TYPE(t.dim() > 0, "len() of a 0-d tensor");
             return t.shape()[0];
           })
      .def(
          "__setitem__",
          [](nb::handle self, nb::handle index, nb::handle value) {
            set_item(own<Tensor>(self), index, value,
                     is_array(self.ptr()) ? Promotion::NumPy : Promotion::Torch);
          },
          nb::arg("index").none(), nb::arg("value").none())
      .def("__bool__",
           [](const Tensor& t) {
             WEFT_CHECK(
                 t.numel() == 1,
                 fmt::format("the truth value of a tensor of {} elements is ambiguous; use .any() or .all()",
                             t.numel()));
             return single(t, "bool").to_bool();
           })
      .def("__float__",
           [](const Tensor& t) {
             WEFT_CHECK(t.numel() == 1,
                        fmt::format("float: expected a tensor of one element, got {}", describe(t)));
             WEFT_CHECK_TYPE(!is_complex(t.dtype()), "float: a complex number has no float value");
             return single(t, "float").to_double();
           })
      .def("__int__",
           [](const Tensor& t) {
             const nb::object value = item(t);
             WEFT_CHECK_TYPE(!is_complex(t.dtype()), "int: a complex number has no int value");
             return nb::steal(PyNumber_Long(value.ptr()));
           })
      .def("__complex__",
           [](const Tensor& t) {
             const auto value = single(t, "complex").to_complex();
             return nb::steal(PyComplex_FromDoubles(value.real(), value.imag()));
           })
      .def("__index__",
           [](const Tensor& t) {
             WEFT_CHECK_TYPE((is_integral(t.dtype()) || t.dtype() == DType::Bool) && t.numel() == 1,
                             fmt::format("index: only integer tensors of one element can be an index, got {}",
                                         describe(t)));
             return nb::steal(PyNumber_Long(item(t).ptr()));
           })
      .def("__format__", &format_tensor)
      .def("__hash__",
           [](nb::handle self) {
             return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self.ptr()) >> 4);
           })
      .def("__reduce__", &reduce_tensor)
      .def("__array__", &array_protocol, nb::arg("dtype") = nb::none(), nb::kw_only(),
           nb::arg("copy") = nb::none())
      .def(
          "__dlpack__",
          [](const Tensor& t, nb::handle stream, nb::handle max_version, nb::handle dl_device,
             nb::handle copy) { return to_dlpack(t, stream, max_version, dl_device, copy); },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack_device__",
           [](const Tensor& t) {
             if (t.device().type == DeviceType::CUDA) return nb::make_tuple(2, t.device().index);
             require_host(t, "__dlpack_device__");
             return nb::make_tuple(1, 0);
           })
      .def_prop_ro(
          "__cuda_array_interface__", &cuda_array_interface,
          "Version 3, of a tensor on a GPU; consumers wait for the stream in it. AttributeError elsewhere.")
      .def(
          "__array_namespace__",
          [](const Tensor&, nb::handle version) {
            return nb::module_::import_("weft.numpy._array").attr("namespace")(version);
          },
          nb::kw_only(), nb::arg("api_version") = nb::none(), "weft.numpy. source: the array API.");
  // NumPy's operators leave mixed expressions to Tensor.
  c.attr("__array_priority__") = 1000;
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor> c(m, "Tensor", nb::type_slots(kBufferSlots), nb::is_weak_referenceable(),
                       nb::dynamic_attr(), "A strided array of numbers: a view of reference-counted memory.");
  c.attr("__module__") = "weft";
  c.def(nb::init<const Tensor&>(), nb::arg("data"), "The same tensor: its memory is shared.");
  c.def(
      "__init__",
      [](Tensor* self, nb::args args, nb::handle device) { new (self) Tensor(of_arguments(args, device)); },
      nb::arg("args"), nb::kw_only(), nb::arg("device") = nb::none(),
      "Sizes give a tensor that is not initialized, a sequence of numbers one of these, in the default "
      "dtype.");
  bind_attributes(c);
  bind_views<Tensor>(c);
  bind_conversions(c);
  bind_elements(c);
  bind_protocols(c);
  m.def("_rebuild_tensor", &rebuild);
}

PyTypeObject* array_type = nullptr;

namespace {

// The device of an array, which equals its name, too: NumPy's arrays have that for it.
struct ArrayDevice : Device {};

void bind_array_device(nb::module_& m) {
  nb::class_<ArrayDevice, Device>(m, "_ArrayDevice")
      .def(
          "__eq__",
          [](const ArrayDevice& d, nb::handle other) {
            if (PyUnicode_Check(other.ptr())) return d.str() == text_view(other);
            return nb::isinstance<Device>(other) && d == nb::cast<Device>(other);
          },
          nb::arg().none());
}

}  // namespace

void bind_array(nb::module_& m) {
  bind_array_device(m);
  nb::class_<Array, Tensor> c(m, "ndarray", nb::is_final(), nb::is_weak_referenceable(),
                              "weft.numpy's arrays: tensors whose operators follow NumPy's promotion and "
                              "give such arrays. Of a Tensor: "
                              "ndarray(x),\nwhich shares its memory; back: Tensor(x).");
  c.attr("__module__") = "weft.numpy";
  c.def(nb::init<const Tensor&>(), nb::arg("data"), "The same tensor: its memory is shared.");
  bind_views<Array>(c);
  bind_conversions(c);
  c.def_prop_ro("shape", [](const Array& x) { return tuple_of(x.shape()); }, "Sizes, as a tuple.");
  c.def_prop_ro("device", [](const Array& x) { return ArrayDevice{x.device()}; });
  c.def("__index__", [](const Array& x) {
    WEFT_CHECK_TYPE(is_integral(x.dtype()) && x.dim() == 0,
                    fmt::format("index: only 0-d arrays of integers can be an index, got {}", describe(x)));
    return nb::steal(PyNumber_Long(item(x).ptr()));
  });
  c.def("__reduce__", [](const Array& x) {
    return nb::make_tuple(nb::module_::import_("weft.numpy").attr("asarray"),
                          nb::make_tuple(to_python(static_cast<const Tensor&>(x))));
  });
  array_type = reinterpret_cast<PyTypeObject*>(c.ptr());
  // Public as weft.numpy.ndarray.
  m.attr("_ndarray") = c;
  nb::delattr(m, "ndarray");
}

}  // namespace weft::python
