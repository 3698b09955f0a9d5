// Attributes that a program sets and deletes.
#include <fmt/format.h>

#include "capture/builtins/builtins.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"
#include "capture/evaluate/mappings.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

// What one of the three dicts of a weft.nn.Module has by this name, or null.
V Evaluator::module_item(const V& owner, const char* store, PyObject* name) {
  const Ref key = checked(PyUnicode_InternFromString(store));
  const V items = find_instance_item(owner, key.get());
  if (!items) return nullptr;
  if (realize(items)->kind != Kind::Dict) graph_break("a module whose parts are in no dict");
  for (size_t i = 0; i < items->keys.size(); ++i)
    if (PyObject* have = items->keys[i]->object.get();
        PyUnicode_Check(have) && PyUnicode_Compare(have, name) == 0)
      return items->items[i];
  return nullptr;
}

// What weft.nn.Module's __getattr__ gives, or null.
V Evaluator::module_attribute(const V& owner, PyObject* name) {
  for (const char* store : {"_parameters", "_modules", "_buffers"})
    if (V found = module_item(owner, store, name)) return found;
  return nullptr;
}

// Is it a tensor in the place of a buffer? Parameters and modules of this name come first.
bool Evaluator::is_new_buffer(const V& owner, PyObject* name, const V& value) {
  return value->kind == Kind::Tensor && python_type(value) == tensor_class() &&
         module_item(owner, "_buffers", name) && !module_item(owner, "_parameters", name) &&
         !module_item(owner, "_modules", name);
}

// Would weft.nn.Module's __setattr__ set it as object's does?
bool Evaluator::is_plain_in_module(const V& owner, PyObject* name, const V& value) {
  const Ref parameters = checked(PyUnicode_InternFromString("_parameters"));
  if (!find_instance_item(owner, parameters.get()) || module_attribute(owner, name)) return false;
  PyTypeObject* const type = python_type(value);
  if (value->kind == Kind::Tensor) return type == tensor_class();
  PyObject* const setter = type ? python_function_of(type, "__setattr__") : nullptr;
  return type && !(setter && is_method_of_modules(setter));
}

// What a real object has in its dict by this name, which nobody has asked for yet; or null.
static V attribute_of_dict(const V& owner, PyObject* name) {
  if (!owner->source || !owner->object) return nullptr;
  PyObject** const dict = _PyObject_GetDictPtr(owner->object.get());
  PyObject* const value = dict && *dict ? PyDict_GetItemWithError(*dict, name) : nullptr;
  return value ? lazy_value(value, pinned_source(value)) : nullptr;
}

void Evaluator::store_attribute(const V& owner, PyObject* name, const V& value, bool as_object) {
  realize(owner);
  if (owner->kind == Kind::Exception && !owner->source && !_PyType_Lookup(owner->object_type, name)) {
    size_t at = 0;
    while (at < owner->keys.size() && PyUnicode_Compare(owner->keys[at]->object.get(), name) != 0) ++at;
    ++num_effects_;
    owner->keys.resize(std::max(owner->keys.size(), at + 1), const_value(Ref::borrow(name)));
    owner->attributes.resize(owner->keys.size());
    owner->attributes[at] = value;
    return;
  }
  if (const std::string part = utf8(name);
      owner->kind == Kind::Array &&
      (part == "real" || (part == "imag" && is_complex(owner->tensor.dtype())))) {
    const V target = numpy_attribute(*this, owner, part);
    return assign(*this, target, target->tensor, value);
  }
  if (owner->kind == Kind::Tensor && store_tensor_attribute(*this, owner, utf8(name), value)) return;
  refuse_new_layout(owner, utf8(name));
  realize(value);
  if (owner->kind != Kind::Instance) graph_break(fmt::format("assignment to attribute '{}'", utf8(name)));
  PyObject* const method = as_object ? nullptr : python_method(owner, "__setattr__");
  if (method && is_method_of_modules(method)) {
    if (is_new_buffer(owner, name, value)) {
      const Ref buffers = checked(PyUnicode_InternFromString("_buffers"));
      store_subscript(find_instance_item(owner, buffers.get()), const_value(Ref::borrow(name)), value);
      return;
    }
    // What the module has by this name already.
    if (const V held = module_attribute(owner, name); held && realize(held) == value) return;
    if (!is_plain_in_module(owner, name, value))
      graph_break("assignment of a module, a parameter or a buffer");
    as_object = true;
  } else if (method) {
    call_method_now(owner, method, {const_value(Ref::borrow(name)), value});
    return;
  }
  if (!as_object && owner->object_type->tp_setattro != PyObject_GenericSetAttr)
    graph_break(fmt::format("assignment to attribute '{}', which the class handles", utf8(name)));
  if (!owner->source) pin_type(owner->object_type);
  PyObject* found = _PyType_Lookup(owner->object_type, name);
  if (found && is_data_descriptor(found) && Py_TYPE(found) != &PyMemberDescr_Type &&
      set_through_descriptor(owner, found, value))
    return;
  if (found && is_data_descriptor(found) && Py_TYPE(found) != &PyMemberDescr_Type)
    graph_break(fmt::format("assignment to attribute '{}', which a descriptor handles", utf8(name)));
  if (!found && owner->object_type->tp_dictoffset == 0 &&
      (owner->object_type->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0)
    graph_break(fmt::format("assignment to attribute '{}', for which there is no slot", utf8(name)));
  if (owner->source) {
    const Ref dict = Ref::steal(PyObject_GenericGetDict(owner->object.get(), nullptr));
    PyErr_Clear();
    if (dict) use_attributes(owner, dict.get(), true);
  }
  size_t at = 0;
  while (at < owner->keys.size() && PyUnicode_Compare(owner->keys[at]->object.get(), name) != 0) ++at;
  let_go(at < owner->keys.size() ? owner->items[at] : attribute_of_dict(owner, name));
  if (at == owner->keys.size()) {
    owner->keys.push_back(const_value(Ref::borrow(name)));
    owner->items.push_back(value);
    owner->changed.push_back(true);
  }
  if (stood_for(owner) && PyUnicode_CompareWithASCIIString(name, "_items") == 0) value->within = true;
  owner->items[at] = value;
  owner->changed[at] = true;
  keep_in_dict(owner, name, value);
  mark_dirty(owner);
}

void Evaluator::delete_attribute(const V& owner, PyObject* name) {
  if (owner->kind != Kind::Instance || owner->source ||
      (owner->object_type->tp_setattro != PyObject_GenericSetAttr &&
       (!python_function_of(owner->object_type, "__setattr__") ||
        python_function_of(owner->object_type, "__delattr__"))))
    graph_break(fmt::format("deletion of attribute '{}'", utf8(name)));
  size_t at = 0;
  while (at < owner->keys.size() && PyUnicode_Compare(owner->keys[at]->object.get(), name) != 0) ++at;
  if (at == owner->keys.size())
    graph_break(fmt::format("deletion of attribute '{}', which is not there", utf8(name)));
  ++num_effects_;
  owner->keys.erase(owner->keys.begin() + static_cast<std::ptrdiff_t>(at));
  owner->items.erase(owner->items.begin() + static_cast<std::ptrdiff_t>(at));
  owner->changed.erase(owner->changed.begin() + static_cast<std::ptrdiff_t>(at));
  if (owner->own_dict) {
    owner->own_dict->keys = owner->keys;
    owner->own_dict->items = owner->items;
    ++owner->own_dict->version;
  }
}

}  // namespace weft::capture
