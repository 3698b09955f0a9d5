// NumPy's operators and ufuncs: promotion, scalars instead of 0-d arrays, memory order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capture/builtins/enums.h"
#include "capture/numpy/error_state.h"
#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/objects/ufuncs.h"
#include "capture/perform/concrete.h"
#include "capture/values/memory_order.h"
#include "weft/error.h"

namespace weft::capture {

std::optional<Scalar> scalar_of(PyObject* o) {
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) graph_break("an int that does not fit 64 bits");
    return Scalar(static_cast<int64_t>(value));
  }
  if (PyFloat_CheckExact(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyComplex_CheckExact(o))
    return Scalar(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  return std::nullopt;
}

namespace {

Scalar weak_placeholder(WeakKind kind) {
  switch (kind) {
    case WeakKind::Bool: return Scalar(true);
    case WeakKind::Int: return Scalar(int64_t{1});
    case WeakKind::Float: return Scalar(1.0);
    case WeakKind::Complex: return Scalar(std::complex<double>(1, 0));
  }
  return Scalar(1.0);
}

// Numbers that the dtype has as infinities only: NumPy warns.
void check_holds(const Scalar& number, DType dtype) {
  if (!number.is_float() || !std::isfinite(number.to_double()) || !is_floating(dtype)) return;
  if (!std::isfinite(Tensor::scalar(number, dtype).item().to_double()))
    graph_break(fmt::format("a number that {} does not hold", name(dtype)));
}

// NB_* numbers 0 to 12.
constexpr std::string_view kBinaryNames[] = {
    "add",        "bitwise_and", "floor_divide", "left_shift", "matmul",      "mul",        "remainder",
    "bitwise_or", "pow",         "right_shift",  "sub",        "true_divide", "bitwise_xor"};
constexpr std::string_view kCompareNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};

}  // namespace

V array_or_scalar(Tensor tensor) {
  const Flavor flavor = tensor.dim() == 0 ? Flavor::NumpyScalar : Flavor::NdArray;
  return array_value(std::move(tensor), flavor);
}

Tensor cast_to(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : ops::call1("cast", {tensor}, {{"dtype", dtype}});
}

bool given(Evaluator& ev, const V& value) { return value && !ev.is_none(value); }

Tensor as_tensor(Evaluator& ev, const V& given) {
  const V value = number_of_member(ev.realize(given), true);
  if (ev.is_arraylike(value)) return ev.to_tensor(value);
  if (const V flat = flat_elements(ev, value)) return flat->tensor;
  if (value->kind == Kind::List || value->kind == Kind::Tuple || value->kind == Kind::Const) {
    // A list of numbers becomes a constant; one with arrays in it is stacked.
    std::vector<V> items = ev.elements(value);
    Ref list = checked(PyList_New(0));
    const std::function<Ref(const V&)> plain = [&](const V& v) -> Ref {
      if (ev.realize(v)->kind == Kind::List || v->kind == Kind::Tuple) {
        Ref result = checked(PyList_New(0));
        for (const V& item : v->items) {
          Ref object = plain(item);
          if (!object) return Ref();
          PyList_Append(result.get(), object.get());
        }
        return result;
      }
      return ev.constant(v);
    };
    if (Ref object = plain(value)) {
      Ref array = checked(PyArray_FromAny(object.get(), nullptr, 0, 0, NPY_ARRAY_DEFAULT, nullptr));
      auto* np = reinterpret_cast<PyArrayObject*>(array.get());
      if (!dtype_of_descr(PyArray_DESCR(np))) graph_break("an array of objects");
      return borrow_array(np).clone();
    }
    std::vector<Tensor> parts;
    DType dtype = DType::Bool;
    for (const V& item : items) {
      parts.push_back(as_tensor(ev, item));
      dtype = promote_types(dtype, parts.back().dtype(), Promotion::NumPy);
    }
    for (Tensor& part : parts) part = cast_to(part, dtype);
    return ops::call1("stack", parts, {{"dim", Sym(0)}});
  }
  graph_break("an operand that is not an array or a number");
}

V numpy_pointwise(Evaluator& ev, std::string_view name, std::vector<V> values) {
  if (name == "pow" && values.size() == 2) values[1] = without_negative_exponents(ev, values[0], values[1]);
  const ops::OpDef& op = ops::get_op(name);
  std::vector<ops::Operand> operands;
  std::vector<std::pair<size_t, V>> weak;
  std::vector<Tensor> arrays;
  for (const V& value : values) {
    ev.realize(value);
    if (value->kind == Kind::Array) {
      arrays.push_back(value->tensor);
      operands.emplace_back(value->tensor);
    } else if (value->kind == Kind::Scalar || value->kind == Kind::SymInt) {
      weak.emplace_back(operands.size(), value);
      operands.emplace_back(weak_placeholder(value->kind == Kind::SymInt ? WeakKind::Int : value->weak));
    } else if (value->is_const()) {
      const auto scalar = scalar_of(value->object.get());
      if (!scalar) graph_break("an operand that is not an array or a number");
      operands.emplace_back(*scalar);
    } else {
      Tensor tensor = as_tensor(ev, value);
      arrays.push_back(tensor);
      operands.emplace_back(std::move(tensor));
    }
  }
  const ops::PromotedTypes types = ops::promoted_types(op, operands, Promotion::NumPy);
  for (const ops::Operand& operand : operands)
    if (const Scalar* number = std::get_if<Scalar>(&operand)) check_holds(*number, types.compute);
  if (!weak.empty()) {
    for (auto& [index, value] : weak)
      operands[index] = cast_to(within_range(ev, value, types.compute), types.compute);
  }
  const V result = refuse_known(ev, array_or_scalar(ops::invoke(op, operands, {}, Promotion::NumPy)));
  refuse_beyond_memory(result);
  return laid_out(result, iteration_order(arrays, result->tensor.dim()));
}

namespace {

// NumPy's float64 is a Python float, of which a complex on the left takes care itself.
bool is_pythons(const V& a, const V& b) {
  return a->is_const() && PyComplex_CheckExact(a->object.get()) && b->kind == Kind::Array &&
         b->flavor == Flavor::NumpyScalar && b->tensor.dtype() == DType::F64;
}

// Products of NumPy's complex scalars round every product in them; those of arrays are fused.
V product_of(Evaluator& ev, const V& a, const V& b) {
  V product = numpy_pointwise(ev, "mul", {a, b});
  const DType dtype = product->tensor.dtype();
  const auto is_scalar = [](const V& v) {
    return v->kind != Kind::Array || v->flavor == Flavor::NumpyScalar;
  };
  if (!is_complex(dtype) || !is_scalar(a) || !is_scalar(b)) return product;
  const auto part = [&](const char* name, const V& v) {
    return ops::call1(name, {cast_to(ev.to_tensor(v), dtype)});
  };
  const auto times = [](const Tensor& x, const Tensor& y) { return ops::call1("mul", {x, y}); };
  const Tensor re_a = part("real", a), im_a = part("imag", a), re_b = part("real", b), im_b = part("imag", b);
  return array_or_scalar(ops::call1("complex", {ops::call1("sub", {times(re_a, re_b), times(im_a, im_b)}),
                                                ops::call1("add", {times(re_a, im_b), times(im_a, re_b)})}));
}

}  // namespace

V numpy_binary(Evaluator& ev, int op, const V& a, const V& b) {
  const auto supported = [&](const V& v) {
    return ev.is_arraylike(v) || v->kind == Kind::List || (v->kind == Kind::Tuple);
  };
  if (!supported(a) || !supported(b)) graph_break("an operator on an array and another object");
  if (is_pythons(a, b)) graph_break("an operator of a Python complex and a NumPy float, which is Python's");
  if (op == 4) {
    Tensor x = ev.to_tensor(a), y = ev.to_tensor(b);
    const DType dtype = promote_types(x.dtype(), y.dtype(), Promotion::NumPy);
    const V product =
        refuse_known(ev, array_or_scalar(ops::call1("matmul", {cast_to(x, dtype), cast_to(y, dtype)})));
    return laid_out_in_batches(product, {x, y}, 2);
  }
  if (op == 8 && a->kind == Kind::Array && b->is_const() && !is_integral(a->tensor.dtype())) {
    // NumPy computes these powers by other functions.
    PyObject* exponent = b->object.get();
    const double value =
        PyFloat_CheckExact(exponent) || PyLong_CheckExact(exponent) ? PyFloat_AsDouble(exponent) : 0;
    PyErr_Clear();
    const bool is_bool = a->tensor.dtype() == DType::Bool;
    if (is_bool && value == 2 && PyLong_CheckExact(exponent) && a->flavor == Flavor::NdArray)
      return numpy_pointwise(ev, "square", {a});
    if (value == 2 && !is_bool) return product_of(ev, a, a);
    if (value == 0.5 && !is_bool) return numpy_pointwise(ev, "sqrt", {a});
  }
  const bool is_two =
      b->is_const() && PyLong_CheckExact(b->object.get()) && PyLong_AsLong(b->object.get()) == 2;
  if (op == 8 && is_two && a->kind == Kind::Array && a->flavor == Flavor::NdArray &&
      a->tensor.dtype() == DType::Bool) {
    // NumPy squares, and bytes are the smallest numbers that it squares.
    const V bytes = laid_out_as(array_or_scalar(cast_to(a->tensor, DType::I8)), {a});
    return numpy_pointwise(ev, "mul", {bytes, bytes});
  }
  if (op == 5) return product_of(ev, a, b);
  return numpy_pointwise(ev, kBinaryNames[op], {a, b});
}

V numpy_compare(Evaluator& ev, int op, const V& a, const V& b) {
  if (is_pythons(a, b)) graph_break("a comparison of a Python complex and a NumPy float, which is Python's");
  return numpy_pointwise(ev, kCompareNames[op], {a, b});
}

V numpy_unary(Evaluator& ev, Op op, const V& a) {
  if (op == Op::Negative) return numpy_pointwise(ev, "neg", {a});
  if (op == Op::Positive) return numpy_pointwise(ev, "positive", {a});
  return numpy_pointwise(ev, "bitwise_not", {a});
}

V scalar_binary(Evaluator& ev, int op, const V& a, const V& b) {
  const auto is_float = [](const V& v) {
    return v->kind == Kind::Scalar ? v->weak == WeakKind::Float
                                   : v->is_const() && PyFloat_CheckExact(v->object.get());
  };
  const auto is_plain = [&](const V& v) {
    return is_float(v) || v->kind == Kind::SymInt || (v->is_const() && PyLong_CheckExact(v->object.get()));
  };
  if (!is_plain(a) || !is_plain(b)) graph_break("arithmetic on computed numbers");
  const bool is_division = op == 11;
  // Division by zero is an error.
  const bool may_divide = b->kind == Kind::SymInt ? sym_ne(b->sym, Sym(0))
                                                  : b->is_const() && PyFloat_AsDouble(b->object.get()) != 0;
  if (is_division ? !may_divide : op != 0 && op != 5 && op != 10) {
    if (V result = ev.computed(op, nullptr, {a, b})) return result;  // where it was given with numbers
    graph_break(is_division ? "division by a computed number" : "arithmetic on computed numbers");
  }
  const auto number = [&](const V& v) { return cast_to(ev.to_tensor(v), DType::F64); };
  V result = make_value(Kind::Scalar);
  result->tensor = ops::call1(kBinaryNames[op], {number(a), number(b)});
  return result;
}

V scalar_compare(Evaluator& ev, int op, const V& a, const V& b) {
  V result = make_value(Kind::Scalar);
  result->weak = WeakKind::Bool;
  Tensor x = ev.to_tensor(a), y = ev.to_tensor(b);
  if (x.dtype() != y.dtype()) graph_break("comparison of computed numbers");
  result->tensor = ops::call1(kCompareNames[op], {x, y});
  result->items = {a, b};
  return result;
}

DType to_dtype(Evaluator& ev, const V& value, const char* what) {
  Ref object = ev.constant(value);
  if (!object) graph_break(fmt::format("{} that is not known", what));
  PyArray_Descr* descr = nullptr;
  if (!PyArray_DescrConverter(object.get(), &descr)) throw PythonError{};
  Ref keep = Ref::steal(reinterpret_cast<PyObject*>(descr));
  const auto dtype = dtype_of_descr(descr);
  if (!dtype) graph_break(fmt::format("the dtype {}", short_repr(keep.get())));
  return *dtype;
}

namespace {

// Arrays of one dtype are cast under no rule; otherwise it depends on the loop that NumPy takes.
void check_casting(Evaluator& ev, const std::string& casting, const std::vector<V>& operands, bool is_cast) {
  if (casting == "same_kind" || casting == "unsafe") return;
  const bool known = casting == "safe" || casting == "equiv" || casting == "no";
  bool same = !is_cast;
  for (const V& operand : operands) {
    const bool is_array = ev.realize(operand)->kind == Kind::Array;
    same = same && is_array && is_inexact(operand->tensor.dtype()) &&
           operand->tensor.dtype() == operands[0]->tensor.dtype();
  }
  if (!known || !same) graph_break(fmt::format("a ufunc with casting={}", casting));
}

// Of complex numbers, what is composed of others (_entered/ufuncs.py), and what NumPy has no loop for.
void refuse_complex(Evaluator& ev, std::string_view op, const std::vector<V>& operands) {
  static constexpr std::string_view kComposed[] = {"sign", "exp2", "expm1", "log1p", "log2"};
  if (std::find(std::begin(kComposed), std::end(kComposed), op) == std::end(kComposed)) return;
  for (const V& operand : operands)
    if (is_complex(as_tensor(ev, operand).dtype())) graph_break(fmt::format("{}() of complex numbers", op));
}

// NumPy computes in the dtype that it is told, or refuses.
void check_loop(Evaluator& ev, std::string_view name, const std::vector<V>& operands, DType dtype) {
  std::vector<ops::Operand> tensors;
  for (const V& operand : operands) tensors.emplace_back(as_tensor(ev, operand));
  if (ops::promoted_types(ops::get_op(name), tensors, Promotion::NumPy).compute != dtype)
    graph_break(fmt::format("{}() with a dtype that it has no loop for", name));
}

// Whether the ufunc gives truth values: its loops are named by what they take, which dtype= does not tell.
bool is_predicate(std::string_view op) {
  static constexpr std::string_view kPredicates[] = {
      "isnan", "isinf", "isfinite",    "signbit",    "eq", "ne",          "lt",
      "le",    "gt",    "logical_and", "logical_or", "ge", "logical_xor", "logical_not"};
  return std::find(std::begin(kPredicates), std::end(kPredicates), op) != std::end(kPredicates);
}

// Numbers of which NumPy warns, as what is computed while capturing cannot.
bool is_finite(const Tensor& number) {
  if (number.is_traced() || !is_floating(number.dtype())) return true;
  return std::isfinite(number.item().to_double());
}

// An operand of another dtype: read as it lies there, it has no memory of its own.
V cast_operand(Evaluator& ev, const V& operand, DType dtype) {
  const Tensor tensor = as_tensor(ev, operand);
  return array_value(with_strides_of(cast_to(tensor, dtype), tensor));
}

// What order="A" asks for: Fortran order if all arrays lie in it, and none in C order.
bool are_all_fortran(const std::vector<V>& operands) {
  return std::all_of(operands.begin(), operands.end(), [](const V& operand) {
    return operand->kind != Kind::Array || operand->tensor.dim() < 2 ||
           !order_if_fortran(operand->tensor).empty();
  });
}

V ufunc(Evaluator& ev, const CallArgs& args, const char* op) {
  const auto& params = ops::get_op(op).params;
  const auto num_operands = static_cast<size_t>(std::count_if(
      params.begin(), params.end(), [](const ops::Param& p) { return p.type == ops::Param::Type::Tensor; }));
  V out, dtype, where;
  std::string casting = "same_kind", order = "K";
  for (const auto& [key, value] : args.keywords) {
    if (key == "out") {
      out = value;
      if (ev.realize(out)->kind == Kind::Tuple && out->items.size() == 1) out = out->items[0];
      if (ev.is_none(out)) out = nullptr;
    } else if (key == "dtype") {
      if (!ev.is_none(value)) dtype = value;
    } else if (key == "where") {
      if (!ev.realize(value)->is(Py_True)) where = value;
    } else if (key == "casting") {
      casting = ev.to_string(value, "casting");
    } else if (key == "order") {
      order = ev.to_string(value, "order");
    } else if (key != "subok") {
      graph_break(fmt::format("a ufunc with the argument '{}'", key));
    }
  }
  std::vector<V> operands = args.args;
  if (operands.size() == num_operands + 1 && !out) {
    out = operands.back();
    operands.pop_back();
    if (ev.is_none(out)) out = nullptr;
  }
  if (operands.size() != num_operands) graph_break("a ufunc with another number of operands");
  bool any_array = false;
  if (dtype && is_predicate(op)) graph_break("a ufunc of truth values with dtype=");
  if (order != "K" && order != "C" && order != "F" && order != "A") graph_break("a ufunc with this order=");
  check_casting(ev, casting, operands, dtype || out);
  for (V& operand : operands) {
    ev.realize(operand);
    any_array |= operand->kind == Kind::Array;
    if (dtype && casting == "same_kind" &&
        info(as_tensor(ev, operand).dtype()).kind > info(to_dtype(ev, dtype, "dtype")).kind)
      graph_break("a ufunc with a dtype of a smaller kind");
    if (dtype && op == std::string_view("abs") && is_complex(to_dtype(ev, dtype, "dtype")))
      graph_break("absolute() with a complex dtype");
    if (dtype) operand = cast_operand(ev, operand, to_dtype(ev, dtype, "dtype"));
  }
  if (dtype) check_loop(ev, op, operands, to_dtype(ev, dtype, "dtype"));
  refuse_complex(ev, op, operands);
  if (order == "A") order[0] = are_all_fortran(operands) ? 'F' : 'C';
  V result;
  const bool is_of_bools = any_array && as_tensor(ev, operands[0]).dtype() == DType::Bool;
  if (op == std::string_view("pow") && !is_of_bools)
    result = numpy_binary(ev, 8, operands[0], operands[1]);
  else if (!any_array && !dtype) {
    // Python numbers only: as arrays of their default dtypes.
    for (V& operand : operands) operand = array_value(as_tensor(ev, operand));
    result = numpy_pointwise(ev, op, operands);
    if (!is_finite(result->tensor)) graph_break("a ufunc of numbers that gives no finite one");
  } else {
    result = numpy_pointwise(ev, op, operands);
  }
  if (!out) {
    if (where) graph_break("a ufunc with where= and no out=");
    return order == "K" ? result
                        : laid_out(result, order == "F" ? fortran_order(result->tensor.dim()) : AxisOrder());
  }
  if (ev.realize(out)->kind != Kind::Array || out->flavor != Flavor::NdArray)
    graph_break("out= that is not an array");
  ev.refuse_read_only(out, "output array");
  if (info(result->tensor.dtype()).kind > info(out->tensor.dtype()).kind)
    graph_break("out= of a smaller kind");
  if (!(str(ops::sym_shape(result->tensor)) == str(ops::sym_shape(out->tensor))))
    graph_break("out= of another shape");
  if (where) {
    const Tensor mask = as_tensor(ev, where);
    if (mask.dtype() != DType::Bool || mask.dim() > out->tensor.dim())
      graph_break("a ufunc with this where=");
    result =
        array_value(ops::call1("where", {mask, cast_to(result->tensor, out->tensor.dtype()), out->tensor}));
    if (str(ops::sym_shape(result->tensor)) != str(ops::sym_shape(out->tensor)))
      graph_break("a ufunc with a larger where=");
  }
  assign(ev, out, out->tensor, result);
  return out;
}

template <size_t kIndex>
V ufunc_at(Evaluator& ev, CallArgs& args) {
  return ufunc(ev, args, kUfuncs[kIndex].second);
}

template <size_t... I>
void register_ufuncs(std::index_sequence<I...>) {
  (register_lowering((std::string("numpy.") + kUfuncs[I].first).c_str(), ufunc_at<I>), ...);
}

}  // namespace

void register_numpy_ufuncs() { register_ufuncs(std::make_index_sequence<std::size(kUfuncs)>{}); }

}  // namespace weft::capture
