// Python's math module, and min, max, abs, round of numbers.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numeric>

#include "script/builtins/arithmetic.h"
#include "script/builtins/builtin.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using Complex = std::complex<double>;

[[noreturn]] void domain_error(const char* function, double x) {
  throw_error(ErrorKind::Value, fmt::format("math.{}: math domain error: {}", function, x));
}

// A result that is infinite for a finite argument.
double ranged(const char* function, double x, double result) {
  WEFT_CHECK(!std::isinf(result) || std::isinf(x), fmt::format("math.{}: math range error: {}", function, x));
  return result;
}

int64_t to_integer(const char* function, double x) {
  WEFT_CHECK(!std::isnan(x), fmt::format("math.{}: cannot convert float NaN to integer", function));
  WEFT_CHECK(x >= -0x1p63 && x < 0x1p63,
             fmt::format("math.{}: {} does not fit a 64-bit integer", function, x));
  return static_cast<int64_t>(x);
}

// To even at the middle between two.
double round_half_even(double x) { return std::nearbyint(x); }

double gamma(double x) {
  if (x == std::floor(x) && x <= 0) domain_error("gamma", x);
  return ranged("gamma", x, std::tgamma(x));
}

double log_gamma(double x) {
  if (x == std::floor(x) && x <= 0) domain_error("lgamma", x);
  int sign = 0;
  return lgamma_r(x, &sign);  // std::lgamma writes the sign to a global
}

int64_t factorial(int64_t n) {
  WEFT_CHECK(n >= 0, fmt::format("math.factorial: not defined for negative values, got {}", n));
  WEFT_CHECK(n <= 20, fmt::format("math.factorial: the result for {} does not fit a 64-bit integer", n));
  int64_t result = 1;
  for (int64_t i = 2; i <= n; ++i) result *= i;
  return result;
}

double float_fmod(double a, double b) {
  if (b == 0 || std::isinf(a)) domain_error("fmod", a);
  return std::fmod(a, b);
}
double math_remainder(double a, double b) {
  if (b == 0 || std::isinf(a)) domain_error("remainder", a);
  return std::remainder(a, b);
}

#define WEFT_UNARY(NAME, EXPRESSION)                                                            \
  builtin("aten::" NAME ".int(int a) -> float", [](double x) -> double { return EXPRESSION; }); \
  builtin("aten::" NAME ".float(float a) -> float", [](double x) -> double { return EXPRESSION; });
#define WEFT_REAL(NAME, EXPRESSION) \
  WEFT_UNARY(NAME, EXPRESSION)      \
  builtin("aten::" NAME ".Scalar(Scalar a) -> Scalar", [](double x) -> double { return EXPRESSION; });
// Of complex numbers too.
#define WEFT_ANALYTIC(NAME, EXPRESSION, COMPLEX)                                                         \
  WEFT_UNARY(NAME, EXPRESSION)                                                                           \
  builtin("aten::" NAME ".complex(complex a) -> complex", [](Complex z) -> Complex { return COMPLEX; }); \
  builtin("aten::" NAME ".Scalar(Scalar a) -> Scalar", [](IValue& a) -> IValue {                         \
    if (a.is(IValue::Tag::Complex)) {                                                                    \
      const Complex z = a.to_complex();                                                                  \
      return COMPLEX;                                                                                    \
    }                                                                                                    \
    const double x = a.to_double();                                                                      \
    return IValue(double{EXPRESSION});                                                                   \
  });
#define WEFT_BINARY(NAME, SCALAR_OVERLOAD, EXPRESSION)                   \
  builtin("aten::" NAME ".int(int a, int b) -> float",                   \
          [](double a, double b) -> double { return EXPRESSION; });      \
  builtin("aten::" NAME ".float(float a, float b) -> float",             \
          [](double a, double b) -> double { return EXPRESSION; });      \
  builtin("aten::" NAME ".int_float(int a, float b) -> float",           \
          [](double a, double b) -> double { return EXPRESSION; });      \
  builtin("aten::" NAME ".float_int(float a, int b) -> float",           \
          [](double a, double b) -> double { return EXPRESSION; });      \
  builtin("aten::" NAME SCALAR_OVERLOAD "(Scalar a, Scalar b) -> float", \
          [](double a, double b) -> double { return EXPRESSION; });

double logarithm(double x) { return std::log(x); }

int register_elementary() {
  WEFT_ANALYTIC("sqrt", std::sqrt(x), std::sqrt(z))
  WEFT_ANALYTIC("exp", std::exp(x), std::exp(z))
  WEFT_ANALYTIC("log", logarithm(x), std::log(z))
  WEFT_ANALYTIC("log10", std::log10(x), std::log10(z))
  WEFT_ANALYTIC("sin", std::sin(x), std::sin(z))
  WEFT_ANALYTIC("cos", std::cos(x), std::cos(z))
  WEFT_ANALYTIC("tan", std::tan(x), std::tan(z))
  WEFT_ANALYTIC("asin", std::asin(x), std::asin(z))
  WEFT_ANALYTIC("acos", std::acos(x), std::acos(z))
  WEFT_ANALYTIC("atan", std::atan(x), std::atan(z))
  WEFT_ANALYTIC("sinh", std::sinh(x), std::sinh(z))
  WEFT_ANALYTIC("cosh", std::cosh(x), std::cosh(z))
  WEFT_ANALYTIC("tanh", std::tanh(x), std::tanh(z))
  WEFT_ANALYTIC("asinh", std::asinh(x), std::asinh(z))
  WEFT_ANALYTIC("acosh", std::acosh(x), std::acosh(z))
  WEFT_ANALYTIC("atanh", std::atanh(x), std::atanh(z))
  WEFT_REAL("log1p", std::log1p(x))
  WEFT_REAL("expm1", std::expm1(x))
  WEFT_REAL("erf", std::erf(x))
  WEFT_REAL("erfc", std::erfc(x))
  WEFT_REAL("gamma", gamma(x))
  WEFT_REAL("lgamma", log_gamma(x))
  WEFT_REAL("degrees", x * 180.0 / M_PI)
  WEFT_REAL("radians", x * M_PI / 180.0)
  WEFT_REAL("fabs", std::fabs(x))
  WEFT_BINARY("atan2", ".Scalar_Scalar", std::atan2(a, b))
  WEFT_BINARY("copysign", "", std::copysign(a, b))
  WEFT_BINARY("fmod", "", float_fmod(a, b))
  WEFT_BINARY("mathremainder", "", math_remainder(a, b))
  builtin("aten::log.int_int(int a, int b) -> float",
          [](double a, double b) { return true_div(logarithm(a), logarithm(b)); });
  builtin("aten::log.float_float(float a, float b) -> float",
          [](double a, double b) { return true_div(logarithm(a), logarithm(b)); });
  builtin("aten::log.int_float(int a, float b) -> float",
          [](double a, double b) { return true_div(logarithm(a), logarithm(b)); });
  builtin("aten::log.float_int(float a, int b) -> float",
          [](double a, double b) { return true_div(logarithm(a), logarithm(b)); });
  builtin("aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float",
          [](double a, double b) { return true_div(logarithm(a), logarithm(b)); });
  return 0;
}

int register_rounding() {
  const auto identity = [](int64_t a) { return a; };
  builtin("aten::floor.int(int a) -> int", identity);
  builtin("aten::ceil.int(int a) -> int", identity);
  builtin("aten::floor.float(float a) -> int", [](double a) { return to_integer("floor", std::floor(a)); });
  builtin("aten::ceil.float(float a) -> int", [](double a) { return to_integer("ceil", std::ceil(a)); });
  builtin("aten::floor.Scalar(Scalar a) -> Scalar", [](IValue& a) {
    return a.is_double() ? to_integer("floor", std::floor(a.to_double())) : a.to_int();
  });
  builtin("aten::ceil.Scalar(Scalar a) -> Scalar", [](IValue& a) {
    return a.is_double() ? to_integer("ceil", std::ceil(a.to_double())) : a.to_int();
  });
  builtin("aten::round.int(int a) -> float", [](double a) { return a; });
  builtin("aten::round.float(float a) -> float", [](double a) { return round_half_even(a); });
  builtin("aten::round.Scalar(Scalar a) -> Scalar", [](double a) { return round_half_even(a); });
  builtin("aten::modf(float a) -> (float, float)", [](double a) {
    double whole = 0;
    const double fraction = std::modf(a, &whole);
    return std::tuple(fraction, whole);
  });
  builtin("aten::frexp(float a) -> (float, int)", [](double a) {
    int exponent = 0;
    const double mantissa = std::frexp(a, &exponent);
    return std::tuple(mantissa, int64_t{exponent});
  });
  builtin("aten::ldexp(float x, int i) -> float", [](double x, int64_t i) {
    return ranged("ldexp", x, std::ldexp(x, static_cast<int>(std::clamp<int64_t>(i, -100000, 100000))));
  });
  builtin("aten::factorial.int(int a) -> int", [](int64_t a) { return factorial(a); });
  builtin("aten::gcd.int(int a, int b) -> int", [](int64_t a, int64_t b) { return std::gcd(a, b); });
  builtin("aten::isnan.float(float a) -> bool", [](double a) { return std::isnan(a); });
  builtin("aten::isinf.float(float a) -> bool", [](double a) { return std::isinf(a); });
  builtin("aten::isfinite.float(float a) -> bool", [](double a) { return std::isfinite(a); });
  builtin("aten::isnan.complex(complex a) -> bool",
          [](Complex a) { return std::isnan(a.real()) || std::isnan(a.imag()); });
  builtin("aten::isinf.complex(complex a) -> bool",
          [](Complex a) { return std::isinf(a.real()) || std::isinf(a.imag()); });
  builtin("aten::isfinite.complex(complex a) -> bool",
          [](Complex a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); });
  return 0;
}

#define WEFT_EXTREMES(NAME, OP)                                                                            \
  builtin("prim::" NAME ".int(int a, int b) -> int", [](int64_t a, int64_t b) { return b OP a ? b : a; }); \
  builtin("prim::" NAME ".float(float a, float b) -> float",                                               \
          [](double a, double b) { return b OP a ? b : a; });                                              \
  builtin("prim::" NAME ".int_float(int a, float b) -> float",                                             \
          [](double a, double b) { return b OP a ? b : a; });                                              \
  builtin("prim::" NAME ".float_int(float a, int b) -> float",                                             \
          [](double a, double b) { return b OP a ? b : a; });                                              \
  builtin("prim::" NAME "(Scalar a, Scalar b) -> Scalar",                                                  \
          [](IValue& a, IValue& b) -> IValue { return b.to_double() OP a.to_double() ? b : a; });

#define WEFT_POLAR(OVERLOAD, TYPES)                         \
  builtin("aten::polar." OVERLOAD "(" TYPES ") -> complex", \
          [](double a, double b) { return std::polar(a, b); });

int register_magnitudes() {
  WEFT_EXTREMES("max", >)
  WEFT_EXTREMES("min", <)
  builtin("prim::abs.int(int a) -> int", [](int64_t a) { return a < 0 ? wrapping_sub(0, a) : a; });
  builtin("prim::abs.float(float a) -> float", [](double a) { return std::fabs(a); });
  builtin("prim::abs.complex(complex a) -> float", [](Complex a) { return std::abs(a); });
  builtin("prim::abs.Scalar(Scalar a) -> Scalar", [](IValue& a) -> IValue {
    if (a.is(IValue::Tag::Complex)) return std::abs(a.to_complex());
    if (a.is_double()) return std::fabs(a.to_double());
    return a.to_int() < 0 ? wrapping_sub(0, a.to_int()) : a.to_int();
  });
  builtin("aten::angle.int(int a) -> float", [](double a) { return std::arg(a); });
  builtin("aten::angle.float(float a) -> float", [](double a) { return std::arg(a); });
  builtin("aten::angle.complex(complex a) -> float", [](Complex a) { return std::arg(a); });
  builtin("aten::angle.Scalar(Scalar a) -> Scalar", [](Complex a) { return std::arg(a); });
  WEFT_POLAR("int", "int a, int b")
  WEFT_POLAR("float", "float a, float b")
  WEFT_POLAR("int_float", "int a, float b")
  WEFT_POLAR("float_int", "float a, int b")
  builtin("aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar",
          [](double a, double b) { return std::polar(a, b); });
  return 0;
}

[[maybe_unused]] const int registered_math =
    register_elementary() + register_rounding() + register_magnitudes();

}  // namespace
}  // namespace weft::jit
