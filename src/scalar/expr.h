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
// Rem follows the dividend's sign (C's fmod and %). Div on integers truncates. Add, Mul on Bool are or, and.
// Shifts by at least the width (or by a negative count) follow NumPy: 0, or -1 for a negative value shifted
// right. Abs, Real and Imag of a complex operand give its real type.
enum class Prim : uint8_t {
  Arg,
  Const,
  Cast,
  Neg,
  Abs,
  Not,  // Not: logical on Bool, bitwise on integers
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  RoundEven,
  IsNan,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Rem,
  Min,
  Max,
  FMin,
  FMax,
  Eq,
  Ne,
  Lt,
  Le,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  CopySign,
  NextAfter,
  Select,  // Select(Bool, a, b)
  Fma,
  Bitcast,
  Real,
  Imag,
  MakeComplex,
  Gcd,
  // Transcendental functions, from scalar/math.h.
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Cbrt,
  Erf,
  Erfc,
  Lgamma,
  Digamma,
  ErfInv,
  I0,
  Pow,
  Atan2,
  Hypot,
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
// A literal takes the other operand's dtype.
#define WEFT_EXPR_LITERAL(OP)                \
  Expr operator OP(const Expr& a, double b); \
  Expr operator OP(double a, const Expr& b);
WEFT_EXPR_LITERAL(+)
WEFT_EXPR_LITERAL(-)
WEFT_EXPR_LITERAL(*)
WEFT_EXPR_LITERAL(/)
WEFT_EXPR_LITERAL(<)
WEFT_EXPR_LITERAL(<=)
WEFT_EXPR_LITERAL(>)
WEFT_EXPR_LITERAL(>=)
WEFT_EXPR_LITERAL(==)
WEFT_EXPR_LITERAL(!=)
#undef WEFT_EXPR_LITERAL
Expr select(const Expr& condition, const Expr& a, const Expr& b);
Expr cast(DType dtype, const Expr& a);
// A constant of the same dtype as `like`.
Expr constant_like(double value, const Expr& like);
template <class T>
Expr cast(const Expr& a) {
  return cast(dtype_of<T>::value, a);
}

// Rounding an integer, and the parts of a real number, need no node.
// Functions that are one primitive each: (primitive, name). Result dtype: the operand's; its real type for
// Abs, Real and Imag; Bool for IsNan.
// clang-format off: it never comes to rest with these
#define WEFT_FOR_EACH_UNARY_PRIM(X) \
  X(Abs, abs)                       \
  X(Sqrt, sqrt)                     \
  X(Floor, floor)                   \
  X(Ceil, ceil)                     \
  X(Trunc, trunc)                   \
  X(RoundEven, round_even)          \
  X(IsNan, isnan)                   \
  X(Exp, exp)                       \
  X(Exp2, exp2)                     \
  X(Expm1, expm1)                   \
  X(Log, log)                       \
  X(Log2, log2)                     \
  X(Log10, log10)                   \
  X(Log1p, log1p)                   \
  X(Sin, sin)                       \
  X(Cos, cos)                       \
  X(Tan, tan)                       \
  X(Asin, asin)                     \
  X(Acos, acos)                     \
  X(Atan, atan)                     \
  X(Sinh, sinh)                     \
  X(Cosh, cosh)                     \
  X(Tanh, tanh)                     \
  X(Asinh, asinh)                   \
  X(Acosh, acosh)                   \
  X(Atanh, atanh)                   \
  X(Cbrt, cbrt)                     \
  X(Erf, erf)                       \
  X(Erfc, erfc)                     \
  X(Lgamma, lgamma)                 \
  X(Digamma, digamma)               \
  X(ErfInv, erfinv)                 \
  X(I0, i0)                         \
  X(Real, real)                     \
  X(Imag, imag)
#define WEFT_FOR_EACH_BINARY_PRIM(X) \
  X(FloorDiv, floor_div)             \
  X(Mod, mod)                        \
  X(Rem, rem)                        \
  X(Min, minimum)                    \
  X(Max, maximum)                    \
  X(FMin, fmin)                      \
  X(FMax, fmax)                      \
  X(Shl, shift_left)                 \
  X(Shr, shift_right)                \
  X(CopySign, copysign)              \
  X(NextAfter, nextafter)            \
  X(Pow, pow)                        \
  X(Atan2, atan2)                    \
  X(Hypot, hypot)                    \
  X(Gcd, gcd)
// clang-format on

#define WEFT_DECLARE_UNARY(PRIM, NAME) Expr NAME(const Expr& a);
#define WEFT_DECLARE_BINARY(PRIM, NAME) Expr NAME(const Expr& a, const Expr& b);
WEFT_FOR_EACH_UNARY_PRIM(WEFT_DECLARE_UNARY)
WEFT_FOR_EACH_BINARY_PRIM(WEFT_DECLARE_BINARY)
#undef WEFT_DECLARE_UNARY
#undef WEFT_DECLARE_BINARY
// a * b + c, rounded once.
Expr fma(const Expr& a, const Expr& b, const Expr& c);
Expr make_complex(const Expr& real, const Expr& imag);
Expr conj(const Expr& a);
inline Expr cast_like(const Expr& a, const Expr& like) { return cast(like.dtype(), a); }
inline DType dtype(const Expr& a) { return a.dtype(); }

}  // namespace weft::scalar
