// Normalization in one go over contiguous memory, float32 and float64. Parameters have the input's dtype and
// may be undefined; results are written to `result`, which has the input's layout.
#pragma once

#include <cstdint>

#include "weft/tensor.h"

namespace weft::kernels {

// Rows of `size` elements: (x - mean) / sqrt(var + eps), or without `centre` x / sqrt(mean of x**2 + eps);
// then times weight[size] plus bias[size].
void normalize_rows(const Tensor& x, int64_t size, bool centre, double eps, const Tensor& weight,
                    const Tensor& bias, const Tensor& result);
// x[batch, channels, inner] in groups of channels: (x - mean) / sqrt(var + eps) * weight[channel] +
// bias[channel].
void normalize_groups(const Tensor& x, int64_t channels, int64_t groups, int64_t inner, double eps,
                      const Tensor& weight, const Tensor& bias, const Tensor& result);
// x[batch, channels, inner]: (x - mean[channel]) * factor[channel] + bias[channel].
void scale_channels(const Tensor& x, int64_t inner, const Tensor& mean, const Tensor& factor,
                    const Tensor& bias, const Tensor& result);

}  // namespace weft::kernels
