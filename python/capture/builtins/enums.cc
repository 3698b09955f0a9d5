#include "capture/builtins/enums.h"

#include <fmt/format.h>

#include "capture/builtins/builtins.h"
#include "capture/objects/made_once.h"

namespace weft::capture {

V number_of_member(const V& value, bool for_array) {
  if (!value->is_const() || !is_enum_member(value->object.get())) return value;
  PyObject* member = value->object.get();
  if (PyLong_Check(member)) {
    if (!for_array) return const_value(checked(_PyLong_Copy(reinterpret_cast<PyLongObject*>(member))));
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(member, &overflow);
    if (overflow) graph_break("a large member of an enum class beside an array");
    return array_value(Tensor::scalar(Scalar(static_cast<int64_t>(number)), DType::I64), Flavor::NumpyScalar);
  }
  if (!PyFloat_Check(member)) return value;
  if (!for_array) return const_value(checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(member))));
  return array_value(Tensor::scalar(PyFloat_AS_DOUBLE(member), DType::F64), Flavor::NumpyScalar);
}

V enum_attribute(Evaluator& ev, const V& member, PyObject* name) {
  PyObject* object = member->object.get();
  PyTypeObject* type = Py_TYPE(object);
  PyObject* found = _PyType_Lookup(type, name);
  if (found && PyFunction_Check(found)) {
    ev.pin_type(type);
    V method = make_value(Kind::Method);
    method->items = {member, ev.pinned(found)};
    return method;
  }
  if (found && Py_TYPE(found) == &PyProperty_Type) {
    ev.pin_type(type);
    const Ref getter = checked(PyObject_GetAttrString(found, "fget"));
    if (!PyFunction_Check(getter.get())) graph_break("a property without a Python getter");
    CallArgs args;
    args.args = {member};
    ev.enter(getter.get(), std::move(args));
    return nullptr;
  }
  const Ref value = checked(PyObject_GetAttr(object, name));
  const std::string text = utf8(name);
  if (text == "value" || text == "name") return ev.pinned(value.get());
  if (PyCFunction_Check(value.get()) || Py_TYPE(value.get())->tp_name == std::string_view("method-wrapper")) {
    V bound = make_value(Kind::Bound);
    bound->items = {member};
    bound->name = text;
    return bound;
  }
  return lazy_value(value.get(), make_source({.step = Source::Step::Attribute,
                                              .base = pinned_source(object),
                                              .key = Ref::borrow(name),
                                              .object = {},
                                              .object2 = {}}));
}

V enum_call(Evaluator& ev, PyTypeObject* type, const CallArgs& args) {
  static constinit InternedName missing("_missing_");
  PyObject* hook = _PyType_Lookup(type, missing);
  const Ref function = hook ? Ref::steal(PyObject_GetAttrString(hook, "__func__")) : Ref();
  PyErr_Clear();
  auto* object = reinterpret_cast<PyObject*>(type);
  if (args.args.size() != 1 || !args.keywords.empty() || (function && !is_enum_function(function.get())))
    graph_break(fmt::format("a call of {}", callable_name(object)));
  const Ref value = ev.constant(args.args[0]);
  if (!value) graph_break(fmt::format("a call of {} with a computed value", callable_name(object)));
  return const_value(checked(PyObject_CallOneArg(object, value.get())));
}

}  // namespace weft::capture
