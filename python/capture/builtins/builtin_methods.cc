// Methods of lists, dicts, sets, iterators and constants, and what they share with the builtin functions.
#include <fmt/format.h>

#include <algorithm>

#include "capture/builtins/builtins.h"
#include "capture/builtins/enums.h"
#include "capture/builtins/named_tuples.h"
#include "capture/builtins/sets.h"
#include "capture/numpy/names.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

void expect(const CallArgs& args, size_t low, size_t high) {
  if (!args.keywords.empty() || args.args.size() < low || args.args.size() > high)
    graph_break("a call with arguments that weft does not know");
}

Ref as_tuple(Evaluator& ev, const std::vector<V>& args) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  for (size_t i = 0; i < args.size(); ++i) {
    Ref item = ev.constant(args[i]);
    if (!item && args[i]->kind == Kind::SymInt) item = int_value(sym_specialize(args[i]->sym))->object;
    if (!item) item = ev.described(args[i]);
    if (!item) graph_break("a call whose arguments are not known");
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  return tuple;
}

// What a function has made of known values: a list is one of the program's own.
static V made_value(const Ref& object) {
  if (!PyList_CheckExact(object.get())) return const_value(object);
  std::vector<V> items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object.get()); ++i)
    items.push_back(made_value(Ref::borrow(PyList_GET_ITEM(object.get(), i))));
  return list_value(std::move(items));
}

V fold_call(Evaluator& ev, PyObject* function, const CallArgs& args) {
  if (args.keywords.empty())
    if (V number = ev.computed(0, function, args.args)) return number;
  Ref tuple = as_tuple(ev, args.args), keywords = checked(PyDict_New());
  for (const auto& [key, value] : args.keywords) {
    Ref object = ev.constant(value);
    if (!object) graph_break("a call whose arguments are not known");
    PyDict_SetItemString(keywords.get(), key.c_str(), object.get());
  }
  return made_value(checked(PyObject_Call(function, tuple.get(), keywords.get())));
}

// abs(), round(), math.floor() and others of an instance are methods of its class. Null where they are not.
static V fold_by_method(Evaluator& ev, const std::string& name, CallArgs& args) {
  static constexpr std::pair<std::string_view, PyTypeObject*> kMethods[] = {
      {"abs", nullptr},           {"round", nullptr},
      {"floor", nullptr},         {"ceil", nullptr},
      {"trunc", nullptr},         {"hash", &PyLong_Type},
      {"float", &PyFloat_Type},   {"int", &PyLong_Type},
      {"bytes", &PyBytes_Type},   {"complex", &PyComplex_Type},
      {"format", &PyUnicode_Type}};
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                  [&](const auto& entry) { return entry.first == name; });
  if (args.args.empty() || found == std::end(kMethods)) return nullptr;
  PyObject* method = ev.python_method(args.args[0], fmt::format("__{}__", name).c_str());
  if (!method) return nullptr;
  std::vector<V> others = {args.args.begin() + 1, args.args.end()};
  if (name == "format" && others.empty()) others = {str_value("")};
  const V value = ev.realize(ev.call_method_now(args.args[0], method, std::move(others)));
  // What the method may not give, Python refuses or makes another value of.
  PyTypeObject* type = found->second;
  if (type && ev.python_type(value) != type) graph_break(fmt::format("what __{}__ has given", name));
  if (name != "hash") return value;
  int overflow = 0;
  const bool is_plain = value->is_const() &&
                        PyLong_AsLongLongAndOverflow(value->object.get(), &overflow) != -1 && overflow == 0;
  PyErr_Clear();
  if (!is_plain) graph_break("what __hash__ has given");
  return value;
}

V fold(Evaluator& ev, const char* module, const char* name, CallArgs& args) {
  if (V value = fold_by_method(ev, name, args)) return value;
  return fold_call(ev, lowered_object(fmt::format("{}.{}", module, name)), args);
}

namespace {

// The list is empty while it is sorted, and must be so when it has been.
void sort_list(Evaluator& ev, const V& list, CallArgs& args) {
  PyObject* sorted = PyDict_GetItemString(PyEval_GetBuiltins(), "sorted");
  const std::vector<V> before = std::exchange(list->items, {});
  args.args = {list_value(before)};
  std::vector<V> items;
  try {
    items = ev.elements(ev.call_now(const_value(Ref::borrow(sorted)), args));
  } catch (...) {
    list->items = before;
    throw;
  }
  const bool is_changed = !list->items.empty();
  list->items = before;
  if (is_changed) graph_break("a list that is changed while it is sorted");
  ev.mark_dirty(list);
  list->items = std::move(items);
}

// Each element that the program's code computes is in the container before the next one is, and the code may
// look.
bool is_computed_one_by_one(Evaluator& ev, const V& elements) {
  ev.realize(elements);
  return elements->kind == Kind::Generator || elements->kind == Kind::Iter;
}

V list_method(Evaluator& ev, const V& list, const std::string& name, CallArgs& args) {
  if (name == "append") {
    expect(args, 1, 1);
    ev.mark_dirty(list);
    list->items.push_back(args.args[0]);
    return none_value();
  }
  if (name == "extend") {
    expect(args, 1, 1);
    if (is_computed_one_by_one(ev, args.args[0])) {
      static constinit MadeOnce<Ref> one_by_one;
      args.args.insert(args.args.begin(), list);
      ev.enter(one_by_one.get([] { return entered_function("list_extend"); }).get(), std::move(args));
      return nullptr;
    }
    std::vector<V> items = ev.all_elements(args.args[0]);
    ev.mark_dirty(list);
    list->items.insert(list->items.end(), items.begin(), items.end());
    return none_value();
  }
  if (name == "insert") {
    expect(args, 2, 2);
    const auto length = static_cast<int64_t>(list->items.size());
    int64_t at = ev.to_int(args.args[0], "index");
    if (at < 0) at = std::max<int64_t>(0, at + length);
    ev.mark_dirty(list);
    list->items.insert(list->items.begin() + std::min(at, length), args.args[1]);
    return none_value();
  }
  if (name == "pop") {
    expect(args, 0, 1);
    const auto length = static_cast<int64_t>(list->items.size());
    int64_t at = args.args.empty() ? length - 1 : ev.to_int(args.args[0], "index");
    if (at < 0) at += length;
    if (at < 0 || at >= length)
      ev.raise(PyExc_IndexError, {str_value(length == 0 ? "pop from empty list" : "pop index out of range")},
               "pop from a list out of range");
    ev.mark_dirty(list);
    V item = list->items[static_cast<size_t>(at)];
    list->items.erase(list->items.begin() + at);
    return item;
  }
  if (name == "clear") {
    expect(args, 0, 0);
    ev.mark_dirty(list);
    list->items.clear();
    return none_value();
  }
  if (name == "reverse") {
    expect(args, 0, 0);
    ev.mark_dirty(list);
    std::reverse(list->items.begin(), list->items.end());
    return none_value();
  }
  if (name == "copy") {
    expect(args, 0, 0);
    return list_value(list->items);
  }
  if (name == "remove" || name == "index" || name == "count") {
    expect(args, 1, 1);
    const auto is_it = [&](const V& item) { return ev.same_or_equal(item, args.args[0]); };
    if (name == "count") return int_value(std::count_if(list->items.begin(), list->items.end(), is_it));
    const auto found = std::find_if(list->items.begin(), list->items.end(), is_it);
    if (found == list->items.end() && name == "remove")
      ev.raise(PyExc_ValueError, {str_value("list.remove(x): x not in list")},
               "removal of what is not in the list");
    if (found == list->items.end()) graph_break("list.index of what is not in the list");
    if (name == "index") return int_value(found - list->items.begin());
    ev.mark_dirty(list);
    list->items.erase(found);
    return none_value();
  }
  if (name == "sort" && args.args.empty()) {
    sort_list(ev, list, args);
    return none_value();
  }
  graph_break(fmt::format("a call of list.{}", name));
}

V dict_method(Evaluator& ev, const V& dict, const std::string& name, CallArgs& args) {
  if (name == "keys" || name == "values" || name == "items") {
    expect(args, 0, 0);
    V view = make_value(Kind::DictView);
    view->items = {dict};
    view->name = name;
    return view;
  }
  if (name == "get" || name == "pop" || name == "setdefault") {
    expect(args, 1, 2);
    const int at = find_key(ev, dict, dict_key(ev, args.args[0]));
    V fallback = args.args.size() == 2 ? args.args[1] : none_value();
    if (at < 0) {
      if (name == "pop" && args.args.size() == 1) ev.raise(PyExc_KeyError, {args.args[0]}, "a missing key");
      if (name == "setdefault") set_dict_item(ev, dict, args.args[0], fallback);
      return fallback;
    }
    V item = dict->items[static_cast<size_t>(at)];
    if (name == "pop") {
      ev.mark_dirty(dict);
      ++dict->version;
      dict->keys.erase(dict->keys.begin() + at);
      dict->items.erase(dict->items.begin() + at);
    }
    return item;
  }
  if (name == "__getitem__") {
    expect(args, 1, 1);
    return ev.subscript(dict, args.args[0]);
  }
  if (name == "__contains__") {
    expect(args, 1, 1);
    return ev.contains(dict, args.args[0]);
  }
  if (name == "__setitem__") {
    expect(args, 2, 2);
    set_dict_item(ev, dict, args.args[0], args.args[1]);
    return none_value();
  }
  if (name == "__delitem__") {
    expect(args, 1, 1);
    ev.delete_subscript(dict, args.args[0]);
    return none_value();
  }
  if (name == "__len__") {
    expect(args, 0, 0);
    return int_value(static_cast<int64_t>(dict->keys.size()));
  }
  if (name == "__iter__") {
    expect(args, 0, 0);
    return ev.iterator(dict);
  }
  if (dict->object && !PyDict_CheckExact(dict->object.get()))
    graph_break("a call of a method of OrderedDict");
  if (name == "update") {
    if (args.args.size() > 1) graph_break("dict.update() with several arguments");
    if (!args.args.empty()) {
      if (const V from = ev.mapping_of(args.args[0])) {
        for (size_t i = 0; i < from->keys.size(); ++i) set_dict_item(ev, dict, from->keys[i], from->items[i]);
      } else if (is_computed_one_by_one(ev, args.args[0]) && args.keywords.empty()) {
        static constinit MadeOnce<Ref> one_by_one;
        args.args.insert(args.args.begin(), dict);
        ev.enter(one_by_one.get([] { return entered_function("dict_update"); }).get(), std::move(args));
        return nullptr;
      } else {
        for (const V& pair : ev.elements(args.args[0])) {
          const std::vector<V> parts = ev.elements(pair);
          if (parts.size() != 2) graph_break("dict.update() from other than pairs");
          set_dict_item(ev, dict, parts[0], parts[1]);
        }
      }
    }
    for (const auto& [key, value] : args.keywords) set_dict_item(ev, dict, str_value(key), value);
    return none_value();
  }
  if (name == "popitem") {
    expect(args, 0, 0);
    if (dict->keys.empty())
      ev.raise(PyExc_KeyError, {str_value("popitem(): dictionary is empty")}, "popitem() of an empty dict");
    V item = tuple_value({dict->keys.back(), dict->items.back()});
    ev.mark_dirty(dict);
    ++dict->version;
    dict->keys.pop_back();
    dict->items.pop_back();
    return item;
  }
  if (name == "clear") {
    expect(args, 0, 0);
    ev.mark_dirty(dict);
    ++dict->version;
    dict->keys.clear();
    dict->items.clear();
    return none_value();
  }
  if (name == "copy") {
    expect(args, 0, 0);
    V copy = make_value(Kind::Dict);
    copy->keys = dict->keys;
    copy->items = dict->items;
    return copy;
  }
  graph_break(fmt::format("a call of dict.{}", name));
}

// Of a generator, or another iterator.
V iterator_method(Evaluator& ev, const V& it, const std::string& name, CallArgs& args) {
  if (name == "__iter__") return it;
  if (ev.realize(it)->kind == Kind::Generator) ev.iterator(it);
  const bool is_generator = it->iter == IterKind::Generator;
  V element;
  if (name == "__next__") {
    expect(args, 0, 0);
    element = ev.next(it);
  } else if (name == "close" && is_generator) {
    expect(args, 0, 0);
    ev.close(it);
    return none_value();
  } else if (name == "send" && is_generator) {
    expect(args, 1, 1);
    element = ev.send(it, ev.realize(args.args[0]));
  } else if (name == "throw" && is_generator) {
    expect(args, 1, 1);
    V exception = ev.realize(args.args[0]);
    if (exception->is_const() && PyExceptionClass_Check(exception->object.get()))
      exception = ev.make_exception_now(reinterpret_cast<PyTypeObject*>(exception->object.get()));
    if (exception->kind != Kind::Exception) graph_break("an exception that weft does not know is thrown");
    element = ev.throw_into(it, exception);
  } else {
    graph_break(fmt::format("a call of the method '{}' of an iterator", name));
  }
  if (element) return element;
  raise_end_of(ev, it);
}

}  // namespace

void raise_end_of(Evaluator& ev, const V& iterator) {
  std::vector<V> values;
  if (iterator->returned && !ev.is_none(iterator->returned)) values.push_back(iterator->returned);
  ev.raise(PyExc_StopIteration, std::move(values), "the end of an iterator");
}

// weft.nn.Module's, which a program's own calls.
static V getattr_of_module(Evaluator& ev, const V& self, const CallArgs& args) {
  expect(args, 1, 1);
  const Ref name = ev.constant(args.args[0]);
  if (!name || !PyUnicode_Check(name.get())) graph_break("__getattr__ with an unknown name");
  if (V found = ev.module_attribute(self, name.get())) return found;
  const std::string message =
      fmt::format("'{}' object has no attribute '{}'", self->object_type->tp_name, utf8(name.get()));
  ev.raise(PyExc_AttributeError, {str_value(message)}, message);
}

V call_builtin_method(Evaluator& ev, const V& self, const std::string& name, CallArgs& args) {
  if (self->kind == Kind::Instance && name == "__getattr__") return getattr_of_module(ev, self, args);
  if (self->kind == Kind::Set || (self->is_const() && PyFrozenSet_CheckExact(self->object.get())))
    return set_method(ev, self, name, args);
  if (self->kind == Kind::Iter || self->kind == Kind::Generator) return iterator_method(ev, self, name, args);
  if (self->kind == Kind::Tuple && self->object_type == size_class() && name == "numel") {
    expect(args, 0, 0);
    Sym product = 1;
    for (const V& item : self->items) product = product * ev.to_sym(item, "a size");
    return sym_value(product);
  }
  if (self->kind == Kind::Tuple && self->object_type && is_named_tuple_method(name))
    return named_tuple_method(self, name, args);
  if (self->kind == Kind::List) return list_method(ev, self, name, args);
  if (self->kind == Kind::Dict) return dict_method(ev, self, name, args);
  if (self->kind == Kind::Tuple && (name == "index" || name == "count")) {
    expect(args, 1, 1);
    int64_t count = 0;
    for (size_t i = 0; i < self->items.size(); ++i) {
      if (!ev.same_or_equal(self->items[i], args.args[0])) continue;
      if (name == "index") return int_value(static_cast<int64_t>(i));
      ++count;
    }
    if (name == "count") return int_value(count);
  }
  if (self->is(Py_None) && name == "__init__") return none_value();
  if (self->is_const() && PyContextVar_CheckExact(self->object.get()))
    throw GraphBreak{.reason = "a context variable", .is_planned = true};
  if (self->kind == Kind::Exception && name == "__init__") return initialize_exception(self, args);
  // Methods of immutable constants have no side effects.
  if (self->is_const()) {
    PyObject* object = self->object.get();
    if (is_enum_member(object) || PyUnicode_CheckExact(object) || PyLong_CheckExact(object) ||
        PyFloat_CheckExact(object) || PyTuple_CheckExact(object) || PyBytes_CheckExact(object) ||
        (is_weft_constant(object) && !name.starts_with("__"))) {
      if (name == "join" && args.args.size() == 1) args.args = {tuple_value(ev.elements(args.args[0]))};
      Ref tuple = as_tuple(ev, args.args), keywords = checked(PyDict_New());
      for (const auto& [key, value] : args.keywords) {
        Ref constant = ev.constant(value);
        if (!constant) graph_break("a call whose arguments are not known");
        PyDict_SetItemString(keywords.get(), key.c_str(), constant.get());
      }
      Ref method = checked(PyObject_GetAttrString(object, name.c_str()));
      Ref result = checked(PyObject_Call(method.get(), tuple.get(), keywords.get()));
      return made_value(result);
    }
    if (is_ufunc(object)) return numpy_ufunc_method(ev, object, name, args);
    Ref method = checked(PyObject_GetAttrString(object, name.c_str()));
    graph_break(fmt::format("a call of {}", callable_name(method.get())));
  }
  graph_break(fmt::format("a call of the method '{}'", name));
}

}  // namespace weft::capture
