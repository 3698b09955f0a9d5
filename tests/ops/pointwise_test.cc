// Every pointwise operator of the table, over its dtypes and memory layouts.
#include <gmock/gmock.h>

#include "ops/harness.h"

namespace weft::ops::harness {
namespace {

const OpDef& op_named(const std::string& name) { return get_op(name); }

std::vector<std::string> pointwise_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : all_ops()) {
    if (op->kind == OpKind::Pointwise && op->semantics != nullptr && operand_count(*op) > 0)
      names.push_back(name);
  }
  return names;
}

std::vector<Tensor> operands_of(const OpDef& op, DType dtype, const Shape& shape, bool special) {
  std::vector<Tensor> operands;
  for (size_t i = 0; i < operand_count(op); ++i) {
    const bool is_condition = i == 0 && op.name == "where";
    operands.push_back(sample(shape, is_condition ? DType::Bool : dtype, op.sample_low, op.sample_high,
                              static_cast<unsigned>(17 * i + 1), special));
  }
  return operands;
}

class Pointwise : public ::testing::TestWithParam<std::string> {
 protected:
  const OpDef& op() const { return op_named(GetParam()); }
};

// The expression that code generation prints and the eager loop are one definition: equal to the last bit.
TEST_P(Pointwise, ExpressionEqualsEagerLoop) {
  const Attrs attrs = default_attrs(op());
  for (DType dtype : dtypes_in(op().dtypes)) {
    for (bool special : {false, true}) {
      const std::vector<Tensor> operands = operands_of(op(), dtype, {300}, special);
      const Tensor eager = call(op(), {operands, attrs})[0];
      std::vector<scalar::Expr> arguments;
      for (size_t i = 0; i < operands.size(); ++i)
        arguments.push_back(scalar::Expr::arg(static_cast<int>(i), operands[i].dtype()));
      const scalar::Expr expression = op().semantics(arguments, attrs);
      ASSERT_EQ(expression.dtype(), eager.dtype()) << name(dtype);
      for (int64_t i = 0; i < eager.numel(); ++i) {
        std::vector<scalar::Element> elements;
        std::string shown;
        for (const Tensor& operand : operands) {
          elements.push_back(element_at(operand, i));
          shown += " " + element_text(elements.back());
        }
        const scalar::Element expected = scalar::evaluate(expression, elements);
        ASSERT_TRUE(same_element(expected, element_at(eager, i)))
            << GetParam() << " " << name(dtype) << " of" << shown << ": expression " << element_text(expected)
            << ", eager " << element_text(element_at(eager, i));
      }
    }
  }
}

TEST_P(Pointwise, LayoutsDoNotMatter) {
  const Attrs attrs = default_attrs(op());
  for (DType dtype : dtypes_in(op().dtypes)) {
    const std::vector<Tensor> plain = operands_of(op(), dtype, {5, 13, 11}, true);
    for (int layout = 0; layout < static_cast<int>(Layout::kCount); ++layout) {
      std::vector<Tensor> arranged, reference;
      for (size_t i = 0; i < plain.size(); ++i) {
        // Operands in different layouts at once.
        const auto each =
            static_cast<Layout>((layout + static_cast<int>(i)) % static_cast<int>(Layout::kCount));
        arranged.push_back(with_layout(plain[i], each));
        reference.push_back(arranged.back().clone());
      }
      ASSERT_TRUE(same_tensor(call(op(), {arranged, attrs})[0], call(op(), {reference, attrs})[0]))
          << GetParam() << " " << name(dtype) << " " << layout_name(static_cast<Layout>(layout));
    }
  }
}

TEST_P(Pointwise, BroadcastsScalarsAndEmpties) {
  const Attrs attrs = default_attrs(op());
  for (DType dtype : dtypes_in(op().dtypes)) {
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{1}}) {
      const Tensor result = call(op(), {operands_of(op(), dtype, shape, false), attrs})[0];
      EXPECT_EQ(result.shape(), shape) << name(dtype);
    }
    if (operand_count(op()) < 2) continue;
    std::vector<Tensor> operands = operands_of(op(), dtype, {4, 3}, false);
    const Tensor zero_dim = operands_of(op(), dtype, {}, false).back();
    std::vector<Tensor> stretched = operands;
    operands.back() = zero_dim;
    stretched.back() = zero_dim.as_strided({4, 3}, {0, 0}, 0).clone();
    EXPECT_TRUE(same_tensor(call(op(), {operands, attrs})[0], call(op(), {stretched, attrs})[0]))
        << name(dtype);
  }
}

TEST_P(Pointwise, RejectsOtherDtypes) {
  for (DType dtype : dtypes_in(kAllDTypes & ~op().dtypes)) {
    const std::vector<Tensor> operands = operands_of(op(), dtype, {2}, false);
    EXPECT_THAT(error_of([&] { call(op(), {operands, default_attrs(op())}); }),
                ::testing::HasSubstr(op().name + ": dtype not supported: expected " + str(op().dtypes) +
                                     ", got " + std::string(name(dtype)) + "\n"));
  }
}

TEST_P(Pointwise, IsDocumented) {
  EXPECT_FALSE(op().doc.empty());
  EXPECT_FALSE(op().numpy.empty());
}

INSTANTIATE_TEST_SUITE_P(AllOperators, Pointwise, ::testing::ValuesIn(pointwise_names()),
                         [](const auto& info) { return info.param; });

TEST(Threads, LargeArraysEqualSmallOnes) {
  const Tensor x = sample({301, 1009}, DType::F32, -3, 3, 5);
  const Tensor whole = call1("exp", {x});
  for (int64_t row : {0, 150, 300}) {
    const Tensor one = x.as_strided({1009}, {1}, row * 1009);
    EXPECT_TRUE(same_tensor(call1("exp", {one}), whole.as_strided({1009}, {1}, row * 1009)));
  }
}

}  // namespace
}  // namespace weft::ops::harness
