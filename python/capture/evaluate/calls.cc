// Calls: functions that are entered, classes that are instantiated, and callables known by their lowering.
#include <fmt/format.h>

#include <functional>

#include "capture/builtins/builtins.h"
#include "capture/builtins/device_tensors.h"
#include "capture/builtins/enums.h"
#include "capture/builtins/named_tuples.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/bytecode/entered.h"
#include "capture/evaluate/entering.h"
#include "capture/evaluate/evaluator.h"
#include "capture/evaluate/frame_readers.h"
#include "capture/evaluate/mappings.h"
#include "capture/numpy/error_state.h"
#include "capture/numpy/foreign_arrays.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/compiled_object.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"

namespace weft::capture {

namespace {

// A new array in NumPy is another value than the arguments, also where it has the same elements.
V distinct(V result, const CallArgs& args) {
  if (!result || result->kind != Kind::Array || result->view_of || result->flavor != Flavor::NdArray)
    return result;
  bool same_tensor = false;
  const auto look = [&](const V& argument) {
    if (!argument || argument->kind != Kind::Array || argument == result) return argument == result;
    same_tensor |= argument->tensor.impl() == result->tensor.impl();
    return false;
  };
  const auto look_inside = [&](const V& argument) {
    if (look(argument)) return true;
    if (argument && (argument->kind == Kind::List || argument->kind == Kind::Tuple))
      for (const V& item : argument->items)
        if (look(item)) return true;
    return false;
  };
  for (const V& argument : args.args)
    if (look_inside(argument)) return result;
  for (const auto& [key, argument] : args.keywords)
    if (look_inside(argument)) return result;
  if (!same_tensor) return result;
  V copied = array_value(ops::call1("cast", {result->tensor}, {{"dtype", result->tensor.dtype()}}));
  return laid_out(copied, result->order);
}

// What a generator function gives: keywords are named in `keys`, their values come last.
V generator_value(Evaluator& ev, const V& function, CallArgs args, const Code& code) {
  if (code.iterates_argument) args.args[0] = ev.iterator(args.args[0]);
  V generator = make_value(Kind::Generator);
  generator->items = args.args;
  generator->items.insert(generator->items.begin(), function);
  for (const auto& [key, value] : args.keywords) {
    generator->keys.push_back(str_value(key));
    generator->items.push_back(value);
  }
  return generator;
}

bool is_computed(Evaluator& ev, const V& value) {
  ev.realize(value);
  if (value->kind == Kind::Array || value->kind == Kind::Scalar || value->kind == Kind::Opaque) return true;
  if (value->kind != Kind::List && value->kind != Kind::Tuple) return false;
  return std::any_of(value->items.begin(), value->items.end(),
                     [&](const V& item) { return is_computed(ev, item); });
}

// A function that compares elements stands in where these are known: otherwise the original is one break.
bool stands_in_for(Evaluator& ev, PyObject* replacement, const CallArgs& args) {
  static constinit InternedName mark("of_known_values");
  if (!PyObject_HasAttr(replacement, mark)) return true;
  return std::none_of(args.args.begin(), args.args.end(),
                      [&](const V& argument) { return is_computed(ev, argument); });
}

bool is_plain_value(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!is_plain_value(PyTuple_GET_ITEM(object, i))) return false;
    return true;
  }
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
         PyBytes_CheckExact(object);
}

}  // namespace

bool is_cached_function(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name) == "functools._lru_cache_wrapper";
}

namespace {

// A tuple in which there is a size that is not known.
bool holds_size(Evaluator& ev, const V& value) {
  return ev.realize(value)->kind == Kind::Tuple &&
         std::any_of(value->items.begin(), value->items.end(), [&](const V& item) {
           return ev.realize(item)->kind == Kind::SymInt || holds_size(ev, item);
         });
}

// The function behind the cache, where what it is called with has a size that is not known; else null.
Ref behind_cache(Evaluator& ev, PyObject* function, const CallArgs& args) {
  const auto has_size = [&](const V& value) { return holds_size(ev, value); };
  if (!std::any_of(args.args.begin(), args.args.end(), has_size) &&
      !std::any_of(args.keywords.begin(), args.keywords.end(),
                   [&](const auto& keyword) { return has_size(keyword.second); }))
    return Ref();
  Ref wrapped = checked(PyObject_GetAttrString(function, "__wrapped__"));
  return PyFunction_Check(wrapped.get()) ? wrapped : Ref();
}

// A tensor, or a container of some, which the program may have changed since it was made.
bool holds_tensors(PyObject* object) {
  if (captured_tensor(object)) return true;
  if (PyDict_Check(object)) {
    PyObject *key, *value;
    for (Py_ssize_t i = 0; PyDict_Next(object, &i, &key, &value);)
      if (holds_tensors(value)) return true;
    return false;
  }
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  const Ref items = checked(PySequence_Fast(object, ""));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    if (holds_tensors(PySequence_Fast_GET_ITEM(items.get(), i))) return true;
  return false;
}

}  // namespace

// A function behind functools.lru_cache, called for known arguments: what it gave is the object that the
// cache has. Of shapes with sizes that are not known it is entered.
V Evaluator::call_with_cache(PyObject* function, CallArgs args) {
  if (const Ref wrapped = behind_cache(*this, function, args)) {
    enter(wrapped.get(), std::move(args));
    return nullptr;
  }
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.args.size()))),
      keywords = checked(PyDict_New());
  const auto known = [&](const V& value) {
    Ref object = identified(value);
    if (!object && value->kind == Kind::SymInt) object = int_value(sym_specialize(value->sym))->object;
    if (!object) graph_break(fmt::format("a call of {}, which has a cache", callable_name(function)));
    return object;
  };
  for (size_t i = 0; i < args.args.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), known(args.args[i]).release());
  for (const auto& [key, value] : args.keywords)
    if (PyDict_SetItemString(keywords.get(), key.c_str(), known(value).get()) < 0) throw PythonError{};
  const Ref result = [&] {
    const ops::TracerScope outside(nullptr);  // what it makes is the cache's
    return checked(PyObject_Call(function, positional.get(), keywords.get()));
  }();
  if (holds_tensors(result.get())) {
    const Ref call = checked(PyTuple_Pack(3, positional.get(), keywords.get(), result.get()));
    variant_->guards.add(
        {.op = GuardOp::CacheGives, .object = function, .object2 = variant_->guards.keep(call.get())},
        fmt::format("{} gives the same object", callable_name(function)));
  }
  if (is_plain_value(result.get()) || is_annotation(result.get())) return const_value(result);
  return unify(pinned(result.get()));
}

PyTypeObject* stood_for(const V& value) {
  static constinit InternedName name("__stands_for__");
  PyObject* found =
      value->kind == Kind::Instance && !value->source ? _PyType_Lookup(value->object_type, name) : nullptr;
  return found && PyType_Check(found) ? reinterpret_cast<PyTypeObject*>(found) : nullptr;
}

std::vector<V> bind_arguments(const CallArgs& args, const char* signature) {
  std::vector<std::string> names;
  size_t num_positional = 0;
  bool keyword_only = false, extra = false;
  std::string text = signature;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(", ", at), text.size());
    const std::string name = text.substr(at, end - at);
    at = end + 2;
    if (name == "*")
      keyword_only = true;
    else if (name == "**")
      extra = true;
    else if (!name.empty()) {
      names.push_back(name);
      if (!keyword_only) ++num_positional;
    }
  }
  if (args.args.size() > num_positional) graph_break("a call with arguments that weft does not know");
  std::vector<V> result(names.size());
  std::copy(args.args.begin(), args.args.end(), result.begin());
  for (const auto& [key, value] : args.keywords) {
    const auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end()) {
      if (extra) continue;
      graph_break(fmt::format("a call with the keyword argument '{}', which weft does not know", key));
    }
    V& slot = result[static_cast<size_t>(found - names.begin())];
    if (slot) graph_break("an argument is given twice");
    slot = value;
  }
  return result;
}

namespace {

V make_namespace(PyTypeObject* type, const CallArgs& args) {
  if (!args.args.empty()) graph_break("a call of types.SimpleNamespace with a mapping");
  V instance = make_value(Kind::Instance);
  instance->object_type = type;
  for (const auto& [key, value] : args.keywords) {
    instance->keys.push_back(str_value(key));
    instance->items.push_back(value);
    instance->changed.push_back(true);
  }
  return instance;
}

// Of known arguments, a function of this module gives a known value.
bool is_of_pure_module(PyObject* function) {
  PyObject* module = PyDict_GetItemString(PyFunction_GetGlobals(function), "__name__");
  return module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "statistics") == 0;
}

// torch.Tensor([1, 2]), torch.LongTensor([1, 2]): of which dtype, null standing for the default one; nothing
// for a call of another kind.
std::optional<Ref> dtype_of_numbers(Evaluator& ev, PyTypeObject* type, const CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) return {};
  const V& numbers = ev.realize(args.args[0]);
  if (numbers->kind != Kind::List && (numbers->kind != Kind::Tuple || numbers->object_type)) return {};
  if (type == tensor_class()) return Ref();
  auto* const object = reinterpret_cast<PyObject*>(type);
  static constinit InternedName mark("_is_tensor_type"), dtype("dtype");
  if (Py_TYPE(type) == &PyType_Type || !_PyType_Lookup(type, mark)) return {};
  return checked(PyObject_GetAttr(object, dtype));
}

}  // namespace

V Evaluator::construct(const V& type_value, CallArgs args) {
  auto* type = reinterpret_cast<PyTypeObject*>(type_value->object.get());
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && (type->tp_finalize || type->tp_del))
    throw GraphBreak{
        .reason = fmt::format("a call of {}, whose objects do something when they end", type->tp_name),
        .is_last = true};
  if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
    return construct_exception(type, std::move(args));
  if (is_named_tuple(type)) return make_named_tuple(*this, type, args);
  if (is_enum_class(type)) return enum_call(*this, type, args);
  static constinit InternedName init_name("__init__");
  if (is_namespace_class(type)) return make_namespace(type, args);
  if (const std::optional<Ref> dtype = dtype_of_numbers(*this, type, args)) {
    static constinit MadeOnce<Ref> tensor_of_numbers;
    args.args.push_back(const_value(*dtype ? *dtype : Ref::borrow(Py_None)));
    enter(tensor_of_numbers.get([] { return entered_function("tensor_of_numbers"); }).get(), std::move(args));
    return nullptr;
  }
  if (!is_instantiable(type) || PyType_IsSubtype(type, tensor_class()))
    graph_break(fmt::format("a call of {}", callable_name(type_value->object.get())));
  const bool is_dict = is_dict_class(type);
  if (type->tp_new != (is_dict ? &PyDict_Type : &PyBaseObject_Type)->tp_new) {
    if (python_function_of(type, "__getattribute__"))  // which the stand-in for the call would ask
      graph_break(fmt::format("a call of {}", callable_name(type_value->object.get())));
    static constinit MadeOnce<Ref> construct;
    args.args.insert(args.args.begin(), type_value);
    enter(construct.get([] { return entered_function("construct"); }).get(), std::move(args));
    return nullptr;
  }
  pin_type(type);
  V instance = make_value(Kind::Instance);
  instance->object_type = type;
  PyObject* init = _PyType_Lookup(type, init_name);
  if (init && PyFunction_Check(init)) {
    args.args.insert(args.args.begin(), instance);
    enter(init, std::move(args), OnReturn::Instance, instance);
    return nullptr;
  }
  if (is_dict) {
    V update = make_value(Kind::Bound);
    update->items = {contents_of(*this, instance)};
    update->name = "update";
    call_bound(update, std::move(args));
    return instance;
  }
  if (type->tp_init != PyBaseObject_Type.tp_init || !args.args.empty() || !args.keywords.empty())
    graph_break(fmt::format("a call of {}", callable_name(type_value->object.get())));
  return instance;
}

// The function __weft_operator__ of the class of an argument, which the operators of weft's are left to; null
// where there is none.
PyObject* Evaluator::overriding_operator(const CallArgs& args) {
  static constinit InternedName name("__weft_operator__");
  const std::function<PyObject*(const V&)> find = [&](const V& value) -> PyObject* {
    realize(value);
    if (value->kind == Kind::List || value->kind == Kind::Tuple) {
      for (const V& item : value->items)
        if (PyObject* found = find(item)) return found;
      return nullptr;
    }
    if (value->kind != Kind::Instance) return nullptr;
    PyObject* const found = _PyType_Lookup(value->object_type, name);
    return found && PyFunction_Check(found) ? found : nullptr;
  };
  for (const V& arg : args.args)
    if (PyObject* found = find(arg)) return found;
  for (const auto& [keyword, arg] : args.keywords)
    if (PyObject* found = find(arg)) return found;
  return nullptr;
}

// Is one of an operator's operands of such a class?
bool Evaluator::overrides_operators(const V& a, const V& b) {
  if (a->kind != Kind::Instance && b->kind != Kind::Instance) return false;
  CallArgs both;
  both.args = {a, b};
  return overriding_operator(both) != nullptr;
}

V Evaluator::call_const(const V& callable, CallArgs args) {
  PyObject* object = callable->object.get();
  if (watches_ends(object))
    throw GraphBreak{
        .reason = fmt::format("a call of {}, which tells when objects end", callable_name(object)),
        .is_last = true};
  if (reads_its_callers_variables(object, args.args.size()))
    throw GraphBreak{.reason = fmt::format("a call of {}, which looks at its caller", callable_name(object)),
                     .keeps_variables = true};
  if (object == reinterpret_cast<PyObject*>(&PySuper_Type) && args.args.empty() && args.keywords.empty())
    return zero_argument_super();
  if (object == reinterpret_cast<PyObject*>(&PySuper_Type) && args.args.size() == 2 && args.keywords.empty())
    return super_value(args.args[0], args.args[1]);
  if (is_weft_operator(object)) {
    if (PyObject* function = overriding_operator(args)) {
      args.args.insert(args.args.begin(), const_value(checked(PyObject_GetAttrString(object, "__name__"))));
      enter(function, std::move(args));
      return nullptr;
    }
    return call_on_tensors(*this, object, args);
  }
  for (const bool of_arrays : {false, true}) {
    if (object != reinterpret_cast<PyObject*>(tensor_class(of_arrays)) || args.args.size() != 1 ||
        !args.keywords.empty() || realize(args.args[0])->kind != Kind::Tensor)
      continue;
    V alias = tensor_value(args.args[0]->items[0]);
    alias->is_array = of_arrays;
    return alias;
  }
  if (joins_long_list(object, args))
    throw GraphBreak{.reason = "an array of a long list", .is_planned = true};
  const std::string called = callable_name(object);
  const bool is_numpys = called.starts_with("numpy.");
  if (is_numpys) {
    refuse_foreign_arrays(*this, called, args);
    take_for_arrays(*this, args);
  }
  if (is_ufunc(object) && has_tensor_value(*this, args)) return ufunc_of_tensors(*this, object, args);
  // A Python source stands in for what the lowering cannot do.
  PyObject* replacement = find_replacement(object);
  if (replacement && called.starts_with("copy.")) refuse_foreign_arrays(*this, called, args);
  if (Lowering lowering = find_lowering(object)) {
    CallArgs given = args;
    if (is_ufunc(object))
      std::transform(args.args.begin(), args.args.end(), given.args.begin(),
                     [&](const V& arg) { return number_of_member(realize(arg), true); });
    const auto lower = [&] {
      V result = refuse_known(*this, distinct(lowering(*this, given), args));
      return PyType_Check(object) ? result : with_default_float(std::move(result), args);
    };
    if (!replacement) return lower();
    const Mark before = mark();
    try {
      return lower();
    } catch (const GraphBreak&) {
      undo(before, "a call that cannot be evaluated to its end");
    }
  }
  if (replacement && !stands_in_for(*this, replacement, args))
    graph_break(fmt::format("a call of {} with computed values", callable_name(object)));
  if (replacement && history_.knows({Lesson::Kind::PythonsLibrary}))
    graph_break(fmt::format("a call of {}", callable_name(object)));
  if (replacement && PyType_Check(replacement)) return construct(pinned(replacement), std::move(args));
  if (replacement) {
    enter_for(callable_name(object), replacement, std::move(args));
    return nullptr;
  }
  if (Py_TYPE(object) == &PyWrapperDescr_Type && !args.args.empty() &&
      realize(args.args[0])->kind == Kind::Exception && callable_name(object).ends_with("__init__")) {
    const V exception = args.args[0];
    args.args.erase(args.args.begin());
    return initialize_exception(exception, args);
  }
  if (Py_TYPE(object) == &PyWrapperDescr_Type && PyDescr_TYPE(object) == &PyDict_Type && !args.args.empty()) {
    // dict.__init__(self, …) in a subclass.
    if (const V method = dict_attribute(*this, args.args[0], object)) {
      args.args.erase(args.args.begin());
      return call(method, std::move(args));
    }
  }
  if (is_cached_function(object)) return call_with_cache(object, args);
  // Methods of builtin classes: itertools.chain.from_iterable, dict.fromkeys.
  if (PyCFunction_Check(object) && PyCFunction_GET_SELF(object) &&
      PyType_Check(PyCFunction_GET_SELF(object))) {
    auto* owner = reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(object));
    if (PyObject* method = find_method_replacement(fmt::format(
            "{}.{}", owner->tp_name, reinterpret_cast<PyCFunctionObject*>(object)->m_ml->ml_name))) {
      enter(method, std::move(args));
      return nullptr;
    }
  }
  if (PyFunction_Check(object))
    if (V answer = answer_when_captured(*this, object, args)) return answer;
  if (PyFunction_Check(object) && is_of_pure_module(object)) return fold_call(*this, object, args);
  if (PyFunction_Check(object) && is_inspect_signature(object)) return signature_of(*this, object, args);
  if (PyFunction_Check(object)) {
    if (const Code& code = decode(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object))); code.is_generator) {
      enter(object, args);  // where the arguments fit
      frames_.pop_back();
      return generator_value(*this, callable, std::move(args), code);
    }
    enter(object, std::move(args));
    return nullptr;
  }
  // A compiled function is a part of the graph around it.
  if (PyObject* function = compiled_function(object); function && PyFunction_Check(function)) {
    enter(function, std::move(args));
    return nullptr;
  } else if (function && callable->source) {  // of a module, of a method
    const V wrapped = lazy_value(function, attribute_source(callable->source, "__wrapped__"));
    return call(wrapped, std::move(args));
  }
  if (PyType_Check(object)) return construct(callable, std::move(args));
  // Functions behind NumPy's dispatcher are Python functions over others: entered when nothing is known of
  // them.
  if (std::string_view(Py_TYPE(object)->tp_name) == "numpy._ArrayFunctionDispatcher") {
    Ref implementation = Ref::steal(PyObject_GetAttrString(object, "_implementation"));
    if (implementation && PyFunction_Check(implementation.get())) {
      enter_for(callable_name(object), implementation.get(), std::move(args));
      return nullptr;
    }
    PyErr_Clear();
  }
  graph_break(fmt::format("a call of {}", callable_name(object)));
}

V Evaluator::call_bound(const V& bound, CallArgs args) {
  const V& self = bound->items[0];
  if (is_unread_list(self) && bound->name == "append" && args.args.size() == 1 && args.keywords.empty()) {
    append_to_unread(self, args.args[0]);
    return none_value();
  }
  if (realize(self)->kind == Kind::Array) {
    Lowering lowering = find_array_method(bound->name);
    PyObject* replacement = find_method_replacement(bound->name);
    if (!lowering && !replacement) graph_break(fmt::format("a call of the array method '{}'", bound->name));
    refuse_foreign_arrays(*this, fmt::format("the array method '{}'", bound->name), args);
    args.args.insert(args.args.begin(), self);
    CallArgs given = args;
    const auto lower = [&] {
      return with_default_float(refuse_known(*this, distinct(lowering(*this, given), args)), args);
    };
    if (!replacement) return lower();
    if (lowering) {
      const Mark before = mark();
      try {
        return lower();
      } catch (const GraphBreak&) {
        undo(before, "a call that cannot be evaluated to its end");
      }
    }
    enter_for(fmt::format("the array method '{}'", bound->name), replacement, std::move(args));
    return nullptr;
  }
  if (self->kind == Kind::Tensor) return call_tensor_method(*this, self, bound->name, args);
  return call_builtin_method(*this, self, bound->name, args);
}

V Evaluator::call(const V& callable, CallArgs args) {
  realize(callable);
  switch (callable->kind) {
    case Kind::Const:
      if (PyObject* method = python_method(callable, "__call__")) {
        args.args.insert(args.args.begin(), callable);
        enter(method, std::move(args));
        return nullptr;
      }
      return call_const(callable, std::move(args));
    case Kind::Method:
      args.args.insert(args.args.begin(), callable->items[0]);
      return call(callable->items[1], std::move(args));
    case Kind::Bound: return call_bound(callable, std::move(args));
    case Kind::Function:
      if (const Code& code = decode(reinterpret_cast<PyCodeObject*>(callable->object.get())); code.is_generator) {
        enter_made(callable, args);  // where the arguments fit
        frames_.pop_back();
        return generator_value(*this, callable, std::move(args), code);
      }
      enter_made(callable, std::move(args));
      return nullptr;
    case Kind::Partial: {
      CallArgs all;
      all.args = elements(callable->items[1]);
      all.args.insert(all.args.end(), args.args.begin(), args.args.end());
      const V& keywords = realize(callable->items[2]);
      for (size_t i = 0; i < keywords->keys.size(); ++i) {
        const std::string key = utf8(keywords->keys[i]->object.get());
        if (!args.keyword(key)) all.keywords.emplace_back(key, keywords->items[i]);
      }
      all.keywords.insert(all.keywords.end(), args.keywords.begin(), args.keywords.end());
      return call(callable->items[0], std::move(all));
    }
    case Kind::Instance: {
      static constinit InternedName call_name("__call__");
      if (!callable->source) pin_type(callable->object_type);
      PyObject* method = _PyType_Lookup(callable->object_type, call_name);
      if (method && PyFunction_Check(method)) {
        args.args.insert(args.args.begin(), callable);
        PyObject* replacement = find_replacement(method);
        if (replacement) refuse_foreign_arrays(*this, callable_name(method), args);
        enter(replacement ? replacement : method, std::move(args));
        return nullptr;
      }
      break;
    }
    case Kind::Opaque: graph_break(fmt::format("a call of {}", callable_name(callable->object.get())));
    default: break;
  }
  graph_break("a call of an object that weft does not know");
}

}  // namespace weft::capture
