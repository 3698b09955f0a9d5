// inspect.signature of functions and methods that are known.
#include <string_view>

#include "capture/builtins/builtins.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// The function that a signature is asked of, guarded, and those that it wraps.
void guard_wrapped(Evaluator& ev, PyObject* function) {
  static constinit InternedName wrapped("__wrapped__"), own("__signature__");
  while (function) {
    if (!PyFunction_Check(function)) graph_break("the signature of a function that wraps another object");
    ev.guard_function(function);
    PyObject* const attributes = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
    if (attributes && PyDict_GetItemWithError(attributes, own))
      graph_break("the signature of a function that names its own");
    function = attributes ? PyDict_GetItemWithError(attributes, wrapped) : nullptr;
  }
}

// As a dict: neither is changed by anybody.
V dict_of_mapping(Evaluator& ev, PyObject* mapping) {
  const Ref pairs = checked(PyMapping_Items(mapping));
  V dict = make_value(Kind::Dict);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs.get()); ++i) {
    PyObject* const pair = PyList_GET_ITEM(pairs.get(), i);
    dict->keys.push_back(const_value(Ref::borrow(PyTuple_GET_ITEM(pair, 0))));
    dict->items.push_back(ev.pinned(PyTuple_GET_ITEM(pair, 1)));
  }
  return dict;
}

}  // namespace

V parameters_of_signature(Evaluator& ev, const V& owner) {
  if (std::string_view(owner->object_type->tp_name) != "Signature" || !owner->source || !owner->object)
    return nullptr;
  const Ref type = checked(PyObject_GetAttrString(loaded_module("inspect").get(), "Signature"));
  if (type.get() != reinterpret_cast<PyObject*>(owner->object_type)) return nullptr;
  const Ref mapping = checked(PyObject_GetAttrString(owner->object.get(), "parameters"));
  return dict_of_mapping(ev, mapping.get());
}

bool is_inspect_signature(PyObject* function) {
  static constinit InternedName name("__name__");
  PyObject* const module = PyDict_GetItemWithError(PyFunction_GetGlobals(function), name);
  return module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "inspect") == 0 &&
         PyUnicode_CompareWithASCIIString(reinterpret_cast<PyFunctionObject*>(function)->func_name,
                                          "signature") == 0;
}

V signature_of(Evaluator& ev, PyObject* signature, const CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break("inspect.signature with these arguments");
  const V& asked = ev.realize(args.args[0]);
  const bool is_method = asked->kind == Kind::Method;
  const V& function = is_method ? ev.realize(asked->items[1]) : asked;
  if (!function->is_const() || !PyFunction_Check(function->object.get()))
    graph_break("the signature of an object that weft does not know");
  guard_wrapped(ev, function->object.get());
  // That of a method has one parameter less, whatever it is bound to.
  const Ref described = is_method ? checked(PyMethod_New(function->object.get(), Py_True)) : function->object;
  const Ref made = checked(PyObject_CallOneArg(signature, described.get())),
            mapping = checked(PyObject_GetAttrString(made.get(), "parameters"));
  V result = make_value(Kind::Instance);
  result->object_type = Py_TYPE(made.get());
  const Ref annotation = checked(PyObject_GetAttrString(made.get(), "return_annotation"));
  result->keys = {str_value("_parameters"), str_value("_return_annotation")};
  result->items = {dict_of_mapping(ev, mapping.get()), ev.pinned(annotation.get())};
  result->changed = {true, true};
  return result;
}

}  // namespace weft::capture
