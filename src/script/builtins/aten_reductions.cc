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
  same<"argmax">("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
  same<"argmin">("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor");
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
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
