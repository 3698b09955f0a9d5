// The same call on the host and on the device cuda:0, which is emulated unless WEFT_TEST_GPU=1 (docs/GPU.md).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "ops/harness.h"
#include "support/random_graph.h"
#include "weft/ops.h"

namespace weft::gpu_testing {

using ::testing::HasSubstr;
using testing_support::difference;
using testing_support::error_of;
using testing_support::random_tensor;

[[maybe_unused]] inline const int emulates =
    std::getenv("WEFT_TEST_GPU") == nullptr ? ::setenv("WEFT_DEVICE_EMULATE", "1", 1) : 0;
inline const Device kThere{DeviceType::CUDA, 0};

inline Tensor sample(const Shape& shape, DType dtype, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  return random_tensor(random, shape, dtype);
}

// A result there beside the one it should be. `bound` is relative to the size of what is added.
inline void expect_near(const char* op, const Tensor& got, const Tensor& want, double bound, double scale) {
  EXPECT_EQ(got.device(), kThere);
  EXPECT_EQ(difference({got.to(Device())}, {want},
                       [&](DType dtype, double a, double b) {
                         return is_inexact(dtype) && std::abs(a - b) <= bound * (scale + std::abs(b));
                       }),
            "")
      << op;
}

// The same call on both, with operands at the same strides.
inline void expect_same(const char* op, const std::vector<Tensor>& operands, const ops::Attrs& attrs,
                        double bound, double scale = 1) {
  std::vector<Tensor> there;
  for (const Tensor& x : operands) {
    if (!x.defined()) {
      there.push_back(x);
      continue;
    }
    // All of the storage, so that strides and offsets are the same.
    const int64_t all = static_cast<int64_t>(x.storage()->nbytes()) / itemsize(x.dtype());
    const Tensor whole(x.storage(), x.dtype(), {all}, {1});
    there.push_back(whole.to(kThere).as_strided(x.shape(), x.strides(), x.offset()));
  }
  const std::vector<Tensor> want = ops::call(ops::get_op(op), {operands, attrs});
  const std::vector<Tensor> got = ops::call(ops::get_op(op), {there, attrs});
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) expect_near(op, got[k], want[k], bound, scale);
}

inline double bound_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return 1e-12;
    case DType::F32: return 1e-5;
    case DType::F16: return 2e-3;
    default: return 1e-2;
  }
}

inline Tensor turned(const Tensor& x) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::swap(strides[shape.size() - 1], strides[shape.size() - 2]);
  return x.as_strided(shape, strides, x.offset());
}

}  // namespace weft::gpu_testing
