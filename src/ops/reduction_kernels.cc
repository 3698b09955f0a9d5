#include "ops/reduction_kernels.h"

#include "scalar/math.h"

namespace weft::ops {
namespace {

using scalar::Number;

template <ReduceOp kOp, class T>
Number<T> combine(Number<T> a, Number<T> b) {
  if constexpr (kOp == ReduceOp::Sum)
    return a + b;
  else if constexpr (kOp == ReduceOp::Prod)
    return a * b;
  else if constexpr (kOp == ReduceOp::Min)
    return scalar::minimum(a, b);
  else if constexpr (kOp == ReduceOp::Max)
    return scalar::maximum(a, b);
  else if constexpr (kOp == ReduceOp::Any)
    return a | b;
  else
    return a & b;
}

template <ReduceOp kOp, class T>
void combine_rows(void* accumulators, const void* elements, int64_t count) {
  T* __restrict target = static_cast<T*>(accumulators);
  const T* source = static_cast<const T*>(elements);
  for (int64_t i = 0; i < count; ++i)
    target[i] = combine<kOp, T>(Number<T>(target[i]), Number<T>(source[i])).value;
}

template <ReduceOp kOp, class T>
void combine_pairs(void* partials, int64_t count) {
  T* const values = static_cast<T*>(partials);
  for (; count > 1; count = (count + 1) / 2) {
    for (int64_t i = 0; i < count / 2; ++i)
      values[i] = combine<kOp, T>(Number<T>(values[2 * i]), Number<T>(values[2 * i + 1])).value;
    if (count % 2 != 0) values[count / 2] = values[count - 1];
  }
}

// Sixteen accumulators, then a tree over them.
template <ReduceOp kOp, class T>
void reduce_block(void* partial, const void* elements, int64_t count) {
  constexpr int64_t kLanes = 16;
  const T* source = static_cast<const T*>(elements);
  T lanes[kLanes];
  int64_t width = std::min(count, kLanes), i = width;
  for (int64_t lane = 0; lane < width; ++lane) lanes[lane] = source[lane];
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = combine<kOp, T>(Number<T>(lanes[lane]), Number<T>(source[i + lane])).value;
  }
  for (int64_t lane = 0; i < count; ++i, ++lane)
    lanes[lane] = combine<kOp, T>(Number<T>(lanes[lane]), Number<T>(source[i])).value;
  for (; width > 1; width = (width + 1) / 2) {
    for (int64_t lane = 0; lane < width / 2; ++lane)
      lanes[lane] = combine<kOp, T>(Number<T>(lanes[lane]), Number<T>(lanes[(width + 1) / 2 + lane])).value;
  }
  *static_cast<T*>(partial) = lanes[0];
}

template <ReduceOp kOp, class T>
void write_identity(void* partial) {
  *static_cast<T*>(partial) = scalar::convert<T>(kOp == ReduceOp::Prod || kOp == ReduceOp::All ? 1.0 : 0.0);
}

template <ReduceOp kOp>
ReductionKernels kernels_for(DType dtype) {
  return visit_dtype(dtype, []<class T>(std::type_identity<T>) -> ReductionKernels {
    constexpr bool half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
    constexpr bool logical = kOp == ReduceOp::Any || kOp == ReduceOp::All;
    if constexpr (half || (logical && !scalar::is_bool_v<T>))
      return {};
    else
      return {&reduce_block<kOp, T>, &combine_rows<kOp, T>, &combine_pairs<kOp, T>, &write_identity<kOp, T>};
  });
}

template <bool kMax, class T>
void arg_block(void* best, int64_t* best_index, const void* elements, int64_t first_index, int64_t count) {
  const T* source = static_cast<const T*>(elements);
  T value = first_index == 0 ? source[0] : *static_cast<T*>(best);
  int64_t index = first_index == 0 ? 0 : *best_index;
  for (int64_t i = 0; i < count; ++i) {
    const Number<T> candidate(source[i]), incumbent(value);
    const Number<bool> better = kMax ? candidate > incumbent : candidate < incumbent;
    if ((~isnan(incumbent) & (better | isnan(candidate))).value) {
      value = source[i];
      index = first_index + i;
    }
  }
  *static_cast<T*>(best) = value;
  *best_index = index;
}

template <bool kMax, class T>
void arg_rows(void* best, int32_t* __restrict best_row, const void* elements, int32_t row, int64_t count) {
  T* __restrict const held = static_cast<T*>(best);
  const T* __restrict const source = static_cast<const T*>(elements);
  if (row == 0) {
    for (int64_t i = 0; i < count; ++i) held[i] = source[i], best_row[i] = 0;
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const Number<T> candidate(source[i]), incumbent(held[i]);
    const Number<bool> better = kMax ? candidate > incumbent : candidate < incumbent;
    const bool is_next = (~isnan(incumbent) & (better | isnan(candidate))).value;
    held[i] = is_next ? source[i] : held[i];
    best_row[i] = is_next ? row : best_row[i];
  }
}

template <class T>
int64_t find_first_of(const void* elements, const void* value, int64_t count) {
  constexpr int64_t kStep = 64;
  const T* const source = static_cast<const T*>(elements);
  const Number<T> wanted(*static_cast<const T*>(value));
  const bool is_nan = isnan(wanted).value;
  const auto is_found = [=](T element) {
    return is_nan ? isnan(Number<T>(element)).value : (Number<T>(element) == wanted).value;
  };
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {  // steps without it, as vectors
    int found = 0;
    if (is_nan) {
      for (int64_t k = 0; k < kStep; ++k) found |= isnan(Number<T>(source[i + k])).value;
    } else {
      for (int64_t k = 0; k < kStep; ++k) found |= (Number<T>(source[i + k]) == wanted).value;
    }
    if (found) break;
  }
  while (i + 1 < count && !is_found(source[i])) ++i;
  return i;
}

}  // namespace

ReductionKernels reduction_kernels(ReduceOp op, DType accumulate) {
  switch (op) {
    case ReduceOp::Sum: return kernels_for<ReduceOp::Sum>(accumulate);
    case ReduceOp::Prod: return kernels_for<ReduceOp::Prod>(accumulate);
    case ReduceOp::Min: return kernels_for<ReduceOp::Min>(accumulate);
    case ReduceOp::Max: return kernels_for<ReduceOp::Max>(accumulate);
    case ReduceOp::Any: return kernels_for<ReduceOp::Any>(accumulate);
    case ReduceOp::All: return kernels_for<ReduceOp::All>(accumulate);
    case ReduceOp::None:
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax: break;
  }
  return {};
}

ArgBlock arg_kernel(ReduceOp op, DType dtype) {
  return visit_dtype(dtype, [op]<class T>(std::type_identity<T>) -> ArgBlock {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return nullptr;
    else
      return op == ReduceOp::ArgMax ? &arg_block<true, T> : &arg_block<false, T>;
  });
}

ArgRows arg_rows_kernel(ReduceOp op, DType dtype) {
  return visit_dtype(dtype, [op]<class T>(std::type_identity<T>) -> ArgRows {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return nullptr;
    else
      return op == ReduceOp::ArgMax ? &arg_rows<true, T> : &arg_rows<false, T>;
  });
}

FindFirst find_first(DType dtype) {
  return visit_dtype(dtype, []<class T>(std::type_identity<T>) -> FindFirst {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return nullptr;
    else
      return &find_first_of<T>;
  });
}

}  // namespace weft::ops
