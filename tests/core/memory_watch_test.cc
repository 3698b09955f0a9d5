#include "core/memory_watch.h"

#include <gtest/gtest.h>

#include "core/index_arrays.h"

namespace weft {
namespace {

Tensor numbers() { return Tensor::of<float>({1, 2, 3, 4}); }

TEST(MemoryWatch, SeesWrites) {
  const Tensor x = numbers(), other = numbers();
  MemoryWatch watch({x.storage()});
  other.copy_from(Tensor::scalar(0, DType::F32));
  (void)x.clone();
  EXPECT_TRUE(watch.is_unchanged());
  x.as_strided({2}, {2}, 1).copy_from(Tensor::scalar(0, DType::F32));
  EXPECT_FALSE(watch.is_unchanged());
}

TEST(MemoryWatch, SeesWritesAtIndices) {
  const Tensor x = numbers();
  MemoryWatch watch({x.storage()});
  index_set(x, {Tensor::of<int64_t>({2})}, Tensor::scalar(0, DType::F32));
  EXPECT_FALSE(watch.is_unchanged());
}

TEST(MemoryWatch, EachForItself) {
  const Tensor x = numbers(), y = numbers();
  auto both = std::make_unique<MemoryWatch>(std::vector{x.storage(), y.storage(), x.storage()});
  const MemoryWatch one({y.storage()});
  note_write(*x.storage());
  EXPECT_FALSE(both->is_unchanged());
  EXPECT_TRUE(one.is_unchanged());
  both.reset();
  note_write(*x.storage());
  EXPECT_TRUE(one.is_unchanged());
  note_write(*y.storage());
  EXPECT_FALSE(one.is_unchanged());
}

TEST(MemoryWatch, ExposedMemoryIsNeverUnchanged) {
  Tensor x = numbers();
  const MemoryWatch before({x.storage()});
  EXPECT_FALSE(is_exposed(x.storage()));
  note_exposed(x.storage());
  EXPECT_TRUE(is_exposed(x.storage()));
  const MemoryWatch after({x.storage()});
  EXPECT_FALSE(before.is_unchanged());
  EXPECT_FALSE(after.is_unchanged());
  EXPECT_FALSE(is_exposed(numbers().storage()));
}

TEST(MemoryWatch, ExposedMemoryIsForgottenAtItsEnd) {
  for (int i = 0; i < 5000; ++i) note_exposed(numbers().storage());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(is_exposed(numbers().storage()));
}

}  // namespace
}  // namespace weft
