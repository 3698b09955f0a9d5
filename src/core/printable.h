// Text of files and callers: whether it is any, and as messages show it.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Is it well-formed UTF-8?
bool is_utf8(std::string_view text);

// Characters as they are, "\x1b" for bytes that are controls or no UTF-8, and "…" where it is longer than
// `limit` bytes.
std::string printable(std::string_view text, size_t limit = 200);

}  // namespace weft
