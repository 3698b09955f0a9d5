// Eigenvalues, singular values, QR factors and least squares, through LAPACK, matrix by matrix.
#include <fmt/format.h>

#include "ops/linalg.h"

namespace weft::ops {
namespace {

using kernels::Lapack;

const Sym& columns_of(const TensorType& x) { return x.shape.back(); }
Sym least_of(const TensorType& x) { return sym_min(rows_of(x), columns_of(x)); }

[[noreturn]] void no_convergence(const OpDef& op, const char* what) {
  throw_error(ErrorKind::Runtime, fmt::format("linalg.{}: the {} did not converge", op.name, what));
}

std::vector<TensorType> types_of(std::span<const Tensor> operands) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands) types.push_back(type_of(operand));
  return types;
}

// Empty tensors for the results.
std::vector<Tensor> results_of(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results;
  for (const TensorType& type : op.infer(op, types_of(operands), attrs)) results.push_back(empty_of(type));
  return results;
}

template <class T>
std::vector<T> columns(int64_t rows, int64_t count) {
  return std::vector<T>(static_cast<size_t>(std::max<int64_t>(1, rows * count)));
}

// ---- eigenvalues
// ------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_eigvalsh(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  const TensorType& x = operands[0];
  return {stack_type(x, real_part_of(x.dtype), {columns_of(x)})};
}
std::vector<TensorType> infer_eigh(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  return {infer_eigvalsh(op, operands, attrs)[0], operands[0]};
}
std::vector<TensorType> infer_eigvals(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  const TensorType& x = operands[0];
  return {stack_type(x, complex_dtype_of(x.dtype), {columns_of(x)})};
}
std::vector<TensorType> infer_eig(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType values = infer_eigvals(op, operands, attrs)[0];
  return {values, TensorType{values.dtype, operands[0].shape, values.device}};
}

std::vector<Tensor> eager_symmetric(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = results_of(op, operands, attrs);
  const bool vectors = results.size() > 1, upper = attrs.get_bool("upper");
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int n = stack.rows();
    if (n == 0) return;
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      auto* const values = results[0].data_as<typename Lapack<T>::Real>() + i * n;
      if (Lapack<T>::symmetric_eigenvalues(n, a.data(), values, vectors, upper) != 0)
        no_convergence(op, "eigenvalues");
      if (vectors) write_matrix(results[1], i, a.data(), n);
    });
  });
  return results;
}

std::vector<Tensor> eager_general(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = results_of(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using Complex = typename Lapack<T>::Complex;
    const MatrixStack<T> stack(operands[0]);
    const int n = stack.rows();
    if (n == 0) return;
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      std::vector<Complex> vectors = columns<Complex>(results.size() > 1 ? n : 0, n);
      Complex* const values = results[0].data_as<Complex>() + i * n;
      if (Lapack<T>::eigenvalues(n, a.data(), values, results.size() > 1 ? vectors.data() : nullptr) != 0)
        no_convergence(op, "eigenvalues");
      if (results.size() > 1) write_matrix(results[1], i, vectors.data(), n);
    });
  });
  return results;
}

// ---- singular values
// --------------------------------------------------------------------------------------------
std::vector<TensorType> infer_svdvals(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, false);
  return {stack_type(operands[0], real_part_of(operands[0].dtype), {least_of(operands[0])})};
}
std::vector<TensorType> infer_svd(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  const TensorType& x = operands[0];
  const TensorType values = infer_svdvals(op, operands, attrs)[0];
  const bool full = attrs.get_bool("full_matrices");
  return {stack_type(x, x.dtype, {rows_of(x), full ? rows_of(x) : least_of(x)}), values,
          stack_type(x, x.dtype, {full ? columns_of(x) : least_of(x), columns_of(x)})};
}

// A matrix without elements has the vectors of the identity.
template <class T>
void set_identity(Tensor& stack, int64_t count) {
  const int64_t rows = stack.size(-2), width = stack.size(-1);
  std::fill_n(stack.data_as<T>(), count * rows * width, T(0));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t d = 0; d < std::min(rows, width); ++d) stack.data_as<T>()[(i * rows + d) * width + d] = T(1);
}

std::vector<Tensor> eager_svd(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = results_of(op, operands, attrs);
  const bool vectors = results.size() > 1;
  Tensor& values = results[vectors ? 1 : 0];
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int m = stack.rows(), n = stack.columns(), least = std::min(m, n);
    if (least == 0) {
      if (vectors) set_identity<T>(results[0], stack.count()), set_identity<T>(results[2], stack.count());
      return;
    }
    const char job = !vectors ? 'N' : attrs.get_bool("full_matrices") ? 'A' : 'S';
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      std::vector<T> u = columns<T>(vectors ? m : 0, vectors ? results[0].size(-1) : 0);
      std::vector<T> vt = columns<T>(vectors ? results[2].size(-2) : 0, n);
      auto* const to = values.data_as<typename Lapack<T>::Real>() + i * least;
      if (Lapack<T>::singular_values(job, m, n, a.data(), to, u.data(), vt.data()) != 0)
        no_convergence(op, "singular values");
      if (!vectors) return;
      write_matrix(results[0], i, u.data(), m);
      write_matrix(results[2], i, vt.data(), results[2].size(-2));
    });
  });
  return results;
}

// ---- QR
// ---------------------------------------------------------------------------------------------------------
std::vector<TensorType> infer_qr(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_matrices(op, operands, false);
  const TensorType& x = operands[0];
  const Sym width = attrs.get_bool("complete") ? rows_of(x) : least_of(x);
  return {stack_type(x, x.dtype, {rows_of(x), width}), stack_type(x, x.dtype, {width, columns_of(x)})};
}
std::vector<TensorType> infer_geqrf(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, false);
  return {operands[0], stack_type(operands[0], operands[0].dtype, {least_of(operands[0])})};
}

std::vector<Tensor> eager_qr(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = results_of(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int m = stack.rows(), n = stack.columns(), least = std::min(m, n);
    const int width = static_cast<int>(results[0].size(-1));
    if (least == 0) return set_identity<T>(results[0], stack.count());
    stack.for_each([&](int64_t index) {
      std::vector<T> a = columns<T>(m, std::max(n, width)), tau = columns<T>(least, 1);
      stack.read(index, a.data(), m);
      Lapack<T>::qr(m, n, a.data(), tau.data());
      T* const r = results[1].data_as<T>() + index * width * n;
      for (int i = 0; i < width; ++i)
        for (int j = 0; j < n; ++j)
          r[static_cast<int64_t>(i) * n + j] =
              j < i ? T(0) : a[static_cast<size_t>(j) * static_cast<size_t>(m) + static_cast<size_t>(i)];
      Lapack<T>::qr_vectors(m, width, least, a.data(), tau.data());
      write_matrix(results[0], index, a.data(), m);
    });
  });
  return results;
}

std::vector<Tensor> eager_geqrf(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = results_of(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    const int m = stack.rows(), n = stack.columns(), least = std::min(m, n);
    if (least == 0) return;
    stack.for_each([&](int64_t i) {
      std::vector<T> a = stack.read(i);
      Lapack<T>::qr(m, n, a.data(), results[1].data_as<T>() + i * least);
      write_matrix(results[0], i, a.data(), m);
    });
  });
  return results;
}

// ---- least squares
// ----------------------------------------------------------------------------------------------
std::vector<TensorType> infer_lstsq(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, false);
  const TensorType &a = operands[0], &b = operands[1], &rcond = operands[2];
  WEFT_CHECK(
      a.shape.size() == 2 && b.shape.size() == 2 && a.dtype == b.dtype && sym_eq(rows_of(a), rows_of(b)),
      fmt::format("{}: expected two matrices of one dtype with as many rows{}", op.name,
                  describe_operands(op, operands)));
  WEFT_CHECK(rcond.shape.empty() && rcond.dtype == real_part_of(a.dtype),
             fmt::format("{}: expected rcond as one number of dtype {}{}", op.name,
                         name(real_part_of(a.dtype)), describe_operands(op, operands)));
  const DType real = real_part_of(a.dtype);
  return {TensorType{a.dtype, {columns_of(a), columns_of(b)}, a.device},
          TensorType{real, {columns_of(b)}, a.device}, TensorType{DType::I32, {}, a.device},
          TensorType{real, {least_of(a)}, a.device}};
}

std::vector<Tensor> eager_lstsq(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Tensor> results = results_of(op, operands, attrs);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using Real = typename Lapack<T>::Real;
    const MatrixStack<T> left(operands[0]), right(operands[1]);
    const int m = left.rows(), n = left.columns(), num_right = right.columns(), rows = std::max(m, n);
    int rank = 0;
    std::vector<T> a = left.read(0), b = columns<T>(rows, num_right);
    right.read(0, b.data(), rows);
    if (m > 0 && n > 0 && num_right > 0 &&
        Lapack<T>::least_squares(m, n, num_right, a.data(), b.data(), results[3].data_as<Real>(),
                                 *operands[2].data_as<Real>(), &rank) != 0)
      no_convergence(op, "singular values");
    if (m == 0) std::fill(b.begin(), b.end(), T(0));
    write_matrix(results[0], 0, b.data(), rows);
    for (int j = 0; j < num_right; ++j) {
      Real sum = 0;
      for (int i = n; i < m; ++i)
        sum += std::norm(b[static_cast<size_t>(j) * static_cast<size_t>(rows) + static_cast<size_t>(i)]);
      results[1].data_as<Real>()[j] = sum;
    }
    *results[2].data_as<int32_t>() = rank;
  });
  return results;
}

[[maybe_unused]] const OpDef* const kLinalgDecompositionsOps[] = {
    &register_op(
        {.name = "eigvalsh",
         .schema = "(Tensor x, bool upper=False) -> Tensor",
         .dtypes = kLapack,
         .doc = "Eigenvalues of symmetric (Hermitian) x[*B, n, n], ascending: [*B, n], real. One half is "
                "read: the "
                "lower,\n"
                "unless `upper`. dtype: float32, float64, complex. raises: RuntimeError without convergence. "
                "source: LAPACK syevd, heevd.",
         .numpy = "numpy.linalg.eigvalsh(x)",
         .infer = infer_eigvalsh,
         .eager = eager_symmetric}),
    &register_op(
        {.name = "eigh",
         .schema = "(Tensor x, bool upper=False) -> (Tensor, Tensor)",
         .dtypes = kLapack,
         .doc =
             "Eigenvalues of symmetric (Hermitian) x[*B, n, n], ascending, [*B, n], and its eigenvectors as "
             "columns, [*B, n, n].\n"
             "One half is read: the lower, unless `upper`. dtype: float32, float64, complex; values are "
             "real.\n"
             "raises: RuntimeError without convergence. source: LAPACK syevd, heevd.",
         .numpy = "numpy.linalg.eigh(x)",
         .infer = infer_eigh,
         .eager = eager_symmetric}),
    &register_op(
        {.name = "eigvals",
         .schema = "(Tensor x) -> Tensor",
         .dtypes = kLapack,
         .doc =
             "Eigenvalues of x[*B, n, n]: [*B, n], complex, in no order. dtype: float32, float64, complex.\n"
             "raises: RuntimeError without convergence. source: LAPACK geev.",
         .numpy = "numpy.linalg.eigvals(x)",
         .infer = infer_eigvals,
         .eager = eager_general}),
    &register_op(
        {.name = "eig",
         .schema = "(Tensor x) -> (Tensor, Tensor)",
         .dtypes = kLapack,
         .doc =
             "Eigenvalues of x[*B, n, n], [*B, n], and eigenvectors of length 1 as columns, [*B, n, n]; both "
             "complex.\n"
             "dtype: float32, float64, complex. raises: RuntimeError without convergence. source: LAPACK "
             "geev.",
         .numpy = "numpy.linalg.eig(x)",
         .infer = infer_eig,
         .eager = eager_general}),
    &register_op(
        {.name = "svdvals",
         .schema = "(Tensor x) -> Tensor",
         .dtypes = kLapack,
         .doc = "Singular values of x[*B, m, n], descending: [*B, min(m, n)], real. dtype: float32, float64, "
                "complex.\n"
                "raises: RuntimeError without convergence. source: LAPACK gesdd.",
         .numpy = "numpy.linalg.svdvals(x)",
         .infer = infer_svdvals,
         .eager = eager_svd}),
    &register_op(
        {.name = "svd",
         .schema = "(Tensor x, bool full_matrices=True) -> (Tensor, Tensor, Tensor)",
         .dtypes = kLapack,
         .doc =
             "u, s and vh with x[*B, m, n] = u @ diag(s) @ vh: u[*B, m, m], s[*B, min(m, n)] real and "
             "descending, vh[*B, n, n];\n"
             "unless `full_matrices`, only the first min(m, n) columns of u and rows of vh. dtype: float32, "
             "float64, complex.\n"
             "raises: RuntimeError without convergence. source: LAPACK gesdd.",
         .numpy = "numpy.linalg.svd(x, full_matrices)",
         .infer = infer_svd,
         .eager = eager_svd}),
    &register_op(
        {.name = "qr",
         .schema = "(Tensor x, bool complete=False) -> (Tensor, Tensor)",
         .dtypes = kLapack,
         .doc =
             "q with orthonormal columns and upper triangular r with x[*B, m, n] = q @ r: q[*B, m, min(m, "
             "n)], "
             "r[*B, min(m, n), n];\n"
             "`complete`: q[*B, m, m], r[*B, m, n]. dtype: float32, float64, complex. source: LAPACK geqrf, "
             "orgqr, ungqr.",
         .numpy = "numpy.linalg.qr(x, 'complete' if complete else 'reduced')",
         .infer = infer_qr,
         .eager = eager_qr}),
    &register_op({.name = "geqrf",
                  .schema = "(Tensor x) -> (Tensor, Tensor)",
                  .dtypes = kLapack,
                  .doc = "The factors of qr as LAPACK has them: r and below it the vectors of the "
                         "reflections, [*B, m, n]; "
                         "their factors,\n"
                         "[*B, min(m, n)]. dtype: float32, float64, complex. source: LAPACK geqrf.",
                  .infer = infer_geqrf,
                  .eager = eager_geqrf}),
    &register_op(
        {.name = "lstsq",
         .schema = "(Tensor a, Tensor b, Tensor rcond) -> (Tensor, Tensor, Tensor, Tensor)",
         .dtypes = kLapack,
         .doc =
             "x[n, k] of least norm that minimizes the norm of a[m, n] @ x - b[m, k]; the squared norms of "
             "its "
             "rows beyond n, [k]\n"
             "(the residuals, where a has rank n < m); the rank, int32; and a's singular values. Those up to "
             "`rcond` times the\n"
             "largest count as zero. dtype: float32, float64, complex. raises: RuntimeError without "
             "convergence. source: LAPACK gelsd.",
         .infer = infer_lstsq,
         .eager = eager_lstsq}),
};

}  // namespace
}  // namespace weft::ops
