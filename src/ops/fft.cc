// Discrete Fourier transforms along one dimension; those along several are made of these.
#include "kernels/cpu/fft.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/arguments.h"

namespace weft::ops {
namespace {

constexpr DTypeSet kTransformed = dtype_bit(DType::F32) | dtype_bit(DType::F64);

DType complex_of(DType dtype) { return dtype == DType::F32 ? DType::C64 : DType::C128; }
DType real_of(DType dtype) { return dtype == DType::C64 ? DType::F32 : DType::F64; }

// The operand's type with `size` elements along the transformed dimension.
std::vector<TensorType> result_type(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs,
                                    bool complex_operand, DType dtype, const Sym& size) {
  const TensorType& x = operands[0];
  WEFT_CHECK_TYPE((complex_operand ? kComplex : kTransformed) & dtype_bit(x.dtype),
                  fmt::format("{}: expected {}, got {}{}", op.name,
                              complex_operand ? "complex64 or complex128" : "float32 or float64",
                              name(x.dtype), describe_operands(op, operands)));
  WEFT_CHECK(!x.shape.empty(), fmt::format("{}: expected at least one dimension, got {}{}", op.name, x.str(),
                                           describe_operands(op, operands)));
  const int64_t dim = normalize_dim(op.name, int_arg(attrs, "dim"), static_cast<int64_t>(x.shape.size()));
  const Sym n = sym_arg(attrs, "n");
  WEFT_CHECK(sym_ge(n, 1), fmt::format("{}: expected n of at least one, got {}{}", op.name, n.str(),
                                       describe_operands(op, operands)));
  const int64_t norm = int_arg(attrs, "norm");
  WEFT_CHECK(norm >= 0 && norm <= 2, fmt::format("{}: expected norm 0, 1 or 2, got {}", op.name, norm));
  SymShape shape = x.shape;
  shape[static_cast<size_t>(dim)] = size;
  return {TensorType{dtype, shape, x.device}};
}

std::vector<TensorType> infer_complex(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  return result_type(op, operands, attrs, true, operands[0].dtype, sym_arg(attrs, "n"));
}
std::vector<TensorType> infer_real(const OpDef& op, std::span<const TensorType> operands,
                                   const Attrs& attrs) {
  const Sym n = sym_arg(attrs, "n");
  const Sym size = attrs.get_bool("onesided") ? floor_div(n, 2) + 1 : n;
  return result_type(op, operands, attrs, false, complex_of(operands[0].dtype), size);
}
std::vector<TensorType> infer_to_real(const OpDef& op, std::span<const TensorType> operands,
                                      const Attrs& attrs) {
  return result_type(op, operands, attrs, true, real_of(operands[0].dtype), sym_arg(attrs, "n"));
}

// n to the power of -norm / 2.
template <class T>
T scale_of(int64_t norm, int64_t n) {
  const T size = static_cast<T>(n);
  return norm == 0 ? T(1) : norm == 1 ? T(1) / std::sqrt(size) : T(1) / size;
}

// transform(shape, in, out, scale) on the elements as real numbers, float or double.
template <class F>
std::vector<Tensor> transformed(const OpDef& op, const Tensor& operand, const Attrs& attrs, InferFn infer,
                                F&& transform) {
  const Tensor x = operand.contiguous();
  const std::vector<TensorType> types{type_of(x)};
  const TensorType type = infer(op, types, attrs)[0];
  Shape shape;
  for (const Sym& size : type.shape) shape.push_back(size.constant());
  Tensor result = Tensor::empty(shape, type.dtype);
  if (result.numel() == 0) return {result};
  const auto dim = static_cast<size_t>(normalize_dim(op.name, int_arg(attrs, "dim"), x.dim()));
  kernels::FftShape sizes{.n = int_arg(attrs, "n"), .given = x.shape()[dim], .result = shape[dim]};
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != dim) (d < dim ? sizes.outer : sizes.inner) *= shape[d];
  const auto run = [&]<class T>(std::type_identity<T>) {
    transform(sizes, static_cast<const T*>(x.data()), static_cast<T*>(result.data()),
              scale_of<T>(int_arg(attrs, "norm"), sizes.n));
  };
  if (x.dtype() == DType::F32 || x.dtype() == DType::C64)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  return {result};
}

std::vector<Tensor> eager_complex(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const bool inverse = attrs.get_bool("inverse");
  return transformed(op, operands[0], attrs, infer_complex,
                     [&]<class T>(const auto& shape, const T* in, T* out, T scale) {
                       kernels::fft_complex(shape, in, out, inverse, scale);
                     });
}
std::vector<Tensor> eager_real(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return transformed(op, operands[0], attrs, infer_real,
                     []<class T>(const auto& shape, const T* in, T* out, T scale) {
                       kernels::fft_real(shape, in, out, scale);
                     });
}
std::vector<Tensor> eager_to_real(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  return transformed(op, operands[0], attrs, infer_to_real,
                     []<class T>(const auto& shape, const T* in, T* out, T scale) {
                       kernels::fft_to_real(shape, in, out, scale);
                     });
}

[[maybe_unused]] const OpDef* const kFftOps[] = {
    &register_op(
        {.name = "fft_c2c",
         .schema = "(Tensor x, int n, int dim=-1, int norm=0, bool inverse=False) -> Tensor",
         .dtypes = kComplex,
         .doc = "The discrete Fourier transform of n points along `dim`: y[k] = n^(-norm/2) * sum of x[j] * "
                "exp(-2 pi i j k / n);\n"
                "with `inverse`, exp(+2 pi i j k / n). x is cut to n elements, or continued by zeros.\n"
                "dtype: complex. error: root mean square at most (1 + log2(n)) * eps times that "
                "of y. raises: ValueError unless n >= 1.\n"
                "source: Stockham's algorithm for prime factors up to 47, Bluestein's for others.",
         .infer = infer_complex,
         .eager = eager_complex}),
    &register_op(
        {.name = "fft_r2c",
         .schema = "(Tensor x, int n, int dim=-1, int norm=0, bool onesided=True) -> Tensor",
         .dtypes = kTransformed,
         .doc = "fft_c2c of real numbers: the frequencies 0 to n // 2, or all n of them unless `onesided`.\n"
                "dtype: float32 gives complex64, float64 complex128. raises: ValueError unless n >= 1.",
         .infer = infer_real,
         .eager = eager_real}),
    &register_op(
        {.name = "fft_c2r",
         .schema = "(Tensor x, int n, int dim=-1, int norm=0) -> Tensor",
         .dtypes = kComplex,
         .doc = "The n real numbers of which x has the frequencies 0 to n // 2: the inverse fft_c2c of x and "
                "its conjugates.\n"
                "Imaginary parts of frequency 0, and n / 2 for even n, are not read.\n"
                "dtype: complex64 gives float32, complex128 float64. raises: ValueError unless n >= 1.",
         .infer = infer_to_real,
         .eager = eager_to_real}),
};

}  // namespace
}  // namespace weft::ops
