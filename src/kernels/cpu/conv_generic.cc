#include "kernels/cpu/conv_generic.h"

#include <algorithm>
#include <vector>

#include "weft/dtype.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

template <class T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<Half> {
  using type = float;
};
template <>
struct Accumulator<BFloat16> {
  using type = float;
};

// The input position that kernel element k contributes to output position o with; -1: none.
int64_t source_of(const ConvGeometry& g, size_t d, int64_t o, int64_t k) {
  int64_t i;
  if (g.transposed) {
    const int64_t scaled = o + g.padding[d] - k * g.dilation[d];
    if (scaled < 0 || scaled % g.stride[d] != 0) return -1;
    i = scaled / g.stride[d];
  } else {
    i = o * g.stride[d] - g.padding[d] + k * g.dilation[d];
  }
  return i >= 0 && i < g.input[d] ? i : -1;
}

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// sums[o] += w * x[i] over one row of the output, for every o whose source under kernel column k is inside.
template <class T, class A>
void add_row(const ConvGeometry& g, int64_t k, A w, const T* x, A* sums) {
  const int64_t stride = g.stride[2], shift = k * g.dilation[2] - g.padding[2];
  if (g.transposed) {  // o = i * stride + shift
    const int64_t begin = std::max<int64_t>(0, ceil_div(-shift, stride));
    const int64_t end = std::min(g.input[2], ceil_div(g.output[2] - shift, stride));
    for (int64_t i = begin; i < end; ++i) sums[i * stride + shift] += w * static_cast<A>(x[i]);
  } else {  // i = o * stride + shift
    const int64_t begin = std::max<int64_t>(0, ceil_div(-shift, stride));
    const int64_t end = std::min(g.output[2], ceil_div(g.input[2] - shift, stride));
    if (stride == 1) {
      for (int64_t o = begin; o < end; ++o) sums[o] += w * static_cast<A>(x[o + shift]);
    } else {
      for (int64_t o = begin; o < end; ++o) sums[o] += w * static_cast<A>(x[o * stride + shift]);
    }
  }
}

// One row of the output along the last dimension.
template <class T, class A>
void output_row(const ConvGeometry& g, const T* x, const T* weight, int64_t n, int64_t channel, int64_t depth,
                int64_t row, A* sums) {
  const int64_t in_group = g.in_channels / g.groups, out_group = g.out_channels / g.groups;
  const int64_t group = channel / out_group, kernel_size = g.kernel[0] * g.kernel[1] * g.kernel[2];
  const int64_t plane = g.input[0] * g.input[1] * g.input[2];
  for (int64_t c = 0; c < in_group; ++c) {
    const int64_t in_channel = group * in_group + c;
    const T* const w = weight + kernel_size * (g.transposed ? in_channel * out_group + channel % out_group
                                                            : channel * in_group + c);
    const T* const image = x + (n * g.in_channels + in_channel) * plane;
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      const int64_t id = source_of(g, 0, depth, kd);
      if (id < 0) continue;
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        const int64_t ih = source_of(g, 1, row, kh);
        if (ih < 0) continue;
        const T* const in_row = image + (id * g.input[1] + ih) * g.input[2];
        const T* const w_row = w + (kd * g.kernel[1] + kh) * g.kernel[2];
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) add_row(g, kw, static_cast<A>(w_row[kw]), in_row, sums);
      }
    }
  }
}

}  // namespace

template <class T>
void convolve_generic(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y) {
  using A = typename Accumulator<T>::type;
  const int64_t width = g.output[2], rows = g.output[1], depths = g.output[0];
  const int64_t count = g.batch * g.out_channels * depths * rows;
  const int64_t work = width * (g.in_channels / g.groups) * g.kernel[0] * g.kernel[1] * g.kernel[2];
  parallel_for(0, count, std::max<int64_t>(1, 32 * 1024 / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end) {
                 std::vector<A> sums(static_cast<size_t>(width));
                 for (int64_t index = begin; index < end; ++index) {
                   const int64_t row = index % rows, depth = index / rows % depths;
                   const int64_t channel = index / (rows * depths) % g.out_channels;
                   const int64_t n = index / (rows * depths * g.out_channels);
                   std::fill(sums.begin(), sums.end(), A(0));
                   output_row<T, A>(g, x, weight, n, channel, depth, row, sums.data());
                   const A shift = bias ? static_cast<A>(bias[channel]) : A(0);
                   for (int64_t o = 0; o < width; ++o)
                     y[index * width + o] = static_cast<T>(sums[static_cast<size_t>(o)] + shift);
                 }
               });
}

template void convolve_generic(const ConvGeometry&, const float*, const float*, const float*, float*);
template void convolve_generic(const ConvGeometry&, const double*, const double*, const double*, double*);
template void convolve_generic(const ConvGeometry&, const Half*, const Half*, const Half*, Half*);
template void convolve_generic(const ConvGeometry&, const BFloat16*, const BFloat16*, const BFloat16*,
                               BFloat16*);

}  // namespace weft::kernels
