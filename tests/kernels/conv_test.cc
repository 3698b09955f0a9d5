// The packed convolution and linear layers against the sums that define them, in float64.
#include "kernels/cpu/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "weft/parallel.h"

namespace weft::kernels {
namespace {

std::vector<float> sample(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return std::max(x, 0.0);
    case Activation::Relu6: return std::clamp(x, 0.0, 6.0);
    case Activation::HardSwish: return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Activation::HardSigmoid: return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Activation::Silu: return x / (1 + std::exp(-x));
    case Activation::GeluErf: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    case Activation::GeluTanh: return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

struct Problem {
  ConvParams params;
  int64_t batch = 1, height = 1, width = 1;
  int64_t x_extra = 0, y_extra = 0;  // channels of the wider images that x and y are slices of
  bool bias = true, residual = false;
};

struct Data {
  int64_t out_height, out_width, x_stride, y_stride;
  std::vector<float> x, weight, bias, residual, y;

  Data(const Problem& p, std::mt19937& random)
      : out_height(conv_output_size(p.height, p.params.kernel[0], p.params.stride[0], p.params.padding[0],
                                    p.params.dilation[0])),
        out_width(conv_output_size(p.width, p.params.kernel[1], p.params.stride[1], p.params.padding[1],
                                   p.params.dilation[1])),
        x_stride(p.params.in_channels + p.x_extra),
        y_stride(p.params.out_channels + p.y_extra),
        x(sample(p.batch * p.height * p.width * x_stride, random)),
        weight(sample(p.params.out_channels * p.params.in_channels / p.params.groups * p.params.kernel[0] *
                          p.params.kernel[1],
                      random)),
        bias(sample(p.params.out_channels, random)),
        residual(sample(p.batch * out_height * out_width * p.params.out_channels, random)),
        y(static_cast<size_t>(p.batch * out_height * out_width * y_stride), 77.0f) {}

  void run(const Problem& p) {
    const PackedConv conv(p.params, weight.data(), p.bias ? bias.data() : nullptr);
    conv.run({.x = x.data(),
              .batch = p.batch,
              .height = p.height,
              .width = p.width,
              .y = y.data(),
              .out_height = out_height,
              .out_width = out_width,
              .residual = p.residual ? residual.data() : nullptr,
              .x_stride = x_stride,
              .y_stride = y_stride});
  }
};

// The sum of one output and of the absolute values of its terms.
std::pair<double, double> expected(const Problem& p, const Data& d, int64_t n, int64_t oy, int64_t ox,
                                   int64_t m) {
  const ConvParams& c = p.params;
  const int64_t in_group = c.in_channels / c.groups, group = m / (c.out_channels / c.groups);
  double sum = p.bias ? d.bias[static_cast<size_t>(m)] : 0, magnitude = std::abs(sum);
  for (int64_t i = 0; i < c.kernel[0]; ++i)
    for (int64_t j = 0; j < c.kernel[1]; ++j) {
      const int64_t iy = oy * c.stride[0] - c.padding[0] + i * c.dilation[0],
                    ix = ox * c.stride[1] - c.padding[1] + j * c.dilation[1];
      if (iy < 0 || iy >= p.height || ix < 0 || ix >= p.width) continue;
      for (int64_t k = 0; k < in_group; ++k) {
        const double product =
            static_cast<double>(d.x[static_cast<size_t>(((n * p.height + iy) * p.width + ix) * d.x_stride +
                                                        group * in_group + k)]) *
            d.weight[static_cast<size_t>(((m * in_group + k) * c.kernel[0] + i) * c.kernel[1] + j)];
        sum += product, magnitude += std::abs(product);
      }
    }
  if (p.residual) {
    const double more =
        d.residual[static_cast<size_t>(((n * d.out_height + oy) * d.out_width + ox) * c.out_channels + m)];
    sum += more, magnitude += std::abs(more);
  }
  return {sum, magnitude};
}

void check(const Problem& p, unsigned seed) {
  const ConvParams& c = p.params;
  SCOPED_TRACE("seed " + std::to_string(seed) + " in " + std::to_string(c.in_channels) + " out " +
               std::to_string(c.out_channels) + " kernel " + std::to_string(c.kernel[0]) + "x" +
               std::to_string(c.kernel[1]) + " groups " + std::to_string(c.groups) + " size " +
               std::to_string(p.height) + "x" + std::to_string(p.width));
  std::mt19937 random(seed);
  Data d(p, random);
  d.run(p);
  const double terms = static_cast<double>(c.in_channels / c.groups * c.kernel[0] * c.kernel[1]) + 3;
  for (int64_t pixel = 0; pixel < p.batch * d.out_height * d.out_width; ++pixel) {
    const int64_t n = pixel / (d.out_height * d.out_width), oy = pixel / d.out_width % d.out_height,
                  ox = pixel % d.out_width;
    for (int64_t m = 0; m < c.out_channels; ++m) {
      const auto [sum, magnitude] = expected(p, d, n, oy, ox, m);
      // Each activation's slope is at most 1.1; its own rounding is of a few units of its argument.
      ASSERT_NEAR(d.y[static_cast<size_t>(pixel * d.y_stride + m)], activated(c.activation, sum),
                  (1.1 * terms + 6) * 0x1p-24 * magnitude + 1e-7)
          << "pixel " << pixel << " channel " << m;
    }
    for (int64_t m = c.out_channels; m < d.y_stride; ++m)
      ASSERT_EQ(d.y[static_cast<size_t>(pixel * d.y_stride + m)], 77.0f);
  }
}

int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Problem random_problem(std::mt19937& random) {
  Problem p;
  ConvParams& c = p.params;
  const int64_t kind = pick(random, 0, 3);
  c.groups = kind == 0 ? pick(random, 2, 70) : kind == 1 ? pick(random, 2, 5) : 1;
  c.in_channels = kind == 0 ? c.groups : c.groups * pick(random, 1, 70);
  c.out_channels = kind == 0 ? c.groups : c.groups * pick(random, 1, 150 / c.groups);
  for (size_t d = 0; d < 2; ++d) {
    c.kernel[d] = pick(random, 1, 5), c.stride[d] = pick(random, 1, 3), c.padding[d] = pick(random, 0, 3);
    c.dilation[d] = pick(random, 0, 3) == 0 ? 2 : 1;
    const int64_t least = std::max<int64_t>(1, c.dilation[d] * (c.kernel[d] - 1) + 1 - 2 * c.padding[d]);
    (d == 0 ? p.height : p.width) = least + pick(random, 0, 12);
  }
  c.activation = static_cast<Activation>(pick(random, 0, 5));
  p.batch = pick(random, 1, 2), p.bias = pick(random, 0, 1), p.residual = pick(random, 0, 2) == 0;
  p.x_extra = pick(random, 0, 3) == 0 ? 5 : 0, p.y_extra = pick(random, 0, 3) == 0 ? 7 : 0;
  return p;
}

TEST(PackedConv, RandomProblems) {
  std::mt19937 random(5);
  for (unsigned seed = 0; seed < 300 && !HasFatalFailure(); ++seed) check(random_problem(random), seed);
}

TEST(PackedConv, BitsDoNotDependOnThreads) {
  const int before = get_num_threads();
  std::mt19937 random(6);
  for (unsigned seed = 0; seed < 20; ++seed) {
    Problem p = random_problem(random);
    p.height += 20, p.width += 20;
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      std::mt19937 same(seed);
      Data d(p, same);
      d.run(p);
      if (first.empty()) first = d.y;
      ASSERT_EQ(first, d.y);
    }
  }
  set_num_threads(before);
}

TEST(PackedConv, EmptyBatch) {
  const std::vector<float> weight(9 * 4 * 5);
  const PackedConv conv({.in_channels = 4, .out_channels = 5, .kernel = {3, 3}}, weight.data(), nullptr);
  conv.run(nullptr, 0, 8, 8, nullptr);
}

TEST(PackedConv, NanStaysNan) {
  for (const Activation activation :
       {Activation::None, Activation::Relu, Activation::Relu6, Activation::HardSwish, Activation::HardSigmoid,
        Activation::Silu, Activation::GeluErf, Activation::GeluTanh}) {
    const std::vector<float> x(8, std::nanf("")), weight(8 * 3, 1.0f);
    std::vector<float> y(3);
    PackedConv({.in_channels = 8, .out_channels = 3, .activation = activation}, weight.data(), nullptr)
        .run(x.data(), 1, 1, 1, y.data());
    for (const float value : y) EXPECT_TRUE(std::isnan(value)) << static_cast<int>(activation);
  }
}

TEST(PackedLinear, RandomSizes) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const int64_t rows = pick(random, 1, 40), in = pick(random, 1, 300), out = pick(random, 1, 200);
    const std::vector<float> x = sample(rows * in, random), weight = sample(out * in, random),
                             bias = sample(out, random);
    std::vector<float> y(static_cast<size_t>(rows * out));
    PackedLinear(in, out, weight.data(), bias.data(), Activation::Relu).run(x.data(), rows, y.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t o = 0; o < out; ++o) {
        double sum = bias[static_cast<size_t>(o)], magnitude = std::abs(sum);
        for (int64_t k = 0; k < in; ++k) {
          const double product = static_cast<double>(x[static_cast<size_t>(r * in + k)]) *
                                 weight[static_cast<size_t>(o * in + k)];
          sum += product, magnitude += std::abs(product);
        }
        ASSERT_NEAR(y[static_cast<size_t>(r * out + o)], std::max(sum, 0.0),
                    static_cast<double>(in + 2) * 0x1p-24 * magnitude);
      }
  }
}

}  // namespace
}  // namespace weft::kernels
