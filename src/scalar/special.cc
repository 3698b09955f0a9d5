// Special functions without a text for vectors. Plain loops and standard functions only: the same code serves
// eager kernels and, one lane at a time, generated code.
#include <cmath>
#include <initializer_list>
#include <limits>

#include "scalar/math_functions.h"

namespace {

constexpr double kPi = 3.14159265358979323846;

// Giles' approximation (single precision), refined by Newton's method on erf, and on erfc near +-1.
double erfinv(double x) {
  if (!(std::fabs(x) < 1)) {
    if (std::fabs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (x == 0) return x;
  const double magnitude = std::fabs(x);
  double w = -std::log((1 - magnitude) * (1 + magnitude));
  double y;
  if (w < 5) {
    w -= 2.5;
    y = 2.81022636e-08;
    for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                     -0.00417768164, 0.246640727, 1.50140941})
      y = y * w + c;
  } else {
    w = std::sqrt(w) - 3;
    y = -0.000200214257;
    for (double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                     0.00943887047, 1.00167406, 2.83297682})
      y = y * w + c;
  }
  y *= magnitude;
  for (int step = 0; step < 3; ++step) {
    const double error = magnitude < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    const double slope = 2 / std::sqrt(kPi) * std::exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

// Power series up to 30, asymptotic series above; NaN at infinities, as NumPy and PyTorch have it.
double i0(double x) {
  x = std::fabs(x);
  if (std::isnan(x) || std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
  if (x < 30) {
    const double quarter = x * x / 4;
    double term = 1, sum = 1;
    for (int k = 1; term > sum * 1e-18; ++k) {
      term *= quarter / (static_cast<double>(k) * k);
      sum += term;
    }
    return sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2 * k - 1;
    term *= odd * odd / (8 * x * k);
    sum += term;
    if (term < sum * 1e-18) break;
  }
  // exp(x) in two halves, so that it overflows only where the result does.
  const double half = std::exp(x / 2);
  return half * (sum / std::sqrt(2 * kPi * x)) * half;
}

}  // namespace

extern "C" {
double weft_erfinv(double x) { return erfinv(x); }
float weft_erfinvf(float x) { return static_cast<float>(erfinv(x)); }
double weft_i0(double x) { return i0(x); }
float weft_i0f(float x) { return static_cast<float>(i0(x)); }
double weft_fmod(double a, double b) { return std::fmod(a, b); }
float weft_fmodf(float a, float b) { return std::fmod(a, b); }
double weft_nextafter(double a, double b) { return std::nextafter(a, b); }
float weft_nextafterf(float a, float b) { return std::nextafter(a, b); }
}
