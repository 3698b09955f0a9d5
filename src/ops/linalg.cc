// What follows from LU and Cholesky factors, through LAPACK, matrix by matrix.
#include "ops/linalg.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {

using kernels::Lapack;

void check_matrices(const OpDef& op, std::span<const TensorType> operands, bool square) {
  const TensorType& x = operands[0];
  WEFT_CHECK_TYPE(kLapack & dtype_bit(x.dtype),
                  fmt::format("{}: expected float32, float64 or complex, got {}{}", op.name, name(x.dtype),
                              describe_operands(op, operands)));
  const size_t ndim = x.shape.size();
  WEFT_CHECK(ndim >= 2 && (!square || sym_eq(x.shape[ndim - 1], x.shape[ndim - 2])),
             fmt::format("{}: expected {}, got {}{}", op.name, square ? "square matrices" : "matrices",
                         x.str(), describe_operands(op, operands)));
}

TensorType stack_type(const TensorType& x, DType dtype, std::initializer_list<Sym> sizes) {
  SymShape shape(x.shape.begin(), x.shape.end() - 2);
  shape.insert(shape.end(), sizes);
  return TensorType{dtype, shape, x.device};
}

Tensor empty_of(const TensorType& type) {
  Shape shape;
  for (const Sym& size : type.shape) shape.push_back(size.constant());
  return Tensor::empty(shape, type.dtype);
}

namespace {

std::vector<TensorType> infer_square(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {operands[0]};
}
std::vector<TensorType> infer_det(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {stack_type(operands[0], operands[0].dtype, {})};
}
std::vector<TensorType> infer_slogdet(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_matrices(op, operands, true);
  return {stack_type(operands[0], operands[0].dtype, {}),
          stack_type(operands[0], real_part_of(operands[0].dtype), {})};
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
  const std::vector<SymShape> batches{SymShape(a.shape.begin(), a.shape.end() - 2),
                                      vector ? SymShape{} : SymShape(b.shape.begin(), b.shape.end() - 2)};
  SymShape shape = broadcast_shapes(op.name, batches);
  shape.push_back(a.shape.back());
  if (!vector) shape.push_back(b.shape.back());
  return {TensorType{a.dtype, shape, a.device}};
}

[[noreturn]] void singular(const OpDef& op, int info) {
  throw_error(ErrorKind::Runtime,
              fmt::format("linalg.{}: Singular matrix: the diagonal element {} of its LU factor is zero",
                          op.name, info));
}

// The determinant as a number of absolute value 1, or 0, and the logarithm of its absolute value.
template <class T>
struct Determinant {
  T sign = 1;
  typename kernels::RealOf<T>::type logarithm = 0;
};

template <class T>
Determinant<T> determinant(const MatrixStack<T>& stack, int64_t index) {
  const auto n = static_cast<size_t>(stack.rows());
  std::vector<T> a = stack.read(index);
  std::vector<int> pivots(n);
  Determinant<T> result;
  if (n > 0 && Lapack<T>::lu(stack.rows(), stack.rows(), a.data(), pivots.data()) > 0) {
    result.sign = 0, result.logarithm = -std::numeric_limits<decltype(result.logarithm)>::infinity();
    return result;
  }
  for (size_t d = 0; d < n; ++d)
    if (pivots[d] != static_cast<int>(d) + 1) result.sign = -result.sign;
  for (size_t d = 0; d < n; ++d) {
    const T value = a[d * n + d];
    const auto magnitude = std::abs(value);
    result.sign *= value / magnitude;
    result.logarithm += std::log(magnitude);
  }
  return result;
}

std::vector<Tensor> eager_det(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  Tensor result = empty_of(infer_det(op, std::vector{type_of(operands[0])}, attrs)[0]);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    stack.for_each([&](int64_t i) {
      const Determinant<T> det = determinant(stack, i);
      result.data_as<T>()[i] = det.sign * std::exp(det.logarithm);
    });
  });
  return {result};
}

std::vector<Tensor> eager_slogdet(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const std::vector<TensorType> types = infer_slogdet(op, std::vector{type_of(operands[0])}, attrs);
  Tensor sign = empty_of(types[0]), logarithm = empty_of(types[1]);
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    stack.for_each([&](int64_t i) {
      const Determinant<T> det = determinant(stack, i);
      sign.data_as<T>()[i] = det.sign;
      logarithm.data_as<typename kernels::RealOf<T>::type>()[i] = det.logarithm;
    });
  });
  return {sign, logarithm};
}

std::vector<Tensor> eager_solve(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const std::vector<TensorType> types{type_of(operands[0]), type_of(operands[1])};
  const TensorType type = infer_solve(op, types, attrs)[0];
  Tensor result = empty_of(type);
  if (result.numel() == 0) return {result};
  const bool vector = operands[1].dim() == 1;
  const Sym n = type.shape[type.shape.size() - (vector ? 1 : 2)],
            columns = vector ? Sym(1) : type.shape.back();
  // Both operands with the result's batch dimensions.
  SymShape a_shape(type.shape.begin(), type.shape.end() - (vector ? 1 : 2)), b_shape = a_shape;
  a_shape.insert(a_shape.end(), {n, n});
  b_shape.insert(b_shape.end(), {n, columns});
  const Tensor a = build::expand(operands[0], a_shape);
  const Tensor b = build::expand(vector ? build::unsqueeze(operands[1], 1) : operands[1], b_shape);
  Tensor solutions = vector ? build::unsqueeze(result, result.dim()) : result;
  visit_lapack(a.dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> matrices(a), right_sides(b);
    matrices.for_each([&](int64_t i) {
      std::vector<T> factors = matrices.read(i), right = right_sides.read(i);
      const int rows = matrices.rows();
      std::vector<int> pivots(static_cast<size_t>(rows));
      if (const int info = Lapack<T>::lu(rows, rows, factors.data(), pivots.data()); info > 0)
        singular(op, info);
      Lapack<T>::lu_solve(rows, right_sides.columns(), factors.data(), pivots.data(), right.data());
      write_matrix(solutions, i, right.data(), rows);
    });
  });
  return {result};
}

std::vector<Tensor> eager_cholesky(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  Tensor result = Tensor::empty(operands[0].shape(), operands[0].dtype());
  visit_lapack(operands[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const MatrixStack<T> stack(operands[0]);
    stack.for_each([&](int64_t index) {
      std::vector<T> a = stack.read(index);
      const int n = stack.rows();
      if (const int info = Lapack<T>::cholesky_lower(n, a.data()); info > 0) {
        throw_error(
            ErrorKind::Runtime,
            fmt::format(
                "linalg.{}: the matrix is not positive definite: its leading minor of order {} is not",
                op.name, info));
      }
      for (int j = 1; j < n; ++j) std::fill_n(a.begin() + static_cast<int64_t>(j) * n, j, T(0));
      write_matrix(result, index, a.data(), n);
    });
  });
  return {result};
}

std::vector<Tensor> inverse(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const std::vector<TensorType> types{type_of(x)};
  check_matrices(op, types, true);
  const Sym size = sym_shape(x).back();
  const Tensor eye =
      call1("eye", {}, {{"n", size}, {"m", size}, {"dtype", x.dtype()}, {"device", types[0].device}});
  return {call1("solve", {x, eye})};
}

[[maybe_unused]] const OpDef* const kLinalgOps[] = {
    &register_op(
        {.name = "det",
         .schema = "(Tensor x) -> Tensor",
         .dtypes = kLapack,
         .doc =
             "Determinants of x[*B, n, n]: [*B]. dtype: float32, float64, complex. error: n^3 * eps relative "
             "to the product of\n"
             "the row norms. source: LU factorization (LAPACK getrf), as the exponential of slogdet.",
         .numpy = "numpy.linalg.det(x)",
         .methods = {""},
         .infer = infer_det,
         .eager = eager_det}),
    &register_op(
        {.name = "slogdet",
         .schema = "(Tensor x) -> (Tensor, Tensor)",
         .dtypes = kLapack,
         .doc = "Determinants of x[*B, n, n] as signs (for complex x, numbers of absolute value 1) and "
                "logarithms "
                "of absolute\n"
                "values, both [*B]: 0 and -inf for a singular matrix. dtype: float32, float64, complex; the "
                "logarithm is real.\n"
                "source: LU factorization (LAPACK getrf).",
         .numpy = "numpy.linalg.slogdet(x)",
         .infer = infer_slogdet,
         .eager = eager_slogdet}),
    &register_op(
        {.name = "solve",
         .schema = "(Tensor a, Tensor b) -> Tensor",
         .dtypes = kLapack,
         .doc = "x with a[*B, n, n] @ x = b[*B, n, m], or b[n]. dtype: float32, float64, complex.\n"
                "raises: RuntimeError for a singular matrix. source: LU factorization (LAPACK getrf, getrs).",
         .numpy = "numpy.linalg.solve(a, b)",
         .infer = infer_solve,
         .eager = eager_solve}),
    &register_op({.name = "cholesky",
                  .schema = "(Tensor x) -> Tensor",
                  .dtypes = kLapack,
                  .doc = "Lower triangular L[*B, n, n] with L @ L^H = x, of which the lower half is read.\n"
                         "dtype: float32, float64, complex. raises: RuntimeError unless positive definite. "
                         "source: LAPACK "
                         "potrf.",
                  .numpy = "numpy.linalg.cholesky(x)",
                  .infer = infer_square,
                  .eager = eager_cholesky}),
    &define_composite("inv", "(Tensor x) -> Tensor",
                      "Inverses of x[*B, n, n]. dtype: float32, float64, complex. raises: RuntimeError for a "
                      "singular matrix.",
                      "numpy.linalg.inv(x)", inverse, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
