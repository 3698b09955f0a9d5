#include "weft/scalar.h"

#include <fmt/format.h>

#include <cmath>

namespace weft {

namespace {

// Conversion of an out-of-range value is undefined in C++; x86 gives the smallest integer.
int64_t double_to_int(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63)) return INT64_MIN;
  return static_cast<int64_t>(value);
}

std::string float_str(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

bool Scalar::to_bool() const {
  return std::visit([](auto v) { return v != decltype(v){}; }, value_);
}

int64_t Scalar::to_int() const {
  if (const bool* b = std::get_if<bool>(&value_)) return *b;
  if (const int64_t* i = std::get_if<int64_t>(&value_)) return *i;
  return double_to_int(to_double());
}

double Scalar::to_double() const { return to_complex().real(); }

std::complex<double> Scalar::to_complex() const {
  if (const auto* c = std::get_if<std::complex<double>>(&value_)) return *c;
  if (const double* d = std::get_if<double>(&value_)) return *d;
  if (const int64_t* i = std::get_if<int64_t>(&value_)) return static_cast<double>(*i);
  return std::get<bool>(value_) ? 1.0 : 0.0;
}

std::string Scalar::str() const {
  switch (kind()) {
    case WeakKind::Bool: return std::get<bool>(value_) ? "True" : "False";
    case WeakKind::Int: return fmt::format("{}", std::get<int64_t>(value_));
    case WeakKind::Float: return float_str(std::get<double>(value_));
    case WeakKind::Complex: break;
  }
  const auto c = std::get<std::complex<double>>(value_);
  const std::string imag = float_str(c.imag());
  return fmt::format("({}{}{}j)", float_str(c.real()), imag[0] == '-' ? "" : "+", imag);
}

}  // namespace weft
