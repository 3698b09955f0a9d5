// Class and mapping patterns of match statements.
#include "capture/evaluate/evaluator.h"

namespace weft::capture {

int find_key(Evaluator& ev, const V& dict, const V& key);
V dict_key(Evaluator& ev, const V& key);

namespace {

constexpr unsigned long kMatchSelf = 1UL << 22;  // int, str, list, …: the subject itself

}  // namespace

// The attributes that a class pattern extracts, as a tuple, or None.
V Evaluator::match_class(const V& subject, PyTypeObject* type, int positional, PyObject* names) {
  PyTypeObject* of = python_type(subject);
  if (!of) graph_break("a pattern match of an unknown object");
  if (!PyType_IsSubtype(of, type)) return none_value();
  pin_type(type);
  std::vector<V> found;
  std::vector<Ref> wanted;
  if (positional > 0) {
    Ref match_args = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__match_args__"));
    PyErr_Clear();
    if (!match_args && (type->tp_flags & kMatchSelf) != 0 && positional == 1)
      found.push_back(subject);
    else if (!match_args || !PyTuple_CheckExact(match_args.get()) ||
             PyTuple_GET_SIZE(match_args.get()) < positional)
      graph_break("a class pattern with too many positions");
    else
      for (int i = 0; i < positional; ++i)
        wanted.push_back(Ref::borrow(PyTuple_GET_ITEM(match_args.get(), i)));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    wanted.push_back(Ref::borrow(PyTuple_GET_ITEM(names, i)));
  for (const Ref& name : wanted) {
    if (!has_attribute(subject, name.get())) return none_value();
    found.push_back(attribute_now(subject, name.get()));
  }
  return tuple_value(std::move(found));
}

bool Evaluator::execute_patterns(const Instruction& in) {
  if (in.op == Op::MatchClass) {
    const V type = realize(top(2));
    const Ref names = constant(top(1));
    if (!type->is_const() || !PyType_Check(type->object.get()) || !names)
      graph_break("a class pattern that is not known");
    // Abstract classes answer for others.
    if (Py_TYPE(type->object.get()) != &PyType_Type && python_type(top(3)) &&
        !PyType_IsSubtype(python_type(top(3)), reinterpret_cast<PyTypeObject*>(type->object.get())))
      graph_break("a class pattern of an abstract class");
    V result = match_class(realize(top(3)), reinterpret_cast<PyTypeObject*>(type->object.get()), in.arg,
                           names.get());
    drop(3);
    push(std::move(result));
    return true;
  }
  if (in.op != Op::MatchKeys) return false;
  const V subject = realize(top(2));
  if (subject->kind != Kind::Dict) graph_break("a mapping pattern of an unknown mapping");
  std::vector<V> values;
  for (const V& key : elements(top(1))) {
    const int at = find_key(*this, subject, dict_key(*this, key));
    if (at < 0) {
      push(none_value());
      return true;
    }
    values.push_back(subject->items[static_cast<size_t>(at)]);
  }
  push(tuple_value(std::move(values)));
  return true;
}

}  // namespace weft::capture
