// Complex numbers of their parts.
#include <fmt/format.h>

#include <complex>
#include <vector>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

std::vector<TensorType> infer_complex(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  const TensorType &re = operands[0], &im = operands[1];
  const bool fits = re.dtype == im.dtype && (re.dtype == DType::F32 || re.dtype == DType::F64) &&
                    re.shape.size() == im.shape.size() && str(re.shape) == str(im.shape);
  WEFT_CHECK(fits, fmt::format("{}: expected two tensors of float32, or of float64, with one shape{}",
                               op.name, describe_operands(op, operands)));
  return {TensorType{re.dtype == DType::F32 ? DType::C64 : DType::C128, re.shape, re.device}};
}

template <class T>
void join_parts(const T* real, const T* imag, int64_t count, std::complex<T>* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = {real[i], imag[i]};
}

std::vector<Tensor> eager_complex(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor real = operands[0].contiguous(), imag = operands[1].contiguous();
  const bool single = real.dtype() == DType::F32;
  Tensor result = Tensor::empty(real.shape(), single ? DType::C64 : DType::C128);
  if (single)
    join_parts(real.data_as<float>(), imag.data_as<float>(), real.numel(),
               result.data_as<std::complex<float>>());
  else
    join_parts(real.data_as<double>(), imag.data_as<double>(), real.numel(),
               result.data_as<std::complex<double>>());
  return {result};
}

[[maybe_unused]] const OpDef& kComplexOperator =
    register_op({.name = "complex",
                 .schema = "(Tensor real, Tensor imag) -> Tensor",
                 .doc = "The complex numbers with these parts, which have one shape.\n"
                        "dtype:  float32 or float64, both the same. error: exact.",
                 .infer = infer_complex,
                 .eager = eager_complex});

}  // namespace
}  // namespace weft::ops
