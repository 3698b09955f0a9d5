#include "serve/base64.h"

#include <algorithm>
#include <cstdint>

namespace weft::serve {
namespace {

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t held = 0;
    for (size_t k = 0; k < 3; ++k)
      held = held << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : uint32_t{0});
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kLetters[held >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace weft::serve
