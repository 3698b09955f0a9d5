#include "kernels/cpu/norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/floats.h"
#include "kernels/cpu/vector_sum.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

template <class T>
const T* data_or_null(const Tensor& parameter) {
  return parameter.defined() ? parameter.data_as<T>() : nullptr;
}

template <class T>
struct Moments {
  T mean, factor;

  Moments(const T* x, int64_t size, bool centre, double eps) {
    const double count = static_cast<double>(size);
    mean = centre ? static_cast<T>(vector_sum(x, size, [](T value) { return value; }) / count) : T(0);
    const double squares = vector_sum(x, size, [this](T value) { return (value - mean) * (value - mean); });
    factor = static_cast<T>(1 / std::sqrt(squares / count + eps));
  }
};

template <class T>
void scale_row(const T* __restrict x, int64_t size, T mean, T factor, T bias, T* __restrict y) {
  for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean) * factor + bias;
}

// One parameter per element; null where there is none.
template <class T>
void scale_row(const T* __restrict x, int64_t size, const Moments<T>& by, const T* __restrict weight,
               const T* __restrict bias, T* __restrict y) {
  if (weight && bias) {
    for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - by.mean) * by.factor * weight[i] + bias[i];
    return;
  }
  for (int64_t i = 0; i < size; ++i) y[i] = (x[i] - by.mean) * by.factor;
  if (weight) {
    for (int64_t i = 0; i < size; ++i) y[i] *= weight[i];
  }
  if (bias) {
    for (int64_t i = 0; i < size; ++i) y[i] += bias[i];
  }
}

// body(row) for every row, on several threads.
template <class F>
void for_rows(int64_t rows, int64_t size, F&& body) {
  parallel_for(0, rows, std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) body(row);
               });
}

}  // namespace

void normalize_rows(const Tensor& x, int64_t size, bool centre, double eps, const Tensor& weight,
                    const Tensor& bias, const Tensor& result) {
  if (x.numel() == 0) return;
  visit_float(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for_rows(x.numel() / size, size, [&](int64_t row) {
      const T* source = x.data_as<T>() + row * size;
      const Moments<T> by(source, size, centre, eps);
      scale_row(source, size, by, data_or_null<T>(weight), data_or_null<T>(bias),
                result.data_as<T>() + row * size);
    });
  });
}

void normalize_groups(const Tensor& x, int64_t channels, int64_t groups, int64_t inner, double eps,
                      const Tensor& weight, const Tensor& bias, const Tensor& result) {
  if (x.numel() == 0) return;
  const int64_t each = channels / groups, size = each * inner;
  visit_float(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T *weights = data_or_null<T>(weight), *biases = data_or_null<T>(bias);
    for_rows(x.numel() / size, size, [&](int64_t row) {
      const T* source = x.data_as<T>() + row * size;
      T* target = result.data_as<T>() + row * size;
      const Moments<T> by(source, size, true, eps);
      for (int64_t c = 0; c < each; ++c) {
        const int64_t channel = row % groups * each + c;
        const T factor = weights ? by.factor * weights[channel] : by.factor;
        scale_row(source + c * inner, inner, by.mean, factor, biases ? biases[channel] : T(0),
                  target + c * inner);
      }
    });
  });
}

void scale_channels(const Tensor& x, int64_t inner, const Tensor& mean, const Tensor& factor,
                    const Tensor& bias, const Tensor& result) {
  if (x.numel() == 0) return;
  const int64_t channels = mean.numel();
  visit_float(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T *means = mean.data_as<T>(), *factors = factor.data_as<T>(), *biases = data_or_null<T>(bias);
    const T* source = x.data_as<T>();
    T* target = result.data_as<T>();
    if (inner > 1) {
      for_rows(x.numel() / inner, inner, [&](int64_t row) {
        const int64_t channel = row % channels;
        scale_row(source + row * inner, inner, means[channel], factors[channel],
                  biases ? biases[channel] : T(0), target + row * inner);
      });
      return;
    }
    for_rows(x.numel() / channels, channels, [&](int64_t row) {
      const T* __restrict from = source + row * channels;
      T* __restrict to = target + row * channels;
      if (biases) {
        for (int64_t c = 0; c < channels; ++c) to[c] = (from[c] - means[c]) * factors[c] + biases[c];
      } else {
        for (int64_t c = 0; c < channels; ++c) to[c] = (from[c] - means[c]) * factors[c];
      }
    });
  });
}

}  // namespace weft::kernels
