// weft.config.numpy_default_float: where NumPy makes float64 of what is not float64, compiled functions make
// float32.
#include "capture/evaluate/evaluator.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"

namespace weft::capture {

namespace {

bool is_wide(DType dtype) { return dtype == DType::F64 || dtype == DType::C128; }

// A dtype, or what NumPy takes for one.
bool names_dtype(PyObject* object) {
  if (PyObject_TypeCheck(object, &PyArrayDescr_Type) || PyType_Check(object)) return true;
  if (!PyUnicode_Check(object)) return false;
  PyArray_Descr* descr = nullptr;
  const bool is_dtype = PyArray_DescrConverter(object, &descr) == NPY_SUCCEED;
  PyErr_Clear();
  Py_XDECREF(descr);
  return is_dtype;
}

// Does the argument say that the result is float64: an array of it, or a dtype?
bool asks_for_its_dtype(Evaluator& ev, const V& argument) {
  if (!argument) return false;
  ev.realize(argument);
  switch (argument->kind) {
    case Kind::Array: return is_wide(argument->tensor.dtype());
    case Kind::Const: return names_dtype(argument->object.get());
    case Kind::Tuple:
    case Kind::List:
      return std::any_of(argument->items.begin(), argument->items.end(),
                         [&](const V& item) { return asks_for_its_dtype(ev, item); });
    default: return false;
  }
}

V narrowed(const V& value) {
  if (!value) return value;
  if (value->kind == Kind::Tuple || value->kind == Kind::List) {
    for (V& item : value->items) item = narrowed(item);
    return value;
  }
  if (value->kind != Kind::Array || !is_wide(value->tensor.dtype())) return value;
  const DType dtype = is_complex(value->tensor.dtype()) ? DType::C64 : DType::F32;
  V result = array_value(ops::call1("cast", {value->tensor}, {{"dtype", dtype}}), value->flavor);
  return laid_out(result, value->order);
}

}  // namespace

V Evaluator::with_default_float(V result, const CallArgs& args) {
  if (settings_.default_float == DType::F64 || !result) return result;
  const auto asks = [&](const V& argument) { return asks_for_its_dtype(*this, argument); };
  if (std::any_of(args.args.begin(), args.args.end(), asks)) return result;
  for (const auto& [name, argument] : args.keywords)
    if (asks(argument)) return result;
  return narrowed(result);
}

}  // namespace weft::capture
