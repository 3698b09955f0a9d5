#include "kernels/cpu/conv_packed_bfloat16.h"

#include <algorithm>
#include <vector>

namespace weft::kernels {
namespace {

// [out][kernel height][kernel width][in]: what a pixel of the output is multiplied with lies in the order of
// its patch.
std::vector<uint16_t> by_pixels(const ConvParams& p, const uint16_t* weight) {
  const int64_t taps = p.kernel[0] * p.kernel[1];
  std::vector<uint16_t> result(static_cast<size_t>(p.out_channels * p.in_channels * taps));
  for (int64_t out = 0; out < p.out_channels; ++out)
    for (int64_t in = 0; in < p.in_channels; ++in)
      for (int64_t tap = 0; tap < taps; ++tap)
        result[static_cast<size_t>((out * taps + tap) * p.in_channels + in)] =
            weight[(out * p.in_channels + in) * taps + tap];
  return result;
}

}  // namespace

PackedConvBFloat16::PackedConvBFloat16(const BFloat16Kernels& engine, const ConvParams& params,
                                       const uint16_t* weight, const float* bias)
    : params_(params),
      weights_(engine, params.out_channels, params.in_channels * params.kernel[0] * params.kernel[1],
               by_pixels(params, weight).data(), bias) {}

void PackedConvBFloat16::gather_line(const uint16_t* line, int64_t width, int64_t left, uint16_t* to) const {
  const int64_t channels = params_.in_channels, taps = params_.kernel[1], step = params_.dilation[1];
  if (step == 1 && left >= 0 && left + taps <= width) {
    std::copy_n(line + left * channels, taps * channels, to);
    return;
  }
  for (int64_t tap = 0; tap < taps; ++tap, to += channels) {
    const int64_t at = left + tap * step;
    if (at >= 0 && at < width)
      std::copy_n(line + at * channels, channels, to);
    else
      std::fill_n(to, channels, uint16_t{0});
  }
}

void PackedConvBFloat16::gather(const BFloat16Images& images, int64_t pixel, uint16_t* to) const {
  const int64_t per_image = images.out_height * images.out_width, image = pixel / per_image,
                y = pixel % per_image / images.out_width, x = pixel % images.out_width,
                line = params_.kernel[1] * params_.in_channels;
  const int64_t top = y * params_.stride[0] - params_.padding[0],
                left = x * params_.stride[1] - params_.padding[1];
  const uint16_t* const from = images.x + image * images.height * images.width * params_.in_channels;
  for (int64_t tap = 0; tap < params_.kernel[0]; ++tap, to += line) {
    const int64_t at = top + tap * params_.dilation[0];
    if (at >= 0 && at < images.height)
      gather_line(from + at * images.width * params_.in_channels, images.width, left, to);
    else
      std::fill_n(to, line, uint16_t{0});
  }
}

void PackedConvBFloat16::run(const BFloat16Images& images) const {
  const bool as_they_lie = params_.kernel[0] == 1 && params_.kernel[1] == 1 && params_.stride[0] == 1 &&
                           params_.stride[1] == 1 && params_.padding[0] == 0 && params_.padding[1] == 0 &&
                           images.out_height == images.height && images.out_width == images.width;
  BFloat16Rows rows{.data = images.x, .stride = params_.in_channels};
  if (!as_they_lie)
    rows.gather = [&](int64_t first, int64_t count, uint16_t* to, int64_t stride) {
      for (int64_t i = 0; i < count; ++i) gather(images, first + i, to + i * stride);
    };
  weights_.run(rows, images.batch * images.out_height * images.out_width,
               {.activation = static_cast<RowActivation>(params_.activation),
                .residual_first = true,
                .residual = images.residual,
                .residual_stride = params_.out_channels,
                .y = images.y,
                .y_stride = images.y_stride});
}

}  // namespace weft::kernels
