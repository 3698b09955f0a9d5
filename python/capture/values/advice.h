// What a user can do about a place where a graph ends or a loop is not native.
#pragma once

#include <string>
#include <string_view>

namespace weft::capture {

// For the reason of a graph break, of a fallback to Python, or of a loop that was unrolled. Never empty.
std::string advice_for(std::string_view reason);

}  // namespace weft::capture
