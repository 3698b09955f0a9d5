// SLEEF's vector variants must give the bits of its scalar ones: eager and generated code rely on it.
#include "scalar/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace weft::scalar {
namespace {

typedef float F32x4 __attribute__((vector_size(16)));
typedef float F32x8 __attribute__((vector_size(32)));
typedef float F32x16 __attribute__((vector_size(64)));
typedef double F64x2 __attribute__((vector_size(16)));
typedef double F64x4 __attribute__((vector_size(32)));
typedef double F64x8 __attribute__((vector_size(64)));

template <class V>
void call_vector(const void* address, bool binary, const void* a, const void* b, void* out) {
  V x, y, z;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  if (binary)
    z = reinterpret_cast<V (*)(V, V)>(const_cast<void*>(address))(x, y);
  else
    z = reinterpret_cast<V (*)(V)>(const_cast<void*>(address))(x);
  std::memcpy(out, &z, sizeof z);
}
template <class V>
__attribute__((target("avx512f"))) void call_vector_512(const void* address, bool binary, const void* a,
                                                        const void* b, void* out) {
  V x, y, z;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  if (binary)
    z = reinterpret_cast<V (*)(V, V)>(const_cast<void*>(address))(x, y);
  else
    z = reinterpret_cast<V (*)(V)>(const_cast<void*>(address))(x);
  std::memcpy(out, &z, sizeof z);
}

template <class T>
std::vector<T> samples(unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           T(-0.0),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(-0.5),
                           T(2),
                           T(-2),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::lowest(),
                           Limits::min(),
                           Limits::denorm_min(),
                           T(1e-20),
                           T(88.7),
                           T(-104),
                           T(709.7),
                           T(-745.2),
                           T(1e10),
                           T(-1e10),
                           T(3.1415926535897932)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> narrow(-3, 3), unit(-1, 1), exponent(-120, 120);
  for (int i = 0; i < 800; ++i) {
    values.push_back(static_cast<T>(narrow(random)));
    values.push_back(static_cast<T>(unit(random)));
    values.push_back(static_cast<T>(std::copysign(std::exp2(exponent(random)), unit(random))));
  }
  std::shuffle(values.begin(), values.end(), random);
  values.resize(values.size() / 16 * 16);
  return values;
}

template <class T>
void check(DType dtype) {
  const std::vector<T> a = samples<T>(1), b = samples<T>(2);
#if defined(__clang__) && !defined(__AVX512F__)
  // Clang passes 64-byte vectors by the translation unit's target, whatever the calling function's own is.
  const bool has_512 = false;
#else
  const bool has_512 = __builtin_cpu_supports("avx512f");
#endif
  int checked = 0;
  for (int index = 0; index <= static_cast<int>(Prim::Hypot); ++index) {
    const Prim prim = static_cast<Prim>(index);
    const auto scalar = math_function(prim, dtype, 0);
    if (!scalar || !math_function(prim, dtype, 32)) continue;
    const bool binary = prim == Prim::Pow || prim == Prim::Atan2 || prim == Prim::Hypot;
    for (int bytes : {16, 32, 64}) {
      if (bytes == 64 && !has_512) continue;
      const MathFunction vector = *math_function(prim, dtype, bytes);
      ASSERT_EQ(vector.lanes * static_cast<int>(sizeof(T)), bytes);
      for (size_t i = 0; i + 16 <= a.size(); i += static_cast<size_t>(vector.lanes)) {
        T out[16], expected;
        const T *x = &a[i], *y = &b[i];
        if constexpr (sizeof(T) == 4) {
          if (bytes == 16)
            call_vector<F32x4>(vector.address, binary, x, y, out);
          else if (bytes == 32)
            call_vector<F32x8>(vector.address, binary, x, y, out);
          else
            call_vector_512<F32x16>(vector.address, binary, x, y, out);
        } else {
          if (bytes == 16)
            call_vector<F64x2>(vector.address, binary, x, y, out);
          else if (bytes == 32)
            call_vector<F64x4>(vector.address, binary, x, y, out);
          else
            call_vector_512<F64x8>(vector.address, binary, x, y, out);
        }
        for (int lane = 0; lane < vector.lanes; ++lane) {
          void* address = const_cast<void*>(scalar->address);
          expected = binary ? reinterpret_cast<T (*)(T, T)>(address)(x[lane], y[lane])
                            : reinterpret_cast<T (*)(T)>(address)(x[lane]);
          const bool same = std::memcmp(&out[lane], &expected, sizeof(T)) == 0 ||
                            (std::isnan(out[lane]) && std::isnan(expected));
          EXPECT_TRUE(same) << vector.name << "(" << x[lane] << ", " << y[lane] << ") = " << out[lane]
                            << ", scalar " << expected;
          if (!same) break;
        }
      }
    }
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

TEST(VectorMath, FloatVariantsAgreeBitForBit) { check<float>(DType::F32); }
TEST(VectorMath, DoubleVariantsAgreeBitForBit) { check<double>(DType::F64); }

}  // namespace
}  // namespace weft::scalar
