// Pillow's resampling: a horizontal pass, then a vertical one, each with weights of 22 binary digits and
// results rounded to bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/resample.h"
#include "weft/error.h"
#include "weft/models/masks.h"

namespace weft::models {
namespace {

constexpr int kDigits = 22;

kernels::ByteTaps taps_of(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(scale, 1.0);
  kernels::ByteTaps result{.size = from,
                           .taps = static_cast<int64_t>(std::ceil(support)) * 2 + 1,
                           .digits = kDigits,
                           .first = {},
                           .count = {},
                           .weight = {}};
  result.weight.assign(static_cast<size_t>(to * result.taps), 0);
  std::vector<double> weights(static_cast<size_t>(result.taps));
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t last = std::min(from, static_cast<int64_t>(center + support + 0.5));
    double sum = 0;
    for (int64_t j = first; j < last; ++j) {
      const double distance = std::abs((static_cast<double>(j) - center + 0.5) * (1.0 / support));
      sum += weights[static_cast<size_t>(j - first)] = std::max(0.0, 1.0 - distance);
    }
    for (int64_t j = first; j < last; ++j) {
      const double weight = weights[static_cast<size_t>(j - first)] * (sum == 0 ? 1.0 : 1.0 / sum);
      result.weight[static_cast<size_t>(i * result.taps + j - first)] =
          static_cast<int32_t>(0.5 + weight * (1 << kDigits));
    }
    result.first.push_back(first);
    result.count.push_back(last - first);
  }
  return result;
}

// [outer, from, inner] to [outer, to, inner].
void resize_axis(const uint8_t* from, uint8_t* to, int64_t outer, int64_t from_size, int64_t to_size,
                 int64_t inner) {
  kernels::resize_bytes(taps_of(from_size, to_size), from, to, outer, inner);
}

}  // namespace

Tensor resize_pixels(const Tensor& image, ImageSize size) {
  WEFT_CHECK(image.dtype() == DType::U8 && image.dim() == 3,
             fmt::format("resize_pixels: expected uint8 [height, width, channels], got {} {}",
                         short_name(image.dtype()), str(image.shape())));
  WEFT_CHECK(size.height > 0 && size.width > 0 && image.numel() > 0,
             fmt::format("resize_pixels: no size may be 0: from {} to [{}, {}]", str(image.shape()),
                         size.height, size.width));
  Tensor x = image.contiguous();
  const int64_t channels = x.size(2);
  if (size.width != x.size(1)) {
    const Tensor wide = Tensor::empty({x.size(0), size.width, channels}, DType::U8);
    resize_axis(x.data_as<uint8_t>(), wide.data_as<uint8_t>(), x.size(0), x.size(1), size.width, channels);
    x = wide;
  }
  if (size.height != x.size(0)) {
    const Tensor high = Tensor::empty({size.height, size.width, channels}, DType::U8);
    resize_axis(x.data_as<uint8_t>(), high.data_as<uint8_t>(), 1, x.size(0), size.height,
                size.width * channels);
    x = high;
  }
  return x;
}

}  // namespace weft::models
