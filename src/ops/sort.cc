// Sorting, and quantiles.
#include "kernels/cpu/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/sort_side_by_side.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/order.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

using kernels::lane_offset;
using kernels::ordered_bits;

int64_t dim_arg(const OpDef& op, const Attrs& attrs, int64_t ndim) {
  return normalize_dim(op.name, int_arg(attrs, "dim"), std::max<int64_t>(ndim, 1));
}

// The operand's type, and int64 of the same shape.
std::vector<TensorType> infer_sort(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  dim_arg(op, attrs, static_cast<int64_t>(operands[0].shape.size()));
  if (op.num_outputs == 1) return {operands[0]};
  return {operands[0], TensorType{DType::I64, operands[0].shape, operands[0].device}};
}

// A number of unsigned order like the element's own, NaN last; elements that are equal have equal keys.
template <class T>
uint64_t key_of(const T& value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return key_of(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
    if (value != value) return static_cast<Bits>(-1);
    const Bits bits = std::bit_cast<Bits>(value == 0 ? T(0) : value);
    return bits & kSign ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
  } else if constexpr (std::is_signed_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<Bits>(static_cast<Bits>(value) ^ Bits{1} << (sizeof(T) * 8 - 1));
  } else {
    return value;
  }
}

// Where comparing is all there is.
template <class T>
void rank_by_comparison(const T* lane, int64_t stride, bool descending, std::vector<int64_t>& positions) {
  std::iota(positions.begin(), positions.end(), int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    const T &x = lane[a * stride], &y = lane[b * stride];
    if (descending ? Order<T>::less(y, x) : Order<T>::less(x, y)) return true;
    if (descending ? Order<T>::less(x, y) : Order<T>::less(y, x)) return false;
    return a < b;  // stable
  };
  std::sort(positions.begin(), positions.end(), before);
}

// The positions of a lane's elements in order.
template <class T>
void rank(const T* lane, int64_t length, int64_t stride, bool descending, std::vector<int64_t>& positions) {
  positions.resize(static_cast<size_t>(length));
  if constexpr (kIsComplexType<T>) {
    rank_by_comparison(lane, stride, descending, positions);
  } else {
    thread_local std::vector<uint64_t> keys;
    keys.resize(static_cast<size_t>(length));
    const uint64_t flip = descending ? ~uint64_t{0} : 0;
    for (int64_t i = 0; i < length; ++i) keys[static_cast<size_t>(i)] = key_of(lane[i * stride]) ^ flip;
    kernels::sort_positions(keys.data(), length, positions.data());
  }
}

// Is it worth to sort so many runs of this length side by side?
template <class Key>
bool are_sorted_side_by_side(const Tensor& x, int64_t dim) {
  constexpr int64_t kShort = 64;  // runs, for which half a block pays
  const int64_t length = kernels::lane_length(x, dim), lanes = kernels::num_lanes(x.shape(), dim);
  return length > 1 && length <= kernels::kLongestSideBySide<Key> &&
         lanes >= kernels::kSideBySide<Key> * (length <= kShort ? 1 : 4) / 2;
}

// Sorts blocks of runs side by side. read(i, at) gives the key of element i of a run, which lies `at`
// elements behind x's first, and write(i, at, key, run) takes what belongs into element i of the result.
template <class Key, class Read, class Write>
void sort_blocks(const Tensor& x, const Tensor& result, int64_t dim, const Read& read, const Write& write) {
  constexpr int64_t kWidth = kernels::kSideBySide<Key>, kElementsPerTask = 16 * 1024;
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim),
                out_stride = kernels::lane_stride(result, dim), lanes = kernels::num_lanes(x.shape(), dim);
  const auto for_each_element = [&](int64_t count, int64_t step, const auto& body) {
    if (step == 1)
      for (int64_t run = 0; run < count; ++run)
        for (int64_t i = 0; i < length; ++i) body(run, i);
    else
      for (int64_t i = 0; i < length; ++i)
        for (int64_t run = 0; run < count; ++run) body(run, i);
  };
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / (kWidth * length));
  parallel_for(0, (lanes + kWidth - 1) / kWidth, grain, [&](int64_t begin, int64_t end) {
    std::vector<Key> rows(static_cast<size_t>(length * kWidth));
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kWidth, count = std::min(kWidth, lanes - first);
      std::array<int64_t, kWidth> from{}, to{};
      for (int64_t run = 0; run < count; ++run) {
        from[static_cast<size_t>(run)] = lane_offset(x, dim, first + run);
        to[static_cast<size_t>(run)] = lane_offset(result, dim, first + run);
      }
      for_each_element(count, stride, [&](int64_t run, int64_t i) {
        rows[static_cast<size_t>(i * kWidth + run)] = read(i, from[static_cast<size_t>(run)] + i * stride);
      });
      kernels::sort_side_by_side(rows.data(), length);
      for_each_element(count, out_stride, [&](int64_t run, int64_t i) {
        write(to[static_cast<size_t>(run)] + i * out_stride, rows[static_cast<size_t>(i * kWidth + run)],
              from[static_cast<size_t>(run)]);
      });
    }
  });
}

// Positions of runs whose keys fit 32 bits: sorted are numbers of the key and the position.
template <class T>
void sort_short_runs(const Tensor& x, int64_t dim, bool descending, const Tensor& values,
                     const Tensor& indices) {
  const T* const from = x.data_as<T>();
  T* const out = values.data_as<T>();
  int64_t* const positions = indices.data_as<int64_t>();
  const uint64_t flip = descending ? uint64_t{UINT32_MAX} : 0;
  const int64_t stride = kernels::lane_stride(x, dim);
  sort_blocks<int64_t>(
      x, values, dim,
      [&](int64_t i, int64_t at) {
        const uint64_t key = (key_of(from[at]) ^ flip) << 32 | static_cast<uint64_t>(i);
        return static_cast<int64_t>(key ^ uint64_t{1} << 63);
      },
      [&](int64_t to, int64_t key, int64_t run) {
        const int64_t position = key & int64_t{UINT32_MAX};
        out[to] = from[run + position * stride];
        positions[to] = position;
      });
}

std::vector<Tensor> eager_sort(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const int64_t dim = dim_arg(op, attrs, x.dim());
  const bool descending = attrs.get_bool("descending");
  Tensor values = Tensor::empty(x.shape(), x.dtype()), indices = Tensor::empty(x.shape(), DType::I64);
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim);
  const int64_t out_stride = kernels::lane_stride(values, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) <= 4 && !kIsComplexType<T>)
      if (are_sorted_side_by_side<int64_t>(x, dim))
        return sort_short_runs<T>(x, dim, descending, values, indices);
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      thread_local std::vector<int64_t> positions;
      const T* lane = x.data_as<T>() + lane_offset(x, dim, number);
      rank(lane, length, stride, descending, positions);
      const int64_t offset = lane_offset(values, dim, number);
      T* const out = values.data_as<T>() + offset;
      int64_t* const out_positions = indices.data_as<int64_t>() + offset;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t position = positions[static_cast<size_t>(i)];
        out[i * out_stride] = lane[position * stride];
        out_positions[i * out_stride] = position;
      }
    });
  });
  return {values, indices};
}

// Ascending, NaN last.
template <class T>
void sort_lane(T* values, int64_t length) {
  // NaNs go last first, so that the sort proper compares with plain `<`.
  T* end = values + length;
  if constexpr (kHasNan<T> && !kIsComplexType<T>)
    end = std::partition(values, end, [](const T& v) { return !is_nan(v); });
  if constexpr (kIsComplexType<T>) {
    std::sort(values, end, Order<T>::less);
  } else if constexpr (std::is_same_v<T, bool>) {
    const int64_t ones = std::count(values, end, true);
    std::fill(std::fill_n(values, length - ones, false), end, true);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    thread_local std::vector<int16_t> numbers;
    numbers.clear();
    for (const T* v = values; v < end; ++v) numbers.push_back(ordered_bits(std::bit_cast<int16_t>(*v)));
    kernels::sort_numbers(numbers.data(), end - values);
    for (const int16_t number : numbers) *values++ = std::bit_cast<T>(ordered_bits(number));
  } else {
    kernels::sort_numbers(values, end - values);
  }
}

// Signed numbers of the elements' order, NaN last, and back.
template <class T>
using SortKey = std::conditional_t<
    sizeof(T) == 1, int8_t,
    std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
template <class T>
constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
SortKey<T> sort_key(T value) {
  using Key = SortKey<T>;
  if constexpr (kIsFloat<T>)
    return is_nan(value) ? std::numeric_limits<Key>::max() : ordered_bits(std::bit_cast<Key>(value));
  else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
    return static_cast<Key>(static_cast<Key>(value) ^ std::numeric_limits<Key>::min());
  else
    return static_cast<Key>(value);
}
template <class T>
T from_sort_key(SortKey<T> key) {
  using Key = SortKey<T>;
  if constexpr (kIsFloat<T>)
    return key == std::numeric_limits<Key>::max() ? static_cast<T>(std::numeric_limits<float>::quiet_NaN())
                                                  : std::bit_cast<T>(ordered_bits(key));
  else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
    return static_cast<T>(key ^ std::numeric_limits<Key>::min());
  else
    return static_cast<T>(key);
}

std::vector<Tensor> eager_sort_values(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const int64_t dim = dim_arg(op, attrs, x.dim());
  Tensor values = Tensor::empty(x.shape(), x.dtype());
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim);
  const int64_t out_stride = kernels::lane_stride(values, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!kIsComplexType<T>) {
      using Key = SortKey<T>;
      if (are_sorted_side_by_side<Key>(x, dim)) {
        const T* const from = x.data_as<T>();
        T* const out = values.data_as<T>();
        return sort_blocks<Key>(
            x, values, dim, [&](int64_t, int64_t at) { return sort_key(from[at]); },
            [&](int64_t to, Key key, int64_t) { out[to] = from_sort_key<T>(key); });
      }
    }
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      thread_local std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> scratch;
      T* const out = values.data_as<T>() + lane_offset(values, dim, number);
      const T* const lane = x.data_as<T>() + lane_offset(x, dim, number);
      T* sorted = out;
      if (out_stride != 1) {
        scratch.resize(static_cast<size_t>(length));
        sorted = reinterpret_cast<T*>(scratch.data());
      }
      for (int64_t i = 0; i < length; ++i) sorted[i] = lane[i * stride];
      sort_lane(sorted, length);
      for (int64_t i = 0; sorted != out && i < length; ++i) out[i * out_stride] = sorted[i];
    });
  });
  return {values};
}

// Linear interpolation between order statistics. source: Hyndman and Fan 1996, definition 7 (NumPy's
// default).
std::vector<Tensor> quantile(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0];
  const double q = float_arg(args.attrs, "q");
  WEFT_CHECK(q >= 0 && q <= 1, fmt::format("{}: q must be in [0, 1], got {}", op.name, q));
  const int64_t ndim = x.dim(), given = args.attrs.is_none("dim") ? 0 : dim_arg(op, args.attrs, ndim);
  const bool all = args.attrs.is_none("dim") || ndim == 0;
  if (all) x = build::reshape(x, {product(sym_shape(x))});
  const int64_t dim = all ? 0 : given;
  const int64_t size = sym_specialize(sym_shape(x)[static_cast<size_t>(dim)]);
  WEFT_CHECK(size > 0, fmt::format("{}: expected at least one element, got none", op.name));
  if (!is_inexact(x.dtype())) x = build::cast(x, DType::F64);
  const Tensor sorted = call1("sort_values", {x}, {{"dim", Sym(dim)}});
  const double position = q * static_cast<double>(size - 1);
  const int64_t low = static_cast<int64_t>(position), high = std::min(low + 1, size - 1);
  const auto at = [&](int64_t i) { return build::slice(sorted, dim, Sym(i), Sym(i + 1)); };
  const double weight = position - static_cast<double>(low);
  // As NumPy's _lerp: from the nearer end, so that the result stays between the two.
  const Tensor difference = build::sub(at(high), at(low));
  Tensor result = weight < 0.5 ? build::add(at(low), build::mul(difference, Scalar(weight)))
                               : build::sub(at(high), build::mul(difference, Scalar(1.0 - weight)));
  // NaNs sort last: one of them makes the quantile NaN.
  const Tensor last = at(size - 1);
  result = call1("where", {invoke("ne", {last, last}), last, result});
  if (!args.attrs.get_bool("keepdim")) return {build::squeeze(result, dim)};
  if (all) return {build::reshape(result, SymShape(static_cast<size_t>(ndim), Sym(1)))};
  return {result};
}

const char* const kSortDoc =
    "Elements in ascending order along `dim`, and where each came from: (values, int64 indices), shapes "
    "[*S].\n"
    "NaN comes last (first when descending). Stable: equal elements keep their order.\n"
    "dtype:  any. error: exact. raises: IndexError for a dimension that does not exist.";

[[maybe_unused]] const OpDef* const kSortOps[] = {
    &register_op(
        {.name = "sort",
         .schema = "(Tensor x, int dim=-1, bool descending=False, *, bool stable=True) -> (Tensor, Tensor)",
         .doc = kSortDoc,
         .numpy = "(numpy.sort(x, axis=dim), numpy.argsort(x, axis=dim, kind='stable'))",
         .methods = {""},
         .infer = infer_sort,
         .eager = eager_sort}),
    &register_op({.name = "sort_values",
                  .schema = "(Tensor x, int dim=-1) -> Tensor",
                  .doc = "Elements in ascending order along `dim`, NaN last: sort without the indices.\n"
                         "dtype:  any. error: exact.",
                  .numpy = "numpy.sort(x, axis=dim)",
                  .infer = infer_sort,
                  .eager = eager_sort_values}),
    &define_composite("argsort",
                      "(Tensor x, int dim=-1, bool descending=False, *, bool stable=True) -> Tensor",
                      "int64 positions that sort `x` along `dim`; stable, NaN last.",
                      "numpy.argsort(x, axis=dim, kind='stable')",
                      [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                        return {call(get_op("sort"), args).at(1)};
                      },
                      {}, {""}),
    &define_composite(
        "quantile", "(Tensor x, float q, int? dim=None, bool keepdim=False) -> Tensor",
        "The q-th quantile along `dim` (None: of all elements), linear between order statistics; NaN where "
        "there\n"
        "is one. dtype: floating; integers and bool in float64. raises: ValueError unless 0 <= q <= 1.\n"
        "source: Hyndman and Fan 1996, definition 7.",
        "numpy.quantile(x, q, axis=dim, keepdims=keepdim)", quantile, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
