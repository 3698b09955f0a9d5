// Elementwise functions of one tensor.
#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

template <Name... kNames>
void unary_functions() {
  (define_functions(std::string(kNames.text) + "(Tensor self) -> Tensor", &forward_to<kNames>,
                    &run_inplace<&forward_to<kNames>>),
   ...);
}

// Without an in-place form.
template <Name... kNames>
void predicates() {
  (same<kNames>(std::string(kNames.text) + "(Tensor self) -> Tensor"), ...);
}

Tensor elu(const Tensor& x, Scalar alpha, Scalar scale, Scalar input_scale) {
  const double a = alpha.to_double(), s = scale.to_double(), i = input_scale.to_double();
  if (s == 1 && i == 1) return call(op<"elu">(), {x}, {{"alpha", a}});
  const Tensor scaled = promoted(op<"mul">(), {x, input_scale});
  const Tensor negative = promoted(op<"mul">(), {call(op<"expm1">(), {scaled}), Scalar(a * s)});
  const Tensor is_positive = promoted(op<"gt">(), {x, Scalar(0)});
  return promoted(op<"where">(), {is_positive, promoted(op<"mul">(), {x, scale}), negative});
}

// One slope, or one for each channel: dimension 1.
Tensor prelu(const Tensor& x, const Tensor& weight) {
  Tensor slope = weight;
  if (weight.numel() != 1) {
    Ints shape(static_cast<size_t>(std::max<int64_t>(x.dim(), 1)), 1);
    shape[x.dim() > 1 ? 1 : 0] = weight.numel();
    slope = call(op<"reshape">(), {weight}, {{"shape", sizes(shape)}});
  } else if (weight.dim() > 0) {
    slope = call(op<"reshape">(), {weight}, {{"shape", sizes(Ints{})}});
  }
  const Tensor is_positive = promoted(op<"gt">(), {x, Scalar(0)});
  return promoted(op<"where">(), {is_positive, x, promoted(op<"mul">(), {x, slope})});
}

Tensor glu(const Tensor& x, int64_t dim) {
  const int64_t axis = wrap_dim("glu", dim, x.dim());
  const Sym size = ops::sym_shape(x).at(static_cast<size_t>(axis));
  WEFT_CHECK(ops::sym_shape(x).at(static_cast<size_t>(axis)).hint() % 2 == 0,
             "glu: the halved dimension must have an even size: got " + describe(x));
  const Tensors halves =
      call_all(op<"split">(), {x}, {{"split_size", Attr(floor_div(size, 2))}, {"dim", number(axis)}});
  return promoted(op<"mul">(), {halves.at(0), call(op<"sigmoid">(), {halves.at(1)})});
}

// The direction of a complex number, the sign of a real one.
Tensor sgn(const Tensor& x) {
  if (!is_complex(x.dtype())) return promoted(op<"sign">(), {x});
  const Tensor size = promoted(op<"abs">(), {x});
  const Tensor is_zero = promoted(op<"eq">(), {size, Scalar(0)});
  return promoted(op<"where">(), {is_zero, Scalar(0), promoted(op<"true_divide">(), {x, size})});
}

[[maybe_unused]] const bool kUnary = [] {
  unary_functions<"abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad",
                  "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "i0", "lgamma",
                  "log", "log10", "log1p", "log2", "neg", "rad2deg", "reciprocal", "relu", "relu6", "round",
                  "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "sinc", "sinh", "sqrt", "square", "tan",
                  "tanh", "trunc", "mish", "hardsigmoid", "hardswish", "logical_not", "bitwise_not">();
  predicates<"angle", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "signbit", "positive">();
  same_with_inplace<"abs">("absolute(Tensor self) -> Tensor");
  register_builtin("prim::abs(Tensor x) -> Tensor", &forward_to<"abs">);
  same_with_inplace<"acos">("arccos(Tensor self) -> Tensor");
  same_with_inplace<"acosh">("arccosh(Tensor self) -> Tensor");
  same_with_inplace<"asin">("arcsin(Tensor self) -> Tensor");
  same_with_inplace<"asinh">("arcsinh(Tensor self) -> Tensor");
  same_with_inplace<"atan">("arctan(Tensor self) -> Tensor");
  same_with_inplace<"atanh">("arctanh(Tensor self) -> Tensor");
  same_with_inplace<"trunc">("fix(Tensor self) -> Tensor");
  same_with_inplace<"neg">("negative(Tensor self) -> Tensor");
  same<"sigmoid">("special_expit(Tensor self) -> Tensor");
  same<"erf">("special_erf(Tensor self) -> Tensor");
  same<"erfc">("special_erfc(Tensor self) -> Tensor");
  same<"erfinv">("special_erfinv(Tensor self) -> Tensor");
  same<"exp2">("special_exp2(Tensor self) -> Tensor");
  same<"expm1">("special_expm1(Tensor self) -> Tensor");
  same<"log1p">("special_log1p(Tensor self) -> Tensor");
  same<"i0">("special_i0(Tensor self) -> Tensor");
  same<"digamma">("special_digamma(Tensor self) -> Tensor");
  same<"digamma">("special_psi(Tensor self) -> Tensor");
  same<"lgamma">("special_gammaln(Tensor self) -> Tensor");
  same<"sinc">("special_sinc(Tensor self) -> Tensor");
  same_with_inplace<"round">("round.decimals(Tensor self, *, int decimals) -> Tensor");
  same_with_inplace<"logit">("logit(Tensor self, float? eps=None) -> Tensor");
  same<"logit">("special_logit(Tensor self, float? eps=None) -> Tensor");
  same_with_inplace<"leaky_relu">("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor");
  same_with_inplace<"hardtanh">("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor");
  same_with_inplace<"celu">("celu(Tensor self, Scalar alpha=1.0) -> Tensor");
  same_with_inplace<"threshold">("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor");
  same_with_inplace<"gelu">("gelu(Tensor self, *, str approximate=\"none\") -> Tensor");
  same<"softplus">("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor");
  same<"softshrink">("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor");
  same<"hardshrink">("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor");
  same<"logsigmoid">("log_sigmoid(Tensor self) -> Tensor");
  with_inplace("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
               [](const Tensor& x, Scalar alpha, Scalar scale, Scalar input_scale) {
                 return elu(x, alpha, scale, input_scale);
               });
  define("prelu(Tensor self, Tensor weight) -> Tensor",
         [](const Tensor& x, const Tensor& weight) { return prelu(x, weight); });
  define("_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
         [](const Tensor& x, const Tensor& weight) { return prelu(x, weight); });
  define("glu(Tensor self, int dim=-1) -> Tensor", [](const Tensor& x, int64_t dim) { return glu(x, dim); });
  with_inplace("sgn(Tensor self) -> Tensor", [](const Tensor& x) { return sgn(x); });
  define("isreal(Tensor self) -> Tensor", [](const Tensor& x) {
    if (is_complex(x.dtype())) return promoted(op<"eq">(), {call(op<"imag">(), {x}), Scalar(0)});
    return call(op<"ones_like">(), {x}, {{"dtype", DType::Bool}});
  });
  same<"real">("real(Tensor(a) self) -> Tensor(a)");
  same<"imag">("imag(Tensor(a) self) -> Tensor(a)");
  same<"conj">("conj(Tensor(a) self) -> Tensor(a)");
  same<"conj">("conj_physical(Tensor self) -> Tensor");
  for (const char* schema :
       {"resolve_conj(Tensor(a) self) -> Tensor(a)", "resolve_neg(Tensor(a) self) -> Tensor(a)"})
    define(schema, [](const Tensor& x) { return x; });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
