#include "scalar/expr.h"

#include <array>
#include <utility>

#include "scalar/special_functions.h"
#include "weft/error.h"

namespace weft::scalar {
namespace {

constexpr std::array kPrimNames = {
    "arg",       "const",     "cast",       "neg",     "abs",     "not",  "sqrt",       "floor",
    "ceil",      "trunc",     "round_even", "isnan",   "add",     "sub",  "mul",        "div",
    "floor_div", "mod",       "rem",        "minimum", "maximum", "fmin", "fmax",       "eq",
    "ne",        "lt",        "le",         "and",     "or",      "xor",  "shift_left", "shift_right",
    "copysign",  "nextafter", "select",     "fma",     "bitcast", "real", "imag",       "make_complex",
    "gcd",       "exp",       "exp2",       "expm1",   "log",     "log2", "log10",      "log1p",
    "sin",       "cos",       "tan",        "asin",    "acos",    "atan", "sinh",       "cosh",
    "tanh",      "asinh",     "acosh",      "atanh",   "cbrt",    "erf",  "erfc",       "lgamma",
    "digamma",   "erfinv",    "i0",         "pow",     "atan2",   "hypot"};
static_assert(kPrimNames.size() == static_cast<size_t>(Prim::Hypot) + 1);

#define WEFT_NAME(NUMBER, NAME) #NAME,
constexpr std::array kSpecialNames = {WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_NAME)
                                          WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_NAME)};
#undef WEFT_NAME
static_assert(kSpecialNames.size() == kNumSpecial);

Expr binary(Prim prim, const Expr& a, const Expr& b) {
  WEFT_ASSERT(a.dtype() == b.dtype(), std::string(prim_name(prim)) + ": operands have different dtypes");
  return make(prim, a.dtype(), {a, b});
}
Expr compare(Prim prim, const Expr& a, const Expr& b) {
  WEFT_ASSERT(a.dtype() == b.dtype(), std::string(prim_name(prim)) + ": operands have different dtypes");
  return make(prim, DType::Bool, {a, b});
}

}  // namespace

std::string_view prim_name(Prim prim) {
  return is_special(prim) ? kSpecialNames[static_cast<size_t>(prim) - kFirstSpecial]
                          : kPrimNames[static_cast<size_t>(prim)];
}

Expr Expr::arg(int index, DType dtype) {
  auto node = std::make_shared<ExprNode>();
  node->prim = Prim::Arg;
  node->dtype = dtype;
  node->index = index;
  return Expr(std::move(node));
}

Expr Expr::constant(Scalar value, DType dtype) {
  auto node = std::make_shared<ExprNode>();
  node->prim = Prim::Const;
  node->dtype = dtype;
  node->value = value;
  return Expr(std::move(node));
}

DType Expr::dtype() const { return node_->dtype; }

Expr make(Prim prim, DType dtype, std::vector<Expr> args) {
  for (const Expr& arg : args)
    WEFT_ASSERT(arg.defined(), std::string(prim_name(prim)) + ": undefined operand");
  auto node = std::make_shared<ExprNode>();
  node->prim = prim;
  node->dtype = dtype;
  node->args = std::move(args);
  return Expr(std::move(node));
}

Expr operator+(const Expr& a, const Expr& b) { return binary(Prim::Add, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return binary(Prim::Sub, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return binary(Prim::Mul, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return binary(Prim::Div, a, b); }
Expr operator-(const Expr& a) { return make(Prim::Neg, a.dtype(), {a}); }
Expr operator<(const Expr& a, const Expr& b) { return compare(Prim::Lt, a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return compare(Prim::Le, a, b); }
Expr operator>(const Expr& a, const Expr& b) { return compare(Prim::Lt, b, a); }
Expr operator>=(const Expr& a, const Expr& b) { return compare(Prim::Le, b, a); }
Expr operator==(const Expr& a, const Expr& b) { return compare(Prim::Eq, a, b); }
Expr operator!=(const Expr& a, const Expr& b) { return compare(Prim::Ne, a, b); }
Expr operator&(const Expr& a, const Expr& b) { return binary(Prim::And, a, b); }
Expr operator|(const Expr& a, const Expr& b) { return binary(Prim::Or, a, b); }
Expr operator^(const Expr& a, const Expr& b) { return binary(Prim::Xor, a, b); }
Expr operator~(const Expr& a) { return make(Prim::Not, a.dtype(), {a}); }

#define WEFT_EXPR_LITERAL(OP)                                                    \
  Expr operator OP(const Expr& a, double b) { return a OP constant_like(b, a); } \
  Expr operator OP(double a, const Expr& b) { return constant_like(a, b) OP b; }
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

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  WEFT_ASSERT(condition.dtype() == DType::Bool && a.dtype() == b.dtype(), "select: operand dtypes");
  return make(Prim::Select, a.dtype(), {condition, a, b});
}

Expr cast(DType dtype, const Expr& a) { return a.dtype() == dtype ? a : make(Prim::Cast, dtype, {a}); }

Expr constant_like(double value, const Expr& like) {
  const DType dtype = like.dtype();
  if (dtype == DType::Bool) return Expr::constant(Scalar(value != 0), dtype);
  if (is_integral(dtype)) return Expr::constant(Scalar(static_cast<int64_t>(value)), dtype);
  if (is_complex(dtype)) return Expr::constant(Scalar(std::complex<double>(value)), dtype);
  return Expr::constant(Scalar(value), dtype);
}

#define WEFT_DEFINE_UNARY(PRIM, NAME)                                                                        \
  Expr NAME(const Expr& a) {                                                                                 \
    constexpr Prim prim = Prim::PRIM;                                                                        \
    constexpr bool rounds =                                                                                  \
        prim == Prim::Floor || prim == Prim::Ceil || prim == Prim::Trunc || prim == Prim::RoundEven;         \
    if ((rounds && !is_inexact(a.dtype())) || (prim == Prim::Real && !is_complex(a.dtype()))) return a;      \
    if (prim == Prim::Imag && !is_complex(a.dtype())) return constant_like(0, a);                            \
    constexpr bool to_real = prim == Prim::Abs || prim == Prim::Real || prim == Prim::Imag;                  \
    return make(prim, prim == Prim::IsNan ? DType::Bool : to_real ? real_dtype(a.dtype()) : a.dtype(), {a}); \
  }
#define WEFT_DEFINE_BINARY(PRIM, NAME) \
  Expr NAME(const Expr& a, const Expr& b) { return binary(Prim::PRIM, a, b); }
WEFT_FOR_EACH_UNARY_PRIM(WEFT_DEFINE_UNARY)
WEFT_FOR_EACH_BINARY_PRIM(WEFT_DEFINE_BINARY)
#undef WEFT_DEFINE_UNARY
#undef WEFT_DEFINE_BINARY

Expr fma(const Expr& a, const Expr& b, const Expr& c) { return make(Prim::Fma, a.dtype(), {a, b, c}); }

Expr conj(const Expr& a) { return is_complex(a.dtype()) ? make_complex(real(a), -imag(a)) : a; }

Expr make_complex(const Expr& real, const Expr& imag) {
  WEFT_ASSERT(real.dtype() == imag.dtype() && is_floating(real.dtype()), "make_complex: operand dtypes");
  return make(Prim::MakeComplex, real.dtype() == DType::F64 ? DType::C128 : DType::C64, {real, imag});
}

}  // namespace weft::scalar
