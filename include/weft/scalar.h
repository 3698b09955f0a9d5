// A single number of any category, as an operator's argument.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>

#include "weft/dtype.h"

namespace weft {

class Scalar {
 public:
  Scalar() : value_(int64_t{0}) {}
  Scalar(bool v) : value_(v) {}
  Scalar(int v) : value_(int64_t{v}) {}
  Scalar(int64_t v) : value_(v) {}
  Scalar(double v) : value_(v) {}
  Scalar(std::complex<double> v) : value_(v) {}

  WeakKind kind() const { return static_cast<WeakKind>(value_.index()); }
  bool is_bool() const { return kind() == WeakKind::Bool; }
  bool is_int() const { return kind() == WeakKind::Int; }
  bool is_float() const { return kind() == WeakKind::Float; }
  bool is_complex() const { return kind() == WeakKind::Complex; }

  // Conversions as C++ casts do them; a complex value gives its real part.
  bool to_bool() const;
  int64_t to_int() const;
  double to_double() const;
  std::complex<double> to_complex() const;
  std::string str() const;

  friend bool operator==(const Scalar&, const Scalar&) = default;

 private:
  std::variant<bool, int64_t, double, std::complex<double>> value_;
};

}  // namespace weft
