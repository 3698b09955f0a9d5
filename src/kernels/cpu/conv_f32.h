// Float32 convolutions in up to three dimensions, transposed too, over the packed two-dimensional kernels of
// conv.h.
#pragma once

#include "kernels/cpu/conv_generic.h"

namespace weft::kernels {

// [batch, channels, pixels] to [batch, pixels, channels] and back.
void to_channels_last(int64_t batch, int64_t channels, int64_t pixels, const float* from, float* to);
void to_channels_first(int64_t batch, int64_t channels, int64_t pixels, const float* from, float* to);

// False for what convolve_generic alone can do: transposed with both a stride and a dilation along one
// dimension.
bool convolve_f32_supports(const ConvGeometry& geometry);

// y[batch, *output, out_channels] of x[batch, *input, in_channels]; weight and bias as convolve_generic takes
// them.
void convolve_f32(const ConvGeometry& geometry, const float* x, const float* weight, const float* bias,
                  float* y);

}  // namespace weft::kernels
