// Python's numbers: + - * / // % ** and what is between integers only.
#include <fmt/format.h>

#include <cmath>
#include <complex>

#include "script/builtins/arithmetic.h"
#include "script/builtins/builtin.h"

namespace weft::jit {

void zero_division(const char* message) {
  throw_error(ErrorKind::Runtime, fmt::format("ZeroDivisionError: {}", message));
}

double floor_mod(double a, double b) {
  if (b == 0) return std::numeric_limits<double>::quiet_NaN();
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double floor_div(double a, double b) {
  if (b == 0) return a / b;
  const double remainder = floor_mod(a, b), quotient = (a - remainder) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

namespace {

using Complex = std::complex<double>;

int64_t int_pow(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = wrapping_mul(base, base)) {
    if (exponent & 1) result = wrapping_mul(result, base);
  }
  return result;
}

double float_pow(double base, double exponent) { return std::pow(base, exponent); }

Complex complex_div(Complex a, Complex b) {
  if (b == Complex()) zero_division("complex division by zero");
  return a / b;
}

// The four overloads of numbers for an operator, as TorchScript names them; `Scalar` keeps the wider kind.
#define WEFT_MIXED(NAME, RESULT, EXPRESSION)                     \
  builtin("aten::" NAME ".float(float a, float b) -> " RESULT,   \
          [](double a, double b) { return EXPRESSION; });        \
  builtin("aten::" NAME ".int_float(int a, float b) -> " RESULT, \
          [](double a, double b) { return EXPRESSION; });        \
  builtin("aten::" NAME ".float_int(float a, int b) -> " RESULT, \
          [](double a, double b) { return EXPRESSION; });

#define WEFT_COMPLEX(NAME, RESULT, EXPRESSION)                           \
  builtin("aten::" NAME ".complex(complex a, complex b) -> " RESULT,     \
          [](Complex a, Complex b) { return EXPRESSION; });              \
  builtin("aten::" NAME ".complex_int(complex a, int b) -> " RESULT,     \
          [](Complex a, Complex b) { return EXPRESSION; });              \
  builtin("aten::" NAME ".complex_float(complex a, float b) -> " RESULT, \
          [](Complex a, Complex b) { return EXPRESSION; });              \
  builtin("aten::" NAME ".int_complex(int a, complex b) -> " RESULT,     \
          [](Complex a, Complex b) { return EXPRESSION; });              \
  builtin("aten::" NAME ".float_complex(float a, complex b) -> " RESULT, \
          [](Complex a, Complex b) { return EXPRESSION; });

// By the operands' kinds at run time.
#define WEFT_SCALAR(NAME, INT, FLOAT, COMPLEX)                                                 \
  builtin("aten::" NAME "(Scalar a, Scalar b) -> Scalar", [](IValue& x, IValue& y) -> IValue { \
    if (x.is(IValue::Tag::Complex) || y.is(IValue::Tag::Complex)) {                            \
      const Complex a = x.to_complex(), b = y.to_complex();                                    \
      return COMPLEX;                                                                          \
    }                                                                                          \
    if (x.is_double() || y.is_double()) {                                                      \
      const double a = x.to_double(), b = y.to_double();                                       \
      return FLOAT;                                                                            \
    }                                                                                          \
    const int64_t a = x.to_int(), b = y.to_int();                                              \
    return INT;                                                                                \
  });

[[noreturn]] void no_complex(const char* op) {
  throw_error(ErrorKind::Type, fmt::format("{}: not defined for complex numbers", op));
}
IValue complex_refused(const char* op, Complex, Complex) { no_complex(op); }

int register_arithmetic() {
  builtin("aten::add.int(int a, int b) -> int", [](int64_t a, int64_t b) { return wrapping_add(a, b); });
  builtin("aten::sub.int(int a, int b) -> int", [](int64_t a, int64_t b) { return wrapping_sub(a, b); });
  builtin("aten::mul.int(int a, int b) -> int", [](int64_t a, int64_t b) { return wrapping_mul(a, b); });
  builtin("aten::floordiv.int(int a, int b) -> int", [](int64_t a, int64_t b) { return floor_div(a, b); });
  builtin("aten::remainder.int(int a, int b) -> int", [](int64_t a, int64_t b) { return floor_mod(a, b); });
  builtin("aten::div.int(int a, int b) -> float", [](double a, double b) { return true_div(a, b); });
  builtin("aten::__round_to_zero_floordiv.int(int a, int b) -> int", [](int64_t a, int64_t b) {
    if (b == 0) zero_division("integer division or modulo by zero");
    return b == -1 ? wrapping_sub(0, a) : a / b;
  });
  WEFT_MIXED("add", "float", a + b)
  WEFT_MIXED("sub", "float", a - b)
  WEFT_MIXED("mul", "float", a * b)
  WEFT_MIXED("floordiv", "float", floor_div(a, b))
  WEFT_MIXED("remainder", "float", floor_mod(a, b))
  builtin("aten::div.float(float a, float b) -> float", [](double a, double b) { return true_div(a, b); });
  WEFT_COMPLEX("add", "complex", a + b)
  WEFT_COMPLEX("sub", "complex", a - b)
  WEFT_COMPLEX("mul", "complex", a * b)
  builtin("aten::div.complex(complex a, complex b) -> complex",
          [](Complex a, Complex b) { return complex_div(a, b); });
  WEFT_SCALAR("add", wrapping_add(a, b), a + b, a + b)
  WEFT_SCALAR("sub", wrapping_sub(a, b), a - b, a - b)
  WEFT_SCALAR("mul", wrapping_mul(a, b), a * b, a * b)
  WEFT_SCALAR("floordiv", floor_div(a, b), floor_div(a, b), complex_refused("//", a, b))
  WEFT_SCALAR("remainder", floor_mod(a, b), floor_mod(a, b), complex_refused("%", a, b))
  builtin("aten::div(Scalar a, Scalar b) -> float", [](IValue& a, IValue& b) -> IValue {
    if (a.is(IValue::Tag::Complex) || b.is(IValue::Tag::Complex))
      return complex_div(a.to_complex(), b.to_complex());
    return true_div(a.to_double(), b.to_double());
  });

  builtin("aten::pow.int(int a, int b) -> float", [](double a, double b) { return float_pow(a, b); });
  WEFT_MIXED("pow", "float", float_pow(a, b))
  builtin("aten::pow.complex(complex a, complex b) -> complex",
          [](Complex a, Complex b) { return std::pow(a, b); });
  builtin("aten::pow.complex_float(complex a, float b) -> complex",
          [](Complex a, double b) { return std::pow(a, b); });
  builtin("aten::pow.float_complex(float a, complex b) -> complex",
          [](double a, Complex b) { return std::pow(a, b); });
  builtin("aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", [](IValue& a, IValue& b) -> IValue {
    if (a.is(IValue::Tag::Complex) || b.is(IValue::Tag::Complex))
      return std::pow(a.to_complex(), b.to_complex());
    return float_pow(a.to_double(), b.to_double());
  });
  builtin("aten::pow.int_to_int(int a, int b) -> int", [](int64_t a, int64_t b) {
    WEFT_CHECK(b >= 0, fmt::format("pow: an int to the power of {} is no int", b));
    return int_pow(a, b);
  });

  builtin("aten::neg.int(int a) -> int", [](int64_t a) { return wrapping_sub(0, a); });
  builtin("aten::neg.float(float a) -> float", [](double a) { return -a; });
  builtin("aten::neg.complex(complex a) -> complex", [](Complex a) { return -a; });
  builtin("aten::neg.Scalar(Scalar a) -> Scalar", [](IValue& a) -> IValue {
    if (a.is(IValue::Tag::Complex)) return -a.to_complex();
    if (a.is_double()) return -a.to_double();
    return wrapping_sub(0, a.to_int());
  });

  builtin("aten::__and__.int(int a, int b) -> int", [](int64_t a, int64_t b) { return a & b; });
  builtin("aten::__or__.int(int a, int b) -> int", [](int64_t a, int64_t b) { return a | b; });
  builtin("aten::__xor__.int(int a, int b) -> int", [](int64_t a, int64_t b) { return a ^ b; });
  builtin("aten::__and__.bool(bool a, bool b) -> bool", [](bool a, bool b) { return a && b; });
  builtin("aten::__or__.bool(bool a, bool b) -> bool", [](bool a, bool b) { return a || b; });
  builtin("aten::__xor__.bool(bool a, bool b) -> bool", [](bool a, bool b) { return a != b; });
  builtin("aten::__not__(bool self) -> bool", [](bool self) { return !self; });
  builtin("aten::__lshift__.int(int a, int b) -> int", [](int64_t a, int64_t b) -> int64_t {
    WEFT_CHECK(b >= 0, fmt::format("<<: negative shift count {}", b));
    return b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  });
  builtin("aten::__rshift__.int(int a, int b) -> int", [](int64_t a, int64_t b) -> int64_t {
    WEFT_CHECK(b >= 0, fmt::format(">>: negative shift count {}", b));
    return a >> std::min<int64_t>(b, 63);
  });
  builtin("aten::divmod.int(int x, int y) -> (int, int)",
          [](int64_t x, int64_t y) { return std::tuple(floor_div(x, y), floor_mod(x, y)); });
  const auto divmod = [](double x, double y) { return std::tuple(floor_div(x, y), floor_mod(x, y)); };
  builtin("aten::divmod.float(float x, float y) -> (float, float)", divmod);
  builtin("aten::divmod.float_int(float x, int y) -> (float, float)", divmod);
  builtin("aten::divmod.int_float(int x, float y) -> (float, float)", divmod);
  return 0;
}

[[maybe_unused]] const int registered_arithmetic = register_arithmetic();

}  // namespace
}  // namespace weft::jit
