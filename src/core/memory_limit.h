// What is too large for any memory is refused before work on it begins.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/tensor.h"

namespace weft {

// Bytes that the process may have: the machine's memory, or what its control group allows of it, and swap
// space.
size_t total_memory();
// MemoryError where an array of this shape has more bytes than that, ValueError where a size is negative;
// `what` is what asks for it.
void check_fits_memory(std::string_view what, const Shape& shape, DType dtype);
// The same for a list or a text of `count` items of this size.
void check_list_fits_memory(std::string_view what, int64_t count, size_t bytes_each);

}  // namespace weft
