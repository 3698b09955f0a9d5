#include "capture/builtins/named_tuples.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/builtins/known_calls.h"
#include "capture/objects/made_once.h"

namespace weft::capture {
V named_tuple_field(const V& tuple, PyObject* name) {
  PyObject* fields = fields_of_named_tuple(tuple->object_type);
  for (size_t i = 0; i < tuple->items.size(); ++i)
    if (PyUnicode_Compare(PyTuple_GET_ITEM(fields, static_cast<Py_ssize_t>(i)), name) == 0)
      return tuple->items[i];
  return nullptr;
}

namespace {

// Defaults of fields that were not given.
void fill_defaults(Evaluator& ev, PyTypeObject* type, std::vector<V>& items) {
  const Ref make = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__new__"));
  PyErr_Clear();
  if (!make || !PyFunction_Check(make.get())) return;
  ev.pin_type(type);
  ev.guard_function(make.get());
  PyObject* const defaults = PyFunction_GET_DEFAULTS(make.get());
  if (!defaults) return;
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(defaults));
  for (size_t i = items.size() - std::min(count, items.size()); i < items.size(); ++i)
    if (!items[i])
      items[i] = ev.pinned(PyTuple_GET_ITEM(defaults, static_cast<Py_ssize_t>(i + count - items.size())));
}

}  // namespace

bool is_named_tuple_method(const std::string& name) { return name == "_replace" || name == "_asdict"; }

V named_tuple_method(const V& tuple, const std::string& name, CallArgs& args) {
  PyObject* fields = fields_of_named_tuple(tuple->object_type);
  if (!args.args.empty()) graph_break(fmt::format("a call of {} with these arguments", name));
  if (name == "_asdict") {
    V dict = make_value(Kind::Dict);
    for (size_t i = 0; i < tuple->items.size(); ++i) {
      dict->keys.push_back(const_value(Ref::borrow(PyTuple_GET_ITEM(fields, static_cast<Py_ssize_t>(i)))));
      dict->items.push_back(tuple->items[i]);
    }
    return dict;
  }
  V result = tuple_value(tuple->items);
  result->object_type = tuple->object_type;
  size_t replaced = 0;
  for (const auto& [key, value] : args.keywords)
    for (size_t i = 0; i < result->items.size(); ++i)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(fields, static_cast<Py_ssize_t>(i)),
                                           key.c_str()) == 0) {
        result->items[i] = value;
        ++replaced;
      }
  if (replaced != args.keywords.size()) graph_break("_replace() of a field that is not there");
  return result;
}

V make_named_tuple(Evaluator& ev, PyTypeObject* type, CallArgs& args) {
  PyObject* fields = fields_of_named_tuple(type);
  std::vector<V> items = args.args;
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(fields));
  items.resize(std::max(items.size(), count));
  for (const auto& [key, value] : args.keywords)
    for (size_t i = args.args.size(); i < count; ++i)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(fields, static_cast<Py_ssize_t>(i)),
                                           key.c_str()) == 0)
        items[i] = value;
  const size_t given = static_cast<size_t>(
      std::count_if(items.begin(), items.end(), [](const V& item) { return item != nullptr; }));
  if (given < items.size()) fill_defaults(ev, type, items);
  const bool complete = items.size() == count && args.args.size() + args.keywords.size() == given &&
                        std::find(items.begin(), items.end(), nullptr) == items.end();
  if (!complete) graph_break(fmt::format("a call of {} with these arguments", type->tp_name));
  V value = tuple_value(std::move(items));
  value->object_type = type;
  return value;
}

// collections.namedtuple(typename, fields): the class is made once, and stands for those that the program
// would make at each call.
V builtin_namedtuple(Evaluator& ev, CallArgs& args) {
  const auto known = [&](const V& value) {
    Ref object = ev.described(ev.realize(value));
    if (!object) graph_break("a class of named tuples of names that are not known");
    return object;
  };
  // The function would look at its caller's frame for it.
  const Ref more = checked(PyDict_New());
  PyObject* const module = PyDict_GetItemString(ev.frame().globals.get(), "__name__");
  if (module && PyDict_SetItemString(more.get(), "module", module) < 0) throw PythonError{};
  const Ref collections = checked(PyImport_ImportModule("collections")),
            make = checked(PyObject_GetAttrString(collections.get(), "namedtuple"));
  const Ref type = call_with_known(args, make.get(), known, more);
  if (!type) {
    clear_error();
    graph_break("a class of named tuples that Python does not make");
  }
  return ev.pinned(type.get());
}

}  // namespace weft::capture
