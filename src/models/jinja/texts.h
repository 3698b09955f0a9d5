// What Python's strings can do, on UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::models::jinja {

size_t character_count(std::string_view text);
std::vector<std::string_view> characters(std::string_view text);
// Characters begin to end - 1, as Python's slices: counted from the end where negative, cut to the text.
std::string_view text_between(std::string_view text, int64_t begin, int64_t end);

bool is_python_space(int32_t code);  // str.isspace
// str.strip, of one or both sides: whitespace, or the characters of `of`.
std::string_view stripped(std::string_view text, bool left, bool right,
                          std::optional<std::string_view> of = std::nullopt);

std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
std::string title_text(std::string_view text);        // str.title
std::string capitalized_text(std::string_view text);  // str.capitalize

// str.splitlines.
std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends);
// str.split and str.rsplit: at whitespace without a separator; most < 0: all.
std::vector<std::string_view> split_text(std::string_view text, std::optional<std::string_view> separator,
                                         int64_t most, bool from_right);
std::string replaced_text(std::string_view text, std::string_view old, std::string_view by, int64_t most);
std::string html_escaped(std::string_view text);

// str.isalpha and the like; false for "".
enum class CharacterClass { Alnum, Alpha, Ascii, Decimal, Digit, Numeric, Space, Printable };
bool is_all(std::string_view text, CharacterClass what);
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);
bool is_title_text(std::string_view text);

}  // namespace weft::models::jinja
