// Random tensors and dropout, of the process's default generator: the numbers that weft's functions draw.
#include <fmt/format.h>

#include <cmath>

#include "core/distinct_elements.h"
#include "script/builtins/aten.h"
#include "weft/generator.h"

namespace weft::jit::aten {
namespace {

Tensor handle() { return Generator::default_generator().handle(); }

[[noreturn]] void refuse(std::string message) { throw_error(ErrorKind::Runtime, std::move(message)); }

// Numbers of a shape; `name`: of the operator.
Tensor drawn(std::string_view name, const Ints& shape, DType dtype, Attrs attrs = {}) {
  attrs.set("shape", sizes(shape));
  attrs.set("dtype", dtype);
  return call(require_op(name), {handle()}, std::move(attrs));
}
// Numbers in the shape and order of memory of a tensor.
Tensor drawn_like(std::string_view name, const Tensor& like, OptionalDType dtype, Attrs attrs = {}) {
  attrs.set("dtype", dtype.value_or(like.dtype()));
  return call(require_op(fmt::format("{}_like", name)), {handle(), like}, std::move(attrs));
}
Tensor fill(std::string_view name, const Tensor& x, Attrs attrs = {}) {
  check_distinct_elements(x);
  x.copy_from(drawn_like(name, x, std::nullopt, std::move(attrs)));
  return x;
}

Tensor random_integers(int64_t low, int64_t high, const Ints& shape, DType dtype) {
  if (low >= high)
    refuse(fmt::format("randint: expected 'from' to be less than 'to', got from={} >= to={}", low, high));
  return drawn("random_integers", shape, dtype, {{"low", Sym(low)}, {"high", Sym(high)}});
}
Tensor random_integers_like(const Tensor& x, int64_t low, int64_t high, OptionalDType dtype) {
  if (low >= high)
    refuse(
        fmt::format("randint_like: expected 'from' to be less than 'to', got from={} >= to={}", low, high));
  return drawn_like("random_integers", x, dtype, {{"low", Sym(low)}, {"high", Sym(high)}});
}

Tensor bernoulli(const Tensor& x, double p) {
  return drawn_like("random_bernoulli", x, std::nullopt, {{"p", p}});
}
Tensor bernoulli_of(const Tensor& p, DType dtype) {
  return call(op<"random_bernoulli_of">(), {handle(), p}, {{"dtype", dtype}});
}

struct DropoutKind {
  const char* name;
  bool of_features, alpha;
};

// As functions of weft's do it (python/weft/_drawing.py).
Tensor dropout(const DropoutKind& kind, const Tensor& x, double p, bool train) {
  if (!(p >= 0 && p <= 1))
    refuse(fmt::format("{}: dropout probability has to be between 0 and 1, but got {}", kind.name, p));
  if (!train || p == 0 || x.numel() == 0) return x;
  if (p == 1) return promoted(op<"mul">(), {x, Tensor::full({}, 0, x.dtype())});
  Tensor noise;
  if (kind.of_features) {
    if (x.dim() < 2)
      refuse(fmt::format("{}: expected at least 2 dimensions, got {}", kind.name, describe(x)));
    Ints shape(static_cast<size_t>(x.dim()), 1);
    shape[0] = x.size(0);
    shape[1] = x.size(1);
    noise = drawn("random_bernoulli", shape, x.dtype(), {{"p", 1 - p}});
  } else {
    noise = bernoulli(x, 1 - p);
  }
  if (!kind.alpha) return mul(x, promoted(op<"true_divide">(), {noise, Scalar(1 - p)}));
  constexpr double kLimit = 1.7580993408473766;  // of SELU, far to the left
  const double a = 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p));
  const Tensor shift = add(mul(add(noise, Scalar(-1.0)), Scalar(kLimit * a)), Scalar(kLimit * a * p));
  return add(mul(x, mul(noise, Scalar(a))), shift);
}

// The result, and the slopes that it has, which are `noise` where none are drawn.
std::tuple<Tensor, Tensor> rrelu_with_noise(const Tensor& x, const Tensor& noise, const Scalar& lower,
                                            const Scalar& upper, bool training) {
  const double low = lower.to_double(), high = upper.to_double();
  if (!training)
    return {call(op<"leaky_relu">(), {x}, {{"negative_slope", Scalar((low + high) / 2)}}), noise};
  const Tensor slopes = call(op<"random_slopes">(), {handle(), x}, {{"low", low}, {"high", high}});
  return {cast(mul(x, slopes), x.dtype()), cast(slopes, x.dtype())};
}
Tensor rrelu(const Tensor& x, const Scalar& low, const Scalar& high, bool training) {
  return std::get<0>(rrelu_with_noise(x, {}, low, high, training));
}

constexpr const char* kRandomOptions =
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";

template <class Size, class Like>
void random_function(const std::string& name, Size size, Like like) {
  define(fmt::format("{}(int[] size, *, {}) -> Tensor", name, kRandomOptions), size, false);
  define(fmt::format("{}_like(Tensor self, *, {}, MemoryFormat? memory_format=None) -> Tensor", name,
                     kRandomOptions),
         like, false);
}

template <class F>
void define_random(std::string_view schema, F f) {
  define(schema, f, false);
}

[[maybe_unused]] const bool kRandom = [] {
  random_function(
      "rand",
      [](const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&) {
        return drawn("random_uniform", size, dtype.value_or(DType::F32));
      },
      [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&, const IValue&) {
        return drawn_like("random_uniform", x, dtype);
      });
  random_function(
      "randn",
      [](const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&) {
        return drawn("random_normal", size, dtype.value_or(DType::F32));
      },
      [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&, const IValue&) {
        return drawn_like("random_normal", x, dtype);
      });
  define_random(
      "randint(int high, int[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None) -> Tensor",
      [](int64_t high, const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&) {
        return random_integers(0, high, size, dtype.value_or(DType::I64));
      });
  define_random(
      "randint.low(int low, int high, int[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor",
      [](int64_t low, int64_t high, const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice,
         const IValue&) { return random_integers(low, high, size, dtype.value_or(DType::I64)); });
  define_random(
      fmt::format("randint_like(Tensor self, int high, *, {}, MemoryFormat? memory_format=None) -> Tensor",
                  kRandomOptions),
      [](const Tensor& x, int64_t high, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&,
         const IValue&) { return random_integers_like(x, 0, high, dtype); });
  define_random(
      fmt::format("randint_like.low_dtype(Tensor self, int low, int high, *, {}, MemoryFormat? "
                  "memory_format=None) -> Tensor",
                  kRandomOptions),
      [](const Tensor& x, int64_t low, int64_t high, OptionalDType dtype, const IValue&, OptionalDevice,
         const IValue&, const IValue&) { return random_integers_like(x, low, high, dtype); });
  define_random(
      "randperm(int n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      [](int64_t n, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&) {
        return cast(call(op<"random_permutation">(), {handle()}, {{"n", Sym(n)}}), dtype);
      });
  define_random("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
                [](const Tensor& p, const IValue&) { return bernoulli_of(p, p.dtype()); });
  define_random("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
                [](const Tensor& x, double p, const IValue&) { return bernoulli(x, p); });
  define_random(
      "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
      [](const Tensor& x, double p, const IValue&) { return fill("random_bernoulli", x, {{"p", p}}); });
  define_random(
      "uniform_(Tensor(a!) self, float from=0.0, float to=1.0, *, Generator? generator=None) -> "
      "Tensor(a!)",
      [](const Tensor& x, double low, double high, const IValue&) {
        return fill("random_uniform", x, {{"low", low}, {"high", high}});
      });
  define_random(
      "normal_(Tensor(a!) self, float mean=0.0, float std=1.0, *, Generator? generator=None) -> "
      "Tensor(a!)",
      [](const Tensor& x, double mean, double deviation, const IValue&) {
        return fill("random_normal", x, {{"mean", mean}, {"std", deviation}, {"in_place", true}});
      });
  define_random("exponential_(Tensor(a!) self, float lambd=1.0, *, Generator? generator=None) -> Tensor(a!)",
                [](const Tensor& x, double rate, const IValue&) {
                  return fill("random_exponential", x, {{"lambd", rate}});
                });
  define_random(
      "geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)",
      [](const Tensor& x, double p, const IValue&) { return fill("random_geometric", x, {{"p", p}}); });
  define_random(
      "cauchy_(Tensor(a!) self, float median=0.0, float sigma=1.0, *, Generator? generator=None) -> "
      "Tensor(a!)",
      [](const Tensor& x, double median, double sigma, const IValue&) {
        return fill("random_cauchy", x, {{"median", median}, {"sigma", sigma}});
      });
  define_random(
      "log_normal_(Tensor(a!) self, float mean=1.0, float std=2.0, *, Generator? generator=None) -> "
      "Tensor(a!)",
      [](const Tensor& x, double mean, double deviation, const IValue&) {
        return fill("random_log_normal", x, {{"mean", mean}, {"std", deviation}});
      });
  define_random(
      "normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, ScalarType? "
      "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
      [](double mean, double deviation, const Ints& size, const IValue&, OptionalDType dtype, const IValue&,
         OptionalDevice, const IValue&) {
        return drawn("random_normal", size, dtype.value_or(DType::F32), {{"mean", mean}, {"std", deviation}});
      });
  define_random(
      "poisson(Tensor self, Generator? generator=None) -> Tensor",
      [](const Tensor& rate, const IValue&) { return call(op<"random_poisson">(), {handle(), rate}); });
  define_random(
      "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) "
      "-> Tensor",
      [](const Tensor& weights, int64_t count, bool replacement, const IValue&) {
        return call(op<"random_multinomial">(), {handle(), weights},
                    {{"num_samples", Sym(count)}, {"replacement", replacement}});
      });
  define_random("manual_seed(int seed) -> ()",
                [](int64_t seed) { call(op<"random_seed">(), {handle()}, {{"seed", Sym(seed)}}); });
  return true;
}();

template <const DropoutKind& kKind>
void define_dropout() {
  define_random(fmt::format("{}(Tensor input, float p, bool train) -> Tensor", kKind.name),
                [](const Tensor& x, double p, bool train) { return dropout(kKind, x, p, train); });
  define_random(fmt::format("{}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", kKind.name),
                [](const Tensor& x, double p, bool train) {
                  if (train && p > 0) x.copy_from(dropout(kKind, x, p, train));
                  return x;
                });
}

constexpr DropoutKind kPlain{"dropout", false, false}, kFeature{"feature_dropout", true, false},
    kAlpha{"alpha_dropout", false, true}, kFeatureAlpha{"feature_alpha_dropout", true, true};

[[maybe_unused]] const bool kDropout = [] {
  define_dropout<kPlain>();
  define_dropout<kFeature>();
  define_dropout<kAlpha>();
  define_dropout<kFeatureAlpha>();
  define_random(
      "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
      "Generator? "
      "generator=None) -> Tensor",
      [](const Tensor& x, const Scalar& low, const Scalar& high, bool training, const IValue&) {
        return rrelu(x, low, high, training);
      });
  define_random(
      "rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
      "Generator? "
      "generator=None) -> Tensor(a!)",
      [](const Tensor& x, const Scalar& low, const Scalar& high, bool training, const IValue&) {
        x.copy_from(rrelu(x, low, high, training));
        return x;
      });
  define_random(
      "rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "
      "training=False, Generator? generator=None) -> Tensor",
      [](const Tensor& x, const Tensor& noise, const Scalar& low, const Scalar& high, bool training, const IValue&) {
        const auto [result, slopes] = rrelu_with_noise(x, noise, low, high, training);
        if (training) Tensor(noise).copy_from(slopes);
        return result;
      });
  define_random(
      "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "
      "training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
      [](const Tensor& x, const Tensor& noise, const Scalar& low, const Scalar& high, bool training, const IValue&) {
        return rrelu_with_noise(x, noise, low, high, training);
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
