#include "weft/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "weft/error.h"

namespace weft {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
    EXPECT_EQ(dtype_from_name(short_name(dtype)), dtype);
    visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
      EXPECT_EQ(sizeof(T), static_cast<size_t>(itemsize(dtype)));
      EXPECT_EQ(dtype_of<T>::value, dtype);
    });
  }
  EXPECT_FALSE(dtype_from_name("float99"));
}

// The nearest 16-bit value by search over all of them, ties to the even one.
template <class T>
uint16_t nearest(float value, uint16_t infinity) {
  if (std::isnan(value)) return infinity + 1;
  const double magnitude = std::abs(static_cast<double>(value));
  uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    T candidate;
    candidate.bits = middle;
    (static_cast<float>(candidate) <= magnitude ? low : high) = middle;
  }
  T below, above;
  below.bits = low;
  above.bits = high;
  // Infinity stands where the next finite value would be.
  T before;
  before.bits = static_cast<uint16_t>(low - 1);
  const double next = high == infinity ? 2.0 * float(below) - float(before) : float(above);
  const double down = magnitude - float(below), up = next - magnitude;
  uint16_t bits = down < up ? low : up < down ? high : (low % 2 == 0 ? low : high);
  if (std::isinf(value)) bits = infinity;
  return static_cast<uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

template <class T>
void check_rounding(uint16_t infinity) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    const float wide = value;
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(wide))));
    } else {
      ASSERT_EQ(T(wide).bits, bits);
    }
  }
  uint32_t state = 12345;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    float value;
    std::memcpy(&value, &state, sizeof value);
    if (i % 2) value = std::ldexp(static_cast<float>(state >> 8), static_cast<int>(state % 45) - 50);
    if (std::isnan(value)) continue;
    ASSERT_EQ(T(value).bits, nearest<T>(value, infinity)) << value;
  }
}

TEST(DType, HalfRoundsToNearestEven) { check_rounding<Half>(0x7c00); }
TEST(DType, BFloat16RoundsToNearestEven) { check_rounding<BFloat16>(0x7f80); }

TEST(DType, HalfEdges) {
  EXPECT_EQ(Half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(0x1p-24f).bits, 1);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Promotion, Torch) {
  EXPECT_EQ(promote_types(DType::I64, DType::F16, Promotion::Torch), DType::F16);
  EXPECT_EQ(promote_types(DType::U8, DType::I8, Promotion::Torch), DType::I16);
  EXPECT_EQ(promote_types(DType::F64, DType::C64, Promotion::Torch), DType::C128);
  EXPECT_EQ(promote_types(DType::U32, DType::BF16, Promotion::Torch), DType::BF16);
  EXPECT_EQ(promote_weak(DType::Bool, WeakKind::Int, Promotion::Torch), DType::I64);
  EXPECT_EQ(promote_weak(DType::I32, WeakKind::Float, Promotion::Torch), DType::F32);
  EXPECT_EQ(promote_weak(DType::F64, WeakKind::Complex, Promotion::Torch), DType::C128);
}

TEST(Promotion, TorchHasNoRuleForWideUnsigned) {
  try {
    promote_types(DType::U32, DType::I64, Promotion::Torch);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Type);
    EXPECT_STREQ(error.what(),
                 "type promotion: uint32 and int64 have no common type; convert one of them first");
  }
}

TEST(Promotion, NumPy) {
  EXPECT_EQ(promote_types(DType::I64, DType::F16, Promotion::NumPy), DType::F64);
  EXPECT_EQ(promote_types(DType::U64, DType::I64, Promotion::NumPy), DType::F64);
  EXPECT_EQ(promote_weak(DType::I32, WeakKind::Float, Promotion::NumPy), DType::F64);
  EXPECT_EQ(promote_weak(DType::F16, WeakKind::Complex, Promotion::NumPy), DType::C64);
  EXPECT_EQ(promote_weak(DType::U8, WeakKind::Int, Promotion::NumPy), DType::U8);
}

TEST(Promotion, IsCommutative) {
  for (const Promotion rules : {Promotion::Torch, Promotion::NumPy}) {
    for (int i = 0; i < kNumDTypes; ++i) {
      for (int j = 0; j < kNumDTypes; ++j) {
        const auto get = [&](int a, int b) -> int {
          try {
            return static_cast<int>(promote_types(static_cast<DType>(a), static_cast<DType>(b), rules));
          } catch (const Error&) {
            return -1;
          }
        };
        EXPECT_EQ(get(i, j), get(j, i));
      }
    }
  }
}

}  // namespace
}  // namespace weft
