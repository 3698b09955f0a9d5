#include "kernels/cpu/conv.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/autotune.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Where the kernel's columns of one row of the kernel are contiguous, fewer and longer runs pay from so few
// channels.
constexpr int64_t kMergeBelow = 32;

// Pointers to the inputs of one tile of output pixels: for each run (a kernel element, or a row of the
// kernel) and pixel.
class RowPointers {
 public:
  RowPointers(const ConvParams& params, const ConvImages& images, const float* zeros, int64_t merged,
              int64_t run_length)
      : params_(params),
        images_(images),
        zeros_(zeros),
        merged_(merged),
        run_length_(run_length),
        columns_(params.kernel[1] / merged),
        num_runs_(params.kernel[0] * columns_) {
    rows_.resize(static_cast<size_t>(num_runs_ * kMaxTileRows));
    pointwise_ = params.kernel == std::array<int64_t, 2>{1, 1} &&
                 params.stride == std::array<int64_t, 2>{1, 1} &&
                 params.padding == std::array<int64_t, 2>{0, 0} && images.out_width == images.width &&
                 images.out_height == images.height;
    if (merged_ > 1) edges_.resize(static_cast<size_t>(params.kernel[0] * kMaxTileRows * run_length_));
  }

  // Output pixels [first, first + count), inputs from channel `channel` on.
  RowTable fill(int64_t first, int64_t count, int64_t channel) {
    if (pointwise_) {
      for (int64_t i = 0; i < count; ++i)
        rows_[static_cast<size_t>(i)] = images_.x + (first + i) * images_.x_stride + channel;
      return {rows_.data(), num_runs_, run_length_};
    }
    const int64_t width = images_.out_width, plane = images_.out_height * width;
    int64_t image = first / plane, oy = first % plane / width, ox = first % width;
    for (int64_t i = 0; i < count;) {
      const int64_t pixels = std::min(count - i, width - ox);
      fill_line(i, pixels, images_.x + image * images_.height * images_.width * images_.x_stride + channel,
                oy * params_.stride[0] - params_.padding[0], ox * params_.stride[1] - params_.padding[1]);
      i += pixels, ox = 0;
      if (++oy == images_.out_height) oy = 0, ++image;
    }
    return {rows_.data(), num_runs_, run_length_};
  }

 private:
  // `pixels` output pixels of one line, the i-th of the tile and those after it.
  void fill_line(int64_t i, int64_t pixels, const float* image, int64_t top, int64_t left) {
    for (int64_t row = 0; row < params_.kernel[0]; ++row) {
      const int64_t iy = top + row * params_.dilation[0];
      const float** const to = rows_.data() + row * columns_ * kMaxTileRows + i;
      const float* const line = image + iy * images_.width * images_.x_stride;
      if (iy < 0 || iy >= images_.height) {
        for (int64_t column = 0; column < columns_; ++column)
          std::fill_n(to + column * kMaxTileRows, pixels, zeros_);
      } else if (merged_ > 1) {
        fill_merged(i, to, pixels, row, line, left);
      } else {
        for (int64_t column = 0; column < columns_; ++column)
          fill_run(to + column * kMaxTileRows, pixels, line, left + column * params_.dilation[1]);
      }
    }
  }

  // One kernel element: input columns ix, ix + stride, … of a line, zeros outside.
  void fill_run(const float** to, int64_t pixels, const float* line, int64_t ix) {
    const int64_t stride = params_.stride[1], step = stride * images_.x_stride;
    int64_t p = 0;
    for (; p < pixels && ix < 0; ++p, ix += stride) to[p] = zeros_;
    const float* from = line + ix * images_.x_stride;
    for (; p < pixels && ix < images_.width; ++p, ix += stride, from += step) to[p] = from;
    for (; p < pixels; ++p) to[p] = zeros_;
  }

  // A row of the kernel at once.
  void fill_merged(int64_t i, const float** to, int64_t pixels, int64_t row, const float* line, int64_t ix) {
    const bool contiguous = images_.x_stride == params_.in_channels;
    for (int64_t p = 0; p < pixels; ++p, ix += params_.stride[1]) {
      const bool whole = contiguous && ix >= 0 && ix + merged_ <= images_.width;
      to[p] = whole ? line + ix * params_.in_channels : copy_run(i + p, row, line, ix);
    }
  }

  // A row of the kernel that crosses the image's edge: a copy with zeros outside.
  const float* copy_run(int64_t i, int64_t row, const float* line, int64_t left) {
    const int64_t channels = params_.in_channels;
    float* const copy = edges_.data() + (i * params_.kernel[0] + row) * run_length_;
    for (int64_t column = 0; column < merged_; ++column) {
      const int64_t ix = left + column;
      const bool inside = ix >= 0 && ix < images_.width;
      std::memcpy(copy + column * channels, inside ? line + ix * images_.x_stride : zeros_,
                  static_cast<size_t>(channels) * sizeof(float));
    }
    return copy;
  }

  const ConvParams& params_;
  const ConvImages& images_;
  const float* const zeros_;
  const int64_t merged_, run_length_, columns_, num_runs_;
  bool pointwise_ = false;  // output pixels are input pixels
  std::vector<const float*> rows_;
  std::vector<float> edges_;
};

// weight[columns][in_channels][taps] as to[taps][in_channels][width].
void pack_block(const float* weight, int64_t columns, int64_t in_channels, int64_t taps, float* to,
                int64_t width) {
  const int64_t depth = in_channels * taps;
  if (taps == 1) return gemm_kernels().transpose(columns, depth, weight, depth, to, width);
  constexpr int64_t kChannels = 16;  // at a time, so that what is turned stays in the first-level cache
  std::vector<float> turned(static_cast<size_t>(kChannels * taps * width));
  for (int64_t first = 0; first < in_channels; first += kChannels) {
    const int64_t channels = std::min(kChannels, in_channels - first);
    gemm_kernels().transpose(columns, channels * taps, weight + first * taps, depth, turned.data(), width);
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < channels; ++c)
        std::copy_n(turned.data() + (c * taps + tap) * width, columns,
                    to + (tap * in_channels + first + c) * width);
  }
}

// Kernel elements that are inside an image of `size`, the first at `start`.
struct TapRange {
  int64_t begin, end;
};
TapRange taps_inside(int64_t start, int64_t size, int64_t taps, int64_t dilation) {
  const int64_t begin = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t end = start < size ? (size - start + dilation - 1) / dilation : 0;
  return {std::min(begin, taps), std::clamp(end, std::min(begin, taps), taps)};
}

ConvImages with_strides(ConvImages images, const ConvParams& params) {
  if (images.x_stride == 0) images.x_stride = params.in_channels;
  if (images.y_stride == 0) images.y_stride = params.out_channels;
  if (images.residual_stride == 0) images.residual_stride = params.out_channels;
  return images;
}

constexpr int64_t kLeastConvToMeasure = 1 << 20;  // products: others take no time worth a choice

// The first lines of as many images as tell how fast all of them are.
ConvImages part_to_measure(ConvImages images, int64_t per_pixel) {
  const int64_t lines = images.batch * images.out_height,
                enough = runtime::rows_to_measure(lines * images.out_width, per_pixel);
  const int64_t wanted = (enough + images.out_width - 1) / images.out_width;
  if (wanted >= lines) return images;
  if (wanted < images.out_height)
    images.batch = 1, images.out_height = wanted;
  else
    images.batch = wanted / images.out_height;
  return images;
}

}  // namespace

int64_t conv_output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

PackedConv::PackedConv(const ConvParams& params, const float* weight, const float* bias) : params_(params) {
  has_bias_ = bias != nullptr;
  if (depthwise()) {
    pack_depthwise(weight, bias);
  } else {
    pack_dense(weight, bias);
  }
}

bool PackedConv::depthwise() const {
  return params_.groups > 1 && params_.groups == params_.in_channels &&
         params_.groups == params_.out_channels;
}

void PackedConv::pack_dense(const float* weight, const float* bias) {
  const int64_t in_group = params_.in_channels / params_.groups,
                out_group = params_.out_channels / params_.groups;
  const int64_t taps = params_.kernel[0] * params_.kernel[1], depth = taps * in_group,
                lanes = gemm_kernels().lanes;
  if (params_.groups == 1 && params_.dilation[1] == 1 && in_group < kMergeBelow) merged_ = params_.kernel[1];
  blocks_ = weight_blocks(params_.groups, out_group, depth);
  if (blocks_.empty()) return;
  const WeightBlock& last = blocks_.back();
  weights_ = FloatBuffer(last.offset + depth * last.vectors * lanes);
  bias_ = FloatBuffer(last.bias_offset + last.vectors * lanes);
  zeros_ = FloatBuffer(in_group * merged_);
  std::fill_n(zeros_.data(), in_group * merged_, 0.0f);
  std::fill_n(bias_.data(), last.bias_offset + last.vectors * lanes, 0.0f);
  parallel_for(0, static_cast<int64_t>(blocks_.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const WeightBlock& block = blocks_[static_cast<size_t>(b)];
      const int64_t width = block.vectors * lanes;
      float* const to = weights_.data() + block.offset;
      if (block.columns < width) std::fill_n(to, depth * width, 0.0f);
      pack_block(weight + block.channel * depth, block.columns, in_group, taps, to, width);
      if (bias) std::copy_n(bias + block.channel, block.columns, bias_.data() + block.bias_offset);
    }
  });
}

void PackedConv::pack_depthwise(const float* weight, const float* bias) {
  const int64_t lanes = gemm_kernels().lanes, channels = params_.out_channels;
  const int64_t taps = params_.kernel[0] * params_.kernel[1], width = (channels + lanes - 1) / lanes * lanes;
  weights_ = FloatBuffer(taps * width);
  bias_ = FloatBuffer(width);
  zeros_ = FloatBuffer(width);
  std::fill_n(weights_.data(), taps * width, 0.0f);
  std::fill_n(bias_.data(), width, 0.0f);
  std::fill_n(zeros_.data(), width, 0.0f);
  gemm_kernels().transpose(channels, taps, weight, taps, weights_.data(), width);
  if (bias) std::copy_n(bias, channels, bias_.data());
}

void PackedConv::run(const ConvImages& images) const {
  if (images.batch * images.out_height * images.out_width * params_.out_channels == 0) return;
  const ConvImages complete = with_strides(images, params_);
  if (depthwise()) {
    run_depthwise(complete);
  } else {
    run_dense(complete);
  }
}

void PackedConv::run(const float* x, int64_t batch, int64_t height, int64_t width, float* y,
                     const float* residual) const {
  const auto size = [&](int64_t in, size_t d) {
    return conv_output_size(in, params_.kernel[d], params_.stride[d], params_.padding[d],
                            params_.dilation[d]);
  };
  run({.x = x,
       .batch = batch,
       .height = height,
       .width = width,
       .y = y,
       .out_height = size(height, 0),
       .out_width = size(width, 1),
       .residual = residual});
}

void PackedConv::run_dense(const ConvImages& images) const {
  static constexpr const char* kNames[] = {"768 KiB of weights at once", "192 KiB of weights at once",
                                           "384 KiB of weights at once", "1536 KiB of weights at once"};
  static constexpr std::array<int64_t, 4> kBytes = {kBlockBytes, 192 << 10, 384 << 10, 1536 << 10};
  const int64_t in_group = params_.in_channels / params_.groups,
                per_pixel = params_.out_channels * in_group * params_.kernel[0] * params_.kernel[1];
  const ConvImages some = part_to_measure(images, per_pixel);
  const int64_t pixels = some.batch * some.out_height * some.out_width;
  if (!runtime::is_autotuning() || pixels * per_pixel < kLeastConvToMeasure)
    return run_dense(images, kBlockBytes);
  FloatBuffer scratch;
  const size_t way = runtime::tuned_choice(
      {"packed float32 product",
       {runtime::size_class(pixels), params_.out_channels, in_group, params_.kernel[0], params_.kernel[1],
        params_.stride[1], params_.groups, images.residual != nullptr}},
      kNames, [&](size_t each) {
        if (!scratch.data()) scratch = FloatBuffer(pixels * params_.out_channels);
        ConvImages measured = some;
        measured.y = scratch.data(), measured.y_stride = params_.out_channels;
        run_dense(measured, kBytes[each]);
      });
  run_dense(images, kBytes[way]);
}

void PackedConv::run_dense(const ConvImages& images, int64_t cache_bytes) const {
  const int64_t in_group = params_.in_channels / params_.groups, run_length = in_group * merged_;
  const int64_t depth = in_group * params_.kernel[0] * params_.kernel[1];
  const TileRange tiles(images.batch * images.out_height * images.out_width);
  const Epilogue epilogue{.start = has_bias_ ? bias_.data() : nullptr,
                          .residual = images.residual,
                          .residual_stride = images.residual_stride,
                          .activation = params_.activation};
  for_each_tile(
      blocks_, depth, tiles,
      [&](int64_t first_block, int64_t end_block, int64_t first_tile, int64_t end_tile) {
        RowPointers pointers(params_, images, zeros_.data(), merged_, run_length);
        for (int64_t tile = first_tile; tile < end_tile; ++tile) {
          const int64_t first = tiles.begin(tile), count = tiles.begin(tile + 1) - first;
          int64_t group = -1;
          RowTable table{};
          for (int64_t b = first_block; b < end_block; ++b) {
            const WeightBlock& block = blocks_[static_cast<size_t>(b)];
            if (block.group != group) {
              group = block.group;
              table = pointers.fill(first, count, group * in_group);
            }
            compute_tile(block, weights_.data(), table, epilogue, first, count, images.y, images.y_stride);
          }
        }
      },
      cache_bytes);
}

void PackedConv::run_depthwise(const ConvImages& images) const {
  const int64_t chunk = 4 * gemm_kernels().lanes, chunks = (params_.out_channels + chunk - 1) / chunk;
  const int64_t lines = images.batch * images.out_height;
  const int64_t products =
      std::min(chunk, params_.out_channels) * images.out_width * params_.kernel[0] * params_.kernel[1];
  parallel_for(0, chunks * lines, std::max<int64_t>(1, (1 << 15) / products),
               [&](int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t first = item / lines * chunk;
                   depthwise_line(images, item % lines, first, std::min(chunk, params_.out_channels - first));
                 }
               });
}

// One line of outputs, `channels` channels from `first` on: the pixels whose kernel crosses the image's left
// or right edge one by one, those between together.
void PackedConv::depthwise_line(const ConvImages& images, int64_t line, int64_t first,
                                int64_t channels) const {
  const int64_t lanes = gemm_kernels().lanes,
                weight_pitch = (params_.out_channels + lanes - 1) / lanes * lanes;
  const int64_t dilation = params_.dilation[1], stride = params_.stride[1], image = line / images.out_height;
  const int64_t top = line % images.out_height * params_.stride[0] - params_.padding[0];
  const TapRange rows = taps_inside(top, images.height, params_.kernel[0], params_.dilation[0]);
  const Clamp clamp = clamp_of(params_.activation);
  const float* const x_line =
      images.x +
      ((image * images.height + top + rows.begin * params_.dilation[0]) * images.width) * images.x_stride +
      first;
  const auto run = [&](int64_t ox, int64_t pixels) {
    const int64_t left = ox * stride - params_.padding[1], pixel = line * images.out_width + ox;
    const TapRange columns = taps_inside(left, images.width, params_.kernel[1], dilation);
    gemm_kernels().depthwise(
        {.x = x_line + (left + columns.begin * dilation) * images.x_stride,
         .x_step = stride * images.x_stride,
         .pixels = pixels,
         .tap_rows = columns.end > columns.begin ? rows.end - rows.begin : 0,
         .tap_columns = columns.end - columns.begin,
         .row_pitch = params_.dilation[0] * images.width * images.x_stride,
         .column_pitch = dilation * images.x_stride,
         .weights = weights_.data() + (rows.begin * params_.kernel[1] + columns.begin) * weight_pitch + first,
         .weight_row_pitch = params_.kernel[1] * weight_pitch,
         .weight_pitch = weight_pitch,
         .start = bias_.data() + first,
         .y = images.y + pixel * images.y_stride + first,
         .y_stride = images.y_stride,
         .residual = images.residual ? images.residual + pixel * images.residual_stride + first : nullptr,
         .residual_stride = images.residual_stride,
         .columns = channels,
         .low = clamp.low,
         .high = clamp.high});
  };
  // Pixels in [inner, outer) have all the kernel's columns inside the image.
  const int64_t reach = (params_.kernel[1] - 1) * dilation + 1,
                room = images.width - reach + params_.padding[1];
  const int64_t inner = std::clamp<int64_t>((params_.padding[1] + stride - 1) / stride, 0, images.out_width);
  const int64_t outer = std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, inner, images.out_width);
  for (int64_t ox = 0; ox < inner; ++ox) run(ox, 1);
  if (outer > inner) run(inner, outer - inner);
  for (int64_t ox = outer; ox < images.out_width; ++ox) run(ox, 1);
  if (!clamp.complete)
    gemm_kernels().activate(params_.activation, images.out_width, channels,
                            images.y + line * images.out_width * images.y_stride + first, images.y_stride);
}

PackedLinear::PackedLinear(int64_t in, int64_t out, const float* weight, const float* bias,
                           Activation activation)
    : conv_({.in_channels = in, .out_channels = out, .activation = activation}, weight, bias) {}

void PackedLinear::run(const float* x, int64_t rows, float* y, const float* residual, int64_t x_stride,
                       int64_t y_stride) const {
  conv_.run({.x = x,
             .batch = 1,
             .height = 1,
             .width = rows,
             .y = y,
             .out_height = 1,
             .out_width = rows,
             .residual = residual,
             .x_stride = x_stride,
             .y_stride = y_stride});
}

}  // namespace weft::kernels
