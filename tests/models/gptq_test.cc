#include "models/gptq.h"

#include <gmock/gmock.h>

#include <cmath>

#include "models/support.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;

Tensor uniform(int64_t rows, int64_t columns, uint32_t seed) {
  Tensor x = Tensor::empty({rows, columns}, DType::F32);
  uint32_t state = seed;
  for (int64_t i = 0; i < x.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    x.data_as<float>()[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return x;
}

Tensor moments_of(const Tensor& x) { return matmul(transpose(x, 0, 1), x).to(DType::F64); }

double output_error(const Tensor& weight, const LinearWeight& quantized, const Tensor& x) {
  const Tensor difference = matmul(x, transpose(weight - dequantize(quantized), 0, 1));
  return std::sqrt(sum(difference * difference).item().to_double());
}

bool is_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  for (int64_t i = 0; i < a.numel(); ++i)
    if (a.at(i) != b.at(i)) return false;
  return true;
}

TEST(Gptq, IndependentInputsAreRoundedToNearest) {
  const Tensor weight = uniform(19, 80, 1);  // a last group of 16
  Tensor moments = Tensor::full({80, 80}, 0.0, DType::F64);
  for (int64_t i = 0; i < 80; ++i) moments.data_as<double>()[i * 81] = 3.0;
  const auto scheme = QuantizationScheme::parse("int4-g32");
  const LinearWeight nearest = quantize(weight, scheme), gptq = quantize_gptq(weight, moments, scheme);
  EXPECT_TRUE(is_equal(gptq.weight, nearest.weight));
  EXPECT_TRUE(is_equal(gptq.scales, nearest.scales));
}

TEST(Gptq, OutputsOfItsInputsAreCloser) {
  const Tensor weight = uniform(40, 96, 2);
  const Tensor x = matmul(uniform(300, 24, 3), uniform(24, 96, 4)) +
                   uniform(300, 96, 5) * Tensor::scalar(0.1, DType::F32);  // mostly of 24 dimensions
  for (const char* name : {"int4-g32", "int4-g64", "int4-g128"}) {
    const auto scheme = QuantizationScheme::parse(name);
    EXPECT_LT(output_error(weight, quantize_gptq(weight, moments_of(x), scheme), x),
              0.5 * output_error(weight, quantize(weight, scheme), x))
        << name;
  }
}

TEST(Gptq, InputsThatAreNeverThere) {
  const Tensor weight = uniform(4, 64, 6), nothing = Tensor::full({64, 64}, 0.0, DType::F64);
  const auto scheme = QuantizationScheme::parse("int4-g32");
  EXPECT_TRUE(is_equal(quantize_gptq(weight, nothing, scheme).weight, quantize(weight, scheme).weight));
}

TEST(Gptq, Errors) {
  const auto int4 = QuantizationScheme::parse("int4-g32");
  const Tensor eye = Tensor::full({8, 8}, 1.0, DType::F64);
  EXPECT_THAT(error_of([&] { quantize_gptq(uniform(2, 8, 1), eye, QuantizationScheme::parse("int8")); }),
              HasSubstr("GPTQ is for int4 schemes, got 'int8'"));
  EXPECT_THAT(error_of([&] { quantize_gptq(uniform(2, 6, 1), eye, int4); }),
              HasSubstr("float64 moments [in, in]"));
  EXPECT_THAT(error_of([&] { quantize_gptq(Tensor::full({2, 8}, INFINITY, DType::F32), eye, int4); }),
              HasSubstr("expected finite weights"));
  EXPECT_THAT(error_of([&] { quantize_gptq(uniform(2, 8, 1), Tensor::full({8, 8}, NAN, DType::F64), int4); }),
              HasSubstr("infinite or NaN activations"));
  WEFT_NEEDS_STORIES();
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(stories());
  EXPECT_THAT(error_of([&] { Gptq(checkpoint, int4, {}); }), HasSubstr("no tokens to calibrate with"));
  EXPECT_THAT(error_of([&] { Gptq(checkpoint, int4, {{1, 512}}); }),
              HasSubstr("token id 512 is outside the vocabulary of 512"));
}

}  // namespace
}  // namespace weft::models
