#include "device/cuda/selecting.h"

#include <fmt/format.h>

#include <limits>

#include "device/cuda/sorting.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::cuda {
namespace {

Tensor flat(const Tensor& x) {
  return x.contiguous().as_strided({x.numel()}, {1}, x.is_contiguous() ? x.offset() : 0);
}

int64_t number_at(const Tensor& x, int64_t at) {
  return x.as_strided({1}, {1}, x.offset() + at).to(Device()).data_as<int64_t>()[0];
}

// How many flags hold up to and including each, and how many do.
struct Counted {
  Tensor flags, places;
  int64_t count = 0;
};
Counted counted(const Tensor& flags) {
  Counted result{flat(flags), {}, 0};
  result.places = ops::call1("cumsum", {result.flags}, {{"dim", Sym(0)}, {"dtype", DType::I64}});
  result.count = number_at(result.places, flags.numel() - 1);
  return result;
}

std::vector<Tensor> nonzero(const Tensor& x) {
  if (x.dim() == 0 || x.numel() == 0 || is_complex(x.dtype())) return {};
  const Tensor flags = x.dtype() == DType::Bool ? x : x.to(DType::Bool);
  const Counted selected = counted(flags);
  const Tensor out = Tensor::empty({selected.count, x.dim()}, DType::I64, x.device());
  if (selected.count == 0) return {out};
  WrittenKernel kernel = sorting_kernel("positions_of_selected", x.device());
  kernel.writes("to", out).reads("flags", selected.flags).reads("places", selected.places);
  kernel.number("count", x.numel());
  const std::string sizes = steps_text(kernel, "sizes", x.shape());
  kernel.launch(fmt::format("take_positions(to, flags, places, count, {});", sizes),
                blocks_of_items(x.numel(), x.device().index));
  return {out};
}

std::vector<Tensor> masked_select(const Tensor& given, const Tensor& given_mask) {
  if (given_mask.dtype() != DType::Bool) return {};
  const SymShape shapes[] = {ops::sym_shape(given), ops::sym_shape(given_mask)};
  const SymShape shape = ops::broadcast_shapes("masked_select", shapes);
  const Tensor x = flat(ops::build::expand(given, shape)), mask = ops::build::expand(given_mask, shape);
  if (x.numel() == 0) return {};
  const Counted selected = counted(mask);
  const Tensor out = Tensor::empty({selected.count}, x.dtype(), x.device());
  if (selected.count == 0) return {out};
  const char* const word = word_of(x.dtype());
  WrittenKernel kernel = sorting_kernel(fmt::format("take_selected_{}", word), x.device());
  kernel.address("to", out.data()).address("from", x.data());
  kernel.reads("flags", selected.flags).reads("places", selected.places).number("count", x.numel());
  kernel.launch(fmt::format("take_selected(({0}*)to, (const {0}*)from, flags, places, count);", word),
                blocks_of_items(x.numel(), x.device().index));
  return {out};
}

std::vector<Tensor> unique(const Tensor& given, const ops::Attrs& attrs) {
  if (given.numel() == 0 || is_complex(given.dtype())) return {};
  const Device device = given.device();
  const Tensor x = flat(given);
  const int64_t count = x.numel(), blocks = blocks_of_items(count, device.index);
  const std::vector<Tensor> sorted = ops::call(ops::get_op("sort"), {{x}, {{"dim", Sym(0)}}});
  const Tensor starts = Tensor::empty({count}, DType::Bool, device);
  {
    WrittenKernel kernel = sorting_kernel(fmt::format("mark_starts_{}", short_name(x.dtype())), device);
    kernel.writes("starts", starts).reads("sorted", sorted[0]).number("count", count);
    kernel.launch("mark_starts(starts, sorted, count);", blocks);
  }
  const Counted distinct = counted(starts);
  const Tensor values = Tensor::empty({distinct.count}, x.dtype(), device);
  const Tensor inverse = Tensor::empty(given.shape(), DType::I64, device);
  const auto numbers = [&] { return Tensor::empty({distinct.count}, DType::I64, device); };
  const Tensor first = numbers(), begins = numbers(), lengths = numbers();
  {
    const char* const word = word_of(x.dtype());
    WrittenKernel kernel = sorting_kernel(fmt::format("take_distinct_{}", word), device);
    kernel.address("values", values.data())
        .writes("first", first)
        .writes("begins", begins)
        .writes("inverse", inverse);
    kernel.address("sorted", sorted[0].data()).reads("order", sorted[1]);
    kernel.reads("starts", starts).reads("places", distinct.places).number("count", count);
    kernel.launch(
        fmt::format("take_distinct(({0}*)values, first, begins, inverse, (const {0}*)sorted, order, starts, "
                    "places, count);",
                    word),
        blocks);
  }
  {
    WrittenKernel kernel = sorting_kernel("lengths_of_distinct", device);
    kernel.writes("lengths", lengths).reads("begins", begins);
    kernel.number("distinct", distinct.count).number("count", count);
    kernel.launch("take_lengths(lengths, begins, distinct, count);",
                  blocks_of_items(distinct.count, device.index));
  }
  std::vector<Tensor> results{values};
  if (attrs.get_bool("return_index")) results.push_back(first);
  if (attrs.get_bool("return_inverse")) results.push_back(inverse);
  if (attrs.get_bool("return_counts")) results.push_back(lengths);
  return results;
}

// The host says what is wrong with numbers that are negative.
std::vector<Tensor> bincount(const ops::OpArgs& args) {
  const Tensor& given = args.tensors[0];
  const int64_t least = ops::int_arg(args.attrs, "minlength");
  if (given.dim() != 1 || given.numel() == 0 || !is_integral(given.dtype()) || least < 0) return {};
  const Tensor x = flat(given.to(DType::I64));
  const ops::Attrs all{{"dim", SymShape{Sym(0)}}, {"keepdim", false}};
  if (number_at(ops::call1("amin", {x}, all), 0) < 0) return {};
  const int64_t greatest = number_at(ops::call1("amax", {x}, all), 0);
  constexpr int64_t kMany = int64_t{1} << 40;  // what no memory holds is refused by the host
  if (greatest >= kMany) return {};
  const Shape shape{std::max(least, greatest + 1)};
  if (const Tensor& weights = args.tensors[1]; weights.defined()) {
    if (weights.shape() != x.shape()) return {};
    const Tensor bins = Tensor::full(shape, Scalar(0), DType::F64, x.device());
    return {ops::call1("scatter_add", {bins, x, weights.to(DType::F64)}, {{"dim", Sym(0)}})};
  }
  const Tensor bins = Tensor::full(shape, Scalar(0), DType::I64, x.device());
  WrittenKernel kernel = sorting_kernel("count_of_numbers", x.device());
  kernel.writes("bins", bins).reads("x", x).number("count", x.numel());
  kernel.launch("count_numbers(bins, x, count);", blocks_of_items(x.numel(), x.device().index));
  return {bins};
}

// Elements of one dimension repeated: position k of the result shows the first element up to which more than
// k were asked for. The host says what is wrong with numbers that are none.
std::vector<Tensor> repeat_interleave(const ops::OpArgs& args) {
  Tensor x = args.tensors[0];
  const Tensor& repeats = args.tensors[1];
  const bool is_flat = args.attrs.is_none("dim") || x.dim() == 0;
  if (!is_integral(repeats.dtype()) || repeats.dim() > 1) return {};
  if (is_flat) x = flat(x);
  const int64_t dim =
      is_flat ? 0 : ops::normalize_dim("repeat_interleave", ops::int_arg(args.attrs, "dim"), x.dim());
  const int64_t size = x.size(dim);
  if (size == 0 || (repeats.numel() != 1 && repeats.numel() != size)) return {};
  const Tensor given = flat(repeats.to(DType::I64));
  const Tensor counts = given.as_strided({size}, {given.numel() == 1 ? 0 : 1}, given.offset());
  const ops::Attrs all{{"dim", SymShape{Sym(0)}}, {"keepdim", false}};
  if (number_at(ops::call1("amin", {counts}, all), 0) < 0) return {};
  const Tensor ends = ops::call1("cumsum", {counts}, {{"dim", Sym(0)}, {"dtype", DType::I64}});
  const int64_t total = number_at(ends, size - 1);
  constexpr int64_t kMany = int64_t{1} << 40;  // what no memory holds is refused by the host
  if (total < 0 || total >= kMany) return {};
  const Tensor wanted = ops::build::iota(Sym(total), Scalar(0), Scalar(1), DType::I64, x.device());
  const Tensor positions = ops::call1("searchsorted_strict", {ends, wanted}, {{"right", true}});
  return {ops::call1("index_select", {x, positions}, {{"dim", Sym(dim)}})};
}

// As the host computes bins, in the operand's precision; what is in none is counted behind the last one.
std::vector<Tensor> histc(const ops::OpArgs& args) {
  const Tensor& given = args.tensors[0];
  const int64_t bins = ops::int_arg(args.attrs, "bins");
  if (!is_floating(given.dtype()) || given.numel() == 0 || bins <= 0) return {};
  double low = ops::float_arg(args.attrs, "min"), high = ops::float_arg(args.attrs, "max");
  if (low == high) {
    const ops::Attrs all{{"dim", std::monostate()}, {"keepdim", false}};
    const auto end = [&](const char* op) {
      return ops::call1(op, {given}, all).to(DType::F64).to(Device()).data_as<double>()[0];
    };
    low = end("amin"), high = end("amax");
  }
  if (low == high) low -= 1, high += 1;
  if (!(low < high && high - low <= std::numeric_limits<double>::max())) return {};
  // Each operation is rounded to the operand's dtype, unless the range vanishes in it.
  const auto rounded = [&](double value) {
    return Tensor::scalar(Scalar(value), given.dtype()).item().to_double();
  };
  const bool is_visible = rounded(low) < rounded(high);
  const Tensor x = flat(is_visible ? given : given.to(DType::F64));
  double width = high - low, size = static_cast<double>(bins);
  if (is_visible && given.dtype() != DType::F64) {
    low = rounded(low), high = rounded(high), size = rounded(size);
    width = rounded(static_cast<float>(high) - static_cast<float>(low));
  }
  const auto number = [&](double value) { return Scalar(value); };
  const Tensor is_inside =
      ops::invoke("logical_and", {ops::invoke("ge", {x, number(low)}), ops::invoke("le", {x, number(high)})});
  const Tensor place = ops::invoke(
      "true_divide",
      {ops::build::mul(ops::build::sub(x, number(low)), number(size)), number(width)});
  const Tensor bin = ops::invoke(
      "minimum", {ops::invoke("where", {is_inside, place, Scalar(0.0)}).to(DType::I64), Scalar(bins - 1)});
  const Tensor counted_in = ops::invoke("where", {is_inside, bin, Scalar(bins)}).contiguous();
  const Tensor counts = Tensor::full({bins + 1}, Scalar(0), DType::I64, x.device());
  WrittenKernel kernel = sorting_kernel("count_of_numbers", x.device());
  kernel.writes("bins", counts).reads("x", counted_in).number("count", counted_in.numel());
  kernel.launch("count_numbers(bins, x, count);", blocks_of_items(counted_in.numel(), x.device().index));
  return {counts.as_strided({bins}, {1}, counts.offset()).to(given.dtype())};
}

}  // namespace

std::vector<Tensor> run_counted(const ops::OpDef& op, const ops::OpArgs& args) {
  if (op.name == "nonzero") return nonzero(args.tensors[0]);
  if (op.name == "masked_select") return masked_select(args.tensors[0], args.tensors[1]);
  if (op.name == "unique") return unique(args.tensors[0], args.attrs);
  if (op.name == "bincount") return bincount(args);
  if (op.name == "repeat_interleave") return repeat_interleave(args);
  if (op.name == "histc") return histc(args);
  return {};
}

std::vector<Tensor> run_sum_between(const ops::OpDef&, std::span<const Tensor> operands, const ops::Attrs&) {
  const Tensor x = flat(operands[0]), edges = flat(operands[1]);
  const int64_t length = edges.numel();
  if (length < 2 || x.numel() == 0) return {};
  // Elements at the last edge are in the bin before it; what is in none is added up beside the bins.
  const Tensor last = edges.as_strided({1}, {1}, edges.offset() + length - 1);
  const Tensor behind = ops::call1("searchsorted_strict", {edges, x}, {{"right", true}});
  const Tensor place = ops::build::sub(
      behind, ops::invoke("eq", {x, last}).to(DType::I64));  // 0: below; length: above, or NaN
  const Tensor sums = Tensor::full({length + 1}, Scalar(0), DType::F64, x.device());
  const Tensor added = ops::call1("scatter_add", {sums, place, flat(operands[2])}, {{"dim", Sym(0)}});
  return {added.as_strided({length - 1}, {1}, added.offset() + 1).contiguous()};
}

}  // namespace weft::cuda
