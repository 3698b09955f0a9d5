// Zeta, polygamma and incomplete gamma functions, and those of the normal distribution. Those of float32 are
// computed in float64 and rounded once.
#include <cmath>
#include <initializer_list>
#include <limits>

#include "scalar/math_functions.h"
#include "scalar/special_functions.h"

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;

// The standard library's sets a variable that threads share.
double log_gamma(double x) { return weft_lgamma(x); }

// ---- Hurwitz' zeta function: a sum, then Euler and Maclaurin's formula ----
double zeta_positive(double s, double q) {
  double sum = 0, at = q;
  for (int i = 0; i < 10 || at <= 10; ++i, at += 1) {
    const double term = std::pow(at, -s);
    sum += term;
    if (at > 1 && std::fabs(term) < std::fabs(sum) * kEpsilon / 64) return sum;
  }
  const double last = std::pow(at, -s);
  sum += last * at / (s - 1) + last / 2;
  // Bernoulli numbers B_2k over (2k)!.
  constexpr double kSeries[] = {1.0 / 12,
                                -1.0 / 720,
                                1.0 / 30240,
                                -1.0 / 1209600,
                                1.0 / 47900160,
                                -691.0 / 1307674368000.0,
                                1.0 / 74724249600.0,
                                -3617.0 / 10670622842880000.0,
                                43867.0 / 5109094217170944000.0,
                                -174611.0 / 802857662698291200000.0,
                                77683.0 / 14101100039391805440000.0,
                                -236364091.0 / 1693824136731743669452800000.0};
  double factor = s, power = last / at;
  int step = 0;
  for (double coefficient : kSeries) {
    const double term = coefficient * factor * power;
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * kEpsilon / 4) break;
    factor *= (s + step + 1) * (s + step + 2);
    power /= at * at;
    step += 2;
  }
  return sum;
}

double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNaN;
  if (q > 0) return zeta_positive(s, q);
  if (q == std::floor(q)) return kInfinity;
  if (s != std::floor(s)) return kNaN;
  // The terms below zero are those of two other sums, but for the sign of odd powers.
  const double fraction = -q - std::floor(-q);
  const double below = zeta_positive(s, fraction) - zeta_positive(s, 1 - q);
  return zeta_positive(s, 1 - fraction) + (std::fmod(s, 2) == 0 ? below : -below);
}

// `reflected`: pi^2 / sin^2(pi x) in the operand's precision, for x < 1/2.
double trigamma(double x, double reflected) { return x < 0.5 ? reflected - zeta(2, 1 - x) : zeta(2, x); }

double higher_polygamma(double n, double x) {
  const double value = std::exp(log_gamma(n + 1)) * zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -value : value;
}

// ---- incomplete gamma functions ----
// log(1 + x) - x.
double log1p_minus(double x) {
  if (std::fabs(x) > 0.1) return std::log1p(x) - x;
  double term = x, sum = 0;
  for (int k = 2; k < 60; ++k) {
    term *= -x;
    sum += term / k;
    if (std::fabs(term) < std::fabs(sum) * 1e-18) break;
  }
  return sum;
}

// x^a exp(-x) / gamma(a + 1).
double prefactor(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  // Stirling's series.
  const double inverse = 1 / a, square = inverse * inverse;
  double series = 0;
  for (double c : {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12})
    series = series * square + c;
  return std::exp(a * log1p_minus((x - a) / a) - series * inverse) / std::sqrt(2 * kPi * a);
}

double lower_series(double a, double x) {
  double term = 1, sum = 1, at = a;
  for (int k = 0; k < 100000; ++k) {
    at += 1;
    term *= x / at;
    sum += term;
    if (term < sum * 1e-17) break;
  }
  return sum * prefactor(a, x);
}

// Lentz' method on Legendre's continued fraction.
double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < 100000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    if (std::fabs(d) < kTiny) d = kTiny;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    h *= factor;
    if (std::fabs(factor - 1) < 1e-16) break;
  }
  return h * prefactor(a, x) * a;
}

// The upper one for small x and a: 1 - x^a / gamma(a + 1) * (1 + a * sum), without cancellation.
double upper_series(double a, double x) {
  double factor = 1, sum = 0;
  for (int n = 1; n < 2000; ++n) {
    factor *= -x / n;
    const double term = factor / (a + n);
    sum += term;
    if (std::fabs(term) <= std::fabs(sum) * 1e-17) break;
  }
  const double logx = std::log(x);
  const double term = -std::expm1(a * logx - log_gamma(1 + a));
  return term - std::exp(a * logx - log_gamma(a)) * sum;
}

// For a from 1e8 on, the first term of Temme's uniform expansion: P for `sign` = -1, Q for 1.
double uniform(double a, double x, double sign) {
  const double mu = (x - a) / a, eta = std::copysign(std::sqrt(-2 * log1p_minus(mu)), mu);
  const double coefficient = std::fabs(mu) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / mu - 1 / eta;
  const double rest = std::exp(-a * eta * eta / 2) / std::sqrt(2 * kPi * a) * coefficient;
  return 0.5 * std::erfc(sign * eta * std::sqrt(a / 2)) + sign * rest;
}
constexpr double kUniform = 1e8;

// NaN, 0, 1 at the borders; 2 inside.
double lower_at_border(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  return std::isinf(x) ? 1 : 2;
}

double igamma(double a, double x) {
  if (const double border = lower_at_border(a, x); border != 2) return border;
  if (a > kUniform) return uniform(a, x, -1);
  if (x > 1 && x > a) return 1 - upper_fraction(a, x);
  return lower_series(a, x);
}

double igammac(double a, double x) {
  if (const double border = lower_at_border(a, x); border != 2) return 1 - border;
  if (a > kUniform) return uniform(a, x, 1);
  if (x > 1.1) return x < a ? 1 - lower_series(a, x) : upper_fraction(a, x);
  if (x <= 0.5 ? -0.4 / std::log(x) < a : x * 1.1 < a) return 1 - lower_series(a, x);
  return upper_series(a, x);
}

// ---- normal distribution ----
// exp(x^2) erfc(x).
double erfcx(double x) {
  if (std::isnan(x)) return x;
  if (x > 10) {
    const double half_inverse = 0.5 / x / x;
    double term = 1, sum = 1;
    for (int k = 1; k < 20 && std::fabs(term) > 1e-17; ++k) {
      term *= -(2 * k - 1) * half_inverse;
      sum += term;
    }
    return sum / (x * std::sqrt(kPi));
  }
  if (x < -26.7) return kInfinity;
  const double square = x * x, rest = std::fma(x, x, -square);
  const double exponential = std::exp(square);
  return (exponential + exponential * rest) * std::erfc(x);
}

double ndtri(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNaN;
  // Of the nearer tail: Hastings' approximation, then Halley's method.
  const double tail = p < 0.5 ? p : 1 - p;
  if (tail == 0.5) return 0;
  const double t = std::sqrt(-2 * std::log(tail));
  double x =
      t - ((0.010328 * t + 0.802853) * t + 2.515517) / (((0.001308 * t + 0.189269) * t + 1.432788) * t + 1);
  for (int step = 0; step < 3; ++step) {
    // Relative to the tail: both it and the density may be tiny.
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * kPi);
    if (density == 0) break;
    const double newton = (0.5 * std::erfc(x * kSqrtHalf) - tail) / density;
    x += newton / (1 - x * newton / 2);
  }
  return p < 0.5 ? -x : x;
}

double log_ndtr(double x) {
  if (x < -1) return std::log(erfcx(-x * kSqrtHalf) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x * kSqrtHalf) / 2);
}

}  // namespace

extern "C" {
#define WEFT_DEFINE_UNARY(NAME)                    \
  double weft_##NAME(double x) { return NAME(x); } \
  float weft_##NAME##f(float x) { return static_cast<float>(NAME(x)); }
#define WEFT_DEFINE_BINARY(NAME)                                \
  double weft_##NAME(double x, double y) { return NAME(x, y); } \
  float weft_##NAME##f(float x, float y) { return static_cast<float>(NAME(x, y)); }
WEFT_DEFINE_UNARY(erfcx)
WEFT_DEFINE_UNARY(ndtri)
WEFT_DEFINE_UNARY(log_ndtr)
WEFT_DEFINE_BINARY(zeta)
WEFT_DEFINE_BINARY(igamma)
WEFT_DEFINE_BINARY(igammac)
#undef WEFT_DEFINE_UNARY
#undef WEFT_DEFINE_BINARY

double weft_polygamma(double n, double x) {
  if (n == 0) return weft_digamma(x);
  if (n > 1) return higher_polygamma(n, x);
  const double sine = std::sin(kPi * x);
  return trigamma(x, kPi * kPi / (sine * sine));
}
float weft_polygammaf(float n, float x) {
  if (n == 0) return weft_digammaf(x);
  if (n > 1) return static_cast<float>(higher_polygamma(n, x));
  const float sine = std::sin(static_cast<float>(kPi) * x);
  return static_cast<float>(trigamma(x, kPi * kPi / (static_cast<double>(sine) * sine)));
}
}
