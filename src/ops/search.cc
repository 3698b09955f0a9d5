// Searching sorted sequences, and counting.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/memory_limit.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"
#include "ops/order.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

std::vector<TensorType> infer_searchsorted(const OpDef& op, std::span<const TensorType> operands,
                                           const Attrs&) {
  const TensorType &sequence = operands[0], &values = operands[1];
  WEFT_CHECK_TYPE(sequence.dtype == values.dtype, fmt::format("{}: operands must have one dtype{}", op.name,
                                                              describe_operands(op, operands)));
  const size_t ndim = sequence.shape.size();
  WEFT_CHECK(ndim >= 1, fmt::format("{}: the sorted sequence must have a dimension{}", op.name,
                                    describe_operands(op, operands)));
  if (ndim > 1) {
    const bool match =
        values.shape.size() == ndim &&
        std::equal(sequence.shape.begin(), sequence.shape.end() - 1, values.shape.begin(), sym_eq);
    WEFT_CHECK(match, fmt::format("{}: all dimensions but the last must match{}", op.name,
                                  describe_operands(op, operands)));
  }
  return {TensorType{DType::I64, values.shape, values.device}};
}

// Where a number of a sorted sequence is, found without a branch that depends on the numbers.
template <class T>
class Places {
 public:
  Places(const T* sorted, int64_t length, bool right) : sorted_(sorted), length_(length), right_(right) {}

  int64_t of(const T& wanted) const { return from(wanted, 0, length_); }

  // Among the places from `first` to `first + count`.
  int64_t from(const T& wanted, int64_t first, int64_t count) const {
    while (count > 0) {
      const int64_t half = count / 2;
      const bool behind = is_behind(wanted, sorted_[first + half]);
      first = behind ? first + half + 1 : first;
      count = behind ? count - half - 1 : half;
    }
    return first;
  }

 private:
  bool is_behind(const T& wanted, const T& element) const {
    return right_ ? !Order<T>::less(wanted, element) : Order<T>::less(element, wanted);
  }

  const T* sorted_;
  const int64_t length_;
  const bool right_;
};

// Equally wide cells over the range of a sorted sequence. That the cell of a number never falls where the number
// rises is all that is needed for the number's place to be among those of its cell, whatever is rounded.
template <class T>
class Cells {
 public:
  static constexpr int64_t kPerElement = 4, kMost = 1 << 16;

  // Not of use for sequences that are no finite range.
  Cells(const T* sorted, int64_t length) {
    if (length < 1 || length > kMost / kPerElement) return;
    low_ = static_cast<double>(sorted[0]);
    const double range = static_cast<double>(sorted[length - 1]) - low_;
    cells_ = length * kPerElement;
    scale_ = static_cast<double>(cells_) / range;
    if (!(range > 0 && range <= std::numeric_limits<double>::max() && scale_ > 0 &&
          scale_ <= std::numeric_limits<double>::max()))
      return;
    starts_.resize(static_cast<size_t>(cells_) + 1);
    size_t cell = 0;
    for (int64_t i = 0; i < length; ++i)
      for (const size_t own = cell_of(sorted[i]); cell <= own; ++cell) starts_[cell] = static_cast<int32_t>(i);
    for (; cell < starts_.size(); ++cell) starts_[cell] = static_cast<int32_t>(length);
  }
  bool are_of_use() const { return !starts_.empty(); }

  // The first place and the number of elements of the cell that `wanted` is in; NaN is in the last one.
  std::pair<int64_t, int64_t> around(const T& wanted) const {
    const size_t cell = cell_of(wanted);
    return {starts_[cell], starts_[cell + 1] - starts_[cell]};
  }

 private:
  size_t cell_of(const T& value) const {
    const double at = (static_cast<double>(value) - low_) * scale_, last = static_cast<double>(cells_ - 1);
    return static_cast<size_t>(static_cast<int64_t>(at < last ? (at > 0 ? at : 0.0) : last));
  }

  double low_ = 0, scale_ = 0;
  int64_t cells_ = 0;
  std::vector<int32_t> starts_;
};

std::vector<Tensor> eager_searchsorted(const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor sequence = operands[0].contiguous(), values = operands[1].contiguous();
  const bool right = attrs.get_bool("right");
  Tensor result = Tensor::empty(values.shape(), DType::I64);
  const int64_t length = sequence.size(-1);
  const int64_t per_row = sequence.dim() > 1 ? values.size(-1) : values.numel();
  visit_dtype(values.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const sorted = sequence.data_as<T>();
    const T* const wanted = values.data_as<T>();
    int64_t* const out = result.data_as<int64_t>();
    if constexpr (std::is_arithmetic_v<T>) {
      if (sequence.dim() == 1 && values.numel() >= 2 * Cells<T>::kPerElement * length) {
        const Cells<T> cells(sorted, length);
        if (cells.are_of_use()) {
          const Places<T> places(sorted, length, right);
          return parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const auto [first, count] = cells.around(wanted[i]);
              out[i] = places.from(wanted[i], first, count);
            }
          });
        }
      }
    }
    parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const first = sorted + (sequence.dim() > 1 ? i / per_row * length : 0);
        out[i] = Places<T>(first, length, right).of(wanted[i]);
      }
    });
  });
  return {result};
}

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool right) {
  const std::vector<Tensor> same = build::promote({sequence, values}, Promotion::NumPy);
  return call1("searchsorted_strict", {same[0], same[1]}, {{"right", right}});
}

// Operators whose result's shape depends on the data cannot be part of a graph.
void require_concrete(const OpDef& op, const Tensor& x) {
  if (x.is_traced()) {
    throw_error(
        ErrorKind::NotImplemented,
        fmt::format("{}: the result's shape depends on the data, which a graph does not know", op.name));
  }
}

// Sorted distinct elements; positions into them; how often each occurs. NaNs are one element, as in NumPy.
std::vector<Tensor> unique(const OpDef& op, const OpArgs& args) {
  require_concrete(op, args.tensors[0]);
  const Tensor x = args.tensors[0].contiguous();
  const int64_t n = x.numel();
  const Tensor flat = build::reshape(x, {Sym(n)});
  const std::vector<Tensor> sorted = call(get_op("sort"), {{flat}, {{"dim", Sym(0)}}});
  Tensor inverse = Tensor::empty(x.shape(), DType::I64);
  std::vector<int64_t> starts;
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* values = sorted[0].data_as<T>();
    const int64_t* order = sorted[1].data_as<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      if (i == 0 || Order<T>::less(values[i - 1], values[i])) starts.push_back(i);
      inverse.data_as<int64_t>()[order[i]] = static_cast<int64_t>(starts.size()) - 1;
    }
  });
  const int64_t distinct = static_cast<int64_t>(starts.size());
  Tensor values = Tensor::empty({distinct}, x.dtype());
  Tensor counts = Tensor::empty({distinct}, DType::I64), first = Tensor::empty({distinct}, DType::I64);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < distinct; ++i) {
      const size_t at = static_cast<size_t>(i);
      const int64_t end = i + 1 < distinct ? starts[at + 1] : n;
      values.data_as<T>()[i] = sorted[0].data_as<T>()[starts[at]];
      counts.data_as<int64_t>()[i] = end - starts[at];
      first.data_as<int64_t>()[i] = sorted[1].data_as<int64_t>()[starts[at]];
    }
  });
  std::vector<Tensor> results{values};
  if (args.attrs.get_bool("return_index")) results.push_back(first);
  if (args.attrs.get_bool("return_inverse")) results.push_back(inverse);
  if (args.attrs.get_bool("return_counts")) results.push_back(counts);
  return results;
}

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

// Equal bins from min to max, the last closed on the right; elements outside and NaN are not counted.
std::vector<Tensor> histc(const OpDef& op, const OpArgs& args) {
  require_concrete(op, args.tensors[0]);
  const Tensor& given = args.tensors[0];
  WEFT_CHECK_TYPE(is_floating(given.dtype()),
                  fmt::format("histc: expected a floating tensor, got {}", describe(given)));
  const Tensor x = given.to(DType::F64).contiguous();
  const int64_t bins = int_arg(args.attrs, "bins");
  WEFT_CHECK(bins > 0, fmt::format("histc: bins must be positive, got {}", bins));
  double low = float_arg(args.attrs, "min"), high = float_arg(args.attrs, "max");
  const double* values = x.data_as<double>();
  if (low == high && x.numel() > 0) {
    low = *std::min_element(values, values + x.numel());
    high = *std::max_element(values, values + x.numel());
  }
  if (low == high) low -= 1, high += 1;
  WEFT_CHECK(low < high && high - low <= std::numeric_limits<double>::max(),
             fmt::format("histc: expected a finite range with min < max, got [{}, {}]", low, high));
  check_fits_memory(op.name, {bins}, DType::F64);
  std::vector<double> counts(static_cast<size_t>(bins), 0.0);
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (!(values[i] >= low && values[i] <= high)) continue;
    const int64_t bin = static_cast<int64_t>((values[i] - low) / (high - low) * static_cast<double>(bins));
    ++counts[static_cast<size_t>(std::min(bin, bins - 1))];
  }
  return {Tensor::of(counts).to(given.dtype())};
}

[[maybe_unused]] const OpDef* const kOps[] = {
    &register_op({.name = "searchsorted_strict",
                  .schema = "(Tensor sorted_sequence, Tensor values, bool right=False) -> Tensor",
                  .doc = "searchsorted for operands of one dtype: what graphs contain.",
                  .infer = infer_searchsorted,
                  .eager = eager_searchsorted}),
    &define_composite("searchsorted",
                      "(Tensor sorted_sequence, Tensor values, *, bool right=False) -> Tensor",
                      "int64 positions at which `values` would keep the last dimension of `sorted_sequence` "
                      "sorted: before equal\n"
                      "elements, or after them with right=True. A one-dimensional sequence serves values of "
                      "any shape; else all\n"
                      "dimensions but the last must match.",
                      "numpy.searchsorted(sorted_sequence, values, side='right' if right else 'left')",
                      [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                        return {searchsorted(args.tensors[0], args.tensors[1], args.attrs.get_bool("right"))};
                      }),
    &define_composite(
        "bucketize", "(Tensor x, Tensor boundaries, *, bool right=False) -> Tensor",
        "int64 number of the bucket between `boundaries` (one-dimensional, ascending) each element falls in.",
        "numpy.searchsorted(boundaries, x, side='right' if right else 'left')",
        [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
          return {searchsorted(args.tensors[1], args.tensors[0], args.attrs.get_bool("right"))};
        }),
    &define_composite(
        "unique",
        "(Tensor x, bool sorted=True, bool return_inverse=False, bool return_counts=False, *, "
        "bool return_index=False) -> Tensor[]|Tensor",
        "Sorted distinct elements of `x`; optionally the first position of each, int64 "
        "positions that rebuild x\n"
        "(shape of x), and int64 counts, in this order; the elements alone where nothing else is asked "
        "for. They are sorted\n"
        "whatever `sorted` says. NaNs are one element.",
        "numpy.unique(x)", on_host(unique), {}, {""}),
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
