// Convolution of bfloat16 images on an engine: the weights, a row per output channel, times the image's
// patches, a column per output pixel, which are put together a few hundred pixels at a time.
#pragma once

#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/conv_generic.h"
#include "weft/dtype.h"

namespace weft::kernels {

// Of one or two spatial dimensions, not transposed, with enough output channels and pixels to fill tiles.
bool convolve_bfloat16_supports(const ConvGeometry& g);

// Contiguous x[batch, in_channels, *input], weight[out_channels, in_channels / groups, *kernel],
// bias[out_channels] or null, y[batch, out_channels, *output]; sums, bias included, are rounded once.
void convolve_bfloat16(const BFloat16Kernels& engine, const ConvGeometry& g, const BFloat16* x,
                       const BFloat16* weight, const BFloat16* bias, BFloat16* y);

}  // namespace weft::kernels
