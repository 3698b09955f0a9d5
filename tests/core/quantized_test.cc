#include "core/quantized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "weft/error.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> elements(const Tensor& x) {
  std::vector<double> result;
  for (int64_t i = 0; i < x.numel(); ++i) result.push_back(x.at(i));
  return result;
}

TEST(Quantized, RoundsHalvesToEvenAndClamps) {
  const Tensor x = Tensor::of<float>({0.25F, 0.75F, -0.25F, 100, -100});
  const Tensor q = quantize(x, DType::QU8, per_tensor(0.5, 10));
  EXPECT_THAT(elements(as_integers(q)), ElementsAre(10, 12, 10, 210, 0));
  EXPECT_THAT(elements(dequantize(q)), ElementsAre(0, 1, 0, 100, -5));
}

TEST(Quantized, ChannelsHaveTheirOwnScales) {
  const Tensor x = Tensor::of<float>({1, 2, 1, 2}, {2, 2});
  const auto quantizer = per_channel(Tensor::of<double>({1, 0.5}), Tensor::of<int64_t>({0, 3}), 0);
  const Tensor q = quantize(x, DType::QI8, quantizer);
  EXPECT_THAT(elements(as_integers(q)), ElementsAre(1, 2, 5, 7));
  EXPECT_THAT(elements(dequantize(q.clone())), ElementsAre(1, 2, 1, 2));
}

TEST(Quantized, ViewsKeepTheScale) {
  const Tensor q = quantize(Tensor::of<float>({1, 2, 3, 4}, {2, 2}), DType::QI8, per_tensor(1, 0));
  const Tensor turned = q.as_strided({2, 2}, {1, 2}, 0);
  EXPECT_THAT(elements(dequantize(turned)), ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(dequantize(turned).strides(), turned.strides());
}

TEST(Quantized, Nibbles) {
  const Tensor bytes = pack_nibbles(Tensor::of<uint8_t>({1, 15, 7}));
  EXPECT_THAT(elements(bytes), ElementsAre(241, 7));
  EXPECT_THAT(elements(unpack_nibbles(bytes)), ElementsAre(1, 15, 7, 0));
}

TEST(Quantized, Refusals) {
  const Tensor x = Tensor::of<float>({1, 2});
  const auto refused = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused([&] { quantize(x, DType::QU8, per_tensor(1, 256)); }), HasSubstr("zero_point 256"));
  EXPECT_THAT(refused([&] { quantize(x, DType::I8, per_tensor(1, 0)); }), HasSubstr("quantized dtype"));
  EXPECT_THAT(refused([&] { quantize(x, DType::QI8, per_tensor(1, 0)).to(DType::F32); }),
              HasSubstr("please use dequantize"));
  EXPECT_THAT(refused([&] { dequantize(x); }), HasSubstr("has no scale"));
}

}  // namespace
}  // namespace weft
