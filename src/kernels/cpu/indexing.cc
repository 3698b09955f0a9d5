#include "kernels/cpu/indexing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <span>

#include "core/index_arrays.h"
#include "kernels/cpu/built.h"
#include "kernels/cpu/rows.h"
#include "weft/detail/visit_dtype.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

inline int64_t checked_index(int64_t index, int64_t size, size_t axis) {
  const int64_t result = index < 0 ? index + size : index;
  if (static_cast<uint64_t>(result) >= static_cast<uint64_t>(size))
    throw_index_error(index, size, static_cast<int64_t>(axis));
  return result;
}

template <class T>
void accumulate_into(T& target, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    target = target || value;
  else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    target = static_cast<T>(static_cast<U>(static_cast<U>(target) + static_cast<U>(value)));
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    target = T(static_cast<float>(target) + static_cast<float>(value));
  } else {
    target += value;
  }
}

template <class T>
void multiply_into(T& target, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    target = target && value;
  else if constexpr (std::is_integral_v<T>)
    target = static_cast<T>(static_cast<uint64_t>(target) * static_cast<uint64_t>(value));
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    target = T(static_cast<float>(target) * static_cast<float>(value));
  else
    target *= value;
}

// Minimum, Maximum: the lesser or greater of the two, NaN where one is.
template <Combine kHow, class T>
void combine_into(T& target, const T& value) {
  if constexpr (kHow == Combine::Add) {
    accumulate_into(target, value);
  } else if constexpr (kHow == Combine::Multiply) {
    multiply_into(target, value);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    WEFT_ASSERT(false, "complex numbers have no order");
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    float wide = static_cast<float>(target);
    combine_into<kHow>(wide, static_cast<float>(value));
    target = T(wide);
  } else if constexpr (std::is_integral_v<T>) {
    target = kHow == Combine::Minimum ? std::min(target, value) : std::max(target, value);
  } else {
    const bool keeps = kHow == Combine::Minimum ? target < value : target > value;
    target = keeps || std::isnan(target) ? target : value;
  }
}

Shape common_shape(const std::vector<Tensor>& indices) {
  Shape shape;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    const Shape& other = index.shape();
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t d = 0; d < other.size(); ++d) {
      int64_t& size = shape[shape.size() - other.size() + d];
      if (size == 1) size = other[d];
    }
  }
  return shape;
}

Tensor broadcast(const Tensor& x, const Shape& shape) {
  Strides strides(shape.size(), 0);
  const size_t lead = shape.size() - x.shape().size();
  for (size_t d = lead; d < shape.size(); ++d) {
    if (x.shape()[d - lead] != 1) strides[d] = x.strides()[d - lead];
  }
  return x.as_strided(shape, std::move(strides), x.offset());
}

// Offset in x of every broadcast position, in elements.
std::vector<int64_t> block_offsets(const Tensor& x, const std::vector<Tensor>& indices, const IndexPlan& plan,
                                   const Shape& shape) {
  std::vector<int64_t> offsets(static_cast<size_t>(numel(shape)), 0);
  for (const size_t d : plan.indexed) {
    const Tensor index = broadcast(indices[d], shape).contiguous();
    const int64_t* values = index.data_as<int64_t>();
    for (size_t b = 0; b < offsets.size(); ++b)
      offsets[b] += checked_index(values[b], x.shape()[d], d) * x.strides()[d];
  }
  return offsets;
}

struct Block {
  Shape shape;
  Strides strides;
  int64_t count;
};

// The dimensions of x that are taken whole.
Block kept_block(const Tensor& x, const IndexPlan& plan) {
  Block block;
  for (const size_t d : plan.kept) {
    block.shape.push_back(x.shape()[d]);
    block.strides.push_back(x.strides()[d]);
  }
  block.count = numel(block.shape);
  return block;
}

// From the result's order of dimensions to [broadcast…, kept…].
Tensor place(const Tensor& x, size_t num_broadcast, size_t position) {
  const size_t ndim = x.shape().size();
  std::vector<size_t> order;  // result dimension -> dimension of [broadcast…, kept…]
  for (size_t d = 0; d < position; ++d) order.push_back(num_broadcast + d);
  for (size_t d = 0; d < num_broadcast; ++d) order.push_back(d);
  for (size_t d = num_broadcast + position; d < ndim; ++d) order.push_back(d);
  Shape shape(ndim);
  Strides strides(ndim);
  for (size_t d = 0; d < ndim; ++d) {
    shape[order[d]] = x.shape()[d];
    strides[order[d]] = x.strides()[d];
  }
  return x.as_strided(std::move(shape), std::move(strides), x.offset());
}

}  // namespace

IndexPlan plan_index(const std::vector<bool>& present) {
  IndexPlan plan;
  for (size_t d = 0; d < present.size(); ++d) (present[d] ? plan.indexed : plan.kept).push_back(d);
  if (!plan.indexed.empty() && plan.indexed.back() - plan.indexed.front() + 1 == plan.indexed.size())
    plan.position = plan.indexed.front();
  return plan;
}

namespace {

IndexPlan plan_of(const Tensor& x, const std::vector<Tensor>& indices) {
  std::vector<bool> present(x.shape().size(), false);
  for (size_t d = 0; d < indices.size(); ++d) present[d] = indices[d].defined();
  return plan_index(present);
}

}  // namespace

namespace {

template <Combine kHow, class T>
void accumulate_vector(const Tensor& result, const Tensor& index, const Tensor& values) {
  T* const to = result.data_as<T>();
  const T* const from = values.data_as<T>();
  const int64_t* const positions = index.data_as<int64_t>();
  const int64_t size = result.shape()[0], n = index.numel();
  for (int64_t i = 0; i < n; ++i) combine_into<kHow>(to[checked_index(positions[i], size, 0)], from[i]);
}

template <Combine kHow, class T>
void accumulate_blocks(const Tensor& result, const std::vector<Tensor>& indices, const Tensor& values) {
  const IndexPlan plan = plan_of(result, indices);
  const Shape shape = common_shape(indices);
  const std::vector<int64_t> offsets = block_offsets(result, indices, plan, shape);
  const Block block = kept_block(result, plan);
  const Tensor source = place(values, shape.size(), plan.position).contiguous();
  const Strides dense = contiguous_strides(block.shape);
  // What eager addition runs along longer rows.
  const BuiltKernel* const add =
      kHow == Combine::Add ? find_built({"add_", name(result.dtype()), "_nn"}) : nullptr;
  constexpr int64_t kShort = 64;
  const bool is_row = block.shape.size() == 1 && block.strides[0] == 1 && block.count >= kShort;
  for (size_t b = 0; b < offsets.size(); ++b) {
    T* to = result.data_as<T>() + offsets[b];
    const T* from = source.data_as<T>() + static_cast<int64_t>(b) * block.count;
    if (block.shape.empty()) {
      combine_into<kHow>(*to, *from);
      continue;
    }
    if (is_row && add != nullptr) {
      // The next row may lie anywhere.
      if (b + 1 < offsets.size())
        for (int64_t line = 0; line < 4; ++line)
          __builtin_prefetch(reinterpret_cast<const std::byte*>(result.data_as<T>() + offsets[b + 1]) +
                             line * 64);
      run_built(*add, to, std::array<const void*, 2>{to, from}, std::span(&block.count, 1),
                /*is_parallel=*/false);
      continue;
    }
    for_each_row<2>(block.shape, {block.strides, dense}, 0, num_rows(block.shape), [&](const Row<2>& row) {
      if (row.stride[0] == 1 && row.stride[1] == 1) {
        T* __restrict const into = to + row.offset[0];
        const T* __restrict const values_of_row = from + row.offset[1];
        if (add != nullptr && row.size >= kShort)
          return run_built(*add, into, std::array<const void*, 2>{into, values_of_row},
                           std::span(&row.size, 1), /*is_parallel=*/false);
        for (int64_t i = 0; i < row.size; ++i) combine_into<kHow>(into[i], values_of_row[i]);
        return;
      }
      for (int64_t i = 0; i < row.size; ++i) {
        combine_into<kHow>(to[row.offset[0] + i * row.stride[0]], from[row.offset[1] + i * row.stride[1]]);
      }
    });
  }
}

template <Combine kHow>
void accumulate(const Tensor& result, const std::vector<Tensor>& indices, const Tensor& values) {
  const bool is_vector = result.dim() == 1 && result.is_contiguous() && indices.size() == 1 &&
                         indices[0].defined() && indices[0].dim() == 1 &&
                         indices[0].shape() == values.shape();
  visit_dtype(result.dtype(), [&]<class T>(std::type_identity<T>) {
    if (is_vector) return accumulate_vector<kHow, T>(result, indices[0].contiguous(), values.contiguous());
    accumulate_blocks<kHow, T>(result, indices, values);
  });
}

}  // namespace

Tensor index_accumulate(const Tensor& base, const std::vector<Tensor>& indices, const Tensor& values,
                        Combine how) {
  const Tensor result = base.clone();
  if (how == Combine::Add)
    accumulate<Combine::Add>(result, indices, values);
  else if (how == Combine::Minimum)
    accumulate<Combine::Minimum>(result, indices, values);
  else
    accumulate<Combine::Maximum>(result, indices, values);
  return result;
}

namespace {

// Vector instructions that gather are slower than loads one by one on many processors.
#if defined(__GNUC__) && !defined(__clang__)
#define WEFT_ONE_BY_ONE __attribute__((optimize("no-tree-vectorize")))
#else
#define WEFT_ONE_BY_ONE
#endif
template <class T>
WEFT_ONE_BY_ONE void take(T* to, const T* from, const int64_t* at, int64_t count) {
  constexpr int64_t kStep = 8;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const T a = from[at[i]], b = from[at[i + 1]], c = from[at[i + 2]], d = from[at[i + 3]],
            e = from[at[i + 4]], f = from[at[i + 5]], g = from[at[i + 6]], h = from[at[i + 7]];
    to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
    to[i + 4] = e, to[i + 5] = f, to[i + 6] = g, to[i + 7] = h;
  }
  for (; i < count; ++i) to[i] = from[at[i]];
}
#undef WEFT_ONE_BY_ONE

// No index from the end or out of range.
bool are_within(const int64_t* at, int64_t count, int64_t size) {
  // None is larger than the bits of all together.
  uint64_t bits = 0;
  for (int64_t i = 0; i < count; ++i) bits |= static_cast<uint64_t>(at[i]);
  if (bits < static_cast<uint64_t>(size)) return true;
  bool is_outside = false;
  for (int64_t i = 0; i < count; ++i)
    is_outside |= static_cast<uint64_t>(at[i]) >= static_cast<uint64_t>(size);
  return !is_outside;
}

// The usual row: everything in one piece, and no index from the end or out of range. False for any other.
template <class T>
bool gather_contiguous(const Row<3>& row, T* target, const T* source, const int64_t* positions, int64_t size,
                       int64_t stride) {
  if (row.stride[0] != 1 || row.stride[2] != 1 || row.stride[1] != 0 || stride != 1) return false;
  const int64_t* const at = positions + row.offset[2];
  if (!are_within(at, row.size, size)) return false;
  take(target + row.offset[0], source + row.offset[1], at, row.size);
  return true;
}

}  // namespace

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  const Tensor result = Tensor::empty(index.shape(), x.dtype(), x.device());
  const size_t axis = static_cast<size_t>(dim);
  Strides x_strides = x.strides();
  const int64_t size = x.shape().empty() ? 1 : x.shape()[axis],
                stride = x_strides.empty() ? 0 : x_strides[axis];
  if (!x_strides.empty()) x_strides[axis] = 0;
  const int64_t rows = num_rows(index.shape()), row_size = index.shape().empty() ? 1 : index.shape().back();
  visit_width(itemsize(x.dtype()), [&]<class T>(std::type_identity<T>) {
    const T* source = x.data_as<T>();
    T* target = result.data_as<T>();
    const int64_t* positions = index.data_as<int64_t>();
    parallel_for(0, rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(row_size, 1)),
                 [&](int64_t begin, int64_t end) {
                   for_each_row<3>(index.shape(), {result.strides(), x_strides, index.strides()}, begin, end,
                                   [&](const Row<3>& row) {
                                     if (gather_contiguous(row, target, source, positions, size, stride))
                                       return;
                                     for (int64_t i = 0; i < row.size; ++i) {
                                       const int64_t at = checked_index(
                                           positions[row.offset[2] + i * row.stride[2]], size, axis);
                                       target[row.offset[0] + i * row.stride[0]] =
                                           source[row.offset[1] + i * row.stride[1] + at * stride];
                                     }
                                   });
                 });
  });
  return result;
}

namespace {

template <class Write>
Tensor scattered(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 const Write& write) {
  const Tensor result = x.clone();
  const size_t axis = static_cast<size_t>(dim);
  Strides strides = result.strides();
  const int64_t size = x.shape().empty() ? 1 : x.shape()[axis], stride = strides.empty() ? 0 : strides[axis];
  if (!strides.empty()) strides[axis] = 0;
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* target = result.data_as<T>();
    const T* from = source.data_as<T>();
    const int64_t* positions = index.data_as<int64_t>();
    for_each_row<3>(index.shape(), {strides, source.strides(), index.strides()}, 0, num_rows(index.shape()),
                    [&](const Row<3>& row) {
                      const int64_t* const at_of_row = positions + row.offset[2];
                      if (stride == 1 && row.stride == std::array<int64_t, 3>{0, 1, 1}) {
                        T* const to = target + row.offset[0];
                        const T* const values = from + row.offset[1];
                        for (int64_t i = 0; i < row.size; ++i) {
                          int64_t at = at_of_row[i];
                          if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(size)) [[unlikely]]
                            at = checked_index(at, size, axis);
                          write(to[at], values[i]);
                        }
                        return;
                      }
                      for (int64_t i = 0; i < row.size; ++i) {
                        const int64_t at =
                            checked_index(positions[row.offset[2] + i * row.stride[2]], size, axis);
                        write(target[row.offset[0] + i * row.stride[0] + at * stride],
                              from[row.offset[1] + i * row.stride[1]]);
                      }
                    });
  });
  return result;
}

}  // namespace

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool accumulate) {
  if (accumulate) return scatter_combine(x, dim, index, source, Combine::Add);
  return scattered(x, dim, index, source, []<class T>(T& element, const T& value) { element = value; });
}

Tensor scatter_combine(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Combine how) {
  const auto with = [&]<Combine kHow>(std::integral_constant<Combine, kHow>) {
    return scattered(x, dim, index, source,
                     []<class T>(T& element, const T& value) { combine_into<kHow>(element, value); });
  };
  switch (how) {
    case Combine::Add: return with(std::integral_constant<Combine, Combine::Add>{});
    case Combine::Multiply: return with(std::integral_constant<Combine, Combine::Multiply>{});
    case Combine::Minimum: return with(std::integral_constant<Combine, Combine::Minimum>{});
    case Combine::Maximum: return with(std::integral_constant<Combine, Combine::Maximum>{});
  }
  return {};
}

}  // namespace weft::kernels
