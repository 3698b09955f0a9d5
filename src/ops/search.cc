// Searching sorted sequences.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"
#include "ops/concrete.h"
#include "ops/order.h"
#include "ops/places.h"
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
          return cells.with_place(places, [&](const auto& place_of) {
            parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) out[i] = place_of(wanted[i]);
            });
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

[[maybe_unused]] const OpDef* const kSearchOps[] = {
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
};

}  // namespace
}  // namespace weft::ops
