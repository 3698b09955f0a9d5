// Reading and writing by index arrays and masks. Graphs contain gather_nd, scatter_nd, gather and scatter.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/backend.h"
#include "core/index_arrays.h"
#include "core/memory_limit.h"
#include "kernels/cpu/indexing.h"
#include "kernels/cpu/selection.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

void check_not_traced(const OpDef& op, const Tensors& tensors) {
  for (const Tensor& x : tensors) {
    const bool is_meta = !x.is_traced() && !has_memory(x.device());
    if (!x.is_traced() && !is_meta) continue;
    throw_error(ErrorKind::NotImplemented,
                fmt::format("{}: the number of results depends on the elements, which {}", op.name,
                            is_meta ? "a meta tensor does not have" : "are not known while tracing"));
  }
}

Tensor to_index(const OpDef& op, const Tensor& index) {
  WEFT_CHECK_INDEX(is_integral(index.dtype()),
                   fmt::format("{}: arrays used as indices must be of integer (or boolean) type, got {}",
                               op.name, describe(index)));
  return build::cast(index, DType::I64);
}

// ---- primitives
// --------------------------------------------------------------------------------------------
SymShape indexed_shape(const OpDef& op, const TensorType& x, std::span<const TensorType> indices,
                       std::span<const TensorType> operands) {
  WEFT_CHECK_INDEX(indices.size() <= x.shape.size(),
                   fmt::format("too many indices for array: array is {}-dimensional, but {} were indexed{}",
                               x.shape.size(), indices.size(), describe_operands(op, operands)));
  std::vector<bool> present(x.shape.size(), false);
  std::vector<SymShape> shapes;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].absent) continue;
    WEFT_CHECK_TYPE(indices[d].dtype == DType::I64,
                    fmt::format("{}: indices must be int64, got {}{}", op.name, name(indices[d].dtype),
                                describe_operands(op, operands)));
    present[d] = true;
    shapes.push_back(indices[d].shape);
  }
  const kernels::IndexPlan plan = kernels::plan_index(present);
  SymShape result;
  for (const size_t d : plan.kept) result.push_back(x.shape[d]);
  const SymShape common = broadcast_shapes(op.name, shapes);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(plan.position), common.begin(), common.end());
  return result;
}

void check_same_shape(const OpDef& op, std::span<const TensorType> operands, const SymShape& expected,
                      const SymShape& got, const char* what) {
  WEFT_CHECK(
      expected.size() == got.size() && std::equal(expected.begin(), expected.end(), got.begin(), sym_eq),
      fmt::format("{}: expected {} of shape {}, got {}{}", op.name, what, weft::str(expected), weft::str(got),
                  describe_operands(op, operands)));
}

void check_same_dtype(const OpDef& op, std::span<const TensorType> operands, const TensorType& x,
                      const TensorType& other) {
  WEFT_CHECK_TYPE(x.dtype == other.dtype,
                  fmt::format("{}: operands must have one dtype: expected {}, got {}{}", op.name,
                              name(x.dtype), name(other.dtype), describe_operands(op, operands)));
}

std::vector<TensorType> infer_gather_nd(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  TensorType result = operands[0];
  result.shape = indexed_shape(op, operands[0], operands.subspan(1), operands);
  return {result};
}

std::vector<TensorType> infer_scatter_nd(const OpDef& op, std::span<const TensorType> operands,
                                         const Attrs&) {
  check_same_dtype(op, operands, operands[0], operands[1]);
  check_same_shape(op, operands, indexed_shape(op, operands[0], operands.subspan(2), operands),
                   operands[1].shape, "values");
  return {operands[0]};
}

// index has x's number of dimensions and is no larger, except along dim.
size_t check_gather(const OpDef& op, std::span<const TensorType> operands, const TensorType& index,
                    const SymShape& bound, int64_t dim, bool skip_dim) {
  const TensorType& x = operands[0];
  WEFT_CHECK_TYPE(index.dtype == DType::I64, fmt::format("{}: index must be int64, got {}{}", op.name,
                                                         name(index.dtype), describe_operands(op, operands)));
  const size_t axis = static_cast<size_t>(normalize_dim(op.name, dim, static_cast<int64_t>(x.shape.size())));
  bool fits = index.shape.size() == bound.size();
  for (size_t d = 0; fits && d < bound.size(); ++d) {
    if ((d != axis || !skip_dim) && !index.shape[d].same(bound[d])) fits = sym_le(index.shape[d], bound[d]);
  }
  WEFT_CHECK(fits, fmt::format("{}: index must have as many dimensions as x and be no larger{}{}", op.name,
                               skip_dim ? " except along dim" : "", describe_operands(op, operands)));
  return axis;
}

std::vector<TensorType> infer_gather(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  check_gather(op, operands, operands[1], operands[0].shape, int_arg(attrs, "dim"), true);
  return {{operands[0].dtype, operands[1].shape, operands[0].device}};
}

std::vector<TensorType> infer_scatter(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  check_same_dtype(op, operands, operands[0], operands[2]);
  check_gather(op, operands, operands[1], operands[0].shape, int_arg(attrs, "dim"), true);
  check_gather(op, operands, operands[1], operands[2].shape, int_arg(attrs, "dim"), false);
  return {operands[0]};
}

Tensors eager_scatter(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                      bool accumulate) {
  const Tensor& x = operands[0];
  return {kernels::scatter(x, normalize_dim(op.name, int_arg(attrs, "dim"), x.dim()), operands[1],
                           operands[2], accumulate)};
}

Tensors eager_scatter_combine(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const std::string reduce = attrs.get<std::string>("reduce");
  WEFT_CHECK(reduce == "prod" || reduce == "amin" || reduce == "amax",
             fmt::format("{}: reduce: expected 'prod', 'amin' or 'amax', got '{}'", op.name, reduce));
  WEFT_CHECK_TYPE(reduce == "prod" || !is_complex(x.dtype()),
                  fmt::format("{}: complex numbers have no order", op.name));
  const auto how = reduce == "prod"   ? kernels::Combine::Multiply
                   : reduce == "amin" ? kernels::Combine::Minimum
                                      : kernels::Combine::Maximum;
  return {kernels::scatter_combine(x, normalize_dim(op.name, int_arg(attrs, "dim"), x.dim()), operands[1],
                                   operands[2], how)};
}

// ---- advanced indexing
// ------------------------------------------------------------------------------------- Masks become the
// indices of their true elements, one array per dimension of the mask.
Tensors expand_masks(const OpDef& op, const Tensor& x, std::span<const Tensor> given) {
  Tensors indices;
  for (const Tensor& index : given) {
    if (!index.defined() || index.dtype() != DType::Bool) {
      indices.push_back(index.defined() ? to_index(op, index) : index);
      continue;
    }
    check_not_traced(op, {index});
    for (int64_t d = 0; d < index.dim(); ++d) {
      const size_t axis = indices.size() + static_cast<size_t>(d);
      const int64_t expected = axis < x.impl()->shape.size() ? x.impl()->shape[axis] : 0;
      WEFT_CHECK_INDEX(
          index.shape()[static_cast<size_t>(d)] == expected,
          fmt::format(
              "boolean index did not match indexed array along axis {}; size of axis is {} but size of "
              "corresponding boolean axis is {}",
              axis, expected, index.shape()[static_cast<size_t>(d)]));
    }
    const Tensor positions = call1("nonzero", {index});
    for (int64_t d = 0; d < index.dim(); ++d) indices.push_back(build::select(positions, 1, Sym(d)));
    if (index.dim() == 0)
      throw_error(ErrorKind::NotImplemented, fmt::format("{}: a 0-d boolean index", op.name));
  }
  // Indices of the host go along.
  for (Tensor& index : indices)
    if (index.defined() && !index.is_traced() && !x.is_traced() && index.device() == Device())
      index = index.to(x.device());
  return indices;
}

Tensors index(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  // One mask for all dimensions needs no positions.
  if (args.tensors.size() == 2 && args.tensors[1].defined() && args.tensors[1].dtype() == DType::Bool &&
      x.dim() > 0 && !x.is_traced() && !args.tensors[1].is_traced() && x.device() == Device() &&
      args.tensors[1].device() == Device() && x.shape() == args.tensors[1].shape())
    return {kernels::masked_select(x, args.tensors[1])};
  Tensors operands = expand_masks(op, x, std::span(args.tensors).subspan(1));
  if (std::none_of(operands.begin(), operands.end(), [](const Tensor& t) { return t.defined(); })) return {x};
  operands.insert(operands.begin(), x);
  return {call1("gather_nd", std::move(operands))};
}

// base[mask] = one value: a choice between the two, of which the shape is known.
std::optional<Tensor> masked_fill(const Tensor& base, const Tensor& values, std::span<const Tensor> indices) {
  const auto defined = [](const Tensor& t) { return t.defined(); };
  if (std::count_if(indices.begin(), indices.end(), defined) != 1) return std::nullopt;
  const Tensor& mask = *std::find_if(indices.begin(), indices.end(), defined);
  for (const Sym& size : sym_shape(values)) {
    if (!size.is_constant() || size.constant() != 1) return std::nullopt;
  }
  const int64_t lead = &mask - indices.data();
  const SymShape shape = sym_shape(mask), target = sym_shape(base);
  if (mask.dtype() != DType::Bool || mask.dim() + lead > base.dim()) return std::nullopt;
  SymShape aligned = shape;
  aligned.resize(static_cast<size_t>(base.dim() - lead), Sym(1));
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!sym_eq(shape[d], target[static_cast<size_t>(lead) + d])) return std::nullopt;
  }
  return call1("where",
               {build::reshape(mask, aligned), build::cast(build::reshape(values, {}), base.dtype()), base});
}

// base, values in the shape of base[indices], and the indices.
Tensors put_operands(const OpDef& op, const OpArgs& args) {
  const Tensor &base = args.tensors[0], &values = args.tensors[1];
  const std::span<const Tensor> given = std::span(args.tensors).subspan(2);
  Tensors operands = expand_masks(op, base, given);
  std::vector<TensorType> types;
  for (const Tensor& t : operands) types.push_back(t.defined() ? type_of(t) : TensorType{.absent = true});
  const SymShape shape = indexed_shape(op, type_of(base), types, types);
  SymShape trimmed = sym_shape(values);
  while (trimmed.size() > shape.size() && sym_eq(trimmed[0], Sym(1))) trimmed.erase(trimmed.begin());
  const Tensor spread = build::expand(build::reshape(build::cast(values, base.dtype()), trimmed), shape);
  operands.insert(operands.begin(), {base, spread});
  return operands;
}

Tensors index_put(const OpDef& op, const OpArgs& args) {
  const bool accumulate = args.attrs.get_bool("accumulate");
  if (!accumulate) {
    if (const auto filled = masked_fill(args.tensors[0], args.tensors[1], std::span(args.tensors).subspan(2)))
      return {*filled};
  }
  return {call1("scatter_nd", put_operands(op, args), {{"accumulate", accumulate}})};
}

Tensors index_extreme(const OpDef& op, const OpArgs& args) {
  WEFT_CHECK_TYPE(!is_complex(args.tensors[0].dtype()),
                  fmt::format("{}: complex numbers have no order", op.name));
  return {call1("scatter_nd_extreme", put_operands(op, args), {{"largest", args.attrs.get_bool("largest")}})};
}

// ---- along one dimension
// -----------------------------------------------------------------------------------
int64_t dim_of(const OpDef& op, const OpArgs& args) {
  return normalize_dim(op.name, int_arg(args.attrs, "dim"), args.tensors[0].dim());
}

// [undefined…, index]: index along one dimension only.
Tensors along(const Tensor& x, int64_t dim, const Tensor& index) {
  Tensors operands(static_cast<size_t>(dim) + 1);
  operands[0] = x;
  operands.push_back(index);
  return operands;
}

Tensors index_select(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &index = args.tensors[1];
  WEFT_CHECK(index.dim() <= 1,
             fmt::format("{}: expected an index of at most 1 dimension, got {}", op.name, describe(index)));
  const Tensor positions =
      build::reshape(to_index(op, index), {index.dim() == 0 ? Sym(1) : sym_shape(index)[0]});
  if (x.dim() == 0)
    return {build::squeeze(call1("gather_nd", along(build::reshape(x, {Sym(1)}), 0, positions)), 0)};
  return {call1("gather_nd", along(x, dim_of(op, args), positions))};
}

Tensors take(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const Tensor positions = to_index(op, args.tensors[1]);
  if (args.attrs.is_none("dim"))
    return {call1("gather_nd", {build::reshape(x, {product(sym_shape(x))}), positions})};
  return {call1("gather_nd", along(x, dim_of(op, args), positions))};
}

Tensors take_along_dim(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0], index = to_index(op, args.tensors[1]);
  if (args.attrs.is_none("dim")) {
    return {call1(
        "gather",
        {build::reshape(x, {product(sym_shape(x))}), build::reshape(index, {product(sym_shape(index))})},
        {{"dim", Sym(0)}})};
  }
  WEFT_CHECK(x.dim() == index.dim(),
             fmt::format("{}: x and index must have as many dimensions: got {} and {}", op.name, x.dim(),
                         index.dim()));
  const size_t dim = static_cast<size_t>(dim_of(op, args));
  SymShape x_shape = sym_shape(x), index_shape = sym_shape(index);
  WEFT_CHECK_INDEX(!x_shape.empty() && !index_shape.empty(),
                   fmt::format("{}: a 0-d tensor has no dimension to take along", op.name));
  const Sym x_size = x_shape[dim], index_size = index_shape[dim];
  x_shape[dim] = index_shape[dim] = Sym(1);
  const SymShape shapes[] = {x_shape, index_shape};
  x_shape = index_shape = broadcast_shapes(op.name, shapes);
  x_shape[dim] = x_size, index_shape[dim] = index_size;
  return {call1("gather", {build::expand(x, x_shape), build::expand(index, index_shape)},
                {{"dim", Sym(static_cast<int64_t>(dim))}})};
}

Tensors index_update(const OpDef& op, const OpArgs& args, bool accumulate) {
  const Tensor &x = args.tensors[0], &source = args.tensors[2];
  Tensors operands = along(x, dim_of(op, args), to_index(op, args.tensors[1]));
  Tensor values = build::cast(source, x.dtype());
  if (accumulate && scalar_arg(args.attrs, "alpha").to_complex() != 1.0) {
    values = build::cast(build::mul(values, scalar_arg(args.attrs, "alpha")), x.dtype());
  }
  operands.insert(operands.begin() + 1, values);
  return {call1("scatter_nd", std::move(operands), {{"accumulate", accumulate}})};
}

Tensors index_fill(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  Tensors put = along(x, dim_of(op, args), args.tensors[1]);
  put.insert(put.begin() + 1, build::full({}, scalar_arg(args.attrs, "value"), x.dtype(), x.device()));
  return call(get_op("index_put"), {std::move(put), {{"accumulate", false}}});
}

// ---- masks
// -------------------------------------------------------------------------------------------------
Tensors masked_select(const OpDef& op, const OpArgs& args) {
  const SymShape shapes[] = {sym_shape(args.tensors[0]), sym_shape(args.tensors[1])};
  const SymShape shape = broadcast_shapes(op.name, shapes);
  WEFT_CHECK_TYPE(args.tensors[1].dtype() == DType::Bool,
                  fmt::format("{}: expected a bool mask, got {}", op.name, describe(args.tensors[1])));
  const Tensor x = build::expand(args.tensors[0], shape), mask = build::expand(args.tensors[1], shape);
  if (x.is_traced() && x.dim() > 0) return {call1("index", {x, mask})};
  check_not_traced(op, args.tensors);
  if (!is_on_host(x.device()) || !is_on_host(mask.device()))
    return {kernels::masked_select(x.to(Device()), mask.to(Device())).to(x.device())};
  return {kernels::masked_select(x, mask)};
}

Tensors masked_fill_op(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &mask = args.tensors[1];
  WEFT_CHECK_TYPE(mask.dtype() == DType::Bool,
                  fmt::format("{}: expected a mask of dtype bool, got {}", op.name, type_of(mask).str()));
  return {call1("where", {mask, build::full({}, scalar_arg(args.attrs, "value"), x.dtype(), x.device()), x})};
}

Tensors nonzero(const OpDef& op, const OpArgs& args) {
  check_not_traced(op, args.tensors);
  const Tensor& x = args.tensors[0];
  if (!is_on_host(x.device())) return {kernels::nonzero(x.to(Device())).to(x.device())};
  return {kernels::nonzero(x)};
}

// ---- repetition
// --------------------------------------------------------------------------------------------
void check_repeats(const OpDef& op, int64_t count) {
  WEFT_CHECK(count >= 0, fmt::format("{}: repeats may not contain negative values, got {}", op.name, count));
}

// Every slice of a dimension as often.
Tensor repeated(const OpDef& op, const Tensor& x, int64_t dim, int64_t count) {
  check_repeats(op, count);
  if (count == 1) return x.clone();
  SymShape wide = sym_shape(x), shape = wide;
  const size_t at = static_cast<size_t>(dim);
  int64_t total = count;
  for (const Sym& size : shape)
    WEFT_CHECK(!__builtin_mul_overflow(total, size.hint(), &total),
               fmt::format("{}: the number of elements does not fit 64 bits", op.name));
  wide.insert(wide.begin() + dim + 1, Sym(count));
  shape[at] = shape[at] * Sym(count);
  // Of one element the reshape would be a view.
  const Tensor apart = build::expand(build::unsqueeze(x, dim + 1), wide);
  return build::reshape(apart.is_traced() ? apart.clone() : apart.contiguous(), shape);
}

Tensors repeat_interleave(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0];
  const Tensor& repeats = args.tensors[1];
  check_not_traced(op, {repeats});
  WEFT_CHECK_TYPE(is_integral(repeats.dtype()) && repeats.dim() <= 1,
                  fmt::format("{}: repeats must be integers with at most 1 dimension, got {}", op.name,
                              describe(repeats)));
  if (args.attrs.is_none("dim") || x.dim() == 0) x = build::reshape(x, {product(sym_shape(x))});
  const int64_t dim =
      args.attrs.is_none("dim") ? 0 : normalize_dim(op.name, int_arg(args.attrs, "dim"), x.dim());
  WEFT_CHECK_INDEX(x.dim() > 0, fmt::format("{}: a 0-d tensor has no dimension to repeat along", op.name));
  if (repeats.numel() == 1) return {repeated(op, x, dim, repeats.item().to_int())};
  const int64_t size = sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]);
  WEFT_CHECK(repeats.numel() == size,
             fmt::format("{}: expected one count, or one for each of {} elements, got {}", op.name, size,
                         repeats.numel()));
  std::vector<int64_t> positions;
  int64_t total = 0;
  const Tensor counts = repeats.to(DType::I64).contiguous();
  for (int64_t i = 0; i < size; ++i) {
    const int64_t count = counts.data_as<int64_t>()[i];
    check_repeats(op, count);
    WEFT_CHECK(!__builtin_add_overflow(total, count, &total),
               fmt::format("{}: the number of elements does not fit 64 bits", op.name));
    check_list_fits_memory(op.name, total, sizeof(int64_t));
    positions.insert(positions.end(), static_cast<size_t>(count), i);
  }
  return {call1("gather_nd", along(x, dim, Tensor::of<int64_t>(positions)))};
}

Tensors one_hot(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  int64_t classes = int_arg(args.attrs, "num_classes");
  if (classes < 0) {
    check_not_traced(op, {x});
    WEFT_CHECK(x.numel() > 0, fmt::format("{}: num_classes is needed for an empty tensor", op.name));
    classes = call1("amax", {x}).item().to_int() + 1;
  }
  const std::string outside = fmt::format("{}: a class number lies outside [0, {})", op.name, classes);
  if (!x.is_traced() && x.numel() > 0) {
    const int64_t low = call1("amin", {x}).item().to_int(), high = call1("amax", {x}).item().to_int();
    if (low < 0 || high >= classes) throw_error(ErrorKind::Runtime, outside);
  }
  if (is_on_host(x.device()) && !x.is_traced() && x.dtype() == DType::I64) {
    Shape shape = x.shape();
    shape.push_back(classes);
    const Tensor result = Tensor::empty(shape, DType::I64), numbers = x.contiguous();
    std::fill_n(result.data_as<int64_t>(), result.numel(), 0);
    int64_t* row = result.data_as<int64_t>();
    for (const int64_t number : std::span(numbers.data_as<int64_t>(), static_cast<size_t>(numbers.numel()))) {
      row[number] = 1;
      row += classes;
    }
    return {result};
  }
  const Tensor numbers = build::iota(Sym(classes), Scalar(0), Scalar(1), DType::I64, x.device());
  Tensor known = x;
  if (x.is_traced()) {
    const Tensor is_below = invoke("lt", {x, Scalar(classes)});
    const Tensor holds =
        is_signed(x.dtype()) ? invoke("bitwise_and", {invoke("ge", {x, Scalar(0)}), is_below}) : is_below;
    known = call1("require", {x, holds}, {{"error", outside}});
  }
  return {build::cast(invoke("eq", {build::unsqueeze(known, x.dim()), numbers}), DType::I64)};
}

[[maybe_unused]] const OpDef* const kIndexOps[] = {
    &register_op({.name = "gather_nd",
                  .schema = "(Tensor x, Tensor[] indices) -> Tensor",
                  .doc = "x at int64 index arrays, one per leading dimension (None: the whole dimension), "
                         "broadcast together. Their\n"
                         "dimensions replace the indexed ones where these are adjacent, else come first.",
                  .infer = infer_gather_nd,
                  .eager = [](const OpDef&, std::span<const Tensor> operands, const Attrs&) -> Tensors {
                    return {weft::index_get(operands[0], Tensors(operands.begin() + 1, operands.end()))};
                  }}),
    &register_op(
        {.name = "scatter_nd",
         .schema = "(Tensor base, Tensor values, Tensor[] indices, *, bool accumulate=False) -> Tensor",
         .doc = "base with the elements that gather_nd(base, indices) reads replaced by values, or increased "
                "by them. Of\n"
                "several values for one element the last one stays.",
         .infer = infer_scatter_nd,
         .eager = [](const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) -> Tensors {
           const Tensors indices(operands.begin() + 2, operands.end());
           if (attrs.get_bool("accumulate"))
             return {kernels::index_accumulate(operands[0], indices, operands[1])};
           const Tensor result = operands[0].clone();
           weft::index_set(result, indices, operands[1]);
           return {result};
         }}),
    &register_op({.name = "scatter_nd_extreme",
                  .schema = "(Tensor base, Tensor values, Tensor[] indices, *, bool largest=False) -> Tensor",
                  .doc = "base with the elements that gather_nd(base, indices) reads replaced by the least "
                         "(greatest) of them and of the\n"
                         "values for them; NaN where one is NaN.",
                  .infer = infer_scatter_nd,
                  .eager = [](const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) -> Tensors {
                    const auto how =
                        attrs.get_bool("largest") ? kernels::Combine::Maximum : kernels::Combine::Minimum;
                    return {kernels::index_accumulate(
                        operands[0], Tensors(operands.begin() + 2, operands.end()), operands[1], how)};
                  }}),
    &register_op(
        {.name = "gather",
         .schema = "(Tensor x, int dim, Tensor index) -> Tensor",
         .doc = "result[i] = x[j], j = i but j[dim] = index[i]. Negative indices count from the end; "
                "IndexError when out\n"
                "of range.",
         .numpy = "numpy.take_along_axis(x, index, dim)",
         .methods = {""},
         .infer = infer_gather,
         .eager = [](const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) -> Tensors {
           const Tensor& x = operands[0];
           return {kernels::gather(x, normalize_dim(op.name, int_arg(attrs, "dim"), x.dim()), operands[1])};
         }}),
    &register_op({.name = "scatter",
                  .schema = "(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
                  .doc = "x with result[j] = src[i] for every i of index's shape, j = i but j[dim] = "
                         "index[i]. Of several values for\n"
                         "one element the last one stays.",
                  .methods = {""},
                  .infer = infer_scatter,
                  .eager = [](const OpDef& op, std::span<const Tensor> operands,
                              const Attrs& attrs) { return eager_scatter(op, operands, attrs, false); }}),
    &register_op(
        {.name = "scatter_add",
         .schema = "(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
         .doc = "x with result[j] += src[i] for every i of index's shape, j = i but j[dim] = index[i].",
         .methods = {""},
         .infer = infer_scatter,
         .eager = [](const OpDef& op, std::span<const Tensor> operands,
                     const Attrs& attrs) { return eager_scatter(op, operands, attrs, true); }}),
    &register_op(
        {.name = "scatter_combine",
         .schema = "(Tensor x, int dim, Tensor index, Tensor src, str reduce) -> Tensor",
         .doc = "x with result[j] combined with src[i] for every i of index's shape, j = i but j[dim] = "
                "index[i]: 'prod', or\n"
                "'amin' and 'amax', which are NaN where one is.",
         .infer = infer_scatter,
         .eager = eager_scatter_combine}),
    &define_composite("index", "(Tensor x, Tensor[] indices) -> Tensor",
                      "x[indices], as NumPy: integer arrays, bool masks (which count as the indices of their "
                      "true elements), and\n"
                      "None for a whole dimension.",
                      "", index),
    &define_composite(
        "index_put", "(Tensor x, Tensor values, Tensor[] indices, *, bool accumulate=False) -> Tensor",
        "x with x[indices] replaced by values (or increased by them), which are broadcast and converted.", "",
        index_put),
    &define_composite("index_extreme",
                      "(Tensor x, Tensor values, Tensor[] indices, *, bool largest=False) -> Tensor",
                      "x with every x[indices] replaced by the least (greatest) of it and of all values for "
                      "it, which are broadcast and\n"
                      "converted; NaN where one is NaN.",
                      "", index_extreme),
    &define_composite("index_select", "(Tensor x, int dim, Tensor index) -> Tensor",
                      "x at indices along a dimension. Indices below zero count from the end; IndexError "
                      "when out of range.",
                      "numpy.take(x, index, dim)", index_select, {}, {""}),
    &define_composite("take", "(Tensor x, Tensor index, int? dim=None) -> Tensor",
                      "x at indices along a dimension (None: of all elements in C order). Indices below zero "
                      "count from the end;\n"
                      "IndexError when out of range.",
                      "numpy.take(x, index, dim)", take, {}, {""}),
    &define_composite(
        "take_along_dim", "(Tensor x, Tensor index, int? dim=None) -> Tensor",
        "gather, with x and index broadcast in the other dimensions (None: of all elements in C order).",
        "numpy.take_along_axis(x, index, dim)", take_along_dim, {"take_along_axis"}, {""}),
    &define_composite(
        "index_add", "(Tensor x, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
        "x with alpha * source added at indices along a dimension.", "",
        [](const OpDef& op, const OpArgs& args) { return index_update(op, args, true); }, {}, {""}),
    &define_composite("index_copy", "(Tensor x, int dim, Tensor index, Tensor source) -> Tensor",
                      "x with source written at indices along a dimension.", "",
                      [](const OpDef& op, const OpArgs& args) { return index_update(op, args, false); }, {},
                      {""}),
    &define_composite("index_fill", "(Tensor x, int dim, Tensor index, Scalar value) -> Tensor",
                      "x with one value at indices along a dimension.", "", index_fill, {}, {""}),
    &define_composite("masked_select", "(Tensor x, Tensor mask) -> Tensor",
                      "The elements of x where mask holds (both broadcast), as one dimension in C order.",
                      "x[mask]", on_host(masked_select), {}, {""}),
    &define_composite("masked_fill", "(Tensor x, Tensor mask, Scalar value) -> Tensor",
                      "value where mask holds, else x.", "numpy.where(mask, value, x)", masked_fill_op, {},
                      {""}),
    &define_composite("nonzero", "(Tensor x) -> Tensor",
                      "[n, x.dim()] int64: indices of the elements that differ from zero, in C order.",
                      "numpy.argwhere(x)", on_host(nonzero), {"argwhere"}, {"", "argwhere"}),
    &define_composite("repeat_interleave", "(Tensor x, Tensor repeats, int? dim=None) -> Tensor",
                      "Every element along a dimension repeated as often as `repeats` says (None: of all "
                      "elements in C order).",
                      "numpy.repeat(x, repeats, dim)", on_host(repeat_interleave), {}, {""}),
    &define_composite("one_hot", "(Tensor x, int num_classes=-1) -> Tensor",
                      "[*x.shape, num_classes] int64: 1 at the class number, 0 elsewhere. -1: one more than "
                      "the largest number.",
                      "numpy.eye(num_classes, dtype='int64')[x]", one_hot),
};

}  // namespace
}  // namespace weft::ops
