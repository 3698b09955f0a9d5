#include "ir/symbols.h"

#include <bit>

namespace weft::ir {

Sym substitute(Sym expression, const SymbolMap& map) {
  const SymNode* node = expression.node();
  if (!node) return expression;
  if (node->op == SymOp::Symbol) return map(node->symbol);
  const Sym a = substitute(node->a, map);
  const Sym b = substitute(node->b, map);
  switch (node->op) {
    case SymOp::Add: return a + b;
    case SymOp::Mul: return a * b;
    case SymOp::FloorDiv: return floor_div(a, b);
    case SymOp::Mod: return floor_mod(a, b);
    case SymOp::Min: return sym_min(a, b);
    case SymOp::Max: return sym_max(a, b);
    case SymOp::Symbol: break;
  }
  WEFT_ASSERT(false, "unknown symbolic operation");
  return {};
}

SymShape substitute(const SymShape& shape, const SymbolMap& map) {
  SymShape result;
  result.reserve(shape.size());
  for (Sym size : shape) result.push_back(substitute(size, map));
  return result;
}

ops::Attrs substitute(const ops::Attrs& attrs, const SymbolMap& map) {
  ops::Attrs result = attrs;
  for (const auto& [name, attr] : attrs.items()) {
    if (const Sym* sym = std::get_if<Sym>(&attr)) result.set(name, substitute(*sym, map));
    if (const SymShape* list = std::get_if<SymShape>(&attr)) result.set(name, substitute(*list, map));
  }
  return result;
}

ops::TensorType substitute(const ops::TensorType& type, const SymbolMap& map) {
  return {type.dtype, substitute(type.shape, map), type.device};
}

ops::Attrs evaluate(const ops::Attrs& attrs, const std::vector<int64_t>& symbols) {
  return substitute(attrs, [&](int symbol) { return Sym(symbols.at(static_cast<size_t>(symbol))); });
}

Shape evaluate(const SymShape& shape, const std::vector<int64_t>& symbols) {
  Shape result;
  result.reserve(shape.size());
  for (Sym size : shape) result.push_back(size.evaluate(symbols));
  return result;
}

bool same_shape(const SymShape& a, const SymShape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!sym_known_equal(a[i], b[i])) return false;
  }
  return true;
}

bool same_type(const ops::TensorType& a, const ops::TensorType& b) {
  return a.dtype == b.dtype && a.device == b.device && same_shape(a.shape, b.shape);
}

namespace {

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// -0.0 and 0.0 are different constants; a NaN equals itself.
bool same_scalar(const Scalar& a, const Scalar& b) {
  if (a.kind() != b.kind()) return false;
  const std::complex<double> x = a.to_complex(), y = b.to_complex();
  return a.is_float() || a.is_complex() ? same_bits(x.real(), y.real()) && same_bits(x.imag(), y.imag())
                                        : a == b;
}

}  // namespace

bool same_attr(const ops::Attr& a, const ops::Attr& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& x) {
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Sym>)
          return sym_known_equal(x, y);
        else if constexpr (std::is_same_v<T, SymShape>)
          return same_shape(x, y);
        else if constexpr (std::is_same_v<T, double>)
          return same_bits(x, y);
        else if constexpr (std::is_same_v<T, Scalar>)
          return same_scalar(x, y);
        else
          return x == y;
      },
      a);
}

bool is_constant(const SymShape& shape) {
  for (Sym size : shape) {
    if (!size.is_constant()) return false;
  }
  return true;
}

}  // namespace weft::ir
