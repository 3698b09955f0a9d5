// Convolution of any floating dtype in up to three dimensions: plain loops, the fallback of the fast kernels.
#pragma once

#include <array>
#include <cstdint>

namespace weft::kernels {

// Sizes of a convolution, padded to three spatial dimensions with leading ones.
struct ConvGeometry {
  int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  std::array<int64_t, 3> input{1, 1, 1}, kernel{1, 1, 1}, output{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1};
  std::array<int64_t, 3> padding{0, 0,
                                 0};  // before the first element; `output` tells how much follows the last
  bool transposed = false;
};

// y[batch, out_channels, *output] of x[batch, in_channels, *input], all contiguous.
// weight[out_channels, in_channels / groups, *kernel]; transposed: [in_channels, out_channels / groups,
// *kernel]. bias[out_channels] or null. 16-bit types are added in float32.
template <class T>
void convolve_generic(const ConvGeometry& geometry, const T* x, const T* weight, const T* bias, T* y);

}  // namespace weft::kernels
