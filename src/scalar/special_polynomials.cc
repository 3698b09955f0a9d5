// Orthogonal polynomials of degree n, at any x: closed forms inside the interval of Chebyshev's, else the recurrence of
// three terms in the operand's precision. The degree is cut to an integer; a negative one gives 0.
#include <cmath>
#include <cstdint>
#include <limits>

#include "scalar/special_functions.h"

namespace {

// Degree n from those of degree 0 and 1: next(k, p_k, p_{k-1}) is p_{k+1}.
template <class T, class F>
T recurrence(T first, T second, int64_t n, F&& next) {
  if (n == 0) return first;
  T before = first, value = second;
  for (int64_t k = 1; k < n && !std::isnan(value); ++k) {
    const T after = next(static_cast<T>(k), value, before);
    before = value;
    value = after;
  }
  return value;
}

// The four kinds differ in the polynomial of degree 1 and in what they are of the angle: x = cos(angle).
enum class Kind : uint8_t { T, U, V, W };

template <class R>
R at_border(Kind kind, R x, int64_t n) {
  const R degree = static_cast<R>(n), sign = x > 0 || n % 2 == 0 ? R(1) : R(-1);
  switch (kind) {
    case Kind::T: return sign;
    case Kind::U: return sign * (degree + 1);
    case Kind::V: return x > 0 ? R(1) : sign * (2 * degree + 1);
    default: return x > 0 ? 2 * degree + 1 : sign;
  }
}

template <class R>
R of_angle(Kind kind, R angle, int64_t n) {
  const R degree = static_cast<R>(n);
  switch (kind) {
    case Kind::T: return std::cos(degree * angle);
    case Kind::U: return std::sin((degree + 1) * angle) / std::sin(angle);
    case Kind::V: return std::cos((degree + R(0.5)) * angle) / std::cos(angle / 2);
    default: return std::sin((degree + R(0.5)) * angle) / std::sin(angle / 2);
  }
}

template <class R>
R chebyshev(Kind kind, R x, int64_t n) {
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return at_border(kind, x, n);
  if (n > 8 && std::fabs(x) < 1) return of_angle(kind, std::acos(x), n);
  const R second = kind == Kind::T ? x : kind == Kind::U ? x + x : kind == Kind::V ? x + x - 1 : x + x + 1;
  return recurrence<R>(1, second, n, [x](R, R p, R before) { return (x + x) * p - before; });
}

// NaN above the degrees whose values the dtype holds.
template <class R>
constexpr int64_t kHermiteLimit = std::is_same_v<R, float> ? 128 : 512;

template <class R>
R hermite_h(R x, int64_t n) {
  if (n < 0) return 0;
  if (n > kHermiteLimit<R>) return std::numeric_limits<R>::quiet_NaN();
  return recurrence<R>(1, x + x, n, [x](R k, R p, R before) { return (x + x) * p - 2 * k * before; });
}
template <class R>
R hermite_he(R x, int64_t n) {
  if (n < 0) return 0;
  if (n > kHermiteLimit<R>) return std::numeric_limits<R>::quiet_NaN();
  return recurrence<R>(1, x, n, [x](R k, R p, R before) { return x * p - k * before; });
}
template <class R>
R laguerre(R x, int64_t n) {
  if (n < 0) return 0;
  if (x == 0) return 1;
  return recurrence<R>(1, 1 - x, n,
                       [x](R k, R p, R before) { return ((2 * k + (1 - x)) * p - k * before) / (k + 1); });
}
template <class R>
R legendre(R x, int64_t n) {
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 || n % 2 == 0 ? R(1) : R(-1);
  return recurrence<R>(1, x, n, [x](R k, R p, R before) { return ((2 * k + 1) * x * p - k * before) / (k + 1); });
}

template <class R>
int64_t degree_of(R n) {
  return std::fabs(n) < R(9e18) ? static_cast<int64_t>(n) : -1;
}

}  // namespace

extern "C" {
#define WEFT_DEFINE(NAME, EXPRESSION)         \
  double weft_##NAME(double x, double given) { \
    const int64_t n = degree_of(given);       \
    return EXPRESSION;                        \
  }                                           \
  float weft_##NAME##f(float x, float given) { \
    const int64_t n = degree_of(given);       \
    return EXPRESSION;                        \
  }
WEFT_DEFINE(chebyshev_polynomial_t, chebyshev(Kind::T, x, n))
WEFT_DEFINE(chebyshev_polynomial_u, chebyshev(Kind::U, x, n))
WEFT_DEFINE(chebyshev_polynomial_v, chebyshev(Kind::V, x, n))
WEFT_DEFINE(chebyshev_polynomial_w, chebyshev(Kind::W, x, n))
WEFT_DEFINE(shifted_chebyshev_polynomial_t, chebyshev(Kind::T, x + x - 1, n))
WEFT_DEFINE(shifted_chebyshev_polynomial_u, chebyshev(Kind::U, x + x - 1, n))
WEFT_DEFINE(shifted_chebyshev_polynomial_v, chebyshev(Kind::V, x + x - 1, n))
WEFT_DEFINE(shifted_chebyshev_polynomial_w, chebyshev(Kind::W, x + x - 1, n))
WEFT_DEFINE(hermite_polynomial_h, hermite_h(x, n))
WEFT_DEFINE(hermite_polynomial_he, hermite_he(x, n))
WEFT_DEFINE(laguerre_polynomial_l, laguerre(x, n))
WEFT_DEFINE(legendre_polynomial_p, legendre(x, n))
#undef WEFT_DEFINE
}
