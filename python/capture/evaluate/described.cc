// What str(), repr() and formatting give for values that exist in the evaluator only.
#include <fmt/format.h>

#include "capture/builtins/builtins.h"
#include "capture/builtins/sets.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"

namespace weft::capture {

namespace {

// Does repr() of the exception come from the builtin classes? str() by a method of the program's own is that
// method's call.
bool has_builtin_repr(PyTypeObject* type) {
  static constinit InternedName name("__repr__");
  PyObject* found = _PyType_Lookup(type, name);
  return found && !PyFunction_Check(found);
}

Ref described_items(Evaluator& ev, const std::vector<V>& items) {
  Ref list = checked(PyList_New(0));
  for (const V& item : items) {
    const Ref object = ev.described(item);
    if (!object) return Ref();
    if (PyList_Append(list.get(), object.get()) < 0) throw PythonError{};
  }
  return list;
}

}  // namespace

Ref Evaluator::described(const V& value) {
  if (Ref object = constant(value)) return object;
  switch (value->kind) {
    case Kind::SymInt: return int_value(sym_specialize(value->sym))->object;
    case Kind::Scalar: return known_number(value);
    case Kind::Set: return value->object;
    case Kind::List: return described_items(*this, value->items);
    case Kind::Tuple: {
      const Ref list = value->object_type ? Ref() : described_items(*this, value->items);
      return list ? checked(PyList_AsTuple(list.get())) : Ref();
    }
    case Kind::Dict: {
      if (value->object && !PyDict_CheckExact(value->object.get())) return Ref();
      const Ref items = described_items(*this, value->items);
      if (!items) return Ref();
      Ref dict = checked(PyDict_New());
      for (size_t i = 0; i < value->keys.size(); ++i)
        if (PyDict_SetItem(dict.get(), value->keys[i]->object.get(),
                           PyList_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i))) < 0)
          throw PythonError{};
      return dict;
    }
    case Kind::Exception: {
      const Ref items = has_builtin_repr(value->object_type) ? described_items(*this, value->items) : Ref();
      if (!items) return Ref();
      return real_exception(reinterpret_cast<PyObject*>(value->object_type),
                            checked(PyList_AsTuple(items.get())));
    }
    case Kind::Opaque: {
      const V set = outside_set(*this, value);
      return set ? set->object : Ref();
    }
    default: return Ref();
  }
}

V Evaluator::text_given(const V& text) {
  if (!realize(text)->is_const() || !PyUnicode_CheckExact(text->object.get()))
    graph_break("a text that is not known, or none");
  return text;
}

V text_of(Evaluator& ev, const char* function, const V& value) {
  ev.realize(value);
  const bool is_str = std::string_view(function) == "str";
  if (program_class(value)) {
    PyObject* method = is_str ? ev.python_method(value, "__str__") : nullptr;
    if (!method) method = ev.python_method(value, "__repr__");
    if (method) return ev.text_given(ev.call_method_now(value, method, {}));
  }
  const Ref object = ev.described(value);
  if (!object) graph_break(fmt::format("{}() of a value that is not known", function));
  return const_value(checked(is_str ? PyObject_Str(object.get()) : PyObject_Repr(object.get())));
}

}  // namespace weft::capture
