// What is asked of abstract values: whether they are numbers, their truth, elements, identity, equality and
// type.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capture/builtins/builtins.h"
#include "capture/builtins/enums.h"
#include "capture/builtins/named_tuples.h"
#include "capture/builtins/sets.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"
#include "capture/guards/computed.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

bool Evaluator::is_int(const V& value) {
  realize(value);
  return value->kind == Kind::SymInt || (value->is_const() && PyLong_Check(value->object.get()));
}

int64_t Evaluator::to_int(const V& value, const char* what) {
  realize(value);
  if (value->kind == Kind::SymInt) return sym_specialize(value->sym);
  if (value->is_const() && PyLong_Check(value->object.get())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value->object.get(), &overflow);
    if (!overflow) return number;
  }
  // A number of NumPy's that depends on nothing but known ones.
  const bool is_known = value->kind == Kind::Array && value->flavor == Flavor::NumpyScalar &&
                        !value->tensor.is_traced() && is_integral(value->tensor.dtype());
  if (is_known) return value->tensor.item().to_int();
  graph_break(fmt::format("{} that is not a known int", what));
}

Sym Evaluator::to_sym(const V& value, const char* what) {
  if (realize(value)->kind == Kind::SymInt) return value->sym;
  return Sym(to_int(value, what));
}

std::string Evaluator::to_string(const V& value, const char* what) {
  realize(value);
  if (value->is_const() && PyUnicode_Check(value->object.get())) return utf8(value->object.get());
  graph_break(fmt::format("{} that is not a known string", what));
}

bool Evaluator::truth(const V& value) {
  realize(value);
  switch (value->kind) {
    case Kind::Const: {
      if (program_class(value))
        if (const std::optional<bool> answer = instance_truth(value)) return *answer;
      if (!is_inert(value->object.get())) graph_break("the truth of a class that its metaclass gives");
      const int result = PyObject_IsTrue(value->object.get());
      if (result < 0) throw PythonError{};
      return result != 0;
    }
    case Kind::SymInt: return sym_ne(value->sym, Sym(0));
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict: return !value->items.empty();
    case Kind::Set: return PySet_GET_SIZE(value->object.get()) > 0;
    case Kind::Opaque:
      if (const V set = outside_set(*this, value, false)) return truth(set);
      break;
    case Kind::Function:
    case Kind::Method:
    case Kind::Bound:
    case Kind::Slice:
    case Kind::Iter:
    case Kind::Cell:
    case Kind::Exception:
    case Kind::Traceback:
    case Kind::Generator:
    case Kind::Partial: return true;
    case Kind::Array: graph_break("a condition that depends on the values of an array");
    case Kind::Tensor: graph_break("a condition that depends on the values of a tensor");
    case Kind::Scalar:
      if (is_derived_number(value))
        if (const V outcome = computed(kFirstComparison + Py_NE, nullptr, {value, int_value(0)}))
          return outcome->is(Py_True);
      if (const V outcome = guarded_comparison(Py_NE, value, int_value(0))) return outcome->is(Py_True);
      // A whole graph knows the numbers among its arguments that its course depends on.
      if (settings_.fullgraph) {
        for (const V& number : {value, value->items.empty() ? V() : value->items[0],
                                value->items.size() < 2 ? V() : value->items[1]})
          if (number && number->kind == Kind::Scalar && number->source) capture_as_constant(number);
      }
      graph_break("a condition that depends on computed numbers");
    case Kind::Instance: {
      PyTypeObject* type = value->object_type;
      if ((!type->tp_as_number || !type->tp_as_number->nb_bool) &&
          (!type->tp_as_sequence || !type->tp_as_sequence->sq_length) &&
          (!type->tp_as_mapping || !type->tp_as_mapping->mp_length))
        return true;
      if (const std::optional<bool> answer = instance_truth(value)) return *answer;
      break;
    }
    default: break;
  }
  graph_break("the truth of an object that weft does not know");
}

Ref Evaluator::constant(const V& value) {
  realize(value);
  if (value->is_const()) return is_inert(value->object.get()) ? value->object : Ref();
  if (value->kind == Kind::SymInt) return Ref();
  if (value->kind == Kind::Tuple) {
    Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(value->items.size())));
    for (size_t i = 0; i < value->items.size(); ++i) {
      Ref item = constant(value->items[i]);
      if (!item) return Ref();
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item.release());
    }
    if (value->object_type) return build_named_tuple(reinterpret_cast<PyObject*>(value->object_type), tuple);
    return tuple;
  }
  if (value->kind == Kind::Slice) {
    Ref a = constant(value->items[0]), b = constant(value->items[1]), c = constant(value->items[2]);
    if (a && b && c) return checked(PySlice_New(a.get(), b.get(), c.get()));
  }
  return Ref();
}

Ref Evaluator::identified(const V& value) {
  if (Ref object = constant(value)) return object;
  const auto is_hashed_by_identity = [&] {
    if (value->kind == Kind::Tensor) return !value->is_array;
    return value->kind == Kind::Instance && value->object_type->tp_hash == PyBaseObject_Type.tp_hash &&
           value->object_type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  };
  if (!value->source || !value->object || !is_hashed_by_identity()) return Ref();
  if (value->source->step != Source::Step::Pinned) variant_->guards.is(value->source, value->object.get());
  return value->object;
}

void Evaluator::guard_set(const SourceRef& source, PyObject* elements, bool in_order) {
  Guards& guards = variant_->guards;
  guards.add({.op = GuardOp::Set, .a = guards.load(source), .imm = in_order, .object = elements},
             fmt::format("{} is the same set{}", source->str(), in_order ? " in the same order" : ""));
}

std::vector<V> Evaluator::elements(const V& value) {
  realize(value);
  switch (value->kind) {
    case Kind::Tuple:
    case Kind::List: return value->items;
    case Kind::Dict: return value->keys;
    case Kind::DictView: {
      const V& dict = value->items[0];
      if (value->name == "keys") return dict->keys;
      if (value->name == "values") return dict->items;
      std::vector<V> pairs;
      for (size_t i = 0; i < dict->items.size(); ++i)
        pairs.push_back(tuple_value({dict->keys[i], dict->items[i]}));
      return pairs;
    }
    case Kind::Const: {
      PyObject* object = value->object.get();
      if (PyType_Check(object) && is_enum_class(reinterpret_cast<PyTypeObject*>(object)))
        return elements(const_value(checked(PySequence_Tuple(object))));
      if (!PyTuple_CheckExact(object) && !PyUnicode_CheckExact(object) && !PyFrozenSet_CheckExact(object) &&
          !PyBytes_CheckExact(object) && Py_TYPE(object) != &PyRange_Type)
        break;
      if (PyObject_Length(object) > 100000) graph_break("a very long constant sequence");
      std::vector<V> result;
      Ref iterator = checked(PyObject_GetIter(object));
      while (Ref item = Ref::steal(PyIter_Next(iterator.get()))) result.push_back(const_value(item));
      if (PyErr_Occurred()) throw PythonError{};
      return result;
    }
    case Kind::Generator: return all_of_generator(iterator(value));
    case Kind::Bound:
      if (V flat = flat_elements(*this, value)) return elements(flat);
      break;
    case Kind::Instance: return elements(iterator(value));
    case Kind::Opaque:
      if (const V set = outside_set(*this, value)) return elements(set);
      break;
    case Kind::Set: {
      const Ref objects = checked(PySequence_Tuple(value->object.get()));
      std::vector<V> result;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects.get()); ++i)
        result.push_back(set_element(*this, PyTuple_GET_ITEM(objects.get(), i)));
      return result;
    }
    case Kind::Array:
    case Kind::Tensor:
    case Kind::Iter: {
      if (value->kind == Kind::Iter && value->iter == IterKind::Generator) return all_of_generator(value);
      std::vector<V> result;
      V it = value->kind == Kind::Iter ? value : iterator(value);
      while (V item = next(it)) result.push_back(item);
      return result;
    }
    default: break;
  }
  graph_break("iteration over an object that weft does not know");
}

std::vector<V> Evaluator::all_elements(const V& value, bool asks_length) {
  if (realize(value)->kind != Kind::Instance || as_dict(value, "__iter__")) return elements(value);
  const V it = iterator(value);
  if (asks_length && (has_own(value, "__len__") || has_own(value, "__length_hint__"))) {
    PyObject* method = python_method(value, has_own(value, "__len__") ? "__len__" : "__length_hint__");
    if (!method) graph_break("the length of an object that is gone over");
    length_of(realize(call_method_now(value, method, {})));
  }
  return elements(it);
}

bool Evaluator::same_object(const V& a, const V& b) {
  if (a == b) return true;
  for (const V* v : {&a, &b}) {
    // `is None` and the like ask for the type only.
    PyObject* object = (*v)->object.get();
    if ((*v)->kind == Kind::Lazy && is_identity_type(object)) realize(*v);
  }
  // Real objects: which ones they are is guarded, but for those that a guard or the code names already.
  const auto is_real = [](const V& v) { return v->object && (v->is_const() || v->source); };
  const auto is_named = [](const V& v) {
    return v->is_const() && (!v->source || is_identity_type(v->object.get()));
  };
  if (is_real(a) && is_real(b)) {
    const bool same = a->object == b->object;
    if (is_named(a) && is_named(b)) return same;
    const auto register_of = [&](const V& v) {
      return variant_->guards.load(v->source ? v->source : pinned_source(v->object.get()));
    };
    variant_->guards.add(
        {.op = same ? GuardOp::Same : GuardOp::NotSame, .a = register_of(a), .b = register_of(b)},
        fmt::format("{} {} {}", short_repr(a->object.get()), same ? "is" : "is not",
                    short_repr(b->object.get())));
    return same;
  }
  // What one exception has while it passes through several blocks may be one object, or several.
  if (a->kind == Kind::Traceback && b->kind == Kind::Traceback) leave_traceback(a->items[0]);
  const auto may_be = [&](const V& computed, const V& known) {
    return realize(computed)->kind == Kind::Scalar && computed->weak == WeakKind::Bool &&
           (known->is(Py_True) || known->is(Py_False));
  };
  if (may_be(a, b) || may_be(b, a)) graph_break("'is' between truth values that are computed");
  const auto is_singleton = [](const V& v) { return v->is_const() && is_identity_type(v->object.get()); };
  if (is_singleton(a) || is_singleton(b)) {
    realize(a);
    realize(b);
    return a->is_const() && b->is_const() && a->object == b->object;
  }
  if (a->kind != Kind::Scalar && b->kind != Kind::Scalar && a->kind != Kind::SymInt &&
      b->kind != Kind::SymInt) {
    realize(a);
    realize(b);
    const auto is_bool = [](const V& v) {  // of which NumPy has two objects
      return v->kind == Kind::Array && v->flavor == Flavor::NumpyScalar && v->tensor.dtype() == DType::Bool;
    };
    if (is_bool(a) || is_bool(b)) graph_break("'is' between NumPy's booleans");
    return false;  // one was made inside, the other is something else
  }
  graph_break("'is' between numbers");
}

static bool equal_dicts(Evaluator& ev, const V& a, const V& b) {
  if (a->keys.size() != b->keys.size()) return false;
  for (size_t i = 0; i < a->keys.size(); ++i) {
    const int at = find_key(ev, b, a->keys[i]);
    if (at < 0) return false;
    const V& other = b->items[static_cast<size_t>(at)];
    if (!ev.same_or_equal(a->items[i], other)) return false;
  }
  return true;
}

// A float or complex that does not equal itself: which object it is decides.
static bool is_nan(PyObject* object) {
  if (PyFloat_CheckExact(object)) return std::isnan(PyFloat_AS_DOUBLE(object));
  return PyComplex_CheckExact(object) &&
         (std::isnan(PyComplex_RealAsDouble(object)) || std::isnan(PyComplex_ImagAsDouble(object)));
}

bool is_nan(const V& value) { return value->is_const() && is_nan(value->object.get()); }

static bool holds_nan(PyObject* object) {
  if (!PyTuple_CheckExact(object)) return is_nan(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (holds_nan(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

bool has_unguarded_nan(const V& value) {
  if (value->kind == Kind::Tuple)
    return std::any_of(value->items.begin(), value->items.end(), has_unguarded_nan);
  return value->source && (value->is_const() || value->kind == Kind::Lazy) && holds_nan(value->object.get());
}

bool Evaluator::same_or_equal(const V& left, const V& right) {
  // An element that nobody has read may be an object that is known from elsewhere.
  const V a = left->kind == Kind::Lazy ? unify(left) : left;
  const V b = right->kind == Kind::Lazy ? unify(right) : right;
  realize(a);
  realize(b);
  if (a == b) return true;
  if (!is_nan(a) || !is_nan(b)) return equal(a, b);
  if (a->source || b->source) graph_break("which of two NaN it is");
  return a->object == b->object;
}

bool Evaluator::equal(const V& a, const V& b) {
  realize(a);
  realize(b);
  if (const V set = outside_set(*this, a, false)) return a == b || equal(set, b);
  if (const V set = outside_set(*this, b, false)) return equal(a, set);
  if (a == b) return !is_nan(a);
  if (V answer = instance_compare(Py_EQ, a, b)) return truth(answer);
  if (a->kind == Kind::Set || b->kind == Kind::Set) {
    const V& other = a->kind == Kind::Set ? b : a;
    if (other->kind == Kind::DictView) graph_break("comparison of a dict's keys with a set");
    if (other->kind != Kind::Set && !other->is_const()) return false;
    const int same = PyObject_RichCompareBool(a->object.get(), b->object.get(), Py_EQ);
    if (same < 0) throw PythonError{};
    return same != 0;
  }
  if (a->kind == Kind::SymInt || b->kind == Kind::SymInt) {
    if (!is_int(a) || !is_int(b)) {
      if (const V outcome = computed(kFirstComparison + Py_EQ, nullptr, {a, b})) return outcome->is(Py_True);
      if (constant(a) || constant(b)) {
        const V& other = a->kind == Kind::SymInt ? b : a;
        if (!PyFloat_Check(other->object.get())) return false;
      }
      graph_break("comparison of a size with what is no number");
    }
    return sym_eq(to_sym(a, "operand"), to_sym(b, "operand"));
  }
  const bool list_a = a->kind == Kind::Tuple || a->kind == Kind::List,
             list_b = b->kind == Kind::Tuple || b->kind == Kind::List;
  if ((list_a || (a->is_const() && PyTuple_CheckExact(a->object.get()))) &&
      (list_b || (b->is_const() && PyTuple_CheckExact(b->object.get()))) && (list_a || list_b)) {
    if ((a->kind == Kind::List) != (b->kind == Kind::List)) return false;
    std::vector<V> left = elements(a), right = elements(b);
    if (left.size() != right.size()) return false;
    for (size_t i = 0; i < left.size(); ++i)
      if (!same_or_equal(left[i], right[i])) return false;
    return true;
  }
  const auto is_ordered = [](const V& v) {
    return v->kind == Kind::Dict && v->object && !PyDict_CheckExact(v->object.get());
  };
  if (is_ordered(a) || is_ordered(b)) graph_break("comparison of an OrderedDict");
  if (a->kind == Kind::Dict && b->kind == Kind::Dict) return equal_dicts(*this, a, b);
  Ref left = constant(a), right = constant(b);
  const auto is_container = [](const V& v) {
    return v->kind == Kind::List || v->kind == Kind::Dict || v->kind == Kind::Tuple;
  };
  const auto is_proxy = [](const Ref& object) {
    return object && Py_IS_TYPE(object.get(), &PyDictProxy_Type);
  };
  if (is_proxy(left) || is_proxy(right)) graph_break("comparison of a mapping with what it stands for");
  // A container equals no plain value of another type.
  if ((left && is_container(b)) || (right && is_container(a)))
    if (python_type(a) != python_type(b)) return false;
  const auto equals_itself_only = [&](const V& v) {
    return v->kind == Kind::Instance && python_type(v)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  };
  if (equals_itself_only(a) && equals_itself_only(b)) return same_object(a, b);
  // A class whose metaclass compares as object does, beside a plain value.
  const auto is_class_by_identity = [](const V& v) {
    return v->is_const() && PyType_Check(v->object.get()) &&
           Py_TYPE(v->object.get())->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  };
  const auto is_plain = [](const Ref& object) {
    PyObject* const o = object.get();
    return o && (PyUnicode_CheckExact(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || o == Py_None);
  };
  if ((is_class_by_identity(a) && is_plain(right)) || (is_class_by_identity(b) && is_plain(left)))
    return false;
  if (!left || !right) graph_break("comparison of objects whose values are not known");
  const int result = PyObject_RichCompareBool(left.get(), right.get(), Py_EQ);
  if (result < 0) throw PythonError{};
  return result != 0;
}

PyTypeObject* Evaluator::python_type(const V& value) {
  realize(value);
  if (PyTypeObject* real = stood_for(value)) return real;
  if (value->object && value->kind != Kind::Function) return Py_TYPE(value->object.get());
  switch (value->kind) {
    case Kind::Array:
      if (value->flavor == Flavor::NdArray) return &PyArray_Type;
      if (value->flavor == Flavor::NumpyScalar)
        return PyArray_DescrFromType(type_number(value->tensor.dtype()))->typeobj;
      return nullptr;
    case Kind::Scalar:
      return value->weak == WeakKind::Bool    ? &PyBool_Type
             : value->weak == WeakKind::Int   ? &PyLong_Type
             : value->weak == WeakKind::Float ? &PyFloat_Type
                                              : &PyComplex_Type;
    case Kind::SymInt: return &PyLong_Type;
    case Kind::Tuple: return value->object_type ? value->object_type : &PyTuple_Type;
    case Kind::List: return &PyList_Type;
    case Kind::Dict: return &PyDict_Type;
    case Kind::Set: return &PySet_Type;
    case Kind::Slice: return &PySlice_Type;
    case Kind::Function: return &PyFunction_Type;
    case Kind::Method: return &PyMethod_Type;
    case Kind::Cell: return &PyCell_Type;
    case Kind::Instance:
    case Kind::Exception: return value->object_type;
    case Kind::Traceback: return &PyTraceBack_Type;
    case Kind::Tensor: return value->source ? Py_TYPE(value->object.get()) : tensor_class(value->is_array);
    default: return nullptr;
  }
}

}  // namespace weft::capture
