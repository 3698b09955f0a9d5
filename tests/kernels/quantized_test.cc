// Products with packed weights against sums in float64 over the dequantized weights: every format, every
// instruction set that this machine has, every number of rows that the kernels tell apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/levels.h"
#include "kernels/cpu/quantized_matrix.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/parallel.h"
#include "weft/quantization.h"

namespace weft {
namespace {

std::mt19937 g_random(1);

Tensor sample(const Shape& shape, double most = 1, DType dtype = DType::F32) {
  std::uniform_real_distribution<float> uniform(static_cast<float>(-most), static_cast<float>(most));
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (float& value : values) value = uniform(g_random);
  return Tensor::of(values, shape).to(dtype);
}

struct Case {
  const char* name;
  DType dtype;
  int64_t group = 0;
};
constexpr Case kCases[] = {{"f32", DType::F32},           {"f16", DType::F16},
                           {"bf16", DType::BF16},         {"int8", DType::I8},
                           {"int4-g32", DType::U8, 32},   {"int4-g64", DType::U8, 64},
                           {"int4-g128", DType::U8, 128}, {"int4-g256", DType::U8, 256}};

// A weight and what it stands for.
struct Sample {
  LinearWeight weight;
  Tensor exact;

  Sample(const Case& scheme, int64_t out, int64_t in, bool bias) {
    const Tensor full = sample({out, in});
    if (scheme.dtype == DType::I8) {
      const auto [values, scales] = quantize_int8(full);
      weight = {.weight = values, .scales = scales};
      exact = dequantize_int8(values, scales);
    } else if (scheme.dtype == DType::U8) {
      const auto [values, scales] = quantize_int4(full, scheme.group);
      weight = {.weight = values, .scales = scales, .group_size = scheme.group};
      exact = dequantize_int4(values, scales, scheme.group);
    } else {
      weight.weight = full.to(scheme.dtype);
      exact = weight.weight.to(DType::F32);
    }
    if (bias) weight.bias = sample({out});
  }

  // Magnitudes of the weights of output j.
  double weights(int64_t j) const {
    const int64_t in = exact.size(1);
    double sum = 0;
    for (int64_t k = 0; k < in; ++k) sum += std::abs(exact.data_as<float>()[j * in + k]);
    return sum;
  }

  // The sum for row i and output j, and the sum of magnitudes that bounds its error.
  std::pair<double, double> sum(const Tensor& x, int64_t i, int64_t j) const {
    const int64_t in = exact.size(1);
    const float *const row = x.data_as<float>() + i * in, *const weights = exact.data_as<float>() + j * in;
    double sum = weight.bias.defined() ? weight.bias.at(j) : 0, magnitude = std::abs(sum);
    for (int64_t k = 0; k < in; ++k) {
      const double product = static_cast<double>(row[k]) * weights[k];
      sum += product;
      // int4's zero and scaled number may be larger than their sum.
      magnitude += std::abs(product) + (weight.group_size ? 2 * std::abs(row[k]) : 0);
    }
    return {sum, magnitude};
  }
};

// Half a unit of an input as an integer, and the float32 roundings of scaling it, relative to the group's
// largest magnitude.
double rounding_of(int planes) { return 0.5 / (planes == 2 ? 32512 : 127) + 4 * 0x1p-24; }

// `rounding`: of x, relative to the largest magnitude in its group.
void check(const Sample& sample, const Tensor& x, const Tensor& y, double rounding = 0) {
  const int64_t out = sample.exact.size(0), in = sample.exact.size(1);
  for (int64_t i = 0; i < x.numel() / in; ++i)
    for (int64_t j = 0; j < out; ++j) {
      const auto [sum, magnitude] = sample.sum(x, i, j);
      const double bound = static_cast<double>(in + 8) * 0x1p-24 * magnitude + rounding * sample.weights(j);
      ASSERT_NEAR(y.at(i * out + j), sum, bound) << "row " << i << " output " << j;
    }
}

TEST(QuantizedLinear, EveryFormatAndNumberOfRows) {
  for (const Case& scheme : kCases) {
    for (const auto& [out, in] :
         {std::pair<int64_t, int64_t>{64, 256}, {1, 512}, {200, 64}, {65, 300}, {129, 34}}) {
      SCOPED_TRACE(std::string(scheme.name) + " " + std::to_string(out) + " x " + std::to_string(in));
      const Sample sample_(scheme, out, in, out % 2 == 1);
      const PackedLinear linear(sample_.weight);
      EXPECT_EQ(linear.in_features(), in);
      EXPECT_EQ(linear.out_features(), out);
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 40}) {
        const Tensor x = sample({rows, in});
        check(sample_, x, linear(x, {.precision = InputPrecision::Float32}));
        if (scheme.dtype != DType::I8 && scheme.dtype != DType::U8) continue;
        check(sample_, x, linear(x, {.precision = InputPrecision::Int16}), rounding_of(2));
        check(sample_, x, linear(x, {.precision = InputPrecision::Int8}), rounding_of(1));
        check(sample_, x, linear(x, {.precision = InputPrecision::BFloat16}), 0x1p-8);
        check(sample_, x, linear(x), rounding_of(2));
      }
    }
  }
}

// The bits of a row are the same whichever rows are beside it, and for any number of threads.
TEST(QuantizedLinear, RowsDoNotDependOnEachOther) {
  const int before = get_num_threads();
  for (const Case& scheme : kCases) {
    SCOPED_TRACE(scheme.name);
    const PackedLinear linear(Sample(scheme, 300, 512, true).weight);
    const Tensor x = sample({8, 512});
    const Tensor all = linear(x);
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      for (int64_t rows = 1; rows <= 8; ++rows) {
        const Tensor y = linear(x.as_strided({rows, 512}, {512, 1}, 0));
        for (int64_t i = 0; i < y.numel(); ++i)
          ASSERT_EQ(y.at(i), all.at(i)) << rows << " rows, element " << i;
      }
    }
  }
  set_num_threads(before);
}

double activated(LinearActivation activation, double x) {
  switch (activation) {
    case LinearActivation::None: return x;
    case LinearActivation::Relu: return std::max(x, 0.0);
    case LinearActivation::Silu: return x / (1 + std::exp(-x));
    case LinearActivation::GeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

TEST(QuantizedLinear, Epilogues) {
  for (const LinearActivation activation :
       {LinearActivation::None, LinearActivation::Relu, LinearActivation::Silu, LinearActivation::GeluTanh}) {
    for (const int64_t out : {32, 77}) {
      const Sample gate({"int8", DType::I8}, out, 96, true), up({"int8", DType::I8}, out, 96, false);
      const PackedLinear plain(gate.weight), gated = PackedLinear::gated(gate.weight, up.weight);
      ASSERT_EQ(gated.out_features(), out);
      for (const int64_t rows : {1, 5, 20}) {
        const Tensor x = sample({rows, 96}), residual = sample({rows, out}), in_place = residual.clone();
        const InputPrecision exact = InputPrecision::Float32;
        const Tensor y = plain(x, {activation, &residual, exact}), z = gated(x, {activation, nullptr, exact});
        plain.forward(x, in_place, {activation, &in_place, exact});
        for (int64_t i = 0; i < rows * out; ++i) {
          const double g = gate.sum(x, i / out, i % out).first, u = up.sum(x, i / out, i % out).first;
          ASSERT_NEAR(y.at(i), activated(activation, g) + residual.at(i), 1e-4);
          ASSERT_NEAR(z.at(i), activated(activation, g) * u, 1e-3);
          ASSERT_EQ(in_place.at(i), y.at(i));
        }
      }
    }
  }
}

TEST(QuantizedLinear, StackedWeights) {
  const Sample q({"int4", DType::U8, 32}, 96, 128, true), k({"int4", DType::U8, 32}, 40, 128, false);
  const PackedLinear both({q.weight, k.weight});
  ASSERT_EQ(both.out_features(), 136);
  const Tensor x = sample({3, 128}), y = both(x), y_q = PackedLinear(q.weight)(x),
               y_k = PackedLinear(k.weight)(x);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 136; ++j)
      ASSERT_EQ(y.at(i * 136 + j), j < 96 ? y_q.at(i * 96 + j) : y_k.at(i * 40 + j - 96));
}

TEST(QuantizedLinear, HalfPrecisionActivationsAreRoundedOnce) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const Sample weight({"int8", DType::I8}, 70, 128, true);
    const PackedLinear linear(weight.weight);
    for (const int64_t rows : {1, 20}) {
      const Tensor x = sample({rows, 128}, 1, dtype), residual = sample({rows, 70}, 1, dtype);
      const Tensor y = linear(x, {LinearActivation::Silu, &residual});
      ASSERT_EQ(y.dtype(), dtype);
      const Tensor wide_residual = residual.to(DType::F32);
      const Tensor expected = linear(x.to(DType::F32), {LinearActivation::Silu, &wide_residual}).to(dtype);
      for (int64_t i = 0; i < y.numel(); ++i) ASSERT_EQ(y.at(i), expected.at(i));
    }
  }
}

// Many rows of bfloat16 numbers are exact on an engine, too; others are rounded to it.
TEST(QuantizedLinear, BFloat16RowsWithBFloat16Weights) {
  for (const auto& [out, in] :
       {std::pair<int64_t, int64_t>{64, 256}, {1, 512}, {130, 601}, {65, 301}, {129, 34}}) {
    const Sample sample_({"bf16", DType::BF16}, out, in, out % 2 == 1);
    const PackedLinear linear(sample_.weight);
    for (const int64_t rows : {1, 16, 17, 257}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(out) + " x " + std::to_string(in));
      const Tensor half = sample({rows, in}, 1, DType::BF16), x = half.to(DType::F32);
      const Tensor y = linear(x, {.precision = InputPrecision::BFloat16});
      check(sample_, x, y);
      const Tensor residual = sample({rows, out}, 1, DType::BF16), wide_residual = residual.to(DType::F32);
      const Tensor rounded = linear(half, {LinearActivation::Silu, &residual}),
                   expected = linear(x, {LinearActivation::Silu, &wide_residual, InputPrecision::BFloat16})
                                  .to(DType::BF16);
      for (int64_t i = 0; i < rows * out; ++i) ASSERT_EQ(rounded.at(i), expected.at(i));
      const Tensor any = sample({rows, in});
      check(sample_, any, linear(any, {.precision = InputPrecision::BFloat16}), 0x1p-8);
      check(sample_, any, linear(any, {.precision = InputPrecision::Auto}));
    }
  }
}

TEST(QuantizedLinear, GatedBFloat16RowsOnAnyNumberOfThreads) {
  const int before = get_num_threads();
  const Sample gate({"bf16", DType::BF16}, 96, 700, true), up({"bf16", DType::BF16}, 96, 700, true);
  const PackedLinear linear = PackedLinear::gated(gate.weight, up.weight);
  const Tensor x = sample({50, 700}, 1, DType::BF16), wide = x.to(DType::F32);
  const Tensor exact =
      linear(wide, {.activation = LinearActivation::Silu, .precision = InputPrecision::Float32});
  Tensor first;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Tensor y =
        linear(wide, {.activation = LinearActivation::Silu, .precision = InputPrecision::BFloat16});
    if (!first.defined()) first = y;
    for (int64_t i = 0; i < y.numel(); ++i) {
      ASSERT_EQ(y.at(i), first.at(i));
      ASSERT_NEAR(y.at(i), exact.at(i), 1e-4 * (1 + std::abs(exact.at(i))));
    }
  }
  set_num_threads(before);
}

TEST(QuantizedLinear, InputsThatAreNotOrdinary) {
  const PackedLinear linear(Sample({"int8", DType::I8}, 64, 256, false).weight);
  for (const InputPrecision precision :
       {InputPrecision::Float32, InputPrecision::Int16, InputPrecision::Int8}) {
    const Tensor x = Tensor::full({4, 256}, 0, DType::F32);
    x.data_as<float>()[256 + 5] = std::numeric_limits<float>::quiet_NaN();
    x.data_as<float>()[512 + 200] = std::numeric_limits<float>::infinity();
    x.data_as<float>()[768] = std::numeric_limits<float>::denorm_min();
    const Tensor y = linear(x, {.precision = precision});
    for (int64_t j = 0; j < 64; ++j) {
      EXPECT_EQ(y.at(j), 0);
      EXPECT_TRUE(std::isnan(y.at(64 + j)));
      EXPECT_FALSE(std::isfinite(y.at(128 + j)));
      EXPECT_NEAR(y.at(192 + j), 0, 1e-40);
    }
  }
}

TEST(QuantizedLinear, StridedRows) {
  const PackedLinear linear(Sample({"bf16", DType::BF16}, 64, 32, false).weight);
  const Tensor x = sample({4, 48}), y = Tensor::full({4, 80}, 7, DType::F32);
  const Tensor part = x.as_strided({4, 32}, {48, 1}, 8);
  linear.forward(part, y.as_strided({4, 64}, {80, 1}, 4));
  const Tensor expected = linear(part.contiguous());
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 80; ++j)
      ASSERT_EQ(y.at(i * 80 + j), j < 4 || j >= 68 ? 7 : expected.at(i * 64 + j - 4));
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(QuantizedLinear, Errors) {
  const Tensor weight = sample({8, 64});
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(
      contains(message_of([&] { PackedLinear({.weight = sample({8})}); }), "expected weight [out, in]"));
  EXPECT_TRUE(contains(message_of([&] { PackedLinear({.weight = weight.to(DType::F64)}); }), "f64[8, 64]"));
  EXPECT_TRUE(contains(message_of([&] { PackedLinear({.weight = weight.to(DType::I8)}); }),
                       "expected scales f32[8]"));
  EXPECT_TRUE(contains(message_of([&] { PackedLinear({.weight = weight.to(DType::U8), .group_size = 48}); }),
                       "group_size"));
  EXPECT_TRUE(contains(message_of([&] { PackedLinear({.weight = weight, .bias = sample({9})}); }),
                       "expected floating bias [8]"));
  const PackedLinear linear({.weight = weight});
  EXPECT_TRUE(contains(message_of([&] { linear(sample({2, 63})); }), "expected x of 64 columns"));
  EXPECT_TRUE(contains(message_of([&] { linear.forward(sample({2, 64}), sample({3, 8})); }), "expected out"));
  EXPECT_TRUE(contains(message_of([&] { PackedLinear().forward(weight, weight); }), "empty"));
}

// ---- every instruction set
// ---------------------------------------------------------------------------------------------
namespace k = kernels;

std::vector<const k::QuantizedKernels*> quantized_kernels_here() {
  return k::kernels_here(&k::KernelLevel::quantized);
}

struct PanelSample {
  k::WeightFormat format;
  int64_t inputs, group;
  std::vector<uint8_t> bytes;
  std::vector<float> exact;  // exact: [inputs][64]

  PanelSample(k::WeightFormat format, int64_t inputs, int64_t group)
      : format(format), inputs(inputs), group(group), exact(static_cast<size_t>(inputs * k::kPanel)) {
    std::uniform_int_distribution<int> byte(0, 255);
    for (int64_t input = 0; input < inputs; ++input)
      for (int64_t j = 0; j < k::kPanel; ++j) add(input, j, byte(g_random));
  }

  // Numbers are made from the bytes that stand for them.
  void add(int64_t input, int64_t j, int byte) {
    float& value = exact[static_cast<size_t>(input * k::kPanel + j)];
    const auto put = [&](int64_t at, const auto& number) {
      bytes.resize(std::max(bytes.size(), static_cast<size_t>(at) + sizeof(number)));
      std::memcpy(bytes.data() + at, &number, sizeof(number));
    };
    const float number = static_cast<float>(byte - 128) / 64;
    const int64_t index = input * k::kPanel + j;
    switch (format) {
      case k::WeightFormat::F32: put(4 * index, number), value = number; break;
      case k::WeightFormat::F16: put(2 * index, Half(number)), value = number; break;
      case k::WeightFormat::BF16: put(2 * index, BFloat16(number)), value = number; break;
      case k::WeightFormat::Int8:
        put(input / 4 * 4 * k::kPanel + 4 * j + input % 4, static_cast<uint8_t>(byte));
        value = static_cast<float>(byte - 128);
        break;
      case k::WeightFormat::Int4: {
        const BFloat16 scale(0.25f * static_cast<float>(1 + (j + input / group) % 5)),
            zero(static_cast<float>(j % 7) - 3);
        const int64_t start = input / group * (4 * k::kPanel + group / 2 * k::kPanel), within = input % group;
        put(start + 2 * j, scale), put(start + 2 * k::kPanel + 2 * j, zero);
        const int64_t at = start + 4 * k::kPanel + within / 8 * 4 * k::kPanel + 4 * j + within % 4;
        bytes.resize(std::max(bytes.size(), static_cast<size_t>(at + 1)));
        bytes[static_cast<size_t>(at)] =
            static_cast<uint8_t>(bytes[static_cast<size_t>(at)] | (byte & 15) << (within % 8 / 4 * 4));
        value = static_cast<float>((byte & 15) - 8) * static_cast<float>(scale) + static_cast<float>(zero);
        break;
      }
      case k::WeightFormat::Groups: break;  // tests/python/test_gguf.py has these on every instruction set
    }
  }
};

TEST(QuantizedKernels, EveryInstructionSet) {
  for (const k::QuantizedKernels* kernels : quantized_kernels_here()) {
    for (int format = 0; format < static_cast<int>(k::WeightFormat::Groups); ++format) {
      for (const int64_t group : {32, 128}) {
        const int64_t inputs = 256 + group;
        const PanelSample panel(static_cast<k::WeightFormat>(format), inputs, group);
        for (int rows = 1; rows <= kernels->max_rows; ++rows) {
          SCOPED_TRACE(std::string(kernels->name) + " format " + std::to_string(format) + " rows " +
                       std::to_string(rows));
          const Tensor x = sample({rows, inputs});
          const int64_t groups = inputs / group;
          std::vector<float> sums(static_cast<size_t>(rows * groups)),
              y(static_cast<size_t>(rows * k::kPanel));
          for (int64_t i = 0; i < rows * inputs; ++i)
            sums[static_cast<size_t>(i / group)] += static_cast<float>(x.at(i));
          kernels->multiply[format][rows]({.x = x.data_as<float>(),
                                           .x_stride = inputs,
                                           .k = inputs,
                                           .weights = panel.bytes.data(),
                                           .group = group,
                                           .x_sums = sums.data(),
                                           .sums_stride = groups,
                                           .y = y.data()});
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < k::kPanel; ++j) {
              double sum = 0, magnitude = 0;
              for (int64_t p = 0; p < inputs; ++p) {
                const double product =
                    x.at(i * inputs + p) *
                    static_cast<double>(panel.exact[static_cast<size_t>(p * k::kPanel + j)]);
                sum += product, magnitude += std::abs(product) + 16 * std::abs(x.at(i * inputs + p));
              }
              ASSERT_NEAR(y[static_cast<size_t>(i * k::kPanel + j)], sum,
                          static_cast<double>(inputs) * 0x1p-24 * magnitude)
                  << i << " " << j;
            }
        }
      }
    }
  }
}

// What the machine with the fewest instructions gives, each other gives: sums of integers are exact.
TEST(QuantizedKernels, IntegerProducts) {
  for (const bool int4 : {false, true}) {
    for (const int64_t group : {32, 128}) {
      const int64_t inputs = 256 + 96, groups = (inputs + group - 1) / group, rows = k::kMaxDotRows;
      const PanelSample panel(int4 ? k::WeightFormat::Int4 : k::WeightFormat::Int8,
                              int4 ? groups * group : inputs, group);
      const Tensor x = sample({rows, inputs}, 3);
      for (const int planes : {1, 2}) {
        for (const k::QuantizedKernels* kernels : quantized_kernels_here()) {
          SCOPED_TRACE(std::string(kernels->name) + (int4 ? " int4" : " int8") + " planes " +
                       std::to_string(planes));
          std::vector<int8_t> values(static_cast<size_t>(rows * 2 * inputs));
          std::vector<float> scales(static_cast<size_t>(rows * groups)), sums(scales);
          std::vector<int32_t> starts(scales.size());
          for (int64_t i = 0; i < rows; ++i)
            kernels->quantize_row({.x = x.data_as<float>() + i * inputs,
                                   .k = inputs,
                                   .step = 4,
                                   .plane = inputs,
                                   .group = group,
                                   .planes = planes,
                                   .offset = int4 ? 8 : 128,
                                   .for_tiles = false,
                                   .has_scales = int4,
                                   .groups_stride = 1,
                                   .values = values.data() + i * 2 * inputs,
                                   .scales = scales.data() + i * groups,
                                   .sums = sums.data() + i * groups,
                                   .starts = starts.data() + i * groups});
          const auto rounded = [&](int64_t i, int64_t p) {
            const int8_t* const at = values.data() + i * 2 * inputs + p;
            return static_cast<double>(scales[static_cast<size_t>(i * groups + p / group)]) *
                   (planes == 2 ? at[0] * 256 + at[inputs] : at[0]);
          };
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t p = 0; p < inputs; ++p)
              ASSERT_NEAR(rounded(i, p), x.at(i * inputs + p), 3 * rounding_of(planes));
          k::DotArgs args{.x = values.data(),
                          .x_stride = 2 * inputs,
                          .x_plane = inputs,
                          .x_scales = scales.data(),
                          .x_sums = sums.data(),
                          .x_starts = starts.data(),
                          .groups_stride = groups,
                          .k = inputs,
                          .group = group,
                          .weights = panel.bytes.data(),
                          .scales = nullptr,
                          .y = nullptr};
          for (int64_t count = 1; count <= kernels->dot_rows[planes - 1]; ++count) {
            std::vector<float> y(static_cast<size_t>(count * k::kPanel), 1.0f);
            args.y = y.data();
            kernels->dot[int4][planes - 1][count](args);
            for (int64_t i = 0; i < count; ++i)
              for (int64_t j = 0; j < k::kPanel; ++j) {
                double sum = 1, magnitude = 1;
                for (int64_t p = 0; p < inputs; ++p) {
                  const double weight = panel.exact[static_cast<size_t>(p * k::kPanel + j)];
                  sum += rounded(i, p) * weight, magnitude += std::abs(rounded(i, p) * weight) + 48;
                }
                const double bound = static_cast<double>(groups + 3) * 0x1p-23 * magnitude;
                ASSERT_NEAR(y[static_cast<size_t>(i * k::kPanel + j)], sum, bound) << i << " " << j;
              }
          }
        }
      }
    }
  }
}

// Tiles of many rows give what few rows give, to the bit.
TEST(QuantizedKernels, TilesOfManyRows) {
  for (const k::QuantizedKernels* kernels : quantized_kernels_here()) {
    for (const int64_t group : {32, 64, 128, 256}) {
      for (const bool int4 : {false, true}) {
        for (const int planes : {1, 2}) {
          SCOPED_TRACE(std::string(kernels->name) + (int4 ? " int4 g" : " int8 g") + std::to_string(group) +
                       " planes " + std::to_string(planes));
          const int64_t inputs = 512 + (int4 ? 0 : 16), groups = (inputs + group - 1) / group, tiles = 3;
          const int64_t rows = kernels->tile_lines / planes, line = 4 * kernels->tile_lines;
          const PanelSample panel(int4 ? k::WeightFormat::Int4 : k::WeightFormat::Int8, inputs, group);
          std::vector<uint8_t> bytes(panel.bytes);
          std::vector<float> floats(static_cast<size_t>(groups * 2 * k::kPanel));
          bytes.resize(static_cast<size_t>(inputs * k::kPanel));
          if (int4) kernels->unpack_int4(panel.bytes.data(), inputs, group, bytes.data(), floats.data());

          const Tensor x = sample({tiles * rows, inputs}, 3);
          std::vector<int8_t> values(static_cast<size_t>(tiles * kernels->tile_lines * inputs)),
              plain(values);
          std::vector<float> scales(static_cast<size_t>(tiles * rows * groups)), sums(scales);
          std::vector<int32_t> starts(scales.size());
          k::QuantizeRowArgs row{.x = nullptr,
                                 .k = inputs,
                                 .step = 4,
                                 .plane = inputs,
                                 .group = group,
                                 .planes = planes,
                                 .offset = int4 ? 8 : 128,
                                 .for_tiles = false,
                                 .has_scales = int4,
                                 .groups_stride = 1,
                                 .values = plain.data(),
                                 .scales = scales.data(),
                                 .sums = sums.data(),
                                 .starts = starts.data()};
          std::vector<float> expected(static_cast<size_t>(tiles * rows * k::kPanel), 1.0f), y(expected);
          for (int64_t i = 0; i < tiles * rows; ++i) {
            row.x = x.data_as<float>() + i * inputs;
            kernels->quantize_row(row);
            kernels->dot[int4][planes - 1][1]({.x = plain.data(),
                                               .x_stride = 0,
                                               .x_plane = inputs,
                                               .x_scales = scales.data(),
                                               .x_sums = sums.data(),
                                               .x_starts = starts.data(),
                                               .groups_stride = 0,
                                               .k = inputs,
                                               .group = group,
                                               .weights = panel.bytes.data(),
                                               .scales = nullptr,
                                               .y = expected.data() + i * k::kPanel});
          }
          row.for_tiles = true, row.step = line, row.plane = 4, row.groups_stride = rows;
          for (int64_t i = 0; i < tiles * rows; ++i) {
            const int64_t tile = i / rows, within = i % rows, at = tile * groups * rows + within;
            row.x = x.data_as<float>() + i * inputs;
            row.values = values.data() + tile * kernels->tile_lines * inputs + within * 4 * planes;
            row.scales = scales.data() + at, row.sums = sums.data() + at, row.starts = starts.data() + at;
            kernels->quantize_row(row);
          }
          kernels->dot_tiles[int4][planes - 1]({.tiles = tiles,
                                                .x = values.data(),
                                                .x_stride = kernels->tile_lines * inputs,
                                                .x_scales = scales.data(),
                                                .x_sums = sums.data(),
                                                .x_starts = starts.data(),
                                                .groups_stride = groups * rows,
                                                .k = inputs,
                                                .group = group,
                                                .weights = bytes.data(),
                                                .scales = int4 ? floats.data() : nullptr,
                                                .y = y.data(),
                                                .next = bytes.data(),
                                                .next_bytes = 64});
          ASSERT_EQ(y, expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
