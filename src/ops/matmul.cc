// Matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/gemm_bfloat16.h"
#include "kernels/cpu/gemm_half.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

// NumPy's rules: a one-dimensional operand is a row on the left, a column on the right, and that dimension
// goes again; dimensions before the last two broadcast.
std::vector<TensorType> infer_matmul(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  const TensorType &a = operands[0], &b = operands[1];
  WEFT_CHECK_TYPE(a.dtype == b.dtype, fmt::format("{}: operands must have one dtype{}", op.name,
                                                  describe_operands(op, operands)));
  WEFT_CHECK(!a.shape.empty() && !b.shape.empty(),
             fmt::format("{}: operands must have at least one dimension{}", op.name,
                         describe_operands(op, operands)));
  const Sym inner_a = a.shape.back(),
            inner_b = b.shape.size() == 1 ? b.shape[0] : b.shape[b.shape.size() - 2];
  WEFT_CHECK(sym_eq(inner_a, inner_b),
             fmt::format("{}: inner dimensions must match: expected b.shape[{}] == {}, got {}{}", op.name,
                         b.shape.size() == 1 ? -1 : -2, inner_a.str(), inner_b.str(),
                         describe_operands(op, operands)));
  const auto batch = [](const TensorType& type) {
    return type.shape.size() <= 2 ? SymShape{} : SymShape(type.shape.begin(), type.shape.end() - 2);
  };
  const std::vector<SymShape> batches{batch(a), batch(b)};
  TensorType result{a.dtype, broadcast_shapes(op.name, batches), a.device};
  if (a.shape.size() > 1) result.shape.push_back(a.shape[a.shape.size() - 2]);
  if (b.shape.size() > 1) result.shape.push_back(b.shape.back());
  return {result};
}

// One operand as a stack of matrices: strides of its batch dimensions aligned to the result's.
struct Stack {
  int64_t row_stride = 0, column_stride = 0;
  std::vector<int64_t> batch_strides;

  Stack(const Tensor& x, bool left, size_t batch_rank) : batch_strides(batch_rank, 0) {
    const size_t ndim = x.shape().size();
    if (ndim == 1) {
      (left ? column_stride : row_stride) = x.strides()[0];
      return;
    }
    row_stride = x.strides()[ndim - 2], column_stride = x.strides()[ndim - 1];
    for (size_t d = 0; d + 2 < ndim; ++d) {
      if (x.shape()[d] != 1) batch_strides[batch_rank - (ndim - 2) + d] = x.strides()[d];
    }
  }
};

Shape product_shape(const OpDef& op, const Tensor& a, const Tensor& b) {
  Shape shape;
  if (a.dim() <= 2 && b.dim() <= 2) {
    if (a.dim() == 2) shape.push_back(a.size(0));
    if (b.dim() == 2) shape.push_back(b.size(1));
    return shape;
  }
  const std::vector<TensorType> types{type_of(a), type_of(b)};
  const TensorType result = infer_matmul(op, types, {})[0];
  for (const Sym& size : result.shape) shape.push_back(size.constant());
  return shape;
}

std::vector<Tensor> eager_matmul(const OpDef& op, std::span<const Tensor> operands, const Attrs&) {
  Tensor a = operands[0];
  const Tensor& b = operands[1];
  const Shape shape = product_shape(op, a, b);
  Tensor result = Tensor::empty(shape, a.dtype());
  if (result.numel() == 0) return {result};

  const size_t batch_rank = shape.size() - (a.dim() > 1) - (b.dim() > 1);
  const int64_t k = a.size(-1), n = b.dim() > 1 ? b.size(-1) : 1;
  int64_t m = a.dim() > 1 ? a.size(-2) : 1;
  // A stack times one matrix is one product with the rows of the whole stack.
  if (k > 0 && b.dim() <= 2 && a.dim() > 2 && a.is_contiguous()) {
    m = a.numel() / k;
    a = a.as_strided({m, k}, {k, 1}, a.offset());
  }
  const bool flat = a.dim() <= 2 && b.dim() <= 2;
  const size_t loops = flat ? 0 : batch_rank;
  const Stack left(a, true, loops), right(b, false, loops);
  int64_t count = 1;
  for (size_t d = 0; d < loops; ++d) count *= shape[d];

  visit_dtype(a.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto product = [&](int64_t i) {
      int64_t rest = i, a_offset = 0, b_offset = 0;
      for (size_t d = loops; d-- > 0;) {
        const int64_t position = rest % shape[d];
        rest /= shape[d];
        a_offset += position * left.batch_strides[d];
        b_offset += position * right.batch_strides[d];
      }
      kernels::matrix_product<T>(m, n, k, {a.data_as<T>() + a_offset, left.row_stride, left.column_stride},
                                 {b.data_as<T>() + b_offset, right.row_stride, right.column_stride},
                                 result.data_as<T>() + i * m * n);
    };
    // Many products in parallel, few one after the other, each on all threads.
    const int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, m * n * k));
    if (count >= 2 * get_num_threads()) {
      parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) product(i);
      });
    } else {
      for (int64_t i = 0; i < count; ++i) product(i);
    }
  });
  return {result};
}

Tensor product_of(const Tensor& a, const Tensor& b) {
  const std::vector<Tensor> same = build::promote({a, b}, Promotion::NumPy);
  return call1("matmul", {same[0], same[1]});
}

void require_dims(const OpDef& op, const Tensor& x, const char* name, int64_t dims) {
  WEFT_CHECK(x.dim() == dims,
             fmt::format("{}: expected {} of {} dimensions, got {}", op.name, name, dims, type_of(x).str()));
}

std::vector<Tensor> mm(const OpDef& op, const OpArgs& args) {
  require_dims(op, args.tensors[0], "x", 2);
  require_dims(op, args.tensors[1], "y", 2);
  return {product_of(args.tensors[0], args.tensors[1])};
}

std::vector<Tensor> bmm(const OpDef& op, const OpArgs& args) {
  require_dims(op, args.tensors[0], "x", 3);
  require_dims(op, args.tensors[1], "y", 3);
  return {product_of(args.tensors[0], args.tensors[1])};
}

// numpy.dot: a product with a scalar, an inner product over the last dimension of x and the last but one of
// y.
std::vector<Tensor> dot(const OpDef&, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &y = args.tensors[1];
  if (x.dim() == 0 || y.dim() == 0) return {build::mul(x, y, args.rules)};
  if (x.dim() <= 2 && y.dim() <= 2) return {product_of(x, y)};
  if (y.dim() == 1) return {product_of(x, y)};
  // x[..., k] and y[..., k, n] -> x's leading dimensions, y's leading dimensions, n.
  const SymShape xs = sym_shape(x), ys = sym_shape(y);
  const Sym k = xs.back();
  const Tensor rows = build::reshape(x, {product(SymShape(xs.begin(), xs.end() - 1)), k});
  std::vector<int64_t> order{y.dim() - 2};
  for (int64_t d = 0; d < y.dim(); ++d) {
    if (d != y.dim() - 2) order.push_back(d);
  }
  SymShape rest(ys.begin(), ys.end() - 2);
  rest.push_back(ys.back());
  const Tensor columns = build::reshape(build::permute(y, order), {ys[ys.size() - 2], product(rest)});
  SymShape shape(xs.begin(), xs.end() - 1);
  shape.insert(shape.end(), rest.begin(), rest.end());
  return {build::reshape(product_of(rows, columns), shape)};
}

std::vector<Tensor> vdot(const OpDef&, const OpArgs& args) {
  Tensor x = build::reshape(args.tensors[0], {product(sym_shape(args.tensors[0]))});
  if (is_complex(x.dtype())) x = call1("conj", {x});
  return {product_of(x, build::reshape(args.tensors[1], {product(sym_shape(args.tensors[1]))}))};
}

std::vector<Tensor> inner(const OpDef&, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &y = args.tensors[1];
  if (x.dim() == 0 || y.dim() == 0) return {build::mul(x, y, args.rules)};
  if (y.dim() == 1) return {product_of(x, y)};
  const SymShape xs = sym_shape(x), ys = sym_shape(y);
  const Tensor a = build::reshape(x, {product(SymShape(xs.begin(), xs.end() - 1)), xs.back()});
  const Tensor b = build::reshape(y, {product(SymShape(ys.begin(), ys.end() - 1)), ys.back()});
  SymShape shape(xs.begin(), xs.end() - 1);
  shape.insert(shape.end(), ys.begin(), ys.end() - 1);
  return {build::reshape(product_of(a, build::permute(b, {1, 0})), shape)};
}

std::vector<Tensor> outer(const OpDef&, const OpArgs& args) {
  const Tensor x = build::reshape(args.tensors[0], {product(sym_shape(args.tensors[0])), Sym(1)});
  const Tensor y = build::reshape(args.tensors[1], {Sym(1), product(sym_shape(args.tensors[1]))});
  return {build::mul(x, y, args.rules)};
}

// beta * input + alpha * (x @ y).
std::vector<Tensor> addmm(const OpDef& op, const OpArgs& args) {
  const int64_t dims = op.name == "addmm" ? 2 : 3;
  require_dims(op, args.tensors[1], "x", dims);
  require_dims(op, args.tensors[2], "y", dims);
  const Scalar beta = scalar_arg(args.attrs, "beta"), alpha = scalar_arg(args.attrs, "alpha");
  Tensor scaled = product_of(args.tensors[1], args.tensors[2]);
  if (alpha.to_complex() != 1.0) scaled = build::mul(scaled, alpha);
  if (beta.to_complex() == 0.0) return {scaled};
  const Tensor input = beta.to_complex() == 1.0 ? args.tensors[0] : build::mul(args.tensors[0], beta);
  return {build::add(input, scaled)};
}

bool is_half(const Tensor& x) { return x.dtype() == DType::F16 || x.dtype() == DType::BF16; }

// Nothing is traced, and one product of rows and an addition in place will do.
bool is_simple_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto simple = [&](const Tensor& t) {
    return !t.is_traced() && t.device().type == DeviceType::CPU && t.dtype() == x.dtype();
  };
  const bool has_product = x.dtype() == DType::F32 || x.dtype() == DType::F64 || is_half(x);
  return has_product && simple(x) && simple(weight) && x.dim() > 0 && weight.dim() == 2 &&
         x.size(-1) == weight.size(1) && x.size(-1) > 0 && x.is_contiguous() &&
         (!bias.defined() ||
          (simple(bias) && bias.dim() == 1 && bias.size(0) == weight.size(0) && bias.is_contiguous()));
}

template <class T>
void linear_rows(const Tensor& x, const Tensor& weight, const Tensor& bias, T* result) {
  const int64_t k = weight.size(1), n = weight.size(0), m = x.numel() / k;
  kernels::matrix_product<T>(m, n, k, {x.data_as<T>(), k, 1},
                             {weight.data_as<T>(), weight.strides()[1], weight.strides()[0]}, result);
  if (!bias.defined()) return;
  const T* added = bias.data_as<T>();
  parallel_for(0, m, std::max<int64_t>(1, (1 << 15) / n), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) result[i * n + j] += added[j];
    }
  });
}

// In one pass, rounded once.
template <class T>
void linear_rows_half(const Tensor& x, const Tensor& weight, const Tensor& bias, T* result) {
  const int64_t k = weight.size(1), n = weight.size(0), m = x.numel() / k;
  const kernels::MatrixView<T> rows{x.data_as<T>(), k, 1},
      columns{weight.data_as<T>(), weight.strides()[1], weight.strides()[0]};
  const T* const added = bias.defined() ? bias.data_as<T>() : nullptr;
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (const kernels::BFloat16Kernels* const engine = kernels::bfloat16_kernels())
      return kernels::gemm_bfloat16(*engine, m, n, k, rows, columns, added, result);
  }
  kernels::gemm_half<T>(m, n, k, rows, columns, added, result);
}

Tensor linear_now(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Shape shape = x.shape();
  shape.back() = weight.size(0);
  Tensor result = Tensor::empty(shape, x.dtype());
  if (result.numel() == 0) return result;
  if (x.dtype() == DType::BF16)
    linear_rows_half(x, weight, bias, result.data_as<BFloat16>());
  else if (x.dtype() == DType::F16)
    linear_rows_half(x, weight, bias, result.data_as<Half>());
  else if (x.dtype() == DType::F32)
    linear_rows(x, weight, bias, result.data_as<float>());
  else
    linear_rows(x, weight, bias, result.data_as<double>());
  return result;
}

std::vector<TensorType> infer_linear_half(const OpDef& op, std::span<const TensorType> operands,
                                          const Attrs&) {
  TensorType result = operands[0];
  const SymShape &weight = operands[1].shape, &bias = operands[2].shape;
  const bool fits = (result.dtype == DType::F16 || result.dtype == DType::BF16) &&
                    operands[1].dtype == result.dtype && operands[2].dtype == result.dtype &&
                    !result.shape.empty() && weight.size() == 2 && bias.size() == 1 &&
                    sym_eq(result.shape.back(), weight[1]) && sym_eq(bias[0], weight[0]);
  WEFT_CHECK(fits, fmt::format("{}: expected x[*, k], weight[n, k] and bias[n], all float16 or bfloat16{}",
                               op.name, describe_operands(op, operands)));
  result.shape.back() = weight[0];
  return {result};
}

std::vector<Tensor> eager_linear_half(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor &x = operands[0], &weight = operands[1], &bias = operands[2];
  if (weight.size(1) > 0) return {linear_now(x.contiguous(), weight, bias.contiguous())};
  Shape shape = x.shape();
  shape.back() = weight.size(0);
  return {build::expand(bias, SymShape(shape.begin(), shape.end())).contiguous()};
}

// In graphs half precision is rounded once, too.
bool is_linear_half(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!is_half(x) || x.dim() == 0 || weight.dim() != 2 || !bias.defined() || bias.dim() != 1) return false;
  return weight.dtype() == x.dtype() && bias.dtype() == x.dtype() &&
         sym_eq(sym_shape(x).back(), sym_shape(weight)[1]) &&
         sym_eq(sym_shape(bias)[0], sym_shape(weight)[0]);
}

std::vector<Tensor> linear(const OpDef& op, const OpArgs& args) {
  const Tensor &given = args.tensors[0], &weight = args.tensors[1], &bias = args.tensors[2];
  // Where rows do not lie in one piece, half precision is rounded once, too.
  const Tensor x = given.is_traced() || !is_half(given) ? given : given.contiguous();
  if (is_simple_linear(x, weight, bias)) return {linear_now(x, weight, bias)};
  WEFT_CHECK_TYPE(
      x.dtype() == weight.dtype() && (!bias.defined() || bias.dtype() == x.dtype()),
      fmt::format("{}: operands must have one dtype\n  x: {}   weight: {}   bias: {}", op.name,
                  type_of(x).str(), type_of(weight).str(), bias.defined() ? type_of(bias).str() : "None"));
  WEFT_CHECK(weight.dim() == 1 || weight.dim() == 2,
             fmt::format("{}: expected weight of 1 or 2 dimensions, got {}", op.name, type_of(weight).str()));
  if (is_linear_half(x, weight, bias)) return {call1("linear_half", {x, weight, bias})};
  const Tensor result = product_of(x, weight.dim() == 2 ? build::permute(weight, {1, 0}) : weight);
  return {bias.defined() ? build::add(result, bias) : result};
}

// Contracts dims_x of x with dims_y of y, in order.
Tensor contract(const OpDef& op, const Tensor& x, const Tensor& y, std::vector<int64_t> dims_x,
                std::vector<int64_t> dims_y) {
  WEFT_CHECK(dims_x.size() == dims_y.size(),
             fmt::format("{}: expected as many dimensions of x as of y, got {} and {}", op.name,
                         dims_x.size(), dims_y.size()));
  WEFT_CHECK_INDEX(dims_x.empty() || (x.dim() > 0 && y.dim() > 0),
                   fmt::format("{}: a 0-d tensor has no dimension to contract: x: {}  y: {}", op.name,
                               type_of(x).str(), type_of(y).str()));
  dims_x = normalize_dims(op.name, dims_x, x.dim());
  dims_y = normalize_dims(op.name, dims_y, y.dim());
  const SymShape xs = sym_shape(x), ys = sym_shape(y);
  for (size_t i = 0; i < dims_x.size(); ++i) {
    const Sym a = xs[static_cast<size_t>(dims_x[i])], b = ys[static_cast<size_t>(dims_y[i])];
    WEFT_CHECK(sym_eq(a, b),
               fmt::format(
                   "{}: contracted dimensions must match: expected y.shape[{}] == {}, got {}\n  x: {}  y: {}",
                   op.name, dims_y[i], a.str(), b.str(), type_of(x).str(), type_of(y).str()));
  }
  SymShape shape, inner_shape;
  std::vector<int64_t> order_x, order_y = dims_y;
  const auto free_dims = [&shape](const Tensor& t, const SymShape& sizes, const std::vector<int64_t>& dims) {
    std::vector<int64_t> result;
    for (int64_t d = 0; d < t.dim(); ++d) {
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
      result.push_back(d);
      shape.push_back(sizes[static_cast<size_t>(d)]);
    }
    return result;
  };
  order_x = free_dims(x, xs, dims_x);
  const size_t free_x = shape.size();
  order_x.insert(order_x.end(), dims_x.begin(), dims_x.end());
  const std::vector<int64_t> free_y = free_dims(y, ys, dims_y);
  order_y.insert(order_y.end(), free_y.begin(), free_y.end());
  for (int64_t d : dims_x) inner_shape.push_back(xs[static_cast<size_t>(d)]);
  const Sym inner_size = product(inner_shape);
  const Tensor a = build::reshape(
      build::permute(x, order_x),
      {product(SymShape(shape.begin(), shape.begin() + static_cast<long>(free_x))), inner_size});
  const Tensor b =
      build::reshape(build::permute(y, order_y),
                     {inner_size, product(SymShape(shape.begin() + static_cast<long>(free_x), shape.end()))});
  return build::reshape(product_of(a, b), shape);
}

std::vector<Tensor> tensordot(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &y = args.tensors[1];
  if (!args.attrs.is_none("dims_x")) {
    WEFT_CHECK_TYPE(!args.attrs.is_none("dims_y"), "tensordot: dims_y must be given with dims_x");
    return {contract(op, x, y, int_list_arg(args.attrs, "dims_x"), int_list_arg(args.attrs, "dims_y"))};
  }
  const int64_t count = int_arg(args.attrs, "dims");
  WEFT_CHECK(count >= 0 && count <= std::min(x.dim(), y.dim()),
             fmt::format("tensordot: expected 0 <= dims <= {}, got {}", std::min(x.dim(), y.dim()), count));
  std::vector<int64_t> dims_x(static_cast<size_t>(count)), dims_y(static_cast<size_t>(count));
  std::iota(dims_x.begin(), dims_x.end(), x.dim() - count);
  std::iota(dims_y.begin(), dims_y.end(), int64_t{0});
  return {contract(op, x, y, dims_x, dims_y)};
}

std::vector<Tensor> kron(const OpDef&, const OpArgs& args) {
  Tensor x = args.tensors[0], y = args.tensors[1];
  SymShape xs = sym_shape(x), ys = sym_shape(y);
  while (xs.size() < ys.size()) xs.insert(xs.begin(), Sym(1));
  while (ys.size() < xs.size()) ys.insert(ys.begin(), Sym(1));
  SymShape wide_x, wide_y, shape;
  for (size_t d = 0; d < xs.size(); ++d) {
    wide_x.insert(wide_x.end(), {xs[d], Sym(1)});
    wide_y.insert(wide_y.end(), {Sym(1), ys[d]});
    shape.push_back(xs[d] * ys[d]);
  }
  return {
      build::reshape(build::mul(build::reshape(x, wide_x), build::reshape(y, wide_y), args.rules), shape)};
}

// The p-norm of every difference of a row of x and a row of y.
std::vector<Tensor> cdist(const OpDef& op, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &y = args.tensors[1];
  WEFT_CHECK(x.dim() >= 2 && y.dim() >= 2, fmt::format("{}: expected at least 2 dimensions\n  x: {}  y: {}",
                                                       op.name, type_of(x).str(), type_of(y).str()));
  const Tensor difference = build::sub(build::unsqueeze(x, x.dim() - 1), build::unsqueeze(y, y.dim() - 2));
  return {call1("vector_norm", {difference}, {{"ord", args.attrs.at("p")}, {"dim", SymShape{Sym(-1)}}})};
}

std::vector<Tensor> trace(const OpDef& op, const OpArgs& args) {
  require_dims(op, args.tensors[0], "x", 2);
  return {call1("sum", {call1("diagonal", {args.tensors[0]})}, {{"dim", SymShape{Sym(0)}}})};
}

// Where none is given: PyTorch's rules take the first dimension of size 3, NumPy's the last one.
int64_t cross_dim(const OpDef& op, const OpArgs& args, const Tensor& x, const Tensor& y) {
  const int64_t ndim = std::min(x.dim(), y.dim());
  if (!args.attrs.is_none("dim")) return normalize_dim(op.name, int_arg(args.attrs, "dim"), ndim);
  if (args.rules == Promotion::NumPy) return normalize_dim(op.name, -1, ndim);
  const SymShape shape = sym_shape(x);
  for (int64_t d = 0; d < ndim; ++d)
    if (sym_eq(shape[static_cast<size_t>(d)], Sym(3))) return d;
  throw_error(ErrorKind::Value, fmt::format("{}: expected a dimension of size 3\n  x: {}  y: {}", op.name,
                                            type_of(x).str(), type_of(y).str()));
}

std::vector<Tensor> cross(const OpDef& op, const OpArgs& args) {
  const std::vector<Tensor> same = build::promote({args.tensors[0], args.tensors[1]}, args.rules);
  const Tensor &x = same[0], &y = same[1];
  WEFT_CHECK(x.dim() > 0 && y.dim() > 0,
             fmt::format("{}: expected vectors of size 3, got a 0-d tensor\n  x: {}  y: {}", op.name,
                         type_of(x).str(), type_of(y).str()));
  const int64_t dim = cross_dim(op, args, x, y);
  const auto part = [&](const Tensor& t, int64_t i) { return build::slice(t, dim, Sym(i), Sym(i + 1)); };
  WEFT_CHECK(x.dim() > 0 && y.dim() > 0 && sym_eq(sym_shape(x)[static_cast<size_t>(dim)], Sym(3)) &&
                 sym_eq(sym_shape(y)[static_cast<size_t>(dim)], Sym(3)),
             fmt::format("{}: dimension {} must have size 3\n  x: {}  y: {}", op.name, dim, type_of(x).str(),
                         type_of(y).str()));
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(build::sub(build::mul(part(x, j), part(y, k)), build::mul(part(x, k), part(y, j))));
  }
  return {build::join(parts, dim)};
}

std::vector<Tensor> matrix_power(const OpDef& op, const OpArgs& args) {
  Tensor x = args.tensors[0];
  const int64_t n = int_arg(args.attrs, "n");
  WEFT_CHECK(x.dim() >= 2 && sym_eq(sym_shape(x)[static_cast<size_t>(x.dim() - 1)],
                                    sym_shape(x)[static_cast<size_t>(x.dim() - 2)]),
             fmt::format("{}: expected square matrices, got {}", op.name, type_of(x).str()));
  const uint64_t exponent = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  if (n < 0) x = call1("inv", {x});
  if (n == 0) {
    const Sym size = sym_shape(x).back();
    const Tensor eye =
        call1("eye", {}, {{"n", size}, {"m", size}, {"dtype", x.dtype()}, {"device", type_of(x).device}});
    return {build::expand(eye, sym_shape(x))};
  }
  Tensor power = x, result;
  for (uint64_t left = exponent; left > 0; left >>= 1) {
    if (left & 1) result = result.defined() ? product_of(result, power) : power;
    if (left > 1) power = product_of(power, power);
  }
  return {result};
}

[[maybe_unused]] const OpDef* const kMatmulOps[] = {
    &register_op(
        {.name = "matmul",
         .schema = "(Tensor x, Tensor y) -> Tensor",
         .doc = "Matrix product of x[*B, m, k] and y[*B, k, n], batch dimensions broadcast: [*B, m, "
                "n]. One-dimensional\n"
                "operands are a row on the left, a column on the right.\n"
                "dtype:  any, the same for both. Integers wrap; bool: or of ands; float16 and bfloat16 "
                "add in float32.\n"
                "Where the machine multiplies bfloat16 faster than float32 (`weft info`: engines), numbers "
                "below 2^-126 count as zero.\n"
                "error:  k * eps * sum(|x||y|). raises: ValueError where the inner dimensions differ.\n"
                "source: NumPy's matmul; float32 products are weft's own, float64 and complex ones "
                "OpenBLAS's gemm.",
         .numpy = "numpy.matmul(x, y)",
         .methods = {""},
         .infer = infer_matmul,
         .eager = eager_matmul}),
    &define_composite("mm", "(Tensor x, Tensor y) -> Tensor", "x[m, k] @ y[k, n].", "numpy.matmul(x, y)", mm,
                      {}, {""}),
    &define_composite("bmm", "(Tensor x, Tensor y) -> Tensor", "x[b, m, k] @ y[b, k, n].",
                      "numpy.matmul(x, y)", bmm, {}, {""}),
    &define_composite("dot", "(Tensor x, Tensor y) -> Tensor",
                      "Inner product over the last dimension of x and the last but one (or only) of y; a 0-d "
                      "operand scales.",
                      "numpy.dot(x, y)", dot, {}, {""}),
    &define_composite("vdot", "(Tensor x, Tensor y) -> Tensor", "sum(conj(x) * y) over all elements.",
                      "numpy.vdot(x, y)", vdot, {}, {""}),
    &define_composite("inner", "(Tensor x, Tensor y) -> Tensor",
                      "Inner product over the last dimensions of x and y.", "numpy.inner(x, y)", inner, {},
                      {""}),
    &define_composite("outer", "(Tensor x, Tensor y) -> Tensor",
                      "x[i] * y[j] of the flattened operands: [m, n].", "numpy.outer(x, y)", outer, {}, {""}),
    &define_composite(
        "addmm", "(Tensor input, Tensor x, Tensor y, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        "beta * input + alpha * (x[m, k] @ y[k, n]); `input` broadcasts. beta=0 ignores input, NaN too.",
        "beta * input + alpha * (x @ y)", addmm, {}, {""}),
    &define_composite("baddbmm",
                      "(Tensor input, Tensor x, Tensor y, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                      "beta * input + alpha * (x[b, m, k] @ y[b, k, n]); `input` broadcasts.",
                      "beta * input + alpha * (x @ y)", addmm, {}, {""}),
    &register_op(
        {.name = "linear_half",
         .schema = "(Tensor x, Tensor weight, Tensor bias) -> Tensor",
         .doc = "x[*B, k] @ weight[n, k].T + bias[n] of float16 or bfloat16: [*B, n]. Sums are float32, "
                "and rounded once.\n"
                "What linear is in graphs, for these dtypes.",
         .infer = infer_linear_half,
         .eager = eager_linear_half}),
    &define_composite("linear", "(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor",
                      "x[*B, k] @ weight[n, k].T + bias[n]: [*B, n].", "x @ weight.T + bias", linear),
    &define_composite(
        "tensordot", "(Tensor x, Tensor y, int dims=2, *, int[]? dims_x=None, int[]? dims_y=None) -> Tensor",
        "Sum of products over the last `dims` dimensions of x and the first of y, or over dims_x and dims_y.",
        "numpy.tensordot(x, y, dims)", tensordot),
    &define_composite("kron", "(Tensor x, Tensor y) -> Tensor", "Kronecker product.", "numpy.kron(x, y)",
                      kron, {}, {""}),
    &define_composite("cdist", "(Tensor x, Tensor y, float p=2.0) -> Tensor",
                      "p-norms of the differences of the rows of x[*B, m, d] and y[*B, n, d]: [*B, m, n].",
                      "", cdist),
    &define_composite("trace", "(Tensor x) -> Tensor", "Sum of the main diagonal of x[m, n].",
                      "numpy.trace(x)", trace, {}, {""}),
    &define_composite(
        "cross", "(Tensor x, Tensor y, int? dim=None) -> Tensor",
        "Vector product along `dim`, of size 3; None: the first one of that size, under NumPy's "
        "rules the last.",
        "numpy.cross(x, y, axis=-1 if dim is None else dim)", cross, {}, {""}),
    &define_composite(
        "matrix_power", "(Tensor x, int n) -> Tensor",
        "x[*B, m, m] multiplied with itself n times; n < 0: of the inverse; n == 0: the identity.",
        "numpy.linalg.matrix_power(x, n)", matrix_power, {}, {""}),
};

}  // namespace
}  // namespace weft::ops
