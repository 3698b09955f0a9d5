// Small SentencePiece models, written field by field. source: the wire format of protocol buffers,
// sentencepiece_model.proto.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weft::testing_support {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number_field(uint64_t field, uint64_t value) { return varint(field << 3) + varint(value); }
inline std::string text_field(uint64_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}

enum class Piece : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
// Its score is 0.
inline std::string piece_field(const std::string& text, Piece type) {
  return text_field(1, text_field(1, text) + number_field(3, static_cast<uint64_t>(type)));
}

// One rule, "A" becomes "a": a double-array trie of 512 units, and the results.
inline std::string rule_table() {
  constexpr size_t kUnits = 512;
  constexpr uint32_t kNothing = 1u << 31;
  std::string units;
  for (size_t i = 0; i < kUnits; ++i) {
    uint32_t unit = kNothing;
    if (i == 0) unit = 256u << 10;                                  // children at 256 ^ byte
    if (i == (256 ^ 'A')) unit = (i ^ 511u) << 10 | 1u << 8 | 'A';  // a match, whose result is at unit 511
    if (i == 511) unit = kNothing | 0;
    for (int shift = 0; shift < 32; shift += 8) units += static_cast<char>(unit >> shift);
  }
  std::string size;
  for (int shift = 0; shift < 32; shift += 8) size += static_cast<char>(units.size() >> shift);
  return size + units + std::string("a\0", 2);
}

// model_type: 1 unigram, 2 byte-pair encoding, 3 words, 4 characters. Pieces beyond those below may be added
// at the end.
inline std::string sentencepiece_model(uint64_t model_type, const std::string& table = rule_table()) {
  std::string model = piece_field("<unk>", Piece::Unknown) + piece_field("<s>", Piece::Control) +
                      piece_field("</s>", Piece::Control);
  for (int byte = 0; byte < 256; ++byte) model += piece_field(fmt::format("<0x{:02X}>", byte), Piece::Byte);
  for (const char* text :
       {"\xE2\x96\x81", "H", "e", "l", "o", "w", "he", "lo", "ll", "\xE2\x96\x81w", "1", "a"})
    model += piece_field(text, Piece::Normal);
  model += piece_field("<tool>", Piece::UserDefined);
  const std::string trainer = number_field(3, model_type) + number_field(35, 1);  // byte_fallback
  const std::string normalizer = text_field(1, "rules") + (table.empty() ? "" : text_field(2, table)) +
                                 number_field(3, 1) +
                                 number_field(5, 1);  // add_dummy_prefix, escape_whitespaces
  return model + text_field(2, trainer) + text_field(3, normalizer);
}

}  // namespace weft::testing_support
