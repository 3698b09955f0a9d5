#include "kernels/cpu/conv_f32.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/conv.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// The kernel elements of one dimension that reach outputs of one phase (o % stride == phase) of a transposed
// convolution: first, first + stride, …; as a plain convolution over the phase's outputs.
struct Phase {
  int64_t begin, count;  // outputs: begin, begin + stride, …
  int64_t first, taps;   // kernel elements
  int64_t padding;
};

std::vector<Phase> phases_of(const ConvGeometry& g, size_t d) {
  const int64_t stride = g.stride[d], kernel = g.kernel[d], output = g.output[d];
  if (stride == 1) return {{0, output, 0, kernel, g.dilation[d] * (kernel - 1) - g.padding[d]}};
  std::vector<Phase> phases;
  for (int64_t begin = 0; begin < std::min(stride, output); ++begin) {
    const int64_t first = (begin + g.padding[d]) % stride,
                  taps = first < kernel ? (kernel - first - 1) / stride + 1 : 0;
    const int64_t shift = (begin + g.padding[d] - first) / stride;
    phases.push_back({begin, (output - begin - 1) / stride + 1, first, taps, taps - 1 - shift});
  }
  return phases;
}

// The plane `kd` of the weight as [out_channels, in_channels / groups, rows, columns]; a transposed
// convolution's elements first, first + stride, … in reverse.
std::vector<float> plane_weight(const ConvGeometry& g, const float* weight, int64_t kd, const Phase& rows,
                                const Phase& columns) {
  const int64_t in_group = g.in_channels / g.groups, out_group = g.out_channels / g.groups;
  std::vector<float> result(static_cast<size_t>(g.out_channels * in_group * rows.taps * columns.taps));
  float* to = result.data();
  for (int64_t m = 0; m < g.out_channels; ++m) {
    for (int64_t c = 0; c < in_group; ++c) {
      const int64_t pair =
          g.transposed ? (m / out_group * in_group + c) * out_group + m % out_group : m * in_group + c;
      const float* const from = weight + (pair * g.kernel[0] + kd) * g.kernel[1] * g.kernel[2];
      for (int64_t i = 0; i < rows.taps; ++i) {
        const int64_t row = g.transposed ? rows.first + (rows.taps - 1 - i) * g.stride[1] : i;
        for (int64_t j = 0; j < columns.taps; ++j) {
          const int64_t column = g.transposed ? columns.first + (columns.taps - 1 - j) * g.stride[2] : j;
          *to++ = from[row * g.kernel[2] + column];
        }
      }
    }
  }
  return result;
}

ConvParams params_of(const ConvGeometry& g) {
  return {.in_channels = g.in_channels,
          .out_channels = g.out_channels,
          .kernel = {g.kernel[1], g.kernel[2]},
          .stride = {g.stride[1], g.stride[2]},
          .padding = {g.padding[1], g.padding[2]},
          .dilation = {g.dilation[1], g.dilation[2]},
          .groups = g.groups};
}

void fill_pixels(int64_t pixels, int64_t channels, const float* bias, float* y) {
  for (int64_t p = 0; p < pixels; ++p, y += channels) {
    if (bias)
      std::copy_n(bias, channels, y);
    else
      std::fill_n(y, channels, 0.0f);
  }
}

// The convolution with one plane of the kernel, over rows and columns.
class PlaneConv {
 public:
  PlaneConv(const ConvGeometry& g, const float* weight, const float* bias, int64_t kd) : g_(g), bias_(bias) {
    if (!g.transposed) {
      const Phase rows{0, 0, 0, g.kernel[1], 0}, columns{0, 0, 0, g.kernel[2], 0};
      const std::vector<float> copy =
          g.kernel[0] > 1 ? plane_weight(g, weight, kd, rows, columns) : std::vector<float>();
      parts_.push_back(
          {rows, columns, PackedConv(params_of(g), g.kernel[0] > 1 ? copy.data() : weight, bias)});
      return;
    }
    for (const Phase& rows : phases_of(g, 1)) {
      for (const Phase& columns : phases_of(g, 2)) add_phase(weight, kd, rows, columns);
    }
  }

  // `batch` planes of x and y; y += where `add`.
  void run(const float* x, int64_t batch, float* y, bool add) const {
    for (const Part& part : parts_) run_part(part, x, batch, y, add);
  }

 private:
  struct Part {
    Phase rows, columns;
    PackedConv conv;
  };

  void add_phase(const float* weight, int64_t kd, const Phase& rows, const Phase& columns) {
    if (rows.taps == 0 || columns.taps == 0) {
      parts_.push_back({rows, columns, PackedConv()});
      return;
    }
    ConvParams params = params_of(g_);
    params.kernel = {rows.taps, columns.taps};
    params.stride = {1, 1};
    params.padding = {rows.padding, columns.padding};
    parts_.push_back(
        {rows, columns, PackedConv(params, plane_weight(g_, weight, kd, rows, columns).data(), bias_)});
  }

  void run_part(const Part& part, const float* x, int64_t batch, float* y, bool add) const {
    const int64_t height = g_.transposed ? part.rows.count : g_.output[1],
                  width = g_.transposed ? part.columns.count : g_.output[2];
    const bool whole = height == g_.output[1] && width == g_.output[2];
    const bool empty = g_.transposed && part.rows.taps * part.columns.taps == 0;
    const int64_t pixels = batch * height * width;
    std::vector<float> scratch(whole ? 0 : static_cast<size_t>(pixels * g_.out_channels));
    float* const to = whole ? y : scratch.data();
    if (empty) {
      if (!add) fill_pixels(pixels, g_.out_channels, bias_, to);
    } else {
      part.conv.run({.x = x,
                     .batch = batch,
                     .height = g_.input[1],
                     .width = g_.input[2],
                     .y = to,
                     .out_height = height,
                     .out_width = width,
                     .residual = whole && add ? y : nullptr});
    }
    if (!whole && !(empty && add)) interleave(part, batch, to, y, add);
  }

  // The phase's pixels to their places in y.
  void interleave(const Part& part, int64_t batch, const float* from, float* y, bool add) const {
    const int64_t channels = g_.out_channels, row_floats = part.columns.count * channels;
    parallel_for(0, batch * part.rows.count, std::max<int64_t>(1, (1 << 14) / row_floats),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t index = begin; index < end; ++index) {
                     const int64_t n = index / part.rows.count,
                                   row = part.rows.begin + index % part.rows.count * g_.stride[1];
                     float* const line = y + (n * g_.output[1] + row) * g_.output[2] * channels;
                     for (int64_t i = 0; i < part.columns.count; ++i) {
                       const float* const pixel = from + index * row_floats + i * channels;
                       float* const to = line + (part.columns.begin + i * g_.stride[2]) * channels;
                       for (int64_t c = 0; c < channels; ++c) to[c] = add ? to[c] + pixel[c] : pixel[c];
                     }
                   }
                 });
  }

  const ConvGeometry& g_;
  const float* const bias_;
  std::vector<Part> parts_;
};

// The kernel plane that joins output plane `od` with an input plane, if it does.
int64_t input_plane(const ConvGeometry& g, int64_t od, int64_t kd) {
  const int64_t wide = od + g.padding[0] - kd * g.dilation[0];
  if (!g.transposed) {
    const int64_t id = od * g.stride[0] - g.padding[0] + kd * g.dilation[0];
    return id >= 0 && id < g.input[0] ? id : -1;
  }
  return wide >= 0 && wide % g.stride[0] == 0 && wide / g.stride[0] < g.input[0] ? wide / g.stride[0] : -1;
}

}  // namespace

void to_channels_last(int64_t batch, int64_t channels, int64_t pixels, const float* from, float* to) {
  constexpr int64_t kPixels = 128;
  const int64_t chunks = (pixels + kPixels - 1) / kPixels;
  parallel_for(0, batch * chunks, std::max<int64_t>(1, (1 << 14) / (kPixels * channels)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t image = i / chunks * channels * pixels, first = i % chunks * kPixels;
                   gemm_kernels().transpose(channels, std::min(kPixels, pixels - first), from + image + first,
                                            pixels, to + image + first * channels, channels);
                 }
               });
}

void to_channels_first(int64_t batch, int64_t channels, int64_t pixels, const float* from, float* to) {
  to_channels_last(batch, pixels, channels, from, to);
}

bool convolve_f32_supports(const ConvGeometry& g) {
  if (!g.transposed) return true;
  return (g.stride[1] == 1 || g.dilation[1] == 1) && (g.stride[2] == 1 || g.dilation[2] == 1);
}

void convolve_f32(const ConvGeometry& g, const float* x, const float* weight, const float* bias, float* y) {
  const int64_t in_plane = g.input[1] * g.input[2] * g.in_channels,
                out_plane = g.output[1] * g.output[2] * g.out_channels;
  if (g.kernel[0] == 1 && g.input[0] == 1 && g.output[0] == 1 && g.padding[0] == 0) {
    PlaneConv(g, weight, bias, 0).run(x, g.batch, y, false);
    return;
  }
  // One plane of the kernel after the other, each added to what the ones before it have left; the first
  // brings the bias.
  std::vector<bool> started(static_cast<size_t>(g.output[0]), false);
  for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const PlaneConv first(g, weight, bias, kd), next(g, weight, nullptr, kd);
    for (int64_t od = 0; od < g.output[0]; ++od) {
      const int64_t id = input_plane(g, od, kd);
      if (id < 0) continue;
      const bool add = started[static_cast<size_t>(od)];
      started[static_cast<size_t>(od)] = true;
      for (int64_t n = 0; n < g.batch; ++n)
        (add ? next : first)
            .run(x + (n * g.input[0] + id) * in_plane, 1, y + (n * g.output[0] + od) * out_plane, add);
    }
  }
  for (int64_t od = 0; od < g.output[0]; ++od) {
    if (started[static_cast<size_t>(od)]) continue;
    for (int64_t n = 0; n < g.batch; ++n)
      fill_pixels(g.output[1] * g.output[2], g.out_channels, bias, y + (n * g.output[0] + od) * out_plane);
  }
}

}  // namespace weft::kernels
