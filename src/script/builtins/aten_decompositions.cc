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
Tensor reduce_last(const OpDef& reduction, const Tensor& x, bool keepdim = false) {
  return call(reduction, {x}, {{"dim", sizes(Ints{-1})}, {"keepdim", keepdim}});
}
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

// x with a x = b, or x a = b unless `left`.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  const auto [matrix, right] = one_batch(a, b);
  const auto solved = [&](const Tensor& m, const Tensor& r, bool is_upper) {
    return call(op<"solve_triangular">(), {m, r}, {{"upper", is_upper}, {"unitriangular", unitriangular}});
  };
  return left ? solved(matrix, right, upper)
              : transposed(solved(transposed(matrix), transposed(right), !upper));
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

// ---- LU --------------------------------------------------------------------------------------------------
Tensors lu_factor(const Tensor& x, bool pivot) {
  WEFT_CHECK(pivot, "lu_factor: pivot=False is not supported on the CPU");
  return call_all(op<"lu_factor">(), {x});
}

// The permutation that the exchanges of rows are, as a matrix.
Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype) {
  Shape shape = pivots.shape();
  const int64_t steps = shape.back(), batch = steps ? pivots.numel() / steps : 1;
  shape.back() = rows;
  shape.push_back(rows);
  const Tensor result = Tensor::full({batch, rows, rows}, Scalar(0), DType::F64);
  const Tensor flat = cast(pivots, DType::I64);
  const Tensor listed = call(op<"reshape">(), {flat}, {{"shape", sizes(Ints{-1})}});
  for (int64_t b = 0; b < batch; ++b) {
    Ints order(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) order[static_cast<size_t>(i)] = i;
    for (int64_t i = 0; i < steps; ++i)
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(listed.at(b * steps + i)) - 1]);
    for (int64_t i = 0; i < rows; ++i) {
      const Tensor row = call(op<"select">(), {result}, {{"dim", number(0)}, {"index", number(b)}});
      const Tensor line =
          call(op<"select">(), {row}, {{"dim", number(0)}, {"index", number(order[static_cast<size_t>(i)])}});
      call(op<"select">(), {line}, {{"dim", number(0)}, {"index", number(i)}})
          .copy_from(Tensor::scalar(Scalar(1.0), DType::F64));
    }
  }
  return cast(call(op<"reshape">(), {result}, {{"shape", sizes(Ints(shape.begin(), shape.end()))}}), dtype);
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& factors, const Tensor& pivots, bool data,
                                             bool permute) {
  const Tensor nothing = Tensor::empty({0}, factors.dtype());
  const int64_t m = factors.size(-2), n = factors.size(-1), k = std::min(m, n);
  Tensor lower = nothing, upper = nothing;
  if (data) {
    const auto part = [&](int64_t dim) {
      return call(op<"slice">(), {factors},
                  {{"dim", number(dim)}, {"start", number(0)}, {"stop", number(k)}});
    };
    const Tensor below = call(op<"tril">(), {part(factors.dim() - 1)}, {{"diagonal", number(-1)}});
    const Tensor ones =
        call(op<"eye">(), {}, {{"n", number(m)}, {"m", number(k)}, {"dtype", factors.dtype()}});
    lower = add(below, ones);
    upper = call(op<"triu">(), {part(factors.dim() - 2)});
  }
  return {permute ? permutation(pivots, m, factors.dtype()) : nothing, lower, upper};
}

Tensor lu_solve(const Tensor& factors, const Tensor& pivots, const Tensor& b, bool left, bool is_adjoint) {
  const auto solved = [&](const Tensor& right, bool of_adjoint) {
    return call(op<"lu_solve">(), {factors, pivots, right}, {{"adjoint", of_adjoint}});
  };
  return left ? solved(b, is_adjoint) : adjoint(solved(adjoint(b), !is_adjoint));
}

// ---- Cholesky --------------------------------------------------------------------------------------------
// x with A x = b, from A's factor.
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  const Tensor lower = upper ? adjoint(factor) : factor;
  const Tensor half = solve_triangular(lower, b, false, true, false);
  return solve_triangular(adjoint(lower), half, true, true, false);
}

// ---- singular values and what they decide ----------------------------------------------------------------
struct Tolerance {
  OptionalDouble absolute, relative;
  // Of the largest of `values`, which descend: what is at most this counts as zero.
  Tensor of(const Tensor& largest, const Tensor& matrix) const {
    const double by_size =
        epsilon_of(matrix.dtype()) * static_cast<double>(std::max(matrix.size(-2), matrix.size(-1)));
    const double by = relative ? *relative : absolute.value_or(0) > 0 ? 0.0 : by_size;
    return promoted(op<"maximum">(), {mul(largest, Scalar(by)), Scalar(absolute.value_or(0))});
  }
};

Tensor pinv(const Tensor& x, const Tolerance& tolerance, bool hermitian) {
  require_matrix("pinv", x);
  if (hermitian) {
    const Tensors found = call_all(op<"eigh">(), {x});
    const Tensor size = promoted(op<"abs">(), {found[0]});
    const Tensor kept = promoted(op<"gt">(), {size, tolerance.of(reduce_last(op<"amax">(), size, true), x)});
    const Tensor inverse =
        promoted(op<"where">(), {kept, promoted(op<"reciprocal">(), {found[0]}), Scalar(0)});
    const Tensor scaled = mul(found[1], call(op<"unsqueeze">(), {inverse}, {{"dim", sizes(Ints{-2})}}));
    return matmul(scaled, adjoint(found[1]));
  }
  const auto [u, s, vh] = svd(x, false);
  const Tensor kept = promoted(op<"gt">(), {s, tolerance.of(reduce_last(op<"amax">(), s, true), x)});
  const Tensor inverse = promoted(op<"where">(), {kept, promoted(op<"reciprocal">(), {s}), Scalar(0)});
  const Tensor scaled = mul(adjoint(vh), call(op<"unsqueeze">(), {inverse}, {{"dim", sizes(Ints{-2})}}));
  return matmul(scaled, adjoint(u));
}

Tensor matrix_rank(const Tensor& x, const Tolerance& tolerance, bool hermitian) {
  require_matrix("matrix_rank", x);
  const Tensor values =
      hermitian ? promoted(op<"abs">(), {call(op<"eigvalsh">(), {x})}) : call(op<"svdvals">(), {x});
  const Tensor counted =
      promoted(op<"gt">(), {values, tolerance.of(reduce_last(op<"amax">(), values, true), x)});
  return call(op<"sum">(), {counted}, {{"dim", sizes(Ints{-1})}, {"dtype", DType::I64}});
}

OptionalDouble number_of(const OptionalTensor& x) {
  if (!x) return {};
  WEFT_CHECK(x->numel() == 1, "a tolerance per matrix is not supported, got " + describe(*x));
  return x->item().to_double();
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

Tensor condition(const Tensor& x, double p) {
  const Tensor s = call(op<"svdvals">(), {x});
  const Tensor largest = reduce_last(op<"amax">(), s), least = reduce_last(op<"amin">(), s);
  return p > 0 ? promoted(op<"true_divide">(), {largest, least})
               : promoted(op<"true_divide">(), {least, largest});
}

Tensor condition_of_norm(const Tensor& x, const IValue& order) {
  const auto norm = [&](const Tensor& y) {
    IValue result;
    std::vector<IValue> arguments = {
        IValue(y), order, IValue::list(Type::integer(), {IValue(-2), IValue(-1)}), IValue(false), IValue()};
    find_builtin(order.is_string() ? "aten::linalg_matrix_norm.str_ord" : "aten::linalg_matrix_norm")
        ->run(arguments, &result);
    return result.to_tensor();
  };
  return mul(norm(x), norm(call(op<"inv">(), {x})));
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
  define("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
         [](const Tensor& b, const Tensor& factor, bool upper) { return cholesky_solve(b, factor, upper); });
  define("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", [](const Tensor& factor, bool upper) {
    return cholesky_solve(call(op<"eye">(), {}, {{"n", number(factor.size(-1))}, {"dtype", factor.dtype()}}),
                          factor, upper);
  });
  define(
      "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
      "unitriangular=False) -> "
      "Tensor",
      [](const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
        return solve_triangular(a, b, upper, left, unit);
      });
  define(
      "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
      "unitriangular=False) -> "
      "(Tensor solution, Tensor cloned_coefficient)",
      [](const Tensor& b, const Tensor& a, bool upper, bool transpose, bool unit) {
        return std::tuple(solve_triangular(transpose ? transposed(a) : a, b, upper != transpose, true, unit),
                          a.clone());
      });
  define("linalg_vander(Tensor x, *, int? N=None) -> Tensor", [](const Tensor& x, OptionalInt n) {
    return call(op<"vander">(), {x}, {{"N", number(n.value_or(x.size(-1)))}, {"increasing", true}});
  });
  return true;
}();

[[maybe_unused]] const bool kTriangularFactors = [] {
  define("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
         [](const Tensor& x, bool pivot) {
           const Tensors found = lu_factor(x, pivot);
           return std::tuple(found[0], found[1]);
         });
  for (const char* schema : {"linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
                             "(Tensor LU, Tensor pivots, "
                             "Tensor info)",
                             "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor "
                             "LU, Tensor pivots, Tensor "
                             "info)"}) {
    define(schema, [](const Tensor& x, bool pivot, bool) {
      const Tensors found = lu_factor(x, pivot);
      return std::tuple(found[0], found[1], found[2]);
    });
  }
  define("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
         [](const Tensor& x, bool pivot) {
           const Tensors found = lu_factor(x, pivot);
           return lu_unpack(found[0], found[1], true, true);
         });
  define(
      "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
      "(Tensor P, "
      "Tensor L, Tensor U)",
      [](const Tensor& factors, const Tensor& pivots, bool data, bool permute) {
        return lu_unpack(factors, pivots, data, permute);
      });
  define(
      "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
      [](const Tensor& factors, const Tensor& pivots, const Tensor& b, bool left, bool is_adjoint) {
        return lu_solve(factors, pivots, b, left, is_adjoint);
      });
  define("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
         [](const Tensor& b, const Tensor& factors, const Tensor& pivots) {
           return lu_solve(factors, pivots, b, true, false);
         });
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
  define("pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor",
         [](const Tensor& x, double rcond) { return pinv(x, {0.0, rcond}, false); });
  define("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
         [](const Tensor& x, double rcond, bool hermitian) { return pinv(x, {0.0, rcond}, hermitian); });
  define(
      "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) "
      "-> Tensor",
      [](const Tensor& x, OptionalDouble atol, OptionalDouble rtol, bool hermitian) {
        return pinv(x, {atol, rtol}, hermitian);
      });
  define(
      "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool "
      "hermitian=False) -> "
      "Tensor",
      [](const Tensor& x, const OptionalTensor& atol, const OptionalTensor& rtol, bool hermitian) {
        return pinv(x, {number_of(atol), number_of(rtol)}, hermitian);
      });
  define("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
         [](const Tensor& x, double tol, bool hermitian) { return matrix_rank(x, {tol, 0.0}, hermitian); });
  define(
      "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
      "hermitian=False) -> Tensor",
      [](const Tensor& x, OptionalDouble atol, OptionalDouble rtol, bool hermitian) {
        return matrix_rank(x, {atol, rtol}, hermitian);
      });
  define(
      "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
      "hermitian=False) -> Tensor",
      [](const Tensor& x, const OptionalTensor& atol, const OptionalTensor& rtol, bool hermitian) {
        return matrix_rank(x, {number_of(atol), number_of(rtol)}, hermitian);
      });
  define(
      "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
      "Tensor "
      "residuals, Tensor rank, Tensor singular_values)",
      [](const Tensor& a, const Tensor& b, OptionalDouble rcond, const std::optional<std::string>& driver) {
        return lstsq(a, b, rcond, driver);
      });
  define("linalg_cond(Tensor self, Scalar? p=None) -> Tensor", [](const Tensor& x, const IValue& p) {
    const double order = p.is_none() ? 2 : p.to_scalar().to_double();
    return std::abs(order) == 2 ? condition(x, order) : condition_of_norm(x, p);
  });
  define("linalg_cond.p_str(Tensor self, str p) -> Tensor",
         [](const Tensor& x, const IValue& p) { return condition_of_norm(x, p); });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::decompositions
