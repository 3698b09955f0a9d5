#include "ops/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/schema.h"
#include "support/error_of.h"

namespace weft::ops {
namespace {

using testing_support::error_of;

TEST(Schema, ParsesTypesDefaultsAndKeywordOnly) {
  const Schema schema =
      parse_schema("(Tensor x, int[]? dim=None, Scalar alpha=1, *, str mode='none') -> (Tensor, Tensor)");
  ASSERT_EQ(schema.params.size(), 4u);
  EXPECT_EQ(schema.num_outputs, 2);
  EXPECT_TRUE(schema.params[1].optional);
  EXPECT_EQ(std::get<Scalar>(schema.params[2].default_value), Scalar(1));
  EXPECT_TRUE(schema.params[3].keyword_only);
  EXPECT_EQ(std::get<std::string>(schema.params[3].default_value), "none");
}

TEST(Schema, ListsOfFixedLengthTellOperandsApart) {
  const Schema schema = parse_schema("(Tensor x, Tensor[2] hx, Tensor[] params) -> Tensor");
  EXPECT_EQ(schema.params[1].list_length, 2);
  EXPECT_EQ(schema.params[2].num_operands(), -1);
  EXPECT_THAT(error_of([] { parse_schema("(Tensor[] x, Tensor[] y) -> Tensor"); }),
              testing::HasSubstr("a list of any length beside another"));
}

TEST(Call, AddsWithBroadcasting) {
  const Tensor a = Tensor::of<float>({1, 2, 3}, {3, 1}), b = Tensor::of<float>({10, 20});
  const Tensor sum = call1("add", {a, b});
  EXPECT_EQ(sum.shape(), (Shape{3, 2}));
  EXPECT_EQ(sum.at(3), 22);
}

TEST(Call, ErrorsDescribeOperands) {
  const Tensor a = Tensor::of<float>({1, 2, 3}), b = Tensor::of<float>({1, 2}), c = Tensor::of<double>({1});
  EXPECT_THAT(error_of([&] { call1("mul", {a, b}); }),
              testing::HasSubstr("mul: shapes [3] and [2] do not broadcast"));
  EXPECT_THAT(error_of([&] { call1("mul", {a, c}); }),
              testing::HasSubstr("mul: operands must have one dtype: expected float64, got float32\n  x: "
                                 "f32[3] cpu   y: f64[1] cpu"));
  EXPECT_THAT(error_of([&] { call1("add", {a}); }),
              testing::HasSubstr("add: expected 2 tensor operands, got 1"));
  const Tensor flags = Tensor::of<uint8_t>({1}).to(DType::Bool);
  EXPECT_THAT(error_of([&] { call1("sub", {flags, flags}); }),
              testing::HasSubstr("sub: dtype not supported: expected integer, floating, complex, got bool"));
}

TEST(Invoke, PromotesWeakScalarsUnderBothRules) {
  const Tensor bytes = Tensor::of<int8_t>({1, 2});
  EXPECT_EQ(invoke("add", {bytes, Scalar(1)}, Promotion::NumPy).dtype(), DType::I8);
  EXPECT_EQ(invoke("add", {bytes, Scalar(1.5)}, Promotion::NumPy).dtype(), DType::F64);
  EXPECT_EQ(invoke("add", {bytes, Scalar(1.5)}, Promotion::Torch).dtype(), DType::F32);
  EXPECT_THAT(error_of([&] { invoke("add", {bytes, Scalar(300)}, Promotion::NumPy); }),
              testing::HasSubstr("add: Python integer 300 out of bounds for int8"));
  EXPECT_EQ(invoke("add", {bytes, Tensor::scalar(Scalar(7), DType::I64)}, Promotion::Torch).dtype(),
            DType::I8);
  EXPECT_EQ(invoke("add", {bytes, Tensor::scalar(Scalar(7), DType::I64)}, Promotion::NumPy).dtype(),
            DType::I64);
}

TEST(Reduction, SumsAnyAxes) {
  Tensor x = Tensor::empty({4, 5, 6}, DType::F64);
  for (int64_t i = 0; i < x.numel(); ++i) x.data_as<double>()[i] = static_cast<double>(i);
  EXPECT_EQ(call1("sum", {x}).item().to_double(), 119.0 * 60);
  const Tensor middle = call1("sum", {x}, {{"dim", SymShape{Sym(1)}}});
  EXPECT_EQ(middle.shape(), (Shape{4, 6}));
  EXPECT_EQ(middle.at(0), 0 + 6 + 12 + 18 + 24);
  const Tensor outer = call1("sum", {x}, {{"dim", SymShape{Sym(0), Sym(-1)}}, {"keepdim", true}});
  EXPECT_EQ(outer.shape(), (Shape{1, 5, 1}));
  EXPECT_EQ(call1("argmax", {x}, {{"dim", Sym(1)}}).at(7), 4);
}

}  // namespace
}  // namespace weft::ops
