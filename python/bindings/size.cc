// weft.Size: the tuple of a tensor's sizes, as PyTorch has it.
#include <fmt/format.h>

#include "bindings.h"
#include "core/print_options.h"
#include "errors.h"

namespace weft::python {

PyTypeObject* size_type = nullptr;

namespace {

// The items of a tuple as a Size; takes the reference.
PyObject* as_size(PyObject* tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  PyObject* const size = size_type->tp_alloc(size_type, count);
  for (Py_ssize_t i = 0; size && i < count; ++i)
    PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  Py_DECREF(tuple);
  return size;
}

// True is 1.
PyObject* plain_int(PyObject* item) {
  const nb::object number = nb::steal(PyNumber_Index(item));
  return number.is_valid() ? PyNumber_Add(number.ptr(), nb::int_(0).ptr()) : nullptr;
}

PyObject* new_size(PyTypeObject*, PyObject* args, PyObject* keywords) {
  PyObject* const size = PyTuple_Type.tp_new(size_type, args, keywords);
  for (Py_ssize_t i = 0; size && i < PyTuple_GET_SIZE(size); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(size, i);
    if (PyLong_CheckExact(item) || symbolic_int(item)) continue;
    PyObject* const number = PyIndex_Check(item) ? plain_int(item) : nullptr;
    if (!number) {
      if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "Size: expected an iterable of ints, but item %zd is of type %s", i,
                     Py_TYPE(item)->tp_name);
      Py_DECREF(size);
      return nullptr;
    }
    PyTuple_SET_ITEM(size, i, number);
    Py_DECREF(item);
  }
  return size;
}

PyObject* repr_size(PyObject* self) {
  std::string text;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    try {
      text += fmt::format("{}{}", i ? ", " : "", repr_text(PyTuple_GET_ITEM(self, i)));
    } catch (nb::python_error& error) {
      error.restore();
      return nullptr;
    }
  }
  return PyUnicode_FromString(fmt::format("{}.Size([{}])", print_options().module, text).c_str());
}

PyObject* subscript(PyObject* self, PyObject* key) {
  PyObject* const found = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? as_size(found) : found;
}

// tuple + size, too.
PyObject* concatenate(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a)) return Py_NewRef(Py_NotImplemented);
  if (!PyTuple_Check(b))
    return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to Size", Py_TYPE(b)->tp_name);
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}

PyObject* repeat(PyObject* self, Py_ssize_t count) {
  PyObject* const found = PyTuple_Type.tp_as_sequence->sq_repeat(self, count);
  return found == self ? found : as_size(found);
}

PyObject* numel_of_size(PyObject* self, PyObject*) {
  PyObject* product = PyLong_FromLong(1);
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* const next = PyNumber_Multiply(product, PyTuple_GET_ITEM(self, i));
    Py_DECREF(product);
    product = next;
  }
  return product;
}

PyObject* reduce_size(PyObject* self, PyObject*) {
  PyObject* const items = PyTuple_New(PyTuple_GET_SIZE(self));
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(self); ++i)
    PyTuple_SET_ITEM(items, i, Py_NewRef(PyTuple_GET_ITEM(self, i)));
  return items ? Py_BuildValue("(O(N))", size_type, items) : nullptr;
}

PyMethodDef kSizeMethods[] = {
    {"numel", numel_of_size, METH_NOARGS, "The product of the sizes: how many elements they hold."},
    {"__reduce__", reduce_size, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kSizeSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_size)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_size)},
    {Py_tp_methods, kSizeMethods},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_nb_add, reinterpret_cast<void*>(concatenate)},
    {Py_sq_concat, reinterpret_cast<void*>(concatenate)},
    {Py_sq_repeat, reinterpret_cast<void*>(repeat)},
    {0, nullptr},
};
PyType_Spec kSizeSpec = {"weft.Size", 0, 0, Py_TPFLAGS_DEFAULT, kSizeSlots};

}  // namespace

nb::object size_object(const Shape& shape) {
  PyObject* const size = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(shape.size()));
  if (!size) nb::raise_python_error();
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(size, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return nb::steal(size);
}

void bind_size(nb::module_& m) {
  const nb::object bases = nb::steal(PyTuple_Pack(1, &PyTuple_Type));
  size_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&kSizeSpec, bases.ptr()));
  if (!size_type) nb::raise_python_error();
  m.attr("Size") = nb::borrow(reinterpret_cast<PyObject*>(size_type));
}

}  // namespace weft::python
