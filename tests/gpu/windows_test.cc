// Pooling, columns of windows, padding, images of other sizes and regions of them, convolutions of volumes:
// each side of where windows reach beyond an edge.
#include "gpu/same_call.h"

namespace weft {
namespace {

using gpu_testing::bound_of;
using gpu_testing::error_of;
using gpu_testing::expect_near;
using gpu_testing::expect_same;
using gpu_testing::HasSubstr;
using gpu_testing::kThere;
using gpu_testing::sample;
using ops::Attrs;

SymShape list(const Shape& values) {
  SymShape result;
  for (const int64_t value : values) result.push_back(Sym(value));
  return result;
}

const DType kFloating[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

struct PoolCase {
  Shape shape, kernel, stride, padding, dilation;
  bool ceil_mode;
};

// With NaN among the elements, and equal ones.
Tensor with_nan(const Tensor& x) {
  const Tensor values = Tensor::of(std::vector<double>{std::nan(""), 2, 2, -1});
  const Tensor result = x.clone();
  if (is_floating(x.dtype()) && x.numel() >= 40) result.as_strided({4}, {9}, 3).copy_from(values);
  return result;
}

TEST(WindowsOnGpu, PoolAsTheHost) {
  const PoolCase cases[] = {
      {{2, 3, 8, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
      {{2, 3, 8, 9}, {3, 2}, {2, 3}, {1, 0}, {1, 1}, true},
      {{2, 3, 8, 9}, {2, 2}, {}, {0, 0}, {2, 3}, false},
      {{1, 2, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, false},
      {{3, 2, 3}, {2, 2}, {1, 1}, {1, 1}, {3, 3}, true},
      {{1, 1, 70, 80}, {7, 5}, {1, 1}, {3, 2}, {1, 1}, false},
  };
  for (const PoolCase& c : cases) {
    for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::I8, DType::U8, DType::I64}) {
      SCOPED_TRACE(weft::str(c.shape) + " " + std::string(name(dtype)));
      const Tensor x = with_nan(sample(c.shape, dtype));
      const Attrs attrs{{"kernel_size", list(c.kernel)},
                        {"stride", list(c.stride)},
                        {"padding", list(c.padding)},
                        {"dilation", list(c.dilation)},
                        {"ceil_mode", c.ceil_mode}};
      expect_same("max_pool2d", {x}, attrs, 0);
      expect_same("max_pool2d_with_indices", {x}, attrs, 0);
      if (!is_floating(dtype)) continue;
      for (bool counts : {false, true}) {
        const Attrs mean{{"kernel_size", list(c.kernel)},
                         {"stride", list(c.stride)},
                         {"padding", list(c.padding)},
                         {"ceil_mode", c.ceil_mode},
                         {"count_include_pad", counts}};
        expect_same("avg_pool2d", {x}, mean, 0);
      }
    }
  }
  // All of a plane, which is a reduction, and all but a column of it.
  for (DType dtype : kFloating)
    for (int64_t width : {8, 7}) {
      const Tensor x = sample({2, 3, 9, 8}, dtype);
      expect_same("avg_pool2d", {x}, {{"kernel_size", list({9, width})}}, bound_of(dtype));
      expect_same("avg_pool2d", {x}, {{"kernel_size", list({9, width})}, {"divisor_override", Sym(5)}},
                  bound_of(dtype));
      expect_same("adaptive_avg_pool2d", {x}, {{"output_size", list({1, 1})}}, bound_of(dtype));
    }
  EXPECT_THAT(error_of([] {
                ops::call1("avg_pool2d", {sample({1, 4, 4}, DType::F32).to(kThere)},
                           {{"kernel_size", list({2})}, {"divisor_override", Sym(0)}});
              }),
              HasSubstr("divisor_override must not be zero"));
}

TEST(WindowsOnGpu, PoolOtherRanksAndNumbers) {
  const Tensor line = sample({2, 3, 31}, DType::F32), volume = with_nan(sample({2, 2, 5, 6, 7}, DType::F32));
  for (int64_t count : {1, 3, 31, 40}) {
    expect_same("adaptive_avg_pool1d", {line}, {{"output_size", list({count})}}, 1e-5);
    expect_same("adaptive_max_pool1d_with_indices", {line}, {{"output_size", list({count})}}, 0);
  }
  expect_same("adaptive_max_pool3d_with_indices", {volume}, {{"output_size", list({2, 6, 3})}}, 0);
  expect_same("adaptive_avg_pool3d", {volume}, {{"output_size", list({2, 6, 3})}}, 0);
  expect_same("max_pool3d", {volume}, {{"kernel_size", list({3, 2, 2})}, {"padding", list({1, 0, 1})}}, 0);
  expect_same("avg_pool3d", {volume}, {{"kernel_size", list({2, 3, 2})}, {"stride", list({1, 2, 2})}}, 0);
  // Channels that lie side by side.
  const Tensor image = sample({2, 9, 8, 3}, DType::F32);
  const Tensor last = image.as_strided({2, 3, 9, 8}, {216, 1, 24, 3}, 0);
  expect_same("max_pool2d", {last}, {{"kernel_size", list({2})}}, 0);
  expect_same("avg_pool2d", {last}, {{"kernel_size", list({2})}}, 1e-6);
}

TEST(WindowsOnGpu, AreUnpooledAndFolded) {
  const Tensor x = sample({2, 3, 8, 9}, DType::F32);
  const std::vector<Tensor> pooled = ops::call(ops::get_op("max_pool2d_with_indices"),
                                               {{x}, {{"kernel_size", list({3})}, {"stride", list({2})}}});
  expect_same("max_unpool2d", {pooled[0], pooled[1]},
              {{"kernel_size", list({3})}, {"stride", list({2})}, {"output_size", list({8, 9})}}, 0);
  for (int64_t stride : {1, 2, 3})
    for (int64_t padding : {0, 1})
      for (int64_t dilation : {1, 2}) {
        const Attrs attrs{{"kernel_size", list({3, 2})},
                          {"stride", list({stride})},
                          {"padding", list({padding})},
                          {"dilation", list({dilation, 1})}};
        for (DType dtype : {DType::F32, DType::I8, DType::C128})
          expect_same("im2col", {sample({2, 3, 8, 9}, dtype)}, attrs, 0);
        const Tensor columns = ops::call1("im2col", {x}, attrs);
        Attrs back = attrs;
        back.set("output_size", list({8, 9}));
        for (DType dtype : kFloating) expect_same("col2im", {columns.to(dtype)}, back, bound_of(dtype));
      }
}

TEST(WindowsOnGpu, PadAsTheHost) {
  const Shape shape{2, 3, 4, 5, 6};
  for (const char* mode : {"constant", "reflect", "replicate", "circular"})
    for (const auto& pad :
         {list({2, 1}), list({-2, 3}), list({3, -1, 1, 2}), list({-1, -1, 2, -3}), list({0, 0, 1, 0, 2, 1})})
      for (DType dtype : {DType::F32, DType::Bool, DType::C128, DType::F16}) {
        const Shape last(shape.end() - static_cast<std::ptrdiff_t>(pad.size() / 2 + 2), shape.end());
        expect_same("pad", {sample(last, dtype)}, {{"pad", pad}, {"mode", std::string(mode)}}, 0);
      }
  expect_same("pad", {sample({3, 4}, DType::F32)}, {{"pad", list({-5, 7, 1, 1})}, {"value", Scalar(2.5)}}, 0);
  expect_same("pad", {sample(shape, DType::C64)}, {{"pad", list({1, 2})}, {"value", Scalar(2.5)}}, 0);
}

TEST(ResamplingOnGpu, ResizesAsTheHost) {
  struct Case {
    const char* mode;
    Shape shape;
    std::vector<Shape> sizes;
  };
  const Case cases[] = {{"bicubic", {2, 3, 8, 9}, {{8, 9}, {5, 12}, {1, 1}, {17, 3}}},
                        {"bilinear", {2, 3, 8, 9}, {{8, 9}, {5, 12}, {1, 1}, {17, 3}}},
                        {"trilinear", {1, 2, 4, 5, 6}, {{4, 5, 6}, {7, 3, 6}, {1, 9, 2}}},
                        {"nearest", {1, 2, 4, 5, 6}, {{7, 3, 6}}},
                        {"nearest-exact", {1, 2, 4, 5, 6}, {{7, 3, 6}}}};
  for (const Case& c : cases) {
    const bool is_nearest = std::string_view(c.mode).starts_with("nearest");
    for (const auto& size : c.sizes)
      for (DType dtype : kFloating)
        for (bool aligned : {false, true})
          for (bool antialias : {false, true}) {
            if ((antialias && c.shape.size() != 4) || (is_nearest && (aligned || antialias))) continue;
            SCOPED_TRACE(fmt::format("{} {} {} {}", c.mode, weft::str(list(size)), aligned, antialias));
            expect_same("upsample", {sample(c.shape, dtype)},
                        {{"size", list(size)},
                         {"mode", std::string(c.mode)},
                         {"align_corners", aligned},
                         {"antialias", antialias}},
                        is_nearest ? 0 : bound_of(dtype));
          }
  }
  expect_same("upsample", {sample({1, 2, 8, 9}, DType::F32)},
              {{"size", list({12, 13})},
               {"mode", std::string("bicubic")},
               {"scale_height", 1.5},
               {"scale_width", 1.5}},
              1e-5);
}

TEST(ResamplingOnGpu, SamplesAtGridsAsTheHost) {
  for (const char* mode : {"bilinear", "nearest", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (bool aligned : {false, true})
        for (DType dtype : kFloating) {
          Tensor grid = sample({2, 5, 7, 2}, DType::F64, 3);  // from about -3 to 3
          grid.as_strided({2}, {1}, 4).copy_from(Tensor::of(std::vector<double>{std::nan(""), 1e30}));
          const Attrs attrs{{"mode", std::string(mode)},
                            {"padding_mode", std::string(padding)},
                            {"align_corners", aligned}};
          SCOPED_TRACE(fmt::format("{} {} {} {}", mode, padding, aligned, name(dtype)));
          const Tensor input = sample({2, 3, 8, 9}, dtype), places = grid.to(dtype);
          if (itemsize(dtype) > 2) {
            expect_same("grid_sample", {input, places}, attrs, bound_of(dtype), 10);
            continue;
          }
          // Positions and weights of 16 bits are computed in float32 there, and in their own dtype here, as
          // PyTorch's are.
          const ops::OpDef& op = ops::get_op("grid_sample");
          const Tensor want =
              ops::call(op, {{input.to(DType::F32), places.to(DType::F32)}, attrs})[0].to(dtype);
          expect_near("grid_sample", ops::call(op, {{input.to(kThere), places.to(kThere)}, attrs})[0], want,
                      bound_of(dtype), 10);
        }
  expect_same("grid_sample", {sample({1, 2, 4, 5, 6}, DType::F32), sample({1, 3, 2, 4, 3}, DType::F32, 2)},
              {}, 1e-5, 10);
}

TEST(ResamplingOnGpu, PoolsRegionsAsTheHost) {
  const Tensor boxes = Tensor::of(
      std::vector<double>{0, 1, 1, 6, 5, 1, -2, 2.5, 7.25, 20, 0, 3, 3, 3, 3, 1, 5, 5, 2, 2}, {4, 5});
  for (DType dtype : kFloating) {
    const Tensor x = sample({2, 3, 8, 9}, dtype);
    for (int64_t ratio : {-1, 2})
      for (bool aligned : {false, true})
        expect_same("roi_align", {x, boxes.to(dtype)},
                    {{"output_size", list({2, 3})},
                     {"spatial_scale", 0.75},
                     {"sampling_ratio", Sym(ratio)},
                     {"aligned", aligned}},
                    bound_of(dtype));
    expect_same("roi_pool", {x, boxes.to(dtype)}, {{"output_size", list({2, 3})}, {"spatial_scale", 0.5}}, 0);
  }
  const Tensor beyond = Tensor::of(std::vector<double>{2, 1, 1, 6, 5}, {1, 5}).to(DType::F32).to(kThere);
  EXPECT_THAT(error_of([&] {
                ops::call1("roi_align", {sample({2, 3, 8, 9}, DType::F32).to(kThere), beyond},
                           {{"output_size", list({2, 3})}})
                    .to(Device());
              }),
              HasSubstr("expected images from 0 to 1"));
}

TEST(ConvolutionsOnGpu, OfVolumesEqualTheHost) {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (int64_t groups : {1, 2})
      for (bool transposed : {false, true})
        for (const auto& [stride, padding, dilation] :
             {std::tuple{list({1, 1, 1}), list({0, 0, 0}), list({1, 1, 1})},
              std::tuple{list({2, 1, 2}), list({1, 0, 1}), list({1, 1, 1})},
              std::tuple{list({1, 2, 1}), list({3, 1, 0}), list({2, 1, 1})},
              std::tuple{list({3, 1, 1}), list({2, 0, 1}), list({1, 2, 1})}}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", groups, transposed, weft::str(stride), weft::str(padding)));
          const Tensor x = sample({2, 4, 5, 6, 7}, dtype);
          const Tensor weight =
              sample(transposed ? Shape{4, 6 / groups, 3, 2, 2} : Shape{6, 4 / groups, 3, 2, 2}, dtype, 2);
          const Attrs attrs{{"stride", stride},
                            {"padding", padding},
                            {"dilation", dilation},
                            {"groups", Sym(groups)},
                            {"transposed", transposed}};
          expect_same("convolution", {x, weight, sample({6}, dtype, 3)}, attrs, bound_of(dtype), 20);
          expect_same("convolution", {x.as_strided({4, 5, 6, 7}, {210, 42, 7, 1}, 0), weight, Tensor()},
                      attrs, bound_of(dtype), 20);
        }
}

}  // namespace
}  // namespace weft
