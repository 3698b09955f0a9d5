// Random tensors and dropout: a 64-bit Mersenne twister for the process, seeded by aten::manual_seed. The
// same seed gives the same numbers on every machine, but not PyTorch's.
#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <random>

#include "core/memory_limit.h"
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

struct Generator {
  std::mutex mutex;
  std::mt19937_64 engine;
};

Generator& generator() {
  static Generator instance;
  return instance;
}

// In [0, 1), 53 bits.
double uniform(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11) * 0x1p-53; }

// Box and Muller's, one of the pair.
double normal(std::mt19937_64& engine) {
  const double radius = std::sqrt(-2 * std::log1p(-uniform(engine)));
  return radius * std::cos(2 * M_PI * uniform(engine));
}

template <class Draw>
Tensor drawn(const Shape& shape, DType dtype, Draw draw) {
  const Tensor values = Tensor::empty(shape, DType::F64);
  double* target = values.data_as<double>();
  const int64_t count = values.numel();
  const std::lock_guard lock(generator().mutex);
  for (int64_t i = 0; i < count; ++i) target[i] = draw(generator().engine);
  return values.to(dtype);
}

Tensor random_integers(int64_t low, int64_t high, const Shape& shape, DType dtype) {
  WEFT_CHECK(low < high, fmt::format("randint: expected low < high, got {} and {}", low, high));
  const double span = static_cast<double>(high - low);
  return drawn(shape, dtype, [&](std::mt19937_64& engine) {
    return static_cast<double>(low) + std::floor(uniform(engine) * span);
  });
}

Tensor permutation(int64_t n, DType dtype) {
  check_fits_memory("randperm", {n}, DType::I64);
  Ints numbers(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = i;
  const std::lock_guard lock(generator().mutex);
  for (size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1],
              numbers[static_cast<size_t>(uniform(generator().engine) * static_cast<double>(i))]);
  return Tensor::of(numbers).to(dtype);
}

Tensor bernoulli(const Tensor& like, const Tensor& probability) {
  const Tensor draws = drawn(like.shape(), DType::F64, uniform);
  return cast(promoted(op<"lt">(), {draws, cast(probability, DType::F64)}), like.dtype());
}
Tensor bernoulli(const Tensor& like, double probability) {
  WEFT_CHECK(probability >= 0 && probability <= 1,
             fmt::format("bernoulli: expected a probability in [0, 1], got {}", probability));
  return drawn(like.shape(), like.dtype(),
               [&](std::mt19937_64& engine) { return uniform(engine) < probability ? 1.0 : 0.0; });
}

Tensor dropout(const Tensor& x, double p, bool train) {
  WEFT_CHECK(p >= 0 && p <= 1, fmt::format("dropout: expected a probability in [0, 1], got {}", p));
  if (!train || p == 0) return x;
  const Tensor kept = bernoulli(x, 1 - p);
  return promoted(op<"mul">(), {promoted(op<"mul">(), {x, kept}), Scalar(p == 1 ? 0.0 : 1 / (1 - p))});
}

// One draw by row; without replacement, drawn categories leave.
Tensor multinomial(const Tensor& weights, int64_t count, bool replacement) {
  WEFT_CHECK(weights.dim() == 1 || weights.dim() == 2,
             "multinomial: expected one or two dimensions, got " + describe(weights));
  const int64_t categories = weights.size(-1), rows = weights.dim() == 2 ? weights.size(0) : 1;
  WEFT_CHECK(replacement || count <= categories,
             fmt::format("multinomial: cannot draw {} of {} without replacement", count, categories));
  const Tensor result = Tensor::empty({rows, count}, DType::I64);
  const Tensor dense = weights.to(DType::F64).clone();
  const std::lock_guard lock(generator().mutex);
  for (int64_t row = 0; row < rows; ++row) {
    double* chances = dense.data_as<double>() + row * categories;
    for (int64_t i = 0; i < count; ++i) {
      double total = 0;
      for (int64_t c = 0; c < categories; ++c) total += chances[c];
      WEFT_CHECK(total > 0 && std::isfinite(total),
                 "multinomial: the weights of a row must be finite, not negative, and not all zero");
      double left = uniform(generator().engine) * total;
      int64_t chosen = 0;
      for (int64_t c = 0; c < categories; ++c) {
        if (chances[c] <= 0) continue;
        chosen = c;
        left -= chances[c];
        if (left < 0) break;
      }
      result.data_as<int64_t>()[row * count + i] = chosen;
      if (!replacement) chances[chosen] = 0;
    }
  }
  return weights.dim() == 1 ? call(op<"reshape">(), {result}, {{"shape", sizes(Ints{count})}}) : result;
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
        return drawn(size, dtype.value_or(DType::F32), uniform);
      },
      [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&, const IValue&) {
        return drawn(x.shape(), dtype.value_or(x.dtype()), uniform);
      });
  random_function(
      "randn",
      [](const Ints& size, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&) {
        return drawn(size, dtype.value_or(DType::F32), normal);
      },
      [](const Tensor& x, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&, const IValue&) {
        return drawn(x.shape(), dtype.value_or(x.dtype()), normal);
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
      "randperm(int n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      [](int64_t n, OptionalDType dtype, const IValue&, OptionalDevice, const IValue&) {
        return permutation(n, dtype.value_or(DType::I64));
      });
  define_random("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
                [](const Tensor& p, const IValue&) { return bernoulli(p, p); });
  define_random("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
                [](const Tensor& x, double p, const IValue&) { return bernoulli(x, p); });
  define_random("bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
                [](const Tensor& x, double p, const IValue&) {
                  x.copy_from(bernoulli(x, p));
                  return x;
                });
  define_random(
      "uniform_(Tensor(a!) self, float from=0.0, float to=1.0, *, Generator? generator=None) -> "
      "Tensor(a!)",
      [](const Tensor& x, double low, double high, const IValue&) {
        x.copy_from(drawn(x.shape(), x.dtype(),
                          [&](std::mt19937_64& engine) { return low + (high - low) * uniform(engine); }));
        return x;
      });
  define_random(
      "normal_(Tensor(a!) self, float mean=0.0, float std=1.0, *, Generator? generator=None) -> "
      "Tensor(a!)",
      [](const Tensor& x, double mean, double deviation, const IValue&) {
        x.copy_from(drawn(x.shape(), x.dtype(),
                          [&](std::mt19937_64& engine) { return mean + deviation * normal(engine); }));
        return x;
      });
  define_random(
      "normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, ScalarType? "
      "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
      [](double mean, double deviation, const Ints& size, const IValue&, OptionalDType dtype, const IValue&,
         OptionalDevice, const IValue&) {
        return drawn(size, dtype.value_or(DType::F32),
                     [&](std::mt19937_64& engine) { return mean + deviation * normal(engine); });
      });
  define_random(
      "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) "
      "-> Tensor",
      [](const Tensor& weights, int64_t count, bool replacement, const IValue&) {
        return multinomial(weights, count, replacement);
      });
  define_random("manual_seed(int seed) -> ()", [](int64_t seed) {
    const std::lock_guard lock(generator().mutex);
    generator().engine.seed(static_cast<uint64_t>(seed));
  });
  return true;
}();

[[maybe_unused]] const bool kDropout = [] {
  for (const char* name : {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}) {
    const bool plain = std::string_view(name) == "dropout";
    const auto schema = [&](const char* suffix, const char* alias) {
      return fmt::format("{}{}(Tensor{} {}, float p, bool train) -> Tensor{}", name, suffix, alias,
                         *suffix ? "self" : "input", alias);
    };
    if (plain) {
      define_random(schema("", ""),
                    [](const Tensor& x, double p, bool train) { return dropout(x, p, train); });
      define_random(schema("_", "(a!)"), [](const Tensor& x, double p, bool train) {
        if (train && p > 0) x.copy_from(dropout(x, p, train));
        return x;
      });
      continue;
    }
    const auto inference = [](const Tensor& x, double p, bool train) {
      if (train && p > 0)
        throw_error(ErrorKind::NotImplemented,
                    "this kind of dropout is implemented for inference only: train=False");
      return x;
    };
    define(schema("", ""), inference);
    define(schema("_", "(a!)"), inference);
  }
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
