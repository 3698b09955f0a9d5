// Sums, extremes, norms, cumulative functions, sorting.
#include <limits>

#include "ops/torch_rules.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

// Overloads without dimensions: over everything.
template <Name kName>
Tensor reduce_all(const Tensor& x, OptionalDType dtype) {
  return call(op<kName>(), {x}, {{"dtype", optional(dtype)}});
}

// ---- all, any
// ---------------------------------------------------------------------------------------------- uint8 stays
// uint8, as in PyTorch.
template <Name kName>
Tensor truth(const Tensor& x, OptionalInts dims, bool keepdim) {
  const Attrs attrs{{"dim", sizes(dims)}, {"keepdim", keepdim}};
  return call(ops::torch_overload(op<kName>(), std::vector<Operand>{x}, attrs), {x}, attrs);
}

template <Name kName>
void truth_functions() {
  const std::string name(kName.text);
  define(name + "(Tensor self) -> Tensor", [](const Tensor& x) { return truth<kName>(x, {}, false); });
  define(name + ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
         [](const Tensor& x, int64_t dim, bool keepdim) { return truth<kName>(x, Ints{dim}, keepdim); });
  define(
      name + ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
      [](const Tensor& x, const OptionalInts& dims, bool keepdim) { return truth<kName>(x, dims, keepdim); });
}

// ---- extremes
// ----------------------------------------------------------------------------------------------
template <Name kValue, Name kPosition>
std::tuple<Tensor, Tensor> extreme(const Tensor& x, int64_t dim, bool keepdim) {
  if (x.dim() == 0) {
    wrap_dim(kValue.text, dim, 0);
    return {alias(x),
            call(op<"full">(), {}, {{"shape", sizes(Ints{})}, {"value", Scalar(0)}, {"dtype", DType::I64}})};
  }
  return {call(op<kValue>(), {x}, {{"dim", sizes(Ints{dim})}, {"keepdim", keepdim}}),
          call(op<kPosition>(), {x}, {{"dim", number(dim)}, {"keepdim", keepdim}})};
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& x, OptionalInt dim, bool keepdim) {
  const Attr dims = dim ? sizes(Ints{*dim}) : Attr();
  return {call(op<"amin">(), {x}, {{"dim", dims}, {"keepdim", keepdim}}),
          call(op<"amax">(), {x}, {{"dim", dims}, {"keepdim", keepdim}})};
}

template <Name kName>
std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim) {
  const Tensors found = call_all(op<kName>(), {x}, {{"dim", number(dim)}, {"keepdim", keepdim}});
  return {found.at(0), found.at(1)};
}

Tensor flat(const Tensor& x) { return call(op<"reshape">(), {x}, {{"shape", sizes(Ints{-1})}}); }

// ---- variance
// ----------------------------------------------------------------------------------------------
template <Name kName>
Tensor spread(const Tensor& x, const OptionalInts& dims, double correction, bool keepdim) {
  return call(op<kName>(), {x},
              {{"dim", dims && !dims->empty() ? sizes(*dims) : Attr()},
               {"keepdim", keepdim},
               {"correction", correction}});
}

Tensor mean(const Tensor& x, const OptionalInts& dims, bool keepdim) {
  return call(op<"mean">(), {x},
              {{"dim", dims && !dims->empty() ? sizes(*dims) : Attr()}, {"keepdim", keepdim}});
}

template <Name kName>
void spread_functions() {
  const std::string name(kName.text), dims = "(Tensor self, int[1]? dim";
  define(name + "(Tensor self, bool unbiased=True) -> Tensor",
         [](const Tensor& x, bool unbiased) { return spread<kName>(x, {}, unbiased, false); });
  define(name + ".dim" + dims + ", bool unbiased=True, bool keepdim=False) -> Tensor",
         [](const Tensor& x, const OptionalInts& dim, bool unbiased, bool keepdim) {
           return spread<kName>(x, dim, unbiased, keepdim);
         });
  define(name + ".correction" + dims + "=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
         [](const Tensor& x, const OptionalInts& dim, std::optional<Scalar> correction, bool keepdim) {
           return spread<kName>(x, dim, correction ? correction->to_double() : 1, keepdim);
         });
  define(name + "_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
         [](const Tensor& x, bool unbiased) {
           return std::tuple(spread<kName>(x, {}, unbiased, false), mean(x, {}, false));
         });
  define(name + "_mean.dim" + dims + ", bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
         [](const Tensor& x, const OptionalInts& dim, bool unbiased, bool keepdim) {
           return std::tuple(spread<kName>(x, dim, unbiased, keepdim), mean(x, dim, keepdim));
         });
  define(name + "_mean.correction" + dims +
             "=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
         [](const Tensor& x, const OptionalInts& dim, std::optional<Scalar> correction, bool keepdim) {
           return std::tuple(spread<kName>(x, dim, correction ? correction->to_double() : 1, keepdim),
                             mean(x, dim, keepdim));
         });
}

// ---- sorting
// -----------------------------------------------------------------------------------------------
std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending) {
  Tensors sorted = call_all(op<"sort">(), {x}, {{"dim", number(dim)}, {"descending", descending}});
  return {sorted.at(0), sorted.at(1)};
}

// ---- searching
// ---------------------------------------------------------------------------------------------
Tensor searchsorted(Tensor sequence, const Tensor& values, bool int32, bool right,
                    const std::optional<std::string>& side, const OptionalTensor& sorter) {
  WEFT_CHECK(!side || *side == "left" || *side == "right",
             "searchsorted: side must be 'left' or 'right', got '" + side.value_or("") + "'");
  if (sorter) sequence = call(op<"gather">(), {sequence, *sorter}, {{"dim", number(-1)}});
  const Tensor found = call(op<"searchsorted">(), {sequence, values}, {{"right", right || side == "right"}});
  return int32 ? cast(found, DType::I32) : found;
}

Tensor scalar_tensor(Scalar value) {
  const DType dtype = value.is_float()     ? DType::F32
                      : value.is_bool()    ? DType::Bool
                      : value.is_complex() ? DType::C64
                                           : DType::I64;
  return call(op<"full">(), {}, {{"shape", sizes(Ints{})}, {"value", value}, {"dtype", dtype}});
}

[[maybe_unused]] const bool kReductions = [] {
  define("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, OptionalDType dtype) { return reduce_all<"sum">(x, dtype); });
  same<"sum">(
      "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor");
  define("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, OptionalDType dtype) { return reduce_all<"mean">(x, dtype); });
  same<"mean">("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor");
  define("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, OptionalDType dtype) { return reduce_all<"prod">(x, dtype); });
  same<"prod">("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor");
  same<"nansum">(
      "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor");
  same<"nanmean">(
      "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
      "Tensor");
  same<"logsumexp">("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor");
  same<"count_nonzero">("count_nonzero(Tensor self, int? dim=None) -> Tensor");
  same<"count_nonzero">("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor");
  truth_functions<"all">();
  truth_functions<"any">();
  same<"amax">("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor");
  same<"amin">("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor");
  same<"max">("max(Tensor self) -> Tensor");
  same<"min">("min(Tensor self) -> Tensor");
  define(
      "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
      [](const Tensor& x, int64_t dim, bool keepdim) { return extreme<"amax", "argmax">(x, dim, keepdim); });
  define(
      "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
      [](const Tensor& x, int64_t dim, bool keepdim) { return extreme<"amin", "argmin">(x, dim, keepdim); });
  define("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
         [](const Tensor& x, OptionalInt dim, bool keepdim) { return aminmax(x, dim, keepdim); });
  same<"argmax">("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
  same<"argmin">("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
  define("median(Tensor self) -> Tensor",
         [](const Tensor& x) { return std::get<0>(median<"median_dim">(flat(x), 0, false)); });
  define("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
         [](const Tensor& x, int64_t dim, bool keepdim) { return median<"median_dim">(x, dim, keepdim); });
  define("nanmedian(Tensor self) -> Tensor",
         [](const Tensor& x) { return std::get<0>(median<"nanmedian_dim">(flat(x), 0, false)); });
  define("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
         [](const Tensor& x, int64_t dim, bool keepdim) { return median<"nanmedian_dim">(x, dim, keepdim); });
  spread_functions<"var">();
  spread_functions<"std">();
  return true;
}();

[[maybe_unused]] const bool kCumulative = [] {
  same_with_inplace<"cumsum">("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor");
  same_with_inplace<"cumprod">("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor");
  same<"cummax">("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)");
  same<"cummin">("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)");
  same<"logcumsumexp">("logcumsumexp(Tensor self, int dim) -> Tensor");
  define("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
         [](const Tensor& x, int64_t n, int64_t dim, const OptionalTensor& prepend,
            const OptionalTensor& append) {
           Tensors parts;
           if (prepend) parts.push_back(*prepend);
           parts.push_back(x);
           if (append) parts.push_back(*append);
           const Tensor joined =
               parts.size() == 1 ? x : call(op<"concatenate">(), std::move(parts), {{"dim", number(dim)}});
           return call(op<"diff">(), {joined}, {{"n", number(n)}, {"dim", number(dim)}});
         });
  return true;
}();

[[maybe_unused]] const bool kSorting = [] {
  define("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
         [](const Tensor& x, int64_t dim, bool descending) { return sort(x, dim, descending); });
  define(
      "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, "
      "Tensor "
      "indices)",
      [](const Tensor& x, const IValue&, int64_t dim, bool descending) { return sort(x, dim, descending); });
  define("msort(Tensor self) -> Tensor", [](const Tensor& x) { return std::get<0>(sort(x, 0, false)); });
  same<"argsort">("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor");
  define("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
         [](const Tensor& x, bool, int64_t dim, bool descending) {
           return std::get<1>(sort(x, dim, descending));
         });
  same<"topk">(
      "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, "
      "Tensor indices)");
  same<"kthvalue">(
      "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
      "indices)");
  same<"bincount">("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor");
  same<"histc">("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor");
  define(
      "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
      "str? side=None, Tensor? sorter=None) -> Tensor",
      [](const Tensor& sequence, const Tensor& values, bool int32, bool right,
         const std::optional<std::string>& side, const OptionalTensor& sorter) {
        return searchsorted(sequence, values, int32, right, side, sorter);
      });
  define(
      "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
      "str? side=None, Tensor? sorter=None) -> Tensor",
      [](const Tensor& sequence, Scalar value, bool int32, bool right, const std::optional<std::string>& side,
         const OptionalTensor& sorter) {
        return searchsorted(sequence, scalar_tensor(value), int32, right, side, sorter);
      });
  define(
      "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
      [](const Tensor& x, const Tensor& boundaries, bool int32, bool right) {
        return searchsorted(boundaries, x, int32, right, {}, {});
      });
  define(
      "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
      [](Scalar x, const Tensor& boundaries, bool int32, bool right) {
        return searchsorted(boundaries, scalar_tensor(x), int32, right, {}, {});
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
