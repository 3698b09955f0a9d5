// weft/ops.h: a function for every operator, and the functions do what they say.
#include "frontend/ops_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/registry.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
namespace {

TEST(OpsHeader, HasAFunctionForEveryOperator) {
  const std::string text = frontend::ops_header();
  for (const auto& [name, op] : ops::all_ops()) {
    if (name != op->name) continue;
    EXPECT_THAT(text, testing::HasSubstr(" " + name + "("));
  }
}

TEST(OpsHeader, FunctionsAndOperators) {
  const Tensor x = Tensor::of<double>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ((2.0 * x + 1 - x / 2.0).at(3), 7);
  EXPECT_EQ(sum(x, 1).at(0), 3);
  EXPECT_EQ(sum(x).item().to_double(), 10);
  EXPECT_EQ(argmin(norm(x - unsqueeze(x, 1), 2.0, {2}), 0).shape(), Shape{2});
  EXPECT_EQ(where(x > 2, x, -x).at(0), -1);
  EXPECT_EQ(clip(x, 2.0, 3.0).at(3), 3);
  EXPECT_EQ(stack({x, x}, 1).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(zeros({2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(chunk(x, 2).size(), 2u);
  EXPECT_EQ(split(x, 1, 1).size(), 2u);
  EXPECT_EQ(array_split(zeros({7}), 3).size(), 3u);
  EXPECT_EQ(index(x, {Tensor(), Tensor::of<int64_t>({1})}).at(1), 4);
}

TEST(OpsHeader, KMeansInCpp) {
  const auto assign =
      compile([](Tensor x, Tensor means) { return argmin(norm(x - unsqueeze(means, 1), 2.0, {2}), 0); });
  const Tensor x = Tensor::of<double>({5, 6, 11, 9, 7, 7, 9, 9}, {4, 2}),
               means = Tensor::of<int64_t>({5, 5, 10, 10}, {2, 2});
  const Tensor labels = assign(x, means);
  std::vector<int64_t> got(labels.data_as<int64_t>(), labels.data_as<int64_t>() + 4);
  EXPECT_EQ(got, (std::vector<int64_t>{0, 1, 0, 1}));
}

TEST(Call, Mistakes) {
  const Tensor x = Tensor::of<double>({1, 2});
  const auto message = [&](auto f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([&] { call("frobnicate", {x}); }), "weft has no operator 'frobnicate'");
  EXPECT_THAT(message([&] { call("sum", {x}, {{"axis", int64_t{0}}}); }),
              testing::HasSubstr("sum: no argument 'axis'"));
  EXPECT_THAT(message([&] { call("sum", {Scalar(1.0)}); }),
              testing::HasSubstr("sum: expected a tensor, got the number 1"));
}

}  // namespace
}  // namespace weft
