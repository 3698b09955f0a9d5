#include "ops/quantized/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/quantized.h"
#include "kernels/cpu/gemm_int8.h"
#include "kernels/cpu/scratch.h"
#include "ops/quantized/packed_rows.h"
#include "ops/registry.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::ops {

void fail_product(const char* what, const Tensor& x, const Tensor& weight) {
  throw_error(ErrorKind::Value, fmt::format("quantized product: {}\n  x: {}   weight: {}", what, describe(x),
                                            describe(weight)));
}

void check_affine_weight(const Tensor& weight) {
  if (weight.dtype() != DType::QI8) fail_product("expected a qint8 weight", Tensor(), weight);
  if (!weight.quantizer()) fail_product("the weight has no scale", Tensor(), weight);
}

void check_affine_input(const Tensor& x, const Tensor& weight) {
  if (x.dtype() != DType::QU8 && x.dtype() != DType::QI8)
    fail_product("expected quint8 or qint8 x", x, weight);
  if (!x.quantizer() || x.quantizer()->is_per_channel())
    fail_product("expected x quantized per tensor", x, weight);
}

// ---- scales ----------------------------------------------------------------------------------------------
OutputScales::OutputScales(const Tensor& weight, int64_t outputs, const int8_t* integers, int64_t of_depth)
    : depth(of_depth) {
  const Quantizer& quantizer = *weight.quantizer();
  for (int64_t n = 0; n < outputs; ++n) {
    const auto at = static_cast<size_t>(quantizer.is_per_channel() ? n : 0);
    scales.push_back(static_cast<float>(quantizer.scales.at(at)));
    zeros.push_back(static_cast<int32_t>(quantizer.zero_points.at(at)));
    sums.push_back(std::accumulate(integers + n * depth, integers + (n + 1) * depth, int32_t{0}));
    has_zeros |= zeros.back() != 0;
  }
}

SumsFinish::SumsFinish(const OutputScales& weight, const Tensor& x, const Tensor& bias,
                       const AffineFinish& finish)
    : weight_(weight) {
  const size_t outputs = weight.scales.size();
  const auto scale_of_x = static_cast<float>(x.quantizer()->scales[0]);
  zero_of_x_ = static_cast<int32_t>(x.quantizer()->zero_points[0]) - (x.dtype() == DType::QU8 ? 128 : 0);
  const Tensor floats = bias.defined() ? bias.to(DType::F32).contiguous() : Tensor();
  if (floats.defined() && floats.numel() != static_cast<int64_t>(outputs))
    fail_product("expected a bias for each output", x, bias);
  factors_.resize(outputs);
  bias_.resize(outputs);
  less_.resize(outputs);
  const float scale_of_y = finish.rounded ? static_cast<float>(finish.rounded->scale) : 1.0F;
  const auto depth = static_cast<int32_t>(weight.depth);
  for (size_t n = 0; n < outputs; ++n) {
    const float scale = scale_of_x * weight.scales[n];
    const float number = floats.defined() ? floats.data_as<float>()[n] : 0;
    factors_[n] = finish.rounded ? scale / scale_of_y : scale;
    bias_[n] = finish.rounded && floats.defined() ? number / scale : number;
    less_[n] = zero_of_x_ * weight.sums[n] - depth * zero_of_x_ * weight.zeros[n];
  }
  rows_.is_rounded = finish.rounded.has_value();
  rows_.is_relu = finish.relu;
  if (!finish.rounded) return;
  QuantizedRange range = range_of(finish.rounded->dtype);
  rows_.zero = static_cast<int32_t>(finish.rounded->zero_point);
  if (finish.relu) range.low = std::max<int64_t>(range.low, rows_.zero);
  rows_.least = static_cast<float>(range.low - rows_.zero);
  rows_.most = static_cast<float>(range.high - rows_.zero);
}

void SumsFinish::operator()(const int32_t* sums, int64_t rows, int64_t columns, int64_t first,
                            const int8_t* x, void* y, int64_t y_stride) const {
  kernels::AffineRows args = rows_;
  std::vector<int32_t> sums_of_x;
  if (weight_.has_zeros) {
    for (int64_t row = 0; row < rows; ++row)
      sums_of_x.push_back(
          std::accumulate(x + row * weight_.depth, x + (row + 1) * weight_.depth, int32_t{0}));
    args.x_sums = sums_of_x.data();
    args.weight_zeros = weight_.zeros.data() + first;
  }
  args.rows = rows;
  args.columns = columns;
  args.sums = sums;
  args.less = less_.data() + first;
  args.factors = factors_.data() + first;
  args.bias = bias_.data() + first;
  args.y = y;
  args.y_stride = y_stride;
  kernels::affine_kernels().finish(args);
}

Tensor empty_result(const Shape& shape, const Strides& strides, const AffineFinish& finish) {
  const DType integers = finish.rounded && finish.rounded->dtype == DType::QI8 ? DType::I8 : DType::U8;
  const Tensor memory = Tensor::empty({weft::numel(shape)}, finish.rounded ? integers : DType::F32);
  const Tensor result(memory.storage(), memory.dtype(), shape, strides);
  if (!finish.rounded) return result;
  return of_integers(result, finish.rounded->dtype,
                     per_tensor(finish.rounded->scale, finish.rounded->zero_point));
}

// ---- products --------------------------------------------------------------------------------------------
Tensor signed_integers(const Tensor& dense_x) {
  const Tensor integers = as_integers(dense_x);
  if (dense_x.dtype() == DType::QI8) return integers;
  const Tensor turned = Tensor::empty({dense_x.numel()}, DType::I8);
  kernels::affine_kernels().turn_signs(integers.data_as<uint8_t>(), dense_x.numel(),
                                       turned.data_as<int8_t>());
  return turned;
}

void multiply_rows(const kernels::PackedInt8& weight, int64_t depth, int64_t count, const RowsOfX& rows,
                   const SumsFinish& finish, int64_t first_output, const RowsOfY& y) {
  // Rows and sums of a block stay in the second-level cache.
  constexpr int64_t kBlockBytes = 256 << 10, kRowsTogether = 96, kLeastProducts = 1 << 18;
  const int64_t columns = weight.n();
  const int64_t wanted = kBlockBytes / std::max<int64_t>(1, depth + 4 * columns);
  const int64_t block = std::min(count, std::max(kRowsTogether, wanted / kRowsTogether * kRowsTogether));
  const int64_t products = std::max<int64_t>(1, block * depth * columns);
  parallel_for(0, (count + block - 1) / block, std::max<int64_t>(1, kLeastProducts / products),
               [&](int64_t begin, int64_t end) {
                 thread_local kernels::Scratch scratch;
                 float* const memory = scratch.floats(block * columns + block * depth / 4 + 1);
                 auto* const sums = reinterpret_cast<int32_t*>(memory);
                 auto* const room = reinterpret_cast<int8_t*>(memory + block * columns);
                 for (int64_t first = begin * block; first < std::min(count, end * block); first += block) {
                   const int64_t some = std::min(block, count - first);
                   const int8_t* const x = rows(first, some, room);
                   weight.run(x, some, sums);
                   finish(sums, some, columns, first_output, x,
                          static_cast<char*>(y.data) + (first * y.stride + first_output) * y.element,
                          y.stride);
                 }
               });
}

namespace {

class AffineLinear final : public AffineProduct {
 public:
  explicit AffineLinear(const Tensor& weight)
      : weight_(weight),
        n_(weight.size(0)),
        k_(weight.size(1)),
        rows_(as_integers(weight).contiguous()),
        scales_(weight, n_, rows_.data_as<int8_t>(), k_),
        packed_(kernels::int8_kernels(), n_, k_, rows_.data_as<int8_t>(), nullptr, nullptr) {
    rows_ = Tensor();
  }

  Tensor operator()(const Tensor& x, const Tensor& bias, const AffineFinish& finish) const override {
    check_affine_input(x, weight_);
    if (x.dim() < 1 || x.size(-1) != k_) fail_product("expected x [..., k] and weight [n, k]", x, weight_);
    Shape shape = x.shape();
    shape.back() = n_;
    const SumsFinish finish_sums(scales_, x, bias, finish);
    const Tensor result = empty_result(shape, contiguous_strides(shape), finish);
    if (result.numel() == 0) return result;
    const Tensor integers = signed_integers(x.contiguous());
    const auto* const from = integers.data_as<int8_t>();
    multiply_rows(packed_, k_, result.numel() / n_,
                  [&](int64_t first, int64_t, int8_t*) { return from + first * k_; }, finish_sums, 0,
                  {result.data_as<char>(), n_, itemsize(result.dtype())});
    return result;
  }

 private:
  Tensor weight_;  // as it was given: named in errors
  int64_t n_, k_;
  Tensor rows_;
  OutputScales scales_;
  kernels::PackedInt8 packed_;
};

}  // namespace

std::shared_ptr<const AffineProduct> pack_affine_linear(const Tensor& weight) {
  check_affine_weight(weight);
  if (weight.dim() != 2) fail_product("expected a weight [n, k]", Tensor(), weight);
  return std::make_shared<AffineLinear>(weight);
}

Tensor add_affine(const Tensor& a, const Tensor& b, const RoundedTo& to, bool relu) {
  const bool is_alike = a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
  if (!is_alike || (a.dtype() != DType::QU8 && a.dtype() != DType::QI8) || !is_dense(a)) return Tensor();
  const Tensor integers = as_integers(a), result = empty_as(integers, integers.dtype());
  const auto operand = [](const Tensor& x) {
    return kernels::AffineOperand{as_integers(x).data_as<char>(),
                                  static_cast<float>(x.quantizer()->scales[0]),
                                  static_cast<float>(x.quantizer()->zero_points[0])};
  };
  const QuantizedRange range = range_of(a.dtype());
  kernels::affine_kernels().add({.a = operand(a),
                                 .b = operand(b),
                                 .is_signed = a.dtype() == DType::QI8,
                                 .is_relu = relu,
                                 .count = a.numel(),
                                 .in_vectors = count_in_fused_vectors(a.numel()),
                                 .inverse = 1.0F / static_cast<float>(to.scale),
                                 .zero = static_cast<int32_t>(to.zero_point),
                                 .low = static_cast<int32_t>(range.low),
                                 .high = static_cast<int32_t>(range.high),
                                 .y = result.data_as<char>()});
  return of_integers(result, a.dtype(), per_tensor(to.scale, to.zero_point));
}

// ---- scales of inputs ------------------------------------------------------------------------------------
Tensor quantize_dynamic(const Tensor& x, DType dtype, bool reduce_range) {
  const Tensor numbers = x.to(DType::F32).contiguous();
  float least = 0, most = 0;
  const auto* const data = numbers.data_as<float>();
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    least = std::min(least, data[i]);
    most = std::max(most, data[i]);
  }
  QuantizedRange range = range_of(dtype);
  if (reduce_range) range = {range.low / 2, range.high / 2};
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  double scale = (static_cast<double>(most) - static_cast<double>(least)) / (high - low);
  if (static_cast<float>(scale) == 0.0F || std::isinf(1.0F / static_cast<float>(scale))) scale = 0.1;
  constexpr float kSmallest = 6.1e-5F;  // smaller scales are made this one, and the range with it
  if (scale < static_cast<double>(kSmallest)) {
    const auto original = static_cast<float>(scale);
    scale = static_cast<double>(kSmallest);
    if (least == 0.0F) {
      most = static_cast<float>(static_cast<double>(kSmallest) * (high - low));
    } else if (most == 0.0F) {
      least = static_cast<float>(-static_cast<double>(kSmallest) * (high - low));
    } else {
      const float amplifier = kSmallest / original;
      least *= amplifier;
      most *= amplifier;
    }
  }
  // Of the two zero points that the ends give, the one with the smaller error; it is then made an integer.
  const double from_least = low - static_cast<double>(least) / scale,
               from_most = high - static_cast<double>(most) / scale;
  const double least_error = std::abs(low) - std::abs(static_cast<double>(least) / scale);
  const double most_error = std::abs(high) - std::abs(static_cast<double>(most) / scale);
  const double zero = least_error < most_error ? from_least : from_most;
  const int64_t zero_point = zero < low    ? range.low
                             : zero > high ? range.high
                                           : static_cast<int64_t>(std::nearbyint(zero));
  return quantize(numbers, dtype, per_tensor(scale, zero_point));
}

}  // namespace weft::ops
