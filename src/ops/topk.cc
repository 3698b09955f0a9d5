// The greatest and the least of a lane's elements, and the k-th. Which of equal elements come is what
// PyTorch's selection leaves in front: the C++ library's, of pairs of element and position; for the k-th a
// partition of its own.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/lanes.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/order.h"

namespace weft::ops {
namespace {

using kernels::lane_offset;

int64_t lane_dim(const OpDef& op, const Attrs& attrs, int64_t ndim) {
  return normalize_dim(op.name, int_arg(attrs, "dim"), std::max<int64_t>(ndim, 1));
}

std::vector<TensorType> infer_choice(const OpDef& op, std::span<const TensorType> operands,
                                     const Attrs& attrs) {
  const TensorType& x = operands[0];
  const int64_t dim = lane_dim(op, attrs, static_cast<int64_t>(x.shape.size()));
  const Sym k = sym_arg(attrs, "k");
  const Sym size = x.shape.empty() ? Sym(1) : x.shape[static_cast<size_t>(dim)];
  WEFT_CHECK(sym_ge(k, Sym(0)) && sym_le(k, size),
             fmt::format("{}: k out of range: expected 0 <= k <= {}, got {}{}", op.name, size.str(), k.str(),
                         describe_operands(op, operands)));
  TensorType values = x;
  if (!values.shape.empty()) values.shape[static_cast<size_t>(dim)] = k;
  return {values, TensorType{DType::I64, values.shape, x.device}};
}

template <class T>
using Places = std::vector<std::pair<T, int64_t>>;

// One in so many, at most, are found by a heap of them.
constexpr int64_t kFew = 64;

template <class T, class Before>
void choose(Places<T>& places, int64_t k, bool sorted, const Before& before) {
  const auto begin = places.begin(), end = places.end();
  std::nth_element(begin, begin + k - 1, end, before);
  if (sorted) std::sort(begin, begin + k - 1, before);
}

// What std::partial_sort leaves in front, of which the steps are these: an element that comes before the
// heap's top takes its place. Stretches without one are passed over as vectors.
template <class T, class Before>
void choose_few(const T* lane, int64_t length, int64_t stride, int64_t k, Places<T>& heap,
                const Before& before) {
  constexpr int64_t kStep = 64;
  heap.resize(static_cast<size_t>(k) + 1);
  const auto begin = heap.begin(), end = begin + k;
  for (int64_t i = 0; i < k; ++i) begin[i] = {lane[i * stride], i};
  const auto pair_before = [&](const auto& a, const auto& b) { return before(a.first, b.first); };
  std::make_heap(begin, end, pair_before);
  const auto take = [&](int64_t i) {
    if (!before(lane[i * stride], begin->first)) return;
    *end = {lane[i * stride], i};
    std::pop_heap(begin, end + 1, pair_before);
  };
  int64_t i = k;
  if (stride == 1) {
    for (; i + kStep <= length; i += kStep) {
      const T top = begin->first;
      int found = 0;
      for (int64_t j = i; j < i + kStep; ++j) found |= static_cast<int>(before(lane[j], top));
      if (found == 0) continue;
      for (int64_t j = i; j < i + kStep; ++j) take(j);
    }
  }
  for (; i < length; ++i) take(i);
  std::sort_heap(begin, end, pair_before);
}

std::vector<Tensor> eager_topk(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const int64_t dim = lane_dim(op, attrs, x.dim()), k = int_arg(attrs, "k");
  const bool largest = attrs.get_bool("largest"), sorted = attrs.get_bool("sorted");
  Shape shape = x.shape();
  if (!shape.empty()) shape[static_cast<size_t>(dim)] = k;
  Tensor values = Tensor::empty(shape, x.dtype()), indices = Tensor::empty(shape, DType::I64);
  if (k == 0) return {values, indices};
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim);
  const int64_t out_stride = kernels::lane_stride(values, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      thread_local Places<T> places;
      const T* lane = x.data_as<T>() + lane_offset(x, dim, number);
      const auto choose_by = [&](const auto& before) {
        if (k * kFew <= length) return choose_few(lane, length, stride, k, places, before);
        places.resize(static_cast<size_t>(length));
        for (int64_t i = 0; i < length; ++i) places[static_cast<size_t>(i)] = {lane[i * stride], i};
        choose(places, k, sorted, [&](const auto& a, const auto& b) { return before(a.first, b.first); });
      };
      if (largest)
        choose_by([](const T& a, const T& b) { return Order<T>::less(b, a); });
      else
        choose_by([](const T& a, const T& b) { return Order<T>::less(a, b); });
      const int64_t offset = lane_offset(values, dim, number);
      T* const out = values.data_as<T>() + offset;
      int64_t* const out_positions = indices.data_as<int64_t>() + offset;
      for (int64_t i = 0; i < k; ++i) {
        out[i * out_stride] = places[static_cast<size_t>(i)].first;
        out_positions[i * out_stride] = places[static_cast<size_t>(i)].second;
      }
    });
  });
  return {values, indices};
}

// Brings the element of rank k to its place. The pivot is the median of the first, the middle and the last
// element; elements equal to it change sides.
template <class T>
void bring_to_rank(Places<T>& places, int64_t k) {
  const auto after = [](const T& a, const T& b) { return Order<T>::less(b, a); };
  const auto value = [&](int64_t i) -> const T& { return places[static_cast<size_t>(i)].first; };
  const auto swap = [&](int64_t a, int64_t b) {
    std::swap(places[static_cast<size_t>(a)], places[static_cast<size_t>(b)]);
  };
  int64_t left = 0, right = static_cast<int64_t>(places.size()) - 1;
  while (left + 1 < right) {
    swap(left + (right - left) / 2, left + 1);
    if (after(value(left + 1), value(right))) swap(left + 1, right);
    if (after(value(left), value(right))) swap(left, right);
    if (after(value(left + 1), value(left))) swap(left + 1, left);
    const T pivot = value(left);
    int64_t up = left + 1, down = right;
    while (true) {
      do ++up;
      while (after(pivot, value(up)));
      do --down;
      while (after(value(down), pivot));
      if (down < up) break;
      swap(up, down);
    }
    swap(left, down);
    if (down <= k) left = up;
    if (down >= k) right = down - 1;
  }
  if (left + 1 == right && after(value(left), value(right))) swap(left, right);
}

std::vector<TensorType> infer_kthvalue(const OpDef& op, std::span<const TensorType> operands,
                                       const Attrs& attrs) {
  const TensorType& x = operands[0];
  const int64_t dim = lane_dim(op, attrs, static_cast<int64_t>(x.shape.size()));
  const Sym k = sym_arg(attrs, "k");
  const Sym size = x.shape.empty() ? Sym(1) : x.shape[static_cast<size_t>(dim)];
  WEFT_CHECK(sym_ge(k, Sym(1)) && sym_le(k, size),
             fmt::format("kthvalue: k out of range: expected 1 <= k <= {}, got {}", size.str(), k.str()));
  TensorType values = x;
  if (!values.shape.empty()) {
    if (attrs.get_bool("keepdim"))
      values.shape[static_cast<size_t>(dim)] = Sym(1);
    else
      values.shape.erase(values.shape.begin() + dim);
  }
  return {values, TensorType{DType::I64, values.shape, x.device}};
}

std::vector<Tensor> eager_kthvalue(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor& x = operands[0];
  const int64_t dim = lane_dim(op, attrs, x.dim()), k = int_arg(attrs, "k") - 1;
  Shape kept = x.shape();
  if (!kept.empty()) kept[static_cast<size_t>(dim)] = 1;
  Tensor values = Tensor::empty(kept, x.dtype()), indices = Tensor::empty(kept, DType::I64);
  const int64_t length = kernels::lane_length(x, dim), stride = kernels::lane_stride(x, dim);
  visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    kernels::for_each_lane(x, dim, [&](int64_t number) {
      thread_local Places<T> places;
      const T* lane = x.data_as<T>() + lane_offset(x, dim, number);
      places.resize(static_cast<size_t>(length));
      for (int64_t i = 0; i < length; ++i) places[static_cast<size_t>(i)] = {lane[i * stride], i};
      bring_to_rank(places, k);
      const int64_t offset = lane_offset(values, dim, number);
      values.data_as<T>()[offset] = places[static_cast<size_t>(k)].first;
      indices.data_as<int64_t>()[offset] = places[static_cast<size_t>(k)].second;
    });
  });
  if (attrs.get_bool("keepdim") || x.dim() == 0) return {values, indices};
  Strides strides = values.strides();
  kept.erase(kept.begin() + dim);
  strides.erase(strides.begin() + dim);
  return {values.as_strided(kept, strides, 0), indices.as_strided(kept, strides, 0)};
}

[[maybe_unused]] const OpDef* const kTopkOps[] = {
    &register_op(
        {.name = "topk",
         .schema = "(Tensor x, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)",
         .doc = "The k largest (or smallest) elements along `dim`, in order, and their int64 indices; NaN "
                "counts as\n"
                "the largest. Which of equal elements come is what PyTorch's selection leaves.\n"
                "dtype:  any. error: exact. raises: ValueError unless 0 <= k <= size of the dimension.",
         .methods = {""},
         .infer = infer_choice,
         .eager = eager_topk}),
    &register_op({.name = "kthvalue",
                  .schema = "(Tensor x, int k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
                  .doc = "The k-th smallest element (k from 1) along `dim` and its int64 index.\n"
                         "raises: ValueError unless 1 <= k <= size of the dimension.",
                  .methods = {""},
                  .infer = infer_kthvalue,
                  .eager = eager_kthvalue}),
};

}  // namespace
}  // namespace weft::ops
