#include "core/transpose.h"

namespace weft {

Transpose transpose_function(int64_t element_size) {
#if defined(__x86_64__) && defined(__GNUC__)
  static const TransposeFunctions& functions =
      __builtin_cpu_supports("avx2") ? kTransposeAvx2 : kTransposeBaseline;
#else
  static const TransposeFunctions& functions = kTransposeBaseline;
#endif
  switch (element_size) {
    case 1: return functions.by_size[0];
    case 2: return functions.by_size[1];
    case 4: return functions.by_size[2];
    case 8: return functions.by_size[3];
    default: return nullptr;
  }
}

}  // namespace weft
