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
      return {&reduce_block<kOp, T>, &combine_rows<kOp, T>, &write_identity<kOp, T>};
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

}  // namespace weft::ops
