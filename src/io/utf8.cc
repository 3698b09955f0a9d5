#include "io/utf8.h"

namespace weft::io {
namespace {

constexpr uint32_t kFirstOfLength[] = {0, 0, 0x80, 0x800, 0x10000};

bool is_character(uint32_t code) { return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff); }

}  // namespace

bool append_utf8(std::string& text, uint32_t code) {
  if (!is_character(code)) return false;
  const int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (length == 1) {
    text += static_cast<char>(code);
    return true;
  }
  text += static_cast<char>((0xf00u >> length & 0xffu) | code >> (6 * (length - 1)));
  for (int i = length - 2; i >= 0; --i) text += static_cast<char>(0x80u | (code >> (6 * i) & 0x3fu));
  return true;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string codes;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const size_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 0;
    if (length == 0 || length > text.size() - at) return std::nullopt;
    uint32_t code = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if (next >> 6 != 2) return std::nullopt;
      code = code << 6 | (next & 0x3fu);
    }
    if (!is_character(code) || code < kFirstOfLength[length]) return std::nullopt;
    codes += static_cast<char32_t>(code);
    at += length;
  }
  return codes;
}

}  // namespace weft::io
