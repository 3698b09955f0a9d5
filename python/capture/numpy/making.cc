// NumPy's functions that make arrays from numbers, diagonals, and numbers for what is not finite.
#include <fmt/format.h>

#include <set>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"

namespace weft::capture {
namespace {

// Of known numbers and dtypes only: the value is a constant, made by NumPy.
constexpr const char* kKnown[] = {
    "numpy.linspace",     "numpy.logspace",      "numpy.geomspace",       "numpy.tri",
    "numpy.hanning",      "numpy.hamming",       "numpy.blackman",        "numpy.bartlett",
    "numpy.kaiser",       "numpy.indices",       "numpy.tril_indices",    "numpy.triu_indices",
    "numpy.diag_indices", "numpy.mask_indices",  "numpy.fft.fftfreq",     "numpy.fft.rfftfreq",
    "numpy.result_type",  "numpy.promote_types", "numpy.can_cast",        "numpy.issubdtype",
    "numpy.isdtype",      "numpy.mintypecode",   "numpy.min_scalar_type", "numpy.typename",
    "numpy.finfo",        "numpy.iinfo",         "numpy.dtype",           "numpy.broadcast_shapes",
    "numpy.isscalar",     "builtins.issubclass", "numpy.base_repr",       "numpy.binary_repr"};

Ref known(Evaluator& ev, const V& value, const char* name) {
  if (ev.realize(value)->kind == Kind::SymInt) return int_value(sym_specialize(value->sym))->object;
  Ref object = ev.constant(value);
  if (!object) graph_break(fmt::format("{}() of computed numbers", name));
  return object;
}

// The object as a value: arrays become tensors, containers keep their form.
V constant_value(PyObject* object, const char* name) {
  if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    std::vector<V> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      items.push_back(constant_value(PySequence_Fast_GET_ITEM(object, i), name));
    return PyTuple_Check(object) ? tuple_value(std::move(items)) : list_value(std::move(items));
  }
  if (!PyArray_Check(object)) return const_value(Ref::borrow(object));
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (!PyArray_CheckExact(object) || !dtype_of_descr(PyArray_DESCR(array)))
    graph_break(fmt::format("{}() with a result of this kind", name));
  const Tensor tensor = borrow_array(array).clone();
  return array_value(ops::call1("cast", {tensor}, {{"dtype", tensor.dtype()}}));
}

// The call's result; null where it raises, or NumPy would warn.
Ref without_warnings(PyObject* function, PyObject* args, PyObject* keywords) {
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      errstate = checked(PyObject_GetAttrString(numpy.get(), "errstate")),
      actions =
          checked(Py_BuildValue("{s:s,s:s,s:s}", "divide", "raise", "over", "raise", "invalid", "raise")),
      no_args = checked(PyTuple_New(0)),
      state = checked(PyObject_Call(errstate.get(), no_args.get(), actions.get()));
  checked(PyObject_CallMethod(state.get(), "__enter__", nullptr));
  Ref result = Ref::steal(PyObject_Call(function, args, keywords));
  if (!result) clear_error();
  checked(PyObject_CallMethod(state.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  return result;
}

// What the function gives for known arguments.
V constant_of(Evaluator& ev, PyObject* function, const CallArgs& args, const char* name) {
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.args.size()))),
      keywords = checked(PyDict_New());
  for (size_t i = 0; i < args.args.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), known(ev, args.args[i], name).release());
  for (const auto& [key, value] : args.keywords)
    if (PyDict_SetItemString(keywords.get(), key.c_str(), known(ev, value, name).get()) < 0)
      throw PythonError{};
  const Ref result = without_warnings(function, positional.get(), keywords.get());
  if (!result)
    graph_break(fmt::format("{}() raises or warns", name));  // again when the call is performed for real
  return constant_value(result.get(), name);
}

template <size_t kIndex>
V made(Evaluator& ev, CallArgs& args) {
  const std::string path = kKnown[kIndex];
  // Its replacement makes a sequence whose length changes.
  if (path == "numpy.linspace" && args.args.size() == 3 && args.keywords.empty() &&
      ev.realize(args.args[2])->kind == Kind::SymInt)
    graph_break("linspace() of a length that changes");
  const size_t dot = path.rfind('.');
  const char* name = kKnown[kIndex] + dot + 1;
  Ref numpy = checked(PyImport_ImportModule(path.substr(0, dot).c_str())),
      function = checked(PyObject_GetAttrString(numpy.get(), name));
  return constant_of(ev, function.get(), args, name);
}

// A function of known arguments, called while the graph is made.
V folded(Evaluator& ev, CallArgs& args) {
  const Ref function = args.args.empty() ? Ref() : ev.constant(args.args[0]);
  if (!function) graph_break("folded() without a function");
  args.args.erase(args.args.begin());
  return constant_of(ev, function.get(), args, callable_name(function.get()).c_str());
}

template <size_t... I>
void register_made(std::index_sequence<I...>) {
  (register_lowering(kKnown[I], made<I>), ...);
}

V diag(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "v, k");
  const Tensor x = as_tensor(ev, bound[0]);
  const Sym offset(bound[1] ? ev.to_int(bound[1], "k") : 0);
  if (x.dim() == 1) return array_value(ops::call1("diag", {x}, {{"diagonal", offset}}));
  if (x.dim() != 2 || ev.realize(bound[0])->kind != Kind::Array) graph_break("diag() of this array");
  V value =
      array_value(ops::call1("diagonal", {x}, {{"offset", offset}, {"dim1", Sym(0)}, {"dim2", Sym(1)}}));
  value->view_of = bound[0];
  value->read_only = true;
  return value;
}

V nan_to_num(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "x, copy, nan, posinf, neginf");
  if (bound[1] && !ev.truth(bound[1])) graph_break("nan_to_num() in place");
  const Tensor x = as_tensor(ev, bound[0]);
  const bool is_float = x.dtype() == DType::F32 || x.dtype() == DType::F64;
  if (!is_float && !is_integral(x.dtype())) graph_break("nan_to_num() of this dtype");
  V value;
  if (is_float) {
    ops::Attrs attrs{{"nan", 0.0}, {"posinf", ops::Attr{}}, {"neginf", ops::Attr{}}};
    static constexpr const char* kNames[] = {"nan", "posinf", "neginf"};
    for (size_t i = 2; i < 5; ++i) {
      if (!bound[i] || (i > 2 && ev.is_none(bound[i]))) continue;
      const Ref number = ev.constant(bound[i]);
      if (!number || !(PyFloat_CheckExact(number.get()) || PyLong_CheckExact(number.get())))
        graph_break("nan_to_num() with computed numbers");
      attrs.set(kNames[i - 2], PyFloat_AsDouble(number.get()));
    }
    value = array_or_scalar(ops::call1("nan_to_num", {x}, attrs));
  } else {
    value = array_or_scalar(ops::call1("cast", {x}, {{"dtype", x.dtype()}}));
  }
  return bound[0]->kind == Kind::Array ? laid_out(value, copy_order(bound[0])) : value;
}

V plainly(Evaluator& ev, CallArgs& args) {
  const Ref function = args.args.empty() ? Ref() : ev.constant(args.args[0]);
  graph_break(fmt::format("a call of {} with these arguments",
                          function ? callable_name(function.get()) : std::string("a function")));
}

// An operator of weft's by name, strict: operands have the dtypes it wants.
V operator_call(Evaluator& ev, CallArgs& args) {
  if (args.args.empty()) graph_break("operator() without a name");
  std::vector<Tensor> operands;
  for (size_t i = 1; i < args.args.size(); ++i) operands.push_back(as_tensor(ev, args.args[i]));
  ops::Attrs attrs;
  for (const auto& [key, value] : args.keywords) {
    const Ref object = ev.constant(value);
    if (object && PyBool_Check(object.get()))
      attrs.set(key, object.get() == Py_True);
    else if (object && PyArray_DescrCheck(object.get()))
      attrs.set(key, to_dtype(ev, value, "an attribute"));
    else
      attrs.set(key, ev.to_sym(value, "an attribute"));
  }
  std::vector<V> results;
  for (Tensor& result : ops::call(ops::get_op(ev.to_string(args.args[0], "a name")), {operands, attrs}))
    results.push_back(array_value(std::move(result)));
  return results.size() == 1 ? results[0] : tuple_value(std::move(results));
}

// The first operand; a graph in which the second is not all true gives up.
V require(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "value, condition");
  const V& value = ev.realize(bound[0]);
  const Tensor x = as_tensor(ev, value), condition = as_tensor(ev, bound[1]);
  if (!condition.is_traced() && !*ops::call1("all", {condition}).data_as<bool>())
    graph_break("a condition that does not hold");
  V result = array_value(ops::call1("require", {x, condition}),
                         value->kind == Kind::Array ? value->flavor : Flavor::NumpyScalar);
  return laid_out_as(result, {value});
}

// A function of weft's operators, the size of whose result depends on values, runs between two segments.
V sized(Evaluator& ev, CallArgs& args) {
  const Ref function = args.args.empty() ? Ref() : ev.constant(args.args[0]);
  throw GraphBreak{
      .reason = fmt::format("the size of what {} gives depends on values",
                            function ? callable_name(function.get()) : std::string("a function")),
      .is_planned = true};
}

// A function of NumPy's whose order of the elements is its own runs between two segments.
V in_numpys_order(Evaluator& ev, CallArgs& args) {
  const Ref function = args.args.empty() ? Ref() : ev.constant(args.args[0]);
  throw GraphBreak{
      .reason = fmt::format("the order of what {} gives is NumPy's own",
                            function ? callable_name(function.get()) : std::string("a function")),
      .is_planned = true};
}

}  // namespace

bool joins_long_list(PyObject* callable, const CallArgs& args) {
  constexpr Py_ssize_t kLong = 32;
  if (args.args.empty() || args.args[0]->kind != Kind::Lazy) return false;
  PyObject* list = args.args[0]->object.get();
  if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) <= kLong) return false;
  static const std::set<std::string>& names = *new std::set<std::string>{
      "numpy.array",  "numpy.asarray",     "numpy.asanyarray",   "numpy.ascontiguousarray",
      "numpy.stack",  "numpy.concatenate", "numpy.concat",       "numpy.vstack",
      "numpy.hstack", "numpy.dstack",      "numpy.column_stack", "numpy.block"};
  return names.count(callable_name(callable)) > 0;
}

void register_numpy_making() {
  register_made(std::make_index_sequence<std::size(kKnown)>{});
  register_lowering("numpy.diag", diag);
  register_lowering("numpy.nan_to_num", nan_to_num);
  register_lowering("weft._entered.plainly", plainly);
  register_lowering("weft._entered.require", require);
  register_lowering("weft._entered.operator", operator_call);
  register_lowering("weft._entered.sized", sized);
  register_lowering("weft._entered.in_numpys_order", in_numpys_order);
  register_lowering("weft._entered.folded", folded);
}

}  // namespace weft::capture
