// Builtins composed of others: losses, special functions, statistics, views of other dtypes.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/build.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

Tensor sub(const Operand& x, const Operand& y) { return promoted(op<"sub">(), {x, y}); }
Tensor div(const Operand& x, const Operand& y) { return promoted(op<"true_divide">(), {x, y}); }
Tensor where(const Tensor& condition, const Operand& x, const Operand& y) {
  return promoted(op<"where">(), {condition, x, y});
}
Tensor equal(const Tensor& x, Scalar y) { return promoted(op<"eq">(), {x, y}); }
Tensor at_least(const Tensor& x, Scalar least) { return promoted(op<"maximum">(), {x, least}); }
Tensor log(const Tensor& x) { return promoted(op<"log">(), {x}); }
Tensor sum_over(const Tensor& x, int64_t dim, bool keepdim = false) {
  return call(op<"sum">(), {x}, {{"dim", sizes(Ints{dim})}, {"keepdim", keepdim}});
}

// ---- losses: reduction 0 keeps the elements, 1 is their mean, 2 their sum ---------------------------------
Tensor reduced(const Tensor& x, int64_t reduction) {
  WEFT_CHECK(reduction >= 0 && reduction <= 2,
             fmt::format("loss: reduction is 0, 1 or 2, got {}", reduction));
  if (reduction == 0) return x;
  return call(reduction == 1 ? op<"mean">() : op<"sum">(), {x});
}

Tensor margin_ranking_loss(const Tensor& x, const Tensor& y, const Tensor& target, double margin,
                           int64_t reduction) {
  const Tensor signed_difference = mul(promoted(op<"neg">(), {target}), sub(x, y));
  return reduced(at_least(add(signed_difference, Scalar(margin)), Scalar(0)), reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin, int64_t reduction) {
  const Tensor far = where(equal(target, Scalar(1)), Scalar(0), at_least(sub(Scalar(margin), x), Scalar(0)));
  const Tensor near = where(equal(target, Scalar(-1)), Scalar(0), x);
  return reduced(add(far, near), reduction);
}

Tensor cosine_embedding_loss(const Tensor& x, const Tensor& y, const Tensor& target, double margin,
                             int64_t reduction) {
  constexpr double kLeast = 1e-12;
  const int64_t dim = target.dim() == 0 ? 0 : 1;
  const auto squared = [&](const Tensor& v) { return add(sum_over(mul(v, v), dim), Scalar(kLeast)); };
  const Tensor norms = promoted(op<"sqrt">(), {mul(squared(x), squared(y))});
  const Tensor cosine = div(sum_over(mul(x, y), dim), norms);
  const Tensor same = where(equal(target, Scalar(1)), sub(Scalar(1), cosine), Scalar(0));
  const Tensor other =
      where(equal(target, Scalar(-1)), at_least(sub(cosine, Scalar(margin)), Scalar(0)), Scalar(0));
  return reduced(add(same, other), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  const auto distance = [&](const Tensor& x, const Tensor& y) {
    return call(op<"pairwise_distance">(), {x, y}, {{"p", p}, {"eps", eps}, {"keepdim", false}});
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (swap) far = promoted(op<"minimum">(), {far, distance(positive, negative)});
  return reduced(at_least(add(sub(near, far), Scalar(margin)), Scalar(0)), reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, int64_t reduction) {
  const Tensor power = promoted(op<"exp">(), {mul(promoted(op<"neg">(), {target}), x)});
  return reduced(promoted(op<"log1p">(), {power}), reduction);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool is_log, bool full, double eps,
                        int64_t reduction) {
  Tensor loss = is_log ? sub(promoted(op<"exp">(), {x}), mul(target, x))
                       : sub(x, mul(target, log(add(x, Scalar(eps)))));
  if (full) {  // Stirling's approximation of log(target!)
    const Tensor half_log = mul(log(mul(target, Scalar(2 * std::numbers::pi))), Scalar(0.5));
    const Tensor stirling = add(sub(mul(target, log(target)), target), half_log);
    loss = add(loss, where(promoted(op<"le">(), {target, Scalar(1)}), Scalar(0), stirling));
  }
  return reduced(loss, reduction);
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

[[maybe_unused]] const bool kComposedLosses = [] {
  define(
      "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) "
      "-> Tensor",
      [](const Tensor& x, const Tensor& y, const Tensor& t, double margin, int64_t r) {
        return margin_ranking_loss(x, y, t, margin, r);
      });
  define("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor",
         [](const Tensor& x, const Tensor& t, double margin, int64_t r) {
           return hinge_embedding_loss(x, t, margin, r);
         });
  define(
      "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) "
      "-> Tensor",
      [](const Tensor& x, const Tensor& y, const Tensor& t, double margin, int64_t r) {
        return cosine_embedding_loss(x, y, t, margin, r);
      });
  define(
      "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
      "float eps=1e-06, "
      "bool swap=False, int reduction=1) -> Tensor",
      [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p,
         double eps, bool swap,
         int64_t r) { return triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, r); });
  define("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
         [](const Tensor& x, const Tensor& t, int64_t r) { return soft_margin_loss(x, t, r); });
  define(
      "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> "
      "Tensor",
      [](const Tensor& x, const Tensor& t, bool is_log, bool full, double eps, int64_t r) {
        return poisson_nll_loss(x, t, is_log, full, eps, r);
      });
  return true;
}();

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
