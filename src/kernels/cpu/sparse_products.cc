#include "kernels/cpu/sparse_products.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cpu/levels.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kProductsPerTask = 32 * 1024;

float kept_value(const SparseWeight& weight, int64_t at) {
  if (!weight.is_bfloat16) return static_cast<const float*>(weight.values)[at];
  return std::bit_cast<float>(static_cast<uint32_t>(static_cast<const uint16_t*>(weight.values)[at]) << 16);
}

}  // namespace

namespace detail {

void sparse_rows_baseline(int64_t m, const float* x, const SparseWeight& weight, const float* bias,
                          float* out, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const uint8_t* const lanes = weight.lanes + row * (weight.k / 8);
    for (int64_t i = 0; i < m; ++i) {
      const float* const input = x + i * weight.k;
      float sum = 0;
      int64_t at = row * (weight.k / 2);
      for (int64_t byte = 0; byte < weight.k / 8; ++byte) {
        for (unsigned bits = lanes[byte]; bits != 0; bits &= bits - 1)
          sum += input[byte * 8 + std::countr_zero(bits)] * kept_value(weight, at++);
      }
      out[i * weight.n + row] = sum + (bias ? bias[row] : 0);
    }
  }
}

}  // namespace detail

bool has_sparse_products() {
  static const bool has = !kernels_here(&KernelLevel::sparse).empty();
  return has;
}

void sparse_product(int64_t m, const float* x, const SparseWeight& weight, const float* bias, float* out) {
  static const detail::SparseRows rows =
      has_sparse_products() ? best_kernels(&KernelLevel::sparse) : &detail::sparse_rows_baseline;
  const int64_t grain = std::max<int64_t>(1, kProductsPerTask / std::max<int64_t>(1, weight.k));
  parallel_for(0, weight.n, grain,
               [&](int64_t begin, int64_t end) { rows(m, x, weight, bias, out, begin, end); });
}

void expand_sparse(const SparseWeight& weight, int64_t size, void* dense) {
  const int64_t grain = std::max<int64_t>(1, kProductsPerTask / std::max<int64_t>(1, weight.k));
  parallel_for(0, weight.n, grain, [&](int64_t begin, int64_t end) {
    auto* const bytes = static_cast<std::byte*>(dense);
    const auto* const values = static_cast<const std::byte*>(weight.values);
    std::memset(bytes + begin * weight.k * size, 0, static_cast<size_t>((end - begin) * weight.k * size));
    int64_t at = begin * (weight.k / 2);
    for (int64_t byte = begin * (weight.k / 8); byte < end * (weight.k / 8); ++byte) {
      for (unsigned bits = weight.lanes[byte]; bits != 0; bits &= bits - 1, ++at)
        std::memcpy(bytes + (byte * 8 + std::countr_zero(bits)) * size, values + at * size,
                    static_cast<size_t>(size));
    }
  });
}

}  // namespace weft::kernels
