#include "core/transpose.h"

namespace weft {

Transpose transpose_function(int64_t element_size) {
  const TransposeFunctions& functions = transpose_functions();
  switch (element_size) {
    case 1: return functions.by_size[0];
    case 2: return functions.by_size[1];
    case 4: return functions.by_size[2];
    case 8: return functions.by_size[3];
    default: return nullptr;
  }
}

}  // namespace weft
