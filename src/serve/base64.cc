#include "serve/base64.h"

#include <cstdint>

namespace weft::serve {
namespace {

int value_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t held = 0;
  int letters = 0, padding = 0;
  for (const char letter : text) {
    if (letter == '\n' || letter == '\r' || letter == ' ' || letter == '\t') continue;
    const int value = letter == '=' ? 0 : value_of(letter);
    if (value < 0 || (padding > 0 && letter != '=')) return std::nullopt;
    padding += letter == '=';
    held = held << 6 | static_cast<uint32_t>(value);
    if (++letters < 4) continue;
    if (padding > 2) return std::nullopt;
    for (int i = 0; i < 3 - padding; ++i) bytes += static_cast<char>(held >> (16 - 8 * i));
    letters = 0, held = 0;
  }
  if (letters != 0) return std::nullopt;
  return bytes;
}

}  // namespace weft::serve
