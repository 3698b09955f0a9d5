// The expected strings are what PyTorch prints for the same tensors (with its own name for dtypes).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "weft/tensor.h"

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string show(std::vector<double> values, DType dtype = DType::F32, Shape shape = {-1}) {
  return Tensor::of(values, shape).to(dtype).str();
}

Tensor range(Shape shape, DType dtype) {
  std::vector<int64_t> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  return Tensor::of(values, shape).to(dtype);
}

TEST(Print, Floats) {
  EXPECT_EQ(show({1, 2, 3}), "tensor([1., 2., 3.])");
  EXPECT_EQ(show({0, 0}), "tensor([0., 0.])");
  EXPECT_EQ(show({1.5, -2}), "tensor([ 1.5000, -2.0000])");
  EXPECT_EQ(show({0.1, 0.2}, DType::F64), "tensor([0.1000, 0.2000], dtype=weft.float64)");
  EXPECT_EQ(show({1, 1000000}), "tensor([1.0000e+00, 1.0000e+06])");
  EXPECT_EQ(show({0.00001, 0.00002}), "tensor([1.0000e-05, 2.0000e-05])");
  EXPECT_EQ(show({100, 1000}), "tensor([ 100., 1000.])");
  EXPECT_EQ(show({1, kInf, -kInf, kNan}), "tensor([1., inf, -inf, nan])");
  EXPECT_EQ(show({1.5, kInf, kNan}), "tensor([1.5000,    inf,    nan])");
  EXPECT_EQ(show({1.5}, DType::F16), "tensor([1.5000], dtype=weft.float16)");
  EXPECT_EQ(show({3.14159}, DType::BF16), "tensor([3.1406], dtype=weft.bfloat16)");
  EXPECT_EQ(Tensor::scalar(3.14159, DType::F32).str(), "tensor(3.1416)");
  EXPECT_EQ(Tensor::scalar(2, DType::F32).str(), "tensor(2.)");
}

TEST(Print, IntegersAndBools) {
  EXPECT_EQ(show({1, 20, -3}, DType::I64), "tensor([ 1, 20, -3])");
  EXPECT_EQ(show({1, 2}, DType::U8), "tensor([1, 2], dtype=weft.uint8)");
  EXPECT_EQ(show({1, 0}, DType::Bool), "tensor([ True, False])");
  EXPECT_EQ(Tensor::of<uint64_t>({UINT64_MAX}).str(), "tensor([18446744073709551615], dtype=weft.uint64)");
  EXPECT_EQ(Tensor::scalar(true, DType::Bool).str(), "tensor(True)");
}

TEST(Print, Complex) {
  const Tensor x = Tensor::of<std::complex<float>>({{1, 2}, {-3, -4}});
  EXPECT_EQ(x.str(), "tensor([ 1.+2.j, -3.-4.j])");
  EXPECT_EQ(x.to(DType::C128).str(), "tensor([ 1.+2.j, -3.-4.j], dtype=weft.complex128)");
  const Tensor y = Tensor::of<std::complex<float>>({{1.5, -2}});
  EXPECT_EQ(y.str(), "tensor([1.5000-2.j])");
}

TEST(Print, Matrices) {
  EXPECT_EQ(range({2, 3}, DType::F32).str(), "tensor([[0., 1., 2.],\n        [3., 4., 5.]])");
  EXPECT_EQ(range({2, 1, 2}, DType::I64).str(), "tensor([[[0, 1]],\n\n        [[2, 3]]])");
  EXPECT_EQ(range({30}, DType::I64).str(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
}

TEST(Print, Summaries) {
  EXPECT_EQ(range({1001}, DType::I64).str(), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  EXPECT_EQ(range({1002}, DType::F32).str(),
            "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.9900e+02, 1.0000e+03,\n"
            "        1.0010e+03])");
  EXPECT_EQ(range({100, 20}, DType::I64).str(),
            "tensor([[   0,    1,    2,  ...,   17,   18,   19],\n"
            "        [  20,   21,   22,  ...,   37,   38,   39],\n"
            "        [  40,   41,   42,  ...,   57,   58,   59],\n"
            "        ...,\n"
            "        [1940, 1941, 1942,  ..., 1957, 1958, 1959],\n"
            "        [1960, 1961, 1962,  ..., 1977, 1978, 1979],\n"
            "        [1980, 1981, 1982,  ..., 1997, 1998, 1999]])");
}

TEST(Print, EmptyMetaAndSuffixes) {
  EXPECT_EQ(Tensor::empty({0}, DType::F32).str(), "tensor([])");
  EXPECT_EQ(Tensor::empty({0}, DType::I64).str(), "tensor([], dtype=weft.int64)");
  EXPECT_EQ(Tensor::empty({2, 0}, DType::F32).str(), "tensor([], size=(2, 0))");
  EXPECT_EQ(Tensor::empty({3}, DType::F32, Device::parse("meta")).str(),
            "tensor(..., device='meta', size=(3,))");
  EXPECT_EQ(range({22}, DType::I32).str(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21], dtype=weft.int32)");
  EXPECT_EQ(range({17}, DType::I32).str(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16],\n"
            "       dtype=weft.int32)");
}

}  // namespace
}  // namespace weft
