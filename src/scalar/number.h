// Number<T>: a C++ number with exactly the arithmetic of one array element.
//
// Plain C++ integers promote to int and have undefined overflow; a Number stays in its type and wraps, as
// NumPy's and PyTorch's elements do. Operators' generic lambdas run over Number<T> (the eager kernel) and
// over Expr (the expression the code generator prints), so both types offer the same operators.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "scalar/complex_formulas.h"
#include "weft/dtype.h"

namespace weft::scalar {

template <class T>
inline constexpr bool is_complex_v =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool is_float_v = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_int_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_bool_v = std::is_same_v<T, bool>;

template <class T>
struct real_of {
  using type = T;
};
template <class T>
struct real_of<std::complex<T>> {
  using type = T;
};

// Conversion between element types, as array casts do it: complex to real drops the imaginary part, anything
// to bool asks whether it differs from zero.
template <class To, class From>
constexpr To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(convert<float>(value));
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      using R = typename To::value_type;
      return To(static_cast<R>(value.real()), static_cast<R>(value.imag()));
    } else if constexpr (is_bool_v<To>) {
      return value.real() != 0 || value.imag() != 0;
    } else {
      return static_cast<To>(value.real());
    }
  } else if constexpr (is_complex_v<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (is_bool_v<To>) {
    return value != From(0);
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
struct Number {
  using type = T;
  T value;
  constexpr Number() = default;
  constexpr explicit Number(T v) : value(v) {}
};

template <class T>
constexpr ComplexParts<Number<T>> parts_of(Number<std::complex<T>> a) {
  return {Number<T>(a.value.real()), Number<T>(a.value.imag())};
}
template <class T>
constexpr Number<std::complex<T>> joined(const ComplexParts<Number<T>>& a) {
  return Number<std::complex<T>>(std::complex<T>(a.re.value, a.im.value));
}

// The unsigned type in which integer arithmetic wraps without promotion surprises.
template <class T>
using wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
constexpr Number<T> operator+(Number<T> a, Number<T> b) {
  if constexpr (is_bool_v<T>)
    return Number<T>(a.value || b.value);
  else if constexpr (is_int_v<T>)
    return Number<T>(static_cast<T>(wrapping<T>(a.value) + wrapping<T>(b.value)));
  else
    return Number<T>(a.value + b.value);
}
template <class T>
constexpr Number<T> operator-(Number<T> a, Number<T> b) {
  if constexpr (is_bool_v<T>)
    return Number<T>(a.value != b.value);
  else if constexpr (is_int_v<T>)
    return Number<T>(static_cast<T>(wrapping<T>(a.value) - wrapping<T>(b.value)));
  else
    return Number<T>(a.value - b.value);
}
template <class T>
constexpr Number<T> operator*(Number<T> a, Number<T> b) {
  if constexpr (is_bool_v<T>)
    return Number<T>(a.value && b.value);
  else if constexpr (is_int_v<T>)
    return Number<T>(static_cast<T>(wrapping<T>(a.value) * wrapping<T>(b.value)));
  else if constexpr (is_complex_v<T>) {
    return joined(product(parts_of(a), parts_of(b)));
  } else
    return Number<T>(a.value * b.value);
}
// Integers: truncated; division by zero gives 0, the lowest value divided by -1 wraps.
template <class T>
constexpr Number<T> operator/(Number<T> a, Number<T> b) {
  if constexpr (is_bool_v<T>) {
    return Number<T>(a.value && b.value);
  } else if constexpr (is_int_v<T>) {
    if (b.value == 0) return Number<T>(T(0));
    if constexpr (std::is_signed_v<T>) {
      if (b.value == T(-1)) return Number<T>(static_cast<T>(wrapping<T>(0) - wrapping<T>(a.value)));
    }
    return Number<T>(static_cast<T>(a.value / b.value));
  } else if constexpr (is_complex_v<T>) {
    return joined(quotient(parts_of(a), parts_of(b)));
  } else {
    return Number<T>(a.value / b.value);
  }
}
template <class T>
constexpr Number<T> operator-(Number<T> a) {
  if constexpr (is_bool_v<T>)
    return a;
  else if constexpr (is_int_v<T>)
    return Number<T>(static_cast<T>(wrapping<T>(0) - wrapping<T>(a.value)));
  else
    return Number<T>(-a.value);
}

// Complex numbers order by real, then imaginary part, as NumPy's do.
template <class T>
constexpr Number<bool> operator<(Number<T> a, Number<T> b) {
  if constexpr (is_complex_v<T>)
    return is_less(parts_of(a), parts_of(b));
  else
    return Number<bool>(a.value < b.value);
}
template <class T>
constexpr Number<bool> operator<=(Number<T> a, Number<T> b) {
  if constexpr (is_complex_v<T>)
    return is_less_equal(parts_of(a), parts_of(b));
  else
    return Number<bool>(a.value <= b.value);
}
template <class T>
constexpr Number<bool> operator>(Number<T> a, Number<T> b) {
  return b < a;
}
template <class T>
constexpr Number<bool> operator>=(Number<T> a, Number<T> b) {
  return b <= a;
}
template <class T>
constexpr Number<bool> operator==(Number<T> a, Number<T> b) {
  return Number<bool>(a.value == b.value);
}
template <class T>
constexpr Number<bool> operator!=(Number<T> a, Number<T> b) {
  return Number<bool>(a.value != b.value);
}

template <class T>
  requires std::is_integral_v<T>
constexpr Number<T> operator&(Number<T> a, Number<T> b) {
  return Number<T>(static_cast<T>(a.value & b.value));
}
template <class T>
  requires std::is_integral_v<T>
constexpr Number<T> operator|(Number<T> a, Number<T> b) {
  return Number<T>(static_cast<T>(a.value | b.value));
}
template <class T>
  requires std::is_integral_v<T>
constexpr Number<T> operator^(Number<T> a, Number<T> b) {
  return Number<T>(static_cast<T>(a.value ^ b.value));
}
// Logical on bool, bitwise on integers.
template <class T>
  requires std::is_integral_v<T>
constexpr Number<T> operator~(Number<T> a) {
  if constexpr (is_bool_v<T>)
    return Number<T>(!a.value);
  else
    return Number<T>(static_cast<T>(~a.value));
}

// A literal takes the other operand's type.
#define WEFT_NUMBER_LITERAL(OP)                       \
  template <class T>                                  \
  constexpr auto operator OP(Number<T> a, double b) { \
    return a OP Number<T>(convert<T>(b));             \
  }                                                   \
  template <class T>                                  \
  constexpr auto operator OP(double a, Number<T> b) { \
    return Number<T>(convert<T>(a)) OP b;             \
  }
WEFT_NUMBER_LITERAL(+)
WEFT_NUMBER_LITERAL(-)
WEFT_NUMBER_LITERAL(*)
WEFT_NUMBER_LITERAL(/)
WEFT_NUMBER_LITERAL(<)
WEFT_NUMBER_LITERAL(<=)
WEFT_NUMBER_LITERAL(>)
WEFT_NUMBER_LITERAL(>=)
WEFT_NUMBER_LITERAL(==)
WEFT_NUMBER_LITERAL(!=)
#undef WEFT_NUMBER_LITERAL

template <class T>
constexpr Number<T> select(Number<bool> condition, Number<T> a, Number<T> b) {
  return condition.value ? a : b;
}
template <class T>
constexpr Number<T> constant_like(double value, Number<T>) {
  return Number<T>(convert<T>(value));
}
template <class To, class T>
constexpr Number<To> cast(Number<T> a) {
  return Number<To>(convert<To>(a.value));
}
template <class T, class U>
constexpr Number<T> cast_like(Number<U> a, Number<T>) {
  return Number<T>(convert<T>(a.value));
}
template <class T>
constexpr DType dtype(Number<T>) {
  return dtype_of<T>::value;
}

}  // namespace weft::scalar
