// weft.Tensor objects in NumPy programs: from_numpy() and .numpy() share memory and are no graph breaks;
// weft's operators on them are recorded by calling them with traced tensors.
#include "capture/builtins/weft_tensors.h"

#include <fmt/format.h>

#include "array.h"
#include "bindings.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// The tensor as an object of Python's, for weft's own functions.
Ref traced_object(Evaluator& ev, const V& value) {
  ev.realize(value);
  if (value->kind == Kind::Tensor)
    return Ref::steal(python::to_python(ev.realize(value->items[0])->tensor).release().ptr());
  if (value->kind == Kind::List || (value->kind == Kind::Tuple && !value->object_type)) {
    Ref list = checked(PyList_New(0));
    for (const V& item : value->items)
      if (PyList_Append(list.get(), traced_object(ev, item).get()) < 0) throw PythonError{};
    return value->kind == Kind::List ? list : checked(PyList_AsTuple(list.get()));
  }
  if (value->kind == Kind::SymInt) return int_value(sym_specialize(value->sym))->object;
  Ref object = ev.constant(value);
  if (!object) graph_break("an operator of weft's with an argument that is not known");
  return object;
}

// Results look at the memory of the argument that they are views of.
V viewed(Evaluator& ev, V array, const std::vector<V>& args) {
  const auto base = ev.tracer().base_view(array->tensor);
  if (!base) return array;
  for (const V& arg : args) {
    if (arg->kind != Kind::Tensor) continue;
    const auto of = ev.tracer().base_view(arg->items[0]->tensor);
    if (of && of->base.impl() == base->base.impl()) array->view_of = arg->items[0];
  }
  return array;
}

V result_value(Evaluator& ev, PyObject* object, const std::vector<V>& args) {
  if (python::is_array(object)) graph_break("an array of weft.numpy");
  if (const Tensor* tensor = python::tensor_of_python(object))
    return tensor_value(viewed(ev, array_value(*tensor), args));
  if (!PyTuple_Check(object) && !PyList_Check(object)) return const_value(Ref::borrow(object));
  std::vector<V> items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    items.push_back(result_value(ev, PySequence_Fast_GET_ITEM(object, i), args));
  return PyTuple_Check(object) ? tuple_value(std::move(items)) : list_value(std::move(items));
}

bool changes_an_argument(const std::string& name, const CallArgs& args) {
  const bool is_special = name.starts_with("__");
  return (!is_special && name.ends_with("_")) || name.starts_with("__i") || name == "__setitem__" ||
         args.keyword("out");
}

V call_traced(Evaluator& ev, const Ref& function, const std::string& name, const std::vector<V>& all,
              size_t first, const CallArgs& args) {
  if (changes_an_argument(name, args)) graph_break(fmt::format("'{}' changes a tensor", name));
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(all.size() - first))),
      keywords = checked(PyDict_New());
  for (size_t i = first; i < all.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i - first),
                     traced_object(ev, all[i]).release());
  for (const auto& [key, value] : args.keywords)
    if (PyDict_SetItemString(keywords.get(), key.c_str(), traced_object(ev, value).get()) < 0)
      throw PythonError{};
  const Ref result = Ref::steal(PyObject_Call(function.get(), positional.get(), keywords.get()));
  if (!result) {
    clear_error();  // raised again when the call is performed for real
    graph_break(fmt::format("weft's '{}' of these tensors", name));
  }
  return result_value(ev, result.get(), all);
}

V from_numpy(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "array");
  const V& array = bound[0] ? ev.realize(bound[0]) : bound[0];
  if (!array || array->kind != Kind::Array || array->flavor != Flavor::NdArray)
    graph_break("weft.from_numpy() of this object");
  return tensor_value(array);
}

}  // namespace

V tensor_value(V array) {
  V value = make_value(Kind::Tensor);
  value->items = {std::move(array)};
  return value;
}

bool has_tensor_value(Evaluator& ev, const CallArgs& args) {
  const auto is_tensor = [&](const V& value) {
    if (!value) return false;
    ev.realize(value);
    if (value->kind == Kind::Tensor) return true;
    return (value->kind == Kind::List || value->kind == Kind::Tuple) &&
           std::any_of(value->items.begin(), value->items.end(),
                       [&](const V& item) { return ev.realize(item)->kind == Kind::Tensor; });
  };
  return std::any_of(args.args.begin(), args.args.end(), is_tensor) ||
         std::any_of(args.keywords.begin(), args.keywords.end(),
                     [&](const auto& pair) { return is_tensor(pair.second); });
}

V call_on_tensors(Evaluator& ev, PyObject* callable, CallArgs& args) {
  return call_traced(ev, Ref::borrow(callable), callable_name(callable), args.args, 0, args);
}

V call_tensor_method(Evaluator& ev, const V& self, const std::string& name, CallArgs& args) {
  if (name == "numpy" && args.args.empty() && args.keywords.empty()) return ev.realize(self->items[0]);
  const char* const attribute = name == "size" ? "_sizes" : name.c_str();
  const Ref object = traced_object(ev, self),
            method = checked(PyObject_GetAttrString(object.get(), attribute));
  std::vector<V> all = args.args;
  all.insert(all.begin(), self);
  return call_traced(ev, method, name, all, 1, args);
}

V tensor_attribute(Evaluator& ev, const V& self, const std::string& name) {
  const Tensor& tensor = ev.realize(self->items[0])->tensor;
  if (name == "shape") {
    std::vector<V> sizes;
    for (Sym size : ops::sym_shape(tensor)) sizes.push_back(sym_value(size));
    return tuple_value(std::move(sizes));
  }
  if (name == "ndim") return int_value(tensor.dim());
  if (name == "dtype") return const_value(Ref::steal(python::to_python(tensor.dtype()).release().ptr()));
  const auto method = [&] {
    V bound = make_value(Kind::Bound);
    bound->items = {self};
    bound->name = name;
    return bound;
  };
  if (name == "size") return method();
  const Ref object = traced_object(ev, self);
  const Ref found = Ref::steal(PyObject_GetAttrString(object.get(), name.c_str()));
  PyErr_Clear();
  if (found && python::tensor_of_python(found.get())) return result_value(ev, found.get(), {self});
  if (!found || !PyCallable_Check(found.get())) graph_break(fmt::format("attribute '{}' of a tensor", name));
  return method();
}

V read_attribute(Evaluator& ev, V value) {
  if (!value || value->kind != Kind::Bound || value->name != "size" || value->items[0]->kind != Kind::Tensor)
    return value;
  return sym_value(product(ops::sym_shape(ev.realize(value->items[0]->items[0])->tensor)));
}

V operate_on_tensors(Evaluator& ev, const char* function, std::vector<V> operands) {
  const Ref module = checked(PyImport_ImportModule("operator")),
            found = checked(PyObject_GetAttrString(module.get(), function));
  return call_traced(ev, found, function, operands, 0, {});
}

void register_weft_tensors() { register_lowering("weft._C.from_numpy", from_numpy); }

}  // namespace weft::capture
