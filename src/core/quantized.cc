#include "core/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "weft/error.h"

namespace weft {
namespace {

DType integers_of(DType dtype) {
  return dtype == DType::QI8 ? DType::I8 : dtype == DType::QI32 ? DType::I32 : DType::U8;
}

template <class F>
void visit_integers(DType dtype, F&& f) {
  switch (dtype) {
    case DType::QI8: return f(int8_t{});
    case DType::QI32: return f(int32_t{});
    default: return f(uint8_t{});
  }
}

// Calls f(first, count, channel) for runs of elements in C order that have one scale.
template <class F>
void for_each_run(const Quantizer& quantizer, const Shape& shape, F&& f) {
  if (!quantizer.is_per_channel()) return f(int64_t{0}, numel(shape), size_t{0});
  const auto axis = static_cast<size_t>(quantizer.axis);
  int64_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  const int64_t runs = inner == 0 ? 0 : numel(shape) / inner;
  for (int64_t run = 0; run < runs; ++run) f(run * inner, inner, static_cast<size_t>(run % shape[axis]));
}

#include "core/quantized_bytes.inc"

// What a processor's conversion makes of a float of at most 2147483520: the smallest int where there is none.
inline int64_t rounded(float value) {
  constexpr float kMost = 2147483520.0F, kLeast = -2147483648.0F;
  return value >= kLeast ? static_cast<int64_t>(std::nearbyint(std::min(value, kMost)))
                         : std::numeric_limits<int32_t>::min();
}

void check_has_quantizer(const Tensor& x) {
  WEFT_CHECK(x.quantizer() != nullptr, "dequantize: " + describe(x) + " has no scale and zero point");
}

}  // namespace

QuantizedRange range_of(DType dtype) {
  switch (dtype) {
    case DType::QI8: return {-128, 127};
    case DType::QU8: return {0, 255};
    case DType::QU4x2: return {0, 15};
    default: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
}

std::shared_ptr<const Quantizer> per_tensor(double scale, int64_t zero_point) {
  return std::make_shared<Quantizer>(Quantizer{{scale}, {static_cast<double>(zero_point)}});
}

std::shared_ptr<const Quantizer> per_channel(const Tensor& scales, const Tensor& zero_points, int64_t axis) {
  const auto numbers = [](const Tensor& tensor) {
    std::vector<double> values(static_cast<size_t>(tensor.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.at(static_cast<int64_t>(i));
    return values;
  };
  WEFT_CHECK(axis >= 0, fmt::format("quantize_per_channel: axis {} is negative", axis));
  return std::make_shared<Quantizer>(
      Quantizer{numbers(scales), numbers(zero_points), axis, is_floating(zero_points.dtype())});
}

void check_quantizer(const Quantizer& quantizer, DType dtype, const Shape& shape) {
  WEFT_CHECK_TYPE(is_quantized(dtype),
                  fmt::format("quantize: expected a quantized dtype, got {}", name(dtype)));
  const size_t count = quantizer.scales.size();
  if (quantizer.is_per_channel()) {
    const auto rank = static_cast<int64_t>(shape.size());
    WEFT_CHECK(
        quantizer.axis < rank,
        fmt::format("Channel axis out of range in per channel affine quantization. Got: {} Expected: [0, {})",
                    quantizer.axis, rank));
    WEFT_CHECK(static_cast<int64_t>(count) == shape[static_cast<size_t>(quantizer.axis)],
               fmt::format("length of scales must equal to channel, expected {} got {}",
                           shape[static_cast<size_t>(quantizer.axis)], count));
  } else {
    WEFT_CHECK(count == 1, fmt::format("quantize: expected one scale, got {}", count));
  }
  WEFT_CHECK(quantizer.zero_points.size() == count,
             fmt::format("quantize: expected {} zero points, got {}", count, quantizer.zero_points.size()));
  if (quantizer.is_float) return;
  const QuantizedRange range = range_of(dtype);
  for (const double zero_point : quantizer.zero_points)
    WEFT_CHECK(zero_point >= static_cast<double>(range.low) && zero_point <= static_cast<double>(range.high),
               fmt::format("quantize_tensor: zero_point {} is out of range [{}, {}] of {}", zero_point,
                           range.low, range.high, name(dtype)));
}

std::string_view scheme_name(const Quantizer& quantizer) {
  return !quantizer.is_per_channel() ? "per_tensor_affine"
         : quantizer.is_float        ? "per_channel_affine_float_qparams"
                                     : "per_channel_affine";
}

QuantizerTensors tensors_of(const Quantizer& quantizer) {
  const Tensor scales = Tensor::of(quantizer.scales), zero_points = Tensor::of(quantizer.zero_points);
  return quantizer.is_float ? QuantizerTensors{scales.to(DType::F32), zero_points.to(DType::F32)}
                            : QuantizerTensors{scales, zero_points.to(DType::I64)};
}

Tensor as_integers(const Tensor& x) {
  return Tensor(x.storage(), integers_of(x.dtype()), x.shape(), x.strides(), x.offset());
}

Tensor of_integers(const Tensor& integers, DType dtype, std::shared_ptr<const Quantizer> quantizer) {
  Tensor x(integers.storage(), dtype, integers.shape(), integers.strides(), integers.offset());
  x.impl()->quantizer = std::move(quantizer);
  return x;
}

int64_t count_in_fused_vectors(int64_t count) {
  constexpr int64_t kFusedBytes = 128;
  return count - count % kFusedBytes;
}

namespace {

// What each byte stands for.
template <class Q>
std::array<float, 256> numbers_of_bytes(const Quantizer& quantizer, bool fused) {
  std::array<float, 256> numbers;
  const auto scale = static_cast<float>(quantizer.scales[0]),
             zero = static_cast<float>(quantizer.zero_points[0]);
  const float offset = -zero * scale;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto q = static_cast<float>(static_cast<Q>(i));
    numbers[i] = fused ? std::fma(q, scale, offset) : (q - zero) * scale;
  }
  return numbers;
}

Tensor numbers_of(const Tensor& x, bool fused) {
  check_has_quantizer(x);
  const Quantizer& quantizer = *x.quantizer();
  const Tensor integers = quantizer.is_per_channel() ? as_integers(x).contiguous() : dense(as_integers(x));
  const Tensor result = empty_as(integers, DType::F32);
  auto* const to = result.data_as<float>();
  visit_integers(x.dtype(), [&]<class Q>(Q) {
    const Q* const from = integers.data_as<Q>();
    if (sizeof(Q) == 1 && !quantizer.is_per_channel()) {
      const int64_t in_vectors = fused ? count_in_fused_vectors(x.numel()) : 0;
      const std::array<float, 256> vectors = numbers_of_bytes<Q>(quantizer, true),
                                   rest = numbers_of_bytes<Q>(quantizer, false);
      for (int64_t i = 0; i < in_vectors; ++i) to[i] = vectors[static_cast<uint8_t>(from[i])];
      for (int64_t i = in_vectors; i < x.numel(); ++i) to[i] = rest[static_cast<uint8_t>(from[i])];
      return;
    }
    for_each_run(quantizer, x.shape(), [&](int64_t first, int64_t count, size_t channel) {
      const auto scale = static_cast<float>(quantizer.scales[channel]);
      const auto zero = static_cast<float>(quantizer.zero_points[channel]);
      const auto whole = quantizer.is_float ? 0 : static_cast<int64_t>(quantizer.zero_points[channel]);
      for (int64_t i = first; i < first + count; ++i)
        to[i] =
            (quantizer.is_float ? static_cast<float>(from[i]) - zero : static_cast<float>(from[i] - whole)) *
            scale;
    });
  });
  return result;
}

}  // namespace

Tensor dequantize(const Tensor& x) { return numbers_of(x, false); }
Tensor dequantize_fused(const Tensor& x) { return numbers_of(x, true); }

Tensor quantize(const Tensor& x, DType dtype, std::shared_ptr<const Quantizer> quantizer) {
  WEFT_CHECK(quantizer != nullptr, "quantize: there are no scale and zero point");
  check_quantizer(*quantizer, dtype, x.shape());
  WEFT_CHECK(x.dtype() == DType::F32, "quantize only works on Float Tensor, got " + describe(x));
  const Tensor numbers = quantizer->is_per_channel() ? x.contiguous() : dense(x);
  const Tensor integers = empty_as(numbers, integers_of(dtype));
  const auto* const from = numbers.data_as<float>();
  const QuantizedRange range = range_of(dtype);
  visit_integers(dtype, [&]<class Q>(Q) {
    Q* const to = integers.data_as<Q>();
    for_each_run(*quantizer, x.shape(), [&](int64_t first, int64_t count, size_t channel) {
      const float inverse = 1.0F / static_cast<float>(quantizer->scales[channel]);
      const double zero = quantizer->zero_points[channel];
      if (quantizer->is_float) {
        for (int64_t i = first; i < first + count; ++i)
          to[i] = static_cast<Q>(
              std::clamp(rounded(from[i] * inverse + static_cast<float>(zero)), range.low, range.high));
      } else {
        const auto whole = static_cast<int32_t>(zero);
        const auto low = static_cast<int32_t>(range.low), high = static_cast<int32_t>(range.high);
        for (int64_t i = first; i < first + count; ++i) {
          if constexpr (sizeof(Q) == 1) {
            to[i] = static_cast<Q>(quantized_byte(from[i] * inverse, whole, low, high));
          } else {  // the sum wraps, as the processor's does
            to[i] = static_cast<Q>(static_cast<uint32_t>(rounded(from[i] * inverse)) +
                                   static_cast<uint32_t>(whole));
          }
        }
      }
    });
  });
  return of_integers(integers, dtype, std::move(quantizer));
}

Tensor unpack_nibbles(const Tensor& bytes) {
  const Tensor result = Tensor::empty({2 * bytes.numel()}, DType::U8), from = bytes.contiguous();
  for (int64_t i = 0; i < bytes.numel(); ++i) {
    const uint8_t byte = from.data_as<uint8_t>()[i];
    result.data_as<uint8_t>()[2 * i] = byte & 0xf;
    result.data_as<uint8_t>()[2 * i + 1] = byte >> 4;
  }
  return result;
}

Tensor pack_nibbles(const Tensor& x) {
  const Tensor result = Tensor::full({(x.numel() + 1) / 2}, 0, DType::U8), from = x.contiguous();
  for (int64_t i = 0; i < x.numel(); ++i)
    result.data_as<uint8_t>()[i / 2] |= static_cast<uint8_t>(from.data_as<uint8_t>()[i] << 4 * (i % 2));
  return result;
}

void refuse_conversion() {
  throw_error(
      ErrorKind::Runtime,
      "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a "
      "float Tensor from a quantized Tensor");
}

bool is_dense(const Tensor& x) {
  std::vector<size_t> order;
  for (size_t d = 0; d < x.shape().size(); ++d)
    if (x.shape()[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x.strides()[a] < x.strides()[b]; });
  int64_t expected = 1;
  for (const size_t d : order) {
    if (x.strides()[d] != expected) return false;
    expected *= x.shape()[d];
  }
  return true;
}

Tensor empty_as(const Tensor& x, DType dtype) {
  if (x.numel() == 0 || !is_dense(x)) return Tensor::empty(x.shape(), dtype);
  const Tensor memory = Tensor::empty({x.numel()}, dtype);
  return Tensor(memory.storage(), dtype, x.shape(), x.strides());
}

Tensor dense(const Tensor& x) { return is_dense(x) ? x : x.contiguous(); }

void check_keeps_dimensions(std::string_view what, const Tensor& x) {
  if (x.quantizer() && x.quantizer()->is_per_channel())
    throw_error(ErrorKind::NotImplemented,
                fmt::format("{}: not supported for tensors quantized per channel: {}", what, describe(x)));
}

}  // namespace weft
