// Operators on NumPy arrays, called by name: what runs between two segments.
#include "capture/objects/array_operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/objects/numpy_api.h"
#include "capture/objects/release.h"
#include "op_arguments.h"
#include "ops/registry.h"
#include "weft/error.h"

namespace weft::capture {
namespace {

ops::Attr attribute(PyObject* name, PyObject* value) {
  if (value == Py_None) return {};
  if (PyBool_Check(value)) return value == Py_True;
  if (PyFloat_Check(value)) return PyFloat_AS_DOUBLE(value);
  if (PyUnicode_Check(value)) {
    const char* text = PyUnicode_AsUTF8(value);
    if (!text) throw PythonError{};
    return std::string(text);
  }
  const Ref index = Ref::steal(PyNumber_Index(value));
  if (!index) {
    PyErr_Format(PyExc_TypeError, "attribute '%U': expected None, a bool, a number or a string, got %s", name,
                 Py_TYPE(value)->tp_name);
    throw PythonError{};
  }
  const long long number = PyLong_AsLongLong(index.get());
  if (number == -1 && PyErr_Occurred()) throw PythonError{};
  return Sym(static_cast<int64_t>(number));
}

// The array in C order; a copy where it is not.
Ref in_c_order(PyObject* object) {
  Ref array = checked(PyArray_FROM_OF(object, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED));
  auto* descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.get()));
  if (!dtype_of_descr(descr)) {
    PyErr_Format(PyExc_TypeError, "expected an array of numbers or bool, got dtype %R", descr);
    throw PythonError{};
  }
  return array;
}

std::vector<Tensor> run(const ops::OpDef& op, const std::vector<Tensor>& operands, ops::Attrs attrs) {
  try {
    const LockRelease release(operands);
    return ops::call(op, {operands, std::move(attrs)});
  } catch (const runtime::Interrupted&) {
    throw PythonError{};
  }
}

// The operands' memory is NumPy's, which a result must not keep.
Ref result_array(const Tensor& result, const std::vector<Tensor>& operands) {
  const bool is_operand = std::any_of(operands.begin(), operands.end(), [&](const Tensor& operand) {
    return operand.storage() == result.storage();
  });
  return make_array(is_operand ? result.clone() : result.contiguous(), nullptr);
}

Ref call_operator(PyObject* const* args, size_t num_args, PyObject* names) {
  if (num_args == 0 || !PyUnicode_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "expected an operator's name and arrays");
    throw PythonError{};
  }
  const char* name = PyUnicode_AsUTF8(args[0]);
  if (!name) throw PythonError{};
  const ops::OpDef* op = ops::find_op(name);
  WEFT_CHECK(op, fmt::format("no operator '{}'", name));
  std::vector<Ref> arrays;
  std::vector<Tensor> operands;
  for (size_t i = 1; i < num_args; ++i) {
    arrays.push_back(in_c_order(args[i]));
    operands.push_back(borrow_array(reinterpret_cast<PyArrayObject*>(arrays.back().get())));
  }
  ops::Attrs attrs;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* key = PyTuple_GET_ITEM(names, i);
    const char* given = PyUnicode_AsUTF8(key);
    if (!given) throw PythonError{};
    const ops::Param* param = op->find_param(given);
    WEFT_CHECK_TYPE(param,
                    fmt::format("{}: unexpected argument '{}'\n  {}{}", name, given, name, op->schema));
    attrs.set(param->name, attribute(key, args[num_args + static_cast<size_t>(i)]));
  }
  const std::vector<Tensor> results = run(*op, operands, std::move(attrs));
  if (op->num_outputs == 1) return result_array(results[0], operands);
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), result_array(results[i], operands).release());
  return tuple;
}

}  // namespace

PyObject* array_operator(PyObject*, PyObject* const* args, Py_ssize_t num_args, PyObject* names) {
  try {
    return call_operator(args, static_cast<size_t>(num_args), names).release();
  } catch (const PythonError&) {
  } catch (const Error& error) {
    python::set_error(error, Promotion::NumPy);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace weft::capture
