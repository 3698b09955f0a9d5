// Rows of a table by number, one by one or reduced over bags.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"
#include "ops/window.h"
#include "weft/detail/visit_dtype.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;
constexpr int64_t kElementsPerTask = 16 * 1024;

void check_table(const OpDef& op, std::span<const TensorType> operands) {
  WEFT_CHECK_TYPE(
      operands[0].dtype == DType::I64 || operands[0].dtype == DType::I32,
      fmt::format("{}: row numbers must be int32 or int64{}", op.name, describe_operands(op, operands)));
  WEFT_CHECK(operands[1].shape.size() == 2, fmt::format("{}: expected weight [num_embeddings, dim]{}",
                                                        op.name, describe_operands(op, operands)));
}

int64_t checked_row(const OpDef& op, int64_t row, int64_t rows) {
  WEFT_CHECK_INDEX(
      row >= 0 && row < rows,
      fmt::format("{}: row number out of range: expected one in [0, {}), got {}", op.name, rows, row));
  return row;
}

// The table with contiguous rows.
Tensor with_contiguous_rows(const Tensor& weight) {
  return weight.strides()[1] == 1 || weight.size(1) == 1 ? weight : weight.contiguous();
}

// ---- one row per number
// ----------------------------------------------------------------------------------------
std::vector<TensorType> infer_embedding(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_table(op, operands);
  TensorType result{operands[1].dtype, operands[0].shape, operands[1].device};
  result.shape.push_back(operands[1].shape[1]);
  return {result};
}

Tensors eager_embedding(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  const Tensor numbers = operands[0].to(DType::I64).contiguous(), weight = with_contiguous_rows(operands[1]);
  const int64_t rows = weight.size(0), dim = weight.size(1), stride = weight.strides()[0],
                width = itemsize(weight.dtype());
  Shape shape = numbers.shape();
  shape.push_back(dim);
  const Tensor result = Tensor::empty(shape, weight.dtype());
  parallel_for(0, numbers.numel(), std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, dim)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t row = checked_row(op, numbers.data_as<int64_t>()[i], rows);
                   std::memcpy(result.data_as<std::byte>() + i * dim * width,
                               weight.data_as<std::byte>() + row * stride * width,
                               static_cast<size_t>(dim * width));
                 }
               });
  return {result};
}

// Rows longer than max_norm, of those that are looked up, shortened to it.
Tensors embedding_renorm(const OpDef& op, const OpArgs& args) {
  const Tensor &weight = args.tensors[0], &input = args.tensors[1];
  const std::vector<TensorType> types{type_of(input), type_of(weight)};
  check_table(op, types);
  WEFT_CHECK_TYPE(is_floating(weight.dtype()),
                  fmt::format("{}: expected a floating weight, got {}", op.name, type_of(weight).str()));
  const Scalar limit(float_arg(args.attrs, "max_norm"));
  const SymShape shape = sym_shape(weight);
  const Tensor x = build::cast(weight, compute_dtype(weight.dtype()));
  const Tensor norms =
      call1("vector_norm", {x},
            {{"ord", float_arg(args.attrs, "norm_type")}, {"dim", SymShape{Sym(1)}}, {"keepdim", true}});
  const Tensor numbers = build::reshape(build::cast(input, DType::I64), {product(sym_shape(input))});
  const Tensor none = build::full({shape[0]}, Scalar(false), DType::Bool, weight.device());
  const Tensor marks = build::full(sym_shape(numbers), Scalar(true), DType::Bool, weight.device());
  const Tensor used =
      build::reshape(call1("scatter", {none, numbers, marks}, {{"dim", Sym(0)}}), {shape[0], Sym(1)});
  const Tensor shorten = invoke("logical_and", {used, invoke("gt", {norms, limit})});
  const Tensor factor = invoke("true_divide", {limit, build::add(norms, Scalar(1e-7))});
  return {build::cast(invoke("where", {shorten, build::mul(x, factor), x}), weight.dtype())};
}

// ---- bags
// --------------------------------------------------------------------------------------------------------
enum class BagMode : uint8_t { Sum, Mean, Max };

BagMode bag_mode(const OpDef& op, const Attrs& attrs) {
  const std::string& mode = attrs.get<std::string>("mode");
  if (mode == "sum") return BagMode::Sum;
  if (mode == "mean") return BagMode::Mean;
  WEFT_CHECK(mode == "max",
             fmt::format("{}: mode: expected 'sum', 'mean' or 'max', got '{}'", op.name, mode));
  return BagMode::Max;
}

// (input, weight, offsets, per_sample_weights)
std::vector<TensorType> infer_bags(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  check_table(op, operands);
  const TensorType &input = operands[0], &weight = operands[1], &offsets = operands[2],
                   &factors = operands[3];
  const auto got = [&] { return describe_operands(op, operands); };
  WEFT_CHECK_TYPE(is_floating(weight.dtype), fmt::format("{}: expected a floating weight{}", op.name, got()));
  WEFT_CHECK(input.shape.size() == (offsets.absent ? 2 : 1),
             fmt::format("{}: expected input [bags, size] without offsets, or input [n] with offsets{}",
                         op.name, got()));
  const bool include_last = attrs.get_bool("include_last_offset");
  Sym bags = input.shape[0];
  if (!offsets.absent) {
    WEFT_CHECK_TYPE(offsets.dtype == input.dtype,
                    fmt::format("{}: input and offsets must have one dtype{}", op.name, got()));
    WEFT_CHECK(offsets.shape.size() == 1 && (!include_last || sym_ge(offsets.shape[0], Sym(1))),
               fmt::format("{}: expected offsets of 1 dimension{}{}", op.name,
                           include_last ? ", at least one" : "", got()));
    bags = offsets.shape[0] - Sym(include_last ? 1 : 0);
  }
  if (!factors.absent) {
    WEFT_CHECK(bag_mode(op, attrs) == BagMode::Sum,
               fmt::format("{}: per_sample_weights: expected mode 'sum', got '{}'", op.name,
                           attrs.get<std::string>("mode")));
    WEFT_CHECK_TYPE(factors.dtype == weight.dtype,
                    fmt::format("{}: weight and per_sample_weights must have one dtype{}", op.name, got()));
    WEFT_CHECK(factors.shape.size() == input.shape.size() &&
                   std::equal(factors.shape.begin(), factors.shape.end(), input.shape.begin(), sym_eq),
               fmt::format("{}: per_sample_weights must have the input's shape{}", op.name, got()));
  }
  return {{weight.dtype, {bags, weight.shape[1]}, weight.device}};
}

// Where every bag begins in the flat input, and at last its end.
std::vector<int64_t> bag_bounds(const OpDef& op, const Tensor& input, const Tensor& given,
                                bool include_last) {
  std::vector<int64_t> bounds;
  if (!given.defined()) {
    for (int64_t i = 0; i <= input.size(0); ++i) bounds.push_back(i * input.size(1));
    return bounds;
  }
  const Tensor offsets = given.to(DType::I64).contiguous();
  bounds.assign(offsets.data_as<int64_t>(), offsets.data_as<int64_t>() + offsets.numel());
  WEFT_CHECK(bounds.empty() || bounds.front() == 0,
             fmt::format("{}: offsets[0] has to be 0: got {}", op.name, bounds.front()));
  if (!include_last || bounds.empty()) bounds.push_back(input.numel());
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    WEFT_CHECK(
        bounds[i] >= 0 && bounds[i] <= bounds[i + 1] && bounds[i + 1] <= input.numel(),
        fmt::format("{}: offsets must not decrease, nor exceed the input's length {}: got {} before {}",
                    op.name, input.numel(), bounds[i], bounds[i + 1]));
  }
  return bounds;
}

struct Bags {
  const OpDef& op;
  BagMode mode;
  int64_t padding;  // row that does not count; -1: none
  Tensor numbers, weight, factors;

  // Adds up (or takes the largest of) the rows of one bag.
  template <class T, class Sum>
  void reduce(int64_t begin, int64_t end, std::vector<Sum>& total) const {
    const int64_t dim = weight.size(1);
    std::fill(total.begin(), total.end(), Sum(0));
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = checked_row(op, numbers.data_as<int64_t>()[i], weight.size(0));
      if (row == padding) continue;
      const T* source = weight.data_as<T>() + row * weight.strides()[0];
      const Sum factor = factors.defined() ? static_cast<Sum>(factors.data_as<T>()[i]) : Sum(1);
      Sum* __restrict target = total.data();
      if (mode == BagMode::Max) {
        for (int64_t j = 0; j < dim; ++j) {
          const Sum value = static_cast<Sum>(source[j]);
          target[j] = count == 0 || value > target[j] || value != value ? value : target[j];
        }
      } else {
        for (int64_t j = 0; j < dim; ++j) target[j] += static_cast<Sum>(source[j]) * factor;
      }
      ++count;
    }
    if (mode != BagMode::Mean || count == 0) return;
    for (Sum& value : total) value /= static_cast<Sum>(count);
  }
};

template <class T>
void run_bags(const Bags& bags, const std::vector<int64_t>& bounds, const Tensor& result) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t dim = result.size(1), count = result.size(0);
  const int64_t work = std::max<int64_t>(1, bags.numbers.numel() * dim / std::max<int64_t>(1, count));
  parallel_for(0, count, std::max<int64_t>(1, kElementsPerTask / work), [&](int64_t begin, int64_t end) {
    std::vector<Sum> total(static_cast<size_t>(dim));
    for (int64_t bag = begin; bag < end; ++bag) {
      bags.reduce<T>(bounds[static_cast<size_t>(bag)], bounds[static_cast<size_t>(bag) + 1], total);
      for (int64_t j = 0; j < dim; ++j)
        result.data_as<T>()[bag * dim + j] = static_cast<T>(total[static_cast<size_t>(j)]);
    }
  });
}

Tensors eager_bags(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& input = operands[0];
  const std::vector<int64_t> bounds =
      bag_bounds(op, input, operands[2], attrs.get_bool("include_last_offset"));
  Bags bags{
      op,      bag_mode(op, attrs), -1, input.to(DType::I64).contiguous(), with_contiguous_rows(operands[1]),
      Tensor()};
  if (operands[3].defined()) bags.factors = operands[3].contiguous();
  if (!attrs.is_none("padding_idx")) {
    const int64_t given = int_arg(attrs, "padding_idx"), rows = bags.weight.size(0);
    WEFT_CHECK(given >= -rows && given < rows,
               fmt::format("{}: padding_idx must be within num_embeddings: expected one in [{}, {}), got {}",
                           op.name, -rows, rows, given));
    bags.padding = given < 0 ? given + rows : given;
  }
  const Tensor result =
      Tensor::empty({static_cast<int64_t>(bounds.size()) - 1, bags.weight.size(1)}, bags.weight.dtype());
  visit_dtype(result.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      run_bags<T>(bags, bounds, result);
  });
  return {result};
}

[[maybe_unused]] const OpDef* const kEmbeddingOps[] = {
    &register_op({.name = "embedding",
                  .schema = "(Tensor input, Tensor weight) -> Tensor",
                  .doc = "Rows of weight [n, dim] by number: [*input.shape, dim]. raises: IndexError for a "
                         "number outside [0, n).",
                  .numpy = "weight[input]",
                  .infer = infer_embedding,
                  .eager = eager_embedding}),
    &define_composite("embedding_renorm",
                      "(Tensor weight, Tensor input, float max_norm, float norm_type=2.0) -> Tensor",
                      "weight [n, dim], of which the rows numbered in input are shortened to max_norm where "
                      "their norm_type-norm is larger.",
                      "", on_host(embedding_renorm)),
    &register_op(
        {.name = "embedding_bag",
         .schema = "(Tensor input, Tensor weight, Tensor? offsets=None, str mode='mean', Tensor? "
                   "per_sample_weights=None, "
                   "bool include_last_offset=False, int? padding_idx=None) -> Tensor",
         .doc =
             "The sum, mean or largest of rows of weight [n, dim] over bags of row numbers: the rows of "
             "input [bags, size], or\n"
             "of input [m] the parts that begin at offsets [bags] (include_last_offset: and the last one "
             "ends there). Sums are of\n"
             "rows times per_sample_weights. Rows numbered padding_idx do not count; an empty bag gives 0.\n"
             "dtype:  floating. raises: IndexError for a number outside [0, n), ValueError for decreasing "
             "offsets.",
         .infer = infer_bags,
         .eager = eager_bags}),
};

}  // namespace
}  // namespace weft::ops
