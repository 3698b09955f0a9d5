// The inner loops of conversions between dtypes (core/convert.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/copy.h"
#include "weft/dtype.h"

namespace weft {
namespace {

constexpr DType kSmall[] = {DType::F16,        DType::BF16,       DType::F8E4M3FN, DType::F8E5M2,
                            DType::F8E4M3FNUZ, DType::F8E5M2FNUZ, DType::F8E8M0FNU};

std::vector<DType> every_dtype() {
  std::vector<DType> all;
  for (int i = 0; i < kNumDTypes; ++i) all.push_back(static_cast<DType>(i));
  for (const DType dtype : kSmall)
    if (std::find(all.begin(), all.end(), dtype) == all.end()) all.push_back(dtype);
  return all;
}

// Against conversions of one element at a time, to float and on.
void expect_by_float(DType to, DType from, int64_t count, int64_t to_stride, int64_t from_stride) {
  const auto to_size = static_cast<int64_t>(itemsize(to)), from_size = static_cast<int64_t>(itemsize(from));
  const int64_t span = 2 * count + 1;
  std::vector<std::byte> source(static_cast<size_t>(span * from_size));
  for (int64_t i = 0; i < span; ++i) {
    const double value = static_cast<double>(i % 97) * 0.75;
    convert_function(from, DType::F64)(source.data() + i * from_size, 1, &value, 1, 1);
  }
  const std::byte* const start = source.data() + (from_stride < 0 ? span - 1 : 0) * from_size;
  std::vector<std::byte> got(static_cast<size_t>(span * to_size), std::byte{0x5a}), want = got;
  convert_function(to, from)(got.data(), to_stride, start, from_stride, count);
  for (int64_t i = 0; i < count; ++i) {
    float between = 0;
    convert_function(DType::F32, from)(&between, 1, start + i * from_stride * from_size, 1, 1);
    convert_function(to, DType::F32)(want.data() + i * to_stride * to_size, 1, &between, 1, 1);
  }
  EXPECT_EQ(got, want) << name(from) << " to " << name(to) << ", " << count << " elements, strides "
                       << to_stride << ", " << from_stride;
}

TEST(Convert, SmallFloatsGoByFloatBlockByBlock) {
  for (const DType small : kSmall) {
    for (const DType other : every_dtype()) {
      for (const int64_t count : {0, 1, 7, 511, 512, 513, 1030}) {
        for (const int64_t from_stride : {1, 2, -1, 0}) {
          expect_by_float(small, other, count, 1, from_stride);
          if (other != small) expect_by_float(other, small, count, 2, from_stride);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
