#include "capture/evaluate/mappings.h"

#include <fmt/format.h>

#include "capture/builtins/builtins.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"

namespace weft::capture {

namespace {

bool is_of_dict(PyObject* found) {
  return (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type) &&
         (PyDescr_TYPE(found) == &PyDict_Type || PyDescr_TYPE(found) == &PyODict_Type);
}

bool is_named(PyObject* descriptor, const char* name) {
  return PyUnicode_CompareWithASCIIString(PyDescr_NAME(descriptor), name) == 0;
}

}  // namespace

bool searches_plainly(PyObject* found) {
  return Py_TYPE(found) == &PyWrapperDescr_Type && is_named(found, "__getattribute__") &&
         PyDescr_TYPE(found)->tp_getattro == PyObject_GenericGetAttr;
}

V contents_of(Evaluator& ev, const V& instance) {
  if (ev.realize(instance)->kind != Kind::Instance || !is_dict_class(instance->object_type)) return nullptr;
  if (instance->contents) return instance->contents;
  V contents = make_value(Kind::Dict);
  contents->holder = instance;
  if (instance->source) {
    contents->object = instance->object;
    contents->source = instance->source;
    ev.realize_dict(contents);
  }
  return instance->contents = contents;
}

V dict_attribute(Evaluator& ev, const V& owner, PyObject* found) {
  if (!is_of_dict(found)) return nullptr;
  const V contents = contents_of(ev, owner);
  if (!contents) return nullptr;
  V value = make_value(Kind::Bound);
  value->items = {contents};
  value->name = is_named(found, "__init__") ? "update" : utf8(PyDescr_NAME(found));
  return value;
}

void refuse_apart(const V& value) {
  const V holder = value->holder.lock();
  if (holder && holder->own_dict == value) graph_break("the __dict__ of an object, changed apart from it");
}

// What the object has by this name now, its dict has, too.
static void keep_attribute(const V& owner, PyObject* name, const V& value) {
  PyObject* const found = _PyType_Lookup(owner->object_type, name);
  if (found && Py_TYPE(found) == &PyMemberDescr_Type) return;  // in a slot
  const V& dict = owner->own_dict;
  size_t at = 0;
  while (at < dict->keys.size() && !(PyUnicode_CheckExact(dict->keys[at]->object.get()) &&
                                     PyUnicode_Compare(dict->keys[at]->object.get(), name) == 0))
    ++at;
  if (at == dict->keys.size()) {
    dict->keys.push_back(const_value(Ref::borrow(name)));
    dict->items.push_back(value);
    ++dict->version;
  }
  dict->items[at] = value;
}

void keep_beside(const V& owner, const V& dict) {
  owner->own_dict = dict;
  dict->holder = owner;
  for (size_t i = 0; i < owner->keys.size(); ++i)
    if (owner->changed[i]) keep_attribute(owner, owner->keys[i]->object.get(), owner->items[i]);
}

void keep_in_dict(const V& owner, PyObject* name, const V& value) {
  if (!owner->own_dict) return;
  if (owner->source) return keep_attribute(owner, name, value);
  owner->own_dict->keys = owner->keys;
  owner->own_dict->items = owner->items;
}

V Evaluator::as_dict(const V& value, const char* method) {
  const V contents = contents_of(*this, value);
  if (!contents || python_method(value, method)) return nullptr;
  return contents;
}

V Evaluator::mapping_of(const V& value) {
  realize(value);
  if (value->kind == Kind::Dict) return value;
  if (value->kind != Kind::Instance) return nullptr;
  static constinit InternedName items("_items"), keys("keys");
  if (stood_for(value)) {
    const V inner = attribute_or_null(value, items);
    return inner && realize(inner)->kind == Kind::Dict ? inner : nullptr;
  }
  if (const V contents = contents_of(*this, value); contents && !python_method(value, "keys") &&
                                                    !python_method(value, "__getitem__") &&
                                                    !python_method(value, "__iter__"))
    return contents;
  const V method = has_attribute(value, keys) ? attribute_now(value, keys) : nullptr;
  if (!method) return nullptr;
  V mapping = make_value(Kind::Dict);
  for (const V& key : elements(call_now(method, {}))) {
    PyObject* const getter = python_method(value, "__getitem__");
    set_dict_item(*this, mapping, key,
                  getter ? call_method_now(value, getter, {key}) : subscript(value, key));
  }
  return mapping;
}

V Evaluator::dict_of_attributes(const V& owner) {
  if (owner->source) {
    const Ref dict = Ref::steal(PyObject_GenericGetDict(owner->object.get(), nullptr));
    const bool is_copied = !owner->attributes.empty();
    if (!dict || (owner->dirty && is_copied)) graph_break("__dict__ of an object");
    return unify(lazy_value(dict.get(), make_source({.step = Source::Step::InstanceDict,
                                                     .base = owner->source,
                                                     .key = {},
                                                     .object = {},
                                                     .object2 = {}})));
  }
  for (const V& key : owner->keys)
    if (PyObject* const found = _PyType_Lookup(owner->object_type, key->object.get());
        found && Py_TYPE(found) == &PyMemberDescr_Type)
      graph_break("__dict__ of an object with slots");
  if (stood_for(owner)) leave_library("__dict__ of an object of the standard library");
  if (!owner->own_dict) {
    owner->own_dict = make_value(Kind::Dict);
    owner->own_dict->holder = owner;
    owner->own_dict->keys = owner->keys;
    owner->own_dict->items = owner->items;
  }
  return owner->own_dict;
}

}  // namespace weft::capture
