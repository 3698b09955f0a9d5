// Operators, subscripts and iteration, by the kinds of the operands.
#include <fmt/format.h>

#include <array>

#include "capture/builtins/enums.h"
#include "capture/builtins/sets.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/evaluate/evaluator.h"
#include "capture/guards/computed.h"
#include "capture/numpy/foreign_arrays.h"
#include "capture/numpy/names.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"
#include "capture/perform/concrete.h"

namespace weft::capture {

int find_key(Evaluator& ev, const V& dict, const V& key);
V dict_key(Evaluator& ev, const V& key);
void set_dict_item(Evaluator& ev, const V& dict, const V& key, const V& value);

namespace {

bool is_number(const V& v) {
  if (v->kind == Kind::Scalar || v->kind == Kind::SymInt) return true;
  if (!v->is_const()) return false;
  PyObject* o = v->object.get();
  return PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o);
}

bool is_sequence(const V& v) {
  return v->kind == Kind::Tuple || v->kind == Kind::List ||
         (v->is_const() && PyTuple_CheckExact(v->object.get()));
}

bool is_sizes(const V& v) { return v->kind == Kind::Tuple && v->object_type == size_class(); }

// Parts of a tensor's sizes are sizes.
V tuple_beside(const V& given, std::vector<V> items) {
  V result = tuple_value(std::move(items));
  if (is_sizes(given)) result->object_type = size_class();
  return result;
}

// A NumPy scalar repeats what Python's numbers repeat, where it is an integer; an array computes with it.
bool repeats(const V& scalar, const V& sequence) {
  if (scalar->kind != Kind::Array || scalar->flavor != Flavor::NumpyScalar) return false;
  return is_sequence(sequence) || (sequence->is_const() && PySequence_Check(sequence->object.get()) &&
                                   !PyType_Check(sequence->object.get()));
}

// Of a size and a small constant; null for others.
V power_or_shift(int op, Sym x, Sym y) {
  if (!y.is_constant() || y.constant() < 0 || y.constant() > (op == 8 ? 3 : 16)) return nullptr;
  if (op == 9) return sym_value(floor_div(x, Sym(int64_t{1} << y.constant())));
  Sym result(1);
  for (int64_t i = 0; i < y.constant(); ++i) result = result * (op == 8 ? x : Sym(2));
  return sym_value(op == 8 ? result : x * result);
}

V sym_binary(Evaluator& ev, int op, const V& a, const V& b) {
  const Sym x = ev.to_sym(a, "operand"), y = ev.to_sym(b, "operand");
  switch (op % 13) {
    case 0: return sym_value(x + y);
    case 10: return sym_value(x - y);
    case 5: return sym_value(x * y);
    case 2:
    case 6:
      if (sym_eq(y, Sym(0))) graph_break("division by zero");
      return sym_value(op % 13 == 2 ? floor_div(x, y) : floor_mod(x, y));
    case 3:
    case 8:
    case 9:
      if (V result = power_or_shift(op % 13, x, y)) return result;
      break;
    default: break;
  }
  if (V result = ev.computed(op % 13, nullptr, {a, b})) return result;
  return const_value(binary_operation(op, int_value(sym_specialize(x))->object.get(),
                                      int_value(sym_specialize(y))->object.get()));
}

// The operands: members of enum classes beside other values are numbers.
std::pair<V, V> without_members(Evaluator& ev, const V& a, const V& b) {
  if (ev.realize(a)->is_const() && ev.realize(b)->is_const()) return {a, b};
  const bool for_array = a->kind == Kind::Array || b->kind == Kind::Array;
  return {number_of_member(a, for_array), number_of_member(b, for_array)};
}

}  // namespace

bool is_foldable(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
         PyComplex_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) ||
         PyTuple_CheckExact(o) || Py_TYPE(o) == &PyRange_Type || PyFrozenSet_CheckExact(o) ||
         (PyType_Check(o) && is_inert(o)) || PyObject_TypeCheck(o, &PyArrayDescr_Type) || is_enum_member(o);
}

V Evaluator::binary(int op, const V& first, const V& second) {
  const std::pair<V, V> operands = without_members(*this, first, second);
  const V &a = operands.first, &b = operands.second;
  const bool in_place = op >= 13;
  const bool is_formatting =
      op % 13 == 6 && a->is_const() && (PyUnicode_Check(a->object.get()) || PyBytes_Check(a->object.get()));
  if (is_formatting && b->kind == Kind::Tensor) graph_break("formatting of a tensor");
  if ((a->kind == Kind::Tensor || b->kind == Kind::Tensor) && !overrides_operators(a, b)) {
    static constexpr const char* kNames[] = {"add", "and_", "floordiv", "lshift", "matmul",  "mul", "mod",
                                             "or_", "pow",  "rshift",   "sub",    "truediv", "xor"};
    // x @= y makes another tensor.
    static constexpr const char* kInPlace[] = {"iadd", "iand",     "ifloordiv", "ilshift", "matmul",
                                               "imul", "imod",     "ior",       "ipow",    "irshift",
                                               "isub", "itruediv", "ixor"};
    return operate_on_tensors(*this, (in_place ? kInPlace : kNames)[op % 13], {a, b});
  }
  if (V result = instance_binary(op, a, b)) return result;
  if (V result = set_binary(*this, op, a, b)) return result;
  if (op % 13 == 5 && (repeats(a, b) || repeats(b, a)))
    graph_break("repetition of a sequence by a NumPy scalar");
  if (a->kind == Kind::Array || b->kind == Kind::Array) {
    if (!in_place || a->kind != Kind::Array || a->flavor != Flavor::NdArray)
      return with_default_float(numpy_binary(*this, op % 13, a, b), {{a, b}, {}});
    V result = numpy_binary(*this, op % 13, a, b);
    // NumPy's in-place operators cast as 'same_kind' allows.
    const DType from = result->tensor.dtype(), to = a->tensor.dtype();
    const auto kind = [](DType d) {
      return info(d).kind == DTypeKind::Unsigned ? DTypeKind::Signed : info(d).kind;
    };
    if (kind(from) > kind(to) ||
        (info(from).kind == DTypeKind::Signed && info(to).kind == DTypeKind::Unsigned))
      graph_break("an in-place operation whose result does not fit the array");
    if (result->tensor.dim() > a->tensor.dim())
      graph_break("an in-place operation whose result has more dimensions");
    refuse_read_only(a, "output array");
    assign(*this, a, a->tensor, result);
    return a;
  }
  if (is_int(a) && is_int(b) && (a->kind == Kind::SymInt || b->kind == Kind::SymInt))
    return sym_binary(*this, op, a, b);
  if (is_derived_number(a) || is_derived_number(b))
    if (V result = computed(op % 13, nullptr, {a, b})) return result;
  if ((a->kind == Kind::Scalar || b->kind == Kind::Scalar) && is_number(a) && is_number(b))
    return scalar_binary(*this, op % 13, a, b);
  if ((a->kind == Kind::SymInt || b->kind == Kind::SymInt) && is_number(a) && is_number(b)) {
    V x = a->kind == Kind::SymInt ? int_value(sym_specialize(a->sym)) : a;
    V y = b->kind == Kind::SymInt ? int_value(sym_specialize(b->sym)) : b;
    return binary(op, x, y);
  }
  // int | float
  const auto is_class = [](const V& v) {
    return v->is_const() && is_inert(v->object.get()) &&
           (PyType_Check(v->object.get()) || is_union(v->object.get()));
  };
  if (op == 7 && is_class(a) && is_class(b))
    return const_value(checked(PyNumber_Or(a->object.get(), b->object.get())));
  if (a->is_const() && b->is_const() && is_foldable(a->object.get()) && is_foldable(b->object.get()))
    return const_value(binary_operation(op, a->object.get(), b->object.get()));
  if (op % 13 == 0 && is_sequence(a) && is_sequence(b)) {
    if ((a->kind == Kind::List) != (b->kind == Kind::List))
      graph_break("concatenation of different sequences");
    std::vector<V> items = elements(a), more = elements(b);
    items.insert(items.end(), more.begin(), more.end());
    if (a->kind != Kind::List) return tuple_beside(is_sizes(b) ? b : a, std::move(items));
    if (!in_place) return list_value(std::move(items));
    mark_dirty(a);
    a->items = std::move(items);
    return a;
  }
  if (op % 13 == 7 && a->kind == Kind::Dict && b->kind == Kind::Dict) {
    const auto is_subclass = [](const V& dict) {
      return dict->object && !PyDict_CheckExact(dict->object.get());
    };
    if (is_subclass(a) || is_subclass(b)) graph_break("a union with an OrderedDict");
    V result = in_place ? a : make_value(Kind::Dict);
    if (!in_place) {
      result->keys = a->keys;
      result->items = a->items;
    }
    for (size_t i = 0; i < b->keys.size(); ++i) set_dict_item(*this, result, b->keys[i], b->items[i]);
    return result;
  }
  if (op == 5 && ((is_sequence(a) && is_int(b)) || (is_int(a) && is_sequence(b)))) {
    const V& sequence = is_sequence(a) ? a : b;
    const int64_t count = to_int(is_sequence(a) ? b : a, "repetition");
    std::vector<V> items = elements(sequence), result;
    if (count * static_cast<int64_t>(items.size()) > 100000) graph_break("a very long sequence");
    for (int64_t i = 0; i < count; ++i) result.insert(result.end(), items.begin(), items.end());
    return sequence->kind == Kind::List ? list_value(std::move(result))
                                        : tuple_beside(sequence, std::move(result));
  }
  if (op % 13 == 6 && a->is_const() && PyUnicode_CheckExact(a->object.get())) {
    if (Ref right = constant(b)) return const_value(binary_operation(6, a->object.get(), right.get()));
  }
  graph_break("an operator on objects that weft does not know");
}

V Evaluator::guarded_comparison(int op, const V& a, const V& b) {
  const auto is_given = [](const V& v) {
    return v->kind == Kind::Scalar && v->weak == WeakKind::Float && v->source && v->object &&
           PyFloat_CheckExact(v->object.get());
  };
  const auto is_known = [](const V& v) {
    return v->is_const() && (PyFloat_CheckExact(v->object.get()) || PyLong_CheckExact(v->object.get()));
  };
  if (!settings_.fullgraph) return nullptr;
  if (is_known(a) && is_given(b)) {
    constexpr std::array<int, 6> kReflected = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    return guarded_comparison(kReflected[static_cast<size_t>(op)], b, a);
  }
  if (!is_given(a) || !is_known(b)) return nullptr;
  const int holds = PyObject_RichCompareBool(a->object.get(), b->object.get(), op);
  if (holds < 0) throw PythonError{};
  variant_->guards.add({.op = GuardOp::Compared,
                        .a = variant_->guards.load(a->source),
                        .imm = 2 * op + holds,
                        .object = b->object.get()},
                       fmt::format("a comparison of {} with {} gives {}", a->source->str(),
                                   short_repr(b->object.get()), holds != 0));
  return bool_value(holds != 0);
}

V Evaluator::compare(int op, const V& first, const V& second) {
  const std::pair<V, V> operands = without_members(*this, first, second);
  const V &a = operands.first, &b = operands.second;
  if ((a->kind == Kind::Tensor || b->kind == Kind::Tensor) && !overrides_operators(a, b)) {
    static constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};
    return operate_on_tensors(*this, kNames[op], {a, b});
  }
  if (V result = instance_compare(op, a, b)) return result;
  if (const V set = outside_set(*this, a, false)) return compare(op, set, b);
  if (const V set = outside_set(*this, b, false)) return compare(op, a, set);
  if (a->kind == Kind::Set && b->kind == Kind::Set)
    return const_value(checked(PyObject_RichCompare(a->object.get(), b->object.get(), op)));
  if (a->kind == Kind::Array || b->kind == Kind::Array) {
    if (!is_arraylike(a) || !is_arraylike(b)) graph_break("comparison of an array with another object");
    return numpy_compare(*this, op, a, b);
  }
  if (is_int(a) && is_int(b) && (a->kind == Kind::SymInt || b->kind == Kind::SymInt)) {
    const Sym x = to_sym(a, "operand"), y = to_sym(b, "operand");
    switch (op) {
      case Py_LT: return bool_value(sym_lt(x, y));
      case Py_LE: return bool_value(sym_le(x, y));
      case Py_GT: return bool_value(sym_gt(x, y));
      case Py_GE: return bool_value(sym_ge(x, y));
      case Py_EQ: return bool_value(sym_eq(x, y));
      default: return bool_value(sym_ne(x, y));
    }
  }
  if (is_derived_number(a) || is_derived_number(b))
    if (V outcome = computed(kFirstComparison + op, nullptr, {a, b})) return outcome;
  if (V outcome = guarded_comparison(op, a, b)) return outcome;
  if ((a->kind == Kind::Scalar || b->kind == Kind::Scalar) && is_number(a) && is_number(b))
    return scalar_compare(*this, op, a, b);
  if ((a->kind == Kind::SymInt || b->kind == Kind::SymInt) && is_number(a) && is_number(b)) {
    V x = a->kind == Kind::SymInt ? int_value(sym_specialize(a->sym)) : a;
    V y = b->kind == Kind::SymInt ? int_value(sym_specialize(b->sym)) : b;
    return compare(op, x, y);
  }
  if (a->is_const() && b->is_const() && is_foldable(a->object.get()) && is_foldable(b->object.get()))
    return const_value(checked(PyObject_RichCompare(a->object.get(), b->object.get(), op)));
  if (op == Py_EQ || op == Py_NE) {
    if (a->kind == Kind::Instance || b->kind == Kind::Instance) {
      const V& instance = a->kind == Kind::Instance ? a : b;
      if (instance->object_type->tp_richcompare != PyBaseObject_Type.tp_richcompare)
        graph_break("comparison of objects");
      if (a->kind == Kind::Instance && b->kind != Kind::Instance && !b->is_const())
        graph_break("comparison of objects");
      return bool_value(same_object(a, b) == (op == Py_EQ));
    }
    return bool_value(equal(a, b) == (op == Py_EQ));
  }
  if (is_sequence(a) && is_sequence(b)) {
    const Ref left = described(a), right = described(b);
    if (left && right && a->kind != Kind::SymInt)
      return const_value(checked(PyObject_RichCompare(left.get(), right.get(), op)));
  }
  graph_break("comparison of objects that weft does not know");
}

V Evaluator::unary(Op op, const V& a) {
  realize(a);
  if (a->kind == Kind::Tensor)
    return operate_on_tensors(*this, op == Op::Negative ? "neg" : op == Op::Positive ? "pos" : "invert", {a});
  if (a->kind == Kind::Array) return numpy_unary(*this, op, a);
  if (a->kind == Kind::SymInt) {
    if (op == Op::Invert) return sym_value(Sym(-1) - a->sym);
    return sym_value(op == Op::Negative ? -a->sym : a->sym);
  }
  if (a->kind == Kind::Scalar && a->weak == WeakKind::Float && op != Op::Invert) {
    if (op == Op::Positive) return a;
    if (is_derived_number(a))  // as Python does for all but NaN, whose sign nothing asks for
      if (V result = computed(5, nullptr, {a, const_value(checked(PyFloat_FromDouble(-1)))})) return result;
    V result = make_value(Kind::Scalar);
    result->weak = a->weak;
    result->tensor = ops::call1("neg", {a->tensor});
    return result;
  }
  if (PyObject* method = python_method(a, op == Op::Negative   ? "__neg__"
                                          : op == Op::Positive ? "__pos__"
                                                               : "__invert__"))
    return call_method_now(a, method, {});
  if (a->is_const() && is_foldable(a->object.get())) {
    PyObject* o = a->object.get();
    return const_value(checked(op == Op::Negative   ? PyNumber_Negative(o)
                               : op == Op::Positive ? PyNumber_Positive(o)
                                                    : PyNumber_Invert(o)));
  }
  graph_break("an operator on an object that weft does not know");
}

// Does the subscript of an array select by truth values, which are not known?
static bool selects_by_mask(Evaluator& ev, const V& key) {
  const auto is_mask = [&](const V& part) {
    return ev.realize(part)->kind == Kind::Array && part->tensor.dtype() == DType::Bool &&
           part->tensor.dim() > 0;
  };
  if (is_mask(key)) return true;
  return key->kind == Kind::Tuple && std::any_of(key->items.begin(), key->items.end(), is_mask);
}

bool Evaluator::enter_subscript(const V& container, const V& key) {
  static constinit InternedName getitem("__getitem__");
  realize(container);
  if (container->kind == Kind::Array) {
    PyObject* function = selects_by_mask(*this, key) ? find_method_replacement("__getitem__") : nullptr;
    if (!function) return false;
    CallArgs args;
    args.args = {container, key};
    enter(function, std::move(args));
    return true;
  }
  if (container->is_const()) {
    PyObject* function = find_replacement(container->object.get());
    if (!function || PyCallable_Check(container->object.get())) return false;
    CallArgs args;
    args.args = {key};
    refuse_foreign_arrays(*this, callable_name(container->object.get()), args);
    enter(function, std::move(args));
    return true;
  }
  if (container->kind == Kind::Bound && container->name == "flat" &&
      realize(container->items[0])->kind == Kind::Array) {
    CallArgs args;
    args.args = {container->items[0], key};
    refuse_foreign_arrays(*this, "ndarray.flat", args);
    enter(find_method_replacement("flat.__getitem__"), std::move(args));
    return true;
  }
  if (container->kind != Kind::Instance) return false;
  PyObject* method = _PyType_Lookup(container->object_type, getitem);
  if (!method || !PyFunction_Check(method)) return false;
  if (!container->source) pin_type(container->object_type);
  CallArgs args;
  args.args = {container, key};
  enter(method, std::move(args));
  return true;
}

bool Evaluator::enter_store(const V& container, const V& key, const V& value) {
  if (realize(container)->kind == Kind::Bound && container->name == "flat" &&
      realize(container->items[0])->kind == Kind::Array) {
    CallArgs args;
    args.args = {container->items[0], key, value};
    refuse_foreign_arrays(*this, "ndarray.flat", args);
    enter(find_method_replacement("flat.__setitem__"), std::move(args), OnReturn::Discard);
    return true;
  }
  if (realize(container)->kind != Kind::Array || !selects_by_mask(*this, key)) return false;
  realize(value);
  if (value->kind != Kind::List && value->kind != Kind::Tuple &&
      (value->kind != Kind::Array || value->tensor.dim() == 0))
    return false;
  CallArgs args;
  args.args = {container, key, value};
  refuse_foreign_arrays(*this, "ndarray.__setitem__", args);
  enter(find_method_replacement("__setitem__"), std::move(args), OnReturn::Discard);
  return true;
}

bool Evaluator::enter_store_attribute(const V& owner, const std::string& name, const V& value) {
  if (realize(owner)->kind != Kind::Array) return false;
  PyObject* function = find_method_replacement("set " + name);
  if (!function) return false;
  CallArgs args;
  args.args = {owner, value};
  refuse_foreign_arrays(*this, "the attribute '" + name + "' of an array", args);
  enter(function, std::move(args), OnReturn::Discard);
  return true;
}

V Evaluator::subscript(const V& container, const V& key) {
  realize(container);
  realize(key);
  switch (container->kind) {
    case Kind::Array: return numpy_subscript(*this, container, key);
    case Kind::Tensor: return operate_on_tensors(*this, "getitem", {container, key});
    case Kind::Opaque:
      if (V flag = flags_item(*this, container, key)) return flag;
      break;
    case Kind::Tuple:
    case Kind::List: {
      const auto length = static_cast<int64_t>(container->items.size());
      if (key->kind == Kind::Slice) {
        Ref slice = constant(key);
        Py_ssize_t start, stop, step;
        if (!slice) graph_break("a slice that is not known");
        if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) throw PythonError{};
        const Py_ssize_t count = PySlice_AdjustIndices(length, &start, &stop, step);
        std::vector<V> items;
        for (Py_ssize_t i = 0; i < count; ++i)
          items.push_back(container->items[static_cast<size_t>(start + i * step)]);
        return container->kind == Kind::List ? list_value(std::move(items))
                                             : tuple_beside(container, std::move(items));
      }
      if (!is_int(key)) graph_break("an index that is not a known int");
      int64_t index = to_int(key, "index");
      if (index < 0) index += length;
      if (index < 0 || index >= length)
        raise(PyExc_IndexError,
              {str_value(container->kind == Kind::List ? "list index out of range"
                                                       : "tuple index out of range")},
              "an index out of range");
      return container->items[static_cast<size_t>(index)];
    }
    case Kind::Dict: {
      const int at = find_key(*this, container, dict_key(*this, key));
      if (at < 0) raise(PyExc_KeyError, {key}, "a missing key");
      return container->items[static_cast<size_t>(at)];
    }
    case Kind::Const: {
      PyObject* object = container->object.get();
      Ref index = constant(key);
      if (!index && key->kind == Kind::SymInt) index = int_value(sym_specialize(key->sym))->object;
      const bool is_class = PyType_Check(object);
      const auto* type = reinterpret_cast<PyTypeObject*>(object);
      if (index && (is_annotation(object) || (is_class && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))))
        return const_value(checked(PyObject_GetItem(object, index.get())));  // List[int], list[int]
      if (index && is_foldable(object) &&
          (!is_class || is_enum_class(reinterpret_cast<PyTypeObject*>(object))))
        return const_value(checked(PyObject_GetItem(object, index.get())));
      break;
    }
    case Kind::Instance: {
      static constinit InternedName getitem("__getitem__");
      PyObject* method = _PyType_Lookup(container->object_type, getitem);
      if (method && PyFunction_Check(method)) graph_break("__getitem__ of a Python class");
      if (const V held = as_dict(container, "__getitem__")) return subscript(held, key);
      break;
    }
    default: break;
  }
  graph_break("a subscript of an object that weft does not know");
}

// list[slice] = items; no items delete the slice.
void store_list_slice(Evaluator& ev, const V& list, const V& key, const std::vector<V>& items) {
  const Ref slice = ev.constant(key);
  Py_ssize_t start, stop, step;
  if (!slice) graph_break("a slice that is not known");
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) throw PythonError{};
  const Py_ssize_t count =
      PySlice_AdjustIndices(static_cast<Py_ssize_t>(list->items.size()), &start, &stop, step);
  if (step != 1) {
    if (!items.empty() && static_cast<Py_ssize_t>(items.size()) != count)
      graph_break("assignment to an extended slice of another size");
    if (items.empty() && count > 0) graph_break("deletion of an extended slice");
    ev.mark_dirty(list);
    for (Py_ssize_t i = 0; i < count; ++i)
      list->items[static_cast<size_t>(start + i * step)] = items[static_cast<size_t>(i)];
    return;
  }
  ev.mark_dirty(list);
  list->items.erase(list->items.begin() + start, list->items.begin() + std::max(start, stop));
  list->items.insert(list->items.begin() + start, items.begin(), items.end());
}

void Evaluator::store_subscript(const V& container, const V& key, const V& value) {
  realize(container);
  realize(key);
  switch (container->kind) {
    case Kind::Array: return numpy_store(*this, container, key, value);
    case Kind::Tensor: operate_on_tensors(*this, "setitem", {container, key, value}); return;
    case Kind::List: {
      if (key->kind == Kind::Slice) return store_list_slice(*this, container, key, elements(value));
      if (!is_int(key)) break;
      const auto length = static_cast<int64_t>(container->items.size());
      int64_t index = to_int(key, "index");
      if (index < 0) index += length;
      if (index < 0 || index >= length)
        raise(PyExc_IndexError, {str_value("list assignment index out of range")}, "an index out of range");
      mark_dirty(container);
      container->items[static_cast<size_t>(index)] = value;
      return;
    }
    case Kind::Dict: return set_dict_item(*this, container, key, value);
    case Kind::Instance:
      if (PyObject* method = python_method(container, "__setitem__")) {
        call_method_now(container, method, {key, value});
        return;
      }
      if (const V held = as_dict(container, "__setitem__")) return set_dict_item(*this, held, key, value);
      break;
    default: break;
  }
  graph_break("assignment to an item of an object that weft does not know");
}

static bool is_in_range(PyObject* range, Sym number) {
  const auto bound = [&](const char* name) {
    const int64_t value = PyLong_AsLongLong(checked(PyObject_GetAttrString(range, name)).get());
    if (value == -1 && PyErr_Occurred()) throw PythonError{};
    return Sym(value);
  };
  const Sym start = bound("start"), stop = bound("stop"), step = bound("step");
  const bool is_up = step.constant() > 0;
  const Sym low = is_up ? start : stop + Sym(1), high = is_up ? stop : start + Sym(1);
  return sym_ge(number, low) && sym_lt(number, high) &&
         sym_eq(floor_mod(number - start, is_up ? step : -step), Sym(0));
}

V Evaluator::contains(const V& container, const V& item) {
  realize(container);
  if (const V set = outside_set(*this, container, false)) return contains(set, item);
  if (realize(item)->kind == Kind::SymInt && container->is_const() &&
      Py_TYPE(container->object.get()) == &PyRange_Type)
    return bool_value(is_in_range(container->object.get(), item->sym));
  // Which one of several numbers a size is, is asked one after the other: others may be a later call's.
  const bool is_hashed = container->kind == Kind::Set || container->kind == Kind::Dict ||
                         (container->is_const() && PyFrozenSet_CheckExact(container->object.get()));
  if (item->kind == Kind::SymInt && is_hashed) {
    for (const V& element : elements(container))
      if (is_number(realize(element)) && equal(element, item)) return bool_value(true);
    return bool_value(false);
  }
  if (container->kind == Kind::Set) {
    const Ref object = identified(item);
    if (!object) graph_break("a membership test that weft does not know");
    const int found = PySet_Contains(container->object.get(), object.get());
    if (found < 0) throw PythonError{};
    return bool_value(found != 0);
  }
  if (PyObject* method = python_method(container, "__contains__"))
    return bool_value(truth(call_method_now(container, method, {item})));
  if (const V held = as_dict(container, "__contains__")) return contains(held, item);
  if (container->kind == Kind::Instance || container->kind == Kind::Iter ||
      container->kind == Kind::Generator) {
    if (container->kind == Kind::Instance && has_own(container, "__contains__"))
      graph_break("a membership test by a class that is not written in Python");
    const V it = iterator(container);
    while (const V element = next(it))
      if (same_or_equal(element, item)) return bool_value(true);
    return bool_value(false);
  }
  if (container->kind == Kind::DictView) {
    for (const V& element : elements(container))
      if (same_or_equal(element, item)) return bool_value(true);
    return bool_value(false);
  }
  if (container->kind == Kind::Dict)
    return bool_value(find_key(*this, container, dict_key(*this, item)) >= 0);
  if (container->kind == Kind::Tuple || container->kind == Kind::List) {
    for (const V& element : container->items)
      if (same_or_equal(element, item)) return bool_value(true);
    return bool_value(false);
  }
  if (container->kind == Kind::Const && is_foldable(container->object.get())) {
    if (Ref object = constant(item); object && !is_nan(item)) {
      const int found = PySequence_Contains(container->object.get(), object.get());
      if (found < 0) throw PythonError{};
      return bool_value(found != 0);
    }
    if (PyTuple_CheckExact(container->object.get())) {
      for (const V& element : elements(container))
        if (same_or_equal(element, item)) return bool_value(true);
      return bool_value(false);
    }
  }
  if (container->kind == Kind::Array && is_arraylike(item)) {
    V found = make_value(Kind::Scalar);
    found->weak = WeakKind::Bool;
    found->tensor = ops::call1("any", {numpy_compare(*this, Py_EQ, container, item)->tensor});
    return found;
  }
  graph_break("a membership test that weft does not know");
}

}  // namespace weft::capture
