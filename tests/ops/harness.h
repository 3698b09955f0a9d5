// What every operator is tested with: operands of each dtype in each memory layout, special values included.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "scalar/evaluate.h"
#include "support/error_of.h"

namespace weft::ops::harness {

inline std::vector<DType> dtypes_in(DTypeSet set) {
  std::vector<DType> dtypes;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (set & dtype_bit(static_cast<DType>(i))) dtypes.push_back(static_cast<DType>(i));
  }
  return dtypes;
}

// Values from [low, high]; with `special`, every third is an extreme or non-finite one.
inline Tensor sample(const Shape& shape, DType dtype, double low, double high, unsigned seed,
                     bool special = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  const double inf = std::numeric_limits<double>::infinity();
  const double floats[] = {0.0, -0.0, inf, -inf, std::nan(""), 1, -1, 2, 0.5, 1e30, -1e30, 1e-40, 65504, 1e5};
  const Tensor real = Tensor::empty(shape, DType::F64), imaginary = Tensor::empty(shape, DType::F64);
  for (int64_t i = 0; i < real.numel(); ++i) {
    const bool pick = special && random() % 3 != 0;
    real.data_as<double>()[i] = pick ? floats[random() % std::size(floats)] : uniform(random);
    imaginary.data_as<double>()[i] = pick ? floats[random() % std::size(floats)] : uniform(random);
  }
  if (is_inexact(dtype)) {
    if (!is_complex(dtype)) return real.to(dtype);
    Tensor result = Tensor::empty(shape, DType::C128);
    for (int64_t i = 0; i < real.numel(); ++i)
      result.data_as<std::complex<double>>()[i] = {real.data_as<double>()[i], imaginary.data_as<double>()[i]};
    return result.to(dtype);
  }
  const Tensor result = Tensor::empty(shape, dtype);
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const T extremes[] = {
          std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0), T(1), static_cast<T>(-1), T(2)};
      for (int64_t i = 0; i < result.numel(); ++i) {
        const bool pick = special && random() % 3 != 0;
        const double value = std::floor(std::uniform_real_distribution<double>(low, high + 1)(random));
        result.data_as<T>()[i] = pick                      ? extremes[random() % std::size(extremes)]
                                 : std::is_same_v<T, bool> ? static_cast<T>(random() % 2 != 0)
                                                           : static_cast<T>(static_cast<int64_t>(value));
      }
    }
  });
  return result;
}

enum class Layout { Contiguous, Transposed, Negative, Offset, Broadcast, kCount };

inline const char* layout_name(Layout layout) {
  constexpr const char* kNames[] = {"contiguous", "transposed", "negative stride", "offset", "broadcast"};
  return kNames[static_cast<int>(layout)];
}

// The same elements as `x` stored differently. Broadcast: those of x[0] repeated along the first dimension.
inline Tensor with_layout(const Tensor& x, Layout layout) {
  const int64_t ndim = x.dim();
  if (layout == Layout::Contiguous || ndim == 0) return x.clone();
  Strides strides = x.strides();
  Tensor view;
  switch (layout) {
    case Layout::Transposed: {
      Shape reversed(x.shape().rbegin(), x.shape().rend());
      const Tensor storage = Tensor::empty(reversed, x.dtype());
      Strides back(storage.strides().rbegin(), storage.strides().rend());
      view = storage.as_strided(x.shape(), back, 0);
      break;
    }
    case Layout::Negative: {
      const Tensor storage = Tensor::empty(x.shape(), x.dtype());
      strides = storage.strides();
      strides.back() = -strides.back();
      view = storage.as_strided(x.shape(), strides, std::max<int64_t>(0, x.shape().back() - 1));
      break;
    }
    case Layout::Offset: {
      Shape larger = x.shape();
      larger.back() = larger.back() * 2 + 3;
      const Tensor storage = Tensor::empty(larger, x.dtype());
      strides = storage.strides();
      strides.back() *= 2;
      view = storage.as_strided(x.shape(), strides, 3);
      break;
    }
    case Layout::Broadcast: {
      Tensor storage = x.clone();
      strides = storage.strides();
      strides[0] = 0;
      return storage.as_strided(x.shape(), strides, 0);
    }
    default: break;
  }
  view.copy_from(x);
  return view;
}

// Attributes with the schema's defaults, and something sensible where there is none.
inline Attrs default_attrs(const OpDef& op) {
  Attrs attrs;
  for (const Param& param : op.params) {
    if (param.type == Param::Type::Tensor) continue;
    if (param.has_default)
      attrs.set(param.name, param.default_value);
    else if (param.type == Param::Type::Scalar)
      attrs.set(param.name, Scalar(1));
    else if (param.type == Param::Type::DType)
      attrs.set(param.name, DType::F32);
  }
  return attrs;
}

inline size_t operand_count(const OpDef& op) {
  size_t count = 0;
  for (const Param& param : op.params) count += param.type == Param::Type::Tensor;
  return count;
}

inline scalar::Element element_at(const Tensor& x, int64_t flat) {
  int64_t position = 0;
  for (int64_t d = x.dim(); d-- > 0;) {
    position += flat % x.shape()[static_cast<size_t>(d)] * x.strides()[static_cast<size_t>(d)];
    flat /= x.shape()[static_cast<size_t>(d)];
  }
  scalar::Element element;
  element.dtype = x.dtype();
  const auto size = static_cast<int64_t>(itemsize(x.dtype()));
  std::memcpy(element.bytes, static_cast<const std::byte*>(x.data()) + position * size,
              static_cast<size_t>(size));
  return element;
}

// Equal bits, or both NaN (part by part).
inline bool same_element(const scalar::Element& a, const scalar::Element& b) {
  if (a.dtype != b.dtype) return false;
  return visit_dtype(a.dtype, [&]<class T>(std::type_identity<T>) {
    const auto same = [](auto x, auto y) { return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y); };
    const T x = a.as<T>(), y = b.as<T>();
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return same(static_cast<float>(x), static_cast<float>(y));
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      return same(x.real(), y.real()) && same(x.imag(), y.imag());
    } else {
      return same(x, y);
    }
  });
}

inline std::string element_text(const scalar::Element& element) {
  return visit_dtype(element.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      return std::to_string(element.as<T>().real()) + "+" + std::to_string(element.as<T>().imag()) + "j";
    } else {
      return std::to_string(static_cast<double>(element.as<T>()));
    }
  });
}

// Reports the first differing element.
inline ::testing::AssertionResult same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return ::testing::AssertionFailure() << describe(a) << " against " << describe(b);
  for (int64_t i = 0; i < a.numel(); ++i) {
    const scalar::Element x = element_at(a, i), y = element_at(b, i);
    if (!same_element(x, y))
      return ::testing::AssertionFailure()
             << "element " << i << ": " << element_text(x) << " against " << element_text(y);
  }
  return ::testing::AssertionSuccess();
}

using testing_support::error_of;

}  // namespace weft::ops::harness
