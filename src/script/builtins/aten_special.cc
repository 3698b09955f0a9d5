// torch.special, and functions of the same kind.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "script/builtins/aten.h"

namespace weft::jit::aten::special {
namespace {

template <Name kName>
void unary(const char* name, const char* operand = "self") {
  define_function(fmt::format("special_{}(Tensor {}) -> Tensor", name, operand), &forward_to<kName>);
}
// f(x, y) where either may be a number.
template <Name kName>
void binary(const char* name) {
  define_function(fmt::format("special_{}(Tensor self, Tensor other) -> Tensor", name), &forward_to<kName>);
  define_function(fmt::format("special_{}.other_scalar(Tensor self, Scalar other) -> Tensor", name),
                  &forward_to<kName>);
  define_function(fmt::format("special_{}.self_scalar(Scalar self, Tensor other) -> Tensor", name),
                  &forward_to<kName>);
}
template <Name kName>
void polynomial() {
  define_function(fmt::format("special_{}(Tensor x, Tensor n) -> Tensor", kName.text), &forward_to<kName>);
  define_function(fmt::format("special_{}.x_scalar(Scalar x, Tensor n) -> Tensor", kName.text),
                  &forward_to<kName>);
  define_function(fmt::format("special_{}.n_scalar(Tensor x, Scalar n) -> Tensor", kName.text),
                  &forward_to<kName>);
}

Tensor polygamma(int64_t n, const Tensor& x) {
  WEFT_CHECK(n >= 0, fmt::format("polygamma: expected n >= 0, got {}", n));
  if (n == 0) return promoted(op<"digamma">(), {x});
  return promoted(op<"polygamma">(), {x}, {{"n", number(n)}});
}

[[maybe_unused]] const bool kSpecialFunctions = [] {
  unary<"erfcx">("erfcx"), unary<"log_ndtr">("log_ndtr"), unary<"ndtri">("ndtri");
  unary<"i0e">("i0e"), unary<"i1">("i1"), unary<"i1e">("i1e");
  unary<"bessel_j0">("bessel_j0"), unary<"bessel_j1">("bessel_j1");
  unary<"bessel_y0">("bessel_y0"), unary<"bessel_y1">("bessel_y1");
  unary<"modified_bessel_i0">("modified_bessel_i0"), unary<"modified_bessel_i1">("modified_bessel_i1");
  unary<"modified_bessel_k0">("modified_bessel_k0"), unary<"modified_bessel_k1">("modified_bessel_k1");
  unary<"scaled_modified_bessel_k0">("scaled_modified_bessel_k0", "x");
  unary<"scaled_modified_bessel_k1">("scaled_modified_bessel_k1", "x");
  unary<"spherical_bessel_j0">("spherical_bessel_j0", "x"), unary<"airy_ai">("airy_ai", "x");
  binary<"zeta">("zeta"), binary<"xlog1py">("xlog1py");
  same<"igamma">("special_gammainc(Tensor self, Tensor other) -> Tensor");
  same<"igammac">("special_gammaincc(Tensor self, Tensor other) -> Tensor");
  polynomial<"chebyshev_polynomial_t">(), polynomial<"chebyshev_polynomial_u">();
  polynomial<"chebyshev_polynomial_v">(), polynomial<"chebyshev_polynomial_w">();
  polynomial<"shifted_chebyshev_polynomial_t">(), polynomial<"shifted_chebyshev_polynomial_u">();
  polynomial<"shifted_chebyshev_polynomial_v">(), polynomial<"shifted_chebyshev_polynomial_w">();
  polynomial<"hermite_polynomial_h">(), polynomial<"hermite_polynomial_he">();
  polynomial<"laguerre_polynomial_l">(), polynomial<"legendre_polynomial_p">();
  define("special_polygamma(int n, Tensor self) -> Tensor",
         [](int64_t n, const Tensor& x) { return polygamma(n, x); });
  define("polygamma(int n, Tensor self) -> Tensor",
         [](int64_t n, const Tensor& x) { return polygamma(n, x); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::special
