// The total order that sorting and searching use: NaN after every number, complex by real then imaginary
// part.
#pragma once

#include <complex>
#include <type_traits>

#include "weft/dtype.h"

namespace weft::ops {

template <class T>
struct Order {
  // a comes before b.
  static bool less(const T& a, const T& b) { return a < b; }
};

template <class T>
  requires std::is_floating_point_v<T>
struct Order<T> {
  static bool less(T a, T b) { return a < b || (b != b && a == a); }
};

template <>
struct Order<Half> {
  static bool less(Half a, Half b) { return Order<float>::less(a, b); }
};
template <>
struct Order<BFloat16> {
  static bool less(BFloat16 a, BFloat16 b) { return Order<float>::less(a, b); }
};

// As NumPy: a NaN in either part comes last; among those, the ones whose real part is a number come first.
template <class R>
struct Order<std::complex<R>> {
  static bool less(const std::complex<R>& a, const std::complex<R>& b) {
    const bool a_nan = a.real() != a.real(), b_nan = b.real() != b.real();
    const bool a_any = a_nan || a.imag() != a.imag(), b_any = b_nan || b.imag() != b.imag();
    if (a_any != b_any) return b_any;
    if (Order<R>::less(a.real(), b.real())) return true;
    if (Order<R>::less(b.real(), a.real())) return false;
    return Order<R>::less(a.imag(), b.imag());
  }
};

template <class T>
inline constexpr bool kIsComplexType = false;
template <class R>
inline constexpr bool kIsComplexType<std::complex<R>> = true;
template <class T>
inline constexpr bool kHasNan = std::is_floating_point_v<T> || std::is_same_v<T, Half> ||
                                std::is_same_v<T, BFloat16> || kIsComplexType<T>;

template <class T>
bool is_nan(const T& value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(value) != static_cast<float>(value);
  else
    return value != value;
}

}  // namespace weft::ops
