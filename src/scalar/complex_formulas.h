// Complex arithmetic in terms of its parts, as NumPy's loops over arrays have it. `R` is a number
// (scalar/number.h) for eager kernels, an expression (scalar/expr.h) for generated code.
#pragma once

#include <limits>

namespace weft::scalar {

template <class R>
struct ComplexParts {
  R re, im;
};

// Rounded once less than the plain formula, which NumPy has for its scalars; no recovery of infinities.
template <class R>
ComplexParts<R> product(const ComplexParts<R>& a, const ComplexParts<R>& b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

// Smith's algorithm. What is not chosen raises no floating-point exception.
template <class R>
ComplexParts<R> quotient(const ComplexParts<R>& a, const ComplexParts<R>& b) {
  const R zero = constant_like(0, b.re), one = constant_like(1, b.re);
  const auto is_real = abs(b.re) >= abs(b.im), is_zero = (b.re == zero) & (b.im == zero);
  const R large = select(is_zero, one, select(is_real, b.re, b.im)), small = select(is_real, b.im, b.re);
  const R ratio = small / large, scale = one / (large + small * ratio);
  const R first = select(is_real, a.re, a.im), second = select(is_real, a.im, a.re);
  const R scaled = first * ratio;
  // By a zero without its sign.
  const R divisor = select(is_zero, zero, one);
  const R re = (first + second * ratio) * scale,
          im = select(is_real, second - scaled, scaled - second) * scale;
  return {select(is_zero, a.re / divisor, re), select(is_zero, a.im / divisor, im)};
}

// The larger part times a root that does not overflow; infinite where a part is, even beside NaN.
template <class R>
R magnitude(const ComplexParts<R>& a) {
  const R x = abs(a.re), y = abs(a.im), zero = constant_like(0, x);
  const R infinity = constant_like(std::numeric_limits<double>::infinity(), x);
  const R larger = maximum(x, y), smaller = minimum(x, y);
  const auto is_infinite = (x == infinity) | (y == infinity);
  const R divisor = select((larger == zero) | is_infinite, constant_like(1, x), larger);
  const R ratio = smaller / divisor;
  return select(is_infinite, infinity, larger * sqrt(fma(ratio, ratio, constant_like(1, x))));
}

// By the real, then the imaginary part, of which none is NaN where the real ones decide.
template <class R>
auto is_less(const ComplexParts<R>& a, const ComplexParts<R>& b) {
  return ((a.re < b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im < b.im));
}
template <class R>
auto is_less_equal(const ComplexParts<R>& a, const ComplexParts<R>& b) {
  return ((a.re < b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im <= b.im));
}

}  // namespace weft::scalar
