// Which dtype an operator computes in, under both sets of rules.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ops/harness.h"

namespace weft::ops::harness {
namespace {

nlohmann::json torch_table() {
  const char* folder = std::getenv("WEFT_SHARED_DATA");
  std::ifstream file(std::string(folder ? folder : "../shared/data") + "/torch_goldens/type_promotion.json");
  return file ? nlohmann::json::parse(file) : nlohmann::json();
}

Tensor of_dtype(const std::string& name, int64_t dim) {
  return Tensor::full(dim == 0 ? Shape{} : Shape{2}, Scalar(1), dtype_from_name(name).value());
}

DType result_of(std::string_view op, std::vector<Operand> operands, Promotion rules) {
  return promoted_types(get_op(op), operands, rules).result;
}

TEST(TorchPromotion, EqualsPyTorchsTables) {
  const nlohmann::json table = torch_table();
  if (table.is_null()) GTEST_SKIP() << "type_promotion.json is absent: set WEFT_SHARED_DATA";
  for (const auto& [left, row] : table["promote_types"].items()) {
    for (const auto& [right, expected] : row.items())
      EXPECT_EQ(name(result_of("add", {of_dtype(left, 1), of_dtype(right, 1)}, Promotion::Torch)),
                expected.get<std::string>())
          << left << " with " << right;
  }
  for (const auto& [left, row] : table["tensor_with_0d_tensor"].items()) {
    for (const auto& [right, expected] : row.items()) {
      // There is no complex32 here: float16 with a complex operand gives complex64.
      if (!dtype_from_name(expected.get<std::string>())) continue;
      EXPECT_EQ(name(result_of("add", {of_dtype(left, 1), of_dtype(right, 0)}, Promotion::Torch)),
                expected.get<std::string>())
          << left << " with 0-d " << right;
    }
  }
  const std::map<std::string, Scalar> scalars = {{"bool", Scalar(true)},
                                                 {"int", Scalar(1)},
                                                 {"float", Scalar(1.0)},
                                                 {"complex", Scalar(std::complex<double>(1, 1))}};
  for (const auto& [left, row] : table["tensor_with_python_scalar"].items()) {
    for (const auto& [right, expected] : row.items()) {
      if (!dtype_from_name(expected.get<std::string>())) continue;
      EXPECT_EQ(name(result_of("add", {of_dtype(left, 1), scalars.at(right)}, Promotion::Torch)),
                expected.get<std::string>())
          << left << " with Python " << right;
    }
  }
}

// NumPy 2: one-byte integers compute in float16, two-byte ones in float32, wider ones in float64.
TEST(NumPyPromotion, FloatOnlyFollowsTheWidth) {
  const std::pair<const char*, DType> rows[] = {
      {"bool", DType::F16},   {"int8", DType::F16},    {"uint8", DType::F16},   {"int16", DType::F32},
      {"uint16", DType::F32}, {"int32", DType::F64},   {"uint32", DType::F64},  {"int64", DType::F64},
      {"uint64", DType::F64}, {"float16", DType::F16}, {"float32", DType::F32}, {"complex64", DType::C64}};
  for (const auto& [dtype, expected] : rows)
    EXPECT_EQ(result_of("sqrt", {of_dtype(dtype, 1)}, Promotion::NumPy), expected) << dtype;
  EXPECT_EQ(result_of("true_divide", {of_dtype("int8", 1), of_dtype("int8", 1)}, Promotion::NumPy),
            DType::F64);
  EXPECT_EQ(result_of("true_divide", {of_dtype("int8", 1), of_dtype("int8", 1)}, Promotion::Torch),
            DType::F32);
}

TEST(NumPyPromotion, BoolWithoutALoopBecomesInt8) {
  for (const char* op : {"floor_divide", "remainder", "fmod", "pow", "left_shift", "right_shift"})
    EXPECT_EQ(result_of(op, {of_dtype("bool", 1), of_dtype("bool", 1)}, Promotion::NumPy), DType::I8) << op;
  EXPECT_EQ(result_of("square", {of_dtype("bool", 1)}, Promotion::NumPy), DType::I8);
  const Tensor flags = of_dtype("bool", 1);
  EXPECT_THAT(error_of([&] { invoke("sub", {flags, flags}, Promotion::NumPy); }),
              ::testing::HasSubstr("sub: dtype not supported"));
  EXPECT_EQ(invoke("add", {flags, flags}, Promotion::NumPy).dtype(), DType::Bool);
}

TEST(NumPyPromotion, ComparesWithIntegersOutOfRange) {
  const Tensor bytes = Tensor::of<uint8_t>({0, 200, 255});
  const Tensor less = invoke("lt", {bytes, Scalar(300)}, Promotion::NumPy);
  EXPECT_EQ(less.at(2), 1);
  EXPECT_EQ(invoke("gt", {bytes, Scalar(-1)}, Promotion::NumPy).at(0), 1);
  EXPECT_THAT(
      error_of([&] { invoke("add", {bytes, Scalar(-1)}, Promotion::NumPy); }),
      ::testing::HasSubstr("add: Python integer -1 out of bounds for uint8: expected one in [0, 255]"));
}

TEST(NumPyPromotion, ReciprocalOfIntegersStaysInteger) {
  const Tensor x = Tensor::of<int32_t>({1, 2, -1, 0});
  EXPECT_EQ(invoke("reciprocal", {x}, Promotion::NumPy).dtype(), DType::I32);
  EXPECT_EQ(invoke("reciprocal", {x}, Promotion::Torch).dtype(), DType::F32);
}

TEST(Where, ConditionDoesNotPromote) {
  const Tensor condition = Tensor::of<int64_t>({0, 7});
  const Tensor result = invoke("where", {condition, Scalar(1.0), of_dtype("float32", 1)}, Promotion::NumPy);
  EXPECT_EQ(result.dtype(), DType::F32);
}

}  // namespace
}  // namespace weft::ops::harness
