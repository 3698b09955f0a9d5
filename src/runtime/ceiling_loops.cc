#include "runtime/ceiling_loops.h"

namespace weft::runtime {

void copy_bytes(char* out, const char* in, int64_t bytes) {
  // A plain loop: memcpy may choose non-temporal stores by itself.
  typedef char vec __attribute__((vector_size(32), may_alias));
  for (int64_t i = 0; i < bytes; i += 64) {
    const vec a = *reinterpret_cast<const vec*>(in + i), b = *reinterpret_cast<const vec*>(in + i + 32);
    *reinterpret_cast<vec*>(out + i) = a;
    *reinterpret_cast<vec*>(out + i + 32) = b;
  }
}

}  // namespace weft::runtime
