// Factors of matrices for what is solved by them, triangular systems, and the exponential, through LAPACK and
// BLAS.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/arguments.h"
#include "ops/linalg.h"

namespace weft::ops {
namespace {

using kernels::Lapack;

TensorType info_type(const TensorType& x) {
  return TensorType{DType::I32, SymShape(x.shape.begin(), x.shape.end() - 2), x.device};
}

std::vector<Tensor> empty_results(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(type_of(operand));
  std::vector<Tensor> results;
  for (const TensorType& type : op.infer(op, types, attrs)) results.push_back(empty_of(type));
  return results;
}

// The batch dimensions of operand `index` are those of the first, and it has `trailing` dimensions more.
void check_batch(const OpDef& op, std::span<const TensorType> operands, size_t index, size_t trailing) {
  const SymShape &a = operands[0].shape, &b = operands[index].shape;
  WEFT_CHECK(b.size() == a.size() - 2 + trailing && std::equal(a.begin(), a.end() - 2, b.begin(), sym_eq),
             fmt::format("{}: expected operands with the same batch dimensions{}", op.name,
                         describe_operands(op, operands)));
}

// ---- LU --------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_lu(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, false);
  const TensorType& x = operands[0];
  return {x, stack_type(x, DType::I32, {sym_min(rows_of(x), x.shape.back())}), info_type(x)};
}

[[noreturn]] void zero_on_diagonal(const OpDef& op, const char* factor, int64_t element, int info) {
  throw_error(ErrorKind::Runtime,
              fmt::format("linalg.{}: {}{}[{},{}] is zero: to solve with it would divide by zero", op.name,
                          element < 0 ? std::string() : fmt::format("(Batch element {}): ", element), factor,
                          info, info));
}

std::vector<Tensor> eager_lu(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const bool check = attrs.get_bool("check");
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int m = stack.rows(), n = stack.columns(), least = std::min(m, n);
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      int info = 0;
      if (least > 0) info = Lapack<T>::lu(m, n, a.data(), results[1].data_as<int32_t>() + i * least);
      if (check && info > 0) zero_on_diagonal(op, "U", stack.count() > 1 ? i : -1, info);
      results[2].data_as<int32_t>()[i] = info;
      write_matrix(results[0], i, a.data(), m);
    });
  });
  return results;
}

// Operands 0 (factors), 1 (pivots) and 2 (right sides).
std::vector<TensorType> infer_with_pivots(const OpDef& op, std::span<const TensorType> operands,
                                          const Attrs&) {
  check_matrices(op, operands, true);
  check_batch(op, operands, 1, 1);
  check_batch(op, operands, 2, 2);
  const TensorType &a = operands[0], &b = operands[2];
  WEFT_CHECK(operands[1].dtype == DType::I32 && a.dtype == b.dtype && sym_eq(rows_of(a), rows_of(b)) &&
                 sym_eq(rows_of(a), operands[1].shape.back()),
             fmt::format("{}: expected int32 pivots, and right sides of the factors' dtype, all of {} rows{}",
                         op.name, rows_of(a).str(), describe_operands(op, operands)));
  return {b};
}

// solve(T(), n, count, factors, pivots, b) on every matrix.
template <class F>
std::vector<Tensor> solve_by_factors(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs,
                                     F&& solve) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  const Tensor pivots = operands[1].contiguous();
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]), right_sides(operands[2]);
    const int n = stack.rows();
    stack.for_each([&](int64_t i) {
      const std::vector<T> factors = stack.read(i);
      std::vector<T> b = right_sides.read(i);
      const int32_t* const rows = pivots.data_as<int32_t>() + i * n;
      for (int d = 0; d < n; ++d)
        WEFT_CHECK(std::abs(rows[d]) >= 1 && std::abs(rows[d]) <= n,
                   fmt::format("{}: pivots must be from 1 to {}, got {}", op.name, n, rows[d]));
      solve(std::type_identity<T>{}, n, right_sides.columns(), factors.data(), rows, b.data());
      write_matrix(results[0], i, b.data(), n);
    });
  });
  return results;
}

std::vector<Tensor> eager_lu_solve(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const bool adjoint = attrs.get_bool("adjoint");
  return solve_by_factors(op, operands, attrs,
                          [&]<class T>(std::type_identity<T>, int n, int count, const T* a, const int* pivots,
                                       T* b) { Lapack<T>::lu_solve(n, count, a, pivots, b, adjoint); });
}

// ---- Cholesky, LDL ---------------------------------------------------------------------------------------
std::vector<TensorType> infer_cholesky(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {operands[0], info_type(operands[0])};
}

std::vector<Tensor> eager_cholesky_with_info(const OpDef& op, std::span<const Tensor> operands,
                                             const Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int n = stack.rows();
    stack.for_each([&](int64_t index) {
      std::vector<T> a = stack.read(index);
      results[1].data_as<int32_t>()[index] = n > 0 ? Lapack<T>::cholesky_lower(n, a.data()) : 0;
      for (int j = 1; j < n; ++j) std::fill_n(a.begin() + static_cast<int64_t>(j) * n, j, T(0));
      write_matrix(results[0], index, a.data(), n);
    });
  });
  return results;
}

std::vector<TensorType> infer_ldl(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  const TensorType& x = operands[0];
  return {x, stack_type(x, DType::I32, {rows_of(x)}), info_type(x)};
}

std::vector<Tensor> eager_ldl(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const bool check = attrs.get_bool("check");
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int n = stack.rows();
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      int32_t* const pivots = results[1].data_as<int32_t>() + i * n;
      const int info = n > 0 ? Lapack<T>::ldl(n, a.data(), pivots, attrs.get_bool("hermitian")) : 0;
      if (check && info > 0) zero_on_diagonal(op, "D", stack.count() > 1 ? i : -1, info);
      results[2].data_as<int32_t>()[i] = info;
      for (int j = 1; j < n; ++j) std::fill_n(a.begin() + static_cast<int64_t>(j) * n, j, T(0));
      write_matrix(results[0], i, a.data(), n);
    });
  });
  return results;
}

std::vector<Tensor> eager_ldl_solve(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const bool hermitian = attrs.get_bool("hermitian");
  return solve_by_factors(op, operands, attrs,
                          [&]<class T>(std::type_identity<T>, int n, int count, const T* a, const int* pivots,
                                       T* b) { Lapack<T>::ldl_solve(n, count, a, pivots, b, hermitian); });
}

// ---- triangular systems ----------------------------------------------------------------------------------
std::vector<TensorType> infer_triangular(const OpDef& op, std::span<const TensorType> operands,
                                         const Attrs&) {
  check_matrices(op, operands, true);
  check_batch(op, operands, 1, 2);
  const TensorType &a = operands[0], &b = operands[1];
  WEFT_CHECK(a.dtype == b.dtype && sym_eq(rows_of(a), rows_of(b)),
             fmt::format("{}: expected right sides of the same dtype with {} rows{}", op.name,
                         rows_of(a).str(), describe_operands(op, operands)));
  return {b};
}

std::vector<Tensor> eager_triangular(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  const bool upper = attrs.get_bool("upper"), unit = attrs.get_bool("unitriangular");
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]), right_sides(operands[1]);
    stack.for_each([&](int64_t i) {
      const std::vector<T> a = stack.read(i);
      std::vector<T> b = right_sides.read(i);
      Lapack<T>::solve_triangular(stack.rows(), right_sides.columns(), a.data(), b.data(), upper, unit);
      write_matrix(results[0], i, b.data(), stack.rows());
    });
  });
  return results;
}

// ---- Householder's reflections ---------------------------------------------------------------------------
std::vector<TensorType> infer_householder(const OpDef& op, std::span<const TensorType> operands,
                                          const Attrs&) {
  check_matrices(op, operands, false);
  check_batch(op, operands, 1, 1);
  const TensorType &a = operands[0], &tau = operands[1];
  WEFT_CHECK(
      a.dtype == tau.dtype && sym_ge(rows_of(a), a.shape.back()) && sym_ge(a.shape.back(), tau.shape.back()),
      fmt::format(
          "{}: expected at least as many rows as columns, as many columns as reflections, and one dtype{}",
          op.name, describe_operands(op, operands)));
  return {a};
}

std::vector<Tensor> eager_householder(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  const Tensor factors = operands[1].contiguous();
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int m = stack.rows(), count = static_cast<int>(factors.size(-1));
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      Lapack<T>::qr_vectors(m, stack.columns(), count, a.data(), factors.data_as<T>() + i * count);
      write_matrix(results[0], i, a.data(), m);
    });
  });
  return results;
}

// ---- least squares ---------------------------------------------------------------------------------------
std::vector<TensorType> infer_least_squares(const OpDef& op, std::span<const TensorType> operands,
                                            const Attrs&) {
  check_matrices(op, operands, false);
  check_batch(op, operands, 1, 2);
  const TensorType &a = operands[0], &b = operands[1];
  WEFT_CHECK(a.dtype == b.dtype && sym_eq(rows_of(a), rows_of(b)),
             fmt::format("{}: expected right sides of the same dtype with {} rows{}", op.name,
                         rows_of(a).str(), describe_operands(op, operands)));
  return {stack_type(a, a.dtype, {a.shape.back(), b.shape.back()}), info_type(a)};
}

std::vector<Tensor> eager_least_squares(const OpDef& op, std::span<const Tensor> operands,
                                        const Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> left(operands[0]), right(operands[1]);
    const int m = left.rows(), n = left.columns(), count = right.columns(), rows = std::max(m, n);
    const double rcond = float_arg(attrs, "rcond");
    left.for_each([&](int64_t i) {
      std::vector<T> a = left.read(i);
      std::vector<T> b(static_cast<size_t>(std::max(rows, 1)) * static_cast<size_t>(std::max(count, 1)));
      right.read(i, b.data(), rows);
      int rank = 0;
      if (m > 0 && n > 0)
        Lapack<T>::least_squares_qr(m, n, count, a.data(), b.data(),
                                    static_cast<typename Lapack<T>::Real>(rcond), &rank);
      else
        std::fill(b.begin(), b.end(), T(0));
      results[1].data_as<int32_t>()[i] = rank;
      write_matrix(results[0], i, b.data(), rows);
    });
  });
  return results;
}

// ---- the exponential -------------------------------------------------------------------------------------
std::vector<TensorType> infer_same(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {operands[0]};
}

// The Pade approximant of degree 13 at a / 2^s, squared s times.
// source: Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
template <class T>
std::vector<T> exponential(int n, std::vector<T> a) {
  constexpr double kTheta = 5.371920351148152;
  constexpr double kPade[] = {64764752532480000.,
                              32382376266240000.,
                              7771770303897600.,
                              1187353796428800.,
                              129060195264000.,
                              10559470521600.,
                              670442572800.,
                              33522128640.,
                              1323241920.,
                              40840800.,
                              960960.,
                              16380.,
                              182.,
                              1.};
  const auto order = static_cast<size_t>(n), elements = order * order;
  double norm = 0;
  for (size_t j = 0; j < order; ++j) {
    double sum = 0;
    for (size_t i = 0; i < order; ++i) sum += std::abs(a[j * order + i]);
    norm = std::isnan(sum) ? sum : std::max(norm, sum);
  }
  if (!std::isfinite(norm)) return std::vector<T>(elements, T(std::numeric_limits<double>::quiet_NaN()));
  const int squarings = norm > kTheta ? static_cast<int>(std::ceil(std::log2(norm / kTheta))) : 0;
  for (T& value : a) value *= std::ldexp(1.0, -squarings);
  std::vector<T> a2(elements), a4(elements), a6(elements), odd(elements), even(elements), product(elements);
  Lapack<T>::product(n, a.data(), a.data(), a2.data());
  Lapack<T>::product(n, a2.data(), a2.data(), a4.data());
  Lapack<T>::product(n, a4.data(), a2.data(), a6.data());
  // The odd and the even part of the numerator; the denominator is their difference.
  for (size_t i = 0; i < elements; ++i) odd[i] = kPade[13] * a6[i] + kPade[11] * a4[i] + kPade[9] * a2[i];
  Lapack<T>::product(n, a6.data(), odd.data(), product.data());
  for (size_t i = 0; i < elements; ++i) product[i] += kPade[7] * a6[i] + kPade[5] * a4[i] + kPade[3] * a2[i];
  for (size_t d = 0; d < order; ++d) product[d * order + d] += kPade[1];
  Lapack<T>::product(n, a.data(), product.data(), odd.data());
  for (size_t i = 0; i < elements; ++i) product[i] = kPade[12] * a6[i] + kPade[10] * a4[i] + kPade[8] * a2[i];
  Lapack<T>::product(n, a6.data(), product.data(), even.data());
  for (size_t i = 0; i < elements; ++i) even[i] += kPade[6] * a6[i] + kPade[4] * a4[i] + kPade[2] * a2[i];
  for (size_t d = 0; d < order; ++d) even[d * order + d] += kPade[0];
  std::vector<T> denominator(elements), result(elements);
  for (size_t i = 0; i < elements; ++i) denominator[i] = even[i] - odd[i], result[i] = even[i] + odd[i];
  std::vector<int> pivots(order);
  Lapack<T>::lu(n, n, denominator.data(), pivots.data());
  Lapack<T>::lu_solve(n, n, denominator.data(), pivots.data(), result.data());
  for (int s = 0; s < squarings; ++s) {
    Lapack<T>::product(n, result.data(), result.data(), product.data());
    result.swap(product);
  }
  return result;
}

// float32 computes in float64 and rounds once.
std::vector<Tensor> eager_exponential(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = empty_results(op, operands, attrs);
  if (results[0].numel() == 0) return results;
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using Wide = std::conditional_t<std::is_same_v<T, typename kernels::RealOf<T>::type>, double,
                                    std::complex<double>>;
    const MatrixStack<T> stack(operands[0]);
    stack.for_each([&](int64_t i) {
      const std::vector<T> a = stack.read(i);
      std::vector<T> result(a.size());
      const std::vector<Wide> wide = exponential<Wide>(stack.rows(), std::vector<Wide>(a.begin(), a.end()));
      for (size_t e = 0; e < a.size(); ++e) result[e] = static_cast<T>(wide[e]);
      write_matrix(results[0], i, result.data(), stack.rows());
    });
  });
  return results;
}

[[maybe_unused]] const OpDef* const kLinalgFactorsOps[] = {
    &register_op({.name = "lu_factor",
                  .schema = "(Tensor x, bool check=False) -> (Tensor, Tensor, Tensor)",
                  .dtypes = kLapack,
                  .doc = "The factors L and U of x[*B, m, n] with rows exchanged, in one matrix; the "
                         "exchanges, int32 from 1, "
                         "[*B, min(m, n)]; and the first zero on U's diagonal, from 1, or 0: int32 [*B].\n"
                         "dtype: float32, float64, complex. raises: RuntimeError for such a zero with "
                         "`check`. source: LAPACK getrf.",
                  .infer = infer_lu,
                  .eager = eager_lu}),
    &register_op(
        {.name = "lu_solve",
         .schema = "(Tensor factors, Tensor pivots, Tensor b, bool adjoint=False) -> Tensor",
         .dtypes = kLapack,
         .doc =
             "x with a[*B, n, n] @ x = b[*B, n, k], from lu_factor's results for a; `adjoint`: a^H @ x = b.\n"
             "dtype: float32, float64, complex. source: LAPACK getrs.",
         .infer = infer_with_pivots,
         .eager = eager_lu_solve}),
    &register_op({.name = "cholesky_ex",
                  .schema = "(Tensor x) -> (Tensor, Tensor)",
                  .dtypes = kLapack,
                  .doc = "cholesky, and the order of the first leading minor that is not positive definite, "
                         "or 0: int32 [*B].\n"
                         "dtype: float32, float64, complex. source: LAPACK potrf.",
                  .infer = infer_cholesky,
                  .eager = eager_cholesky_with_info}),
    &register_op(
        {.name = "ldl_factor",
         .schema = "(Tensor x, bool hermitian=False, bool check=False) -> (Tensor, Tensor, Tensor)",
         .dtypes = kLapack,
         .doc = "Factors of symmetric x[*B, n, n] = L D L^T (`hermitian`: L D L^H), of which the lower half "
                "is read, in "
                "LAPACK's form; pivots, int32 [*B, n]; and the first zero in D, from 1, or 0: int32 [*B].\n"
                "dtype: float32, float64, complex. raises: RuntimeError for such a zero with `check`. "
                "source: LAPACK sytrf, hetrf.",
         .infer = infer_ldl,
         .eager = eager_ldl}),
    &register_op({.name = "ldl_solve",
                  .schema = "(Tensor factors, Tensor pivots, Tensor b, bool hermitian=False) -> Tensor",
                  .dtypes = kLapack,
                  .doc = "x with a[*B, n, n] @ x = b[*B, n, k], from ldl_factor's results for a.\n"
                         "dtype: float32, float64, complex. source: LAPACK sytrs, hetrs.",
                  .infer = infer_with_pivots,
                  .eager = eager_ldl_solve}),
    &register_op(
        {.name = "solve_triangular",
         .schema = "(Tensor a, Tensor b, bool upper, bool unitriangular=False) -> Tensor",
         .dtypes = kLapack,
         .doc = "x with a[*B, n, n] @ x = b[*B, n, k], a triangular: its other half is not read, nor with "
                "`unitriangular` its diagonal, which counts as ones.\n"
                "dtype: float32, float64, complex. source: BLAS trsm.",
         .infer = infer_triangular,
         .eager = eager_triangular}),
    &register_op({.name = "householder_product",
                  .schema = "(Tensor x, Tensor tau) -> Tensor",
                  .dtypes = kLapack,
                  .doc = "The first n columns of the product of reflections, whose vectors stand below x[*B, "
                         "m, n]'s diagonal and "
                         "whose factors are tau[*B, k]: q of qr, from geqrf's results.\n"
                         "dtype: float32, float64, complex. source: LAPACK orgqr, ungqr.",
                  .infer = infer_householder,
                  .eager = eager_householder}),
    &register_op({.name = "lstsq_qr",
                  .schema = "(Tensor a, Tensor b, float rcond) -> (Tensor, Tensor)",
                  .dtypes = kLapack,
                  .doc =
                      "x[*B, n, k] of least norm that minimizes the norm of a[*B, m, n] @ x - b[*B, m, k], "
                      "and the rank, int32 "
                      "[*B]: the size of the largest leading part of R whose condition is below 1 / rcond.\n"
                      "dtype: float32, float64, complex. source: LAPACK gelsy.",
                  .infer = infer_least_squares,
                  .eager = eager_least_squares}),
    &register_op({.name = "matrix_exp",
                  .schema = "(Tensor x) -> Tensor",
                  .dtypes = kLapack,
                  .doc =
                      "The exponentials of the matrices x[*B, n, n]; NaN where an element is not finite.\n"
                      "dtype: float32, float64, complex. source: Higham's scaling and squaring, in float64.",
                  .methods = {""},
                  .infer = infer_same,
                  .eager = eager_exponential}),
};

}  // namespace
}  // namespace weft::ops
