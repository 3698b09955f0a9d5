// What a unary operator gives for each value of a 16-bit dtype, as its written kernel computes it: looking
// results up is faster than computing them where an element takes some tens of operations.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "kernels/cpu/built.h"
#include "weft/dtype.h"

namespace weft::ops {

// Unary operators that take longer to compute than to look up, with the processor's widest vectors.
bool looks_up_halves(std::string_view op);

class HalfTable {
 public:
  // Elements of a call from which on the table is made and used: as many as it has. Those of fewer may not be
  // worth the memory that it takes from the caches.
  static constexpr int64_t kFewest = 1 << 16;

  // Of the operator's kernel of the dtype; null where there is none.
  const uint16_t* of(DType dtype, const kernels::BuiltKernel* kernel) const;

 private:
  struct Entry {
    std::once_flag once;
    const uint16_t* results = nullptr;  // never freed: other threads may run while a program ends
  };
  mutable std::array<Entry, 2> entries_;  // float16, bfloat16
};

// out[i] = table[in[i]]; `out` may be `in`.
void look_up(uint16_t* out, const uint16_t* in, const uint16_t* table, int64_t count);

}  // namespace weft::ops
