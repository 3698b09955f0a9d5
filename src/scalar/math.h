// The functions of scalar expressions, for C++ numbers: each is the twin of the Expr function of the same
// name (scalar/expr.h), and together they define what a primitive means.
#pragma once

#include <cmath>
#include <complex>
#include <limits>

#include "scalar/math_functions.h"
#include "scalar/number.h"

namespace weft::scalar {

// ---- transcendental functions: weft's own, and the standard library's for complex numbers -----------------
#define WEFT_DEFINE_OWN(PRIM, NAME)              \
  template <class T>                             \
    requires is_float_v<T>                       \
  Number<T> NAME(Number<T> a) {                  \
    if constexpr (std::is_same_v<T, float>)      \
      return Number<T>(weft_##NAME##f(a.value)); \
    else                                         \
      return Number<T>(weft_##NAME(a.value));    \
  }
WEFT_FOR_EACH_OWN_UNARY(WEFT_DEFINE_OWN)
#define WEFT_DEFINE_OWN_BINARY(PRIM, NAME)                \
  template <class T>                                      \
    requires is_float_v<T>                                \
  Number<T> NAME(Number<T> a, Number<T> b) {              \
    if constexpr (std::is_same_v<T, float>)               \
      return Number<T>(weft_##NAME##f(a.value, b.value)); \
    else                                                  \
      return Number<T>(weft_##NAME(a.value, b.value));    \
  }
WEFT_FOR_EACH_ELEMENTARY_BINARY(WEFT_DEFINE_OWN_BINARY)
#undef WEFT_DEFINE_OWN_BINARY
#undef WEFT_DEFINE_OWN

#define WEFT_DEFINE_COMPLEX(NAME)                           \
  template <class R>                                        \
  Number<std::complex<R>> NAME(Number<std::complex<R>> a) { \
    return Number<std::complex<R>>(std::NAME(a.value));     \
  }
WEFT_DEFINE_COMPLEX(exp)
WEFT_DEFINE_COMPLEX(log)
WEFT_DEFINE_COMPLEX(log10)
WEFT_DEFINE_COMPLEX(sin)
WEFT_DEFINE_COMPLEX(cos)
WEFT_DEFINE_COMPLEX(tan)
WEFT_DEFINE_COMPLEX(asin)
WEFT_DEFINE_COMPLEX(acos)
WEFT_DEFINE_COMPLEX(atan)
WEFT_DEFINE_COMPLEX(sinh)
WEFT_DEFINE_COMPLEX(cosh)
WEFT_DEFINE_COMPLEX(tanh)
WEFT_DEFINE_COMPLEX(asinh)
WEFT_DEFINE_COMPLEX(acosh)
WEFT_DEFINE_COMPLEX(atanh)
#undef WEFT_DEFINE_COMPLEX
// As NumPy has it: products for small whole exponents, and not a number where zero is raised to what has no
// positive real part.
template <class R>
Number<std::complex<R>> pow(Number<std::complex<R>> a, Number<std::complex<R>> b) {
  using Complex = Number<std::complex<R>>;
  const R exponent = b.value.real();
  const bool is_real = b.value.imag() == 0;
  if (b.value == std::complex<R>(0)) return Complex(std::complex<R>(1));
  if (a.value == std::complex<R>(0)) {
    constexpr R nan = std::numeric_limits<R>::quiet_NaN();
    return Complex(exponent > 0 ? std::complex<R>(0) : std::complex<R>(nan, nan));
  }
  if (is_real && std::fabs(exponent) < 100 && exponent == std::trunc(exponent)) {
    // Every product rounded, unlike those of arrays.
    const auto times = [](Complex x, Complex y) {
      const R re = x.value.real() * y.value.real() - x.value.imag() * y.value.imag();
      return Complex({re, x.value.real() * y.value.imag() + x.value.imag() * y.value.real()});
    };
    if (exponent == 1) return a;
    if (exponent == 2) return times(a, a);
    if (exponent == 3) return times(a, times(a, a));
    Complex result(std::complex<R>(1)), square = a;
    for (int left = static_cast<int>(std::fabs(exponent)); left > 0; left >>= 1) {
      if (left & 1) result = times(result, square);
      if (left > 1) square = times(square, square);
    }
    return exponent < 0 ? Complex(std::complex<R>(1)) / result : result;
  }
  return Complex(std::pow(a.value, b.value));
}

// ---- exactly rounded functions; rounding leaves integers as they are
// -------------------------------------------------------------------------
template <class T>
  requires(is_float_v<T> || is_complex_v<T>)
Number<T> sqrt(Number<T> a) {
  return Number<T>(std::sqrt(a.value));
}
template <class T>
Number<T> floor(Number<T> a) {
  if constexpr (is_float_v<T>)
    return Number<T>(std::floor(a.value));
  else
    return a;
}
template <class T>
Number<T> ceil(Number<T> a) {
  if constexpr (is_float_v<T>)
    return Number<T>(std::ceil(a.value));
  else
    return a;
}
template <class T>
Number<T> trunc(Number<T> a) {
  if constexpr (is_float_v<T>)
    return Number<T>(std::trunc(a.value));
  else
    return a;
}
template <class T>
Number<T> round_even(Number<T> a) {
  if constexpr (is_float_v<T>)
    return Number<T>(std::nearbyint(a.value));
  else
    return a;
}
template <class T>
  requires is_float_v<T>
Number<T> fma(Number<T> a, Number<T> b, Number<T> c) {
  return Number<T>(std::fma(a.value, b.value, c.value));
}
template <class T>
constexpr Number<bool> isnan(Number<T> a) {
  return Number<bool>(a.value != a.value);
}

template <class T>
Number<typename real_of<T>::type> abs(Number<T> a) {
  if constexpr (is_complex_v<T>) {
    return magnitude(parts_of(a));
  } else if constexpr (is_float_v<T>) {
    return Number<T>(std::fabs(a.value));
  } else if constexpr (std::is_signed_v<T>) {
    return a.value < 0 ? -a : a;
  } else {
    return a;
  }
}
template <class T>
constexpr Number<typename real_of<T>::type> real(Number<T> a) {
  if constexpr (is_complex_v<T>)
    return Number<typename T::value_type>(a.value.real());
  else
    return a;
}
template <class T>
constexpr Number<typename real_of<T>::type> imag(Number<T> a) {
  if constexpr (is_complex_v<T>)
    return Number<typename T::value_type>(a.value.imag());
  else
    return Number<T>(T(0));
}
template <class T>
  requires is_float_v<T>
constexpr Number<std::complex<T>> make_complex(Number<T> re, Number<T> im) {
  return Number<std::complex<T>>(std::complex<T>(re.value, im.value));
}
template <class T>
constexpr Number<T> conj(Number<T> a) {
  if constexpr (is_complex_v<T>)
    return Number<T>(std::conj(a.value));
  else
    return a;
}
template <class T>
  requires is_float_v<T>
Number<T> copysign(Number<T> a, Number<T> b) {
  return Number<T>(std::copysign(a.value, b.value));
}
template <class T>
  requires is_float_v<T>
Number<T> nextafter(Number<T> a, Number<T> b) {
  if constexpr (std::is_same_v<T, float>)
    return Number<T>(weft_nextafterf(a.value, b.value));
  else
    return Number<T>(weft_nextafter(a.value, b.value));
}

// ---- smallest and largest --------------------------------------------------------------------------------
// A NaN operand gives NaN; of two equal operands (zeros of either sign) the first.
template <class T>
constexpr Number<T> minimum(Number<T> a, Number<T> b) {
  // A complex number that is NaN in its imaginary part only still has an order.
  if constexpr (is_complex_v<T>)
    return ((a <= b) & ~isnan(b)).value || isnan(a).value ? a : b;
  else
    return ((a <= b) | isnan(a)).value ? a : b;
}
template <class T>
constexpr Number<T> maximum(Number<T> a, Number<T> b) {
  // A complex number that is NaN in its imaginary part only still has an order.
  if constexpr (is_complex_v<T>)
    return ((a >= b) & ~isnan(b)).value || isnan(a).value ? a : b;
  else
    return ((a >= b) | isnan(a)).value ? a : b;
}
// A NaN operand gives the other one.
template <class T>
constexpr Number<T> fmin(Number<T> a, Number<T> b) {
  if constexpr (is_complex_v<T>)
    return ((a <= b) & ~isnan(a)).value || isnan(b).value ? a : b;
  else
    return ((a <= b) | isnan(b)).value ? a : b;
}
template <class T>
constexpr Number<T> fmax(Number<T> a, Number<T> b) {
  if constexpr (is_complex_v<T>)
    return ((a >= b) & ~isnan(a)).value || isnan(b).value ? a : b;
  else
    return ((a >= b) | isnan(b)).value ? a : b;
}

// ---- division with remainder -----------------------------------------------------------------------------
// Sign of the dividend; integers: zero for a zero divisor.
template <class T>
  requires(is_float_v<T> || is_int_v<T>)
Number<T> rem(Number<T> a, Number<T> b) {
  if constexpr (std::is_same_v<T, float>) {
    return Number<T>(weft_fmodf(a.value, b.value));
  } else if constexpr (is_float_v<T>) {
    return Number<T>(weft_fmod(a.value, b.value));
  } else if constexpr (std::is_signed_v<T>) {
    return Number<T>(b.value == 0 || b.value == T(-1) ? T(0) : static_cast<T>(a.value % b.value));
  } else {
    return Number<T>(b.value == 0 ? T(0) : static_cast<T>(a.value % b.value));
  }
}
// Is a remainder of integers on the other side of zero than the divisor? Without branches, which would be
// guessed wrongly.
template <class T>
constexpr bool lies_across(T remainder, T divisor) {
  return static_cast<bool>((remainder != 0) & ((remainder ^ divisor) < 0));
}
// Sign of the divisor, a zero result included.
template <class T>
  requires(is_float_v<T> || is_int_v<T>)
Number<T> mod(Number<T> a, Number<T> b) {
  const Number<T> remainder = rem(a, b);
  if constexpr (is_float_v<T>) {
    if (remainder.value == 0) return copysign(Number<T>(T(0)), b);
    return (b.value < 0) != (remainder.value < 0) ? remainder + b : remainder;
  } else if constexpr (std::is_signed_v<T>) {
    const T added = static_cast<T>(b.value & -static_cast<T>(lies_across(remainder.value, b.value)));
    return Number<T>(static_cast<T>(remainder.value + added));
  } else {
    return remainder;
  }
}
// Rounded toward minus infinity. Floating: consistent with mod, as Python's divmod.
template <class T>
  requires(is_float_v<T> || is_int_v<T>)
Number<T> floor_div(Number<T> a, Number<T> b) {
  if constexpr (is_float_v<T>) {
    if (b.value == 0) return a / b;
    const T remainder = rem(a, b).value;
    T quotient = (a.value - remainder) / b.value;
    if (remainder != 0 && (b.value < 0) != (remainder < 0)) quotient -= T(1);
    if (quotient == 0) return copysign(Number<T>(T(0)), a / b);
    const T lower = std::floor(quotient);
    return Number<T>(quotient - lower > T(0.5) ? lower + T(1) : lower);
  } else if constexpr (std::is_signed_v<T>) {
    const Number<T> quotient = a / b;
    const bool is_above = lies_across(rem(a, b).value, b.value);
    return Number<T>(static_cast<T>(quotient.value - static_cast<T>(is_above)));
  } else {
    return a / b;
  }
}

// ---- integers
// ---------------------------------------------------------------------------------------------- Counts
// outside [0, width) shift everything out.
template <class T>
  requires is_int_v<T>
constexpr Number<T> shift_left(Number<T> a, Number<T> b) {
  using U = std::make_unsigned_t<T>;
  return Number<T>(static_cast<U>(b.value) < sizeof(T) * 8
                       ? static_cast<T>(static_cast<wrapping<T>>(a.value) << static_cast<U>(b.value))
                       : T(0));
}
template <class T>
  requires is_int_v<T>
constexpr Number<T> shift_right(Number<T> a, Number<T> b) {
  using U = std::make_unsigned_t<T>;
  if (static_cast<U>(b.value) < sizeof(T) * 8)
    return Number<T>(static_cast<T>(a.value >> static_cast<U>(b.value)));
  return Number<T>(a.value < 0 ? static_cast<T>(-1) : T(0));
}
// Never negative, but for the lowest value of a signed type.
template <class T>
  requires is_int_v<T>
Number<T> gcd(Number<T> a, Number<T> b) {
  a = abs(a);
  b = abs(b);
  while (b.value != 0) {
    const Number<T> remainder = rem(a, b);
    a = b;
    b = abs(remainder);
  }
  return a;
}
// Wraps; a negative exponent gives 1/base truncated (0, 1 or -1; 0 for base 0).
template <class T>
  requires is_int_v<T>
constexpr Number<T> pow(Number<T> base, Number<T> exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent.value < 0) {
      if (base.value == 1) return base;
      if (base.value == T(-1)) return exponent.value % 2 == 0 ? Number<T>(T(1)) : base;
      return Number<T>(T(0));
    }
  }
  Number<T> result(T(1));
  for (std::make_unsigned_t<T> e = static_cast<std::make_unsigned_t<T>>(exponent.value); e != 0; e >>= 1) {
    if (e & 1) result = result * base;
    base = base * base;
  }
  return result;
}

}  // namespace weft::scalar
