// Python's builtin functions, math and operator, on abstract values.
#include "capture/builtins/builtins.h"

#include <fmt/format.h>

#include <cmath>

#include "capture/builtins/named_tuples.h"
#include "capture/builtins/sets.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/numpy/names.h"
#include "capture/objects/classes.h"
#include "capture/objects/made_once.h"
#include "capture/objects/numpy_api.h"
#include "capture/perform/concrete.h"

namespace weft::capture {

namespace {

V builtin_len(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  const V& value = ev.realize(args.args[0]);
  if (value->kind == Kind::Array) {
    if (value->tensor.dim() == 0) graph_break("len() of a 0-d array");
    return sym_value(ops::sym_shape(value->tensor)[0]);
  }
  if (value->kind == Kind::Tensor && ev.realize(value->items[0])->tensor.dim() > 0)
    return sym_value(ops::sym_shape(value->items[0]->tensor)[0]);
  if (value->is_const()) {
    if (!is_inert(value->object.get()) || ev.python_method(value, "__len__"))
      graph_break("len() of an object");
    const Py_ssize_t length = PyObject_Length(value->object.get());
    if (length < 0) throw PythonError{};
    return int_value(length);
  }
  if (const V held = ev.as_dict(value, "__len__")) return int_value(static_cast<int64_t>(held->keys.size()));
  if (value->kind == Kind::Instance) {
    PyObject* method = ev.python_method(value, "__len__");
    if (!method) graph_break("len() of an object");
    const V given = ev.realize(ev.call_method_now(value, method, {}));
    if (given->kind == Kind::SymInt) return given;
    return int_value(ev.length_of(given));
  }
  if (value->kind == Kind::Iter || value->kind == Kind::Generator) graph_break("len() of an object");
  if (const V set = outside_set(ev, value, false)) return int_value(PySet_GET_SIZE(set->object.get()));
  if (value->kind == Kind::Set) return int_value(PySet_GET_SIZE(value->object.get()));
  return int_value(static_cast<int64_t>(ev.elements(value).size()));
}

V builtin_range(Evaluator& ev, CallArgs& args) {
  bool symbolic = false, ints = !args.args.empty() && args.args.size() <= 3 && args.keywords.empty();
  for (const V& arg : args.args) {
    ints = ints && ev.is_int(arg);
    symbolic = symbolic || arg->kind == Kind::SymInt;
  }
  if (ints && args.args.size() == 3) {
    const V& step = args.args[2];
    if (step->kind == Kind::SymInt)
      symbolic = symbolic && sym_ne(step->sym, Sym(0));
    else
      symbolic = symbolic && step->is_const() && PyObject_IsTrue(step->object.get()) == 1;
  }
  const AbstractFrame& frame = ev.frame();
  if (!ints || !symbolic || frame.code->instructions[static_cast<size_t>(frame.ip)].op != Op::GetIter)
    return fold(ev, "builtins", "range", args);
  // The loop that follows may not need to know how long it is.
  V range = make_value(Kind::Range);
  range->items = args.args;
  return range;
}

V builtin_enumerate(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "iterable, start");
  V it = make_value(Kind::Iter);
  it->iter = IterKind::Enumerate;
  it->index = bound[1] ? ev.to_int(bound[1], "start") : 0;
  it->items = {ev.iterator(bound[0])};
  return it;
}

V builtin_zip(Evaluator& ev, CallArgs& args) {
  if (!args.keywords.empty()) graph_break("zip() with keyword arguments");
  V it = make_value(Kind::Iter);
  it->iter = IterKind::Zip;
  if (args.args.empty()) return ev.iterator(tuple_value({}));
  for (const V& arg : args.args) it->items.push_back(ev.iterator(arg));
  return it;
}

V builtin_partial(Evaluator& ev, CallArgs& args) {
  if (args.args.empty()) graph_break("functools.partial() without a function");
  ev.realize(args.args[0]);
  if (args.args[0]->is_const() && !PyCallable_Check(args.args[0]->object.get()))
    ev.raise(PyExc_TypeError, {str_value("the first argument must be callable")},
             "functools.partial() of what cannot be called");
  V result = make_value(Kind::Partial), keywords = make_value(Kind::Dict);
  for (const auto& [key, value] : args.keywords) {
    keywords->keys.push_back(str_value(key));
    keywords->items.push_back(value);
  }
  result->items = {args.args[0], tuple_value({args.args.begin() + 1, args.args.end()}), keywords};
  return result;
}

// functools.update_wrapper(wrapper, wrapped) of a function made inside: noted, for who asks, and for when it
// leaves.
V builtin_update_wrapper(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "wrapper, wrapped, assigned, updated");
  if (!bound[0] || !bound[1]) graph_break("functools.update_wrapper() with these arguments");
  const Ref module = checked(PyImport_ImportModule("functools"));
  const auto is_usual = [&](const V& names, const char* usual) {
    if (!names) return true;
    const Ref given = ev.constant(names), expected = checked(PyObject_GetAttrString(module.get(), usual));
    return given && PyObject_RichCompareBool(given.get(), expected.get(), Py_EQ) == 1;
  };
  const V &wrapper = ev.realize(bound[0]), &wrapped = ev.realize(bound[1]);
  const bool is_function =
      wrapped->kind == Kind::Function || (wrapped->is_const() && PyFunction_Check(wrapped->object.get()));
  if (wrapper->kind != Kind::Function || wrapper->context || !is_function ||
      !is_usual(bound[2], "WRAPPER_ASSIGNMENTS") || !is_usual(bound[3], "WRAPPER_UPDATES"))
    graph_break("functools.update_wrapper() of these objects");
  ev.note_effect();
  wrapper->context = wrapped;
  return wrapper;
}

V builtin_reversed(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  const V sequence = ev.realize(args.args[0]);
  if (sequence->kind == Kind::List) {
    V it = make_value(Kind::Iter);
    it->iter = IterKind::Reversed;
    it->items = {sequence};
    it->index = static_cast<int64_t>(sequence->items.size()) - 1;
    return it;
  }
  if (PyObject* method = ev.python_method(sequence, "__reversed__"))
    return ev.call_method_now(sequence, method, {});
  PyObject* const item = ev.python_method(sequence, "__getitem__");
  PyObject* const length = item ? ev.python_method(sequence, "__len__") : nullptr;
  if (length) {
    std::vector<V> items;
    for (int64_t i = ev.length_of(ev.realize(ev.call_method_now(sequence, length, {}))); i > 0; --i)
      items.push_back(ev.call_method_now(sequence, item, {int_value(i - 1)}));
    return ev.iterator(tuple_value(std::move(items)));
  }
  if (sequence->kind == Kind::Dict || sequence->kind == Kind::DictView) {
    V it = ev.iterator(sequence);
    it->backwards = true;
    return it;
  }
  const bool is_sequence = sequence->is_const() && PySequence_Check(sequence->object.get());
  if (sequence->kind != Kind::Tuple && sequence->kind != Kind::Array && !is_sequence)
    graph_break("reversed() of an object that weft does not know");
  std::vector<V> items = ev.elements(sequence);
  return ev.iterator(tuple_value({items.rbegin(), items.rend()}));
}

V builtin_iter(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  return ev.iterator(args.args[0]);
}

V builtin_next(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 2);
  const V& it = ev.realize(args.args[0]);
  if (it->kind == Kind::Generator) ev.iterator(it);
  if (it->kind == Kind::Instance) {
    if (V item = ev.next_of_instance(it)) return item;
    if (args.args.size() == 2) return args.args[1];
    ev.raise(PyExc_StopIteration, {}, "the end of an iterator");
  }
  if (args.args[0]->kind != Kind::Iter) graph_break("next() of an unknown iterator");
  V item = ev.next(args.args[0]);
  if (item) return item;
  if (args.args.size() == 2) return args.args[1];
  raise_end_of(ev, it);
}

V builtin_tuple(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 1);
  return tuple_value(args.args.empty() ? std::vector<V>{} : ev.all_for_tuple(args.args[0]));
}

// tuple.__new__(cls, items): how a class of named tuples makes one.
V tuple_new(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 2);
  const V& type = ev.realize(args.args[0]);
  V tuple = tuple_value(args.args.size() == 1 ? std::vector<V>{} : ev.all_for_tuple(args.args[1]));
  if (type->is(reinterpret_cast<PyObject*>(&PyTuple_Type))) return tuple;
  if (!type->is_const() || !PyType_Check(type->object.get()) ||
      !is_named_tuple(reinterpret_cast<PyTypeObject*>(type->object.get())))
    graph_break("a call of tuple.__new__");
  tuple->object_type = reinterpret_cast<PyTypeObject*>(type->object.get());
  return tuple;
}

V builtin_list(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 1);
  return list_value(args.args.empty() ? std::vector<V>{} : ev.all_elements(args.args[0]));
}

V builtin_dict(Evaluator& ev, CallArgs& args) {
  if (args.args.size() > 1) graph_break("dict() with several arguments");
  V dict = make_value(Kind::Dict);
  if (!args.args.empty()) {
    const V& from = ev.realize(args.args[0]);
    if (const V mapping = ev.mapping_of(from)) {
      dict->keys = mapping->keys;
      dict->items = mapping->items;
    } else {
      for (const V& pair : ev.elements(from)) {
        std::vector<V> parts = ev.elements(pair);
        if (parts.size() != 2) graph_break("dict() from other than pairs");
        set_dict_item(ev, dict, parts[0], parts[1]);
      }
    }
  }
  for (const auto& [key, value] : args.keywords) set_dict_item(ev, dict, str_value(key), value);
  return dict;
}

bool is_python_number(const V& value) {
  if (value->kind != Kind::Const) return false;
  PyObject* o = value->object.get();
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o);
}

bool is_python_float(const V& value) {
  return value->kind == Kind::Scalar ? value->weak == WeakKind::Float
                                     : is_python_number(value) && PyFloat_CheckExact(value->object.get());
}

V builtin_sum(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "iterable, start");
  V total = bound[1] ? ev.realize(bound[1]) : int_value(0);
  if (total->is_const() && (PyUnicode_Check(total->object.get()) || PyBytes_Check(total->object.get())))
    graph_break("sum() of texts");
  std::vector<V> items = ev.elements(bound[0]);
  for (V& item : items) item = ev.realize(item);
  // From 3.12 on, sums of Python's floats make up for their rounding.
  if (PY_VERSION_HEX >= 0x030C0000) {
    items.push_back(total);
    const bool is_known = std::all_of(items.begin(), items.end(), is_python_number);
    const auto floats = std::count_if(items.begin(), items.end(), is_python_float);
    items.pop_back();
    if (is_known && floats > 1) {
      const Ref numbers = checked(PyList_New(0));
      for (const V& item : items)
        if (PyList_Append(numbers.get(), item->object.get()) < 0) throw PythonError{};
      static constinit MadeOnce<Ref> sum;
      PyObject* function = sum.get([] { return builtin_function("sum"); }).get();
      return const_value(
          checked(PyObject_CallFunctionObjArgs(function, numbers.get(), total->object.get(), nullptr)));
    }
    if (floats > 1) graph_break("sum() of computed floats");
  }
  for (const V& item : items) total = ev.binary(0, total, item);
  return total;
}

V data_scalar(Tensor tensor, WeakKind weak) {
  V result = make_value(Kind::Scalar);
  result->weak = weak;
  result->tensor = std::move(tensor);
  return result;
}

template <int kCompare>
V builtin_extreme(Evaluator& ev, CallArgs& args) {
  if (!args.keywords.empty() || args.args.empty()) graph_break("min() or max() with keyword arguments");
  std::vector<V> items = args.args.size() == 1 ? ev.elements(args.args[0]) : args.args;
  if (items.empty()) graph_break("min() or max() of nothing");
  for (const V& item : items) ev.realize(item);
  if (const V best = extreme_of_tensors(ev, kCompare, items)) return best;
  if (items.size() == 2 && std::any_of(items.begin(), items.end(), Evaluator::is_derived_number) &&
      !std::all_of(items.begin(), items.end(), [&](const V& item) { return ev.is_int(item); }))
    if (V best = ev.computed(0, lowered_object(kCompare == Py_LT ? "builtins.min" : "builtins.max"), items))
      return best;
  // One of several floats is a float, whichever it is.
  const bool are_floats = std::all_of(items.begin(), items.end(), is_python_float) &&
                          !std::all_of(items.begin(), items.end(), is_python_number);
  V best = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    if (are_floats) {
      const V better = scalar_compare(ev, kCompare, items[i], best);
      best = data_scalar(ops::call1("where", {better->tensor, ev.to_tensor(items[i]), ev.to_tensor(best)}),
                         WeakKind::Float);
      continue;
    }
    const V better = ev.compare(kCompare, items[i], best);
    if (ev.truth(better)) best = items[i];
  }
  return best;
}

V builtin_abs(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  const V& value = ev.realize(args.args[0]);
  if (value->kind == Kind::Array) return numpy_pointwise(ev, "abs", {value});
  if (value->kind == Kind::Tensor) {
    CallArgs none;
    return call_tensor_method(ev, value, "__abs__", none);
  }
  if (value->kind == Kind::SymInt) return sym_value(sym_max(value->sym, -value->sym));
  if (value->kind == Kind::Scalar && value->weak == WeakKind::Float) {
    if (Evaluator::is_derived_number(value)) return fold(ev, "builtins", "abs", args);
    V result = make_value(Kind::Scalar);
    result->tensor = ops::call1("abs", {value->tensor});
    return result;
  }
  return fold(ev, "builtins", "abs", args);
}

V single_element(Evaluator& ev, const V& array, DType dtype, WeakKind weak) {
  Tensor tensor = array->tensor;
  for (Sym size : ops::sym_shape(tensor))
    if (!size.is_constant() || size.constant() != 1) graph_break("a conversion of an array to a number");
  if (tensor.dim() > 0) graph_break("a conversion of an array to a number");
  if (is_complex(tensor.dtype()) && !is_complex(dtype)) graph_break("a conversion of a complex number");
  (void)ev;
  return data_scalar(cast_to(tensor, dtype), weak);
}

// What a function of Python's numbers gives for a scalar of NumPy's that follows from known numbers
// (int(np.ceil(n / 2))); null for any other value.
V of_known_scalar(Evaluator& ev, const V& value, PyObject* (*convert)(PyObject*)) {
  if (value->kind != Kind::Array || value->flavor != Flavor::NumpyScalar || value->tensor.is_traced())
    return nullptr;
  Ref number = Ref::steal(convert(make_numpy_scalar(value->tensor).get()));
  if (!number) ev.raise_pending();
  return const_value(std::move(number));
}

V builtin_float(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 1);
  if (args.args.empty()) return const_value(checked(PyFloat_FromDouble(0)));
  const V& value = ev.realize(args.args[0]);
  if (const V known = of_known_scalar(ev, value, PyNumber_Float)) return known;
  if (value->kind == Kind::Array) return single_element(ev, value, DType::F64, WeakKind::Float);
  if (value->kind == Kind::Scalar && value->weak == WeakKind::Float) return value;
  if (value->kind == Kind::Scalar && value->weak != WeakKind::Complex)
    return data_scalar(cast_to(value->tensor, DType::F64), WeakKind::Float);
  return fold(ev, "builtins", "float", args);
}

V builtin_complex(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 2);
  if (args.args.size() == 1) {
    const V& value = ev.realize(args.args[0]);
    if (value->kind == Kind::Array) return single_element(ev, value, DType::C128, WeakKind::Complex);
    if (value->kind == Kind::Scalar)
      return data_scalar(cast_to(value->tensor, DType::C128), WeakKind::Complex);
  }
  return fold(ev, "builtins", "complex", args);
}

// A graph gives up where the number is none that 64 bits hold: Python has integers of any size, and
// exceptions.
V truncated(const Tensor& number) {
  const Tensor x = cast_to(number, DType::F64);
  const Tensor fits = ops::call1("lt", {ops::call1("abs", {x}), Tensor::scalar(Scalar(0x1p63), DType::F64)});
  return data_scalar(cast_to(ops::call1("require", {x, fits}), DType::I64), WeakKind::Int);
}

V builtin_int(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 2);
  if (args.args.size() == 1) {
    const V& value = ev.realize(args.args[0]);
    if (value->kind == Kind::SymInt) return value;
    if (Evaluator::is_derived_number(value)) return fold(ev, "builtins", "int", args);
    if (const V known = of_known_scalar(ev, value, PyNumber_Long)) return known;
    if (value->kind == Kind::Array &&
        (is_integral(value->tensor.dtype()) || value->tensor.dtype() == DType::Bool) &&
        value->tensor.dtype() != DType::U64)
      return single_element(ev, value, DType::I64, WeakKind::Int);
    const bool is_float = (value->kind == Kind::Array && value->tensor.dim() == 0) ||
                          (value->kind == Kind::Scalar && value->weak == WeakKind::Float);
    if (is_float && is_floating(value->tensor.dtype())) return truncated(value->tensor);
    if (value->kind == Kind::Array || value->kind == Kind::Scalar) graph_break("int() of a computed number");
  }
  return fold(ev, "builtins", "int", args);
}

V builtin_bool(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 1);
  if (args.args.empty()) return bool_value(false);
  const V& value = ev.realize(args.args[0]);
  if (value->kind == Kind::Array && value->tensor.dim() == 0)
    return single_element(ev, value, DType::Bool, WeakKind::Bool);
  return bool_value(ev.truth(value));
}

V builtin_str(Evaluator& ev, CallArgs& args) {
  return args.args.size() == 1 && args.keywords.empty() ? text_of(ev, "str", args.args[0])
                                                        : fold(ev, "builtins", "str", args);
}
V builtin_repr(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  return text_of(ev, "repr", args.args[0]);
}

V builtin_set(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 1);
  if (args.args.empty()) return make_set(ev, {});
  return set_value(checked(PySet_New(set_elements(ev, args.args[0]).get())));
}

V builtin_frozenset(Evaluator& ev, CallArgs& args) {
  expect(args, 0, 1);
  return const_value(
      checked(PyFrozenSet_New(args.args.empty() ? nullptr : set_elements(ev, args.args[0]).get())));
}

template <bool kAll>
V builtin_quantifier(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  // What follows the decisive element stays in the iterator.
  const V it = ev.iterator(args.args[0]);
  while (V item = ev.next(it))
    if (ev.truth(item) != kAll) return bool_value(!kAll);
  return bool_value(kAll);
}

V builtin_slice(Evaluator& ev, CallArgs& args) {
  (void)ev;
  expect(args, 1, 3);
  V slice = make_value(Kind::Slice);
  if (args.args.size() == 1)
    slice->items = {none_value(), args.args[0], none_value()};
  else
    slice->items = {args.args[0], args.args[1], args.args.size() == 3 ? args.args[2] : none_value()};
  return slice;
}

V builtin_pow(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  return ev.binary(8, args.args[0], args.args[1]);
}

// Of known arguments only.
#define WEFT_FOR_EACH_FOLDED(X) X(ord) X(chr) X(hex) X(oct) X(bin) X(hash) X(format) X(ascii) X(bytes)
#define WEFT_FOLDED(NAME) \
  V builtin_##NAME(Evaluator& ev, CallArgs& args) { return fold(ev, "builtins", #NAME, args); }
WEFT_FOR_EACH_FOLDED(WEFT_FOLDED)
#undef WEFT_FOLDED

V builtin_round(Evaluator& ev, CallArgs& args) { return fold(ev, "builtins", "round", args); }
V builtin_divmod(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  if (program_class(ev.realize(args.args[0])) || program_class(ev.realize(args.args[1])))
    graph_break("divmod() of objects");
  if (ev.constant(args.args[0]) && ev.constant(args.args[1])) return fold(ev, "builtins", "divmod", args);
  V quotient = ev.binary(2, args.args[0], args.args[1]);
  return tuple_value({quotient, ev.binary(6, args.args[0], args.args[1])});
}
V builtin_sorted(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  V items = tuple_value(ev.all_elements(args.args[0]));
  CallArgs constant;
  constant.args = {items};
  if (!ev.constant(items)) graph_break("sorted() of values that are not known");
  return fold(ev, "builtins", "sorted", constant);
}

// Positions of known keys in their order: Python's own sort says which.
V order_of(Evaluator& ev, CallArgs& args) {
  const std::vector<V> keys = ev.elements(args.args.at(0));
  const Ref reverse = ev.constant(args.args.at(1)), list = checked(PyList_New(0));
  if (!reverse) graph_break("sorted() in an unknown order");
  for (const V& key : keys) {
    const Ref object = ev.described(key);
    if (!object) graph_break("sorted() of values that are not known");
    if (PyList_Append(list.get(), object.get()) < 0) throw PythonError{};
  }
  const Ref module = loaded_module("weft._entered_library.ordering"),
            function = checked(PyObject_GetAttrString(module.get(), "order_of")),
            order = checked(PyObject_CallFunctionObjArgs(function.get(), list.get(), reverse.get(), nullptr));
  return list_value(ev.elements(const_value(checked(PyList_AsTuple(order.get())))));
}

#define WEFT_MATH(NAME) \
  V math_##NAME(Evaluator& ev, CallArgs& args) { return fold(ev, "math", #NAME, args); }
// clang-format off
#define WEFT_FOR_EACH_MATH(X) \
  X(sqrt) X(exp) X(log) X(log2) X(log10) X(log1p) X(expm1) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(atan2) X(sinh) X(cosh) X(tanh) X(floor) X(ceil) X(trunc) X(fabs) X(pow) X(hypot) X(gcd) X(factorial) \
  X(isnan) X(isinf) X(isfinite) X(copysign) X(fmod) X(degrees) X(radians) X(erf) X(gamma) X(prod) X(isqrt) \
  X(comb) X(isclose) X(fsum) X(dist) X(lcm) X(perm) X(frexp) X(modf) X(ldexp) X(asinh) X(acosh) X(atanh) \
  X(erfc) X(lgamma) X(remainder) X(cbrt) X(exp2) X(nextafter) X(ulp)
// clang-format on
WEFT_FOR_EACH_MATH(WEFT_MATH)
#undef WEFT_MATH

#define WEFT_FOR_EACH_CMATH(X) \
  X(exp)                       \
  X(log)                       \
  X(log10)                     \
  X(sqrt)                      \
  X(phase)                     \
  X(polar)                     \
  X(rect)                      \
  X(sin)                       \
  X(cos)                       \
  X(tan)                       \
  X(asin)                      \
  X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(isnan) X(isinf) X(isfinite) X(isclose)
#define WEFT_CMATH(NAME) \
  V cmath_##NAME(Evaluator& ev, CallArgs& args) { return fold(ev, "cmath", #NAME, args); }
WEFT_FOR_EACH_CMATH(WEFT_CMATH)
#undef WEFT_CMATH

template <int kOp>
V operator_binary(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  return ev.binary(kOp, args.args[0], args.args[1]);
}
template <int kOp>
V operator_compare(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  return ev.compare(kOp, args.args[0], args.args[1]);
}
V operator_getitem(Evaluator& ev, CallArgs& args) {
  expect(args, 2, 2);
  return ev.subscript(args.args[0], args.args[1]);
}
V operator_neg(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  return ev.unary(Op::Negative, args.args[0]);
}
V operator_index(Evaluator& ev, CallArgs& args) {
  expect(args, 1, 1);
  if (!ev.is_int(args.args[0])) graph_break("operator.index() of a computed number");
  return args.args[0];
}

}  // namespace

void register_builtins() {
  const std::pair<const char*, Lowering> functions[] = {{"len", builtin_len},
                                                        {"range", builtin_range},
                                                        {"enumerate", builtin_enumerate},
                                                        {"zip", builtin_zip},
                                                        {"reversed", builtin_reversed},
                                                        {"iter", builtin_iter},
                                                        {"next", builtin_next},
                                                        {"tuple", builtin_tuple},
                                                        {"list", builtin_list},
                                                        {"dict", builtin_dict},
                                                        {"sum", builtin_sum},
                                                        {"min", builtin_extreme<Py_LT>},
                                                        {"max", builtin_extreme<Py_GT>},
                                                        {"abs", builtin_abs},
                                                        {"float", builtin_float},
                                                        {"int", builtin_int},
                                                        {"complex", builtin_complex},
                                                        {"bool", builtin_bool},
                                                        {"str", builtin_str},
                                                        {"repr", builtin_repr},
                                                        {"set", builtin_set},
                                                        {"frozenset", builtin_frozenset},
                                                        {"all", builtin_quantifier<true>},
                                                        {"any", builtin_quantifier<false>},
                                                        {"slice", builtin_slice},
                                                        {"pow", builtin_pow},
                                                        {"round", builtin_round},
                                                        {"divmod", builtin_divmod},
                                                        {"sorted", builtin_sorted}};
  for (const auto& [name, lowering] : functions)
    register_lowering((std::string("builtins.") + name).c_str(), lowering);
  register_builtin_classes();
  register_lowering("builtins.tuple.__new__", tuple_new);
  register_lowering("collections.namedtuple", builtin_namedtuple);
  register_lowering("functools.partial", builtin_partial);
  register_lowering("functools.update_wrapper", builtin_update_wrapper);
  register_lowering("weft._entered_library.ordering.order_of", order_of);
#define WEFT_FOLDED(NAME) register_lowering("builtins." #NAME, builtin_##NAME);
  WEFT_FOR_EACH_FOLDED(WEFT_FOLDED)
#undef WEFT_FOLDED
#define WEFT_CMATH(NAME) register_lowering("cmath." #NAME, cmath_##NAME);
  WEFT_FOR_EACH_CMATH(WEFT_CMATH)
#undef WEFT_CMATH
#define WEFT_MATH(NAME) register_lowering("math." #NAME, math_##NAME);
  WEFT_FOR_EACH_MATH(WEFT_MATH)
#undef WEFT_MATH
  const std::pair<const char*, Lowering> operators[] = {{"add", operator_binary<0>},
                                                        {"sub", operator_binary<10>},
                                                        {"mul", operator_binary<5>},
                                                        {"truediv", operator_binary<11>},
                                                        {"floordiv", operator_binary<2>},
                                                        {"mod", operator_binary<6>},
                                                        {"pow", operator_binary<8>},
                                                        {"matmul", operator_binary<4>},
                                                        {"and_", operator_binary<1>},
                                                        {"or_", operator_binary<7>},
                                                        {"xor", operator_binary<12>},
                                                        {"lt", operator_compare<Py_LT>},
                                                        {"le", operator_compare<Py_LE>},
                                                        {"gt", operator_compare<Py_GT>},
                                                        {"ge", operator_compare<Py_GE>},
                                                        {"eq", operator_compare<Py_EQ>},
                                                        {"ne", operator_compare<Py_NE>},
                                                        {"getitem", operator_getitem},
                                                        {"neg", operator_neg},
                                                        {"index", operator_index}};
  for (const auto& [name, lowering] : operators)
    register_lowering((std::string("operator.") + name).c_str(), lowering);
}

}  // namespace weft::capture
