// Two-dimensional convolution of channels-last bfloat16 images on an engine, as a product of patches with
// weights packed once; bias, residual and activation follow in float32, with one rounding.
#pragma once

#include <cstdint>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/packed_bfloat16.h"

namespace weft::kernels {

// As ConvImages.
struct BFloat16Images {
  const uint16_t* x = nullptr;
  int64_t batch = 1, height = 1, width = 1;
  uint16_t* y = nullptr;
  int64_t out_height = 1, out_width = 1;
  const uint16_t* residual = nullptr;  // contiguous; added before the activation
  int64_t y_stride = 0;                // between pixels
};

class PackedConvBFloat16 {
 public:
  // params: of one group. weight[out_channels][in_channels][kernel height][kernel width].
  PackedConvBFloat16(const BFloat16Kernels& engine, const ConvParams& params, const uint16_t* weight,
                     const float* bias);
  void run(const BFloat16Images& images) const;

 private:
  void gather(const BFloat16Images& images, int64_t pixel, uint16_t* to) const;
  // A line of the kernel over the line of an image.
  void gather_line(const uint16_t* line, int64_t width, int64_t left, uint16_t* to) const;

  ConvParams params_;
  PackedBFloat16 weights_;
};

}  // namespace weft::kernels
