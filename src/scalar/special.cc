// Special functions of one number, for eager kernels and, one lane at a time, generated code: the text that
// kernels of GPUs include (scalar/special_text.h), over the same elementary functions.
#include <cmath>

#include "scalar/math_functions.h"
#include "scalar/special_functions.h"

namespace {

#include "scalar/vectors.inc"

namespace elementary {
#define WEFT_CALL(PRIM, NAME)                                               \
  [[maybe_unused]] inline float NAME(float x) { return weft_##NAME##f(x); } \
  [[maybe_unused]] inline double NAME(double x) { return weft_##NAME(x); }
WEFT_FOR_EACH_ELEMENTARY_UNARY(WEFT_CALL)
#undef WEFT_CALL
inline double pow(double x, double y) { return weft_pow(x, y); }
inline double rem(double x, double y) { return std::fmod(x, y); }
}  // namespace elementary

// clang-format off: each uses what stands above it
#include "scalar/special/common.inc"
#include "scalar/special/bessel.inc"
#include "scalar/special/airy.inc"
#include "scalar/special/normal.inc"
#include "scalar/special/gamma.inc"
#include "scalar/special/polynomials.inc"
// clang-format on

}  // namespace

extern "C" {
#define WEFT_DEFINE_UNARY(NAME)                             \
  double weft_##NAME(double x) { return special::NAME(x); } \
  float weft_##NAME##f(float x) { return special::NAME(x); }
#define WEFT_DEFINE_BINARY(NAME)                                         \
  double weft_##NAME(double x, double y) { return special::NAME(x, y); } \
  float weft_##NAME##f(float x, float y) { return special::NAME(x, y); }
WEFT_DEFINE_UNARY(erfinv)
WEFT_DEFINE_UNARY(i0)
WEFT_DEFINE_UNARY(i0e)
WEFT_DEFINE_UNARY(i1)
WEFT_DEFINE_UNARY(i1e)
WEFT_DEFINE_UNARY(modified_bessel_k0)
WEFT_DEFINE_UNARY(modified_bessel_k1)
WEFT_DEFINE_UNARY(scaled_modified_bessel_k0)
WEFT_DEFINE_UNARY(scaled_modified_bessel_k1)
WEFT_DEFINE_UNARY(spherical_bessel_j0)
WEFT_DEFINE_UNARY(airy_ai)
WEFT_DEFINE_UNARY(erfcx)
WEFT_DEFINE_UNARY(ndtri)
WEFT_DEFINE_UNARY(log_ndtr)
WEFT_DEFINE_BINARY(zeta)
WEFT_DEFINE_BINARY(polygamma)
WEFT_DEFINE_BINARY(igamma)
WEFT_DEFINE_BINARY(igammac)
WEFT_DEFINE_BINARY(chebyshev_polynomial_t)
WEFT_DEFINE_BINARY(chebyshev_polynomial_u)
WEFT_DEFINE_BINARY(chebyshev_polynomial_v)
WEFT_DEFINE_BINARY(chebyshev_polynomial_w)
WEFT_DEFINE_BINARY(shifted_chebyshev_polynomial_t)
WEFT_DEFINE_BINARY(shifted_chebyshev_polynomial_u)
WEFT_DEFINE_BINARY(shifted_chebyshev_polynomial_v)
WEFT_DEFINE_BINARY(shifted_chebyshev_polynomial_w)
WEFT_DEFINE_BINARY(hermite_polynomial_h)
WEFT_DEFINE_BINARY(hermite_polynomial_he)
WEFT_DEFINE_BINARY(laguerre_polynomial_l)
WEFT_DEFINE_BINARY(legendre_polynomial_p)
#undef WEFT_DEFINE_UNARY
#undef WEFT_DEFINE_BINARY

double weft_fmod(double a, double b) { return std::fmod(a, b); }
float weft_fmodf(float a, float b) { return std::fmod(a, b); }
double weft_nextafter(double a, double b) { return std::nextafter(a, b); }
float weft_nextafterf(float a, float b) { return std::nextafter(a, b); }
}
