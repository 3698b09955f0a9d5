// Products with 2:4 sparse weights: what the processor's kernel gives is what the plain loop gives.
#include "kernels/cpu/sparse_products.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cpu/levels.h"

namespace weft::kernels {
namespace {

constexpr uint8_t kQuads[] = {0x3, 0x5, 0x6, 0x9, 0xa, 0xc};

TEST(SparseProducts, AreThoseOfThePlainLoop) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> small(-4, 4), quad(0, 5);
  for (const int64_t k : {8, 16, 24, 64, 328}) {
    for (const int64_t n : {1, 5, 70}) {
      std::vector<uint8_t> lanes(static_cast<size_t>(n * k / 8));
      for (uint8_t& byte : lanes)
        byte = static_cast<uint8_t>(kQuads[quad(random)] | kQuads[quad(random)] << 4);
      std::vector<float> values(static_cast<size_t>(n * k / 2)), bias(static_cast<size_t>(n));
      for (float& value : values) value = static_cast<float>(small(random));
      for (float& value : bias) value = static_cast<float>(small(random));
      std::vector<uint16_t> halves;
      for (const float value : values)
        halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
      for (const int64_t m : {1, 2, 4, 5, 8, 11, 16}) {
        std::vector<float> x(static_cast<size_t>(m * k));
        for (float& value : x) value = static_cast<float>(small(random));
        for (const bool is_bfloat16 : {false, true}) {
          const SparseWeight weight = {is_bfloat16 ? static_cast<const void*>(halves.data()) : values.data(),
                                       lanes.data(), n, k, is_bfloat16};
          std::vector<float> want(static_cast<size_t>(m * n)), found(want.size(), -1);
          detail::sparse_rows_baseline(m, x.data(), weight, bias.data(), want.data(), 0, n);
          sparse_product(m, x.data(), weight, bias.data(), found.data());
          ASSERT_EQ(found, want) << m << " x " << n << " x " << k;  // of small integers: exact in any order
          for (const KernelLevel& level : kernel_levels()) {
            if (!level.is_usable || level.sparse == nullptr) continue;
            found.assign(want.size(), -1);
            level.sparse(m, x.data(), weight, bias.data(), found.data(), 0, n);
            ASSERT_EQ(found, want) << level.name << ": " << m << " x " << n << " x " << k;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels
