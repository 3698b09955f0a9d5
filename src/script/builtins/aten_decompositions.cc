// Factors of matrices, eigenvalues, pseudoinverses, least squares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "script/builtins/aten.h"

namespace weft::jit::aten::decompositions {
namespace {

using OptionalDouble = std::optional<double>;

Tensor transposed(const Tensor& x) {
  return call(op<"transpose">(), {x}, {{"dim0", number(-2)}, {"dim1", number(-1)}});
}
Tensor adjoint(const Tensor& x) { return call(op<"conj">(), {transposed(x)}); }
Tensor column(const Tensor& x) { return call(op<"unsqueeze">(), {x}, {{"dim", sizes(Ints{x.dim()})}}); }
double epsilon_of(DType dtype) {
  return dtype == DType::F64 || dtype == DType::C128 ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
}
void require_matrix(const char* name, const Tensor& x) {
  WEFT_CHECK(x.dim() >= 2, fmt::format("{}: expected matrices, got {}", name, describe(x)));
}
// Leading dimensions of b broadcast against a's.
std::pair<Tensor, Tensor> one_batch(const Tensor& a, const Tensor& b) {
  if (a.dim() == 2 && b.dim() == 2) return {a, b};
  const SymShape of_a = ops::sym_shape(a), of_b = ops::sym_shape(b);
  SymShape shape = ops::broadcast_shapes(
      "solve", std::vector{SymShape(of_a.begin(), of_a.end() - 2), SymShape(of_b.begin(), of_b.end() - 2)});
  const auto expanded = [&](const Tensor& x, const SymShape& own) {
    SymShape target = shape;
    target.insert(target.end(), own.end() - 2, own.end());
    return call(op<"expand">(), {x}, {{"shape", target}});
  };
  return {expanded(a, of_a), expanded(b, of_b)};
}

bool is_upper(const std::string& part) {
  WEFT_CHECK(part == "L" || part == "U", fmt::format("eigh: UPLO must be 'L' or 'U', got '{}'", part));
  return part == "U";
}

std::tuple<Tensor, Tensor> qr(const Tensor& x, const std::string& mode) {
  WEFT_CHECK(mode == "reduced" || mode == "complete" || mode == "r",
             fmt::format("qr: mode is 'reduced', 'complete' or 'r', got '{}'", mode));
  const Tensors found = call_all(op<"qr">(), {x}, {{"complete", mode == "complete"}});
  return {mode == "r" ? Tensor::empty({0}, x.dtype()) : found[0], found[1]};
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x, bool full) {
  const Tensors found = call_all(op<"svd">(), {x}, {{"full_matrices", full}});
  return {found[0], found[1], found[2]};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& a, const Tensor& b, OptionalDouble rcond,
                                                 const std::optional<std::string>& given) {
  require_matrix("lstsq", a);
  const std::string driver = given.value_or("gelsy");
  const bool is_vector = a.dim() == b.dim() + 1;
  const int64_t m = a.size(-2), n = a.size(-1);
  const double bound = rcond.value_or(epsilon_of(a.dtype()) * static_cast<double>(std::max(m, n)));
  const auto [matrix, right] = one_batch(a, is_vector ? column(b) : b);
  const DType real = a.dtype() == DType::C64 ? DType::F32 : a.dtype() == DType::C128 ? DType::F64 : a.dtype();
  const Tensors found = call_all(op<"lstsq">(), {matrix, right, Tensor::scalar(Scalar(bound), real)});
  const Tensor nothing = Tensor::empty({0}, real);
  Tensor solution = found[0];
  if (is_vector) solution = call(op<"squeeze">(), {solution}, {{"dim", sizes(Ints{-1})}});
  const bool has_residuals = m > n && driver != "gelsy";
  const bool has_rank = driver != "gels", has_values = driver == "gelsd" || driver == "gelss";
  return {solution, has_residuals ? found[1] : nothing,
          has_rank ? cast(found[2], DType::I64) : Tensor::empty({0}, DType::I64),
          has_values ? found[3] : nothing};
}

// ---- definitions -----------------------------------------------------------------------------------------
[[maybe_unused]] const bool kFactors = [] {
  define("linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
         [](const Tensor& x, const std::string& mode) { return qr(x, mode); });
  same<"geqrf">("geqrf(Tensor self) -> (Tensor a, Tensor tau)");
  same<"householder_product">("orgqr(Tensor self, Tensor input2) -> Tensor");
  same<"householder_product">("linalg_householder_product(Tensor input, Tensor tau) -> Tensor");
  define(
      "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
      [](const Tensor& x, bool full, const IValue&) { return svd(x, full); });
  define(
      "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor "
      "U, "
      "Tensor S, Tensor Vh)",
      [](const Tensor& x, bool full, bool, const IValue&) { return svd(x, full); });
  define("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
         [](const Tensor& x, bool some, bool) {
           const auto [u, s, vh] = svd(x, !some);
           return std::tuple(u, s, adjoint(vh));
         });
  define("linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
         [](const Tensor& x, const std::string& part) {
           const Tensors found = call_all(op<"eigh">(), {x}, {{"upper", is_upper(part)}});
           return std::tuple(found[0], found[1]);
         });
  define(
      "_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor "
      "eigenvectors)",
      [](const Tensor& x, const std::string& part, bool) {
        const Tensors found = call_all(op<"eigh">(), {x}, {{"upper", is_upper(part)}});
        return std::tuple(found[0], found[1]);
      });
  same<"eig">("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)");
  same<"eigvals">("linalg_eigvals(Tensor self) -> Tensor");
  same<"eigvals">("_linalg_eigvals(Tensor self) -> Tensor");
  same<"matrix_exp">("matrix_exp(Tensor self) -> Tensor");
  same<"matrix_exp">("linalg_matrix_exp(Tensor self) -> Tensor");
  same<"slogdet">("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)");
  same<"slogdet">("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)");
  define("linalg_vander(Tensor x, *, int? N=None) -> Tensor", [](const Tensor& x, OptionalInt n) {
    return call(op<"vander">(), {x}, {{"N", number(n.value_or(x.size(-1)))}, {"increasing", true}});
  });
  return true;
}();

[[maybe_unused]] const bool kTriangularFactors = [] {
  define("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
         [](const Tensor& x, bool hermitian) {
           const Tensors found = call_all(op<"ldl_factor">(), {x}, {{"hermitian", hermitian}});
           return std::tuple(found[0], found[1]);
         });
  define(
      "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, "
      "Tensor "
      "pivots, Tensor info)",
      [](const Tensor& x, bool hermitian, bool) {
        const Tensors found = call_all(op<"ldl_factor">(), {x}, {{"hermitian", hermitian}});
        return std::tuple(found[0], found[1], found[2]);
      });
  same<"ldl_solve">(
      "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor");
  return true;
}();

[[maybe_unused]] const bool kSingularValues = [] {
  define(
      "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
      "Tensor "
      "residuals, Tensor rank, Tensor singular_values)",
      [](const Tensor& a, const Tensor& b, OptionalDouble rcond, const std::optional<std::string>& driver) {
        return lstsq(a, b, rcond, driver);
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::decompositions
