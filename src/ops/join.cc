// Joining and splitting.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/copy.h"
#include "core/memory_limit.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/iteration_order.h"
#include "ops/kept_order.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;

// ---- the primitive
// -----------------------------------------------------------------------------------------
std::vector<TensorType> infer_join(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  WEFT_CHECK(!operands.empty(), fmt::format("{}: expected at least one tensor, got none", op.name));
  TensorType result = operands[0];
  WEFT_CHECK(!result.shape.empty(),
             fmt::format("concatenate: zero-dimensional arrays cannot be concatenated{}",
                         describe_operands(op, operands)));
  const size_t dim = static_cast<size_t>(
      normalize_dim("concatenate", int_arg(attrs, "dim"), static_cast<int64_t>(result.shape.size())));
  for (size_t i = 1; i < operands.size(); ++i) {
    const TensorType& x = operands[i];
    WEFT_CHECK_TYPE(x.dtype == result.dtype,
                    fmt::format("{}: operands must have one dtype: expected {}, got {}{}", op.name,
                                name(result.dtype), name(x.dtype), describe_operands(op, operands)));
    WEFT_CHECK(
        x.shape.size() == result.shape.size(),
        fmt::format("concatenate: all tensors must have the same number of dimensions: expected {}, got {}{}",
                    result.shape.size(), x.shape.size(), describe_operands(op, operands)));
    for (size_t d = 0; d < x.shape.size(); ++d) {
      if (d == dim) continue;
      WEFT_CHECK(
          sym_eq(x.shape[d], result.shape[d]),
          fmt::format("concatenate: sizes must match except in dimension {}: expected size {} in dimension "
                      "{}, got {}{}",
                      dim, result.shape[d].str(), d, x.shape[d].str(), describe_operands(op, operands)));
    }
    result.shape[dim] = result.shape[dim] + x.shape[dim];
  }
  return {result};
}

// Puts x into `target`, of which the elements before `dim` lie `step` bytes apart.
void put_into(std::byte* target, int64_t step, const Tensor& x, size_t dim, const Strides& strides) {
  constexpr int64_t kFew = 64;  // rows
  const auto first = x.shape().begin(), middle = first + static_cast<std::ptrdiff_t>(dim);
  const int64_t rows = std::accumulate(first, middle, int64_t{1}, std::multiplies<>());
  if (!x.is_contiguous() || rows > kFew)
    return copy_strided({target, x.dtype(), strides}, {x.data(), x.dtype(), x.strides()}, x.shape());
  const std::byte* from = static_cast<const std::byte*>(x.data());
  const int64_t bytes = x.numel() / rows * itemsize(x.dtype());
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(target + row * step, from + row * bytes, static_cast<size_t>(bytes));
}

// A piece, line by line: the C library's copies of a few lines take some time before they begin.
void copy_piece(std::byte* to, const std::byte* from, int64_t bytes) {
  constexpr int64_t kLongest = 8192, kLine = 64;
  int64_t at = 0;
  if (bytes <= kLongest)
    for (; at + kLine <= bytes; at += kLine) std::memcpy(to + at, from + at, kLine);
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
}

// Pieces of contiguous operands, one behind the other as they lie in the result; false where they are few
// bytes each, or lie otherwise.
bool join_in_order(std::span<const Tensor> operands, size_t dim, const Tensor& result) {
  constexpr int64_t kFewest = 256, kGrain = 1 << 17;  // bytes
  const auto first = result.shape().begin(), middle = first + static_cast<std::ptrdiff_t>(dim);
  const int64_t rows = std::accumulate(first, middle, int64_t{1}, std::multiplies<>());
  const int64_t row = result.numel() / rows * itemsize(result.dtype());
  if (rows == 1 || row < kFewest * static_cast<int64_t>(operands.size())) return false;
  for (const Tensor& x : operands)
    if (!x.is_contiguous()) return false;
  struct Piece {
    const std::byte* from;
    int64_t bytes;
  };
  std::vector<Piece> pieces;
  for (const Tensor& x : operands)
    if (x.numel() > 0)
      pieces.push_back({static_cast<const std::byte*>(x.data()), x.numel() / rows * itemsize(x.dtype())});
  std::byte* const target = static_cast<std::byte*>(result.data());
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / row), [&](int64_t begin, int64_t end) {
    std::byte* to = target + begin * row;
    for (int64_t at = begin; at < end; ++at)
      for (const Piece& piece : pieces) {
        copy_piece(to, piece.from + at * piece.bytes, piece.bytes);
        to += piece.bytes;
      }
  });
  return true;
}

Tensors eager_join(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  Shape shape = operands[0].shape();
  const size_t dim = static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim"), operands[0].dim()));
  shape[dim] = 0;
  for (const Tensor& x : operands) shape[dim] += x.shape()[dim];
  const Tensor result = Tensor::empty(shape, operands[0].dtype(), operands[0].device());
  constexpr int64_t kSmall = 4096;  // elements: less work than making views of the result
  if (result.device() == Device() && result.numel() <= kSmall) {
    const int64_t size = itemsize(result.dtype()), stride = result.strides()[dim] * size;
    std::byte* target = static_cast<std::byte*>(result.data());
    for (const Tensor& x : operands) {
      if (x.numel() > 0) put_into(target, shape[dim] * stride, x, dim, result.strides());
      target += x.shape()[dim] * stride;
    }
    return {result};
  }
  if (result.device() == Device() && result.numel() > 0 && join_in_order(operands, dim, result))
    return {result};
  int64_t position = 0;
  for (const Tensor& x : operands) {
    if (x.numel() > 0) {
      Tensor(result.storage(), result.dtype(), x.shape(), result.strides(),
             result.offset() + position * result.strides()[dim])
          .copy_from(x);
    }
    position += x.shape()[dim];
  }
  return {result};
}

// ---- joining
// -----------------------------------------------------------------------------------------------
void check_some(const OpDef& op, const OpArgs& args) {
  WEFT_CHECK(!args.tensors.empty(), fmt::format("{}: expected at least one tensor, got none", op.name));
}

bool all_lie_channels_last(const Tensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor& x) { return !x.is_contiguous() && lies_channels_last(x); });
}

// Under PyTorch's rules tensors that lie channels last give one that does.
Tensor join(const Tensors& tensors, int64_t dim, Promotion rules) {
  const int64_t ndim = tensors.at(0).dim();
  const bool is_dim = dim >= -ndim && dim < ndim;
  if (rules == Promotion::NumPy || !is_dim || !all_lie_channels_last(tensors))
    return build::join(build::promote(tensors, rules), dim);
  const std::vector<int64_t> order = channels_last_order(ndim), back = inverse_order(order);
  Tensors seen;
  for (const Tensor& x : tensors) seen.push_back(with_order(x, order));
  return with_order(
      build::join(build::promote(seen, rules), back[static_cast<size_t>(dim < 0 ? dim + ndim : dim)]), back);
}

Tensors concatenate(const OpDef& op, const OpArgs& args) {
  check_some(op, args);
  Tensors tensors = args.tensors;
  if (args.attrs.is_none("dim")) {
    for (Tensor& x : tensors) x = build::reshape(x, {product(sym_shape(x))});
    return {join(tensors, 0, args.rules)};
  }
  // PyTorch lets empty vectors of shape [0] join anything.
  if (args.rules == Promotion::Torch) {
    const auto is_nothing = [](const Tensor& x) { return x.dim() == 1 && sym_eq(sym_shape(x)[0], Sym(0)); };
    if (std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& x) { return !is_nothing(x); })) {
      tensors = build::promote(tensors, args.rules);
      std::erase_if(tensors, is_nothing);
    }
  }
  return {join(tensors, int_arg(args.attrs, "dim"), args.rules)};
}

// Few contiguous tensors of one shape and dtype, copied where they go; undefined for any others.
Tensor stack_few(const Tensors& tensors, int64_t dim) {
  constexpr int64_t kMost = 4096;  // elements, of all
  const Tensor& first = tensors[0];
  if (first.is_traced() || first.numel() == 0 || dim < -first.dim() - 1 || dim > first.dim() ||
      first.numel() * static_cast<int64_t>(tensors.size()) > kMost)
    return {};
  for (const Tensor& x : tensors)
    if (x.is_traced() || x.device() != Device() || x.dtype() != first.dtype() || x.shape() != first.shape() ||
        !x.is_contiguous())
      return {};
  Shape shape = first.shape();
  const auto place = shape.begin() + (dim < 0 ? dim + first.dim() + 1 : dim);
  const int64_t rows = std::accumulate(shape.begin(), place, int64_t{1}, std::multiplies<>());
  shape.insert(place, static_cast<int64_t>(tensors.size()));
  const Tensor result = Tensor::empty(shape, first.dtype());
  const auto bytes = static_cast<size_t>(first.numel() / rows * itemsize(first.dtype()));
  auto* to = static_cast<std::byte*>(result.data());
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
    for (const Tensor& x : tensors) {
      std::memcpy(to, static_cast<const std::byte*>(x.data()) + row * bytes, bytes);
      to += bytes;
    }
  return result;
}

Tensors stack(const OpDef& op, const OpArgs& args) {
  check_some(op, args);
  if (Tensor done = stack_few(args.tensors, int_arg(args.attrs, "dim")); done.defined()) return {done};
  const SymShape first = sym_shape(args.tensors[0]);
  const int64_t dim = normalize_dim(op.name, int_arg(args.attrs, "dim"), args.tensors[0].dim() + 1);
  for (const Tensor& x : args.tensors) {
    const SymShape shape = sym_shape(x);
    WEFT_CHECK(shape.size() == first.size() && std::equal(shape.begin(), shape.end(), first.begin(), sym_eq),
               fmt::format("{}: all tensors must have the same shape: expected {}, got {}", op.name,
                           weft::str(first), weft::str(shape)));
  }
  // PyTorch splits the dimension along which they are joined: the others lie as the tensors' do.
  if (args.rules == Promotion::Torch && dim < args.tensors[0].dim() && all_lie_channels_last(args.tensors)) {
    SymShape sizes = first;
    sizes.insert(sizes.begin() + dim, Sym(static_cast<int64_t>(args.tensors.size())));
    return {build::reshape(join(args.tensors, dim, args.rules), sizes)};
  }
  Tensors tensors;
  for (const Tensor& x : args.tensors) tensors.push_back(build::unsqueeze(x, dim));
  return {build::join(build::promote(tensors, args.rules), dim)};
}

Tensors of_rank(const OpArgs& args, const char* atleast) {
  Tensors tensors;
  for (const Tensor& x : args.tensors) tensors.push_back(call1(atleast, {x}));
  return tensors;
}

Tensors hstack(const OpDef& op, const OpArgs& args) {
  check_some(op, args);
  const Tensors tensors = of_rank(args, "atleast_1d");
  return {join(tensors, tensors[0].dim() == 1 ? 0 : 1, args.rules)};
}

Tensors column_stack(const OpDef& op, const OpArgs& args) {
  check_some(op, args);
  Tensors tensors;
  for (const Tensor& x : args.tensors) {
    tensors.push_back(x.dim() >= 2 ? x : build::reshape(x, {product(sym_shape(x)), Sym(1)}));
  }
  return {join(tensors, 1, args.rules)};
}

// ---- splitting
// ---------------------------------------------------------------------------------------------
int64_t split_dim(const OpDef& op, const Tensor& x, int64_t dim) {
  WEFT_CHECK(x.dim() > 0, fmt::format("{}: a 0-d tensor cannot be split", op.name));
  return normalize_dim(op.name, dim, x.dim());
}

Tensors pieces(const Tensor& x, int64_t dim, const SymShape& sizes) {
  Tensors results;
  Sym start = 0;
  for (const Sym& size : sizes) {
    results.push_back(build::slice(x, dim, {start, start + size, 1, size}));
    start = start + size;
  }
  return results;
}

Sym size_along(const Tensor& x, int64_t dim) { return sym_shape(x)[static_cast<size_t>(dim)]; }

int64_t known_size(const Tensor& x, int64_t dim) { return sym_specialize(size_along(x, dim)); }

// Pieces of one size of at least 1, the last smaller: their number is a guard where sizes are symbolic.
SymShape sizes_of(const Sym& total, const Sym& each) {
  const int64_t count = total.hint() / each.hint() + (total.hint() % each.hint() != 0 ? 1 : 0);
  const Sym before = each * Sym(count - 1);
  if (count == 0 || !sym_lt(before, total) || !sym_le(total, before + each)) return {Sym(0)};
  SymShape sizes(static_cast<size_t>(count - 1), each);
  sizes.push_back(total - before);
  return sizes;
}

// PyTorch's split: pieces of one size, the last smaller; or of the sizes given.
Tensors split(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const int64_t dim = split_dim(op, x, int_arg(args.attrs, "dim"));
  const Sym total = size_along(x, dim);
  if (const Sym* each = std::get_if<Sym>(&args.attrs.at("split_size"))) {
    const bool is_empty = sym_eq(total, 0);
    WEFT_CHECK(sym_gt(*each, 0) || (sym_eq(*each, 0) && is_empty),
               fmt::format("{}: split_size must be positive, got {}", op.name, each->str()));
    return pieces(x, dim, is_empty ? SymShape{Sym(0)} : sizes_of(total, *each));
  }
  const SymShape given = list_arg(args.attrs, "split_size");
  Sym sum = 0;
  for (const Sym& size : given) {
    WEFT_CHECK(sym_ge(size, 0),
               fmt::format("{}: sizes must not be negative, got {}", op.name, weft::str(given)));
    sum = sum + size;
  }
  WEFT_CHECK(sym_eq(sum, total), fmt::format("{}: sizes must add up to dimension {}'s size {}: got {}",
                                             op.name, dim, total.str(), weft::str(given)));
  return pieces(x, dim, given);
}

Tensors chunk(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const int64_t dim = split_dim(op, x, int_arg(args.attrs, "dim")), chunks = int_arg(args.attrs, "chunks");
  const Sym total = size_along(x, dim);
  WEFT_CHECK(chunks > 0, fmt::format("{}: chunks must be positive, got {}", op.name, chunks));
  if (sym_eq(total, 0)) {
    check_list_fits_memory(op.name, chunks, sizeof(TensorImpl));
    return pieces(x, dim, SymShape(static_cast<size_t>(chunks), Sym(0)));
  }
  return pieces(x, dim, sizes_of(total, floor_div(total + Sym(chunks - 1), chunks)));
}

// NumPy's split family: a number of sections (sizes differ by at most one), or the positions of the cuts.
Tensors sections(const OpDef& op, const Tensor& x, int64_t dim, const Attr& where, bool equal) {
  const int64_t total = known_size(x, dim);
  if (const Sym* number = std::get_if<Sym>(&where)) {
    const int64_t count = sym_specialize(*number);
    WEFT_CHECK(count > 0, fmt::format("{}: number sections must be larger than 0, got {}", op.name, count));
    WEFT_CHECK(!equal || total % count == 0,
               fmt::format("{}: array split does not result in an equal division: size {} into {} sections",
                           op.name, total, count));
    check_list_fits_memory(op.name, count, sizeof(TensorImpl));
    SymShape sizes(static_cast<size_t>(count), Sym(total / count));
    for (int64_t i = 0; i < total % count; ++i) sizes[static_cast<size_t>(i)] = Sym(total / count + 1);
    return pieces(x, dim, sizes);
  }
  Tensors results;
  std::optional<Sym> start;
  for (const Sym& cut : std::get<SymShape>(where)) {
    results.push_back(build::slice(x, dim, start, cut));
    start = cut;
  }
  results.push_back(build::slice(x, dim, start, std::nullopt));
  return results;
}

Tensors sections_op(const OpDef& op, const OpArgs& args, bool equal) {
  const Tensor& x = args.tensors[0];
  return sections(op, x, split_dim(op, x, int_arg(args.attrs, "dim")), args.attrs.at("indices_or_sections"),
                  equal);
}

Tensors fixed_sections(const OpDef& op, const OpArgs& args, int64_t dim, int64_t ndim) {
  const Tensor& x = args.tensors[0];
  WEFT_CHECK(x.dim() >= ndim,
             fmt::format("{}: expected at least {} dimensions, got {}", op.name, ndim, describe(x)));
  return sections(op, x, x.dim() == 1 ? 0 : dim, args.attrs.at("indices_or_sections"), true);
}

Tensors unbind(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const int64_t dim = split_dim(op, x, int_arg(args.attrs, "dim")), total = known_size(x, dim);
  Tensors results;
  for (int64_t i = 0; i < total; ++i) results.push_back(build::select(x, dim, Sym(i)));
  return results;
}

[[maybe_unused]] const OpDef* const kJoinOps[] = {
    &register_op(
        {.name = "join",
         .schema = "(Tensor[] tensors, int dim=0) -> Tensor",
         .doc = "Tensors of one dtype, one after another along a dimension; the other sizes are equal.",
         .infer = infer_join,
         .eager = eager_join}),
    &define_composite(
        "concatenate", "(Tensor[] tensors, int? dim=0) -> Tensor",
        "Tensors one after another along a dimension (None: flattened), in their promoted dtype.\n"
        "raises: ValueError when other sizes differ.",
        "numpy.concatenate(tensors, dim)", concatenate, {"cat", "concat"}),
    &define_composite("stack", "(Tensor[] tensors, int dim=0) -> Tensor",
                      "Tensors of one shape along a new dimension.", "numpy.stack(tensors, dim)", stack),
    &define_composite("hstack", "(Tensor[] tensors) -> Tensor",
                      "Joined along dimension 1, vectors along dimension 0.", "numpy.hstack(tensors)",
                      hstack),
    &define_composite("vstack", "(Tensor[] tensors) -> Tensor",
                      "Joined along dimension 0, each with at least 2 dimensions.", "numpy.vstack(tensors)",
                      [](const OpDef& op, const OpArgs& args) -> Tensors {
                        check_some(op, args);
                        return {join(of_rank(args, "atleast_2d"), 0, args.rules)};
                      },
                      {"row_stack"}),
    &define_composite("dstack", "(Tensor[] tensors) -> Tensor",
                      "Joined along dimension 2, each with at least 3 dimensions.", "numpy.dstack(tensors)",
                      [](const OpDef& op, const OpArgs& args) -> Tensors {
                        check_some(op, args);
                        return {join(of_rank(args, "atleast_3d"), 2, args.rules)};
                      }),
    &define_composite("column_stack", "(Tensor[] tensors) -> Tensor",
                      "Vectors as the columns of a matrix; matrices side by side.",
                      "numpy.column_stack(tensors)", column_stack),
    &define_composite(
        "split", "(Tensor x, int|int[] split_size, int dim=0) -> Tensor[]",
        "Views of pieces along a dimension: of one size (the last may be smaller), or of the sizes listed.",
        "", split, {}, {""}),
    &define_composite("chunk", "(Tensor x, int chunks, int dim=0) -> Tensor[]",
                      "Views of at most `chunks` pieces of equal size, the last smaller.", "", chunk, {},
                      {""}),
    &define_composite(
        "array_split", "(Tensor x, int|int[] indices_or_sections, int dim=0) -> Tensor[]",
        "Views of a number of sections (sizes differ by at most one), or cut at the positions listed.",
        "numpy.array_split(x, indices_or_sections, dim)",
        [](const OpDef& op, const OpArgs& args) { return sections_op(op, args, false); }, {"tensor_split"},
        {"tensor_split"}),
    &define_composite("split_sections", "(Tensor x, int|int[] indices_or_sections, int dim=0) -> Tensor[]",
                      "NumPy's split: as array_split, but ValueError when the sections would differ in size.",
                      "numpy.split(x, indices_or_sections, dim)",
                      [](const OpDef& op, const OpArgs& args) { return sections_op(op, args, true); }),
    &define_composite("hsplit", "(Tensor x, int|int[] indices_or_sections) -> Tensor[]",
                      "split_sections along dimension 1 (of a vector: 0).",
                      "numpy.hsplit(x, indices_or_sections)",
                      [](const OpDef& op, const OpArgs& args) { return fixed_sections(op, args, 1, 1); }),
    &define_composite("vsplit", "(Tensor x, int|int[] indices_or_sections) -> Tensor[]",
                      "split_sections along dimension 0.", "numpy.vsplit(x, indices_or_sections)",
                      [](const OpDef& op, const OpArgs& args) { return fixed_sections(op, args, 0, 2); }),
    &define_composite("dsplit", "(Tensor x, int|int[] indices_or_sections) -> Tensor[]",
                      "split_sections along dimension 2.", "numpy.dsplit(x, indices_or_sections)",
                      [](const OpDef& op, const OpArgs& args) { return fixed_sections(op, args, 2, 3); }),
    &define_composite("unbind", "(Tensor x, int dim=0) -> Tensor[]",
                      "Views of x at every index of a dimension, which is dropped.", "", unbind, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
