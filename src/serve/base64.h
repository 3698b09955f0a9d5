// Bytes in JSON (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::serve {

// Of the plain alphabet, padded; white space is passed over. Nothing where it is none.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace weft::serve
