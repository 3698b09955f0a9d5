// NumPy's products and numpy.linalg.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"

namespace weft::capture {
namespace {

// Operands of a product, cast to their common dtype.
std::vector<Tensor> promoted(Evaluator& ev, const std::vector<V>& values) {
  std::vector<Tensor> tensors;
  for (const V& value : values) tensors.push_back(as_tensor(ev, value));
  DType dtype = tensors.at(0).dtype();
  for (const Tensor& tensor : tensors) dtype = promote_types(dtype, tensor.dtype(), Promotion::NumPy);
  for (Tensor& tensor : tensors) tensor = cast_to(tensor, dtype);
  return tensors;
}

// numpy.<name>(a, b) where the operator of that name means the same.
V product(Evaluator& ev, CallArgs& args, const char* signature, const char* op) {
  std::vector<V> bound = bind_arguments(args, signature);
  if (bound.size() > 2 && bound[2] && !ev.is_none(bound[2])) graph_break(fmt::format("{}() with out=", op));
  return array_or_scalar(ops::call1(op, promoted(ev, {bound[0], bound[1]})));
}

V outer(Evaluator& ev, CallArgs& args) { return product(ev, args, "a, b, out", "outer"); }
V inner(Evaluator& ev, CallArgs& args) { return product(ev, args, "a, b", "inner"); }
V vdot(Evaluator& ev, CallArgs& args) { return product(ev, args, "a, b", "vdot"); }

V tensordot(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, b, axes");
  const std::vector<Tensor> operands = promoted(ev, {bound[0], bound[1]});
  ops::Attrs attrs{{"dims", Sym(2)}};
  if (bound[2]) {
    if (ev.is_int(bound[2])) {
      attrs.set("dims", Sym(ev.to_int(bound[2], "axes")));
    } else {
      const std::vector<V> pair = ev.elements(bound[2]);
      if (pair.size() != 2) graph_break("tensordot() with unusual axes");
      const auto axes = [&](const V& v, int64_t ndim) {
        const std::vector<int64_t> list =
            to_axes(ev, ev.is_int(v) ? tuple_value({v}) : tuple_value(ev.elements(v)), ndim, "tensordot");
        return SymShape(list.begin(), list.end());
      };
      attrs.set("dims_x", axes(pair[0], operands[0].dim()));
      attrs.set("dims_y", axes(pair[1], operands[1].dim()));
    }
  }
  return array_value(ops::call1("tensordot", operands, attrs));  // 0-d where no axis is left
}

// Is every axis of the one operand in the result? Then NumPy gives a view (_entered/arrays.py).
bool is_rearrangement(const std::string& equation) {
  const size_t arrow = equation.find("->");
  const std::string source = equation.substr(0, arrow);
  const auto kept = [&](char c) {
    if (c == '.' || c == ' ') return true;
    if (arrow == std::string::npos) return std::count(source.begin(), source.end(), c) == 1;
    return equation.find(c, arrow) != std::string::npos;
  };
  return std::all_of(source.begin(), source.end(), kept);
}

// A term's letters, one for each axis; low numbers for those that "..." stands for.
std::string with_ellipsis(std::string term, int64_t num_axes) {
  const size_t place = term.find("...");
  if (place == std::string::npos) return term;
  std::string numbers;
  for (int64_t i = num_axes; i-- > 0;) numbers.push_back(static_cast<char>(i + 1));
  return term.replace(place, 3, numbers);
}

// NumPy iterates over the axes of the result, then over those that are summed.
AxisOrder einsum_order(std::string equation, const std::vector<Tensor>& operands) {
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms;
  int64_t num_broadcast = 0;
  std::istringstream list(equation.substr(0, arrow));
  for (std::string term; std::getline(list, term, ',');) {
    const int64_t num_axes = operands.at(terms.size()).dim() - static_cast<int64_t>(term.size()) + 3;
    terms.push_back(with_ellipsis(std::move(term), num_axes));
    if (terms.back().size() != static_cast<size_t>(operands[terms.size() - 1].dim())) return {};
    num_broadcast = std::max<int64_t>(num_broadcast, std::count_if(terms.back().begin(), terms.back().end(),
                                                                   [](char c) { return c < 32; }));
  }
  const std::string all = fmt::format("{}", fmt::join(terms, ""));
  std::string sorted = all;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string labels =
      with_ellipsis(arrow == std::string::npos ? "..." : equation.substr(arrow + 2), num_broadcast);
  if (arrow == std::string::npos)
    for (char c : sorted)
      if (c >= 32 && std::count(all.begin(), all.end(), c) == 1) labels.push_back(c);
  const auto ndim = static_cast<int64_t>(labels.size());
  for (char c : sorted)
    if (labels.find(c) == std::string::npos) labels.push_back(c);
  std::vector<Strides> strides;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Strides own = deciding_strides(operands[k]);
    strides.emplace_back(labels.size(), 0);
    for (size_t d = 0; d < own.size(); ++d) strides.back()[labels.find(terms.at(k)[d])] += own[d];
  }
  const auto num_labels = static_cast<int64_t>(labels.size());
  std::vector<int64_t> summed;
  for (int64_t d = ndim; d < num_labels; ++d) summed.push_back(d);
  return without_axes(iteration_order(strides, num_labels), summed, num_labels, false);
}

bool is_order_of_contraction(Evaluator& ev, const V& optimize) {
  const Ref object = ev.constant(optimize);
  if (!object || PyBool_Check(object.get())) return static_cast<bool>(object);
  const std::string name = PyUnicode_CheckExact(object.get()) ? utf8(object.get()) : "";
  return name == "greedy" || name == "optimal";
}

V einsum(Evaluator& ev, CallArgs& args) {
  for (const auto& [key, value] : args.keywords) {
    // The order of contraction is weft's own.
    if (key == "optimize" && is_order_of_contraction(ev, value)) continue;
    graph_break(fmt::format("einsum() with {}=", key));
  }
  if (args.args.size() < 2) graph_break("einsum() without operands");
  if (!ev.python_type(args.args[0]) || ev.python_type(args.args[0]) != &PyUnicode_Type)
    graph_break("einsum() with axes as lists");
  const std::string equation = ev.to_string(args.args[0], "an equation");
  if (args.args.size() == 2 && ev.realize(args.args[1])->kind == Kind::Array && is_rearrangement(equation))
    graph_break("einsum() that gives a view");
  const std::vector<Tensor> operands = promoted(ev, {args.args.begin() + 1, args.args.end()});
  const V result = array_or_scalar(ops::call1("einsum", operands, {{"equation", equation}}));
  std::vector<Tensor> given;
  for (size_t i = 1; i < args.args.size(); ++i) given.push_back(as_tensor(ev, args.args[i]));
  return laid_out(result, einsum_order(equation, given));
}

// The first two axes; numpy.linalg's, with keyword-only arguments, the last two.
template <bool kLinalg>
V trace(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound =
      bind_arguments(args, kLinalg ? "x, *, offset, dtype" : "a, offset, axis1, axis2, dtype, out");
  if (kLinalg) bound = {bound[0], bound[1], int_value(-2), int_value(-1), bound[2], nullptr};
  if (bound[5] && !ev.is_none(bound[5])) graph_break("trace() with out=");
  const auto number = [&](size_t i, int64_t otherwise) {
    return Sym(bound[i] ? to_axis(ev, bound[i]) : otherwise);
  };
  const Tensor diagonal =
      ops::call1("diagonal", {as_tensor(ev, bound[0])},
                 {{"offset", number(1, 0)}, {"dim1", number(2, 0)}, {"dim2", number(3, 1)}});
  const DType d = diagonal.dtype();
  const DType dtype = bound[4] && !ev.is_none(bound[4]) ? to_dtype(ev, bound[4], "dtype")
                      : is_inexact(d)                   ? d
                      : is_integral(d) && !is_signed(d) ? DType::U64
                                                        : DType::I64;
  const V result = array_or_scalar(
      cast_to(ops::call1("sum", {cast_to(diagonal, dtype)}, {{"dim", SymShape{Sym(-1)}}}), dtype));
  const int64_t ndim = diagonal.dim();
  return laid_out(
      result, without_axes(iteration_order(std::vector<Tensor>{diagonal}, ndim), {ndim - 1}, ndim, false));
}

V matrix_power(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "a, n");
  const Tensor x = as_tensor(ev, bound[0]);
  const int64_t n = ev.to_int(bound[1], "n");
  if (n <= 0 || x.dim() < 2) graph_break("matrix_power() with an exponent below one");
  return array_or_scalar(ops::call1("matrix_power", {x}, {{"n", Sym(n)}}));
}

V vecdot(Evaluator& ev, CallArgs& args) {
  std::vector<V> bound = bind_arguments(args, "x1, x2, *, axis");
  if (bound[2] && to_axis(ev, bound[2]) != -1) graph_break("vecdot() over another axis");
  const std::vector<Tensor> operands = promoted(ev, {bound[0], bound[1]});
  if (is_complex(operands[0].dtype())) graph_break("vecdot() of complex numbers");
  for (const Tensor& operand : operands)
    if (operand.dim() == 0) graph_break("vecdot() of numbers");
  if (!sym_eq(ops::sym_shape(operands[0]).back(), ops::sym_shape(operands[1]).back()))
    graph_break("vecdot() of vectors of different sizes");
  const Tensor products = ops::call1("mul", operands);
  const V result = array_or_scalar(
      ops::call1("sum", {products}, {{"dim", SymShape{Sym(-1)}}, {"dtype", products.dtype()}}));
  return laid_out_in_batches(result, {as_tensor(ev, bound[0]), as_tensor(ev, bound[1])}, 1);
}

}  // namespace

void register_numpy_linalg() {
  const std::pair<const char*, Lowering> functions[] = {{"numpy.outer", outer},
                                                        {"numpy.inner", inner},
                                                        {"numpy.vdot", vdot},
                                                        {"numpy.tensordot", tensordot},
                                                        {"numpy.einsum", einsum},
                                                        {"numpy.trace", trace<false>},
                                                        {"numpy.linalg.matrix_power", matrix_power},
                                                        {"numpy.linalg.trace", trace<true>},
                                                        {"numpy.linalg.tensordot", tensordot},
                                                        {"numpy.vecdot", vecdot}};
  for (const auto& [name, lowering] : functions) register_lowering(name, lowering);
  register_array_method("trace", trace<false>);
}

}  // namespace weft::capture
