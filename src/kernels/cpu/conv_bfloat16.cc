#include "kernels/cpu/conv_bfloat16.h"

#include <algorithm>
#include <vector>

#include "core/rounding.h"
#include "kernels/cpu/gemm_bfloat16.h"
#include "kernels/cpu/product_scope.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

class PatchProduct {
 public:
  PatchProduct(const BFloat16Kernels& engine, const ConvGeometry& g, const BFloat16* x,
               const BFloat16* weight, const BFloat16* bias, BFloat16* y)
      : engine_(engine),
        g_(g),
        x_(bits(x)),
        y_(reinterpret_cast<uint16_t*>(y)),
        channels_(g.in_channels / g.groups),
        rows_(g.out_channels / g.groups),
        pixels_(g.output[1] * g.output[2]),
        taps_(g.kernel[1] * g.kernel[2]),
        k_(channels_ * taps_),
        depth_(round_up(k_, engine.depth_unit)),
        step_(round_up(ceil_div(depth_, ceil_div(depth_, kMostDepth)), 32)),
        parts_(ceil_div(depth_, step_)),
        tiles_(ceil_div(rows_, engine.max_rows)),
        panels_(ceil_div(pixels_, kPairColumns)) {
    copy_weight(bits(weight));
    for (int64_t m = 0; bias && m < g.out_channels; ++m) bias_.push_back(static_cast<float>(bias[m]));
  }

  void run() const {
    const int64_t most = std::clamp<int64_t>(kGroupBytes / (2 * panel_size()), 1, kMostPanels),
                  wanted = panels_ * g_.batch * g_.groups / (4 * get_num_threads()),
                  group = std::clamp<int64_t>(wanted, 1, most), groups = ceil_div(panels_, group);
    const int64_t products = rows_ * k_ * group * kPairColumns;
    parallel_for(0, g_.batch * g_.groups * groups, std::max<int64_t>(1, (1 << 17) / products),
                 [&](int64_t begin, int64_t end) {
                   const ProductScope scope(engine_);
                   for (int64_t task = begin; task < end; ++task) {
                     const int64_t first = task % groups * group;
                     run_group(task / groups, first, std::min(group, panels_ - first));
                   }
                 });
  }

 private:
  static constexpr int64_t kMostDepth = 3072, kGroupBytes = 384 << 10, kMostPanels = 8;
  static constexpr int64_t kPatchRows = 64;  // put together before they are packed

  int64_t panel_size() const { return kPairColumns * std::min(step_, depth_); }

  // Rows filled up with zeros, not a multiple of 4 KiB apart.
  void copy_weight(const uint16_t* weight) {
    weight_stride_ = round_up(depth_, 64) + 32;
    if (depth_ == k_ && k_ % 2048 != 0) weight_stride_ = k_, weight_ = weight;
    if (weight_) return;
    weight_copy_ = FloatBuffer(g_.out_channels * weight_stride_ / 2);
    auto* const to = reinterpret_cast<uint16_t*>(weight_copy_.data());
    parallel_for(0, g_.out_channels, std::max<int64_t>(1, 65536 / depth_), [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        std::copy_n(weight + m * k_, k_, to + m * weight_stride_);
        std::fill(to + m * weight_stride_ + k_, to + m * weight_stride_ + depth_, uint16_t{0});
      }
    });
    weight_ = to;
  }

  // `panels` panels of pixels of one image and group of channels.
  void run_group(int64_t image, int64_t first_panel, int64_t panels) const {
    thread_local Scratch scratch;
    const int64_t width = panels * kPairColumns, size = panel_size(), sums_of_tile = engine_.max_rows * width,
                  kept = parts_ > 1 ? tiles_ : 1;
    float* const sums = scratch.floats(kept * sums_of_tile + (panels * size + kPatchRows * width) / 2);
    auto* const packed = reinterpret_cast<uint16_t*>(sums + kept * sums_of_tile);
    for (int64_t part = 0; part < parts_; ++part) {
      pack(image, first_panel, panels, part, packed, packed + panels * size);
      for (int64_t tile = 0; tile < tiles_; ++tile)
        multiply(image, first_panel, panels, part, tile, packed,
                 sums + (parts_ > 1 ? tile * sums_of_tile : 0));
    }
  }

  void multiply(int64_t image, int64_t first_panel, int64_t panels, int64_t part, int64_t tile,
                const uint16_t* packed, float* sums) const {
    const int64_t row = tile * rows_ / tiles_, rows = (tile + 1) * rows_ / tiles_ - row,
                  channel = image % g_.groups * rows_ + row, first = part * step_,
                  width = panels * kPairColumns, pixel = first_panel * kPairColumns;
    if (part == 0 && !bias_.empty())
      for (int64_t i = 0; i < rows; ++i)
        std::fill_n(sums + i * width, width, bias_[static_cast<size_t>(channel + i)]);
    engine_.multiply({.a = weight_ + channel * weight_stride_ + first,
                      .a_stride = weight_stride_,
                      .rows = rows,
                      .panels = packed,
                      .panel_stride = panel_size(),
                      .num_panels = panels,
                      .depth = std::min(step_, depth_ - first),
                      .start = nullptr,
                      .before = part > 0 || !bias_.empty() ? sums : nullptr,
                      .sums = sums,
                      .sums_stride = width,
                      .sums_step = kPairColumns,
                      .y = part + 1 == parts_ ? y_ + (image * rows_ + row) * pixels_ + pixel : nullptr,
                      .y_stride = pixels_,
                      .columns = pixels_ - pixel});
  }

  // A part of the patches' depth: some rows of them at a time, as a matrix, into panels.
  void pack(int64_t image, int64_t first_panel, int64_t panels, int64_t part, uint16_t* packed,
            uint16_t* patches) const {
    const int64_t width = panels * kPairColumns, pixel = first_panel * kPairColumns,
                  columns = std::min(width, pixels_ - pixel), first = part * step_,
                  padded = std::min(step_, depth_ - first);
    for (int64_t k = 0; k < padded; k += kPatchRows) {
      const int64_t rows = std::min(kPatchRows, padded - k),
                    present = std::clamp<int64_t>(k_ - first - k, 0, rows);
      for (int64_t i = 0; i < present; ++i)
        fill_row(image, first + k + i, pixel, columns, patches + i * width);
      engine_.pack_rows({.b = patches,
                         .stride = width,
                         .columns = columns,
                         .depth = present,
                         .padded_depth = rows,
                         .panels = packed + k * kPairColumns,
                         .panel_stride = panel_size()});
    }
  }

  // What output pixels [pixel, pixel + count) have at element k of their patches.
  void fill_row(int64_t image, int64_t k, int64_t pixel, int64_t count, uint16_t* to) const {
    const int64_t height = g_.input[1], width = g_.input[2], channel = k / taps_, tap = k % taps_;
    const uint16_t* const plane = x_ + (image * channels_ + channel) * height * width;
    const int64_t top = tap / g_.kernel[2] * g_.dilation[1] - g_.padding[1],
                  left = tap % g_.kernel[2] * g_.dilation[2] - g_.padding[2];
    int64_t oy = pixel / g_.output[2], ox = pixel % g_.output[2];
    for (int64_t done = 0; done < count; ++oy, ox = 0) {
      const int64_t line = std::min(count - done, g_.output[2] - ox), iy = oy * g_.stride[1] + top;
      if (iy < 0 || iy >= height)
        std::fill_n(to + done, line, uint16_t{0});
      else
        fill_line(plane + iy * width, ox, left, line, to + done);
      done += line;
    }
  }

  // Columns ox * stride + left of a line of the image, from ox on; zeros outside.
  void fill_line(const uint16_t* line, int64_t ox, int64_t left, int64_t count, uint16_t* to) const {
    const int64_t stride = g_.stride[2], start = ox * stride + left;
    const int64_t before = std::clamp<int64_t>(start < 0 ? ceil_div(-start, stride) : 0, 0, count);
    const int64_t inside = start < g_.input[2] ? ceil_div(g_.input[2] - start, stride) : 0;
    const int64_t end = std::clamp(inside, before, count);
    std::fill_n(to, before, uint16_t{0});
    if (stride == 1 && end > before)
      std::copy_n(line + start + before, end - before, to + before);
    else
      for (int64_t i = before; i < end; ++i) to[i] = line[start + i * stride];
    std::fill(to + end, to + count, uint16_t{0});
  }

  const BFloat16Kernels& engine_;
  const ConvGeometry& g_;
  const uint16_t* const x_;
  uint16_t* const y_;
  const int64_t channels_, rows_, pixels_, taps_, k_, depth_, step_, parts_, tiles_, panels_;
  const uint16_t* weight_ = nullptr;
  int64_t weight_stride_ = 0;
  FloatBuffer weight_copy_;
  std::vector<float> bias_;
};

}  // namespace

bool convolve_bfloat16_supports(const ConvGeometry& g) {
  constexpr int64_t kFewest = 16;
  return !g.transposed && g.kernel[0] == 1 && g.input[0] == 1 && g.output[0] == 1 && g.padding[0] == 0 &&
         g.out_channels / g.groups >= kFewest && g.output[1] * g.output[2] >= kFewest;
}

void convolve_bfloat16(const BFloat16Kernels& engine, const ConvGeometry& g, const BFloat16* x,
                       const BFloat16* weight, const BFloat16* bias, BFloat16* y) {
  if (g.in_channels > 0) PatchProduct(engine, g, x, weight, bias, y).run();
}

}  // namespace weft::kernels
