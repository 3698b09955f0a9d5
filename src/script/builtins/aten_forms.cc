// Further forms of operators: other dtypes of results, tensors where numbers are usual, older names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "script/builtins/aten.h"

namespace weft::jit::aten::forms {
namespace {

// Convolution along time[T, N, C] with weight[K, C, O].
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t padding) {
  const auto permuted = [](const Tensor& y, const Ints& dims) {
    return call(op<"permute">(), {y}, {{"dims", sizes(dims)}});
  };
  const Tensor result = call(op<"conv1d">(), {permuted(x, {1, 2, 0}), permuted(weight, {2, 1, 0}), bias},
                             {{"padding", sizes(Ints{padding})}});
  return permuted(result, {2, 0, 1});
}

Scalar number_of(const Tensor& x) {
  WEFT_CHECK(x.dim() == 0, "expected a tensor without dimensions, got " + describe(x));
  return x.item();
}

template <Name kName>
void at_least(const char* name) {
  define(fmt::format("{}.Sequence(Tensor[] tensors) -> Tensor[]", name), [](const Tensors& tensors) {
    Tensors results;
    for (const Tensor& tensor : tensors) results.push_back(call(op<kName>(), {tensor}));
    return results;
  });
}

template <Name kName>
void ends_as_tensors(const char* name, const char* middle) {
  constexpr const char* kOptions =
      "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
  for (const auto& [overload, start, stop] :
       {std::tuple("Tensor_Tensor", "Tensor", "Tensor"), std::tuple("Tensor_Scalar", "Tensor", "Scalar"),
        std::tuple("Scalar_Tensor", "Scalar", "Tensor")}) {
    define_function(
        fmt::format("{}.{}({} start, {} end, int steps, {}{}", name, overload, start, stop, middle, kOptions),
        [](std::span<IValue> arguments, IValue* results) {
          const auto end = [](const IValue& value) {
            return value.is_tensor() ? number_of(value.to_tensor()) : value.to_scalar();
          };
          const bool has_base = arguments.size() > 7;
          const IValue& wanted = arguments[has_base ? 4 : 3];
          const Scalar first = end(arguments[0]), last = end(arguments[1]);
          const DType usual = first.is_complex() || last.is_complex() ? DType::C64 : DType::F32;
          Attrs attrs{{"start", first}, {"end", last}, {"steps", Sym(arguments[2].to_int())}};
          attrs.set("dtype", wanted.is_none() ? usual : wanted.to_dtype());
          if (has_base) attrs.set("base", arguments[3].to_double());
          results[0] = IValue(call(op<kName>(), {}, std::move(attrs)));
        });
  }
}

[[maybe_unused]] const bool kElements = [] {
  same_with_inplace<"igamma">("igamma(Tensor self, Tensor other) -> Tensor");
  same_with_inplace<"igammac">("igammac(Tensor self, Tensor other) -> Tensor");
  define("conj_physical_(Tensor(a!) self) -> Tensor(a!)", [](const Tensor& x) {
    x.copy_from(call(op<"conj">(), {x}));
    return x;
  });
  define("matrix_H(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) {
    return call(op<"conj">(), {call(op<"transpose">(), {x}, {{"dim0", number(-2)}, {"dim1", number(-1)}})});
  });
  define("_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
         [](const Tensor& x, const Tensor& y, Scalar alpha) {
           return call(op<"relu">(), {add(x, alpha == Scalar(1) ? y : mul(y, alpha))});
         });
  for (const char* schema : {"_logcumsumexp(Tensor self, int dim) -> Tensor"}) same<"logcumsumexp">(schema);
  define("_list_to_tensor(int[] self) -> Tensor", [](const Ints& values) {
    return values.empty() ? Tensor::empty({0}, DType::I64) : Tensor::of(values);
  });
  define("_tensor_to_list(Tensor self) -> int[]", [](const Tensor& x) {
    const Tensor flat = cast(x, DType::I64).contiguous();
    return Ints(flat.data_as<int64_t>(), flat.data_as<int64_t>() + flat.numel());
  });
  at_least<"atleast_1d">("atleast_1d"), at_least<"atleast_2d">("atleast_2d"),
      at_least<"atleast_3d">("atleast_3d");
  ends_as_tensors<"linspace">("linspace", "");
  ends_as_tensors<"logspace">("logspace", "float base=10., ");
  return true;
}();

[[maybe_unused]] const bool kLayers = [] {
  define("mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
         [](const Tensor& x, const Tensor& y, DType dtype) {
           return call(op<"mm">(), {cast(x, dtype), cast(y, dtype)});
         });
  define("bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
         [](const Tensor& x, const Tensor& y, DType dtype) {
           return call(op<"bmm">(), {cast(x, dtype), cast(y, dtype)});
         });
  same<"_int_mm">("_int_mm(Tensor self, Tensor mat2) -> Tensor");
  define("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
         [](const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad) {
           return conv_tbc(x, weight, bias, pad);
         });
  define(
      "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
      [](const Tensor& x, double, std::optional<bool> train) {
        if (train.value_or(true))
          throw_error(ErrorKind::NotImplemented, "native_dropout: weft runs models and does not train them");
        return std::tuple(x, call(op<"full_like">(), {x}, {{"value", Scalar(true)}, {"dtype", DType::Bool}}));
      });
  define(
      "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) "
      "-> Tensor",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t reduction,
         int64_t ignored) {
        constexpr const char* kNames[] = {"none", "mean", "sum"};
        WEFT_CHECK(reduction >= 0 && reduction < 3,
                   fmt::format("nll_loss2d: reduction is 0, 1 or 2, got {}", reduction));
        return call(op<"nll_loss">(), {x, target, or_undefined(weight)},
                    {{"ignore_index", number(ignored)}, {"reduction", std::string(kNames[reduction])}});
      });
  define("_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)",
         [](const Tensor& x, bool, bool enabled) {
           const bool is_half = x.dtype() == DType::F16 || x.dtype() == DType::BF16;
           return enabled && is_half ? cast(x, DType::F32) : x;
         });
  define(
      "_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType "
      "cuda_dtype, "
      "ScalarType cpu_dtype) -> Tensor(a)",
      [](const Tensor& x, bool, bool enabled, DType, DType dtype) {
        return enabled && x.dtype() == DType::F32 ? cast(x, dtype) : x;
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::forms
