// super(), and the attributes that are found behind a class.
#include "capture/builtins/builtins.h"
#include "capture/evaluate/evaluator.h"

namespace weft::capture {

static V attribute_of_super_class(Evaluator& ev, const V& type, PyObject* found) {
  if (PyFunction_Check(found) || PyCFunction_Check(found)) return ev.pinned(found);
  const bool is_class_method = Py_TYPE(found) == &PyClassMethod_Type;
  if (!is_class_method && Py_TYPE(found) != &PyStaticMethod_Type)
    graph_break("an attribute of super() in a class");
  const Ref function = checked(PyObject_GetAttrString(found, "__func__"));
  const V pinned = ev.pinned(function.get());
  if (!is_class_method) return pinned;
  V method = make_value(Kind::Method);
  method->items = {type, pinned};
  return method;
}

// The attribute of the first class behind `type` in the MRO of self's class that has it.
V Evaluator::super_attribute(const V& self, PyTypeObject* type, PyObject* name) {
  const bool of_class = self->is_const();  // in a classmethod or __new__
  auto* self_type = of_class ? reinterpret_cast<PyTypeObject*>(self->object.get()) : self->object_type;
  if (!self->source || of_class) pin_type(self_type);
  PyObject* mro = self_type->tp_mro;
  bool after = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (after) {
      Ref dict = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), "__dict__"));
      if (Ref found = Ref::steal(PyObject_GetItem(dict.get(), name)))
        return of_class ? attribute_of_super_class(*this, self, found.get())
                        : class_attribute(self, name, found.get());
      PyErr_Clear();
    }
    if (base == type) after = true;
  }
  graph_break("an attribute that super() does not have");
}

V Evaluator::super_value(const V& type, const V& self) {
  realize(self);
  const bool is_class = self->is_const() && PyType_Check(self->object.get());
  const bool is_instance = self->kind == Kind::Instance || self->kind == Kind::Exception;
  if (!realize(type)->is_const() || !PyType_Check(type->object.get()) || !(is_class || is_instance))
    graph_break("super()");
  V super = make_value(Kind::Super);
  super->object_type = reinterpret_cast<PyTypeObject*>(type->object.get());
  super->items = {self};
  return super;
}

V Evaluator::zero_argument_super() {
  const Code& code = *frame().code;
  for (int i = code.num_locals - code.num_free; i < code.num_locals; ++i) {
    if (PyUnicode_CompareWithASCIIString(code.local_names[static_cast<size_t>(i)].get(), "__class__") != 0)
      continue;
    const V cell = realize(frame().locals[static_cast<size_t>(i)]);
    V self = frame().locals[0];
    if (self && realize(self)->kind == Kind::Cell) self = self->items[0];
    if (cell->kind == Kind::Cell && cell->items[0] && self) return super_value(cell->items[0], self);
  }
  const std::string reason = "super() outside of a class";
  if (code.code()->co_argcount > 0 && frame().locals[0])
    raise(PyExc_RuntimeError, {str_value("super(): __class__ cell not found")}, reason);
  throw GraphBreak{.reason = reason, .keeps_variables = true};
}

}  // namespace weft::capture
