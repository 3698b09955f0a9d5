// Reductions along some dimensions in native loops, of values that need not be in an array.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

bool LoopBuilder::is_fold(const std::string& name) {
  static const auto& names = *new std::set<std::string>{"sum",  "mean", "max",    "min",    "any",
                                                        "amax", "amin", "argmax", "argmin", "all"};
  return names.count(name) > 0;
}

namespace {

// What NumPy's reduction starts from; of an extremum, what changes no result.
std::string neutral(const std::string& fold, DType dtype) {
  const std::string type = c_type(dtype);
  if (fold == "sum" || fold == "any") return "0";
  if (fold == "all") return "1";
  const bool lowest = fold == "max";
  if (is_floating(dtype)) return fmt::format("({}){}__builtin_inf()", type, lowest ? "-" : "");
  const std::string sign_bit = fmt::format("((u64)1 << {})", 8 * itemsize(dtype) - 1);
  if (!is_signed(dtype)) return lowest ? "0" : fmt::format("({})~(u64)0", type);
  return fmt::format("({}){}{}", type, lowest ? "" : "~", sign_bit);
}

DType folded_dtype(const std::string& fold, DType dtype) {
  if (fold == "any" || fold == "all") return DType::Bool;
  if (fold != "sum" || is_floating(dtype)) return dtype;
  return dtype != DType::Bool && !is_signed(dtype) ? DType::U64 : DType::I64;
}

std::vector<int64_t> known_axes(const LoopValue& axis) {
  std::vector<int64_t> axes;
  const auto add = [&](const LoopValue& value) {
    if (!value.known) throw LoopUnsupported{"a reduction along an axis that is not known"};
    axes.push_back(*value.known);
  };
  if (axis.kind != LoopKind::Tuple) return add(axis), axes;
  for (const LoopValue& item : axis.items) add(item);
  return axes;
}

}  // namespace

// A reduction of several dimensions, or of an expression, into a new array, in one pass over the operands.
LoopValue LoopBuilder::fold_dimensions(const std::string& name, const LoopValue& value,
                                       const std::set<int>& reduced, bool keeps) {
  if (value.dtype == DType::F16 || name.starts_with("arg"))
    throw LoopUnsupported{"a reduction along these axes"};
  if (value.dtype == DType::Bool && (name == "max" || name == "min"))
    throw LoopUnsupported{"an extremum of bools"};
  const LoopValue source = is_array(value) ? as_view(value) : value;
  std::vector<LoopValue> operands;
  collect_views(source, operands);
  parts_.insert(parts_.end(), operands.begin(), operands.end());
  const std::vector<std::string> sizes = shape_of(source);
  if (sizes.size() > 2) is_in_fortran_order(source);  // or Python performs it
  std::vector<std::string> kept, count;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool folds = reduced.count(static_cast<int>(d)) > 0;
    if (folds) count.push_back(sizes[d]);
    if (!folds || keeps) kept.push_back(folds ? "1L" : sizes[d]);
  }
  const bool is_extremum = name == "max" || name == "min";
  if (is_extremum || name == "mean")
    for (const std::string& size : count) require(fmt::format("{} > 0", size));
  const std::string fold = name == "mean" ? "sum" : name;
  if (name == "mean" && value.dtype != DType::F64) throw LoopUnsupported{"the mean of these numbers"};
  const DType dtype = folded_dtype(fold, source.dtype);
  const LoopValue result = allocated(dtype, kept);
  const LoopValue nothing = loop_numpy(dtype, temporary(c_type(dtype), neutral(fold, dtype)));
  Target target{result.items[0].expr, element_type(dtype), kept, {}, ""};
  for (int d = 0; d < result.dims; ++d) target.strides.push_back(result.stride(d).expr);
  emit_elements(nothing, dtype, target);
  target.sizes = sizes;
  target.strides.clear();
  for (size_t d = 0, k = 0; d < sizes.size(); ++d) {
    const bool folds = reduced.count(static_cast<int>(d)) > 0;
    target.strides.push_back(folds ? "0L" : result.stride(static_cast<int>(k)).expr);
    if (!folds || keeps) ++k;
  }
  target.fold = fold;
  emit_elements(source, source.dtype, target);
  if (name != "mean") return result;
  std::string number;
  for (const std::string& size : count) number += fmt::format("{}(f64){}", number.empty() ? "" : " * ", size);
  return pending("true_divide", {result, loop_numpy(DType::F64, temporary("f64", number))});
}

// NumPy's reduction `name` of args[0]; the others are the axis, and what `names` calls them.
LoopValue LoopBuilder::reduction(std::string name, const std::vector<LoopValue>& args, PyObject* names) {
  if (name.starts_with("am")) name = name.substr(1);
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0, given = args.size() - named;
  LoopValue axis = given > 1 ? args[1] : loop_const(Py_None), keeps = loop_bool("false");
  for (size_t i = 0; i < named; ++i) {
    const std::string keyword = utf8(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)));
    if (keyword != "axis" && keyword != "keepdims")
      throw LoopUnsupported{fmt::format("a reduction with {}=", keyword)};
    (keyword == "axis" ? axis : keeps) = args[given + i];
  }
  const bool keepdims = keeps.expr == "true";
  if (given > 2 || keeps.kind != LoopKind::Bool || (!keepdims && keeps.expr != "false"))
    throw LoopUnsupported{"a reduction with these arguments"};
  const LoopValue& value = args[0];
  if (value.dtype == DType::C128) throw LoopUnsupported{"a reduction of complex arrays"};
  const int dims = num_dims(value);
  std::set<int> reduced;
  if (axis.kind == LoopKind::Const && axis.object == Py_None) {
    for (int d = 0; d < dims; ++d) reduced.insert(d);
  } else {
    for (const int64_t d : known_axes(axis)) {
      if (d < -dims || d >= dims || !reduced.insert(static_cast<int>(d < 0 ? d + dims : d)).second)
        throw LoopUnsupported{"a reduction along this axis"};
    }
  }
  if (!keepdims && reduced.size() == static_cast<size_t>(dims)) return fold(name, value);
  const bool along_one = dims == 2 && reduced.size() == 1 && !keepdims && name != "any" && name != "all";
  if (along_one && (name.starts_with("arg") || value.kind != LoopKind::Pending))
    return fold_axis(name, value, *reduced.begin());
  return fold_dimensions(name, value, reduced, keepdims);
}

}  // namespace weft::capture
