// Bessel functions of the first and second kind, the standard library's. Those of float32 are computed in
// float64 and rounded once.
#include <cmath>
#include <limits>

#include "scalar/special_functions.h"

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// PyTorch's functions have no limit at infinities.
double first_kind(double x, double (*function)(double)) { return std::isinf(x) ? kNaN : function(x); }
double second_kind(double x, double (*function)(double)) {
  if (x == 0) return -kInfinity;
  return x > 0 && !std::isinf(x) ? function(x) : kNaN;
}

}  // namespace

extern "C" {
#define WEFT_DEFINE(NAME, EXPRESSION)                 \
  double weft_##NAME(double x) { return EXPRESSION; } \
  float weft_##NAME##f(float given) { return static_cast<float>(weft_##NAME(given)); }
WEFT_DEFINE(bessel_j0, first_kind(x, ::j0))
WEFT_DEFINE(bessel_j1, first_kind(x, ::j1))
WEFT_DEFINE(bessel_y0, second_kind(x, ::y0))
WEFT_DEFINE(bessel_y1, second_kind(x, ::y1))
#undef WEFT_DEFINE
}
