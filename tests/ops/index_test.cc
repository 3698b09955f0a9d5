// Selections by masks. Values over layouts and dtypes are compared with NumPy in
// tests/python/test_ops_numpy.py.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/build.h"
#include "ops/registry.h"

namespace weft::ops {
namespace {

Tensor flags(const Shape& shape, const std::function<uint8_t(int64_t)>& flag) {
  Tensor mask = Tensor::empty(shape, DType::Bool);
  for (int64_t i = 0; i < mask.numel(); ++i) {
    const uint8_t byte = flag(i);
    std::memcpy(static_cast<char*>(mask.data()) + i, &byte, 1);
  }
  return mask;
}

// Sizes around the words and chunks that the flags are read in.
TEST(Masks, SelectElementsAndPositions) {
  for (const Shape& shape : {Shape{0},
                             {1},
                             {7},
                             {8},
                             {9},
                             {16383},
                             {16384},
                             {16385},
                             {40000},
                             {3, 0},
                             {5, 7},
                             {129, 300},
                             {2, 20000},
                             {33, 1, 17}}) {
    for (int64_t every : {1, 2, 5, 1000, 1 << 20}) {
      const Tensor mask = flags(shape, [&](int64_t i) { return i % every == every - 1; });
      Tensor x = Tensor::empty(shape, DType::I32);
      for (int64_t i = 0; i < x.numel(); ++i) x.data_as<int32_t>()[i] = static_cast<int32_t>(3 * i);
      const Tensor chosen = call1("masked_select", {x, mask}), positions = call1("nonzero", {mask});
      ASSERT_EQ(chosen.numel(), x.numel() / every);
      ASSERT_EQ(positions.shape(), (Shape{x.numel() / every, x.dim()}));
      for (int64_t k = 0; k < chosen.numel(); ++k) {
        const int64_t i = (k + 1) * every - 1;
        ASSERT_EQ(chosen.data_as<int32_t>()[k], 3 * i);
        int64_t flat = 0;
        for (int64_t d = 0; d < x.dim(); ++d)
          flat = flat * x.size(d) + positions.data_as<int64_t>()[k * x.dim() + d];
        ASSERT_EQ(flat, i);
      }
    }
  }
}

// Memory that was something else before: any byte but 0 is true, and counts once.
TEST(Masks, AnyByteIsTrue) {
  const Tensor mask =
      flags({100}, [](int64_t i) { return static_cast<uint8_t>(i % 3 == 0 ? 0 : 55 + 2 * i); });
  const Tensor positions = call1("nonzero", {mask});
  ASSERT_EQ(positions.size(0), 66);
  for (int64_t k = 0; k < 66; ++k) EXPECT_EQ(positions.data_as<int64_t>()[k], k / 2 * 3 + k % 2 + 1);
}

TEST(Masks, MetaTensorsHaveNoElements) {
  const Device meta{DeviceType::Meta, 0};
  EXPECT_THROW(call1("nonzero", {Tensor::empty({3}, DType::Bool, meta)}), Error);
  EXPECT_THROW(
      call1("masked_select", {Tensor::empty({3}, DType::F32, meta), Tensor::empty({3}, DType::Bool, meta)}),
      Error);
}

}  // namespace
}  // namespace weft::ops
