#include "kernels/cpu/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cpu/random_blocks.h"
#include "weft/detail/visit_dtype.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr int64_t kBatch = 1024;  // numbers at a time; their words stay in the first-level cache

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool kIsComplexNumber =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// What a double or an integer becomes.
template <class T, class V>
T as(V value) {
  if constexpr (kIsHalf<T>)
    return T(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (kIsComplexNumber<T>)
    return T(static_cast<typename T::value_type>(value));
  else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<V>)
    return static_cast<T>(static_cast<int64_t>(value));
  else
    return static_cast<T>(value);
}

// f(u) of `count` uniform numbers of 53 bits, in order.
template <class T, class F>
void from_doubles(RandomState& state, T* out, int64_t count, F f) {
  std::array<uint32_t, 2 * kBatch> words;
  std::array<double, kBatch> numbers;
  for (int64_t begin = 0; begin < count; begin += kBatch) {
    const int64_t taken = std::min(kBatch, count - begin);
    state.words.draw(words.data(), 2 * taken);
    doubles_of_words(words.data(), numbers.data(), taken);
    for (int64_t i = 0; i < taken; ++i) out[begin + i] = as<T>(f(numbers[static_cast<size_t>(i)]));
  }
}

template <class F>
void visit_out(const Tensor& out, F f) {
  if (out.numel() == 0) return;
  visit_dtype(out.dtype(), [&]<class T>(std::type_identity<T>) { f(out.data_as<T>(), out.numel()); });
}

template <class F>
void transform(RandomState& state, const Tensor& out, F f) {
  visit_out(out, [&]<class T>(T* to, int64_t count) { from_doubles(state, to, count, f); });
}

// A number of a half precision that was rounded up to the end of the range is the start of it.
template <class T>
void uniform_halves(RandomState& state, T* out, int64_t count, float low, float high) {
  std::array<float, kBatch> numbers;
  const float end = T(high), start = T(low);
  for (int64_t begin = 0; begin < count; begin += kBatch) {
    const int64_t taken = std::min(kBatch, count - begin);
    uniform_floats(state, numbers.data(), taken, low, high);
    for (int64_t i = 0; i < taken; ++i) {
      const T rounded(numbers[static_cast<size_t>(i)]);
      out[begin + i] = static_cast<float>(rounded) >= end ? T(start) : rounded;
    }
  }
}

template <class T>
void normal_one_by_one(RandomState& state, T* out, int64_t count, double mean, double deviation) {
  for (int64_t i = 0; i < count; ++i) out[i] = as<T>(std::fma(state.normal(), deviation, mean));
}

// Sixteen uniform numbers become eight pairs of normal ones; the sine's stand behind the cosine's.
template <class T, class V>
void normal_block(T* out, const V* uniform, V mean, V deviation) {
  for (int i = 0; i < 8; ++i) {
    const V radius = std::sqrt(V(-2) * std::log(V(1) - uniform[i]));
    const V angle = V(2 * M_PI) * uniform[i + 8];
    out[i] = as<T>(radius * std::cos(angle) * deviation + mean);
    out[i + 8] = as<T>(radius * std::sin(angle) * deviation + mean);
  }
}

void normal_doubles(RandomState& state, double* out, int64_t count, double mean, double deviation) {
  from_doubles(state, out, count, [](double u) { return u; });
  for (int64_t i = 0; i + 16 <= count; i += 16) {
    std::array<double, 16> block;
    std::copy_n(out + i, 16, block.data());
    normal_block(out + i, block.data(), mean, deviation);
  }
  if (count % 16 == 0) return;
  std::array<double, 16> block;
  from_doubles(state, block.data(), 16, [](double u) { return u; });
  normal_block(out + count - 16, block.data(), mean, deviation);
}

template <class T>
void normal_halves(RandomState& state, T* out, int64_t count, float mean, float deviation) {
  const auto fill = [&](T* to) {
    std::array<float, 16> block;
    uniform_floats(state, block.data(), 16, 0, 1);
    normal_block(to, block.data(), mean, deviation);
  };
  for (int64_t i = 0; i + 16 <= count; i += 16) fill(out + i);
  if (count % 16 != 0) fill(out + count - 16);
}

template <class T>
void normal_numbers(RandomState& state, T* out, int64_t count, double mean, double deviation, bool blocks) {
  if (!blocks || count < 16) return normal_one_by_one(state, out, count, mean, deviation);
  if constexpr (std::is_same_v<T, float>)
    normal_floats(state, out, count, static_cast<float>(mean), static_cast<float>(deviation));
  else if constexpr (std::is_same_v<T, double>)
    normal_doubles(state, out, count, mean, deviation);
  else if constexpr (kIsHalf<T>)
    normal_halves(state, out, count, static_cast<float>(mean), static_cast<float>(deviation));
}

}  // namespace

// Box and Muller's: the cosine's number now, the sine's next time.
double RandomState::normal() {
  if (next_normal) {
    const double value = *next_normal;
    next_normal.reset();
    return value;
  }
  const double u1 = uniform(), u2 = uniform();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * M_PI * u1;
  next_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void random_uniform(RandomState& state, const Tensor& out, double low, double high) {
  visit_out(out, [&]<class T>(T* to, int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      uniform_floats(state, to, count, static_cast<float>(low), static_cast<float>(high));
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      uniform_floats(state, reinterpret_cast<float*>(to), 2 * count, static_cast<float>(low),
                     static_cast<float>(high));
    } else if constexpr (kIsHalf<T>) {
      uniform_halves(state, to, count, static_cast<float>(low), static_cast<float>(high));
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      from_doubles(state, reinterpret_cast<double*>(to), 2 * count,
                   [=](double u) { return std::fma(u, high - low, low); });
    } else if constexpr (std::is_same_v<T, double>) {
      from_doubles(state, to, count, [=](double u) {
        const double value = std::fma(u, high - low, low);
        return value >= high ? low : value;
      });
    }
  });
}

void random_normal(RandomState& state, const Tensor& out, double mean, double deviation, bool blocks) {
  visit_out(out, [&]<class T>(T* to, int64_t count) {
    if constexpr (kIsComplexNumber<T>)
      normal_numbers(state, reinterpret_cast<typename T::value_type*>(to), 2 * count, mean,
                     deviation / std::sqrt(2.0), blocks);
    else
      normal_numbers(state, to, count, mean, deviation, blocks);
  });
}

void random_bernoulli(RandomState& state, const Tensor& out, double probability) {
  transform(state, out, [=](double u) { return static_cast<int>(u < probability); });
}

void random_exponential(RandomState& state, const Tensor& out, double rate) {
  const double scale = -1.0 / rate;
  transform(state, out, [=](double u) { return scale * std::log1p(-u); });
}

void random_cauchy(RandomState& state, const Tensor& out, double median, double sigma) {
  transform(state, out, [=](double u) { return std::fma(sigma, std::tan(M_PI * (u - 0.5)), median); });
}

void random_log_normal(RandomState& state, const Tensor& out, double mean, double deviation) {
  visit_out(out, [&]<class T>(T* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = as<T>(std::exp(std::fma(state.normal(), deviation, mean)));
  });
}

void random_geometric(RandomState& state, const Tensor& out, double probability) {
  const double denominator = std::log1p(-probability);
  transform(state, out, [=](double u) { return std::ceil(std::log(u) / denominator); });
}

void random_integers(RandomState& state, const Tensor& out, int64_t low, uint64_t range) {
  visit_out(out, [&]<class T>(T* to, int64_t count) {
    const auto value = [&](uint64_t word) {
      return as<T>(static_cast<int64_t>(range == 0 ? word : word % range + static_cast<uint64_t>(low)));
    };
    if (range == 0 || range >= uint64_t{1} << 28) {
      for (int64_t i = 0; i < count; ++i) to[i] = value(state.word64());
      return;
    }
    std::array<uint32_t, kBatch> words;
    const auto small = static_cast<uint32_t>(range);
    for (int64_t begin = 0; begin < count; begin += kBatch) {
      const int64_t taken = std::min(kBatch, count - begin);
      state.words.draw(words.data(), taken);
      for (int64_t i = 0; i < taken; ++i)
        to[begin + i] = as<T>(static_cast<int64_t>(
            static_cast<uint64_t>(words[static_cast<size_t>(i)] % small) + static_cast<uint64_t>(low)));
    }
  });
}

void random_words(RandomState& state, const Tensor& out) {
  visit_out(out, [&]<class T>(T* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        to[i] = (state.words() & 1U) != 0;
      } else if constexpr (std::is_same_v<T, double>) {
        to[i] = static_cast<double>(state.word64() % ((uint64_t{1} << 53) + 1));
      } else if constexpr (std::is_same_v<T, float> || kIsHalf<T>) {
        constexpr int kDigits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, Half> ? 11 : 8;
        to[i] = as<T>(static_cast<float>(state.words() % ((uint64_t{1} << kDigits) + 1)));
      } else if constexpr (std::is_same_v<T, uint64_t>) {
        to[i] = state.word64();
      } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
        to[i] = static_cast<T>(state.word64() % (static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1));
      } else if constexpr (std::is_integral_v<T>) {
        to[i] = static_cast<T>(state.words() % (static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1));
      }
    }
  });
}

// Fisher and Yates' shuffle, from the front.
void random_permutation(RandomState& state, const Tensor& out) {
  const int64_t count = out.numel();
  auto* const to = out.data_as<int64_t>();
  for (int64_t i = 0; i < count; ++i) to[i] = i;
  const auto swap = [&](int64_t i, uint64_t word) { std::swap(to[i], to[i + static_cast<int64_t>(word)]); };
  if (count >= std::numeric_limits<uint32_t>::max() / 20) {
    for (int64_t i = 0; i + 1 < count; ++i) swap(i, state.word64() % static_cast<uint64_t>(count - i));
    return;
  }
  std::array<uint32_t, kBatch> words;
  for (int64_t begin = 0; begin + 1 < count; begin += kBatch) {
    const int64_t taken = std::min(kBatch, count - 1 - begin);
    state.words.draw(words.data(), taken);
    for (int64_t i = 0; i < taken; ++i)
      swap(begin + i, words[static_cast<size_t>(i)] % static_cast<uint32_t>(count - begin - i));
  }
}

}  // namespace weft::kernels
