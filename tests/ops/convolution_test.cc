// Convolutions against the sum that defines them, in float64.
#include <gmock/gmock.h>

#include <array>

#include "harness.h"

namespace weft::ops {
namespace {

using harness::sample;
using testing_support::error_of;

struct Case {
  size_t dims = 2;
  int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  std::array<int64_t, 3> input{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1}, output_padding{0, 0, 0};
  bool transposed = false, bias = true;

  std::string text() const {
    std::string result = transposed ? "transposed " : "";
    result += std::to_string(dims) + "d n=" + std::to_string(batch) + " c=" + std::to_string(in_channels) +
              " out=" + std::to_string(out_channels) + " groups=" + std::to_string(groups);
    for (size_t d = 3 - dims; d < 3; ++d) {
      result += " [size " + std::to_string(input[d]) + " kernel " + std::to_string(kernel[d]) + " stride " +
                std::to_string(stride[d]) + " padding " + std::to_string(padding[d]) + " dilation " +
                std::to_string(dilation[d]) + "]";
    }
    return result;
  }
};

// The output positions o and input positions i that kernel element k joins: o + padding == i * stride + k *
// dilation for the transposed kind, with o and i exchanged for the other.
template <class F>
void for_each_product(const Case& c, const Shape& out, const F& body) {
  const auto size = [&](const Shape& s, size_t d) {
    return d < 3 - c.dims ? int64_t{1} : s[2 + d - (3 - c.dims)];
  };
  std::array<int64_t, 3> o{}, i{}, k{};
  const std::array<int64_t, 3>& wide = c.transposed ? o : i;
  const std::array<int64_t, 3>& narrow = c.transposed ? i : o;
  const auto joined = [&](size_t d) {
    return wide[d] + c.padding[d] == narrow[d] * c.stride[d] + k[d] * c.dilation[d];
  };
  for (o[0] = 0; o[0] < size(out, 0); ++o[0])
    for (i[0] = 0; i[0] < c.input[0]; ++i[0])
      for (k[0] = 0; k[0] < c.kernel[0]; ++k[0])
        if (joined(0))
          for (o[1] = 0; o[1] < size(out, 1); ++o[1])
            for (i[1] = 0; i[1] < c.input[1]; ++i[1])
              for (k[1] = 0; k[1] < c.kernel[1]; ++k[1])
                if (joined(1))
                  for (o[2] = 0; o[2] < size(out, 2); ++o[2])
                    for (i[2] = 0; i[2] < c.input[2]; ++i[2])
                      for (k[2] = 0; k[2] < c.kernel[2]; ++k[2])
                        if (joined(2)) body(o, i, k);
}

int64_t flat(const std::array<int64_t, 3>& position, const std::array<int64_t, 3>& size) {
  return (position[0] * size[1] + position[1]) * size[2] + position[2];
}

// The result in float64, and the sums of the products' absolute values.
std::pair<std::vector<double>, std::vector<double>> reference(const Case& c, const Tensor& x, const Tensor& w,
                                                              const Tensor& bias, const Shape& out) {
  std::array<int64_t, 3> size{1, 1, 1};
  for (size_t d = 0; d < c.dims; ++d) size[3 - c.dims + d] = out[2 + d];
  const int64_t plane = size[0] * size[1] * size[2], in_plane = c.input[0] * c.input[1] * c.input[2];
  const int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  const int64_t in_group = c.in_channels / c.groups, out_group = c.out_channels / c.groups;
  std::vector<double> sums(static_cast<size_t>(numel(out))), magnitudes(sums.size());
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t m = 0; m < c.out_channels; ++m)
      for (int64_t j = 0; j < in_group; ++j) {
        const int64_t channel = m / out_group * in_group + j;
        const int64_t weight = c.transposed ? channel * out_group + m % out_group : m * in_group + j;
        for_each_product(c, out, [&](const auto& o, const auto& i, const auto& k) {
          const double product = x.at((n * c.in_channels + channel) * in_plane + flat(i, c.input)) *
                                 w.at(weight * taps + flat(k, c.kernel));
          const auto at = static_cast<size_t>((n * c.out_channels + m) * plane + flat(o, size));
          sums[at] += product;
          magnitudes[at] += std::abs(product);
        });
      }
  if (bias.defined()) {
    for (size_t at = 0; at < sums.size(); ++at) {
      const double shift = bias.at(static_cast<int64_t>(at) / plane % c.out_channels);
      sums[at] += shift, magnitudes[at] += std::abs(shift);
    }
  }
  return {sums, magnitudes};
}

Shape shape_of(const Case& c, int64_t first, int64_t second, const std::array<int64_t, 3>& sizes) {
  Shape shape{first, second};
  shape.insert(shape.end(), sizes.begin() + static_cast<long>(3 - c.dims), sizes.end());
  return shape;
}

Attr list(const Case& c, const std::array<int64_t, 3>& values) {
  return SymShape(values.begin() + static_cast<long>(3 - c.dims), values.end());
}

std::string name_of(const Case& c) {
  return (c.transposed ? "conv_transpose" : "conv") + std::to_string(c.dims) + "d";
}

Attrs attrs_of(const Case& c) {
  Attrs attrs{{"stride", list(c, c.stride)},
              {"padding", list(c, c.padding)},
              {"dilation", list(c, c.dilation)},
              {"groups", Sym(c.groups)}};
  if (c.transposed) attrs.set("output_padding", list(c, c.output_padding));
  return attrs;
}

// |got - wanted| <= (number of products + 2) * eps * sum of |products|, and half a unit of a 16-bit result.
void check(const Case& c, DType dtype, unsigned seed, harness::Layout layout = harness::Layout::Contiguous) {
  SCOPED_TRACE(c.text() + " " + std::string(name(dtype)) + " " + harness::layout_name(layout));
  const Tensor x =
      with_layout(sample(shape_of(c, c.batch, c.in_channels, c.input), dtype, -2, 2, seed), layout);
  const Shape weight_shape = c.transposed ? shape_of(c, c.in_channels, c.out_channels / c.groups, c.kernel)
                                          : shape_of(c, c.out_channels, c.in_channels / c.groups, c.kernel);
  const Tensor w = sample(weight_shape, dtype, -1, 1, seed + 1);
  const Tensor bias = c.bias ? sample({c.out_channels}, dtype, -1, 1, seed + 2) : Tensor();
  const Tensor y = call1(name_of(c), {x, w, bias}, attrs_of(c));
  ASSERT_EQ(y.dtype(), dtype);
  const auto [sums, magnitudes] = reference(c, x, w, bias, y.shape());
  const double terms =
      static_cast<double>(c.in_channels / c.groups * c.kernel[0] * c.kernel[1] * c.kernel[2]) + 2;
  const double eps = dtype == DType::F64 ? 0x1p-53 : 0x1p-24;
  const double result_eps = dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : 0;
  for (int64_t i = 0; i < y.numel(); ++i) {
    const auto at = static_cast<size_t>(i);
    ASSERT_NEAR(y.at(i), sums[at],
                terms * eps * magnitudes[at] + result_eps * std::abs(sums[at]) + 1e-7 * (result_eps > 0))
        << "element " << i;
  }
}

int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Case random_case(std::mt19937& random) {
  Case c;
  c.dims = static_cast<size_t>(pick(random, 1, 3));
  c.transposed = pick(random, 0, 2) == 0;
  c.batch = pick(random, 0, 3);
  c.groups = pick(random, 0, 2) == 0 ? pick(random, 2, 9) : 1;
  const bool depthwise = c.groups > 1 && pick(random, 0, 1) == 0;
  c.in_channels = c.groups * (depthwise ? 1 : pick(random, 1, 9));
  c.out_channels = c.groups * (depthwise ? pick(random, 1, 2) : pick(random, 1, 20));
  c.bias = pick(random, 0, 1) == 0;
  for (size_t d = 3 - c.dims; d < 3; ++d) {
    c.kernel[d] = pick(random, 1, c.dims == 3 ? 3 : 5);
    c.stride[d] = pick(random, 1, 3);
    c.dilation[d] = pick(random, 1, 2);
    c.padding[d] = pick(random, 0, 3);
    const int64_t reach = c.dilation[d] * (c.kernel[d] - 1) + 1;
    c.input[d] = pick(random, 1, c.dims == 3 ? 5 : 11);
    if (c.transposed) {
      c.output_padding[d] = pick(random, 0, std::max(c.stride[d], c.dilation[d]) - 1);
      c.padding[d] = std::min(c.padding[d], (reach - 1) / 2);
    } else {
      c.input[d] = std::max(c.input[d], reach - 2 * c.padding[d]);
    }
  }
  return c;
}

TEST(Convolution, RandomCases) {
  std::mt19937 random(1);
  constexpr DType kDTypes[] = {DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16};
  for (unsigned i = 0; i < 400 && !::testing::Test::HasFatalFailure(); ++i) {
    const Case c = random_case(random);
    check(c, kDTypes[i % 5], i * 3);
  }
}

// The sizes of common networks, cut down: first layers, 3x3, 1x1, depthwise, strides.
TEST(Convolution, NetworkLayers) {
  const Case cases[] = {
      {.in_channels = 3,
       .out_channels = 64,
       .input = {1, 30, 31},
       .kernel = {1, 7, 7},
       .stride = {1, 2, 2},
       .padding = {0, 3, 3}},
      {.in_channels = 3,
       .out_channels = 16,
       .input = {1, 19, 20},
       .kernel = {1, 3, 3},
       .stride = {1, 2, 2},
       .padding = {0, 1, 1}},
      {.batch = 2,
       .in_channels = 64,
       .out_channels = 64,
       .input = {1, 9, 9},
       .kernel = {1, 3, 3},
       .padding = {0, 1, 1}},
      {.in_channels = 48, .out_channels = 100, .input = {1, 14, 14}},
      {.in_channels = 70, .out_channels = 33, .input = {1, 8, 7}, .stride = {1, 2, 2}},
      {.in_channels = 40,
       .out_channels = 40,
       .groups = 40,
       .input = {1, 14, 14},
       .kernel = {1, 5, 5},
       .padding = {0, 2, 2}},
      {.in_channels = 72,
       .out_channels = 72,
       .groups = 72,
       .input = {1, 13, 14},
       .kernel = {1, 3, 3},
       .stride = {1, 2, 2},
       .padding = {0, 1, 1}},
      {.in_channels = 64,
       .out_channels = 64,
       .groups = 4,
       .input = {1, 7, 7},
       .kernel = {1, 3, 3},
       .padding = {0, 1, 1}},
      {.dims = 1,
       .in_channels = 20,
       .out_channels = 30,
       .input = {1, 1, 50},
       .kernel = {1, 1, 3},
       .padding = {0, 0, 1}},
      {.dims = 3,
       .in_channels = 4,
       .out_channels = 20,
       .input = {4, 6, 6},
       .kernel = {3, 3, 3},
       .padding = {1, 1, 1}},
      {.in_channels = 32,
       .out_channels = 24,
       .input = {1, 6, 6},
       .kernel = {1, 2, 2},
       .stride = {1, 2, 2},
       .transposed = true},
  };
  for (const Case& c : cases) check(c, DType::F32, 7);
}

TEST(Convolution, EveryLayout) {
  const Case c{.batch = 2,
               .in_channels = 6,
               .out_channels = 10,
               .input = {1, 8, 9},
               .kernel = {1, 3, 3},
               .padding = {0, 1, 1}};
  for (int layout = 0; layout < static_cast<int>(harness::Layout::kCount); ++layout) {
    check(c, DType::F32, 3, static_cast<harness::Layout>(layout));
    check(c, DType::F64, 3, static_cast<harness::Layout>(layout));
  }
}

// The same bits for an input stored channels last, and a result stored so.
TEST(Convolution, ChannelsLastIsKept) {
  for (const int64_t groups : {1, 6}) {
    const Tensor x = sample({2, 6, 5, 7}, DType::F32, -1, 1, 1),
                 w = sample({12, 6 / groups, 3, 3}, DType::F32, -1, 1, 2);
    const Tensor last = Tensor::empty({2, 5, 7, 6}, DType::F32).as_strided({2, 6, 5, 7}, {210, 1, 42, 6}, 0);
    last.copy_from(x);
    const Tensor y = call1("conv2d", {last, w, Tensor()}, {{"groups", Sym(groups)}});
    EXPECT_EQ(y.strides(), (Strides{180, 1, 60, 12}));
    EXPECT_TRUE(harness::same_tensor(y, call1("conv2d", {x, w, Tensor()}, {{"groups", Sym(groups)}})));
  }
}

TEST(Convolution, UnbatchedIsABatchOfOne) {
  const Tensor x = sample({3, 9, 8}, DType::F32, -1, 1, 1), w = sample({5, 3, 3, 2}, DType::F32, -1, 1, 2);
  const Tensor y = call1("conv2d", {x, w, Tensor()});
  EXPECT_EQ(y.shape(), (Shape{5, 7, 7}));
  const Tensor batched = call1("conv2d", {x.as_strided({1, 3, 9, 8}, {216, 72, 8, 1}, 0), w, Tensor()});
  EXPECT_EQ(batched.shape(), (Shape{1, 5, 7, 7}));
  EXPECT_TRUE(harness::same_tensor(y, batched.as_strided(y.shape(), y.strides(), 0)));
}

TEST(Convolution, PaddingWords) {
  const Tensor x = sample({1, 2, 9, 8}, DType::F64, -1, 1, 1), w = sample({3, 2, 4, 3}, DType::F64, -1, 1, 2);
  const Tensor same = call1("conv2d", {x, w, Tensor()}, {{"padding", std::string("same")}});
  ASSERT_EQ(same.shape(), (Shape{1, 3, 9, 8}));
  // One row before, two after: the rows of a convolution padded by two on both sides, without its first.
  const Tensor wide = call1("conv2d", {x, w, Tensor()}, {{"padding", SymShape{2, 1}}});
  ASSERT_EQ(wide.shape(), (Shape{1, 3, 10, 8}));
  EXPECT_TRUE(harness::same_tensor(same, wide.as_strided({1, 3, 9, 8}, wide.strides(), 8)));
  const Tensor valid = call1("conv2d", {x, w, Tensor()}, {{"padding", std::string("valid")}});
  EXPECT_TRUE(harness::same_tensor(valid, call1("conv2d", {x, w, Tensor()})));
}

TEST(Convolution, ErrorsSayWhatIsWrong) {
  const auto message = [](Shape x, Shape w, Attrs attrs, const char* op = "conv2d", Tensor bias = Tensor()) {
    return error_of(
        [&] { call1(op, {sample(x, DType::F32, 0, 1, 1), sample(w, DType::F32, 0, 1, 1), bias}, attrs); });
  };
  const auto has = [](const char* text) { return ::testing::HasSubstr(text); };
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 2, 3, 3}, {}),
              has("conv2d: expected input with 2 channels (weight.shape[1] * groups), got 3 channels\n"
                  "  input: f32[1, 3, 8, 8] cpu   weight: f32[4, 2, 3, 3] cpu"));
  EXPECT_THAT(message({1, 3, 2, 8}, {4, 3, 3, 3}, {}),
              has("conv2d: the kernel is larger than the padded input in spatial dimension 0: expected at "
                  "most 2, got 3"));
  EXPECT_THAT(message({8, 8}, {4, 3, 3, 3}, {}),
              has("conv2d: expected input of 3 (unbatched) or 4 (batched) dimensions, got 2"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3}, {}), has("conv2d: expected weight of 4 dimensions, got 3"));
  EXPECT_THAT(message({1, 4, 8, 8}, {3, 2, 3, 3}, {{"groups", Sym(2)}}),
              has("divisible by groups = 2, got 3"));
  EXPECT_THAT(message({1, 4, 8, 8}, {3, 2, 3, 3}, {{"groups", Sym(0)}}), has("expected groups >= 1, got 0"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"stride", SymShape{0}}}),
              has("expected stride >= 1, got [0, 0]"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"padding", SymShape{-1}}}), has("expected padding >= 0"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"stride", SymShape{1, 1, 1}}}),
              has("expected stride to be one number or 2, got [1, 1, 1]"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"padding", std::string("full")}}), has("got 'full'"));
  EXPECT_THAT(
      message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"padding", std::string("same")}, {"stride", SymShape{2}}}),
      has("padding='same' needs stride 1"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {}, "conv2d", Tensor::of<float>({1, 2, 3})),
              has("expected bias of shape [4] (the number of output channels), got [3]"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {}, "conv2d", Tensor::of<double>({1, 2, 3, 4})),
              has("input, weight and bias must have one dtype: expected float32, got float64"));
  EXPECT_THAT(message({1, 3, 8}, {3, 4, 3}, {{"output_padding", SymShape{1}}}, "conv_transpose1d"),
              has("output_padding must be smaller than stride or dilation"));
  EXPECT_THAT(error_of([] {
                call1("conv1d", {Tensor::of<int64_t>({1, 2}, {1, 1, 2}), Tensor::of<int64_t>({1}, {1, 1, 1}),
                                 Tensor()});
              }),
              has("conv1d: dtype not supported: expected floating, got int64"));
}

}  // namespace
}  // namespace weft::ops
