#include "ops/half_table.h"

#include <numeric>
#include <span>
#include <vector>

namespace weft::ops {

bool looks_up_halves(std::string_view op) { return op == "gelu_erf"; }

const uint16_t* HalfTable::of(DType dtype, const kernels::BuiltKernel* kernel) const {
  if (kernel == nullptr || (dtype != DType::F16 && dtype != DType::BF16)) return nullptr;
  Entry& entry = entries_[dtype == DType::BF16 ? 1 : 0];
  std::call_once(entry.once, [&] {
    std::vector<uint16_t> values(size_t{1} << 16);
    std::iota(values.begin(), values.end(), uint16_t{0});
    uint16_t* const results = new uint16_t[values.size()];
    const void* const operand = values.data();
    const int64_t count = static_cast<int64_t>(values.size());
    run_built(*kernel, results, std::span(&operand, 1), std::span(&count, 1), /*is_parallel=*/false);
    entry.results = results;
  });
  return entry.results;
}

// Not in vectors, which would be put together element by element.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize")))
#endif
void look_up(uint16_t* out, const uint16_t* in, const uint16_t* table, int64_t count) {
  constexpr int64_t kStep = 8;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const uint16_t a = table[in[i]], b = table[in[i + 1]], c = table[in[i + 2]], d = table[in[i + 3]],
                   e = table[in[i + 4]], f = table[in[i + 5]], g = table[in[i + 6]], h = table[in[i + 7]];
    out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    out[i + 4] = e, out[i + 5] = f, out[i + 6] = g, out[i + 7] = h;
  }
  for (; i < count; ++i) out[i] = table[in[i]];
}

}  // namespace weft::ops
