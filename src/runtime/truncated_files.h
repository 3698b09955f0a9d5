// Files that are mapped, and what happens where one of them becomes shorter meanwhile: reading what it had is
// a SIGBUS, which says nothing by itself. The process ends by it as before, but says which file it was.
#pragma once

#include <cstddef>
#include <string>

namespace weft::runtime {

struct MappedRange;

// From now on a SIGBUS at one of these bytes is explained on stderr. What handled the signal before handles
// it then. Never fails.
MappedRange* watch_range(const void* data, size_t size, const std::string& path) noexcept;
void forget_range(MappedRange* range) noexcept;

}  // namespace weft::runtime
