// What follows the sums of a product: every instruction set against the formulas in float64, and with the
// bits of each other.
#include "kernels/cpu/finish_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/levels.h"
#include "weft/dtype.h"

namespace weft::kernels {
namespace {

constexpr RowActivation kActivations[] = {
    RowActivation::None,        RowActivation::Relu, RowActivation::Relu6,   RowActivation::HardSwish,
    RowActivation::HardSigmoid, RowActivation::Silu, RowActivation::GeluErf, RowActivation::GeluTanh};

double expected_of(RowActivation activation, double x) {
  const auto hard = [](double value) { return std::min(std::max(value + 3, 0.0), 6.0) / 6; };
  switch (activation) {
    case RowActivation::None: return x;
    case RowActivation::Relu: return x < 0 ? 0 : x;
    case RowActivation::Relu6: return std::min(std::max(x, 0.0), 6.0);
    case RowActivation::HardSwish: return x * hard(x);
    case RowActivation::HardSigmoid: return hard(x);
    case RowActivation::Silu: return x / (1 + std::exp(-x));
    case RowActivation::GeluErf: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case RowActivation::GeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

struct Finished {
  int64_t rows, columns;
  bool integers, bfloat16, residual_first, scaled;
  RowActivation activation;
};

class FinishSample {
 public:
  FinishSample(const Finished& c, std::mt19937& random) : c_(c), stride_((c.columns + 15) / 16 * 16) {
    std::uniform_real_distribution<float> uniform(-4, 4);
    const auto fill = [&](std::vector<float>& x, int64_t count) {
      x.resize(static_cast<size_t>(count));
      for (float& value : x) value = uniform(random);
    };
    fill(sums_, c.rows * stride_), fill(row_scales_, c.rows), fill(scales_, stride_), fill(bias_, stride_);
    fill(residual_, c.rows * (c.columns + 1));
    for (float& value : residual_) value = static_cast<float>(BFloat16(value));
    for (const float value : sums_) integers_.push_back(static_cast<int32_t>(value * 10));
  }

  std::vector<float> run(FinishRowsFn finish) const {
    const size_t count = static_cast<size_t>(c_.rows * (c_.columns + 3) + 1);
    std::vector<float> y(count, 77.0f);
    std::vector<BFloat16> halves(count, BFloat16(77.0f)), residual;
    for (const float value : residual_) residual.push_back(BFloat16(value));
    finish({.rows = c_.rows,
            .columns = c_.columns,
            .sums = c_.integers ? static_cast<const void*>(integers_.data()) : sums_.data(),
            .sums_stride = stride_,
            .integers = c_.integers,
            .row_scales = c_.scaled ? row_scales_.data() : nullptr,
            .scales = c_.scaled ? scales_.data() : nullptr,
            .bias = c_.scaled ? bias_.data() : nullptr,
            .activation = c_.activation,
            .residual_first = c_.residual_first,
            .bfloat16 = c_.bfloat16,
            .residual = c_.bfloat16 ? static_cast<const void*>(residual.data()) : residual_.data(),
            .residual_stride = c_.columns + 1,
            .y = c_.bfloat16 ? static_cast<void*>(halves.data()) : y.data(),
            .y_stride = c_.columns + 3});
    if (c_.bfloat16)
      for (size_t i = 0; i < count; ++i) y[i] = static_cast<float>(halves[i]);
    return y;
  }

  void check(const std::vector<float>& y) const {
    for (int64_t i = 0; i < c_.rows; ++i)
      for (int64_t j = 0; j < c_.columns + 3; ++j) {
        const float got = y[static_cast<size_t>(i * (c_.columns + 3) + j)];
        if (j >= c_.columns) {
          ASSERT_EQ(got, 77.0f);
          continue;
        }
        const auto at = static_cast<size_t>(i * stride_ + j), column = static_cast<size_t>(j);
        double value = c_.integers ? integers_[at] : static_cast<double>(sums_[at]);
        if (c_.scaled) value = value * row_scales_[static_cast<size_t>(i)] * scales_[column] + bias_[column];
        const double residual = residual_[static_cast<size_t>(i * (c_.columns + 1) + j)];
        if (c_.residual_first) value += residual;
        double expected = expected_of(c_.activation, value);
        if (!c_.residual_first) expected += residual;
        const double error = 2e-5 * (1 + std::abs(value)) + (c_.bfloat16 ? 0x1p-8 * std::abs(expected) : 0);
        ASSERT_NEAR(got, expected, error) << i << " " << j << " " << static_cast<int>(c_.activation);
      }
    ASSERT_EQ(y.back(), 77.0f);
  }

 private:
  const Finished c_;
  const int64_t stride_;
  std::vector<float> sums_, row_scales_, scales_, bias_, residual_;
  std::vector<int32_t> integers_;
};

std::vector<FinishRowsFn> levels() { return kernels_here(&KernelLevel::finish_rows); }

TEST(FinishRows, EveryInstructionSetAndForm) {
  std::mt19937 random(3);
  for (const RowActivation activation : kActivations)
    for (const int64_t columns : {0, 1, 3, 4, 15, 16, 17, 40})
      for (int form = 0; form < 16; ++form) {
        const Finished c{
            3, columns, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0, (form & 8) != 0, activation};
        const FinishSample sample(c, random);
        const std::vector<float> first = sample.run(finish_rows_baseline);
        sample.check(first);
        for (const FinishRowsFn finish : levels()) {
          const std::vector<float> y = sample.run(finish);
          ASSERT_EQ(std::memcmp(y.data(), first.data(), y.size() * sizeof(float)), 0);
        }
      }
}

TEST(FinishRows, RoundsHalvesToEvenAndKeepsWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const auto number = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  const float sums[16] = {number(0x3f808000),
                          number(0x3f818000),
                          number(0x3f808001),
                          number(0x7f7fffff),
                          infinity,
                          -infinity,
                          nan,
                          number(0x7f800001),
                          -0.0f,
                          number(0x00008001),
                          1.0f,
                          -1.0f};
  for (const FinishRowsFn finish : levels()) {
    uint16_t y[12];
    finish({.rows = 1,
            .columns = 12,
            .sums = sums,
            .sums_stride = 16,
            .integers = false,
            .row_scales = nullptr,
            .scales = nullptr,
            .bias = nullptr,
            .activation = RowActivation::None,
            .residual_first = false,
            .bfloat16 = true,
            .residual = nullptr,
            .residual_stride = 0,
            .y = y,
            .y_stride = 12});
    for (int i = 0; i < 12; ++i) {
      const float got = number(static_cast<uint32_t>(y[i]) << 16);
      if (sums[i] != sums[i])
        EXPECT_NE(got, got);
      else
        EXPECT_EQ(y[i], std::bit_cast<uint16_t>(BFloat16(sums[i]))) << i;
    }
  }
}

}  // namespace
}  // namespace weft::kernels
