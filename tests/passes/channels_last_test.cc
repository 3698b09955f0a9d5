// Compiled image networks: what weft::compile gives equals the operators called one by one, and the graph
// holds no layout changes but at its ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/registry.h"
#include "weft/compile.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

Tensor op(std::string_view name, std::vector<Tensor> operands, ops::Attrs attrs = {}) {
  return ops::call1(name, std::move(operands), std::move(attrs));
}
SymShape list(std::initializer_list<int64_t> values) { return SymShape(values.begin(), values.end()); }

Tensor noise(const Shape& shape, int seed) {
  Tensor result = Tensor::empty(shape, DType::F32);
  auto state = static_cast<uint32_t>(seed * 7919 + 1);
  for (int64_t i = 0; i < result.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    result.data_as<float>()[i] = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return result;
}

void expect_close(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.shape(), wanted.shape());
  double largest = 1;
  for (int64_t i = 0; i < wanted.numel(); ++i) largest = std::max(largest, std::abs(wanted.at(i)));
  for (int64_t i = 0; i < wanted.numel(); ++i) ASSERT_NEAR(got.at(i), wanted.at(i), 1e-5 * largest) << i;
}

Tensor conv(const Tensor& x, const Tensor& w, const Tensor& b, int64_t stride, int64_t padding,
            int64_t groups = 1) {
  return op(
      "convolution", {x, w, b},
      {{"stride", list({stride, stride})}, {"padding", list({padding, padding})}, {"groups", Sym(groups)}});
}

TEST(ChannelsLast, ANetworkGivesWhatItsOperatorsGive) {
  const Tensor w1 = noise({24, 3, 3, 3}, 1), b1 = noise({24}, 2), w2 = noise({24, 1, 5, 5}, 3),
               b2 = noise({24}, 4);
  const Tensor w3 = noise({8, 24, 1, 1}, 5), b3 = noise({8}, 6), w4 = noise({24, 8, 1, 1}, 7),
               b4 = noise({24}, 8), w5 = noise({10, 48}, 9), b5 = noise({10}, 10);
  const auto network = [=](Tensor x) {
    Tensor y = op("hardswish", {conv(x, w1, b1, 2, 1)});
    y = op("max_pool2d", {y}, {{"kernel_size", list({3})}, {"stride", list({2})}, {"ceil_mode", true}});
    const Tensor deep = op("relu", {conv(y, w2, b2, 1, 2, 24)});
    // Squeeze and excite.
    Tensor scale = op("adaptive_avg_pool2d", {deep}, {{"output_size", list({1, 1})}});
    scale = op("relu", {conv(scale, w3, b3, 1, 0)});
    scale = op("hardsigmoid", {conv(scale, w4, b4, 1, 0)});
    const Tensor scaled = op("add", {op("mul", {deep, scale}), y});
    const Tensor both = op("concatenate", {scaled, deep}, {{"dim", Sym(1)}});
    const Tensor row = op("reshape", {op("adaptive_avg_pool2d", {both}, {{"output_size", list({1, 1})}})},
                          {{"shape", SymShape{x.shape()[0], 48}}});
    return op("add", {op("matmul", {row, op("permute", {w5}, {{"dims", list({1, 0})}})}), b5});
  };
  const auto compiled = weft::compile(network);
  for (const int64_t batch : {1, 2}) {
    const Tensor x = noise({batch, 3, 37, 41}, 11);
    expect_close(compiled(x), network(x));
  }
}

TEST(ChannelsLast, ResidualAndActivationJoinTheConvolution) {
  const Tensor w = noise({16, 16, 3, 3}, 1), b = noise({16}, 2);
  const auto block = [=](Tensor x) {
    const Tensor y = op("relu", {conv(x, w, b, 1, 1)});
    return op("relu", {op("add", {conv(y, w, b, 1, 1), y})});
  };
  const auto compiled = weft::compile(block);
  const Tensor x = noise({1, 16, 14, 9}, 3);
  expect_close(compiled(x), block(x));
}

TEST(ChannelsLast, OtherConsumersKeepTheirLayout) {
  const Tensor w = noise({6, 4, 3, 3}, 1);
  const auto function = [=](Tensor x) {
    const Tensor y = conv(x, w, Tensor(), 1, 1);
    const Tensor rows = op("sum", {y}, {{"dim", list({3})}, {"keepdim", false}});
    const Tensor total = op("sum", {y}, {{"dim", list({2, 3})}, {"keepdim", true}});
    return std::vector<Tensor>{y,
                               rows,
                               op("sub", {y, total}),
                               op("sum", {y}, {{"dim", list({1})}, {"keepdim", true}}),
                               op("mul", {y, noise({1, 6, 1, 1}, 4)}),
                               op("mul", {y, noise({6, 1, 1}, 4)}),
                               op("mul", {y, noise({8}, 5)})};
  };
  const auto compiled = weft::compile(function);
  const Tensor x = noise({2, 4, 7, 8}, 2);
  const std::vector<Tensor> got = compiled(x), wanted = function(x);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], wanted[i]);
}

TEST(ChannelsLast, ConvolutionsWriteTheirPartsOfAJoin) {
  const Tensor w1 = noise({20, 6, 1, 1}, 1), b1 = noise({20}, 2), w3 = noise({35, 6, 3, 3}, 3),
               depthwise = noise({6, 1, 3, 3}, 4);
  const auto function = [=](Tensor x) {
    const Tensor left = op("relu", {conv(x, w1, b1, 1, 0)}),
                 right = op("hardswish", {conv(x, w3, Tensor(), 1, 1)});
    const Tensor all =
        op("concatenate", {left, right, conv(x, depthwise, Tensor(), 1, 1, 6)}, {{"dim", Sym(1)}});
    const Tensor shared = conv(x, w1, b1, 1, 0);  // joined and used elsewhere: it has memory of its own
    return std::vector<Tensor>{
        all, op("concatenate", {shared, op("relu", {conv(x, w3, Tensor(), 1, 1)})}, {{"dim", Sym(1)}}),
        op("concatenate", {shared, shared}, {{"dim", Sym(1)}})};
  };
  const auto compiled = weft::compile(function);
  for (const int64_t height : {5, 9, 12}) {
    const Tensor x = noise({2, 6, height, 7}, 5);
    const std::vector<Tensor> got = compiled(x), wanted = function(x);
    for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], wanted[i]);
  }
}

TEST(ChannelsLast, PoolsAgree) {
  const Tensor w = noise({6, 4, 1, 1}, 1);
  const auto function = [=](Tensor x) {
    const Tensor y = conv(x, w, Tensor(), 1, 0);
    return std::vector<Tensor>{
        op("max_pool2d", {y},
           {{"kernel_size", list({3, 2})},
            {"stride", list({1, 2})},
            {"padding", list({1, 1})},
            {"dilation", list({2, 1})}}),
        op("avg_pool2d", {y},
           {{"kernel_size", list({3})},
            {"stride", list({2})},
            {"padding", list({1})},
            {"ceil_mode", true},
            {"count_include_pad", false}}),
        op("avg_pool2d", {y}, {{"kernel_size", list({2})}, {"divisor_override", Sym(3)}}),
        op("adaptive_avg_pool2d", {y}, {{"output_size", list({3, 5})}})};
  };
  const auto compiled = weft::compile(function);
  const Tensor x = noise({2, 4, 11, 8}, 2);
  const std::vector<Tensor> got = compiled(x), wanted = function(x);
  for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], wanted[i]);
}

TEST(FuseEpilogues, LinearLayersTakeBiasResidualAndActivation) {
  const Tensor w = noise({5, 7}, 1), b = noise({5}, 2);
  const auto layer = [=](Tensor x, Tensor r) {
    const Tensor y = op("add", {op("matmul", {x, op("permute", {w}, {{"dims", list({1, 0})}})}), b});
    return op("silu", {op("add", {r, y})});
  };
  const auto compiled = weft::compile(layer);
  const Tensor x = noise({2, 3, 7}, 3), r = noise({2, 3, 5}, 4);
  expect_close(compiled(x, r), layer(x, r));
  EXPECT_THAT(compiled.explain(), Not(HasSubstr("kernel silu")));
}

}  // namespace
}  // namespace weft
