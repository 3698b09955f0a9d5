#include "capture/builtins/sets.h"

#include <fmt/format.h>

#include "capture/perform/concrete.h"

namespace weft::capture {

namespace {

Ref known(Evaluator& ev, const V& value, const char* what) {
  if (has_unguarded_nan(ev.realize(value))) graph_break("a NaN in a set: which object it is decides");
  Ref object = ev.identified(value);
  if (!object && value->kind == Kind::SymInt) object = int_value(sym_specialize(value->sym))->object;
  if (!object) graph_break(fmt::format("{} that is not known", what));
  return object;
}

// An operand of a method or operator as a real object: sets, and what can be gone over.
Ref operand(Evaluator& ev, const V& given) {
  const V outside = outside_set(ev, given), &value = outside ? outside : given;
  ev.realize(value);
  if (value->kind == Kind::Set) return value->object;
  if (value->is_const()) return value->object;
  Ref list = checked(PyList_New(0));
  for (const V& item : ev.elements(value))
    if (PyList_Append(list.get(), known(ev, item, "an element of a set").get()) < 0) throw PythonError{};
  return list;
}

bool is_set(const V& value) {
  return value->kind == Kind::Set || (value->is_const() && PyFrozenSet_CheckExact(value->object.get()));
}

V from_object(Ref object) {
  return PySet_CheckExact(object.get()) ? set_value(std::move(object)) : const_value(std::move(object));
}

// Of which nothing can change and nothing but the value is seen.
bool is_plain(PyObject* object) {
  if (!PyTuple_CheckExact(object)) {
    const V constant = const_value(Ref::borrow(object));
    return is_foldable(object) && !has_unguarded_nan(constant) && !is_nan(constant);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

bool is_hashed_by_identity(PyObject* object) {
  return Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash &&
         Py_TYPE(object)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

// The set before a change, as far as segments hold it.
void prepare_change(Evaluator& ev, const V& set) {
  if (set->source) graph_break("a change of a set made outside");
  ev.mark_dirty(set);
  ++set->version;
}

}  // namespace

V set_value(Ref set) {
  V value = make_value(Kind::Set);
  value->object = std::move(set);
  return value;
}

bool changes_the_set(const std::string& name) {
  for (const char* method : {"add", "discard", "remove", "update", "clear", "pop", "difference_update",
                             "intersection_update", "symmetric_difference_update"})
    if (name == method) return true;
  return false;
}

V outside_set(Evaluator& ev, const V& value, bool in_order) {
  ev.realize(value);
  if (value->kind != Kind::Opaque || !value->source || !value->object ||
      !PySet_CheckExact(value->object.get()))
    return nullptr;
  if (!value->items.empty() && (!in_order || value->index)) return value->items[0];
  const Ref elements = checked(PySequence_Tuple(value->object.get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(elements.get()); ++i) {
    PyObject* const element = PyTuple_GET_ITEM(elements.get(), i);
    if (!is_plain(element) && !is_hashed_by_identity(element)) return nullptr;
  }
  ev.guard_set(value->source, elements.get(), in_order);
  V set = set_value(value->object);
  set->source = value->source;
  value->items = {set};
  value->index = in_order;
  return set;
}

V set_element(Evaluator& ev, PyObject* object) {
  return is_plain(object) ? const_value(Ref::borrow(object)) : ev.pinned(object);
}

V make_set(Evaluator& ev, const std::vector<V>& elements) {
  Ref set = checked(PySet_New(nullptr));
  for (const V& element : elements)
    if (PySet_Add(set.get(), known(ev, element, "an element of a set").get()) < 0) throw PythonError{};
  return set_value(std::move(set));
}

Ref set_elements(Evaluator& ev, const V& given) {
  const V outside = outside_set(ev, given), &from = outside ? outside : given;
  ev.realize(from);
  if (is_set(from)) return from->object;
  Ref list = checked(PyList_New(0));
  for (const V& element : ev.elements(from))
    if (PyList_Append(list.get(), known(ev, element, "an element of a set").get()) < 0) throw PythonError{};
  if (from->kind != Kind::Dict) return list;
  return checked(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyDict_Type), "fromkeys", "O", list.get()));
}

Ref ordered_as(const Ref& set) {
  const Ref order = checked(PySequence_List(set.get()));
  for (const Ref& from : {checked(PySet_New(set.get())), order}) {
    const Ref made = checked(PySet_New(from.get())), made_order = checked(PySequence_List(made.get()));
    const int is_same = PyObject_RichCompareBool(order.get(), made_order.get(), Py_EQ);
    check(is_same);
    if (is_same) return from;
  }
  graph_break("a set whose order no new one has is used by Python");
}

void add_to_set(Evaluator& ev, const V& set, const V& element) {
  const Ref object = known(ev, element, "an element of a set");
  prepare_change(ev, set);
  if (PySet_Add(set->object.get(), object.get()) < 0) throw PythonError{};
}

V set_method(Evaluator& ev, const V& set, const std::string& name, CallArgs& args) {
  if (!args.keywords.empty()) graph_break(fmt::format("a call of set.{} with keyword arguments", name));
  const bool takes_element = name == "add" || name == "discard" || name == "remove" || name == "__contains__";
  Ref arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(args.args.size())));
  for (size_t i = 0; i < args.args.size(); ++i) {
    Ref argument = takes_element ? known(ev, args.args[i], "an element of a set") : operand(ev, args.args[i]);
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), argument.release());
  }
  if (changes_the_set(name)) prepare_change(ev, set);
  const Ref method = checked(PyObject_GetAttrString(set->object.get(), name.c_str()));
  return from_object(checked(PyObject_Call(method.get(), arguments.get(), nullptr)));
}

V set_binary(Evaluator& ev, int op, const V& first, const V& second) {
  const auto known_of = [&](const V& value) {
    const V outside = outside_set(ev, value, op != 1 || is_set(value));
    return outside ? outside : value;
  };
  const V a = known_of(first), b = known_of(second);
  if (!is_set(a) || !is_set(b) || (a->kind != Kind::Set && b->kind != Kind::Set)) return nullptr;
  const bool in_place = op >= 13 && a->kind == Kind::Set;
  if (in_place) prepare_change(ev, a);
  Ref result = binary_operation(in_place ? op : op % 13, a->object.get(), b->object.get());
  return in_place ? a : from_object(std::move(result));
}

}  // namespace weft::capture
