// Decompositions and what is built on them, through LAPACK, matrix by matrix.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/blas.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using kernels::Lapack;

void check_matrices(const OpDef& op, std::span<const TensorType> operands, bool square) {
  const TensorType& x = operands[0];
  WEFT_CHECK_TYPE(x.dtype == DType::F32 || x.dtype == DType::F64,
                  fmt::format("{}: expected float32 or float64, got {}{}", op.name, name(x.dtype),
                              describe_operands(op, operands)));
  const size_t ndim = x.shape.size();
  WEFT_CHECK(ndim >= 2 && (!square || sym_eq(x.shape[ndim - 1], x.shape[ndim - 2])),
             fmt::format("{}: expected {}, got {}{}", op.name, square ? "square matrices" : "matrices",
                         x.str(), describe_operands(op, operands)));
}

SymShape batch_shape(const TensorType& x) { return SymShape(x.shape.begin(), x.shape.end() - 2); }

std::vector<TensorType> infer_square(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {operands[0]};
}
std::vector<TensorType> infer_det(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {TensorType{operands[0].dtype, batch_shape(operands[0]), operands[0].device}};
}
std::vector<TensorType> infer_eigenvalues(const OpDef& op, std::span<const TensorType> operands,
                                          const Attrs&) {
  check_matrices(op, operands, true);
  return {TensorType{operands[0].dtype, SymShape(operands[0].shape.begin(), operands[0].shape.end() - 1),
                     operands[0].device}};
}
std::vector<TensorType> infer_svdvals(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, false);
  SymShape shape = batch_shape(operands[0]);
  shape.push_back(sym_min(operands[0].shape.back(), operands[0].shape[operands[0].shape.size() - 2]));
  return {TensorType{operands[0].dtype, shape, operands[0].device}};
}

// `b` is a stack of matrices, or of vectors where it has one dimension less than `a`.
std::vector<TensorType> infer_solve(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  const TensorType &a = operands[0], &b = operands[1];
  const bool vector = b.shape.size() == 1;
  WEFT_CHECK(a.dtype == b.dtype && !b.shape.empty() &&
                 sym_eq(vector ? b.shape[0] : b.shape[b.shape.size() - 2], a.shape.back()),
             fmt::format("{}: expected b of the same dtype with {} rows{}", op.name, a.shape.back().str(),
                         describe_operands(op, operands)));
  const std::vector<SymShape> batches{batch_shape(a), vector ? SymShape{} : batch_shape(b)};
  SymShape shape = broadcast_shapes(op.name, batches);
  shape.push_back(a.shape.back());
  if (!vector) shape.push_back(b.shape.back());
  return {TensorType{a.dtype, shape, a.device}};
}

// Visits every matrix of a contiguous stack: body(index, row-major data, rows, columns).
template <class T, class F>
void for_each_matrix(const Tensor& x, F&& body) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const int64_t size = rows * columns;
  int64_t count = 1;
  for (int64_t d = 0; d + 2 < x.dim(); ++d) count *= x.size(d);
  WEFT_CHECK(rows < (int64_t{1} << 31) && columns < (int64_t{1} << 31),
             "linalg: a dimension is larger than LAPACK can take");
  for (int64_t i = 0; i < count; ++i)
    body(i, x.data_as<T>() + i * size, static_cast<int>(rows), static_cast<int>(columns));
}

template <class F>
void visit_real(DType dtype, F&& f) {
  if (dtype == DType::F32)
    f(std::type_identity<float>{});
  else
    f(std::type_identity<double>{});
}

template <class T>
std::vector<T> column_major(const T* data, int rows, int columns) {
  std::vector<T> result(static_cast<size_t>(rows) * static_cast<size_t>(columns));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      result[static_cast<size_t>(j) * static_cast<size_t>(rows) + static_cast<size_t>(i)] =
          data[static_cast<int64_t>(i) * columns + j];
  return result;
}

[[noreturn]] void singular(const OpDef& op, int info) {
  throw_error(
      ErrorKind::Runtime,
      fmt::format("{}: Singular matrix: the diagonal element {} of its LU factor is zero", op.name, info));
}

std::vector<Tensor> eager_det(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor x = operands[0].contiguous();
  Tensor result = Tensor::empty(Shape(x.shape().begin(), x.shape().end() - 2), x.dtype());
  visit_real(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_matrix<T>(x, [&](int64_t i, const T* data, int n, int) {
      std::vector<T> a(data,
                       data + static_cast<int64_t>(n) * n);  // det(A) = det(A^T): the order does not matter
      std::vector<int> pivots(static_cast<size_t>(n));
      T product = 1;
      if (n > 0 && Lapack<T>::lu(n, a.data(), pivots.data()) > 0)
        product = 0;
      else
        for (int d = 0; d < n; ++d) {
          product *= a[static_cast<size_t>(d) * static_cast<size_t>(n) + static_cast<size_t>(d)];
          if (pivots[static_cast<size_t>(d)] != d + 1) product = -product;
        }
      result.data_as<T>()[i] = product;
    });
  });
  return {result};
}

std::vector<Tensor> eager_solve(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const std::vector<TensorType> types{type_of(operands[0]), type_of(operands[1])};
  Shape shape;
  const TensorType type = infer_solve(op, types, attrs)[0];
  for (const Sym& size : type.shape) shape.push_back(size.constant());
  const bool vector = operands[1].dim() == 1;
  Tensor result = Tensor::empty(shape, operands[0].dtype());
  const int64_t n = operands[0].size(-1), columns = vector ? 1 : operands[1].size(-1);
  if (result.numel() == 0) return {result};
  // Both operands with the result's batch dimensions.
  SymShape batch(shape.begin(), shape.end() - (vector ? 1 : 2)), a_shape = batch, b_shape = batch;
  a_shape.insert(a_shape.end(), {Sym(n), Sym(n)});
  b_shape.insert(b_shape.end(), {Sym(n), Sym(columns)});
  const Tensor a = build::expand(operands[0], a_shape).contiguous();
  const Tensor b =
      build::expand(vector ? build::unsqueeze(operands[1], 1) : operands[1], b_shape).contiguous();
  visit_real(a.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_matrix<T>(a, [&](int64_t i, const T* data, int size, int) {
      std::vector<T> factors = column_major(data, size, size);
      std::vector<T> right = column_major(b.data_as<T>() + i * n * columns, size, static_cast<int>(columns));
      std::vector<int> pivots(static_cast<size_t>(size));
      if (const int info = Lapack<T>::lu(size, factors.data(), pivots.data()); info > 0) singular(op, info);
      Lapack<T>::lu_solve(size, static_cast<int>(columns), factors.data(), pivots.data(), right.data());
      T* out = result.data_as<T>() + i * n * columns;
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < columns; ++c) out[r * columns + c] = right[static_cast<size_t>(c * n + r)];
    });
  });
  return {result};
}

std::vector<Tensor> eager_cholesky(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  const Tensor x = operands[0].contiguous();
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  visit_real(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_matrix<T>(x, [&](int64_t i, const T* data, int n, int) {
      std::vector<T> a = column_major(data, n, n);
      if (const int info = Lapack<T>::cholesky_lower(n, a.data()); info > 0) {
        throw_error(
            ErrorKind::Runtime,
            fmt::format("{}: the matrix is not positive definite: its leading minor of order {} is not",
                        op.name, info));
      }
      T* out = result.data_as<T>() + i * n * n;
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
          out[r * n + c] =
              c <= r ? a[static_cast<size_t>(c) * static_cast<size_t>(n) + static_cast<size_t>(r)] : T(0);
    });
  });
  return {result};
}

std::vector<Tensor> eager_eigvalsh(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  const Tensor x = operands[0].contiguous();
  Tensor result = Tensor::empty(Shape(x.shape().begin(), x.shape().end() - 1), x.dtype());
  visit_real(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_matrix<T>(x, [&](int64_t i, const T* data, int n, int) {
      std::vector<T> a = column_major(data, n, n);
      if (n > 0 && Lapack<T>::symmetric_eigenvalues(n, a.data(), result.data_as<T>() + i * n) > 0)
        throw_error(ErrorKind::Runtime, fmt::format("{}: the eigenvalues did not converge", op.name));
    });
  });
  return {result};
}

std::vector<Tensor> eager_svdvals(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  const Tensor x = operands[0].contiguous();
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  shape.push_back(std::min(x.size(-1), x.size(-2)));
  Tensor result = Tensor::empty(shape, x.dtype());
  visit_real(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_matrix<T>(x, [&](int64_t i, const T* data, int m, int n) {
      std::vector<T> a = column_major(data, m, n);
      if (std::min(m, n) > 0 &&
          Lapack<T>::singular_values(m, n, a.data(), result.data_as<T>() + i * std::min(m, n)) > 0)
        throw_error(ErrorKind::Runtime, fmt::format("{}: the singular values did not converge", op.name));
    });
  });
  return {result};
}

std::vector<Tensor> inverse(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const std::vector<TensorType> types{type_of(x)};
  check_matrices(op, types, true);
  const Sym size = sym_shape(x).back();
  const Tensor eye = call1("eye", {}, {{"n", size}, {"m", size}, {"dtype", x.dtype()}});
  return {call1("solve", {x, eye})};
}

[[maybe_unused]] const OpDef* const kOps[] = {
    &register_op({.name = "det",
                  .schema = "(Tensor x) -> Tensor",
                  .doc = "Determinants of x[*B, n, n]: [*B]. dtype: float32, float64. error: n^3 * eps "
                         "relative to the product of\n"
                         "the row norms. source: LU factorization (LAPACK getrf).",
                  .numpy = "numpy.linalg.det(x)",
                  .methods = {""},
                  .infer = infer_det,
                  .eager = eager_det}),
    &register_op(
        {.name = "solve",
         .schema = "(Tensor a, Tensor b) -> Tensor",
         .doc = "x with a[*B, n, n] @ x = b[*B, n, m], or b[n]. dtype: float32, float64.\n"
                "raises: RuntimeError for a singular matrix. source: LU factorization (LAPACK getrf, getrs).",
         .numpy = "numpy.linalg.solve(a, b)",
         .infer = infer_solve,
         .eager = eager_solve}),
    &register_op(
        {.name = "cholesky",
         .schema = "(Tensor x) -> Tensor",
         .doc =
             "Lower triangular L[*B, n, n] with L @ L^T = x, of which the lower half is read.\n"
             "dtype: float32, float64. raises: RuntimeError unless positive definite. source: LAPACK potrf.",
         .numpy = "numpy.linalg.cholesky(x)",
         .infer = infer_square,
         .eager = eager_cholesky}),
    &register_op({.name = "eigvalsh",
                  .schema = "(Tensor x) -> Tensor",
                  .doc = "Eigenvalues of symmetric x[*B, n, n], ascending: [*B, n]. The lower half is read.\n"
                         "dtype: float32, float64. source: LAPACK syevd.",
                  .numpy = "numpy.linalg.eigvalsh(x)",
                  .infer = infer_eigenvalues,
                  .eager = eager_eigvalsh}),
    &register_op(
        {.name = "svdvals",
         .schema = "(Tensor x) -> Tensor",
         .doc = "Singular values of x[*B, m, n], descending: [*B, min(m, n)]. dtype: float32, float64.\n"
                "source: LAPACK gesdd.",
         .numpy = "numpy.linalg.svdvals(x)",
         .infer = infer_svdvals,
         .eager = eager_svdvals}),
    &define_composite(
        "inv", "(Tensor x) -> Tensor",
        "Inverses of x[*B, n, n]. dtype: float32, float64. raises: RuntimeError for a singular matrix.",
        "numpy.linalg.inv(x)", inverse, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
