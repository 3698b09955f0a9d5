// What a loop sees of a real frame.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "capture/guards/guards.h"
#include "capture/loops/loops.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr size_t kMaxTupleItems = 16;  // of a tuple
constexpr int64_t kLimit = 1L << 61;   // of what ranges count

void append_array_key(const LoopArray& array, std::string& key) {
  const int64_t words[] = {static_cast<int64_t>(array.dtype), array.dim, static_cast<int64_t>(array.unit),
                           array.writable};
  key.append(reinterpret_cast<const char*>(words), sizeof words);
}

}  // namespace

LoopEntry::LoopEntry(const Frame& frame, const std::set<int>& mixed, bool any_step) {
  LoopFrame read;
  read.code = frame.code;
  read.globals = frame.globals.get();
  read.builtins = frame.builtins.get();
  read.ip = frame.ip;
  read.on_return = frame.on_return;
  find_lists(frame, mixed);
  globals_ = read.globals;
  for (size_t i = 0; i < frame.locals.size(); ++i) {
    const bool live = frame.code->is_live(frame.ip, static_cast<int>(i)) ||
                      (frame.locals[i] && PyCell_Check(frame.locals[i].get()));
    read.locals.push_back(live ? classify(frame.locals[i].get()) : LoopValue());
  }
  if (frame.extra) read.extra = object(frame.extra.get());
  read_attributes(read);
  for (const Ref& value : frame.stack) {
    LoopValue null;
    null.kind = LoopKind::Null;
    read.stack.push_back(value ? classify(value.get()) : null);
  }
  if (!read.stack.empty() && read.stack.back().kind == LoopKind::RangeIter &&
      read.stack.back().items.size() == 3) {
    LoopValue& it = read.stack.back().items[2];
    step = *it.known;
    if (any_step) it = integer(step);
  }
  frames.push_back(std::move(read));
  append_key(frames, key);
  for (const LoopArray& array : arrays) append_array_key(array, key);
  for (const auto& [number, type] : of_objects.classes)
    key += fmt::format("{} {};", number, static_cast<const void*>(type.get()));
  for (const LoopAttribute& attribute : of_objects.attributes)
    key += fmt::format("{} {} {};", attribute.object, attribute.is_of_class, utf8(attribute.name.get()));
  for (size_t i = 0; i < lists.size(); ++i) {
    array_words.push_back(reinterpret_cast<int64_t>(lists[i].items.get()));
    for (const LoopValue& type : of_objects.item_types[i]) append_key(type, key);
    key += ';';
  }
}

bool LoopEntry::mixes_types() const {
  for (size_t a = 0; a < arrays.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (arrays[a].dtype != arrays[b].dtype && PyArray_Check(array_objects[a].get()) &&
          PyArray_Check(array_objects[b].get()) &&
          arrays_overlap(array_objects[a].get(), array_objects[b].get()))
        return true;
  return false;
}

LoopValue LoopEntry::object(PyObject* o) {
  LoopValue value;
  value.kind = LoopKind::Object;
  value.index = static_cast<int>(objects.size());
  for (size_t i = 0; i < objects.size(); ++i)
    if (objects[i].get() == o) value.index = static_cast<int>(i);
  if (value.index == static_cast<int>(objects.size())) objects.push_back(Ref::borrow(o));
  return value;
}

LoopValue LoopEntry::integer(int64_t number) {
  words.push_back(number);
  return loop_int("", number >= 0);
}

LoopValue LoopEntry::complex_number(bool of_numpy, std::complex<double> number) {
  words.push_back(std::bit_cast<int64_t>(number.real()));
  words.push_back(std::bit_cast<int64_t>(number.imag()));
  return loop_complex(of_numpy, "", "");
}

// Was the function made by the frame's function or one around it, with nothing but its variables?
bool LoopEntry::is_nested(PyObject* o) const {
  const auto* function = reinterpret_cast<const PyFunctionObject*>(o);
  const auto* code = reinterpret_cast<const PyCodeObject*>(function->func_code);
  return (code->co_flags & CO_NESTED) && function->func_globals == globals_ && !function->func_defaults &&
         !function->func_kwdefaults;
}

LoopValue LoopEntry::function(PyObject* o) {
  // One that holds itself.
  if (std::find(functions_.begin(), functions_.end(), o) != functions_.end()) return object(o);
  const auto* function = reinterpret_cast<const PyFunctionObject*>(o);
  LoopValue value = object(o);
  value.kind = LoopKind::Function;
  value.object = function->func_code;
  functions_.push_back(o);
  for (Py_ssize_t i = 0; function->func_closure && i < PyTuple_GET_SIZE(function->func_closure); ++i)
    value.items.push_back(classify(PyTuple_GET_ITEM(function->func_closure, i)));
  functions_.pop_back();
  return value;
}

LoopValue LoopEntry::classify(PyObject* o) {
  if (!o) return {};
  if (PyBool_Check(o)) return words.push_back(o == Py_True), loop_bool("");
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow ? object(o) : integer(number);
  }
  if (PyFloat_CheckExact(o))
    return words.push_back(std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(o))), loop_float("");
  if (PyComplex_CheckExact(o))
    return complex_number(false, {PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)});
  if (PyArray_CheckExact(o)) return array(o);
  if (PyObject_TypeCheck(o, &PyGenericArrType_Type)) return numpy_scalar(o);
  if (PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) <= static_cast<Py_ssize_t>(kMaxTupleItems)) {
    std::vector<LoopValue> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) items.push_back(classify(PyTuple_GET_ITEM(o, i)));
    return loop_tuple(std::move(items));
  }
  if (Py_TYPE(o) == &PyRangeIter_Type) return range_iterator(o);
  if (PyIter_Check(o)) return iterator(o);
  if (PyList_CheckExact(o)) return vector(o);
  if (PyCell_Check(o)) {
    LoopValue cell = this->object(o);
    cell.kind = LoopKind::Cell;
    cell.items = {classify(PyCell_GET(o))};  // Unbound where it is empty
    return cell;
  }
  if (PyFunction_Check(o) && is_nested(o)) return function(o);
  if (o == Py_None || PyFunction_Check(o) || PyCFunction_Check(o) || PyType_Check(o) || PyModule_Check(o) ||
      std::string_view(Py_TYPE(o)->tp_name) == "numpy.ufunc")
    return loop_const(o);
  return object(o);
}

LoopValue LoopEntry::numpy_scalar(PyObject* o) {
  Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(o)));
  PyErr_Clear();
  if (!descr) return object(o);
  auto* const array_descr = reinterpret_cast<PyArray_Descr*>(descr.get());
  const std::optional<DType> dtype = dtype_of_descr(array_descr);
  if (!dtype || !is_element_dtype(*dtype) || array_descr->type_num != type_number(*dtype) ||
      Py_TYPE(o) != array_descr->typeobj)
    return object(o);
  const Scalar value = scalar_tensor(o, *dtype).item();
  if (*dtype == DType::C128) return complex_number(true, value.to_complex());
  words.push_back(is_floating(*dtype) ? std::bit_cast<int64_t>(value.to_double()) : value.to_int());
  return loop_numpy(*dtype, "");
}

LoopValue LoopEntry::range_iterator(PyObject* o) {
  // The loop goes on with an iterator of its own: nobody else may hold this one.
  if (Py_REFCNT(o) != 1) return object(o);
  Ref parts = checked(PyObject_CallMethod(o, "__reduce__", nullptr));
  PyObject* range = PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0);
  const int64_t index = PyTuple_GET_SIZE(parts.get()) > 2 && PyLong_Check(PyTuple_GET_ITEM(parts.get(), 2))
                            ? PyLong_AsLongLong(PyTuple_GET_ITEM(parts.get(), 2))
                            : 0;
  int64_t bounds[3];
  const char* names[] = {"start", "stop", "step"};
  for (int i = 0; i < 3; ++i) {
    Ref part = checked(PyObject_GetAttrString(range, names[i]));
    int overflow = 0;
    bounds[i] = PyLong_AsLongLongAndOverflow(part.get(), &overflow);
    if (overflow || bounds[i] < -kLimit || bounds[i] > kLimit) return object(o);
  }
  LoopValue iterator;
  iterator.kind = LoopKind::RangeIter;
  iterator.items = {integer(bounds[0] + index * bounds[2]), integer(bounds[1]), loop_known_int(bounds[2])};
  return iterator;
}

LoopValue LoopEntry::array(PyObject* o) {
  auto* a = reinterpret_cast<PyArrayObject*>(o);
  const auto dtype = dtype_of_descr(PyArray_DESCR(a));
  const int64_t item = PyArray_ITEMSIZE(a);
  // A second type of the same size (long long) has scalars of its own.
  bool usable = dtype && is_element_dtype(*dtype) && PyArray_DESCR(a)->type_num == type_number(*dtype) &&
                PyArray_ISNBO(PyArray_DESCR(a)->byteorder) && PyArray_ISALIGNED(a) && PyArray_NDIM(a) > 0;
  for (int d = 0; d < PyArray_NDIM(a); ++d) usable = usable && PyArray_STRIDE(a, d) % item == 0;
  if (!usable) return object(o);
  LoopValue value;
  value.kind = LoopKind::Array;
  value.dtype = *dtype;
  for (size_t i = 0; i < array_objects.size(); ++i)
    if (array_objects[i].get() == o) value.index = static_cast<int>(i);
  if (value.index >= 0) return value;
  value.index = static_cast<int>(arrays.size());
  LoopArray described{*dtype, PyArray_NDIM(a), 0, PyArray_ISWRITEABLE(a) != 0};
  array_words.push_back(reinterpret_cast<int64_t>(PyArray_DATA(a)));
  for (int d = 0; d < described.dim; ++d) array_words.push_back(PyArray_DIM(a, d));
  for (int d = 0; d < described.dim; ++d) {
    const int64_t stride = PyArray_STRIDE(a, d) / item;
    array_words.push_back(stride);
    // Only the last dimension, or the first of an array in Fortran order: one code for all sizes.
    if (stride == 1 && (d == described.dim - 1 || d == 0)) described.unit |= uint64_t{1} << d;
  }
  arrays.push_back(std::move(described));
  array_objects.push_back(Ref::borrow(o));
  return value;
}

}  // namespace weft::capture
