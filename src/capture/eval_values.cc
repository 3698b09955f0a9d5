// Finding out what outside objects are, and guarding it.
#include <fmt/format.h>

#include <bit>

#include "capture/builtins.h"
#include "capture/classes.h"
#include "capture/enums.h"
#include "capture/evaluator.h"
#include "capture/named_tuples.h"
#include "capture/numpy_api.h"
#include "capture/numpy_names.h"
#include "capture/weft_tensors.h"

namespace weft::capture {

bool History::symbolic(const std::string& what, int64_t value, Settings::Dynamic dynamic) {
  if (dynamic != Settings::Dynamic::Auto) return dynamic == Settings::Dynamic::Always;
  if (changing.count(what)) return true;
  auto [entry, is_new] = seen.emplace(what, value);
  if (is_new || entry->second == value) return false;
  changing.insert(what);
  return true;
}

const V& Evaluator::realize(const V& value) {
  if (value->kind == Kind::Lazy) realize_object(value);
  return value;
}

void Evaluator::pin_type(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0) return;
  if ((type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0 || type->tp_version_tag == 0) {
    // A lookup assigns the tag.
    Ref looked_up = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__name__"));
    PyErr_Clear();
  }
  variant_->guards.add({.op = GuardOp::TypeVersion,
                        .imm = static_cast<int64_t>(type->tp_version_tag),
                        .object = reinterpret_cast<PyObject*>(type)},
                       fmt::format("class {} is unchanged", type->tp_name));
}

namespace {

bool is_identity_type(PyObject* o) {
  return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o) || PyType_Check(o) ||
         PyModule_Check(o) || PyFunction_Check(o) || PyCode_Check(o) || PyContextVar_CheckExact(o) || is_enum_member(o) ||
         PyObject_TypeCheck(o, &PyArrayDescr_Type);
}

// Immutable values that are compared, not identified.
bool is_value_type(PyObject* o) {
  return PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o) ||
         Py_TYPE(o) == &PyRange_Type;
}

}  // namespace

bool is_frozen_dataclass(PyTypeObject* type) {
  static PyObject* const parameters = PyUnicode_InternFromString("__dataclass_params__");
  PyObject* found = type->tp_setattro == PyObject_GenericSetAttr ? nullptr : _PyType_Lookup(type, parameters);
  const Ref frozen = found ? Ref::steal(PyObject_GetAttrString(found, "frozen")) : Ref();
  PyErr_Clear();
  return frozen.get() == Py_True;
}

namespace {

SourceRef item_source(Source::Step step, const SourceRef& base, int index) {
  return make_source({.step = step, .base = base, .index = index, .key = {}, .object = {}, .object2 = {}});
}

}  // namespace

void Evaluator::realize_int(const V& value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value->object.get(), &overflow);
  const bool pinned = value->source->step == Source::Step::Pinned;
  const std::string text = value->source->str();
  if (overflow == 0 && !pinned && number > -(1LL << 40) && number < 1LL << 40 &&
      history_.symbolic(text, number, settings_.dynamic)) {
    Sym symbol = tracer_.graph().env().new_any_symbol(number);
    const int index = symbol.node()->symbol;
    variant_->guards.type(value->source, &PyLong_Type);
    const int reg = variant_->guards.load(value->source);
    variant_->guards.set_num_symbols(index + 1);
    variant_->guards.add({.op = GuardOp::SymInt, .a = reg, .imm = index},
                         fmt::format("{} is an int, s{}", text, index));
    value->kind = Kind::SymInt;
    value->sym = symbol;
    V input = make_value(Kind::Scalar);
    input->weak = WeakKind::Int;
    input->tensor = tracer_.input({DType::I64, {}, {}});
    tracer_.value_of(input->tensor)->symbol = index;
    variant_->inputs.push_back({GraphInput::Type::Int, reg, DType::I64});
    symbol_inputs_[symbol.str()] = input;
    return;
  }
  if (!pinned) {
    const int reg = variant_->guards.load(value->source);
    if (overflow)
      variant_->guards.add({.op = GuardOp::Equal, .a = reg, .object = value->object.get()},
                           text + " is the same int");
    else
      variant_->guards.add({.op = GuardOp::Int, .a = reg, .imm = number},
                           fmt::format("{} == {}", text, number));
  }
  value->kind = Kind::Const;
}

void Evaluator::realize_float(const V& value) {
  const double number = PyFloat_AS_DOUBLE(value->object.get());
  const auto bits = std::bit_cast<int64_t>(number);
  value->kind = Kind::Const;
  if (value->source->step == Source::Step::Pinned) return;
  const std::string text = value->source->str();
  const int reg = variant_->guards.load(value->source);
  if (!history_.symbolic(text, bits, settings_.dynamic)) {
    variant_->guards.add({.op = GuardOp::Float, .a = reg, .imm = bits},
                         fmt::format("{} == {}", text, number));
    return;
  }
  variant_->guards.type(value->source, &PyFloat_Type);
  value->kind = Kind::Scalar;
  value->weak = WeakKind::Float;
  value->tensor = tracer_.input({DType::F64, {}, {}});
  variant_->inputs.push_back({GraphInput::Type::Float, reg, DType::F64});
}

// A list, a dict or an array: a method bound to it is made anew each time it is looked up.
static bool has_identity(PyObject* object) {
  return object && (PyList_CheckExact(object) || PyDict_CheckExact(object) || PyArray_CheckExact(object));
}

// `list.append` of a list, looked up by an earlier segment.
void Evaluator::realize_builtin_method(const V& value) {
  const auto attribute = [&](const char* name) {
    const Ref key = checked(PyUnicode_InternFromString(name)), object = checked(PyObject_GetAttr(value->object.get(), key.get()));
    return lazy_value(object.get(), make_source({.step = Source::Step::Attribute,
                                                 .base = value->source,
                                                 .key = key,
                                                 .object = {},
                                                 .object2 = {}}));
  };
  variant_->guards.type(value->source, &PyCFunction_Type);
  const V name = realize(attribute("__name__")), self = attribute("__self__");
  value->name = utf8(name->object.get());
  value->items = {unify(self)};
  value->kind = Kind::Bound;
}

void Evaluator::realize_object(const V& value) {
  PyObject* object = value->object.get();
  PyTypeObject* type = Py_TYPE(object);
  Guards& guards = variant_->guards;
  if (type == &PyCFunction_Type && has_identity(PyCFunction_GET_SELF(object))) return realize_builtin_method(value);
  if (is_identity_type(object) || type == &PyCFunction_Type || type == &PyMethodDescr_Type ||
      (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && std::string_view(type->tp_name) == "numpy.ufunc") ||
      is_cached_function(object) || find_lowering(object) || find_replacement(object) || compiled_function(object) || is_weft_operator(object)) {
    guards.is(value->source, object);
    value->kind = Kind::Const;
    return;
  }
  if (PyLong_CheckExact(object)) return realize_int(value);
  if (PyFloat_CheckExact(object)) return realize_float(value);
  if (is_value_type(object)) {
    if (value->source->step != Source::Step::Pinned)
      guards.add({.op = GuardOp::Equal, .a = guards.load(value->source), .object = object},
                 fmt::format("{} == {}", value->source->str(), short_repr(object)));
    value->kind = Kind::Const;
    return;
  }
  // From here on: objects with identity. One object met by two ways is one value.
  if (auto found = known_.find(object); found != known_.end() && found->second != value) {
    graph_break("the same object is reached in two ways");
  }
  guards.type(value->source, type);
  const auto length_guard = [&](Py_ssize_t length) {
    guards.add({.op = GuardOp::Length, .a = guards.load(value->source), .imm = length},
               fmt::format("len({}) == {}", value->source->str(), length));
  };
  if (PyTuple_CheckExact(object) || is_named_tuple(type)) {
    length_guard(PyTuple_GET_SIZE(object));
    if (!PyTuple_CheckExact(object)) value->object_type = type;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      value->items.push_back(
          lazy_value(PyTuple_GET_ITEM(object, i),
                     item_source(Source::Step::TupleItem, value->source, static_cast<int>(i))));
    value->kind = Kind::Tuple;
    return;
  }
  if (PyArray_CheckExact(object)) {
    add_array_input(value);
  } else if (PyObject_TypeCheck(object, &PyGenericArrType_Type)) {
    Ref descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(object)));
    const auto dtype = dtype_of_descr(reinterpret_cast<PyArray_Descr*>(descr.get()));
    if (!dtype) graph_break(fmt::format("a NumPy scalar of type {}", type->tp_name));
    value->kind = Kind::Array;
    value->flavor = Flavor::NumpyScalar;
    value->tensor = tracer_.input({*dtype, {}, {}});
    variant_->inputs.push_back({GraphInput::Type::NumpyScalar, guards.load(value->source), *dtype});
  } else if (PyList_CheckExact(object)) {
    length_guard(PyList_GET_SIZE(object));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
      value->items.push_back(
          lazy_value(PyList_GET_ITEM(object, i),
                     item_source(Source::Step::ListItem, value->source, static_cast<int>(i))));
    value->kind = Kind::List;
  } else if (PyDict_CheckExact(object)) {
    Ref keys = checked(PyTuple_New(PyDict_GET_SIZE(object)));
    PyObject *key, *item;
    Py_ssize_t i = 0;
    for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &item); ++i) {
      if (!is_identity_type(key) && !is_value_type(key) && !PyLong_CheckExact(key) &&
          !PyFloat_CheckExact(key))
        graph_break("a dict with keys that are not plain values");
      PyTuple_SET_ITEM(keys.get(), i, Py_NewRef(key));
      value->keys.push_back(const_value(Ref::borrow(key)));
      value->items.push_back(lazy_value(item, make_source({.step = Source::Step::DictItem,
                                                           .base = value->source,
                                                           .key = Ref::borrow(key),
                                                           .object = {},
                                                           .object2 = {}})));
    }
    guards.add({.op = GuardOp::DictKeys, .a = guards.load(value->source), .object = keys.get()},
               fmt::format("keys of {} are {}", value->source->str(), short_repr(keys.get())));
    value->kind = Kind::Dict;
  } else if (PySlice_Check(object)) {
    for (const char* part : {"start", "stop", "step"}) {
      Ref item = checked(PyObject_GetAttrString(object, part)),
          key = checked(PyUnicode_InternFromString(part));
      value->items.push_back(lazy_value(item.get(), make_source({.step = Source::Step::Attribute,
                                                                 .base = value->source,
                                                                 .key = key,
                                                                 .object = {},
                                                                 .object2 = {}})));
    }
    value->kind = Kind::Slice;
    return;
  } else if (PyMethod_Check(object)) {
    value->items = {
        lazy_value(PyMethod_GET_SELF(object), item_source(Source::Step::MethodSelf, value->source, 0)),
        lazy_value(PyMethod_GET_FUNCTION(object),
                   make_source({.step = Source::Step::Attribute,
                                .base = value->source,
                                .key = checked(PyUnicode_InternFromString("__func__")),
                                .object = {},
                                .object2 = {}}))};
    value->kind = Kind::Method;
    return;
  } else if (PyCell_Check(object)) {
    PyObject* contents = PyCell_GET(object);
    if (contents) {
      value->items = {lazy_value(contents, item_source(Source::Step::CellContents, value->source, 0))};
    } else {
      guards.add({.op = GuardOp::EmptyCell, .a = guards.load(value->source)},
                 value->source->str() + " is empty");
      value->items = {nullptr};
    }
    value->kind = Kind::Cell;
  } else if (std::string_view(type->tp_name) == "functools.partial") {
    for (const char* part : {"func", "args", "keywords"}) {
      Ref item = checked(PyObject_GetAttrString(object, part)),
          key = checked(PyUnicode_InternFromString(part));
      value->items.push_back(lazy_value(item.get(), make_source({.step = Source::Step::Attribute,
                                                                 .base = value->source,
                                                                 .key = key,
                                                                 .object = {},
                                                                 .object2 = {}})));
    }
    value->kind = Kind::Partial;
  } else if (is_host_tensor(object)) {
    value->items = {lazy_value(array_of_tensor(object).get(), item_source(Source::Step::TensorArray, value->source, 0))};
    value->kind = Kind::Tensor;
  } else if (PyExceptionInstance_Check(object)) {
    pin_type(type);
    const Ref args = checked(PyObject_GetAttrString(object, "args"));
    const SourceRef source = make_source({.step = Source::Step::Attribute,
                                          .base = value->source,
                                          .key = checked(PyUnicode_InternFromString("args")),
                                          .object = {},
                                          .object2 = {}});
    guards.add({.op = GuardOp::Length, .a = guards.load(source), .imm = PyTuple_GET_SIZE(args.get())},
               fmt::format("len({}) == {}", source->str(), PyTuple_GET_SIZE(args.get())));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
      value->items.push_back(lazy_value(PyTuple_GET_ITEM(args.get(), i), item_source(Source::Step::TupleItem, source, static_cast<int>(i))));
    value->object_type = type;
    value->kind = Kind::Exception;
  } else if (is_plain_class(type)) {
    pin_type(type);
    value->object_type = type;
    value->kind = Kind::Instance;
  } else {
    value->kind = Kind::Opaque;
  }
  known_.emplace(object, value);
  tracked_.push_back(value);
}

V Evaluator::unify(const V& value) {
  PyObject* object = value->object.get();
  if (is_identity_type(object) || is_value_type(object) || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyTuple_CheckExact(object))
    return value;
  auto [entry, is_new] = known_.emplace(object, value);
  if (is_new || entry->second == value) return value;
  const V& other = entry->second;
  variant_->guards.add({.op = GuardOp::Same,
                        .a = variant_->guards.load(value->source),
                        .b = variant_->guards.load(other->source)},
                       fmt::format("{} is {}", value->source->str(), other->source->str()));
  return other;
}

void Evaluator::add_array_input(const V& value) {
  auto* array = reinterpret_cast<PyArrayObject*>(value->object.get());
  const auto dtype = dtype_of_descr(PyArray_DESCR(array));
  if (!dtype)
    graph_break(
        fmt::format("an array of dtype {}", short_repr(reinterpret_cast<PyObject*>(PyArray_DESCR(array)))));
  if (!PyArray_ISALIGNED(array)) graph_break("an array whose elements are not aligned");
  ArrayGuard guard{.dtype = *dtype, .layout = layout_of(value->object.get()), .writable = false, .dims = {}};
  const std::string text = value->source->str();
  for (int d = 0; d < PyArray_NDIM(array); ++d)
    if (PyArray_STRIDE(array, d) % PyArray_ITEMSIZE(array) != 0) graph_break("an array with odd strides");
  for (int index : mutated_)
    if (arrays_overlap(value->object.get(), inputs_[static_cast<size_t>(index)]->object.get()))
      graph_break("an array that shares memory with one that was assigned to");
  ops::TensorType type{*dtype, {}, {}};
  for (int d = 0; d < PyArray_NDIM(array); ++d) {
    const auto size = static_cast<int64_t>(PyArray_DIM(array, d));
    if (size >= 2 && history_.symbolic(fmt::format("{}.shape[{}]", text, d), size, settings_.dynamic)) {
      Sym symbol = tracer_.graph().env().new_symbol(size);
      type.shape.push_back(symbol);
      guard.dims.push_back(~static_cast<int64_t>(symbol.node()->symbol));
    } else {
      type.shape.push_back(Sym(size));
      guard.dims.push_back(size);
    }
  }
  if (guard.layout == ArrayGuard::Layout::Other) guard.strides = relations_of_strides(value->object.get());
  value->strided = guard.layout == ArrayGuard::Layout::Other;
  Strides strides;
  for (int d = 0; d < PyArray_NDIM(array); ++d)
    strides.push_back(PyArray_STRIDE(array, d) / PyArray_ITEMSIZE(array));
  value->kind = Kind::Array;
  value->flavor = Flavor::NdArray;
  variant_->guards.set_num_symbols(tracer_.graph().env().num_symbols());
  variant_->guards.array(value->source, std::move(guard));
  value->tensor = tracer_.input(
      std::move(type),
      value->source->step == Source::Step::Local && value->source->key ? utf8(value->source->key.get()) : "",
      std::move(strides));
  value->input = static_cast<int>(inputs_.size());
  value->index = static_cast<int64_t>(variant_->guards.arrays().size()) - 1;
  inputs_.push_back(value);
  variant_->inputs.push_back({GraphInput::Type::Array, variant_->guards.load(value->source), *dtype});
}

void Evaluator::refuse_read_only(const V& array, const char* what) {
  bool read_only = false;
  for (V viewed = array; viewed; viewed = viewed->view_of) read_only |= viewed->read_only;
  if (!read_only) return;
  const std::string message = std::string(what) + " is read-only";
  raise(PyExc_ValueError, {str_value(message)}, message);
}

void Evaluator::prepare_mutation(const V& array) {
  refuse_read_only(array, "assignment destination");
  ++num_effects_;
  V owner = array;
  while (owner->view_of) owner = owner->view_of;
  if (owner->partly_viewed || !owner->name.empty())
    graph_break("assignment to an array of which another view, as .real is one, is in use");
  if (owner->input < 0) return;
  auto* object = reinterpret_cast<PyArrayObject*>(owner->object.get());
  if (!PyArray_ISWRITEABLE(object)) graph_break("assignment to a read-only array");
  for (const V& other : inputs_)
    if (other != owner && arrays_overlap(other->object.get(), owner->object.get()))
      graph_break("assignment to an array that shares memory with another argument");
  variant_->guards.arrays()[static_cast<size_t>(owner->index)].writable = true;
  mutated_.insert(owner->input);
}

bool Evaluator::is_int(const V& value) {
  realize(value);
  return value->kind == Kind::SymInt ||
         (value->is_const() && PyLong_Check(value->object.get()));
}

int64_t Evaluator::to_int(const V& value, const char* what) {
  realize(value);
  if (value->kind == Kind::SymInt) return sym_specialize(value->sym);
  if (value->is_const() && PyLong_Check(value->object.get())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value->object.get(), &overflow);
    if (!overflow) return number;
  }
  graph_break(fmt::format("{} that is not a known int", what));
}

Sym Evaluator::to_sym(const V& value, const char* what) {
  if (realize(value)->kind == Kind::SymInt) return value->sym;
  return Sym(to_int(value, what));
}

std::string Evaluator::to_string(const V& value, const char* what) {
  realize(value);
  if (value->is_const() && PyUnicode_Check(value->object.get())) return utf8(value->object.get());
  graph_break(fmt::format("{} that is not a known string", what));
}

bool Evaluator::truth(const V& value) {
  realize(value);
  switch (value->kind) {
    case Kind::Const: {
      if (program_class(value))
        if (const std::optional<bool> answer = instance_truth(value)) return *answer;
      const int result = PyObject_IsTrue(value->object.get());
      if (result < 0) throw PythonError{};
      return result != 0;
    }
    case Kind::SymInt: return sym_ne(value->sym, Sym(0));
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict: return !value->items.empty();
    case Kind::Set: return PySet_GET_SIZE(value->object.get()) > 0;
    case Kind::Function:
    case Kind::Method:
    case Kind::Bound:
    case Kind::Slice:
    case Kind::Iter:
    case Kind::Cell:
    case Kind::Exception:
    case Kind::Generator:
    case Kind::Partial: return true;
    case Kind::Array: graph_break("a condition that depends on the values of an array");
    case Kind::Scalar: graph_break("a condition that depends on computed numbers");
    case Kind::Instance: {
      PyTypeObject* type = value->object_type;
      if ((!type->tp_as_number || !type->tp_as_number->nb_bool) &&
          (!type->tp_as_sequence || !type->tp_as_sequence->sq_length) &&
          (!type->tp_as_mapping || !type->tp_as_mapping->mp_length))
        return true;
      if (const std::optional<bool> answer = instance_truth(value)) return *answer;
      break;
    }
    default: break;
  }
  graph_break("the truth of an object that capture knows nothing of");
}

Ref Evaluator::constant(const V& value) {
  realize(value);
  if (value->is_const()) return value->object;
  if (value->kind == Kind::SymInt) return Ref();
  if (value->kind == Kind::Tuple) {
    Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(value->items.size())));
    for (size_t i = 0; i < value->items.size(); ++i) {
      Ref item = constant(value->items[i]);
      if (!item) return Ref();
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item.release());
    }
    if (value->object_type) return build_named_tuple(reinterpret_cast<PyObject*>(value->object_type), tuple);
    return tuple;
  }
  if (value->kind == Kind::Slice) {
    Ref a = constant(value->items[0]), b = constant(value->items[1]), c = constant(value->items[2]);
    if (a && b && c) return checked(PySlice_New(a.get(), b.get(), c.get()));
  }
  return Ref();
}

std::vector<V> Evaluator::elements(const V& value) {
  realize(value);
  switch (value->kind) {
    case Kind::Tuple:
    case Kind::List: return value->items;
    case Kind::Dict: return value->keys;
    case Kind::DictView: {
      const V& dict = value->items[0];
      if (value->name == "keys") return dict->keys;
      if (value->name == "values") return dict->items;
      std::vector<V> pairs;
      for (size_t i = 0; i < dict->items.size(); ++i)
        pairs.push_back(tuple_value({dict->keys[i], dict->items[i]}));
      return pairs;
    }
    case Kind::Const: {
      PyObject* object = value->object.get();
      if (PyType_Check(object) && is_enum_class(reinterpret_cast<PyTypeObject*>(object)))
        return elements(const_value(checked(PySequence_Tuple(object))));
      if (!PyTuple_CheckExact(object) && !PyUnicode_CheckExact(object) && !PyFrozenSet_CheckExact(object) &&
          !PyBytes_CheckExact(object) && Py_TYPE(object) != &PyRange_Type)
        break;
      if (PyObject_Length(object) > 100000) graph_break("a very long constant sequence");
      std::vector<V> result;
      Ref iterator = checked(PyObject_GetIter(object));
      while (Ref item = Ref::steal(PyIter_Next(iterator.get()))) result.push_back(const_value(item));
      if (PyErr_Occurred()) throw PythonError{};
      return result;
    }
    case Kind::Generator: return all_of_generator(iterator(value));
    case Kind::Bound:
      if (V flat = flat_elements(*this, value)) return elements(flat);
      break;
    case Kind::Instance: return elements(iterator(value));
    case Kind::Set: return elements(const_value(checked(PySequence_Tuple(value->object.get()))));
    case Kind::Array:
    case Kind::Iter: {
      if (value->kind == Kind::Iter && value->iter == IterKind::Generator) return all_of_generator(value);
      std::vector<V> result;
      V it = value->kind == Kind::Iter ? value : iterator(value);
      while (V item = next(it)) result.push_back(item);
      return result;
    }
    default: break;
  }
  graph_break("iteration over an object that capture knows nothing of");
}

bool Evaluator::same_object(const V& a, const V& b) {
  if (a == b) return true;
  for (const V* v : {&a, &b}) {
    // `is None` and the like ask for the type only.
    PyObject* object = (*v)->object.get();
    if ((*v)->kind == Kind::Lazy && is_identity_type(object)) realize(*v);
  }
  const bool known_a = a->kind == Kind::Lazy || a->is_const(),
             known_b = b->kind == Kind::Lazy || b->is_const();
  if (a->is_const() && b->is_const()) return a->object == b->object;
  if (known_a && known_b && a->object && b->object && a->source && b->source) {
    const bool same = a->object == b->object;
    variant_->guards.add({.op = same ? GuardOp::Same : GuardOp::NotSame,
                          .a = variant_->guards.load(a->source),
                          .b = variant_->guards.load(b->source)},
                         fmt::format("{} {} {}", a->source->str(), same ? "is" : "is not", b->source->str()));
    return same;
  }
  const auto is_singleton = [](const V& v) { return v->is_const() && is_identity_type(v->object.get()); };
  if (is_singleton(a) || is_singleton(b)) {
    realize(a);
    realize(b);
    return a->is_const() && b->is_const() && a->object == b->object;
  }
  if (a->kind != Kind::Scalar && b->kind != Kind::Scalar && a->kind != Kind::SymInt &&
      b->kind != Kind::SymInt) {
    realize(a);
    realize(b);
    if (a->source && b->source) return a->object == b->object;
    const auto is_bool = [](const V& v) {  // of which NumPy has two objects
      return v->kind == Kind::Array && v->flavor == Flavor::NumpyScalar && v->tensor.dtype() == DType::Bool;
    };
    if (is_bool(a) || is_bool(b)) graph_break("'is' between NumPy's booleans");
    return false;  // one was made inside, the other is something else
  }
  graph_break("'is' between numbers");
}

static bool equal_dicts(Evaluator& ev, const V& a, const V& b) {
  if (a->keys.size() != b->keys.size()) return false;
  for (size_t i = 0; i < a->keys.size(); ++i) {
    const int at = find_key(ev, b, a->keys[i]);
    if (at < 0) return false;
    const V& other = b->items[static_cast<size_t>(at)];
    if (!ev.same_object(a->items[i], other) && !ev.equal(a->items[i], other)) return false;
  }
  return true;
}

bool Evaluator::equal(const V& a, const V& b) {
  realize(a);
  realize(b);
  if (a == b) return true;
  if (V answer = instance_compare(Py_EQ, a, b)) return truth(answer);
  if (a->kind == Kind::Set || b->kind == Kind::Set) {
    const V& other = a->kind == Kind::Set ? b : a;
    if (other->kind != Kind::Set && !other->is_const()) return false;
    const int same = PyObject_RichCompareBool(a->object.get(), b->object.get(), Py_EQ);
    if (same < 0) throw PythonError{};
    return same != 0;
  }
  if (a->kind == Kind::SymInt || b->kind == Kind::SymInt) {
    if (!is_int(a) || !is_int(b)) {
      if (constant(a) || constant(b)) {
        const V& other = a->kind == Kind::SymInt ? b : a;
        if (!PyFloat_Check(other->object.get())) return false;
      }
      graph_break("comparison of a symbolic int");
    }
    return sym_eq(to_sym(a, "operand"), to_sym(b, "operand"));
  }
  const bool list_a = a->kind == Kind::Tuple || a->kind == Kind::List,
             list_b = b->kind == Kind::Tuple || b->kind == Kind::List;
  if ((list_a || (a->is_const() && PyTuple_CheckExact(a->object.get()))) &&
      (list_b || (b->is_const() && PyTuple_CheckExact(b->object.get()))) && (list_a || list_b)) {
    if ((a->kind == Kind::List) != (b->kind == Kind::List)) return false;
    std::vector<V> left = elements(a), right = elements(b);
    if (left.size() != right.size()) return false;
    for (size_t i = 0; i < left.size(); ++i)
      if (!equal(left[i], right[i])) return false;
    return true;
  }
  if (a->kind == Kind::Dict && b->kind == Kind::Dict) return equal_dicts(*this, a, b);
  Ref left = constant(a), right = constant(b);
  const auto is_container = [](const V& v) { return v->kind == Kind::List || v->kind == Kind::Dict || v->kind == Kind::Tuple; };
  // A container equals no plain value of another type.
  if ((left && is_container(b)) || (right && is_container(a)))
    if (python_type(a) != python_type(b)) return false;
  if (!left || !right) graph_break("comparison of objects whose values are not known");
  const int result = PyObject_RichCompareBool(left.get(), right.get(), Py_EQ);
  if (result < 0) throw PythonError{};
  return result != 0;
}

void Evaluator::mark_dirty(const V& value) {
  ++num_effects_;
  if (!value->source || value->dirty) return;
  value->dirty = true;
  dirty_.push_back(value);
}

PyTypeObject* Evaluator::python_type(const V& value) {
  realize(value);
  if (PyTypeObject* real = stood_for(value)) return real;
  if (value->object && value->kind != Kind::Function) return Py_TYPE(value->object.get());
  switch (value->kind) {
    case Kind::Array:
      if (value->flavor == Flavor::NdArray) return &PyArray_Type;
      if (value->flavor == Flavor::NumpyScalar)
        return PyArray_DescrFromType(type_number(value->tensor.dtype()))->typeobj;
      return nullptr;
    case Kind::Scalar:
      return value->weak == WeakKind::Bool    ? &PyBool_Type
             : value->weak == WeakKind::Int   ? &PyLong_Type
             : value->weak == WeakKind::Float ? &PyFloat_Type
                                              : &PyComplex_Type;
    case Kind::SymInt: return &PyLong_Type;
    case Kind::Tuple: return value->object_type ? value->object_type : &PyTuple_Type;
    case Kind::List: return &PyList_Type;
    case Kind::Dict: return &PyDict_Type;
    case Kind::Set: return &PySet_Type;
    case Kind::Slice: return &PySlice_Type;
    case Kind::Function: return &PyFunction_Type;
    case Kind::Method: return &PyMethod_Type;
    case Kind::Cell: return &PyCell_Type;
    case Kind::Instance:
    case Kind::Exception: return value->object_type;
    default: return nullptr;
  }
}

}  // namespace weft::capture
