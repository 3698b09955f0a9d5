#include "scalar/evaluate.h"

#include <map>

#include "scalar/math.h"
#include "scalar/special_functions.h"
#include "weft/error.h"

namespace weft::scalar {
namespace {

[[noreturn]] void undefined(Prim prim, DType dtype) {
  throw_error(ErrorKind::Internal,
              std::string(prim_name(prim)) + " is not defined on " + std::string(name(dtype)));
}

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Calls f with Number<T> for every operand, all of the first one's dtype; undefined where f takes no such
// numbers.
template <class F>
Element on_numbers(Prim prim, std::span<const Element> operands, F f) {
  return visit_dtype(operands[0].dtype, [&]<class T>(std::type_identity<T>) -> Element {
    if constexpr (!is_half_v<T>) {
      const Number<T> a(operands[0].as<T>());
      if constexpr (requires { f(a); }) {
        return Element::of(f(a).value);
      } else if constexpr (requires { f(a, a); }) {
        return Element::of(f(a, Number<T>(operands[1].as<T>())).value);
      } else if constexpr (requires { f(a, a, a); }) {
        return Element::of(f(a, Number<T>(operands[1].as<T>()), Number<T>(operands[2].as<T>())).value);
      }
    }
    undefined(prim, operands[0].dtype);
  });
}

Element cast_element(DType to, const Element& from) {
  return visit_dtype(from.dtype, [&]<class From>(std::type_identity<From>) {
    return visit_dtype(
        to, [&]<class To>(std::type_identity<To>) { return Element::of(convert<To>(from.as<From>())); });
  });
}

}  // namespace

Element Element::from(Scalar value, DType dtype) {
  if (value.is_complex()) return cast_element(dtype, Element::of(value.to_complex()));
  if (value.is_float()) return cast_element(dtype, Element::of(value.to_double()));
  return cast_element(dtype, Element::of(value.to_int()));
}

// The trailing return type makes an undefined call a substitution failure, which on_numbers sees.
#define WEFT_UNARY(EXPRESSION) [](auto a) -> decltype(EXPRESSION) { return EXPRESSION; }
#define WEFT_BINARY(EXPRESSION) [](auto a, auto b) -> decltype(EXPRESSION) { return EXPRESSION; }

namespace {

Element apply_special(Prim prim, std::span<const Element> operands) {
  switch (static_cast<int>(prim) - kFirstSpecial) {
#define WEFT_CASE(NUMBER, NAME) \
  case NUMBER: return on_numbers(prim, operands, WEFT_UNARY(NAME(a)));
    WEFT_FOR_EACH_SPECIAL_UNARY(WEFT_CASE)
#undef WEFT_CASE
#define WEFT_CASE(NUMBER, NAME) \
  case NUMBER: return on_numbers(prim, operands, WEFT_BINARY(NAME(a, b)));
    WEFT_FOR_EACH_SPECIAL_BINARY(WEFT_CASE)
#undef WEFT_CASE
    default: undefined(prim, operands[0].dtype);
  }
}

}  // namespace

Element apply(Prim prim, DType result, std::span<const Element> operands) {
  if (is_special(prim)) return apply_special(prim, operands);
  switch (prim) {
#define WEFT_CASE(PRIM, NAME) \
  case Prim::PRIM: return on_numbers(prim, operands, WEFT_UNARY(NAME(a)));
    WEFT_FOR_EACH_UNARY_PRIM(WEFT_CASE)
#undef WEFT_CASE
#define WEFT_CASE(PRIM, NAME) \
  case Prim::PRIM: return on_numbers(prim, operands, WEFT_BINARY(NAME(a, b)));
    WEFT_FOR_EACH_BINARY_PRIM(WEFT_CASE)
#undef WEFT_CASE
    case Prim::Neg: return on_numbers(prim, operands, WEFT_UNARY(-a));
    case Prim::Not: return on_numbers(prim, operands, WEFT_UNARY(~a));
    case Prim::Add: return on_numbers(prim, operands, WEFT_BINARY(a + b));
    case Prim::Sub: return on_numbers(prim, operands, WEFT_BINARY(a - b));
    case Prim::Mul: return on_numbers(prim, operands, WEFT_BINARY(a * b));
    case Prim::Div: return on_numbers(prim, operands, WEFT_BINARY(a / b));
    case Prim::Eq: return on_numbers(prim, operands, WEFT_BINARY(a == b));
    case Prim::Ne: return on_numbers(prim, operands, WEFT_BINARY(a != b));
    case Prim::Lt: return on_numbers(prim, operands, WEFT_BINARY(a < b));
    case Prim::Le: return on_numbers(prim, operands, WEFT_BINARY(a <= b));
    case Prim::And: return on_numbers(prim, operands, WEFT_BINARY(a & b));
    case Prim::Or: return on_numbers(prim, operands, WEFT_BINARY(a | b));
    case Prim::Xor: return on_numbers(prim, operands, WEFT_BINARY(a ^ b));
    case Prim::MakeComplex: return on_numbers(prim, operands, WEFT_BINARY(make_complex(a, b)));
    case Prim::Fma:
      return on_numbers(prim, operands,
                        [](auto a, auto b, auto c) -> decltype(fma(a, b, c)) { return fma(a, b, c); });
    case Prim::Select: return operands[0].as<bool>() ? operands[1] : operands[2];
    case Prim::Cast: return cast_element(result, operands[0]);
    case Prim::Bitcast: {
      Element element = operands[0];
      element.dtype = result;
      return element;
    }
    case Prim::Arg:
    case Prim::Const: break;
  }
  undefined(prim, result);
}

#undef WEFT_UNARY
#undef WEFT_BINARY

Element evaluate(const Expr& expression, std::span<const Element> arguments) {
  std::map<const ExprNode*, Element> known;
  const auto visit = [&](const auto& self, const Expr& node) -> Element {
    if (const auto found = known.find(node.get()); found != known.end()) return found->second;
    const ExprNode& n = node.node();
    Element value;
    if (n.prim == Prim::Arg) {
      value = arguments[static_cast<size_t>(n.index)];
    } else if (n.prim == Prim::Const) {
      value = Element::from(n.value, n.dtype);
    } else {
      std::vector<Element> operands;
      for (const Expr& arg : n.args) operands.push_back(self(self, arg));
      value = apply(n.prim, n.dtype, operands);
    }
    WEFT_ASSERT(value.dtype == n.dtype,
                std::string(prim_name(n.prim)) + ": dtype of the value and of the node differ");
    known.emplace(node.get(), value);
    return value;
  };
  return visit(visit, expression);
}

}  // namespace weft::scalar
