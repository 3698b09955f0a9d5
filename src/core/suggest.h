// Names that a user may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

// "; did you mean 'float32'?" for the candidate nearest to `word`, by insertions, deletions, replacements and
// swaps of neighbours; "" where none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace weft
