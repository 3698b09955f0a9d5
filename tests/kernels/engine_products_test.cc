// Attention and convolution of bfloat16 numbers on each engine of this machine, and on a model of AMX's
// tiles, against their definitions in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/conv_bfloat16.h"
#include "kernels/cpu/levels.h"
#include "kernels/tile_model.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

std::vector<const BFloat16Kernels*> product_engines() {
  std::vector<const BFloat16Kernels*> all{&tile_model_engine()};
  for (const EngineKernels& one : engine_kernels())
    if (const BFloat16Kernels* engine = bfloat16_kernels_of(one.engine)) all.push_back(engine);
  return all;
}

std::vector<BFloat16> halves(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<BFloat16> values(static_cast<size_t>(count));
  for (BFloat16& value : values) value = BFloat16(normal(random));
  return values;
}

double number(const std::vector<BFloat16>& x, int64_t i) {
  return static_cast<float>(x[static_cast<size_t>(i)]);
}

struct AttentionCase {
  int64_t heads, shared, queries, keys, head_dim,
      value_dim;  // shared: heads that have the same keys and values
  bool causal;
  AttentionMask mask;
};

class AttentionSample {
 public:
  AttentionSample(const AttentionCase& c, std::mt19937& random)
      : c_(c),
        query_(halves(c.heads * c.queries * c.head_dim, random)),
        key_(halves(c.heads / c.shared * c.keys * (c.head_dim + 3), random)),
        value_(halves(c.heads / c.shared * c.keys * c.value_dim, random)) {
    std::uniform_real_distribution<float> uniform(-2, 2);
    for (int64_t i = 0; i < c.queries * c.keys; ++i) {
      added_.push_back(uniform(random));
      seen_.push_back(added_.back() < 1);
    }
    // A query that sees nothing.
    for (int64_t j = 0; j < c.keys; ++j) seen_[static_cast<size_t>((c.queries - 1) * c.keys + j)] = 0;
  }

  std::vector<BFloat16> run(const BFloat16Kernels& engine) const {
    const int64_t key_stride = c_.head_dim + 3, output_stride = c_.value_dim + 1;
    std::vector<BFloat16> y(static_cast<size_t>(c_.heads * c_.queries * output_stride), BFloat16(77.0f));
    const AttentionShape shape{.dtype = DType::BF16,
                               .queries = c_.queries,
                               .keys = c_.keys,
                               .head_dim = c_.head_dim,
                               .value_dim = c_.value_dim,
                               .query_stride = c_.head_dim,
                               .key_stride = key_stride,
                               .value_stride = c_.value_dim,
                               .output_stride = output_stride,
                               .scale = kScale,
                               .causal = c_.causal,
                               .causal_offset = c_.keys - c_.queries,
                               .mask = c_.mask,
                               .mask_row_stride = c_.keys,
                               .mask_column_stride = 1};
    std::vector<AttentionHead> heads;
    for (int64_t h = 0; h < c_.heads; ++h) {
      heads.push_back(
          {query_.data() + h * c_.queries * c_.head_dim, key_.data() + h / c_.shared * c_.keys * key_stride,
           value_.data() + h / c_.shared * c_.keys * c_.value_dim,
           c_.mask == AttentionMask::Bool ? static_cast<const void*>(seen_.data()) : added_.data(),
           y.data() + h * c_.queries * output_stride});
    }
    attention_bfloat16(engine, shape, heads);
    return y;
  }

  void check(const std::vector<BFloat16>& y) const {
    for (int64_t h = 0; h < c_.heads; ++h)
      for (int64_t i = 0; i < c_.queries; ++i) check_row(y, h, i);
  }

 private:
  static constexpr float kScale = 0.2f;

  void check_row(const std::vector<BFloat16>& y, int64_t h, int64_t i) const {
    std::vector<double> weights;
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t j = 0; j < c_.keys; ++j) {
      const auto at = static_cast<size_t>(i * c_.keys + j);
      double score = 0;
      for (int64_t d = 0; d < c_.head_dim; ++d)
        score += number(query_, (h * c_.queries + i) * c_.head_dim + d) *
                 number(key_, (h / c_.shared * c_.keys + j) * (c_.head_dim + 3) + d);
      score *= kScale;
      if (c_.mask == AttentionMask::Additive) score += added_[at];
      if ((c_.causal && j > i + c_.keys - c_.queries) || (c_.mask == AttentionMask::Bool && !seen_[at]))
        score = -std::numeric_limits<double>::infinity();
      weights.push_back(score), most = std::max(most, score);
    }
    for (double& weight : weights) weight = most == -INFINITY ? 0 : std::exp(weight - most), total += weight;
    for (int64_t d = 0; d < c_.value_dim; ++d) {
      double sum = 0, magnitude = 0;
      for (int64_t j = 0; j < c_.keys; ++j) {
        const double term = weights[static_cast<size_t>(j)] / (total > 0 ? total : 1) *
                            number(value_, (h / c_.shared * c_.keys + j) * c_.value_dim + d);
        sum += term, magnitude += std::abs(term);
      }
      // The rounding of weights and of the result.
      ASSERT_NEAR(number(y, (h * c_.queries + i) * (c_.value_dim + 1) + d), sum,
                  0x1p-8 * (magnitude + std::abs(sum)) + 1e-5 * magnitude)
          << h << " " << i << " " << d;
    }
    ASSERT_EQ(number(y, (h * c_.queries + i) * (c_.value_dim + 1) + c_.value_dim), 77.0);
  }

  const AttentionCase& c_;
  const std::vector<BFloat16> query_, key_, value_;
  std::vector<float> added_;
  std::vector<uint8_t> seen_;
};

TEST(EngineProducts, Attention) {
  std::mt19937 random(1);
  const AttentionCase cases[] = {
      {1, 1, 1, 1, 1, 1, false, AttentionMask::None},
      {2, 1, 5, 7, 33, 20, false, AttentionMask::None},
      {4, 2, 48, 192, 64, 64, false, AttentionMask::None},
      {2, 2, 49, 193, 80, 70, false, AttentionMask::Bool},
      {3, 1, 60, 60, 32, 31, true, AttentionMask::None},
      {2, 1, 10, 400, 16, 33, true, AttentionMask::Additive},
      {1, 1, 100, 31, 17, 15, false, AttentionMask::Additive},
      {1, 1, 70, 40, 8, 32, true, AttentionMask::Bool},
  };
  const int before = get_num_threads();
  for (const BFloat16Kernels* engine : product_engines()) {
    for (const AttentionCase& c : cases) {
      SCOPED_TRACE(std::string(engine->name) + " " + std::to_string(c.queries) + " queries " +
                   std::to_string(c.keys));
      const AttentionSample sample(c, random);
      set_num_threads(1);
      const std::vector<BFloat16> y = sample.run(*engine);
      sample.check(y);
      set_num_threads(2);
      const std::vector<BFloat16> again = sample.run(*engine);
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(static_cast<float>(y[i]), static_cast<float>(again[i]));
    }
  }
  set_num_threads(before);
}

// ---- convolution -----------------------------------------------------------------------------------------

ConvGeometry geometry(std::array<int64_t, 4> image, int64_t out, std::array<int64_t, 2> kernel,
                      int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  ConvGeometry g{.batch = image[0], .in_channels = image[1], .out_channels = out, .groups = groups};
  g.input = {1, image[2], image[3]}, g.kernel = {1, kernel[0], kernel[1]};
  g.stride = {1, stride, stride}, g.dilation = {1, dilation, dilation}, g.padding = {0, padding, padding};
  for (size_t d = 1; d < 3; ++d)
    g.output[d] = (g.input[d] + 2 * padding - dilation * (g.kernel[d] - 1) - 1) / stride + 1;
  return g;
}

void check_convolution(const BFloat16Kernels& engine, const ConvGeometry& g, bool with_bias,
                       std::mt19937& random) {
  ASSERT_TRUE(convolve_bfloat16_supports(g));
  const int64_t in_group = g.in_channels / g.groups, out_group = g.out_channels / g.groups;
  const std::vector<BFloat16> x = halves(g.batch * g.in_channels * g.input[1] * g.input[2], random),
                              w = halves(g.out_channels * in_group * g.kernel[1] * g.kernel[2], random),
                              bias = halves(g.out_channels, random);
  std::vector<BFloat16> y(static_cast<size_t>(g.batch * g.out_channels * g.output[1] * g.output[2] + 1),
                          BFloat16(77.0f));
  convolve_bfloat16(engine, g, x.data(), w.data(), with_bias ? bias.data() : nullptr, y.data());
  ASSERT_EQ(static_cast<float>(y.back()), 77.0f);
  int64_t at = 0;
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t m = 0; m < g.out_channels; ++m)
      for (int64_t oy = 0; oy < g.output[1]; ++oy)
        for (int64_t ox = 0; ox < g.output[2]; ++ox, ++at) {
          double sum = with_bias ? number(bias, m) : 0, magnitude = std::abs(sum);
          for (int64_t c = 0; c < in_group; ++c)
            for (int64_t i = 0; i < g.kernel[1]; ++i)
              for (int64_t j = 0; j < g.kernel[2]; ++j) {
                const int64_t iy = oy * g.stride[1] - g.padding[1] + i * g.dilation[1],
                              ix = ox * g.stride[2] - g.padding[2] + j * g.dilation[2];
                if (iy < 0 || iy >= g.input[1] || ix < 0 || ix >= g.input[2]) continue;
                const double product =
                    number(x, ((n * g.in_channels + m / out_group * in_group + c) * g.input[1] + iy) *
                                      g.input[2] +
                                  ix) *
                    number(w, ((m * in_group + c) * g.kernel[1] + i) * g.kernel[2] + j);
                sum += product, magnitude += std::abs(product);
              }
          const double error =
              static_cast<double>(in_group * g.kernel[1] * g.kernel[2] + 1) * 0x1p-24 * magnitude;
          ASSERT_NEAR(number(y, at), sum, error + 0x1p-8 * (std::abs(sum) + error)) << at;
        }
}

TEST(EngineProducts, Convolution) {
  std::mt19937 random(2);
  for (const BFloat16Kernels* engine : product_engines()) {
    int index = 0;
    for (const ConvGeometry& g : {
             geometry({1, 3, 9, 11}, 16, {3, 3}, 1, 1, 1, 1),   // 99 pixels
             geometry({2, 5, 8, 8}, 17, {1, 1}, 1, 0, 1, 1),    // patches are pixels
             geometry({1, 3, 32, 32}, 40, {8, 8}, 8, 0, 1, 1),  // patches side by side
             geometry({1, 4, 15, 13}, 33, {3, 5}, 2, 2, 1, 1),  // every other pixel
             geometry({1, 4, 12, 12}, 32, {3, 3}, 1, 2, 2, 1),  // dilated
             geometry({2, 6, 7, 7}, 48, {3, 3}, 3, 4, 1, 2),    // groups, and lines of zeros
             geometry({1, 2, 1, 40}, 20, {1, 7}, 1, 3, 1, 1),   // a line
             geometry({1, 344, 4, 4}, 20, {3, 3}, 1, 1, 1, 1),  // 3096 products: two parts
             geometry({1, 2, 30, 30}, 16, {2, 2}, 1, 0, 1, 1),  // more pixels than panels at once
             geometry({1, 1, 20, 3}, 16, {5, 5}, 1, 2, 1, 1),   // a kernel wider than the image
         }) {
      SCOPED_TRACE(std::string(engine->name) + " case " + std::to_string(index));
      check_convolution(*engine, g, index++ % 2 == 0, random);
    }
  }
}

}  // namespace
}  // namespace weft::kernels
