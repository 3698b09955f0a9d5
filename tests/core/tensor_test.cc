#include "weft/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/copy_run.h"
#include "weft/allocator.h"
#include "weft/error.h"

namespace weft {
namespace {

Tensor range(int64_t n, DType dtype = DType::F32) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = i;
  return Tensor::of(values).to(dtype);
}

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tensor, ViewsAndCopies) {
  const Tensor x = range(12);
  const Tensor m = x.as_strided({3, 4}, {4, 1}, 0);
  const Tensor t = m.as_strided({4, 3}, {1, 4}, 0);
  EXPECT_TRUE(m.is_contiguous());
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.contiguous().at(1), 4);
  EXPECT_EQ(t.at(3), 1);
  EXPECT_EQ(m.size(-1), 4);
  EXPECT_EQ(message([&] { m.size(2); }), "size: dimension 2 is out of range for a tensor of 2 dimensions");
  EXPECT_THROW(x.as_strided({13}, {1}, 0), Error);
  EXPECT_THROW(x.as_strided({2}, {-1}, 0), Error);
  EXPECT_EQ(x.as_strided({12}, {-1}, 11).at(0), 11);
}

TEST(Tensor, LargeTranspositionAndConversion) {
  const int64_t rows = 301, columns = 517;
  const Tensor x = range(rows * columns, DType::I32);
  const Tensor t = x.as_strided({columns, rows}, {1, columns}, 0).contiguous().to(DType::F64);
  for (int64_t i = 0; i < columns; i += 7) {
    for (int64_t j = 0; j < rows; j += 5) ASSERT_EQ(t.data_as<double>()[i * rows + j], j * columns + i);
  }
}

Tensor zeros(int64_t n) { return Tensor::of(std::vector<int64_t>(static_cast<size_t>(n))).to(DType::U8); }

// Rows of all lengths around those at which other ways to copy begin, at addresses that are aligned and
// others.
TEST(Tensor, RowsAreCopiedWhole) {
  for (const int64_t length :
       {7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 32767, 32768, 32769}) {
    for (const int64_t start : {0, 1, 32}) {
      const int64_t rows = 3, width = 32896;
      const Tensor x = range(rows * width).to(DType::U8), to = zeros(rows * width);
      const Tensor from = x.as_strided({rows, length}, {width, 1}, start);
      const Tensor copied = from.contiguous();
      to.as_strided({rows, length}, {width, 1}, 1).copy_from(from);
      const uint8_t *given = x.data_as<uint8_t>(), *found = to.data_as<uint8_t>();
      for (int64_t row = 0; row < rows; ++row) {
        const uint8_t* const expected = given + row * width + start;
        ASSERT_TRUE(std::equal(expected, expected + length, copied.data_as<uint8_t>() + row * length))
            << length;
        ASSERT_TRUE(std::equal(expected, expected + length, found + row * width + 1)) << length;
        ASSERT_EQ(found[row * width], 0);
        ASSERT_TRUE(std::all_of(found + row * width + 1 + length, found + (row + 1) * width,
                                [](uint8_t byte) { return byte == 0; }))
            << length;
      }
    }
  }
}

// Vectors of this machine and those that every machine has.
TEST(Tensor, RunsAreCopiedWhole) {
  const Tensor x = range(400).to(DType::U8);
  for (const CopyRun copy : {copy_run_function(), &copy_run_baseline}) {
    for (int64_t bytes = 65; bytes < 260; ++bytes) {
      const Tensor to = zeros(400);
      const char* const from = static_cast<const char*>(x.data()) + 3;
      char* const target = static_cast<char*>(to.data());
      copy(target + 1, from, bytes);
      ASSERT_TRUE(std::equal(from, from + bytes, target + 1)) << bytes;
      ASSERT_EQ(target[0], 0);
      ASSERT_EQ(target[bytes + 1], 0) << bytes;
    }
  }
}

TEST(Tensor, EveryConversionAgreesOnSmallNumbers) {
  const Tensor source = Tensor::of<double>({0, 1, 3, 100});
  for (int i = 0; i < kNumDTypes; ++i) {
    for (int j = 0; j < kNumDTypes; ++j) {
      const Tensor x = source.to(static_cast<DType>(i)).to(static_cast<DType>(j));
      const bool through_bool = i == 0 || j == 0;
      EXPECT_EQ(x.at(2), through_bool ? 1 : 3);
      EXPECT_EQ(x.at(0), 0);
    }
  }
}

TEST(Tensor, CopyFromBroadcastsAndHandlesOverlap) {
  const Tensor x = range(6);
  x.as_strided({5}, {1}, 1).copy_from(x.as_strided({5}, {1}, 0));
  EXPECT_EQ(x.str(), "tensor([0., 0., 1., 2., 3., 4.])");
  x.as_strided({6}, {-1}, 5).copy_from(x);
  EXPECT_EQ(x.str(), "tensor([4., 3., 2., 1., 0., 0.])");
  const Tensor m = Tensor::empty({2, 3}, DType::I64);
  m.copy_from(Tensor::of<double>({1.5, 2.5, -3.5}));
  EXPECT_EQ(m.str(), "tensor([[ 1,  2, -3],\n        [ 1,  2, -3]])");
  m.copy_from(Tensor::scalar(7, DType::U8));
  EXPECT_EQ(m.at(5), 7);
  EXPECT_EQ(message([&] { m.copy_from(range(2)); }),
            "copy_from: the source's shape must broadcast to the target's\n"
            "  target: i64[2, 3] cpu   source: f32[2] cpu");
}

TEST(Tensor, ReadOnlyStorageRefusesCopies) {
  float data[2] = {1, 2};
  int released = 0;
  {
    const Tensor x(Storage::wrap(data, sizeof data, [&] { ++released; }, true), DType::F32, {2}, {1});
    EXPECT_NE(message([&] { x.copy_from(Tensor::scalar(0, DType::F32)); }).find("read-only"),
              std::string::npos);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Tensor, Items) {
  EXPECT_EQ(Tensor::scalar(2.5, DType::F16).item(), Scalar(2.5));
  EXPECT_EQ(Tensor::scalar(true, DType::Bool).item(), Scalar(true));
  EXPECT_EQ(Tensor::scalar(std::complex<double>(1, 2), DType::C64).item().str(), "(1.0+2.0j)");
  EXPECT_EQ(message([] { range(3).item(); }), "item: expected a tensor of one element, got f32[3] cpu");
}

TEST(Tensor, Overlap) {
  const Tensor x = range(10);
  EXPECT_TRUE(may_overlap(x.as_strided({5}, {1}, 0), x.as_strided({5}, {1}, 4)));
  EXPECT_FALSE(may_overlap(x.as_strided({5}, {1}, 0), x.as_strided({5}, {1}, 5)));
  EXPECT_FALSE(may_overlap(x, range(10)));
  EXPECT_FALSE(may_overlap(x, x.as_strided({0}, {1}, 3)));
}

TEST(Tensor, DevicesAndBadShapes) {
  const Tensor meta = Tensor::empty({1000000, 1000000, 1000}, DType::F64, Device::parse("meta"));
  EXPECT_EQ(meta.data(), nullptr);
  EXPECT_THAT(message([] { Tensor::empty({2}, DType::F32, Device::parse("cuda:63")); }),
              testing::StartsWith("device 'cuda:63' cannot be used: there "));
  EXPECT_EQ(message([] { Device::parse("tpu"); }),
            "device: expected 'cpu', 'cuda', 'cuda:<index>' or 'meta', got 'tpu'");
  EXPECT_THROW(Device::parse("cuda:x"), Error);
  EXPECT_THROW(Device::parse("cpu:1"), Error);
  EXPECT_EQ(message([] { Tensor::empty({2, -1}, DType::F32); }), "shape [2, -1]: sizes must not be negative");
  EXPECT_EQ(describe(meta), "f64[1000000, 1000000, 1000] meta");
}

TEST(Allocator, AlignsAndReuses) {
  empty_allocator_cache();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor::empty({1}, DType::F32).data()) % 64,
            0u);  // within its Storage
  for (const int64_t n : {100, 5000, 3000000}) {
    void* first;
    {
      const Tensor x = Tensor::empty({n}, DType::F32);
      first = x.data();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    }
    const int64_t reused = allocator_stats().num_reused;
    const Tensor y = Tensor::empty({n}, DType::F32);
    EXPECT_EQ(y.data(), first);
    EXPECT_EQ(allocator_stats().num_reused, reused + 1);
  }
}

TEST(Allocator, GivesBackWhatASmallerRequestLeavesOfAKeptBlock) {
  constexpr int64_t kBytes = 1 << 23;
  empty_allocator_cache();
  const void* first = Tensor::empty({kBytes}, DType::U8).data();
  EXPECT_EQ(allocator_stats().cached, size_t{kBytes});
  const size_t allocated = allocator_stats().allocated;
  for (int64_t size : {kBytes / 2, kBytes / 4 + 1}) {
    Tensor part = Tensor::empty({size}, DType::U8);
    EXPECT_EQ(part.data(), first);
    EXPECT_EQ(allocator_stats().cached, 0u);
    EXPECT_LE(allocator_stats().allocated - allocated, static_cast<size_t>(size + size / 4));
    std::fill_n(static_cast<uint8_t*>(part.data()), size, uint8_t{1});
  }
  empty_allocator_cache();
}

TEST(Allocator, LimitBoundsWhatIsKept) {
  const size_t limit = allocator_limit();
  empty_allocator_cache();
  set_allocator_limit(1 << 20);
  Tensor::empty({1 << 20}, DType::F32);
  EXPECT_EQ(allocator_stats().cached, 0u);
  for (int i = 0; i < 100; ++i) {
    const Tensor a = Tensor::empty({1000 * i}, DType::F64);
    EXPECT_LE(allocator_stats().cached, size_t{1} << 20);
  }
  set_allocator_limit(limit);
  const size_t allocated = allocator_stats().allocated;
  {
    const Tensor a = Tensor::empty({1 << 22}, DType::F64);
    EXPECT_GE(allocator_stats().allocated, allocated + (size_t{1} << 25));
  }
  EXPECT_EQ(allocator_stats().allocated, allocated);
}

TEST(Allocator, RefusesWhatDoesNotFit) {
  try {
    Tensor::empty({int64_t{1} << 58}, DType::F32);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Memory);
    EXPECT_NE(std::string(error.what()).find("1152921504606846976 bytes"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Tensor::empty({int64_t{1} << 40, int64_t{1} << 40}, DType::F32), Error);
}

}  // namespace
}  // namespace weft
