// NumPy's functions that make arrays from numbers, diagonals, and numbers for what is not finite.
#include <fmt/format.h>

#include "capture/numpy_api.h"
#include "capture/numpy_names.h"

namespace weft::capture {
namespace {

// Of known numbers only: the array is a constant, made by NumPy.
constexpr const char* kKnown[] = {"linspace", "logspace", "geomspace", "tri",
                                  "hanning",  "hamming",  "blackman",  "bartlett"};

Ref known(Evaluator& ev, const V& value, const char* name) {
  if (ev.realize(value)->kind == Kind::SymInt) return int_value(sym_specialize(value->sym))->object;
  Ref object = ev.constant(value);
  if (!object) graph_break(fmt::format("{}() of computed numbers", name));
  return object;
}

template <size_t kIndex>
V made(Evaluator& ev, CallArgs& args) {
  const char* name = kKnown[kIndex];
  Ref numpy = checked(PyImport_ImportModule("numpy")),
      function = checked(PyObject_GetAttrString(numpy.get(), name));
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.args.size()))),
      keywords = checked(PyDict_New());
  for (size_t i = 0; i < args.args.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), known(ev, args.args[i], name).release());
  for (const auto& [key, value] : args.keywords)
    if (PyDict_SetItemString(keywords.get(), key.c_str(), known(ev, value, name).get()) < 0)
      throw PythonError{};
  Ref result = checked(PyObject_Call(function.get(), positional.get(), keywords.get()));
  auto* array = reinterpret_cast<PyArrayObject*>(result.get());
  if (!PyArray_CheckExact(result.get()) || !dtype_of_descr(PyArray_DESCR(array)))
    graph_break(fmt::format("{}() with a result of this kind", name));
  const Tensor tensor = borrow_array(array).clone();
  return array_value(ops::call1("cast", {tensor}, {{"dtype", tensor.dtype()}}));
}

template <size_t... I>
void register_made(std::index_sequence<I...>) {
  (register_lowering((std::string("numpy.") + kKnown[I]).c_str(), made<I>), ...);
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
  value->f_order = bound[0]->f_order;
  return value;
}

V plainly(Evaluator& ev, CallArgs& args) {
  const Ref function = args.args.empty() ? Ref() : ev.constant(args.args[0]);
  graph_break(fmt::format("a call of {} with these arguments",
                          function ? callable_name(function.get()) : std::string("a function")));
}

}  // namespace

void register_numpy_making() {
  register_made(std::make_index_sequence<std::size(kKnown)>{});
  register_lowering("numpy.diag", diag);
  register_lowering("numpy.nan_to_num", nan_to_num);
  register_lowering("weft._entered.plainly", plainly);
}

}  // namespace weft::capture
