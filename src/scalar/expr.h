// Scalar expressions: what one element of a pointwise operator computes, as a small typed DAG.
//
// An operator's semantics are one generic lambda. Called with C++ numbers it is the eager kernel; called
// with Expr it yields the DAG that the code generator prints. Both use the functions of scalar/math.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/dtype.h"
#include "weft/scalar.h"

namespace weft::scalar {

// The primitives the code generator can print. Comparisons and logic give Bool.
// Floating Min/Max propagate NaN (NumPy's minimum/maximum); FMin/FMax ignore it.
// FloorDiv and Mod follow Python's sign rule; integer division by zero gives 0 (NumPy's value).
// Rem follows the dividend's sign (C's fmod and %). Shifts by at least the width follow NumPy.
enum class Prim : uint8_t {
  Arg, Const, Cast,
  Neg, Abs, Not,  // Not: logical on Bool, bitwise on integers
  Sqrt, Floor, Ceil, Trunc, RoundEven, IsNan,
  Add, Sub, Mul, Div, FloorDiv, Mod, Rem, Min, Max, FMin, FMax,
  Eq, Ne, Lt, Le, And, Or, Xor, Shl, Shr, CopySign, NextAfter,
  Select,  // Select(Bool, a, b)
  Fma,
  Bitcast,
  // Transcendental functions, from scalar/math.h.
  Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh,
  Acosh, Atanh, Cbrt, Erf, Erfc, Lgamma, Tgamma, Digamma, ErfInv, I0, Pow, Atan2, Hypot,
};

// "add", "sqrt", …: the name as printed, in graphs and in generated code.
std::string_view prim_name(Prim prim);

struct ExprNode;

class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  static Expr arg(int index, DType dtype);
  static Expr constant(Scalar value, DType dtype);
  bool defined() const { return node_ != nullptr; }
  const ExprNode& node() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }
  DType dtype() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  Prim prim;
  DType dtype;
  std::vector<Expr> args;
  int index = -1;  // Arg
  Scalar value;    // Const
};

// Builds a node; folds nothing but Cast to the same type. Operand dtypes are asserted.
Expr make(Prim prim, DType dtype, std::vector<Expr> args);

// The overload set the generic lambdas are written in. Each has a twin for C++ numbers in scalar/math.h
// (namespace weft::scalar too), with the same name and meaning.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator^(const Expr& a, const Expr& b);
Expr operator~(const Expr& a);
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr cast(DType dtype, const Expr& a);
// A constant of the same dtype as `like`.
Expr constant_like(double value, const Expr& like);

}  // namespace weft::scalar
