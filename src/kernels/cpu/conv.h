// Two-dimensional float32 convolution of channels-last images with weights packed once, and what may follow
// it in the same pass: bias, a residual, an activation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/packed_weights.h"

namespace weft::kernels {

struct ConvParams {
  int64_t in_channels = 1, out_channels = 1;
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1};
  std::array<int64_t, 2> padding{
      0, 0};  // before the first row and column; the output's size tells how much follows
  std::array<int64_t, 2> dilation{1, 1};
  int64_t groups = 1;
  Activation activation = Activation::None;
};

// Images as [batch, height, width, channels]; a pixel's channels are contiguous, pixels are `stride` floats
// apart, so that an image may be a slice of the channels of a wider one. 0: as many as it has channels.
struct ConvImages {
  const float* x = nullptr;
  int64_t batch = 1, height = 1, width = 1;
  float* y = nullptr;
  int64_t out_height = 1, out_width = 1;
  const float* residual = nullptr;  // as y; added before the activation
  int64_t x_stride = 0, y_stride = 0, residual_stride = 0;
};

// The size of the output where as much padding follows as comes before.
int64_t conv_output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);

// Sums are added in one order whatever the number of threads, with fused multiply-adds where the machine has
// them.
class PackedConv {
 public:
  PackedConv() = default;
  // weight[out_channels, in_channels / groups, *kernel], bias[out_channels] or null; both are copied.
  PackedConv(const ConvParams& params, const float* weight, const float* bias);

  // May be called by several threads at once.
  void run(const ConvImages& images) const;
  // The same for whole images with as much padding after as before.
  void run(const float* x, int64_t batch, int64_t height, int64_t width, float* y,
           const float* residual = nullptr) const;

  const ConvParams& params() const { return params_; }

 private:
  bool depthwise() const;
  void pack_dense(const float* weight, const float* bias);
  void pack_depthwise(const float* weight, const float* bias);
  void run_dense(const ConvImages& images) const;
  void run_dense(const ConvImages& images, int64_t cache_bytes) const;
  void run_depthwise(const ConvImages& images) const;
  void depthwise_line(const ConvImages& images, int64_t line, int64_t first, int64_t channels) const;

  ConvParams params_;
  std::vector<WeightBlock> blocks_;
  FloatBuffer weights_, bias_, zeros_;
  bool has_bias_ = false;
  // Kernel columns that are one run of the input: whole rows of the kernel where there are few channels.
  int64_t merged_ = 1;
};

// y[rows, out] = activation(x[rows, in] @ weight[out, in]^T + bias + residual), weights packed once.
class PackedLinear {
 public:
  PackedLinear() = default;
  PackedLinear(int64_t in, int64_t out, const float* weight, const float* bias,
               Activation activation = Activation::None);
  // Strides between rows, in floats; 0: contiguous rows.
  void run(const float* x, int64_t rows, float* y, const float* residual = nullptr, int64_t x_stride = 0,
           int64_t y_stride = 0) const;

 private:
  PackedConv conv_;
};

}  // namespace weft::kernels
