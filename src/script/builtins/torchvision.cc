// torchvision's operators, as its models' archives call them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "script/builtins/aten.h"

namespace weft::jit::aten::vision {
namespace {

Tensor in_shape(const Tensor& x, const Ints& shape) {
  return call(op<"reshape">(), {x}, {{"shape", sizes(shape)}});
}
Tensor counting(int64_t n) { return call(op<"arange">(), {}, {{"start", Scalar(n)}}); }

// The elements' places are for gradients.
Tensor no_places(const Tensor& pooled) { return Tensor::full(pooled.shape(), Scalar(-1), DType::I32); }

// Of pooled[K, C * height * width, height, width] each bin's own channels.
Tensor of_own_channels(const char* name, const Tensor& pooled, int64_t height, int64_t width) {
  WEFT_CHECK(height > 0 && width > 0,
             fmt::format("{}: expected a positive size of the result, got {} and {}", name, height, width));
  const int64_t bins = height * width, channels = pooled.size(1) / bins;
  WEFT_CHECK(
      channels * bins == pooled.size(1),
      fmt::format("{}: expected channels divisible by {} * {}, got {}", name, height, width, pooled.size(1)));
  const Tensor split = in_shape(pooled, {pooled.size(0), channels, bins, bins});
  const Tensor own =
      call(op<"diagonal">(), {split}, {{"offset", number(0)}, {"dim1", number(2)}, {"dim2", number(3)}});
  return in_shape(own, {pooled.size(0), channels, height, width});
}

// Means over bins of regions, each bin of its own channels: Dai et al., R-FCN (2016).
template <class T>
void ps_roi_pool_into(const Tensor& input, const Tensor& rois, double scale, int64_t height, int64_t width,
                      T* result) {
  const int64_t channels = input.size(1), rows = input.size(2), columns = input.size(3),
                outputs = channels / (height * width);
  const T* elements = input.data_as<T>();
  const T* regions = rois.data_as<T>();
  const auto bound = [](T at, int64_t size) {
    return std::min(std::max(static_cast<int64_t>(at), int64_t{0}), size);
  };
  for (int64_t n = 0; n < rois.size(0); ++n, regions += 5) {
    const auto image = static_cast<int64_t>(regions[0]);
    WEFT_CHECK_INDEX(image >= 0 && image < input.size(0),
                     fmt::format("ps_roi_pool: there is no image {}", image));
    const auto scaled = [&](int i) { return static_cast<T>(std::round(regions[i] * static_cast<T>(scale))); };
    const T left = scaled(1), top = scaled(2), right = scaled(3), bottom = scaled(4);
    const T bin_height = std::max(bottom - top, T(1)) / static_cast<T>(height);
    const T bin_width = std::max(right - left, T(1)) / static_cast<T>(width);
    for (int64_t c = 0; c < outputs; ++c)
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {
          const int64_t first_row = bound(std::floor(static_cast<T>(i) * bin_height) + top, rows);
          const int64_t last_row = bound(std::ceil(static_cast<T>(i + 1) * bin_height) + top, rows);
          const int64_t first = bound(std::floor(static_cast<T>(j) * bin_width) + left, columns);
          const int64_t last = bound(std::ceil(static_cast<T>(j + 1) * bin_width) + left, columns);
          const T* plane = elements + (image * channels + (c * height + i) * width + j) * rows * columns;
          T sum = 0;
          for (int64_t y = first_row; y < last_row; ++y)
            for (int64_t x = first; x < last; ++x) sum += plane[y * columns + x];
          const int64_t area = (last_row - first_row) * (last - first);
          *result++ = last_row <= first_row || last <= first ? T(0) : sum / static_cast<T>(area);
        }
  }
}
Tensor ps_roi_pool(const Tensor& input, const Tensor& rois, double scale, int64_t height, int64_t width) {
  constexpr int64_t kMost = int64_t{1} << 31;
  WEFT_CHECK(
      height > 0 && width > 0 && height < kMost && width < kMost,
      fmt::format("ps_roi_pool: expected a positive size of the result, got {} and {}", height, width));
  WEFT_CHECK(
      input.dim() == 4 && rois.dim() == 2 && rois.size(1) == 5 && input.size(1) % (height * width) == 0,
      fmt::format("ps_roi_pool: expected input [N, C * {} * {}, H, W] and rois [K, 5], got {} and {}", height,
                  width, describe(input), describe(rois)));
  WEFT_CHECK_TYPE(
      input.dtype() == rois.dtype() && (input.dtype() == DType::F32 || input.dtype() == DType::F64),
      "ps_roi_pool: expected float32 or float64, got " + describe(input));
  const Tensor result =
      Tensor::empty({rois.size(0), input.size(1) / (height * width), height, width}, input.dtype());
  if (input.dtype() == DType::F32)
    ps_roi_pool_into(input.contiguous(), rois.contiguous(), scale, height, width, result.data_as<float>());
  else
    ps_roi_pool_into(input.contiguous(), rois.contiguous(), scale, height, width, result.data_as<double>());
  return result;
}

struct Deformation {
  Ints stride, padding, dilation;
  int64_t groups, offset_groups;
};

// Each element of a window is read at an offset (y, x) from its place, and scaled by the mask: Zhu et al.
// (2018).
Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                     const Tensor& bias, const Deformation& how) {
  WEFT_CHECK(input.dim() == 4 && weight.dim() == 4,
             fmt::format("deform_conv2d: expected input and weight of 4 dimensions, got {} and {}",
                         describe(input), describe(weight)));
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 0; d < 2; ++d)
    WEFT_CHECK(
        how.stride[d] > 0 && how.stride[d] < kMost && how.padding[d] >= 0 && how.padding[d] < kMost &&
            how.dilation[d] > 0 && how.dilation[d] < kMost,
        fmt::format("deform_conv2d: expected positive strides and dilations and paddings of at least 0, "
                    "below {}, got {}, {} and {}",
                    kMost, how.stride[d], how.dilation[d], how.padding[d]));
  WEFT_CHECK(how.offset_groups > 0 && how.offset_groups <= std::max<int64_t>(input.size(1), 1) &&
                 weight.size(1) > 0 && input.size(1) % weight.size(1) == 0 && input.size(1) > 0 &&
                 weight.size(2) > 0 && weight.size(3) > 0,
             fmt::format("deform_conv2d: {} offset groups and a weight {} do not fit an input {}",
                         how.offset_groups, describe(weight), describe(input)));
  const int64_t batch = input.size(0), channels = input.size(1), rows = input.size(2),
                columns = input.size(3);
  const int64_t outputs = weight.size(0), kh = weight.size(2), kw = weight.size(3),
                groups = how.offset_groups;
  const auto positions = [&](int64_t size, int64_t kernel, size_t d) {
    return (size + 2 * how.padding[d] - (how.dilation[d] * (kernel - 1) + 1)) / how.stride[d] + 1;
  };
  const int64_t oh = positions(rows, kh, 0), ow = positions(columns, kw, 1);
  const Tensor moved = in_shape(offset, {batch, groups, kh * kw, 2, oh, ow});
  // Where the elements of the windows are, before they are moved.
  const auto places = [&](size_t d, int64_t count, int64_t kernel, const Ints& across, const Ints& taps) {
    const Tensor steps = add(mul(counting(count), Scalar(how.stride[d])), Scalar(-how.padding[d]));
    const Tensor tap = call(op<"expand">(), {in_shape(mul(counting(kernel), Scalar(how.dilation[d])), taps)},
                            {{"shape", sizes(Ints{kh, kw})}});
    return cast(add(in_shape(steps, across), in_shape(tap, {1, 1, kh * kw, 1, 1})), input.dtype());
  };
  const auto component = [&](int64_t i) {
    return call(op<"select">(), {moved}, {{"dim", number(3)}, {"index", number(i)}});
  };
  const Tensor y = add(component(0), places(0, oh, kh, {1, 1, 1, oh, 1}, {kh, 1}));
  const Tensor x = add(component(1), places(1, ow, kw, {1, 1, 1, 1, ow}, {1, kw}));
  const auto in_grid = [](const Tensor& at, int64_t size) {
    return add(mul(add(mul(at, Scalar(2.0)), Scalar(1.0)), Scalar(1.0 / static_cast<double>(size))),
               Scalar(-1.0));
  };
  // grid_sample reads zeros outside, as a convolution does.
  Tensor grid = call(op<"stack">(), {in_grid(x, columns), in_grid(y, rows)}, {{"dim", number(-1)}});
  grid = in_shape(grid, {batch * groups, kh * kw * oh, ow, 2});
  const Tensor planes = in_shape(input, {batch * groups, channels / groups, rows, columns});
  Tensor read = call(
      op<"grid_sample">(), {planes, grid},
      {{"mode", std::string("bilinear")}, {"padding_mode", std::string("zeros")}, {"align_corners", false}});
  read = in_shape(read, {batch, groups, channels / groups, kh * kw, oh, ow});
  if (mask.defined()) read = mul(read, in_shape(mask, {batch, groups, 1, kh * kw, oh, ow}));
  const int64_t inner = weight.size(1), parts = channels / inner;
  const Tensor gathered = in_shape(read, {batch, parts, inner * kh * kw, oh * ow});
  const Tensor result =
      in_shape(matmul(in_shape(weight, {1, parts, outputs / parts, inner * kh * kw}), gathered),
               {batch, outputs, oh, ow});
  return add(result, in_shape(bias, {1, -1, 1, 1}));
}

[[maybe_unused]] const bool kTorchvision = [] {
  builtin("torchvision::_cuda_version() -> int", [] { return int64_t{-1}; });  // as torchvision without CUDA
  builtin("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
          [](const Tensor& boxes, const Tensor& scores, double threshold) {
            return call(op<"nms">(), {boxes, scores}, {{"iou_threshold", threshold}});
          });
  builtin(
      "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
      "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
      [](const Tensor& x, const Tensor& rois, double scale, int64_t height, int64_t width, int64_t ratio,
         bool aligned) {
        return call(op<"roi_align">(), {x, rois},
                    {{"output_size", sizes(Ints{height, width})},
                     {"spatial_scale", scale},
                     {"sampling_ratio", number(ratio)},
                     {"aligned", aligned}});
      });
  builtin(
      "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
      "pooled_width) -> (Tensor, Tensor)",
      [](const Tensor& x, const Tensor& rois, double scale, int64_t height, int64_t width) {
        Tensor pooled = call(op<"roi_pool">(), {x, rois},
                             {{"output_size", sizes(Ints{height, width})}, {"spatial_scale", scale}});
        Tensor places = no_places(pooled);
        return std::tuple(std::move(pooled), std::move(places));
      });
  builtin(
      "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
      "pooled_width, "
      "int sampling_ratio) -> (Tensor, Tensor)",
      [](const Tensor& x, const Tensor& rois, double scale, int64_t height, int64_t width, int64_t ratio) {
        const Tensor aligned = call(op<"roi_align">(), {x, rois},
                                    {{"output_size", sizes(Ints{height, width})},
                                     {"spatial_scale", scale},
                                     {"sampling_ratio", number(ratio)},
                                     {"aligned", true}});
        Tensor own = of_own_channels("ps_roi_align", aligned, height, width);
        return std::tuple(own, no_places(own));
      });
  builtin(
      "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
      "pooled_width) -> "
      "(Tensor, Tensor)",
      [](const Tensor& x, const Tensor& rois, double scale, int64_t height, int64_t width) {
        Tensor pooled = ps_roi_pool(x, rois, scale, height, width);
        return std::tuple(pooled, no_places(pooled));
      });
  builtin(
      "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int "
      "stride_h, "
      "int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, "
      "bool "
      "use_mask) -> Tensor",
      [](const Tensor& x, const Tensor& weight, const Tensor& offset, const Tensor& mask, const Tensor& bias,
         int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
         int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
        const Deformation deformation{
            {stride_h, stride_w}, {pad_h, pad_w}, {dilation_h, dilation_w}, groups, offset_groups};
        return deform_conv2d(x, weight, offset, use_mask ? mask : Tensor(), bias, deformation);
      });
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten::vision
