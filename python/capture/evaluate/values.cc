// Finding out what outside objects are, and guarding it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "capture/builtins/builtins.h"
#include "capture/builtins/enums.h"
#include "capture/builtins/named_tuples.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"
#include "capture/evaluate/mappings.h"
#include "capture/evaluate/promises.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/compiled_object.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

const V& Evaluator::realize(const V& value) {
  if (!value) graph_break("a call without an argument that it needs");
  if (value->kind == Kind::Lazy) realize_object(value);
  return value;
}

void Evaluator::pin_type(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0) return;
  if ((type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0 || type->tp_version_tag == 0) {
    // A lookup assigns the tag.
    static constinit InternedName any_name("__init__");
    _PyType_Lookup(type, any_name);
    if (type->tp_version_tag == 0)
      graph_break("a class that has changed too often to be told from what it was");
  }
  variant_->guards.add({.op = GuardOp::TypeVersion,
                        .imm = static_cast<int64_t>(type->tp_version_tag),
                        .object = reinterpret_cast<PyObject*>(type)},
                       fmt::format("class {} is unchanged", type->tp_name));
}

bool is_identity_type(PyObject* o) {
  return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o) || PyType_Check(o) ||
         PyModule_Check(o) || PyFunction_Check(o) || PyCode_Check(o) || PyContextVar_CheckExact(o) ||
         is_enum_member(o) || PyObject_TypeCheck(o, &PyArrayDescr_Type);
}

// Immutable values that are compared, not identified.
static bool is_value_type(PyObject* o) {
  return PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o) ||
         Py_TYPE(o) == &PyRange_Type;
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

// Or of a class; methods of other objects are made anew as well, and hold these objects.
static bool is_function_of_module(PyObject* function) {
  PyObject* self = PyCFunction_GET_SELF(function);
  return !self || PyModule_Check(self) || PyType_Check(self);
}

// `list.append` of a list, looked up by an earlier segment.
void Evaluator::realize_builtin_method(const V& value) {
  const auto attribute = [&](const char* name) {
    const Ref key = checked(PyUnicode_InternFromString(name)),
              object = checked(PyObject_GetAttr(value->object.get(), key.get()));
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

// A module's dict, the globals of a function, or the modules.
bool Evaluator::is_namespace(PyObject* object) const {
  if (!PyDict_CheckExact(object)) return false;
  const auto has = [&](const char* name) { return PyDict_GetItemString(object, name) != nullptr; };
  if (object == PyImport_GetModuleDict() || has("__builtins__") || (has("__spec__") && has("__name__")))
    return true;
  return std::any_of(frames_.begin(), frames_.end(),
                     [&](const AbstractFrame& frame) { return frame.globals.get() == object; });
}

// Is it the dict that a copy of the object has been made of (copying.cc)? The program does not have it.
static bool is_copied(const V& owner, const V& dict) {
  return !owner->attributes.empty() && owner->attributes[0] == dict && !dict->dirty;
}

// The attributes of an object are about to be read or changed: they are not known by its dict as well.
void Evaluator::use_attributes(const V& owner, PyObject* dict, bool changes) {
  const auto found = known_.find(dict);
  if (found != known_.end() && found->second->kind == Kind::Dict && !is_copied(owner, found->second)) {
    if (found->second->dirty) graph_break("the attributes of an object whose __dict__ is used");
    if (changes) keep_beside(owner, found->second);
  }
  if (namespaces_.emplace(dict, owner).first->second != owner)
    graph_break("the attributes of an object that shares its __dict__ with another one");
}

SourceRef attribute_source(const SourceRef& owner, const char* name) {
  return make_source({.step = Source::Step::Attribute,
                      .base = owner,
                      .key = checked(PyUnicode_InternFromString(name)),
                      .object = {},
                      .object2 = {}});
}

namespace {

// Attributes of the real object, as the value's items.
void add_attributes(const V& value, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Ref item = checked(PyObject_GetAttrString(value->object.get(), name));
    value->items.push_back(lazy_value(item.get(), attribute_source(value->source, name)));
  }
}

// Which object it is tells all, or a plain function of a module that weft knows.
bool is_known_by_identity(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return is_identity_type(object) || (type == &PyCFunction_Type && is_function_of_module(object)) ||
         type == &PyMethodDescr_Type || PyFrozenSet_CheckExact(object) ||
         (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && std::string_view(type->tp_name) == "numpy.ufunc") ||
         is_cached_function(object) || find_lowering(object) || find_replacement(object) ||
         compiled_function(object) || is_weft_operator(object) || is_weft_constant(object) ||
         is_annotation(object);
}

}  // namespace

void Evaluator::realize_object(const V& value) {
  PyObject* object = value->object.get();
  PyTypeObject* type = Py_TYPE(object);
  Guards& guards = variant_->guards;
  if (type == &PyCFunction_Type && has_identity(PyCFunction_GET_SELF(object)))
    return realize_builtin_method(value);
  if (is_known_by_identity(object)) {
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
  if (realize_parts(value)) return;
  realize_container(value);
  known_.emplace(object, value);
  if (!value->dirty) tracked_.push_back(value);
}

bool is_unread_list(const V& value) {
  return value && value->kind == Kind::Lazy && value->source && PyList_CheckExact(value->object.get());
}

void Evaluator::append_to_unread(const V& list, const V& item) {
  if (!list->dirty) {
    variant_->guards.type(list->source, &PyList_Type);
    known_.emplace(list->object.get(), list);
    tracked_.push_back(list);
  }
  mark_dirty(list);
  list->items.push_back(item);
}

void Evaluator::read_appended_lists() {
  for (const V& changed : std::vector<V>(dirty_)) realize(changed);
}

void Evaluator::guard_grad_mode() {
  variant_->guards.add({.op = GuardOp::GradMode, .imm = packed(grad_mode_)},
                       fmt::format("gradients are {}{}", grad_mode_.grad ? "enabled" : "disabled",
                                   grad_mode_.inference ? ", in inference mode" : ""));
}

void Evaluator::guard_length(const SourceRef& source, Py_ssize_t length) {
  Guards& guards = variant_->guards;
  guards.add({.op = GuardOp::Length, .a = guards.load(source), .imm = length},
             fmt::format("len({}) == {}", source->str(), length));
}

// Of a subclass, with no attributes of its own.
static bool is_plain_named_tuple(PyObject* object) {
  if (!is_named_tuple(Py_TYPE(object))) return false;
  PyObject** const attributes = _PyObject_GetDictPtr(object);
  return !attributes || !*attributes || PyDict_GET_SIZE(*attributes) == 0;
}

// What is its parts, and nothing more: a tuple, a slice, a bound method.
bool Evaluator::realize_parts(const V& value) {
  PyObject* object = value->object.get();
  if (PyTuple_CheckExact(object) || is_plain_named_tuple(object) || Py_TYPE(object) == size_class()) {
    guard_length(value->source, PyTuple_GET_SIZE(object));
    if (!PyTuple_CheckExact(object)) value->object_type = Py_TYPE(object);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      value->items.push_back(
          lazy_value(PyTuple_GET_ITEM(object, i),
                     item_source(Source::Step::TupleItem, value->source, static_cast<int>(i))));
    value->kind = Kind::Tuple;
  } else if (PySlice_Check(object)) {
    add_attributes(value, {"start", "stop", "step"});
    value->kind = Kind::Slice;
  } else if (PyMethod_Check(object)) {
    value->items = {
        lazy_value(PyMethod_GET_SELF(object), item_source(Source::Step::MethodSelf, value->source, 0)),
        lazy_value(PyMethod_GET_FUNCTION(object), attribute_source(value->source, "__func__"))};
    value->kind = Kind::Method;
  } else {
    return false;
  }
  return true;
}

// What can be changed, or be looked at through another object.
void Evaluator::realize_container(const V& value) {
  PyObject* object = value->object.get();
  PyTypeObject* type = Py_TYPE(object);
  Guards& guards = variant_->guards;
  if (PyArray_CheckExact(object)) {
    add_array_input(value, value->source);
  } else if (PyObject_TypeCheck(object, &PyGenericArrType_Type) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    value->kind = Kind::Opaque;  // of a program's subclass
  } else if (PyObject_TypeCheck(object, &PyGenericArrType_Type)) {
    Ref descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(object)));
    const auto dtype = dtype_of_descr(reinterpret_cast<PyArray_Descr*>(descr.get()));
    if (!dtype) graph_break(fmt::format("a NumPy scalar of type {}", type->tp_name));
    value->kind = Kind::Array;
    value->flavor = Flavor::NumpyScalar;
    value->tensor = tracer_.input({*dtype, {}, {}});
    variant_->inputs.push_back({GraphInput::Type::NumpyScalar, guards.load(value->source), *dtype});
  } else if (PyList_CheckExact(object)) {
    guard_length(value->source, PyList_GET_SIZE(object));
    const std::vector<V> appended = std::exchange(value->items, {});
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
      value->items.push_back(
          lazy_value(PyList_GET_ITEM(object, i),
                     item_source(Source::Step::ListItem, value->source, static_cast<int>(i))));
    value->items.insert(value->items.end(), appended.begin(), appended.end());
    value->kind = Kind::List;
  } else if (is_namespace(object)) {
    value->kind = Kind::Opaque;  // what is done to it is done to names and modules
  } else if (PyDict_CheckExact(object) || PyODict_CheckExact(object)) {
    realize_dict(value);
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
    add_attributes(value, {"func", "args", "keywords"});
    value->kind = Kind::Partial;
  } else if (const Tensor* tensor = captured_tensor(object);
             tensor && tracer_.is_of_device(tensor->device())) {
    V array = make_value(Kind::Array);
    array->object = value->object;
    array->source = item_source(Source::Step::TensorArray, value->source, 0);
    if (is_frozen(object) && is_host_tensor(object)) {
      guards.is(value->source, object);
      array->kind = Kind::Array;
      array->flavor = Flavor::NdArray;
      array->tensor = tracer_.constant(*host_tensor(object));
      array->frozen = true;
    } else {
      add_array_input(array, value->source);
    }
    value->items = {std::move(array)};
    value->is_array = is_weft_array(object);
    has_device_arrays_ |= value->is_array && tensor->device() != Device{};
    value->kind = Kind::Tensor;
  } else if (PyExceptionInstance_Check(object)) {
    realize_exception(value);
  } else if (is_tensor(object)) {
    value->kind = Kind::Opaque;  // of a device that is not this graph's: operator by operator
  } else if (is_plain_class(type)) {
    pin_type(type);
    value->object_type = type;
    value->kind = Kind::Instance;
  } else {
    value->kind = Kind::Opaque;
  }
}

// A guard can tell it from others: a value, an object known by which it is, or a tuple or frozenset of such.
static bool is_known_key(PyObject* key) {
  if (PyTuple_CheckExact(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      if (!is_known_key(PyTuple_GET_ITEM(key, i))) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(key)) return is_known_key(checked(PySequence_Tuple(key)).get());
  return is_value_type(key) || PyLong_CheckExact(key) || PyFloat_CheckExact(key) || is_known_by_identity(key);
}

void Evaluator::realize_dict(const V& value) {
  PyObject* object = value->object.get();
  Guards& guards = variant_->guards;
  Ref keys = checked(PyTuple_New(PyDict_GET_SIZE(object)));
  PyObject *key, *item;
  Py_ssize_t i = 0;
  const auto add = [&] {
    if (!is_known_key(key)) graph_break("a dict with keys that are not plain values");
    PyTuple_SET_ITEM(keys.get(), i, Py_NewRef(key));
    value->keys.push_back(const_value(Ref::borrow(key)));
    value->items.push_back(lazy_value(item, make_source({.step = Source::Step::DictItem,
                                                         .base = value->source,
                                                         .key = Ref::borrow(key),
                                                         .object = {},
                                                         .object2 = {}})));
    ++i;
  };
  if (!PyODict_Check(object)) {
    for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &item);) add();
  } else {  // an OrderedDict has an order of its own
    const Ref iterator = checked(PyODict_Type.tp_iter(object));
    const Ref in_order = checked(PySequence_Tuple(iterator.get()));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(in_order.get()); ++k) {
      key = PyTuple_GET_ITEM(in_order.get(), k);
      if (!is_known_key(key)) graph_break("an OrderedDict with keys that are not plain values");
      item = PyDict_GetItemWithError(object, key);
      if (!item) graph_break("an OrderedDict that changes");
      add();
    }
  }
  guards.add({.op = GuardOp::DictKeys, .a = guards.load(value->source), .object = keys.get()},
             fmt::format("keys of {} are {}", value->source->str(), short_repr(keys.get())));
  value->kind = Kind::Dict;
  if (const auto found = namespaces_.find(object);
      found != namespaces_.end() && found->second->dirty && !is_copied(found->second, value))
    keep_beside(found->second, value);
}

void Evaluator::realize_exception(const V& value) {
  PyObject* object = value->object.get();
  pin_type(Py_TYPE(object));
  const Ref args = checked(PyObject_GetAttrString(object, "args"));
  const SourceRef source = attribute_source(value->source, "args");
  guard_length(source, PyTuple_GET_SIZE(args.get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    value->items.push_back(lazy_value(PyTuple_GET_ITEM(args.get(), i),
                                      item_source(Source::Step::TupleItem, source, static_cast<int>(i))));
  value->object_type = Py_TYPE(object);
  value->kind = Kind::Exception;
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

void Evaluator::add_array_input(const V& value, const SourceRef& source) {
  PyObject* const object = value->object.get();
  const bool is_tensor = !PyArray_CheckExact(object);
  const auto dtype = dtype_of_array(object);
  if (!dtype)
    graph_break(fmt::format(
        "an array of dtype {}",
        short_repr(reinterpret_cast<PyObject*>(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object))))));
  if (is_stored_only(*dtype))
    graph_break(fmt::format("a tensor of {}, which graphs do not hold", weft::name(*dtype)));
  if (!is_tensor && !PyArray_ISALIGNED(reinterpret_cast<PyArrayObject*>(object)))
    graph_break("an array whose elements are not aligned");
  const ArrayMemory memory = memory_of(object);
  ArrayGuard guard{.dtype = *dtype, .layout = layout_of(memory), .dims = {}, .is_tensor = is_tensor};
  const std::string text = source->str();
  if (!memory.has_whole_strides()) graph_break("an array with odd strides");
  for (int index : mutated_)
    if (arrays_overlap(object, inputs_[static_cast<size_t>(index)]->object.get()))
      graph_break("an array that shares memory with one that was assigned to");
  if (is_tensor) guard.device = captured_tensor(object)->device();
  ops::TensorType type{*dtype, {}, guard.device};
  for (int d = 0; d < memory.num_dims; ++d) {
    const int64_t size = memory.sizes[d];
    const auto dynamic = marked_size(object, d, settings_.dynamic);
    if (size >= 2 && history_.symbolic(fmt::format("{}.shape[{}]", text, d), size, dynamic)) {
      Sym symbol = tracer_.graph().env().new_symbol(size);
      type.shape.push_back(symbol);
      guard.dims.push_back(~static_cast<int64_t>(symbol.node()->symbol));
    } else {
      type.shape.push_back(Sym(size));
      guard.dims.push_back(size);
    }
  }
  if (guard.layout == ArrayGuard::Layout::Other) guard.strides = relations_of_strides(object);
  value->strided = guard.layout == ArrayGuard::Layout::Other;
  Strides strides;
  for (int d = 0; d < memory.num_dims; ++d) strides.push_back(memory.strides[d] / memory.element);
  value->kind = Kind::Array;
  value->flavor = Flavor::NdArray;
  variant_->guards.set_num_symbols(tracer_.graph().env().num_symbols());
  variant_->guards.array(source, std::move(guard));
  value->tensor = tracer_.input(
      std::move(type), source->step == Source::Step::Local && source->key ? utf8(source->key.get()) : "",
      std::move(strides));
  value->input = static_cast<int>(inputs_.size());
  value->index = static_cast<int64_t>(variant_->guards.arrays().size()) - 1;
  inputs_.push_back(value);
  variant_->inputs.push_back({is_tensor ? GraphInput::Type::Tensor : GraphInput::Type::Array,
                              variant_->guards.load(source), *dtype});
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
  leave_copied_views(array);
  V owner = array;
  while (owner->view_of) owner = owner->view_of;
  if (owner->frozen) {
    thaw(owner->object.get());
    throw CaptureAborted{"a frozen tensor that is written to", CaptureAborted::Then::CaptureAgain};
  }
  if (owner->input < 0) return;
  const ArrayMemory memory = memory_of(owner->object.get());
  if (!memory.is_writable) graph_break("assignment to a read-only array");
  if (memory.overlaps_itself()) graph_break("assignment to an array whose elements share memory");
  for (const V& other : inputs_)
    if (other != owner && arrays_overlap(other->object.get(), owner->object.get()))
      graph_break("assignment to an array that shares memory with another argument");
  variant_->guards.arrays()[static_cast<size_t>(owner->index)].writable = true;
  mutated_.insert(owner->input);
}

static V owner_of(V array) {
  while (array->view_of) array = array->view_of;
  return array;
}

void Evaluator::note_copied_view(const V& copy, const V& viewed) {
  copied_views_.push_back({owner_of(copy), owner_of(viewed), place_});
}

void Evaluator::leave_copied_views(const V& written) {
  const V owner = owner_of(written);
  for (const CopiedView& view : copied_views_)
    if (view.copy == owner || view.owner == owner)
      begin_again({Lesson::Kind::PythonsInstruction, view.place},
                  "a view at an index that is a tensor, of what is written to", CaptureAborted::Then::GiveUp);
}

void Evaluator::record_update(const Tensor& view, const Tensor& value) {
  tracer_.record_copy(view, value);
  ++num_effects_;
}

void Evaluator::mark_dirty(const V& value) {
  if (value->kind == Kind::Dict) {
    if (value->object && !PyDict_CheckExact(value->object.get()))
      graph_break("an OrderedDict, or a dict of another class, that is changed");
    refuse_apart(value);
  }
  if (value->kind != Kind::Instance) std::for_each(value->items.begin(), value->items.end(), let_go);
  ++num_effects_;
  if (!value->source || value->dirty) return;
  value->dirty = true;
  dirty_.push_back(value);
}

}  // namespace weft::capture
