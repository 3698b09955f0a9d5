// Products, decompositions and norms of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "script/builtins/aten.h"

namespace weft::jit::aten {
namespace {

Tensor transposed(const Tensor& x) {
  return call(op<"transpose">(), {x}, {{"dim0", number(-2)}, {"dim1", number(-1)}});
}
Tensor over(const OpDef& reduction, const Tensor& x, const Ints& dims, bool keepdim) {
  return call(reduction, {x}, {{"dim", sizes(dims)}, {"keepdim", keepdim}});
}

// beta * self + alpha * product; beta 0 leaves self out, NaN too.
Tensor accumulate(const Tensor& self, const Tensor& product, Scalar beta, Scalar alpha) {
  const Tensor scaled = alpha == Scalar(1) ? product : mul(product, alpha);
  if (beta.to_double() == 0)
    return call(
        op<"expand">(), {scaled},
        {{"shape", ops::broadcast_shapes("add", std::vector{ops::sym_shape(self), ops::sym_shape(scaled)})}});
  return add(scaled, beta == Scalar(1) ? Operand(self) : Operand(mul(self, beta)));
}

Tensor outer(const Tensor& x, const Tensor& y) {
  WEFT_CHECK(x.dim() == 1 && y.dim() == 1,
             fmt::format("outer: expected two vectors, got {} and {}", describe(x), describe(y)));
  return call(op<"outer">(), {x, y});
}

Tensor cholesky(const Tensor& x, bool upper) {
  const Tensor lower = call(op<"cholesky">(), {x});
  return upper ? call(op<"conj">(), {transposed(lower)}) : lower;
}

// b is a vector, or a stack of vectors where it has the shape of a without its columns.
Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  const bool is_stack = b.dim() > 1 && b.dim() + 1 == a.dim() &&
                        std::equal(b.shape().begin(), b.shape().end(), a.shape().begin());
  WEFT_CHECK(left || (b.dim() != 1 && !is_stack),
             "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.");
  if (!left) return transposed(call(op<"solve">(), {transposed(a), transposed(b)}));
  if (!is_stack) return call(op<"solve">(), {a, b});
  return call(op<"squeeze">(),
              {call(op<"solve">(), {a, call(op<"unsqueeze">(), {b}, {{"dim", number(-1)}})})},
              {{"dim", sizes({-1})}});
}

Tensor no_errors(const Tensor& matrices) {
  const Shape& shape = matrices.shape();
  return Tensor::full(Shape(shape.begin(), shape.end() - 2), Scalar(0), DType::I32);
}

[[maybe_unused]] const bool kProducts = [] {
  same<"matmul">("matmul(Tensor self, Tensor other) -> Tensor");
  same<"matmul">("linalg_matmul(Tensor self, Tensor other) -> Tensor");
  same<"mm">("mm(Tensor self, Tensor mat2) -> Tensor");
  same<"bmm">("bmm(Tensor self, Tensor mat2) -> Tensor");
  same<"matmul">("mv(Tensor self, Tensor vec) -> Tensor");
  same<"dot">("dot(Tensor self, Tensor tensor) -> Tensor");
  same<"vdot">("vdot(Tensor self, Tensor other) -> Tensor");
  same<"inner">("inner(Tensor self, Tensor other) -> Tensor");
  define("outer(Tensor self, Tensor vec2) -> Tensor",
         [](const Tensor& x, const Tensor& y) { return outer(x, y); });
  define("ger(Tensor self, Tensor vec2) -> Tensor",
         [](const Tensor& x, const Tensor& y) { return outer(x, y); });
  same<"kron">("kron(Tensor self, Tensor other) -> Tensor");
  same<"linear">("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor");
  same_with_inplace<"addmm">(
      "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
      "Tensor");
  same_with_inplace<"baddbmm">(
      "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
      "alpha=1) -> Tensor");
  with_inplace("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
               [](const Tensor& self, const Tensor& m, const Tensor& v, Scalar beta, Scalar alpha) {
                 return accumulate(self, matmul(m, v), beta, alpha);
               });
  with_inplace("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
               [](const Tensor& self, const Tensor& x, const Tensor& y, Scalar beta, Scalar alpha) {
                 return accumulate(self, call(op<"outer">(), {x, y}), beta, alpha);
               });
  with_inplace(
      "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
      [](const Tensor& self, const Tensor& x, const Tensor& y, Scalar beta, Scalar alpha) {
        return accumulate(self, over(op<"sum">(), call(op<"bmm">(), {x, y}), {0}, false), beta, alpha);
      });
  define("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
         [](const std::string& equation, const Tensors& tensors, const IValue&) {
           return call(op<"einsum">(), tensors, {{"equation", equation}});
         });
  for (const char* schema :
       {"chain_matmul(Tensor[] matrices) -> Tensor", "linalg_multi_dot(Tensor[] tensors) -> Tensor"}) {
    define(schema, [](const Tensors& matrices) {
      WEFT_CHECK(!matrices.empty(), "multi_dot: expected at least one matrix");
      Tensor result = matrices[0];
      for (size_t i = 1; i < matrices.size(); ++i) result = matmul(result, matrices[i]);
      return result;
    });
  }
  same<"cross">("cross(Tensor self, Tensor other, int? dim=None) -> Tensor");
  same<"cross">("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor");
  define("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
         [](const Tensor& x, const Tensor& y, int64_t dim) {
           return over(op<"sum">(), mul(call(op<"conj">(), {x}), y), {dim}, false);
         });
  return true;
}();

[[maybe_unused]] const bool kDecompositions = [] {
  same<"det">("det(Tensor self) -> Tensor");
  same<"det">("linalg_det(Tensor A) -> Tensor");
  same<"inv">("inverse(Tensor self) -> Tensor");
  same<"inv">("linalg_inv(Tensor A) -> Tensor");
  define("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
         [](const Tensor& x, bool) { return std::tuple(call(op<"inv">(), {x}), no_errors(x)); });
  define("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
         [](const Tensor& x, bool upper) { return cholesky(x, upper); });
  define(
      "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor "
      "info)",
      [](const Tensor& x, bool upper, bool) { return std::tuple(cholesky(x, upper), no_errors(x)); });
  define("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
         [](const Tensor& a, const Tensor& b, bool left) { return solve(a, b, left); });
  define(
      "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, "
      "Tensor info)",
      [](const Tensor& a, const Tensor& b, bool left, bool) {
        return std::tuple(solve(a, b, left), no_errors(a));
      });
  same<"matrix_power">("matrix_power(Tensor self, int n) -> Tensor");
  same<"matrix_power">("linalg_matrix_power(Tensor self, int n) -> Tensor");
  define("linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", [](const Tensor& x,
                                                                      const std::string& part) {
    WEFT_CHECK(part == "L" || part == "U", "linalg_eigvalsh: UPLO must be 'L' or 'U', got '" + part + "'");
    return call(op<"eigvalsh">(), {part == "L" ? x : call(op<"conj">(), {transposed(x)})});
  });
  define("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
         [](const Tensor& x, const IValue&) { return call(op<"svdvals">(), {x}); });
  define("logdet(Tensor self) -> Tensor",
         [](const Tensor& x) { return call(op<"log">(), {call(op<"det">(), {x})}); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
