// Counting: how often numbers occur, and how many fall between neighbours of a sorted sequence.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/memory_limit.h"
#include "ops/arguments.h"
#include "ops/composite.h"
#include "ops/concrete.h"
#include "ops/places.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

// One more than the largest of x, none of which is negative; 0 without any.
int64_t checked_bins(const Tensor& x) {
  constexpr int64_t kPart = 1 << 15;
  const int64_t* values = x.data_as<int64_t>();
  const int64_t n = x.numel(), parts = (n + kPart - 1) / kPart;
  std::vector<uint64_t> highest(static_cast<size_t>(parts));
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      uint64_t high = 0;
      // Negative numbers are the largest unsigned ones.
      for (int64_t i = part * kPart, stop = std::min(n, i + kPart); i < stop; ++i)
        high = std::max(high, static_cast<uint64_t>(values[i]));
      highest[static_cast<size_t>(part)] = high;
    }
  });
  if (n == 0) return 0;
  const int64_t high = static_cast<int64_t>(*std::max_element(highest.begin(), highest.end()));
  if (high < 0) {
    const int64_t* const negative = std::find_if(values, values + n, [](int64_t value) { return value < 0; });
    throw_error(ErrorKind::Value,
                fmt::format("bincount: expected non-negative integers, got {} at position {}", *negative,
                            negative - values));
  }
  return high + 1;
}

// Adds weight(i) to the bin x[i]. Parts of x, whose number depends on the sizes only, have bins of their own.
template <class T, class Weight>
void count_into(const Tensor& x, T* bins, int64_t size, const Weight& weight) {
  constexpr int64_t kMostParts = 16, kShortest = 1 << 15;
  const int64_t* values = x.data_as<int64_t>();
  const int64_t n = x.numel(), parts = std::clamp<int64_t>(n / std::max(8 * size, kShortest), 1, kMostParts);
  std::vector<T> others(static_cast<size_t>((parts - 1) * size), T(0));
  parallel_for(0, parts, 1, [=, others = others.data()](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      T* const own = part == 0 ? bins : others + (part - 1) * size;
      const int64_t stop = n * (part + 1) / parts;
      for (int64_t i = n * part / parts; i < stop; ++i) own[values[i]] += weight(i);
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t j = 0; j < size; ++j) bins[j] += others[static_cast<size_t>((part - 1) * size + j)];
}

std::vector<Tensor> bincount(const OpDef& op, const OpArgs& args) {
  require_concrete(op, args.tensors[0]);
  const Tensor& given = args.tensors[0];
  WEFT_CHECK(given.dim() == 1, fmt::format("bincount: expected one dimension, got {}", describe(given)));
  WEFT_CHECK_TYPE(is_integral(given.dtype()) || given.dtype() == DType::Bool,
                  fmt::format("bincount: expected integers, got {}", describe(given)));
  const Tensor x = given.to(DType::I64).contiguous();
  const Tensor weights = args.tensors[1].defined() ? args.tensors[1].to(DType::F64).contiguous() : Tensor();
  WEFT_CHECK(!weights.defined() || weights.shape() == x.shape(),
             fmt::format("bincount: weights must have the shape of x: expected {}, got {}",
                         weft::str(x.shape()), weights.defined() ? weft::str(weights.shape()) : ""));
  int64_t size = int_arg(args.attrs, "minlength");
  WEFT_CHECK(size >= 0, fmt::format("bincount: minlength must not be negative, got {}", size));
  size = std::max(size, checked_bins(x));
  Tensor result = Tensor::full({size}, Scalar(0), weights.defined() ? DType::F64 : DType::I64);
  if (weights.defined())
    count_into(x, result.data_as<double>(), size,
               [w = weights.data_as<double>()](int64_t i) { return w[i]; });
  else
    count_into(x, result.data_as<int64_t>(), size, [](int64_t) { return int64_t{1}; });
  return {result};
}

// Equal bins from low to high, the last closed on the right; elements outside and NaN are not counted. Each
// operation is rounded to numbers of Rounded.
template <class Rounded, class T>
void count_in_bins(const T* values, int64_t count, T least, T most, std::vector<double>& bins) {
  const auto rounded = [](T value) { return static_cast<T>(static_cast<Rounded>(value)); };
  const auto last = static_cast<int64_t>(bins.size()) - 1;
  const T low = rounded(least), high = rounded(most), size = rounded(static_cast<T>(bins.size())),
          width = rounded(high - low);
  for (int64_t i = 0; i < count; ++i) {
    if (!(values[i] >= low && values[i] <= high)) continue;
    const T place = rounded(rounded(rounded(values[i] - low) * size) / width);
    ++bins[static_cast<size_t>(std::min(static_cast<int64_t>(place), last))];
  }
}

// The least and the greatest of some values.
template <class T>
std::pair<double, double> ends_of(const T* values, int64_t count) {
  return {*std::min_element(values, values + count), *std::max_element(values, values + count)};
}

std::vector<Tensor> histc(const OpDef& op, const OpArgs& args) {
  require_concrete(op, args.tensors[0]);
  const Tensor& given = args.tensors[0];
  WEFT_CHECK_TYPE(is_floating(given.dtype()),
                  fmt::format("histc: expected a floating tensor, got {}", describe(given)));
  const bool is_single = given.dtype() == DType::F32;
  const Tensor x = (is_single ? given : given.to(DType::F64)).contiguous();
  const int64_t bins = int_arg(args.attrs, "bins");
  WEFT_CHECK(bins > 0, fmt::format("histc: bins must be positive, got {}", bins));
  double low = float_arg(args.attrs, "min"), high = float_arg(args.attrs, "max");
  if (low == high && x.numel() > 0)
    std::tie(low, high) =
        is_single ? ends_of(x.data_as<float>(), x.numel()) : ends_of(x.data_as<double>(), x.numel());
  if (low == high) low -= 1, high += 1;
  WEFT_CHECK(low < high && high - low <= std::numeric_limits<double>::max(),
             fmt::format("histc: expected a finite range with min < max, got [{}, {}]", low, high));
  check_fits_memory(op.name, {bins}, DType::F64);
  std::vector<double> counts(static_cast<size_t>(bins), 0.0);
  // Other dtypes than float64 are counted in themselves, with their rounding, where the range does not
  // vanish.
  const auto count = [&]<class Rounded, class T>(Rounded, T) {
    const Tensor numbers = x.to(std::is_same_v<T, float> ? DType::F32 : DType::F64);
    count_in_bins<Rounded>(numbers.data_as<T>(), x.numel(), static_cast<T>(low), static_cast<T>(high),
                           counts);
  };
  const bool is_visible = Tensor::scalar(Scalar(low), given.dtype()).item().to_double() <
                          Tensor::scalar(Scalar(high), given.dtype()).item().to_double();
  if (!is_visible || given.dtype() == DType::F64)
    count(double{}, double{});
  else if (given.dtype() == DType::F16)
    count(Half(), float{});
  else if (given.dtype() == DType::BF16)
    count(BFloat16(), float{});
  else
    count(float{}, float{});
  return {Tensor::of(counts).to(given.dtype())};
}

std::vector<TensorType> infer_count_between(const OpDef& op, std::span<const TensorType> operands,
                                            const Attrs&) {
  const TensorType &x = operands[0], &edges = operands[1];
  WEFT_CHECK_TYPE(
      x.dtype == edges.dtype && !is_complex(x.dtype),
      fmt::format("{}: operands must have one real dtype{}", op.name, describe_operands(op, operands)));
  WEFT_CHECK(
      x.shape.size() == 1 && edges.shape.size() == 1,
      fmt::format("{}: expected operands with one dimension{}", op.name, describe_operands(op, operands)));
  const bool is_weighted = operands.size() == 3;
  WEFT_CHECK(!is_weighted || (operands[2].dtype == DType::F64 && operands[2].shape.size() == 1 &&
                              sym_eq(operands[2].shape[0], x.shape[0])),
             fmt::format("{}: expected as many float64 weights as elements{}", op.name,
                         describe_operands(op, operands)));
  return {TensorType{is_weighted ? DType::F64 : DType::I64, {edges.shape[0] - Sym(1)}, x.device}};
}

// One pass over x. bins[place] of each element between the edges; those below are at place 0, those above,
// and NaN, at the last one.
template <class T, class Number, class Weight>
void add_between(const T* x, int64_t begin, int64_t end, T last_edge, Number* bins, const auto& place_of,
                 const Weight& weight) {
  for (int64_t i = begin; i < end; ++i)
    bins[place_of(x[i]) - static_cast<int64_t>(x[i] == last_edge)] += weight(i);
}

// The same of numbers alone, where cells have one edge at most: cells are found for a block at a time, as
// vectors. Each cell has two slots, for what lies before its edge and behind it; neighbours are counted
// apart, since a count that was just written is slow to read. Without slots, where cells are many, bins are
// counted.
template <bool HasSlots, class T>
void count_in_cells(const T* x, int64_t begin, int64_t end, T last_edge, const Cells<T>& cells,
                    const T* thresholds, int64_t* bins, int64_t places) {
  constexpr int64_t kBlock = 512, kMost = int64_t{1} << 31;
  const size_t slots = static_cast<size_t>(HasSlots ? 2 * cells.number() : places);
  const int32_t* const starts = cells.starts();
  std::vector<uint32_t> counts(2 * slots);
  uint32_t *const even = counts.data(), *const odd = even + slots;
  int64_t at_last_edge = 0;
  for (int64_t first = begin; first < end; first += kMost) {
    std::array<uint32_t, kBlock> cell;
    for (int64_t i = first, stop = std::min(end, first + kMost); i < stop; i += kBlock) {
      const int64_t count = std::min(kBlock, stop - i);
      const T* const block = x + i;
      if (count == kBlock)
        cells.find(block, kBlock, cell.data());
      else
        cells.find(block, count, cell.data());
      int equal = 0;
      for (int64_t k = 0; k < count; ++k) equal += static_cast<int>(block[k] == last_edge);
      at_last_edge += equal;
      const auto slot = [&](int64_t k) {
        const size_t own = cell[static_cast<size_t>(k)];
        const size_t first_slot = HasSlots ? 2 * own : static_cast<size_t>(starts[own]);
        return first_slot + static_cast<size_t>(!(block[k] < thresholds[own]));
      };
      int64_t k = 0;
      for (; k + 2 <= count; k += 2) {
        ++even[slot(k)];
        ++odd[slot(k + 1)];
      }
      if (k < count) ++even[slot(k)];
    }
    for (size_t own = 0; own < slots; ++own)
      bins[HasSlots ? static_cast<size_t>(starts[own / 2]) + own % 2 : own] += int64_t{even[own]} + odd[own];
    std::fill(counts.begin(), counts.end(), 0U);
  }
  bins[places - 1] -= at_last_edge;
  bins[places - 2] += at_last_edge;
}

// Counts may be added up in any order; sums of weights are made in NumPy's, block by block.
template <class T, class Number, class Weight>
void count_between(const Tensor& x, const Tensor& edges, Number* result, const Weight& weight) {
  constexpr int64_t kBlock = 1 << 16, kMostParts = 16, kShortest = 1 << 14;
  const T *const values = x.data_as<T>(), *const sorted = edges.data_as<T>();
  const int64_t n = x.numel(), length = edges.numel(), places = length + 1;
  const bool in_blocks = std::is_floating_point_v<Number>;
  const int64_t parts = in_blocks ? (n + kBlock - 1) / kBlock
                                  : std::clamp<int64_t>(n / std::max(8 * places, kShortest), 1, kMostParts);
  const auto start_of = [=](int64_t part) {
    return in_blocks ? std::min(n, part * kBlock) : n * part / parts;
  };
  const int64_t at_once = std::min(parts, kMostParts);
  std::vector<Number> bins(static_cast<size_t>(at_once * places));
  const Places<T> by_halves(sorted, length, true);
  const auto count_parts = [&](const auto& count_part) {
    for (int64_t first = 0; first < parts; first += at_once) {
      const int64_t stop = std::min(parts, first + at_once);
      std::fill(bins.begin(), bins.end(), Number(0));
      parallel_for(first, stop, 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part)
          count_part(start_of(part), start_of(part + 1), bins.data() + (part - first) * places);
      });
      for (int64_t part = 0; part < stop - first; ++part)
        for (int64_t bin = 0; bin < length - 1; ++bin)
          result[bin] += bins[static_cast<size_t>(part * places + bin + 1)];
    }
  };
  const auto count = [&](const auto& place_of) {
    count_parts([&](int64_t begin, int64_t end, Number* own) {
      add_between(values, begin, end, sorted[length - 1], own, place_of, weight);
    });
  };
  if constexpr (std::is_arithmetic_v<T>) {
    if (n >= 2 * Cells<T>::kPerElement * length) {
      const Cells<T> cells(sorted, length);
      if constexpr (std::is_same_v<Number, int64_t> && !std::is_same_v<T, bool>) {
        if (cells.are_of_use() && cells.are_sparse()) {
          const std::vector<T> thresholds = cells.thresholds(by_halves);
          return count_parts([&](int64_t begin, int64_t end, int64_t* own) {
            constexpr int64_t kMostWithSlots = 1 << 13;
            const auto count_part =
                cells.number() <= kMostWithSlots ? &count_in_cells<true, T> : &count_in_cells<false, T>;
            count_part(values, begin, end, sorted[length - 1], cells, thresholds.data(), own, places);
          });
        }
      }
      if (cells.are_of_use()) return cells.with_place(by_halves, count);
    }
  }
  count([&](const T& wanted) { return by_halves.of(wanted); });
}

std::vector<Tensor> eager_count_between(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor x = operands[0].contiguous(), edges = operands[1].contiguous();
  const bool is_weighted = operands.size() == 3;
  const int64_t bins = std::max<int64_t>(0, edges.numel() - 1);
  const Tensor result = Tensor::full({bins}, Scalar(0), is_weighted ? DType::F64 : DType::I64);
  if (bins == 0) return {result};
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!kIsComplexType<T>) {
      if (!is_weighted)
        return count_between<T>(x, edges, result.data_as<int64_t>(), [](int64_t) { return int64_t{1}; });
      const Tensor weights = operands[2].contiguous();
      count_between<T>(x, edges, result.data_as<double>(),
                       [w = weights.data_as<double>()](int64_t i) { return w[i]; });
    }
  });
  return {result};
}

[[maybe_unused]] const OpDef* const kCountingOps[] = {
    &register_op(
        {.name = "count_between",
         .schema = "(Tensor x, Tensor edges) -> Tensor",
         .doc = "int64 numbers of the elements of `x` between neighbours of the ascending `edges`, both with "
                "one dimension:\n"
                "those equal to an edge count behind it, but those equal to the last one before it. NaN and "
                "what lies outside\nis not counted.",
         .infer = infer_count_between,
         .eager = eager_count_between}),
    &register_op({.name = "sum_between",
                  .schema = "(Tensor x, Tensor edges, Tensor weights) -> Tensor",
                  .doc = "As count_between; float64 sums of the elements' weights.",
                  .infer = infer_count_between,
                  .eager = eager_count_between}),
    &define_composite("bincount", "(Tensor x, Tensor? weights=None, int minlength=0) -> Tensor",
                      "How often each value from 0 to max(x) occurs in one-dimensional `x`: int64[max + 1], "
                      "or the float64 sum of\n"
                      "its weights. raises: ValueError for negative values.",
                      "numpy.bincount(x, weights, minlength)", on_host(bincount), {}, {""}),
    &define_composite(
        "histc", "(Tensor x, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
        "Counts of `x` in `bins` equal bins over [min, max] (both 0: the range of x), in the dtype of x.", "",
        on_host(histc), {}, {""}),
};

}  // namespace
}  // namespace weft::ops
