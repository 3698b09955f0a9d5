// PyTorch's rules in C++: what weft/ops.h refuses, eagerly and in compiled functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/compile.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor integers(std::vector<int64_t> values, DType dtype = DType::I64) {
  return Tensor::of(values).to(dtype);
}

TEST(TorchRules, IntegersAreNotDividedByZero) {
  const auto divisions = {+[](Tensor x, Tensor y) { return floor_divide(x, y); },
                          +[](Tensor x, Tensor y) { return remainder(x, y); },
                          +[](Tensor x, Tensor y) { return fmod(x, y); },
                          +[](Tensor x, Tensor y) { return div(x, y, "trunc"); }};
  for (const auto divide : divisions) {
    const auto compiled = compile(divide);
    for (const DType dtype : {DType::U8, DType::I16, DType::I64}) {
      const Tensor x = integers({7, 8, 9}, dtype), y = integers({2, 3, 4}, dtype);
      const Tensor zero = integers({1, 0, 1}, dtype);
      EXPECT_EQ(compiled(x, y).at(1), divide(x, y).at(1));
      EXPECT_THAT([&] { divide(x, zero); }, ThrowsMessage<Error>(HasSubstr("ZeroDivisionError")));
      EXPECT_THAT([&] { compiled(x, zero); }, ThrowsMessage<Error>(HasSubstr("ZeroDivisionError")));
    }
    EXPECT_THAT([&] { divide(integers({1}), reshape(integers({0}), std::vector<int64_t>{})); },
                ThrowsMessage<Error>(HasSubstr("ZeroDivisionError")));
  }
}

TEST(TorchRules, NoNegativePowersOfIntegers) {
  const auto power = [](Tensor x) { return pow(x, -1); };
  EXPECT_THAT([&] { power(integers({1, 2})); }, ThrowsMessage<Error>(HasSubstr("negative integer powers")));
  EXPECT_THAT([&] { compile(power)(integers({1, 2})); },
              ThrowsMessage<Error>(HasSubstr("negative integer powers")));
}

TEST(TorchRules, TruthOfUint8IsUint8) {
  EXPECT_EQ(all(integers({1, 0}, DType::U8)).dtype(), DType::U8);
  EXPECT_EQ(any(integers({1, 0}, DType::U8)).at(0), 1);
  EXPECT_EQ(all(integers({1, 0}, DType::I8)).dtype(), DType::Bool);
}

TEST(TorchRules, OneBoolForEqual) {
  const Tensor x = integers({1, 2});
  EXPECT_EQ(equal(x, x).at(0), 1);
  EXPECT_EQ(equal(x, integers({1, 3})).at(0), 0);
  EXPECT_EQ(equal(x, integers({1, 2, 3})).at(0), 0);
}

}  // namespace
}  // namespace weft
