// Random numbers whose distributions differ from element to element.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/cpu/random.h"
#include "weft/detail/visit_dtype.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

template <class T>
constexpr bool kIsFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

[[noreturn]] void refuse(std::string message) { throw_error(ErrorKind::Runtime, std::move(message)); }

template <class F>
void visit_floating(const Tensor& tensor, F f) {
  visit_dtype(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsFloating<T>) f(std::type_identity<T>{});
  });
}

template <class T>
double number(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}
template <class T>
T rounded(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return T(static_cast<float>(value));
}

// source: Hörmann 1993, "The transformed rejection method for generating Poisson random variables" (PTRS);
// below 10 the product of uniform numbers.
double poisson(RandomState& state, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double least = std::exp(-rate);
    double count = 0, product = 1;
    while ((product *= state.uniform()) > least) ++count;
    return count;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = state.uniform() - 0.5, v = state.uniform(), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + k * log_rate - std::lgamma(k + 1))
      return k;
  }
}

// How many geometric waiting times fit into `count` trials.
double binomial_by_waiting(RandomState& state, double count, double probability) {
  const double denominator = std::log1p(-probability);
  double trials = 0, successes = 0;
  while (true) {
    trials += std::ceil(std::log(state.uniform()) / denominator);
    if (trials > count) return successes;
    ++successes;
  }
}

// log k! less Stirling's formula.
double stirling_rest(double k) {
  static constexpr std::array<double, 10> kRest = {
      0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
      0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kRest[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// source: Hörmann 1993, "The generation of binomial random variates" (BTRS).
double binomial_by_rejection(RandomState& state, double count, double probability) {
  const double deviation = std::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * probability,
               c = count * probability + 0.5, v_r = 0.92 - 4.2 / b, ratio = probability / (1 - probability),
               alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((count + 1) * probability);
  while (true) {
    const double u = state.uniform() - 0.5;
    double v = state.uniform();
    const double us = 0.5 - std::fabs(u), k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (ratio * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(ratio * (count - k + 1) / (k + 1)) + stirling_rest(m) +
                         stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

double binomial(RandomState& state, double count, double probability) {
  if (count <= 0 || probability <= 0) return 0;
  if (probability >= 1) return count;
  const auto draw = [&](double p) {
    return count * p >= 10 ? binomial_by_rejection(state, count, p) : binomial_by_waiting(state, count, p);
  };
  if (probability <= 0.5) return draw(probability);
  if (probability > 0.5) return count - draw(1 - probability);
  return std::numeric_limits<double>::quiet_NaN();
}

// source: Marsaglia and Tsang 2000, "A simple method for generating gamma variables"; below 1 a number of
// concentration + 1 times a power of a uniform one. T: what the concentration's own arithmetic is in.
template <class T>
double gamma(RandomState& state, T concentration) {
  double scale = 1;
  if (concentration < 1) {
    if (concentration == 0) return 0;
    scale *= std::pow(1 - state.uniform(), static_cast<double>(1.0F / concentration));
    concentration += 1;
  }
  const double d = static_cast<double>(concentration - 1.0F / 3.0F), c = 1 / std::sqrt(9 * d);
  while (true) {
    double x, y;
    do {
      x = state.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - state.uniform(), square = x * x;
    if (u < 1 - static_cast<double>(0.0331F) * square * square) return scale * d * v;
    if (std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// Each category by where a uniform number falls in the running sums, which are of float at least.
template <class T>
void with_replacement(RandomState& state, int64_t* out, int64_t samples, const T* weights,
                      int64_t categories) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::vector<Sum> sums(static_cast<size_t>(categories));
  Sum sum = 0;
  for (int64_t j = 0; j < categories; ++j) {
    const double weight = number(weights[j]);
    if (!(weight >= 0))
      refuse("multinomial: invalid multinomial distribution (encountering probability entry < 0)");
    if (!std::isfinite(weight))
      refuse(
          "multinomial: invalid multinomial distribution (encountering probability entry = infinity or NaN)");
    sum += static_cast<Sum>(weight);
    sums[static_cast<size_t>(j)] = sum;
  }
  if (!(sum > 0)) refuse("multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
  for (Sum& each : sums) each /= sum;
  sums.back() = 1;
  for (int64_t i = 0; i < samples; ++i) {
    const double u = state.uniform();
    out[i] =
        std::partition_point(sums.begin(), sums.end(), [&](Sum each) { return each < u; }) - sums.begin();
  }
}

// The categories with the largest weight over exponential number.
template <class T>
void without_replacement(int64_t* out, int64_t samples, const T* scores, int64_t categories) {
  const auto is_before = [&](int64_t a, int64_t b) {
    const double x = number(scores[a]), y = number(scores[b]);
    return x > y || (x == y && a < b) || (std::isnan(x) && !std::isnan(y));
  };
  if (samples == 1) {
    int64_t best = 0;
    for (int64_t j = 1; j < categories; ++j)
      if (is_before(j, best)) best = j;
    *out = best;
    return;
  }
  std::vector<int64_t> order(static_cast<size_t>(categories));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + samples, order.end(), is_before);
  std::copy_n(order.begin(), samples, out);
}

template <class T>
void check_weights(const T* weights, int64_t rows, int64_t categories) {
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < categories; ++j) {
      const double weight = number(weights[row * categories + j]);
      if (!(weight >= 0 && std::isfinite(weight)))
        refuse("multinomial: probability tensor contains either `inf`, `nan` or element < 0");
      sum += weight;
    }
    if (sum == 0) refuse("multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

}  // namespace

void random_bernoulli_of(RandomState& state, const Tensor& out, const Tensor& probability) {
  const int64_t count = out.numel();
  if (count == 0) return;
  visit_floating(probability, [&]<class P>(std::type_identity<P>) {
    const P* const p = probability.data_as<P>();
    visit_dtype(out.dtype(), [&]<class T>(std::type_identity<T>) {
      T* const to = out.data_as<T>();
      for (int64_t i = 0; i < count; ++i) {
        const double chance = number(p[i]);
        if (!(chance >= 0 && chance <= 1))
          refuse(fmt::format("bernoulli: expected probabilities in [0, 1], got {}", chance));
        bool is_one;
        if constexpr (std::is_same_v<P, double>)
          is_one = state.uniform() < chance;
        else
          is_one = static_cast<double>(state.words() & 0xffffffU) * 0x1p-24 < chance;
        to[i] = static_cast<T>(is_one ? 1.0F : 0.0F);
      }
    });
  });
}

void random_poisson(RandomState& state, const Tensor& out, const Tensor& rate) {
  visit_floating(out, [&]<class T>(std::type_identity<T>) {
    const int64_t count = out.numel();
    for (int64_t i = 0; i < count; ++i) {
      const double each = number(rate.data_as<T>()[i]);
      if (!(each >= 0))
        refuse(fmt::format("poisson: invalid Poisson rate, expected rate to be non-negative, got {}", each));
      out.data_as<T>()[i] = rounded<T>(poisson(state, each));
    }
  });
}

void random_gamma(RandomState& state, const Tensor& out, const Tensor& concentration) {
  const auto draw = [&]<class T>(std::type_identity<T>) {
    const int64_t count = out.numel();
    for (int64_t i = 0; i < count; ++i)
      out.data_as<T>()[i] = std::max(std::numeric_limits<T>::min(),
                                     static_cast<T>(gamma(state, concentration.data_as<T>()[i])));
  };
  if (out.dtype() == DType::F64)
    draw(std::type_identity<double>{});
  else
    draw(std::type_identity<float>{});
}

void random_dirichlet(RandomState& state, const Tensor& out, const Tensor& concentration) {
  const int64_t count = out.numel(), width = out.size(-1);
  const auto draw = [&]<class T>(std::type_identity<T>) {
    const T greatest = std::nextafter(T(1), T(0));
    std::vector<double> row(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      row[static_cast<size_t>(i)] =
          std::max(std::numeric_limits<double>::min(),
                   gamma(state, static_cast<double>(concentration.data_as<T>()[i])));
    for (int64_t begin = 0; begin < count; begin += width) {
      double sum = 0;
      for (int64_t i = begin; i < begin + width; ++i) sum += row[static_cast<size_t>(i)];
      for (int64_t i = begin; i < begin + width; ++i)
        out.data_as<T>()[i] = std::min(greatest, std::max(std::numeric_limits<T>::min(),
                                                          static_cast<T>(row[static_cast<size_t>(i)] / sum)));
    }
  };
  if (out.dtype() == DType::F64)
    draw(std::type_identity<double>{});
  else
    draw(std::type_identity<float>{});
}

void random_binomial(RandomState& state, const Tensor& out, const Tensor& count, const Tensor& probability) {
  visit_floating(out, [&]<class T>(std::type_identity<T>) {
    const int64_t elements = out.numel();
    for (int64_t i = 0; i < elements; ++i)
      out.data_as<T>()[i] =
          rounded<T>(binomial(state, number(count.data_as<T>()[i]), number(probability.data_as<T>()[i])));
  });
}

void random_slopes(RandomState& state, const Tensor& out, const Tensor& x, double low, double high) {
  visit_floating(x, [&]<class T>(std::type_identity<T>) {
    const T* const from = x.data_as<T>();
    const int64_t count = out.numel();
    if constexpr (!std::is_same_v<T, double>) {
      low = static_cast<double>(static_cast<float>(low));
      high = static_cast<double>(static_cast<float>(high));
    }
    for (int64_t i = 0; i < count; ++i) {
      const double slope = number(from[i]) <= 0 ? state.uniform() * (high - low) + low : 1.0;
      if constexpr (std::is_same_v<T, double>)
        out.data_as<double>()[i] = slope;
      else
        out.data_as<float>()[i] = static_cast<float>(slope);
    }
  });
}

void random_multinomial(RandomState& state, const Tensor& out, const Tensor& weights, bool replacement,
                        bool by_columns) {
  const int64_t rows = out.size(0), samples = out.size(1), categories = weights.size(1);
  if (out.numel() == 0) return;
  auto* const to = out.data_as<int64_t>();
  visit_floating(weights, [&]<class T>(std::type_identity<T>) {
    const T* const from = weights.data_as<T>();
    if (replacement && samples > 1) {
      for (int64_t row = 0; row < rows; ++row)
        with_replacement(state, to + row * samples, samples, from + row * categories, categories);
      return;
    }
    check_weights(from, rows, categories);
    const Tensor scores = Tensor::empty({rows, categories}, weights.dtype());
    T* const score = scores.data_as<T>();
    if (by_columns) {
      const Tensor columns = Tensor::empty({categories, rows}, weights.dtype());
      random_exponential(state, columns, 1);
      for (int64_t i = 0; i < rows * categories; ++i)
        score[i] = columns.data_as<T>()[i % categories * rows + i / categories];
    } else {
      random_exponential(state, scores, 1);
    }
    for (int64_t i = 0; i < rows * categories; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        score[i] = from[i] / score[i];
      else
        score[i] = T(static_cast<float>(from[i]) / static_cast<float>(score[i]));
    }
    for (int64_t row = 0; row < rows; ++row)
      without_replacement(to + row * samples, samples, score + row * categories, categories);
  });
}

}  // namespace weft::kernels
