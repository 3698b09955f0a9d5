// Methods of NumPy's ufuncs, ufuncs with two results, rounding, and scalar types as casts.
#include <fmt/format.h>

#include "capture/numpy/foreign_arrays.h"
#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"

// After the array API, which it uses.
#include <numpy/ufuncobject.h>

namespace weft::capture {
namespace {

const char* reduction_of(std::string_view name) {
  if (name == "add") return "sum";
  if (name == "multiply") return "prod";
  if (name == "maximum") return "max";
  if (name == "minimum") return "min";
  if (name == "logical_and") return "all";
  if (name == "logical_or") return "any";
  return nullptr;
}

// The same as the reduction of that name, over the first axis unless told otherwise.
V reduce(Evaluator& ev, const char* method, const CallArgs& args) {
  static constexpr const char* kNames[] = {"a", "axis", "dtype", "out", "keepdims", "initial", "where"};
  std::vector<V> bound = bind_arguments(args, "array, axis, dtype, out, keepdims, initial, where");
  CallArgs reduction;
  reduction.args = {bound[0]};
  if (!bound[1]) bound[1] = int_value(0);
  for (size_t i = 1; i < bound.size(); ++i) {
    if (!bound[i] || (i == 2 && ev.is_none(bound[2]))) continue;
    reduction.keywords.emplace_back(kNames[i], bound[i]);
  }
  if (as_tensor(ev, bound[0]).dim() == 0) graph_break("a reduction of a number");
  const bool has_identity = method != std::string_view("max") && method != std::string_view("min");
  const bool selects = bound[6] && !ev.realize(bound[6])->is(Py_True);
  if (selects && !has_identity && !given(ev, bound[5])) graph_break("where= without initial=");
  return find_array_method(method)(ev, reduction);
}

V accumulate(Evaluator& ev, std::string_view ufunc, const CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "array, axis, dtype, out");
  if (given(ev, bound[3])) graph_break("accumulate() with out=");
  if (as_tensor(ev, bound[0]).dim() == 0) graph_break("accumulate() of a scalar");
  const V axis = bound[1] ? bound[1] : int_value(0);
  if (ufunc == "add" || ufunc == "multiply") {
    CallArgs scan;
    scan.args = {bound[0], axis};
    if (given(ev, bound[2])) scan.keywords.emplace_back("dtype", bound[2]);
    return find_array_method(ufunc == "add" ? "cumsum" : "cumprod")(ev, scan);
  }
  if (ufunc != "maximum" && ufunc != "minimum") graph_break(fmt::format("numpy.{}.accumulate", ufunc));
  if (given(ev, bound[2])) graph_break("accumulate() with dtype=");
  const Tensor x = as_tensor(ev, bound[0]);
  const ops::OpDef& op = ops::get_op(ufunc == "maximum" ? "cummax" : "cummin");
  const int64_t dim = ops::normalize_dim(op.name, to_axis(ev, axis), x.dim());
  return laid_out_as(array_value(ops::call(op, {{x}, {{"dim", Sym(dim)}}}).at(0)), {bound[0]});
}

V outer(Evaluator& ev, PyObject* ufunc, const CallArgs& args) {
  if (args.args.size() != 2 || !args.keywords.empty()) graph_break("outer() with unusual arguments");
  const Tensor a = as_tensor(ev, args.args[0]), b = as_tensor(ev, args.args[1]);
  SymShape shape = ops::sym_shape(a);
  shape.resize(shape.size() + static_cast<size_t>(b.dim()), Sym(1));
  CallArgs operands;
  operands.args = {array_value(ops::call1("reshape", {a}, {{"shape", shape}})), array_value(b)};
  Lowering lowering = find_lowering(ufunc);
  if (!lowering) graph_break(fmt::format("outer() of {}", callable_name(ufunc)));
  return lowering(ev, operands);
}

V round(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, decimals, out");
  if (given(ev, bound[2])) graph_break("round() with out=");
  const int64_t decimals = bound[1] ? ev.to_int(bound[1], "decimals") : 0;
  V x = ev.realize(bound[0]);
  if (x->kind != Kind::Array) x = array_or_scalar(as_tensor(ev, x));
  const DType dtype = x->tensor.dtype();
  if (is_complex(dtype)) graph_break("round() of this dtype");
  if (is_integral(dtype) && dtype != DType::Bool) {
    if (decimals < 0) graph_break("round() of integers to tens");
    V copied = array_or_scalar(ops::call1("cast", {x->tensor}, {{"dtype", dtype}}));
    return laid_out_as(copied, {x});
  }
  if (dtype == DType::Bool && decimals != 0) graph_break("round() of truth values to digits");
  if (decimals == 0) return numpy_pointwise(ev, "rint", {x});
  if (decimals > 22 || decimals < -22) graph_break("round() to many decimals");
  double power = 1;
  for (int64_t i = 0; i < std::abs(decimals); ++i) power *= 10;
  const V scale = const_value(checked(PyFloat_FromDouble(power)));
  const char *there = decimals > 0 ? "mul" : "true_divide", *back = decimals > 0 ? "true_divide" : "mul";
  const V rounded = numpy_pointwise(
      ev, back, {numpy_pointwise(ev, "rint", {numpy_pointwise(ev, there, {x, scale})}), scale});
  return laid_out(rounded, order_if_fortran(x->tensor));
}

V divmod(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "x1, x2");
  if (!bound[1]) graph_break("divmod() of one number");
  if (ev.realize(bound[0])->kind != Kind::Array && ev.realize(bound[1])->kind != Kind::Array)
    graph_break("divmod() of numbers");
  return tuple_value({numpy_binary(ev, 2, bound[0], bound[1]), numpy_binary(ev, 6, bound[0], bound[1])});
}

V modf(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "x");
  const V& operand = ev.realize(bound[0]);
  const Tensor x = as_tensor(ev, operand);
  if (x.dtype() != DType::F32 && x.dtype() != DType::F64) graph_break("modf() of this dtype");
  std::vector<V> parts;
  for (const Tensor& part : ops::call(ops::get_op("modf"), {{x}, {}})) {
    parts.push_back(laid_out_as(array_or_scalar(part), {operand}));
  }
  return tuple_value(std::move(parts));
}

template <DType kDType>
V cast(Evaluator& ev, CallArgs& args) {
  if (args.args.size() != 1 || !args.keywords.empty()) graph_break("a NumPy scalar of several arguments");
  const V& value = ev.realize(args.args[0]);
  if (value->kind != Kind::Array) {
    const Ref constant = value->is_const() ? value->object : Ref();
    if (!constant) graph_break("a NumPy scalar of this value");
    Ref descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(kDType))));
    PyObject* type = reinterpret_cast<PyObject*>(reinterpret_cast<PyArray_Descr*>(descr.get())->typeobj);
    Ref made = checked(PyObject_CallOneArg(type, constant.get()));
    if (!PyArray_CheckScalar(made.get())) graph_break("a NumPy array of constants");
    return array_value(scalar_tensor(made.get(), kDType), Flavor::NumpyScalar);
  }
  if (is_complex(value->tensor.dtype()) && !is_complex(kDType))
    graph_break("a cast that discards imaginary parts");
  V result = array_or_scalar(ops::call1("cast", {value->tensor}, {{"dtype", kDType}}));
  return laid_out_as(result, {value});
}

}  // namespace

V numpy_ufunc_method(Evaluator& ev, PyObject* object, const std::string& method, CallArgs& args) {
  const std::string_view ufunc = reinterpret_cast<PyUFuncObject*>(object)->name;
  refuse_foreign_arrays(ev, fmt::format("numpy.{}.{}", ufunc, method), args);
  PyObject* replacement = find_method_replacement("ufunc." + method);
  try {
    CallArgs copied = args;
    if (method == "outer") return outer(ev, object, copied);
    if (method == "accumulate") return accumulate(ev, ufunc, copied);
    if (const char* reduction = reduction_of(ufunc); reduction && method == "reduce")
      return reduce(ev, reduction, copied);
  } catch (const GraphBreak&) {
    if (!replacement) throw;
  }
  if (!replacement) graph_break(fmt::format("a call of numpy.{}.{}", ufunc, method));
  args.args.insert(args.args.begin(), const_value(Ref::borrow(object)));
  ev.enter_for(fmt::format("numpy.{}.{}", ufunc, method), replacement, std::move(args));
  return nullptr;
}

void register_numpy_ufunc_methods() {
  const std::pair<const char*, Lowering> functions[] = {{"numpy.round", round},
                                                        {"numpy.around", round},
                                                        {"numpy.divmod", divmod},
                                                        {"numpy.modf", modf},
                                                        {"numpy.int8", cast<DType::I8>},
                                                        {"numpy.int16", cast<DType::I16>},
                                                        {"numpy.uint16", cast<DType::U16>},
                                                        {"numpy.uint32", cast<DType::U32>},
                                                        {"numpy.uint64", cast<DType::U64>},
                                                        {"numpy.float16", cast<DType::F16>},
                                                        {"numpy.complex64", cast<DType::C64>},
                                                        {"numpy.complex128", cast<DType::C128>}};
  for (const auto& [path, lowering] : functions) register_lowering(path, lowering);
  register_array_method("round", round);
}

}  // namespace weft::capture
