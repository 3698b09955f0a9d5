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

// ---- windows ---------------------------------------------------------------------------------------------
// make(positions 0 to length - 1, the last position): computed in float32 at least.
template <class Make>
Tensor window(int64_t length, bool periodic, OptionalDType wanted, Make make) {
  const DType dtype = wanted.value_or(DType::F32);
  WEFT_CHECK(length >= 0, fmt::format("a window's length must not be negative, got {}", length));
  if (length <= 1) return Tensor::full({length}, Scalar(1), dtype);
  const DType computed = dtype == DType::F64 ? DType::F64 : DType::F32;
  const Tensor places = cast(call(op<"arange">(), {}, {{"start", Scalar(length)}}), computed);
  return cast(make(places, static_cast<double>(periodic ? length : length - 1)), dtype);
}
Tensor bartlett(int64_t length, bool periodic, OptionalDType dtype) {
  return window(length, periodic, dtype, [](const Tensor& k, double last) {
    return promoted(op<"sub">(),
                    {Scalar(1), promoted(op<"abs">(), {add(mul(k, Scalar(2 / last)), Scalar(-1))})});
  });
}
Tensor kaiser(int64_t length, bool periodic, double beta, OptionalDType dtype) {
  return window(length, periodic, dtype, [beta](const Tensor& k, double last) {
    const Tensor distance = add(mul(k, Scalar(2 / last)), Scalar(-1));
    const Tensor square =
        promoted(op<"maximum">(), {promoted(op<"sub">(), {Scalar(1), mul(distance, distance)}), Scalar(0)});
    const Tensor most = call(op<"full_like">(), {k}, {{"value", Scalar(beta)}, {"dtype", k.dtype()}});
    return promoted(op<"true_divide">(),
                    {promoted(op<"i0">(), {mul(promoted(op<"sqrt">(), {square}), Scalar(beta))}),
                     promoted(op<"i0">(), {most})});
  });
}
Tensor hamming(int64_t length, bool periodic, double alpha, double beta, OptionalDType dtype) {
  return window(length, periodic, dtype, [alpha, beta](const Tensor& k, double last) {
    const Tensor wave = promoted(op<"cos">(), {mul(k, Scalar(2 * std::numbers::pi / last))});
    return promoted(op<"sub">(), {Scalar(alpha), mul(wave, Scalar(beta))});
  });
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

[[maybe_unused]] const bool kWindows = [] {
  constexpr const char* kOptions =
      "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
  using Any = IValue;
  define(fmt::format("bartlett_window(int window_length, {}", kOptions),
         [](int64_t n, OptionalDType dtype, const Any&, const Any&, const Any&) {
           return bartlett(n, true, dtype);
         });
  define(fmt::format("bartlett_window.periodic(int window_length, bool periodic, {}", kOptions),
         [](int64_t n, bool periodic, OptionalDType dtype, const Any&, const Any&, const Any&) {
           return bartlett(n, periodic, dtype);
         });
  define(fmt::format("kaiser_window(int window_length, {}", kOptions),
         [](int64_t n, OptionalDType dtype, const Any&, const Any&, const Any&) {
           return kaiser(n, true, 12, dtype);
         });
  define(fmt::format("kaiser_window.periodic(int window_length, bool periodic, {}", kOptions),
         [](int64_t n, bool periodic, OptionalDType dtype, const Any&, const Any&, const Any&) {
           return kaiser(n, periodic, 12, dtype);
         });
  define(fmt::format("kaiser_window.beta(int window_length, bool periodic, float beta, {}", kOptions),
         [](int64_t n, bool periodic, double beta, OptionalDType dtype, const Any&, const Any&, const Any&) {
           return kaiser(n, periodic, beta, dtype);
         });
  define(fmt::format("hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, {}",
                     kOptions),
         [](int64_t n, bool periodic, double alpha, OptionalDType dtype, const Any&, const Any&, const Any&) {
           return hamming(n, periodic, alpha, 0.46, dtype);
         });
  define(
      fmt::format(
          "hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, {}",
          kOptions),
      [](int64_t n, bool periodic, double alpha, double beta, OptionalDType dtype, const Any&, const Any&,
         const Any&) { return hamming(n, periodic, alpha, beta, dtype); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::special
