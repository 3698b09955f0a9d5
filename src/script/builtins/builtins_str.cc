// str methods. Characters are bytes, as TorchScript has them; case and classes are ASCII's.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <string_view>

#include "core/memory_limit.h"
#include "script/builtins/builtin.h"
#include "script/builtins/format.h"
#include "values/containers.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using Text = const std::string&;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_upper(c) || is_lower(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f'); }
bool is_printable(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char swap_case(char c) { return is_lower(c) ? to_upper(c) : to_lower(c); }

std::string mapped(Text text, char (*map)(char)) {
  std::string result = text;
  std::transform(result.begin(), result.end(), result.begin(), map);
  return result;
}

bool all_of(Text text, bool (*test)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

std::string capitalize(Text self) {
  std::string result = mapped(self, to_lower);
  if (!result.empty()) result[0] = to_upper(result[0]);
  return result;
}

std::string title(Text self) {
  std::string result = self;
  bool in_word = false;
  for (char& c : result) {
    c = in_word ? to_lower(c) : to_upper(c);
    in_word = is_alpha(c);
  }
  return result;
}

bool is_title(Text self) {
  bool in_word = false, any = false;
  for (const char c : self) {
    if (is_upper(c) ? in_word : is_lower(c) && !in_word) return false;
    in_word = is_alpha(c);
    any |= in_word;
  }
  return any;
}

bool is_identifier(Text self) {
  if (self.empty() || is_digit(self[0])) return false;
  return std::all_of(self.begin(), self.end(), [](char c) { return is_alpha(c) || is_digit(c) || c == '_'; });
}

// ---- searching -------------------------------------------------------------------------------------------
// The part from `start` to `end`, as Python's methods take them. TorchScript's default end of -1 stands for
// the end.
struct Part {
  std::string_view text;
  int64_t start;
  bool is_outside;  // start is past the end: nothing is found, not even ""
};
Part part_of(Text text, int64_t start, int64_t end) {
  const auto size = static_cast<int64_t>(text.size());
  if (end == -1) end = size;
  const auto clip = [&](int64_t at) { return std::max<int64_t>(at < 0 ? at + size : at, 0); };
  start = clip(start);
  end = std::min(clip(end), size);
  if (start > end) return {"", start, true};
  return {std::string_view(text).substr(static_cast<size_t>(start), static_cast<size_t>(end - start)), start,
          false};
}

int64_t find_text(Text self, Text wanted, int64_t start, int64_t end) {
  const Part part = part_of(self, start, end);
  const size_t at = part.text.find(wanted);
  return part.is_outside || at == std::string_view::npos ? -1 : static_cast<int64_t>(at) + part.start;
}

int64_t rfind(Text self, Text wanted, int64_t start, int64_t end) {
  const Part part = part_of(self, start, end);
  const size_t at = part.text.rfind(wanted);
  return part.is_outside || at == std::string_view::npos ? -1 : static_cast<int64_t>(at) + part.start;
}

int64_t found_or_error(int64_t at, Text wanted) {
  WEFT_CHECK(at >= 0, fmt::format("substring not found: {}", IValue(wanted).repr()));
  return at;
}
int64_t index(Text self, Text wanted, int64_t start, int64_t end) {
  return found_or_error(find_text(self, wanted, start, end), wanted);
}
int64_t rindex(Text self, Text wanted, int64_t start, int64_t end) {
  return found_or_error(rfind(self, wanted, start, end), wanted);
}

int64_t count(Text self, Text wanted, int64_t start, int64_t end) {
  const Part part = part_of(self, start, end);
  if (part.is_outside) return 0;
  if (wanted.empty()) return static_cast<int64_t>(part.text.size()) + 1;
  int64_t result = 0;
  for (size_t at = part.text.find(wanted); at != std::string_view::npos;
       at = part.text.find(wanted, at + wanted.size()))
    ++result;
  return result;
}

bool starts_with(Text self, Text wanted, int64_t start, int64_t end) {
  const Part part = part_of(self, start, end);
  return !part.is_outside && part.text.starts_with(wanted);
}
bool ends_with(Text self, Text wanted, int64_t start, int64_t end) {
  const Part part = part_of(self, start, end);
  return !part.is_outside && part.text.ends_with(wanted);
}

std::string replace(Text self, Text from, Text to, int64_t most) {
  std::string result;
  size_t at = 0;
  for (int64_t done = 0; most < 0 || done < most; ++done) {
    if (from.empty()) {  // between all characters
      result += to;
      if (at == self.size()) return result;
      result += self[at++];
      continue;
    }
    const size_t next = self.find(from, at);
    if (next == std::string::npos) break;
    result.append(self, at, next - at).append(to);
    at = next + from.size();
  }
  return result.append(self, at);
}

// ---- splitting and joining -------------------------------------------------------------------------------
using Texts = std::vector<std::string>;

Texts split_at_spaces(Text self, int64_t most) {
  Texts result;
  size_t at = 0;
  for (;;) {
    while (at < self.size() && is_space(self[at])) ++at;
    if (at == self.size()) return result;
    if (most >= 0 && static_cast<int64_t>(result.size()) == most) break;
    const size_t begin = at;
    while (at < self.size() && !is_space(self[at])) ++at;
    result.push_back(self.substr(begin, at - begin));
  }
  result.push_back(self.substr(at));
  return result;
}

Texts split(Text self, const std::optional<std::string>& separator, int64_t most) {
  if (!separator) return split_at_spaces(self, most);
  WEFT_CHECK(!separator->empty(), "str.split: empty separator");
  Texts result;
  size_t at = 0;
  while (most < 0 || static_cast<int64_t>(result.size()) < most) {
    const size_t next = self.find(*separator, at);
    if (next == std::string::npos) break;
    result.push_back(self.substr(at, next - at));
    at = next + separator->size();
  }
  result.push_back(self.substr(at));
  return result;
}

Texts rsplit(Text self, Text separator, int64_t most) {
  WEFT_CHECK(!separator.empty(), "str.rsplit: empty separator");
  Texts result;
  size_t end = self.size();
  while (end >= separator.size() && (most < 0 || static_cast<int64_t>(result.size()) < most)) {
    const size_t at = self.rfind(separator, end - separator.size());
    if (at == std::string::npos) break;
    result.push_back(self.substr(at + separator.size(), end - at - separator.size()));
    end = at;
  }
  result.push_back(self.substr(0, end));
  std::reverse(result.begin(), result.end());
  return result;
}

Texts split_lines(Text self, bool keep_ends) {
  Texts result;
  for (size_t at = 0; at < self.size();) {
    const size_t end = std::min(self.find_first_of("\n\r\v\f\x1c\x1d\x1e", at), self.size());
    size_t next = std::min(end + 1, self.size());
    if (end + 1 < self.size() && self[end] == '\r' && self[end + 1] == '\n') ++next;
    result.push_back(self.substr(at, (keep_ends ? next : end) - at));
    at = next;
  }
  return result;
}

std::tuple<std::string, std::string, std::string> partition(Text self, Text separator) {
  WEFT_CHECK(!separator.empty(), "str.partition: empty separator");
  const size_t at = self.find(separator);
  if (at == std::string::npos) return {self, "", ""};
  return {self.substr(0, at), separator, self.substr(at + separator.size())};
}
std::tuple<std::string, std::string, std::string> rpartition(Text self, Text separator) {
  WEFT_CHECK(!separator.empty(), "str.rpartition: empty separator");
  const size_t at = self.rfind(separator);
  if (at == std::string::npos) return {"", "", self};
  return {self.substr(0, at), separator, self.substr(at + separator.size())};
}

std::string join(Text self, const std::shared_ptr<List>& values) {
  std::string result;
  for (size_t i = 0; i < values->values.size(); ++i) {
    if (i) result += self;
    result += values->values[i].to_string();
  }
  return result;
}

// ---- padding and stripping -------------------------------------------------------------------------------
std::string lstrip(Text self, Text characters) {
  const size_t begin = self.find_first_not_of(characters);
  return begin == std::string::npos ? "" : self.substr(begin);
}
std::string rstrip(Text self, Text characters) {
  const size_t end = self.find_last_not_of(characters);
  return end == std::string::npos ? "" : self.substr(0, end + 1);
}
std::string strip(Text self, Text characters) { return lstrip(rstrip(self, characters), characters); }

size_t padding(const char* method, Text self, int64_t width, Text fill) {
  WEFT_CHECK_TYPE(fill.size() == 1,
                  fmt::format("str.{}: the fill character must be one character long, got {}", method,
                              IValue(fill).repr()));
  check_list_fits_memory(fmt::format("str.{}", method), width, 1);
  return static_cast<size_t>(std::max<int64_t>(width - static_cast<int64_t>(self.size()), 0));
}
std::string ljust(Text self, int64_t width, Text fill) {
  return self + std::string(padding("ljust", self, width, fill), fill.at(0));
}
std::string rjust(Text self, int64_t width, Text fill) {
  return std::string(padding("rjust", self, width, fill), fill.at(0)) + self;
}
std::string center(Text self, int64_t width, Text fill) {
  const size_t pad = padding("center", self, width, fill);
  // Where it is uneven, the right side has more, unless the width is uneven.
  const size_t left = pad / 2 + (pad & static_cast<size_t>(width) & 1);
  return std::string(left, fill[0]) + self + std::string(pad - left, fill[0]);
}
std::string zfill(Text self, int64_t width) {
  const size_t pad = padding("zfill", self, width, "0");
  const size_t sign = !self.empty() && (self[0] == '+' || self[0] == '-') ? 1 : 0;
  return self.substr(0, sign) + std::string(pad, '0') + self.substr(sign);
}

std::string expand_tabs(Text self, int64_t tab_size) {
  std::string result;
  int64_t column = 0;
  for (const char c : self) {
    if (c == '\t') {
      const int64_t spaces = tab_size > 0 ? tab_size - column % tab_size : 0;
      check_list_fits_memory("str.expandtabs", spaces, 1);
      result.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      result += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return result;
}

// ---- characters ------------------------------------------------------------------------------------------
std::string character_at(Text self, int64_t at) {
  return std::string(1, self[checked_index("str", self.size(), at)]);
}

std::string sliced_text(Text self, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const SliceRange range = slice_range(static_cast<int64_t>(self.size()), start, end, step);
  std::string result;
  for (int64_t i = 0; i < range.count; ++i) result += self[static_cast<size_t>(range.start + i * range.step)];
  return result;
}

Texts characters(Text self) {
  Texts result;
  for (const char c : self) result.emplace_back(1, c);
  return result;
}

#define WEFT_MAP(NAME, MAP) \
  builtin("aten::" NAME "(str self) -> str", [](Text self) { return mapped(self, MAP); });
#define WEFT_TEST(NAME, TEST) \
  builtin("aten::" NAME "(str self) -> bool", [](Text self) { return all_of(self, TEST); });
#define WEFT_SEARCH(NAME, RETURN, FUNCTION) \
  builtin("aten::" NAME "(str self, str substr, int start=0, int end=-1) -> " RETURN, Call<FUNCTION>{});

int register_strings() {
  WEFT_MAP("lower", to_lower)
  WEFT_MAP("upper", to_upper)
  WEFT_MAP("swapcase", swap_case)
  builtin("aten::capitalize(str self) -> str", Call<capitalize>{});
  builtin("aten::title(str self) -> str", Call<title>{});
  WEFT_TEST("isdigit", is_digit)
  WEFT_TEST("isdecimal", is_digit)
  WEFT_TEST("isnumeric", is_digit)
  WEFT_TEST("isalpha", is_alpha)
  WEFT_TEST("isspace", is_space)
  WEFT_TEST("isalnum", [](char c) { return is_alpha(c) || is_digit(c); })
  builtin("aten::isprintable(str self) -> bool",
          [](Text self) { return std::all_of(self.begin(), self.end(), is_printable); });
  builtin("aten::islower(str self) -> bool", [](Text self) {
    return std::any_of(self.begin(), self.end(), is_lower) &&
           std::none_of(self.begin(), self.end(), is_upper);
  });
  builtin("aten::isupper(str self) -> bool", [](Text self) {
    return std::any_of(self.begin(), self.end(), is_upper) &&
           std::none_of(self.begin(), self.end(), is_lower);
  });
  builtin("aten::istitle(str self) -> bool", Call<is_title>{});
  builtin("aten::isidentifier(str self) -> bool", Call<is_identifier>{});
  WEFT_SEARCH("find", "int", find_text)
  WEFT_SEARCH("rfind", "int", rfind)
  WEFT_SEARCH("index.str", "int", index)
  WEFT_SEARCH("rindex", "int", rindex)
  WEFT_SEARCH("count", "int", count)
  WEFT_SEARCH("startswith", "bool", starts_with)
  WEFT_SEARCH("endswith", "bool", ends_with)
  builtin("aten::replace(str self, str old, str new, int max=-1) -> str", Call<replace>{});
  builtin("aten::split.str(str self, str? separator=None, int max=-1) -> str[]",
          [](Text self, const std::optional<std::string>& separator, int64_t most) {
            return split(self, separator, most);
          });
  builtin("aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", Call<rsplit>{});
  builtin("aten::splitlines(str self, bool keepends=False) -> str[]", Call<split_lines>{});
  builtin("aten::partition(str self, str separator) -> (str, str, str)", Call<partition>{});
  builtin("aten::rpartition(str self, str separator) -> (str, str, str)", Call<rpartition>{});
  builtin("aten::join(str self, str[] values) -> str", Call<join>{});
  builtin("aten::strip(str self, str chars=\" \n\t\f\v\") -> str", Call<strip>{});
  builtin("aten::lstrip(str self, str chars=\" \n\t\f\v\") -> str", Call<lstrip>{});
  builtin("aten::rstrip(str self, str chars=\" \n\t\f\v\") -> str", Call<rstrip>{});
  builtin("aten::ljust(str self, int width, str fillchar=\" \") -> str", Call<ljust>{});
  builtin("aten::rjust(str self, int width, str fillchar=\" \") -> str", Call<rjust>{});
  builtin("aten::center(str self, int width, str fillchar=\" \") -> str", Call<center>{});
  builtin("aten::zfill(str self, int width) -> str", Call<zfill>{});
  builtin("aten::expandtabs(str self, int tabsize=8) -> str", Call<expand_tabs>{});
  builtin("aten::add.str(str a, str b) -> str", [](Text a, Text b) { return a + b; });
  builtin("aten::mul.str_int(str a, int b) -> str", [](Text a, int64_t b) {
    check_list_fits_memory("mul", b, a.size());
    std::string result;
    for (int64_t i = 0; i < b && !a.empty(); ++i) result += a;
    return result;
  });
  builtin("aten::len.str(str s) -> int", [](Text s) { return static_cast<int64_t>(s.size()); });
  builtin("aten::__getitem__.str(str s, int index) -> str", Call<character_at>{});
  builtin("prim::StringIndex(str string, int index) -> str", Call<character_at>{});
  builtin("aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str",
          Call<sliced_text>{});
  builtin("aten::list(str t) -> str[]", Call<characters>{});
  builtin("aten::ord(str string) -> int", [](Text string) {
    WEFT_CHECK_TYPE(string.size() == 1,
                    fmt::format("ord: expected a character, got a str of length {}", string.size()));
    return int64_t{static_cast<unsigned char>(string[0])};
  });
  builtin("aten::chr(int i) -> str", [](int64_t i) {
    WEFT_CHECK(i >= 0 && i < 256, fmt::format("chr: {} is not in range(256)", i));
    return std::string(1, static_cast<char>(i));
  });
  return 0;
}

[[maybe_unused]] const int registered_str = register_strings();

}  // namespace
}  // namespace weft::jit
