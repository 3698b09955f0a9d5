// Builtins composed of others: losses, special functions, statistics, views of other dtypes.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/build.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

Tensor where(const Tensor& condition, const Operand& x, const Operand& y) {
  return promoted(op<"where">(), {condition, x, y});
}

// ---- elements seen as another dtype ----------------------------------------------------------------------
Tensor view_as_real(const Tensor& x) {
  WEFT_CHECK(is_complex(x.dtype()) && !x.is_traced(),
             fmt::format("view_as_real: expected a complex tensor, got {}", describe(x)));
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (int64_t& stride : strides) stride *= 2;
  shape.push_back(2), strides.push_back(1);
  return Tensor(x.storage(), real_dtype(x.dtype()), std::move(shape), std::move(strides), x.offset() * 2);
}

Tensor view_as_complex(const Tensor& x) {
  const bool is_pairs =
      !x.is_traced() && x.dim() > 0 && x.size(-1) == 2 && x.strides().back() == 1 && x.offset() % 2 == 0;
  WEFT_CHECK(
      is_pairs,
      fmt::format("view_as_complex: the last dimension must have size 2 and stride 1, got {}, strides {}",
                  describe(x), str(x.strides())));
  WEFT_CHECK_TYPE(x.dtype() == DType::F32 || x.dtype() == DType::F64,
                  fmt::format("view_as_complex: expected float32 or float64, got {}", describe(x)));
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  Strides strides(x.strides().begin(), x.strides().end() - 1);
  for (int64_t& stride : strides) {
    WEFT_CHECK(stride % 2 == 0,
               fmt::format("view_as_complex: strides must be even, got {}", str(x.strides())));
    stride /= 2;
  }
  return Tensor(x.storage(), x.dtype() == DType::F32 ? DType::C64 : DType::C128, std::move(shape),
                std::move(strides), x.offset() / 2);
}

Tensor slice_scatter(const Tensor& x, const Tensor& source, int64_t dim, OptionalInt start, OptionalInt stop,
                     int64_t step) {
  const Tensor result = x.clone();
  WEFT_CHECK(step > 0 && x.dim() > 0,
             fmt::format("slice_scatter: step {} is wrong for {}", step, describe(x)));
  const auto end = [](OptionalInt value) { return value ? std::optional<Sym>(*value) : std::nullopt; };
  const Tensor part =
      ops::build::slice(result, wrap_dim("slice_scatter", dim, x.dim()), end(start), end(stop), step);
  WEFT_CHECK(part.shape() == source.shape(),
             fmt::format("slice_scatter: expected a source of shape {}, got {}", str(part.shape()),
                         describe(source)));
  part.copy_from(source);
  return result;
}

[[maybe_unused]] const bool kSpecial = [] {
  same<"xlogy">("special_xlogy(Tensor self, Tensor other) -> Tensor");
  same<"xlogy">("special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor");
  same<"xlogy">("special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor");
  same<"logsumexp">("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor");
  same<"round">("special_round(Tensor self, *, int decimals=0) -> Tensor");
  define("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, int64_t dim, OptionalDType dtype) {
           return call(op<"softmax">(), {cast(x, dtype)}, {{"dim", number(dim)}});
         });
  define("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
         [](const Tensor& x, int64_t dim, OptionalDType dtype) {
           return call(op<"log_softmax">(), {cast(x, dtype)}, {{"dim", number(dim)}});
         });
  define("special_entr(Tensor self) -> Tensor", [](const Tensor& x) {
    const Tensor value = promoted(op<"neg">(), {promoted(op<"xlogy">(), {x, x})});
    return where(promoted(op<"lt">(), {x, Scalar(0)}), Scalar(-std::numeric_limits<double>::infinity()),
                 value);
  });
  define("special_ndtr(Tensor self) -> Tensor", [](const Tensor& x) {
    return mul(promoted(op<"erfc">(), {mul(x, Scalar(-std::numbers::sqrt2 / 2))}), Scalar(0.5));
  });
  return true;
}();

[[maybe_unused]] const bool kStatistics = [] {
  same<"vander">("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor");
  define("diagflat(Tensor self, int offset=0) -> Tensor", [](const Tensor& x, int64_t offset) {
    return call(op<"diag">(), {call(op<"reshape">(), {x}, {{"shape", sizes(Ints{-1})}})},
                {{"diagonal", number(offset)}});
  });
  return true;
}();

[[maybe_unused]] const bool kOthers = [] {
  define("view_as_real(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return view_as_real(x); });
  define("view_as_complex(Tensor(a) self) -> Tensor(a)", [](const Tensor& x) { return view_as_complex(x); });
  define(
      "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& source, int64_t dim, OptionalInt start, OptionalInt stop,
         int64_t step) { return slice_scatter(x, source, dim, start, stop, step); });
  define_function("floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
                  &forward_inplace_to<"floor_divide">, false);
  define("_shape_as_tensor(Tensor self) -> Tensor", [](const Tensor& x) { return Tensor::of(x.shape()); });
  define("_cast_Char(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::I8); });
  define("_cast_Short(Tensor self, bool non_blocking=False) -> Tensor",
         [](const Tensor& x, bool) { return cast(x, DType::I16); });
  define("promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
         [](DType a, DType b) { return promote_types(a, b, Promotion::Torch); });
  define("can_cast(ScalarType from, ScalarType to) -> bool", [](DType from, DType to) {
    const auto category = [](DType dtype) {
      return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : dtype != DType::Bool;
    };
    return category(from) <= category(to);
  });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
