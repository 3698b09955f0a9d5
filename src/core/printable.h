#pragma once

#include <string>
#include <string_view>

namespace weft::jit {

// Names from files as messages show them: of bounded length, "?" for what is no printable ASCII.
inline std::string printable(std::string_view text) {
  std::string result(text.substr(0, 200));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return result;
}

}  // namespace weft::jit
