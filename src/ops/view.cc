// The view primitives: what graphs contain of views. Each is an index map; every other view is written over
// them.
#include "ops/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/index_arrays.h"
#include "ops/arguments.h"
#include "ops/tracer.h"

namespace weft::ops {

SliceRange normalize_slice(std::string_view op, std::optional<Sym> start, std::optional<Sym> stop,
                           int64_t step, Sym size) {
  WEFT_CHECK(step != 0, fmt::format("{}: slice step cannot be zero", op));
  // An end clipped to [low, high].
  const Sym low = step > 0 ? Sym(0) : Sym(-1), high = step > 0 ? size : size - Sym(1);
  const auto clip = [&](Sym end) {
    if (sym_lt(end, Sym(0))) end = end + size;
    if (sym_lt(end, low)) return low;
    return sym_lt(high, end) ? high : end;
  };
  SliceRange range;
  range.step = step;
  range.start = start ? clip(*start) : step > 0 ? low : high;
  range.stop = stop ? clip(*stop) : step > 0 ? high : low;
  const bool empty = step > 0 ? sym_le(range.stop, range.start) : sym_le(range.start, range.stop);
  if (empty) {
    range.stop = range.start = Sym(0);
    range.length = Sym(0);
    return range;
  }
  const Sym distance = step > 0 ? range.stop - range.start : range.start - range.stop;
  const int64_t width = std::abs(step);
  range.length = width == 1 ? distance : floor_div(distance + Sym(width - 1), Sym(width));
  return range;
}

Sym normalize_index(Sym index, Sym size, int64_t axis) {
  const bool negative = sym_lt(index, Sym(0));
  const Sym result = negative ? index + size : index;
  if (sym_lt(result, Sym(0)) || sym_ge(result, size)) throw_index_error(index.hint(), size.hint(), axis);
  return result;
}

// Groups of old dimensions that lie in memory like one dimension are split among the new ones.
std::optional<Strides> view_strides(const Shape& shape, const Strides& strides, const Shape& target) {
  if (weft::numel(shape) == 0) return contiguous_strides(target);
  Strides result(target.size(), 1);
  size_t next = target.size();
  for (size_t d = shape.size(); d > 0;) {
    int64_t size = shape[--d], base = strides[d];
    if (size == 1) continue;
    while (d > 0 && (shape[d - 1] == 1 || strides[d - 1] == base * size)) size *= shape[--d];
    int64_t taken = 1;
    while (next > 0 && taken < size) {
      result[--next] = base * taken;
      taken *= target[next];
    }
    if (taken != size) return std::nullopt;
  }
  while (next > 0) {
    if (target[--next] != 1) return std::nullopt;
    result[next] = next + 1 < target.size() ? result[next + 1] * target[next + 1] : 1;
  }
  return result;
}

Strides part_strides(std::string_view op, Strides strides, DType from, DType to) {
  const auto from_size = static_cast<int64_t>(itemsize(from)), to_size = static_cast<int64_t>(itemsize(to));
  for (int64_t& stride : strides) stride = stride * from_size / to_size;
  if (op == "bitcast" && from_size != to_size) strides.back() = 1;
  return strides;
}

Tensor memory_part(std::string_view op, const Tensor& tensor, DType to) {
  if (tensor.is_traced()) {
    WEFT_ASSERT(current_tracer(), "a traced tensor outside of its trace");
    return current_tracer()->record_part(get_op(op), tensor,
                                         op == "bitcast" ? Attrs{{"dtype", to}} : Attrs{});
  }
  const auto from_size = static_cast<int64_t>(itemsize(tensor.dtype())),
             to_size = static_cast<int64_t>(itemsize(to));
  Shape shape = tensor.shape();
  if (op == "bitcast" && from_size != to_size) shape.back() = shape.back() * from_size / to_size;
  const int64_t offset = tensor.offset() * from_size / to_size + (op == "imag" ? 1 : 0);
  return Tensor(tensor.storage(), to, std::move(shape),
                part_strides(op, tensor.strides(), tensor.dtype(), to), offset);
}

SymShape resolve_shape(std::string_view op, const SymShape& from, const SymShape& shape) {
  SymShape result = shape;
  Sym known = 1;
  int64_t unknown = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is_constant() && shape[d].constant() == -1) {
      WEFT_CHECK(unknown < 0, fmt::format("{}: only one dimension can be -1: got {}", op, weft::str(shape)));
      unknown = static_cast<int64_t>(d);
      continue;
    }
    WEFT_CHECK(!shape[d].is_constant() || shape[d].constant() >= 0,
               fmt::format("{}: sizes must not be negative: got {}", op, weft::str(shape)));
    known = known * shape[d];
  }
  const Sym total = product(from);
  bool fits = true;
  if (unknown >= 0) {
    // Cancel sizes that stand on both sides, so that a symbolic quotient stays an exact product.
    SymShape rest = from;
    Sym divisor = 1;
    for (const Sym& size : shape) {
      if (size.is_constant() && size.constant() == -1) continue;
      const auto found =
          std::find_if(rest.begin(), rest.end(), [&](const Sym& other) { return other.same(size); });
      if (found != rest.end())
        rest.erase(found);
      else
        divisor = divisor * size;
    }
    const Sym remaining = product(rest);
    fits = sym_ne(known, Sym(0)) && sym_eq(floor_mod(remaining, divisor), Sym(0));
    if (fits) result[static_cast<size_t>(unknown)] = floor_div(remaining, divisor);
  } else {
    fits = sym_eq(known, total);
  }
  WEFT_CHECK(fits, fmt::format("{}: cannot reshape array of size {} into shape {}: the array has shape {}",
                               op, total.str(), weft::str(shape), weft::str(from)));
  return result;
}

namespace {

Shape concrete(const SymShape& shape) {
  Shape result;
  for (const Sym& size : shape) result.push_back(size.constant());
  return result;
}

std::vector<Tensor> as_view(const Tensor& x, Shape shape, Strides strides, int64_t offset) {
  return {Tensor(x.storage(), x.dtype(), std::move(shape), std::move(strides), offset)};
}

int64_t rank(const TensorType& type) { return static_cast<int64_t>(type.shape.size()); }

// ---- permute
// -----------------------------------------------------------------------------------------------
std::vector<TensorType> infer_permute(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  const TensorType& x = operands[0];
  const std::vector<int64_t> dims = normalize_dims(op.name, int_list_arg(attrs, "dims"), rank(x));
  WEFT_CHECK(dims.size() == x.shape.size(),
             fmt::format("{}: dims must name every dimension once: expected {} of them, got {}{}", op.name,
                         x.shape.size(), weft::str(dims), describe_operands(op, operands)));
  TensorType result{x.dtype, {}, x.device};
  for (const int64_t dim : dims) result.shape.push_back(x.shape[static_cast<size_t>(dim)]);
  return {result};
}

std::vector<Tensor> eager_permute(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  Shape shape;
  Strides strides;
  for (const int64_t dim : normalize_dims(op.name, int_list_arg(attrs, "dims"), x.dim())) {
    shape.push_back(x.shape()[static_cast<size_t>(dim)]);
    strides.push_back(x.strides()[static_cast<size_t>(dim)]);
  }
  return as_view(x, std::move(shape), std::move(strides), x.offset());
}

// ---- reshape
// -----------------------------------------------------------------------------------------------
std::vector<TensorType> infer_reshape(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  TensorType result = operands[0];
  result.shape = resolve_shape(op.name, operands[0].shape, list_arg(attrs, "shape"));
  return {result};
}

std::vector<Tensor> eager_reshape(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const SymShape given = list_arg(attrs, "shape");
  Shape shape;
  for (const Sym& size : given) shape.push_back(size.is_constant() ? size.constant() : -1);
  const bool is_known = std::none_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (!is_known || weft::numel(shape) != x.numel())
    shape = concrete(resolve_shape(op.name, sym_shape(x), given));
  if (auto strides = view_strides(x.shape(), x.strides(), shape))
    return as_view(x, shape, std::move(*strides), x.offset());
  const Tensor copy = x.clone();
  return as_view(copy, shape, contiguous_strides(shape), copy.offset());
}

// ---- expand
// ------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_expand(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  const TensorType& x = operands[0];
  TensorType result = x;
  result.shape = list_arg(attrs, "shape");
  const auto fits = [&] {
    if (result.shape.size() < x.shape.size()) return false;
    const size_t lead = result.shape.size() - x.shape.size();
    for (size_t d = 0; d < result.shape.size(); ++d) {
      Sym& size = result.shape[d];
      const bool keep = size.is_constant() && size.constant() == -1;
      if (keep && d >= lead)
        size = x.shape[d - lead];
      else if (sym_lt(size, Sym(0)))
        return false;
      if (d >= lead && !x.shape[d - lead].same(size) && !sym_eq(x.shape[d - lead], Sym(1)) &&
          !sym_eq(x.shape[d - lead], size)) {
        return false;
      }
    }
    return true;
  };
  WEFT_CHECK(fits(),
             fmt::format("{}: the shape must broadcast to the one asked for: expected {}, got {}{}", op.name,
                         str(attrs.at("shape")), weft::str(x.shape), describe_operands(op, operands)));
  return {result};
}

std::vector<Tensor> eager_expand(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const TensorType type = type_of(x);
  const Shape shape = concrete(infer_expand(op, std::span(&type, 1), attrs)[0].shape);
  const size_t lead = shape.size() - static_cast<size_t>(x.dim());
  Strides strides(shape.size(), 0);
  for (size_t d = lead; d < shape.size(); ++d) {
    if (x.shape()[d - lead] != 1) strides[d] = x.strides()[d - lead];
  }
  return as_view(x, shape, std::move(strides), x.offset());
}

// ---- slice
// -------------------------------------------------------------------------------------------------
struct Slice {
  size_t dim;
  Sym start, stop, length;
  int64_t step;
};

// The arguments of slice and slice_update on a tensor of this shape.
Slice read_slice(const OpDef& op, const SymShape& shape, const Attrs& attrs) {
  const int64_t ndim = static_cast<int64_t>(shape.size());
  WEFT_CHECK(ndim > 0, fmt::format("{}: a 0-d tensor cannot be sliced", op.name));
  Slice result;
  result.dim = static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim"), ndim));
  result.start = sym_arg(attrs, "start"), result.stop = sym_arg(attrs, "stop");
  result.step = int_arg(attrs, "step");
  const Sym size = shape[result.dim];
  WEFT_CHECK(result.step != 0, fmt::format("{}: slice step cannot be zero", op.name));
  const bool forward = result.step > 0;
  const Sym distance = forward ? result.stop - result.start : result.start - result.stop;
  const int64_t width = std::abs(result.step);
  result.length = width == 1 ? distance : floor_div(distance + Sym(width - 1), Sym(width));
  if (sym_le(distance, Sym(0))) result.length = Sym(0);
  const bool inside = sym_ge(result.start, Sym(0)) &&
                      (forward ? sym_le(result.stop, size) : sym_lt(result.start, size)) &&
                      sym_ge(result.stop, Sym(forward ? 0 : -1));
  WEFT_CHECK_INDEX(result.length.same(Sym(0)) || inside,
                   fmt::format("{}: {}:{}:{} reaches outside dimension {} of size {}", op.name,
                               result.start.str(), result.stop.str(), result.step, result.dim, size.str()));
  return result;
}

std::vector<TensorType> infer_slice(const OpDef& op, std::span<const TensorType> operands,
                                    const Attrs& attrs) {
  TensorType result = operands[0];
  const Slice slice = read_slice(op, result.shape, attrs);
  result.shape[slice.dim] = slice.length;
  return {result};
}

std::vector<Tensor> eager_slice(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const Slice slice = read_slice(op, sym_shape(x), attrs);
  Shape shape = x.shape();
  Strides strides = x.strides();
  const int64_t length = slice.length.constant();
  const int64_t offset = length == 0 ? x.offset() : x.offset() + slice.start.constant() * strides[slice.dim];
  shape[slice.dim] = length;
  strides[slice.dim] *= slice.step;
  return as_view(x, std::move(shape), std::move(strides), offset);
}

// ---- diagonal
// ----------------------------------------------------------------------------------------------
struct Diagonal {
  size_t dim1, dim2;
  int64_t offset;
  Sym length;
};

Diagonal read_diagonal(const OpDef& op, const SymShape& shape, const Attrs& attrs) {
  const int64_t ndim = static_cast<int64_t>(shape.size());
  WEFT_CHECK(ndim >= 2,
             fmt::format("{}: expected at least 2 dimensions, got shape {}", op.name, weft::str(shape)));
  Diagonal result;
  result.dim1 = static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim1"), ndim));
  result.dim2 = static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim2"), ndim));
  WEFT_CHECK(result.dim1 != result.dim2,
             fmt::format("{}: the two dimensions must differ: got {} twice", op.name, result.dim1));
  result.offset = int_arg(attrs, "offset");
  const Sym rows = shape[result.dim1] - Sym(std::max<int64_t>(-result.offset, 0));
  const Sym columns = shape[result.dim2] - Sym(std::max<int64_t>(result.offset, 0));
  result.length = rows.same(columns) ? rows : sym_lt(rows, columns) ? rows : columns;
  if (sym_lt(result.length, Sym(0))) result.length = Sym(0);
  return result;
}

std::vector<TensorType> infer_diagonal(const OpDef& op, std::span<const TensorType> operands,
                                       const Attrs& attrs) {
  const TensorType& x = operands[0];
  const Diagonal diagonal = read_diagonal(op, x.shape, attrs);
  TensorType result{x.dtype, {}, x.device};
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (d != diagonal.dim1 && d != diagonal.dim2) result.shape.push_back(x.shape[d]);
  }
  result.shape.push_back(diagonal.length);
  return {result};
}

Tensor diagonal_view(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  const Diagonal diagonal = read_diagonal(op, sym_shape(x), attrs);
  Shape shape;
  Strides strides;
  for (size_t d = 0; d < x.shape().size(); ++d) {
    if (d == diagonal.dim1 || d == diagonal.dim2) continue;
    shape.push_back(x.shape()[d]);
    strides.push_back(x.strides()[d]);
  }
  const int64_t stride1 = x.strides()[diagonal.dim1], stride2 = x.strides()[diagonal.dim2];
  const int64_t length = diagonal.length.constant();
  shape.push_back(length);
  strides.push_back(stride1 + stride2);
  const int64_t skipped = diagonal.offset >= 0 ? diagonal.offset * stride2 : -diagonal.offset * stride1;
  return as_view(x, std::move(shape), std::move(strides), length == 0 ? x.offset() : x.offset() + skipped)[0];
}

std::vector<Tensor> eager_diagonal(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return {diagonal_view(op, operands[0], attrs)};
}

// ---- unfold
// ------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_unfold(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  TensorType result = operands[0];
  const auto dim =
      static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim"), std::max<int64_t>(rank(result), 1)));
  const Sym size = sym_arg(attrs, "size"), along = rank(result) == 0 ? Sym(1) : result.shape[dim];
  const int64_t step = int_arg(attrs, "step");
  WEFT_CHECK(step > 0, fmt::format("{}: step is {} but must be > 0", op.name, step));
  WEFT_CHECK(sym_ge(size, Sym(0)), fmt::format("{}: size is {} but must be >= 0", op.name, size.str()));
  WEFT_CHECK(sym_le(size, along),
             fmt::format("{}: maximum size for tensor at dimension {} is {} but size is {}{}", op.name, dim,
                         along.str(), size.str(), describe_operands(op, operands)));
  if (rank(result) == 0) {
    result.shape = {size};
    return {result};
  }
  const Sym free = result.shape[dim] - size;
  result.shape[dim] = (step == 1 ? free : floor_div(free, Sym(step))) + Sym(1);
  result.shape.push_back(size);
  return {result};
}

std::vector<Tensor> eager_unfold(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const TensorType type = type_of(x);
  Shape shape = concrete(infer_unfold(op, std::span(&type, 1), attrs)[0].shape);
  Strides strides = x.strides();
  if (strides.empty()) return as_view(x, std::move(shape), Strides{1}, x.offset());
  const size_t dim = static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim"), x.dim()));
  strides.push_back(strides[dim]);
  strides[dim] *= int_arg(attrs, "step");
  return as_view(x, std::move(shape), std::move(strides), x.offset());
}

// ---- functional updates
// ------------------------------------------------------------------------------------
void check_update(const OpDef& op, std::span<const TensorType> operands, const SymShape& expected) {
  const TensorType &base = operands[0], &source = operands[1];
  WEFT_CHECK_TYPE(base.dtype == source.dtype,
                  fmt::format("{}: operands must have one dtype: expected {}, got {}{}", op.name,
                              name(base.dtype), name(source.dtype), describe_operands(op, operands)));
  const bool same = expected.size() == source.shape.size() &&
                    std::equal(expected.begin(), expected.end(), source.shape.begin(), sym_eq);
  WEFT_CHECK(same, fmt::format("{}: expected a source of shape {}, got {}{}", op.name, weft::str(expected),
                               weft::str(source.shape), describe_operands(op, operands)));
}

std::vector<TensorType> infer_slice_update(const OpDef& op, std::span<const TensorType> operands,
                                           const Attrs& attrs) {
  const Slice slice = read_slice(op, operands[0].shape, attrs);
  SymShape expected = operands[0].shape;
  expected[slice.dim] = slice.length;
  check_update(op, operands, expected);
  return {operands[0]};
}

std::vector<TensorType> infer_diagonal_update(const OpDef& op, std::span<const TensorType> operands,
                                              const Attrs& attrs) {
  check_update(op, operands, infer_diagonal(op, operands.first(1), attrs)[0].shape);
  return {operands[0]};
}

[[maybe_unused]] const OpDef* const kViewOps[] = {
    &register_op({.name = "permute",
                  .schema = "(Tensor x, int[] dims) -> Tensor",
                  .kind = OpKind::View,
                  .doc =
                      "The dimensions of x in another order: result dimension d is x's dimension dims[d].\n"
                      "map:    result[i] = x[j], j[dims[d]] = i[d].",
                  .numpy = "numpy.transpose(x, dims)",
                  .methods = {""},
                  .infer = infer_permute,
                  .eager = eager_permute}),
    &register_op({.name = "reshape",
                  .schema = "(Tensor x, int[] shape) -> Tensor",
                  .kind = OpKind::View,
                  .doc = "The elements of x in C order, in another shape; one size may be -1. A view where "
                         "x's strides allow,\n"
                         "else a copy. ValueError when the numbers of elements differ.\n"
                         "map:    result[i] = x[j], where i and j have the same C-order position.",
                  .numpy = "numpy.reshape(x, shape)",
                  .methods = {""},
                  .infer = infer_reshape,
                  .eager = eager_reshape}),
    &register_op({.name = "expand",
                  .schema = "(Tensor x, int[] shape) -> Tensor",
                  .kind = OpKind::View,
                  .doc =
                      "x broadcast to `shape`, without copying; -1 keeps a size. ValueError when it does not "
                      "broadcast.\n"
                      "map:    result[i] = x[j], j = i without its leading dimensions, 0 where x has size 1.",
                  .numpy = "numpy.broadcast_to(x, shape)",
                  .aliases = {"broadcast_to"},
                  .methods = {"", "broadcast_to"},
                  .infer = infer_expand,
                  .eager = eager_expand}),
    &register_op({.name = "slice",
                  .schema = "(Tensor x, int dim, int start, int stop, int step=1) -> Tensor",
                  .kind = OpKind::View,
                  .doc = "Elements start, start + step, … of one dimension, up to but not including stop. "
                         "Ends are taken as they\n"
                         "are (a stop of -1 with a negative step means: down to element 0). IndexError when "
                         "they lie outside.\n"
                         "map:    result[i] = x[j], j = i but j[dim] = start + i[dim] * step.",
                  .infer = infer_slice,
                  .eager = eager_slice}),
    &register_op(
        {.name = "diagonal",
         .schema = "(Tensor x, int offset=0, int dim1=0, int dim2=1) -> Tensor",
         .kind = OpKind::View,
         .doc = "The diagonal of the planes spanned by two dimensions, as the last dimension of the result.\n"
                "map:    result[i…, k] = x[j], j[dim1] = k + max(-offset, 0), j[dim2] = k + max(offset, 0), "
                "the others i.",
         .numpy = "numpy.diagonal(x, offset, dim1, dim2)",
         .methods = {""},
         .infer = infer_diagonal,
         .eager = eager_diagonal}),
    &register_op({.name = "unfold",
                  .schema = "(Tensor x, int dim, int size, int step) -> Tensor",
                  .kind = OpKind::View,
                  .doc =
                      "Windows of `size` elements along one dimension, `step` apart; the window is the "
                      "last dimension of the\n"
                      "result. map: result[i…, k] = x[j], j = i but j[dim] = i[dim] * step + k. A tensor of "
                      "no dimensions is one window.",
                  .methods = {""},
                  .infer = infer_unfold,
                  .eager = eager_unfold}),
    &register_op(
        {.name = "slice_update",
         .schema = "(Tensor base, Tensor source, int dim, int start, int stop, int step=1) -> Tensor",
         .doc = "base with slice(dim, start, stop, step) replaced by source, which has that slice's shape "
                "and dtype.",
         .infer = infer_slice_update,
         .eager = [](const OpDef& op, std::span<const Tensor> operands,
                     const Attrs& attrs) -> std::vector<Tensor> {
           const Tensor result = operands[0].clone();
           eager_slice(op, std::span(&result, 1), attrs)[0].copy_from(operands[1]);
           return {result};
         }}),
    &register_op({.name = "diagonal_update",
                  .schema = "(Tensor base, Tensor source, int offset=0, int dim1=0, int dim2=1) -> Tensor",
                  .doc = "base with diagonal(offset, dim1, dim2) replaced by source, which has that "
                         "diagonal's shape and dtype.",
                  .infer = infer_diagonal_update,
                  .eager = [](const OpDef& op, std::span<const Tensor> operands,
                              const Attrs& attrs) -> std::vector<Tensor> {
                    const Tensor result = operands[0].clone();
                    diagonal_view(op, result, attrs).copy_from(operands[1]);
                    return {result};
                  }}),
};

}  // namespace
}  // namespace weft::ops
