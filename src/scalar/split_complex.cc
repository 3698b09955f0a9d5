#include "scalar/split_complex.h"

#include <map>

#include "scalar/complex_formulas.h"

namespace weft::scalar {
namespace {

using Parts = ComplexParts<Expr>;

class Splitter {
 public:
  Expr run(const Expr& expression) {
    if (!is_complex(expression.dtype())) return real_valued(expression);
    const Parts result = parts(expression);
    return make_complex(result.re, result.im);
  }

 private:
  std::map<const ExprNode*, Parts> parts_;
  std::map<const ExprNode*, Expr> real_valued_;

  Parts parts(const Expr& expression) {
    const auto found = parts_.find(expression.get());
    return found != parts_.end() ? found->second : parts_[expression.get()] = compute_parts(expression);
  }

  Expr real_valued(const Expr& expression) {
    const auto found = real_valued_.find(expression.get());
    return found != real_valued_.end() ? found->second
                                       : real_valued_[expression.get()] = compute_real(expression);
  }

  Parts compute_parts(const Expr& expression) {
    const ExprNode& node = expression.node();
    const DType real_type = real_dtype(node.dtype);
    switch (node.prim) {
      case Prim::Const: {
        const std::complex<double> value = node.value.to_complex();
        return {Expr::constant(Scalar(value.real()), real_type),
                Expr::constant(Scalar(value.imag()), real_type)};
      }
      case Prim::Cast: {
        if (!is_complex(node.args[0].dtype())) {
          const Expr re = cast(real_type, real_valued(node.args[0]));
          return {re, constant_like(0, re)};
        }
        const Parts a = parts(node.args[0]);
        return {cast(real_type, a.re), cast(real_type, a.im)};
      }
      case Prim::MakeComplex: return {real_valued(node.args[0]), real_valued(node.args[1])};
      case Prim::Neg: {
        const Parts a = parts(node.args[0]);
        return {-a.re, -a.im};
      }
      case Prim::Select: {
        const Expr condition = real_valued(node.args[0]);
        const Parts a = parts(node.args[1]), b = parts(node.args[2]);
        return {select(condition, a.re, b.re), select(condition, a.im, b.im)};
      }
      case Prim::Add:
      case Prim::Sub:
      case Prim::Mul:
      case Prim::Div: return arithmetic(node.prim, parts(node.args[0]), parts(node.args[1]));
      default: return {real(expression), imag(expression)};
    }
  }

  static Parts arithmetic(Prim prim, const Parts& a, const Parts& b) {
    switch (prim) {
      case Prim::Add: return {a.re + b.re, a.im + b.im};
      case Prim::Sub: return {a.re - b.re, a.im - b.im};
      case Prim::Mul: return product(a, b);
      default: return quotient(a, b);
    }
  }

  Expr compute_real(const Expr& expression) {
    const ExprNode& node = expression.node();
    if (node.args.empty()) return expression;
    if (is_complex(node.args.back().dtype())) return of_complex(expression);
    std::vector<Expr> args;
    for (const Expr& arg : node.args) args.push_back(real_valued(arg));
    return make(node.prim, node.dtype, std::move(args));
  }

  Expr of_complex(const Expr& expression) {
    const ExprNode& node = expression.node();
    const Parts a = parts(node.args[0]);
    switch (node.prim) {
      case Prim::Real: return a.re;
      case Prim::Imag: return a.im;
      case Prim::Abs: return magnitude(a);
      case Prim::IsNan: return isnan(a.re) | isnan(a.im);
      case Prim::Cast:
        return node.dtype == DType::Bool ? (a.re != 0.0) | (a.im != 0.0) : cast(node.dtype, a.re);
      default: break;
    }
    if (node.args.size() != 2) return expression;
    const Parts b = parts(node.args[1]);
    switch (node.prim) {
      case Prim::Eq: return (a.re == b.re) & (a.im == b.im);
      case Prim::Ne: return (a.re != b.re) | (a.im != b.im);
      case Prim::Lt: return is_less(a, b);
      case Prim::Le: return is_less_equal(a, b);
      default: return expression;
    }
  }
};

}  // namespace

Expr split_complex(const Expr& expression) { return Splitter().run(expression); }

}  // namespace weft::scalar
