// Attributes of the program's objects in native loops: read when the loop is entered, held as variables, and
// those that the loop sets are set when it is left.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/loops.h"

namespace weft::capture {

namespace {

constexpr size_t kMaxObjects = 16, kMaxNames = 64;

// Its attributes are in its __dict__ or its class, and looking at them runs no code of the program.
bool is_plain(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && type->tp_getattro == PyObject_GenericGetAttr &&
         !PyType_Check(object) && !PyExceptionInstance_Check(object);
}

bool is_slot(PyObject* found) { return Py_TYPE(found) == &PyMemberDescr_Type; }

// Does looking the class's object up run code of the program?
bool runs_code(PyObject* found) {
  const PyTypeObject* type = Py_TYPE(found);
  return type->tp_descr_get && !is_slot(found) && type != &PyFunction_Type && type != &PyMethodDescr_Type &&
         type != &PyStaticMethod_Type && type != &PyClassMethod_Type;
}

bool is_property(PyObject* found) { return Py_TYPE(found) == &PyProperty_Type; }

// Names that a loop may look up: those of its code, and of the functions it may call.
class Names {
 public:
  Names(const Code& code, PyObject* globals) : globals_(globals) {
    for (const Ref& name : code.names) add(name.get());
  }

  void add(PyObject* name) {
    if (names_.size() >= kMaxNames || std::find(names_.begin(), names_.end(), name) != names_.end()) return;
    names_.push_back(name);
    PyObject* global = PyDict_GetItemWithError(globals_, name);
    if (global) add_function(global);
  }

  // A function, or a property's.
  void add_function(PyObject* object) {
    Ref getter;
    if (is_property(object)) {
      getter = Ref::steal(PyObject_GetAttrString(object, "fget"));
      object = getter.get();
    }
    if (!object || !PyFunction_Check(object)) return;
    PyObject* used = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object))->co_names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(used); ++i) add(PyTuple_GET_ITEM(used, i));
  }

  size_t size() const { return names_.size(); }
  PyObject* operator[](size_t i) const { return names_[i]; }

 private:
  PyObject* globals_;
  std::vector<PyObject*> names_;  // interned, kept by the code
};

}  // namespace

void LoopEntry::read_attributes(LoopFrame& frame) {
  if (objects.empty()) return;
  Names names(*frame.code, frame.globals);
  // Objects are added as they are met.
  for (size_t i = 0; i < std::min(objects.size(), kMaxObjects); ++i) {
    const Ref object = objects[i];
    if (!object) continue;
    PyTypeObject* type = Py_TYPE(object.get());
    if (generator_kind(type) != GeneratorKind::None) {
      of_objects.classes[static_cast<int>(i)] = Ref::borrow(reinterpret_cast<PyObject*>(type));
      continue;
    }
    if (!is_plain(object.get())) continue;
    of_objects.classes[static_cast<int>(i)] = Ref::borrow(reinterpret_cast<PyObject*>(type));
    for (size_t n = 0; n < names.size(); ++n) {
      PyObject* found = _PyType_Lookup(type, names[n]);
      if (found) names.add_function(found);
      if (found && (runs_code(found) || (Py_TYPE(found)->tp_descr_set && !is_slot(found)))) continue;
      Ref value = Ref::steal(PyObject_GenericGetAttr(object.get(), names[n]));
      if (!value) {
        PyErr_Clear();
        continue;
      }
      // Made at every look-up; functions are found in the class when the code is built.
      if (PyMethod_Check(value.get()) || PyCFunction_Check(value.get())) continue;
      const bool is_resized = PyList_CheckExact(value.get()) && !appended_lists.count(value.get());
      if (is_resized && resized_attributes.count(utf8(names[n]))) resized_lists.insert(value.get());
      frame.locals.push_back(classify(value.get()));
      const bool is_of_class = found == value.get();
      of_objects.attributes.push_back({static_cast<int>(i), Ref::borrow(names[n]), is_of_class, false});
    }
  }
}

LoopValue* LoopBuilder::object_attribute(const LoopValue& owner, PyObject* name) {
  if (owner.kind != LoopKind::Object) return nullptr;
  LoopFrame& outermost = frames_.front();
  const auto first = static_cast<size_t>(outermost.code->num_locals);
  const std::vector<LoopAttribute>& attributes = result_.objects.attributes;
  for (size_t i = 0; i < attributes.size(); ++i)
    if (attributes[i].object == owner.index && PyUnicode_Compare(attributes[i].name.get(), name) == 0)
      return &outermost.locals[first + i];
  return nullptr;
}

PyObject* LoopBuilder::in_class(const LoopValue& owner, PyObject* name, const PyTypeObject& type) {
  if (owner.kind != LoopKind::Object || object_attribute(owner, name)) return nullptr;
  const auto known = result_.objects.classes.find(owner.index);
  if (known == result_.objects.classes.end()) return nullptr;
  PyObject* found = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(known->second.get()), name);
  if (!found || Py_TYPE(found) != &type) return nullptr;
  pin(known->second.get(), nullptr, name, found);
  return found;
}

bool LoopBuilder::load_property(const LoopValue& owner, PyObject* name) {
  PyObject* found = in_class(owner, name, PyProperty_Type);
  if (!found) return false;
  const Ref getter = checked(PyObject_GetAttrString(found, "fget"));
  if (!PyFunction_Check(getter.get())) return false;
  result_.kept.push_back(getter);
  call_function(getter.get(), {owner}, {});
  return true;
}

void LoopBuilder::store_attribute(const LoopValue& owner, PyObject* name, LoopValue value) {
  LoopValue* held = object_attribute(owner, name);
  if (!held) throw LoopUnsupported{fmt::format("the attribute '{}' is set", utf8(name))};
  const PyObject* type = result_.objects.classes.at(owner.index).get();
  LoopAttribute& attribute =
      result_.objects.attributes[static_cast<size_t>(held - &frames_.front().locals[0]) -
                                 static_cast<size_t>(frames_.front().code->num_locals)];
  if (attribute.is_of_class ||
      reinterpret_cast<const PyTypeObject*>(type)->tp_setattro != PyObject_GenericSetAttr)
    throw LoopUnsupported{fmt::format("the attribute '{}' is set", utf8(name))};
  attribute.is_stored = true;
  *held = std::move(value);
}

}  // namespace weft::capture
