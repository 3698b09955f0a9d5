// Convolutions of quantized tensors: channels lie densest, and a result's place is a product of a row, the
// numbers under the kernel, with the weights.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/quantized.h"
#include "kernels/cpu/scratch.h"
#include "ops/quantized/packed_rows.h"
#include "ops/quantized/products.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

// Three spatial dimensions throughout; the first ones have size 1 where there are fewer.
using Sizes = std::array<int64_t, 3>;
int64_t product(const Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }
Sizes three(const std::vector<int64_t>& sizes, int64_t otherwise) {
  Sizes result{otherwise, otherwise, otherwise};
  std::copy(sizes.rbegin(), sizes.rend(), result.rbegin());
  return result;
}
std::vector<int64_t> spatial_sizes(const Tensor& x) { return {x.shape().begin() + 2, x.shape().end()}; }

// Channels lie densest, as in PyTorch's results of quantized convolutions.
Strides channels_last_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = strides[1] = 1;
  step = std::max<int64_t>(shape[1], 1);
  for (size_t d = shape.size(); d-- > 2;) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  strides[0] = step;
  return strides;
}

bool has_strides(const Tensor& x, const Strides& strides) {
  for (size_t d = 0; d < strides.size(); ++d)
    if (x.shape()[d] != 1 && x.strides()[d] != strides[d]) return false;
  return true;
}

// The bytes of x [batch, channels, places] as [batch, places, channels], with other `bits`.
void put_channels_last(const uint8_t* x, int64_t batch, int64_t channels, int64_t places, uint8_t bits,
                       uint8_t* to) {
  for (int64_t image = 0; image < batch; ++image, x += channels * places, to += channels * places)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t place = 0; place < places; ++place)
        to[place * channels + channel] = x[channel * places + place] ^ bits;
}

// Signed, channels last.
Tensor channels_last_integers(const Tensor& x) {
  if (has_strides(x, channels_last_strides(x.shape()))) return signed_integers(x);
  const Tensor integers = as_integers(x).contiguous(), result = Tensor::empty({x.numel()}, DType::I8);
  const int64_t rows = x.size(0) * x.size(1);
  put_channels_last(integers.data_as<uint8_t>(), x.size(0), x.size(1), rows == 0 ? 0 : x.numel() / rows,
                    x.dtype() == DType::QU8 ? 0x80 : 0, result.data_as<uint8_t>());
  return result;
}

// One call's sizes, and where x's numbers are.
struct Windows {
  Sizes in, kernel, stride, padding, dilation;
  int64_t all_channels;  // of x
  Sizes out{};
  const int8_t* x = nullptr;
  const int8_t* zeros = nullptr;  // all_channels numbers of the padding

  // x's channels at the kernel's places of one result: f(tap, count, channels) for `count` taps that lie side
  // by side, all of which are in the padding where `count` is 1 and so is one.
  template <class F>
  void for_each_run(int64_t row, F&& f) const {
    const int64_t image = row / product(out), place = row % product(out);
    const int64_t z = place / (out[1] * out[2]) * stride[0] - padding[0],
                  y = place / out[2] % out[1] * stride[1] - padding[1],
                  left = place % out[2] * stride[2] - padding[2];
    const bool is_whole = dilation[2] == 1 && left >= 0 && left + kernel[2] <= in[2];
    int64_t tap = 0;
    for (int64_t kz = 0; kz < kernel[0]; ++kz)
      for (int64_t ky = 0; ky < kernel[1]; ++ky) {
        const int64_t iz = z + kz * dilation[0], iy = y + ky * dilation[1];
        const bool inside = iz >= 0 && iz < in[0] && iy >= 0 && iy < in[1];
        const int8_t* const line = x + ((image * in[0] + iz) * in[1] + iy) * in[2] * all_channels;
        if (inside && is_whole) {
          f(tap, kernel[2], line + left * all_channels);
          tap += kernel[2];
          continue;
        }
        for (int64_t kx = 0; kx < kernel[2]; ++kx, ++tap) {
          const int64_t ix = left + kx * dilation[2];
          f(tap, int64_t{1}, inside && ix >= 0 && ix < in[2] ? line + ix * all_channels : zeros);
        }
      }
  }

  // Rows [taps][channels] of one group.
  void gather(int64_t first, int64_t count, int64_t first_channel, int64_t channels, int8_t* to) const {
    for (int64_t row = first; row < first + count; ++row, to += product(kernel) * channels)
      for_each_run(row, [&](int64_t tap, int64_t taps, const int8_t* from) {
        int8_t* at = to + tap * channels;
        if (channels == all_channels)
          return void(std::memcpy(at, from, static_cast<size_t>(taps * channels)));
        for (int64_t i = 0; i < taps; ++i, at += channels)
          std::memcpy(at, from + i * all_channels + first_channel, static_cast<size_t>(channels));
      });
  }
};

class AffineConv final : public AffineProduct {
 public:
  AffineConv(const Tensor& given, const Tensor& weight, const ConvSizes& sizes)
      : given_(given),
        groups_(sizes.groups),
        outputs_(weight.size(0)),
        channels_(weight.size(1)),
        rank_(weight.dim()),
        kernel_(three(spatial_sizes(weight), 1)),
        stride_(three(sizes.stride, 1)),
        padding_(three(sizes.padding, 0)),
        dilation_(three(sizes.dilation, 1)),
        rows_(rows_of(weight)),
        scales_(weight, outputs_, rows_.data_as<int8_t>(), depth()) {
    for (size_t d = 0; d < 3; ++d)
      if (stride_[d] < 1 || dilation_[d] < 1 || kernel_[d] < 1)
        fail_product("expected a stride, dilation and kernel of at least 1", Tensor(), given);
    const auto* const rows = rows_.data_as<int8_t>();
    if (is_depthwise()) {
      by_taps_.resize(static_cast<size_t>(outputs_ * taps()));
      for (int64_t i = 0; i < outputs_ * taps(); ++i)
        by_taps_[static_cast<size_t>(i % taps() * outputs_ + i / taps())] = rows[i];
    } else {
      for (int64_t group = 0; group < groups_; ++group)
        packed_.emplace_back(kernels::int8_kernels(), own(), depth(), rows + group * own() * depth(), nullptr,
                             nullptr);
    }
    rows_ = Tensor();
  }

  Tensor operator()(const Tensor& x, const Tensor& bias, const AffineFinish& finish) const override {
    check_affine_input(x, given_);
    if (x.dim() != rank_ || x.size(1) != channels_ * groups_)
      fail_product("expected x [batch, channels, …] and weight [outputs, channels / groups, …]", x, given_);
    Windows windows{.in = three(spatial_sizes(x), 1),
                    .kernel = kernel_,
                    .stride = stride_,
                    .padding = padding_,
                    .dilation = dilation_,
                    .all_channels = x.size(1)};
    for (size_t d = 0; d < 3; ++d) {
      const int64_t rest = windows.in[d] + 2 * padding_[d] - dilation_[d] * (kernel_[d] - 1) - 1;
      if (rest < 0) fail_product("the kernel is larger than the padded input", x, given_);
      windows.out[d] = rest / stride_[d] + 1;
    }
    Shape shape = x.shape();
    shape[1] = outputs_;
    for (size_t d = 2; d < shape.size(); ++d) shape[d] = windows.out[d + 3 - shape.size()];
    const SumsFinish finish_sums(scales_, x, bias, finish);
    const Tensor result = empty_result(shape, channels_last_strides(shape), finish);
    if (result.numel() == 0) return result;
    const Tensor integers = channels_last_integers(x);
    const std::vector<int8_t> zeros(static_cast<size_t>(x.size(1)),
                                    static_cast<int8_t>(finish_sums.zero_of_x()));
    windows.x = integers.data_as<int8_t>();
    windows.zeros = zeros.data();
    multiply(windows, x.size(0) * product(windows.out), finish_sums,
             {result.data_as<char>(), outputs_, itemsize(result.dtype())});
    return result;
  }

 private:
  int64_t taps() const { return product(kernel_); }
  int64_t own() const { return outputs_ / groups_; }
  int64_t depth() const { return channels_ * taps(); }
  bool is_depthwise() const { return channels_ == 1 && own() == 1 && groups_ > 1 && !scales_.has_zeros; }

  // [outputs][taps][channels]
  static Tensor rows_of(const Tensor& weight) {
    const Tensor integers = as_integers(weight).contiguous(), rows = Tensor::empty(weight.shape(), DType::I8);
    const int64_t pairs = weight.size(0) * weight.size(1);
    put_channels_last(integers.data_as<uint8_t>(), weight.size(0), weight.size(1),
                      pairs == 0 ? 0 : weight.numel() / pairs, 0, rows.data_as<uint8_t>());
    return rows;
  }

  void multiply(const Windows& windows, int64_t rows, const SumsFinish& finish, const RowsOfY& y) const {
    if (is_depthwise()) return multiply_depthwise(windows, rows, finish, y);
    // The numbers under a kernel of one place lie where rows are looked for.
    const bool in_place = taps() == 1 && product(stride_) == 1 && groups_ == 1 && padding_ == Sizes{};
    for (int64_t group = 0; group < groups_; ++group)
      multiply_rows(
          packed_[static_cast<size_t>(group)], depth(), rows,
          [&](int64_t first, int64_t count, int8_t* memory) -> const int8_t* {
            if (in_place) return windows.x + first * channels_;
            windows.gather(first, count, group * channels_, channels_, memory);
            return memory;
          },
          finish, group* own(), y);
  }

  void multiply_depthwise(const Windows& windows, int64_t rows, const SumsFinish& finish,
                          const RowsOfY& y) const {
    constexpr int64_t kRows = 16, kLeastProducts = 1 << 16;
    const int64_t products = std::max<int64_t>(1, kRows * taps() * outputs_);
    parallel_for(0, (rows + kRows - 1) / kRows, std::max<int64_t>(1, kLeastProducts / products),
                 [&](int64_t begin, int64_t end) {
                   thread_local kernels::Scratch scratch;
                   auto* const sums = reinterpret_cast<int32_t*>(scratch.floats(kRows * outputs_));
                   std::vector<const int8_t*> places(static_cast<size_t>(kRows * taps()));
                   for (int64_t first = begin * kRows; first < std::min(rows, end * kRows); first += kRows) {
                     const int64_t count = std::min(kRows, rows - first);
                     for (int64_t row = 0; row < count; ++row)
                       windows.for_each_run(first + row, [&](int64_t tap, int64_t some, const int8_t* from) {
                         for (int64_t i = 0; i < some; ++i, from += outputs_)
                           places[static_cast<size_t>(row * taps() + tap + i)] = from;
                       });
                     kernels::affine_kernels().multiply_depthwise(
                         {count, taps(), outputs_, places.data(), by_taps_.data(), sums});
                     finish(sums, count, outputs_, 0, nullptr,
                            static_cast<char*>(y.data) + first * y.stride * y.element, y.stride);
                   }
                 });
  }

  Tensor given_;  // named in errors
  int64_t groups_, outputs_, channels_, rank_;
  Sizes kernel_, stride_, padding_, dilation_;
  Tensor rows_;
  OutputScales scales_;
  std::vector<kernels::PackedInt8> packed_;  // by group
  std::vector<int16_t> by_taps_;             // [taps][outputs] where it is depthwise
};

// A transposed convolution as a plain one: x spread out by the stride, with zeros of its zero point between
// its elements and around them.
class TransposedConv final : public AffineProduct {
 public:
  TransposedConv(const Tensor& weight, const ConvSizes& sizes)
      : sizes_(sizes), kernel_(spatial_sizes(weight)), given_(weight) {
    ConvSizes plain{sizes.stride, sizes.padding, {}, sizes.dilation, sizes.groups};
    std::fill(plain.stride.begin(), plain.stride.end(), 1);
    std::fill(plain.padding.begin(), plain.padding.end(), 0);
    plain_ = std::make_unique<AffineConv>(weight, turned(weight, sizes.groups), plain);
  }

  Tensor operator()(const Tensor& x, const Tensor& bias, const AffineFinish& finish) const override {
    check_affine_input(x, given_);
    if (x.dim() != given_.dim() || x.size(1) != given_.size(0))
      fail_product("expected x [batch, channels, …] and weight [channels, outputs / groups, …]", x, given_);
    return (*plain_)(spread(x), bias, finish);
  }

 private:
  // x among its zero points.
  Tensor spread(const Tensor& x) const {
    Shape shape = x.shape();
    const size_t spatial = kernel_.size();
    std::vector<int64_t> before(spatial);
    for (size_t d = 0; d < spatial; ++d) {
      const int64_t reach = sizes_.dilation[d] * (kernel_[d] - 1);
      before[d] = reach - sizes_.padding[d];
      shape[d + 2] = (x.shape()[d + 2] - 1) * sizes_.stride[d] + 1 + 2 * before[d] + sizes_.output_padding[d];
      if (shape[d + 2] < reach + 1) fail_product("the result would be empty", x, given_);
    }
    const Tensor integers = as_integers(x).contiguous();
    const auto zero = static_cast<int64_t>(x.quantizer()->zero_points[0]);
    const Tensor among = Tensor::full(shape, Scalar(zero), integers.dtype());
    const int64_t planes = x.size(0) * x.size(1);
    const int64_t from_plane = planes == 0 ? 0 : x.numel() / planes,
                  to_plane = planes == 0 ? 0 : among.numel() / planes;
    for (int64_t i = 0; i < from_plane; ++i) {
      int64_t rest = i, at = 0, step = 1;
      bool inside = true;
      for (size_t d = spatial; d-- > 0;) {
        const int64_t place = before[d] + rest % x.shape()[d + 2] * sizes_.stride[d];
        rest /= x.shape()[d + 2];
        inside &= place >= 0 && place < shape[d + 2];
        at += place * step;
        step *= shape[d + 2];
      }
      if (!inside) continue;  // cut off by the padding
      for (int64_t plane = 0; plane < planes; ++plane)
        among.data_as<char>()[plane * to_plane + at] = integers.data_as<char>()[plane * from_plane + i];
    }
    return of_integers(among, x.dtype(), x.quantizer());
  }

  // The kernel turned round, its inputs and outputs exchanged within each group.
  static Tensor turned(const Tensor& weight, int64_t groups) {
    const Tensor kernel = as_integers(weight).contiguous();
    const int64_t inputs = weight.size(0), own = weight.size(1), group_inputs = inputs / groups;
    Shape shape = weight.shape();
    shape[0] = own * groups;
    shape[1] = group_inputs;
    const Tensor result = Tensor::empty(shape, DType::I8);
    const int64_t taps = inputs * own == 0 ? 0 : weight.numel() / (inputs * own);
    for (int64_t input = 0; input < inputs; ++input)
      for (int64_t output = 0; output < own; ++output)
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t row = input / group_inputs * own + output;
          result.data_as<int8_t>()[(row * group_inputs + input % group_inputs) * taps + (taps - 1 - tap)] =
              kernel.data_as<int8_t>()[(input * own + output) * taps + tap];
        }
    return of_integers(result, DType::QI8, weight.quantizer());
  }

  ConvSizes sizes_;
  std::vector<int64_t> kernel_;
  Tensor given_;
  std::unique_ptr<const AffineConv> plain_;
};

}  // namespace

std::shared_ptr<const AffineProduct> pack_affine_conv(const Tensor& weight, const ConvSizes& sizes) {
  check_affine_weight(weight);
  const auto spatial = static_cast<size_t>(weight.dim() - 2);
  if ((spatial != 2 && spatial != 3) || sizes.groups < 1 || weight.size(0) % sizes.groups != 0)
    fail_product("expected a weight of two or three spatial dimensions, whose first one groups divide",
                 Tensor(), weight);
  for (const auto* each : {&sizes.stride, &sizes.padding, &sizes.dilation})
    if (each->size() != spatial)
      fail_product("expected a number for each spatial dimension", Tensor(), weight);
  if (!sizes.is_transposed) return std::make_shared<AffineConv>(weight, weight, sizes);
  if (sizes.output_padding.size() != spatial)
    fail_product("expected a number for each spatial dimension", Tensor(), weight);
  return std::make_shared<TransposedConv>(weight, sizes);
}

}  // namespace weft::ops
