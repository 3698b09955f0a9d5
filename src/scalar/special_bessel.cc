// Bessel and Airy functions. Those of float32 are computed in float64 and rounded once.
#include <cmath>
#include <limits>

#include "scalar/special_functions.h"

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// ---- first and second kind ----
// PyTorch's functions have no limit at infinities.
double first_kind(double x, double (*function)(double)) {
  return std::isinf(x) ? kNaN : function(x);
}
double second_kind(double x, double (*function)(double)) {
  if (x == 0) return -kInfinity;
  return x > 0 && !std::isinf(x) ? function(x) : kNaN;
}

double spherical_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

// ---- modified, of the first kind: power series up to 30, asymptotic series above ----
// exp(-|x|) times the function of order 0 or 1.
double scaled_first_kind(double x, int order) {
  const double magnitude = std::fabs(x);
  double result;
  if (magnitude < 30) {
    const double quarter = x * x / 4;
    double term = order == 0 ? 1 : magnitude / 2, sum = term;
    for (int k = 1; term > sum * 1e-18; ++k) {
      term *= quarter / (static_cast<double>(k) * (k + order));
      sum += term;
    }
    result = sum * std::exp(-magnitude);
  } else {
    double term = 1, sum = 1;
    for (int k = 1; k < 30; ++k) {
      const double odd = 2 * k - 1;
      term *= (odd * odd - 4 * order) / (8 * magnitude * k);
      sum += term;
      if (std::fabs(term) < std::fabs(sum) * 1e-18) break;
    }
    result = sum / std::sqrt(2 * kPi * magnitude);
  }
  return order == 1 && x < 0 ? -result : result;
}

double modified_i1(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNaN;
  // exp(|x|) in two halves, so that it overflows only where the result does.
  const double half = std::exp(std::fabs(x) / 2);
  return half * scaled_first_kind(x, 1) * half;
}
double scaled_i0(double x) { return std::isinf(x) ? 0 : scaled_first_kind(x, 0); }
double scaled_i1(double x) { return std::isinf(x) ? std::copysign(0.0, x) : scaled_first_kind(x, 1); }

// ---- modified, of the second kind ----
struct SecondKind {
  double k0, k1;  // times exp(x)
};

// Order `mu` and `mu` + 1, times exp(x), by Steed's continued fraction and Temme's normalization; x >= 1.
SecondKind steed(double mu, double x) {
  const double first = 0.25 - mu * mu;
  double b = 2 * (1 + x), d = 1 / b, h = d, delta = d, q1 = 0, q2 = 1, q = first, c = first, a = -first;
  double sum = 1 + q * delta;
  for (int i = 2; i < 10000; ++i) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    const double q_next = (q1 - b * q2) / a;
    q1 = q2, q2 = q_next;
    q += c * q_next;
    b += 2;
    d = 1 / (b + a * d);
    delta *= b * d - 1;
    h += delta;
    const double step = q * delta;
    sum += step;
    if (std::fabs(step) < std::fabs(sum) * 1e-17) break;
  }
  const double k0 = std::sqrt(kPi / (2 * x)) / sum;
  return {k0, k0 * (mu + x + 0.5 - first * h) / x};
}

SecondKind second_kind_modified(double x) {
  if (x > 1) {
    if (std::isinf(x)) return {0, 0};
    return steed(0, x);
  }
  // Power series; K1 from it by the Wronskian I0 K1 + I1 K0 = 1 / x.
  const double quarter = x * x / 4, scale = std::exp(x);
  double term = 1, sum0 = 1, sum1 = 1, harmonic = 0, rest = 0, term1 = 1;
  for (int k = 1; k < 30; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    term1 *= quarter / (static_cast<double>(k) * (k + 1));
    harmonic += 1.0 / k;
    sum0 += term, sum1 += term1, rest += term * harmonic;
    if (term < 1e-18) break;
  }
  const double k0 = -(std::log(x / 2) + kEuler) * sum0 + rest;
  const double k1 = (1 / x - x / 2 * sum1 * k0) / sum0;
  return {k0 * scale, k1 * scale};
}

double modified_k(double x, int order, bool scaled) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNaN;
  const SecondKind values = second_kind_modified(x);
  const double value = order == 0 ? values.k0 : values.k1;
  if (scaled) return value;
  const double half = std::exp(-x / 2);
  return half * value * half;
}

// ---- Airy ----
// Power series of both solutions at 0, in extended precision: they cancel where x is far from 0.
double airy_series(long double x) {
  const long double cube = x * x * x;
  long double f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; k < 200; ++k) {
    f_term *= cube / ((3.0L * k - 1) * (3.0L * k));
    g_term *= cube / ((3.0L * k) * (3.0L * k + 1));
    f += f_term, g += g_term;
    if (std::fabs(f_term) + std::fabs(g_term) < 1e-24L) break;
  }
  return static_cast<double>(0.355028053887817239260063186004L * f - 0.258819403792806798405183560189L * g);
}

// Far on the negative side: sin and cos with asymptotic series in 1 / zeta.
double airy_oscillating(double x) {
  const double magnitude = -x, zeta = 2 * magnitude * std::sqrt(magnitude) / 3;
  double even = 1, odd = 0, term = 1;
  for (int k = 1; k < 40; ++k) {
    const double next = term * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1)) / zeta;
    if (next >= term) break;
    term = next;
    const double signed_term = (k / 2) % 2 == 0 ? term : -term;
    (k % 2 == 0 ? even : odd) += signed_term;
    if (term < 1e-18) break;
  }
  const double angle = zeta + kPi / 4;
  return (std::sin(angle) * even - std::cos(angle) * odd) / (std::sqrt(kPi) * std::sqrt(std::sqrt(magnitude)));
}

double airy(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNaN;
  if (x < -9) return airy_oscillating(x);
  if (x < 2.5) return airy_series(x);
  const double zeta = 2 * x * std::sqrt(x) / 3;
  return std::sqrt(x / 3) / kPi * steed(1.0 / 3, zeta).k0 * std::exp(-zeta);
}

}  // namespace

extern "C" {
#define WEFT_DEFINE(NAME, EXPRESSION)                                        \
  double weft_##NAME(double x) { return EXPRESSION; }                        \
  float weft_##NAME##f(float given) { return static_cast<float>(weft_##NAME(given)); }
WEFT_DEFINE(airy_ai, airy(x))
WEFT_DEFINE(bessel_j0, first_kind(x, ::j0))
WEFT_DEFINE(bessel_j1, first_kind(x, ::j1))
WEFT_DEFINE(bessel_y0, second_kind(x, ::y0))
WEFT_DEFINE(bessel_y1, second_kind(x, ::y1))
WEFT_DEFINE(spherical_bessel_j0, spherical_j0(x))
WEFT_DEFINE(i0e, scaled_i0(x))
WEFT_DEFINE(i1, modified_i1(x))
WEFT_DEFINE(i1e, scaled_i1(x))
WEFT_DEFINE(modified_bessel_k0, modified_k(x, 0, false))
WEFT_DEFINE(modified_bessel_k1, modified_k(x, 1, false))
WEFT_DEFINE(scaled_modified_bessel_k0, modified_k(x, 0, true))
WEFT_DEFINE(scaled_modified_bessel_k1, modified_k(x, 1, true))
#undef WEFT_DEFINE
}
