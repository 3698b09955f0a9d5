#include "script/syntax/tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/error.h"

namespace weft::jit {
namespace {

// Start and end of the line that holds byte `at`.
std::pair<size_t, size_t> line_around(const std::string& text, size_t at) {
  at = std::min(at, text.size());
  const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  const size_t end = text.find('\n', at);
  return {begin, end == std::string::npos ? text.size() : end};
}

}  // namespace

int Range::line() const {
  if (!source) return 0;
  const auto end = source->text.begin() + static_cast<std::ptrdiff_t>(std::min(begin, source->text.size()));
  return source->first_line + static_cast<int>(std::count(source->text.begin(), end, '\n'));
}

int Range::column() const {
  if (!source) return 0;
  return static_cast<int>(begin - line_around(source->text, begin).first) + 1 + source->indent;
}

std::string Range::highlight(const std::string& message) const {
  if (!source) return message;
  const auto [line_begin, line_end] = line_around(source->text, begin);
  // Hostile input may have one endless line: show what stands around the place.
  constexpr size_t kWidth = 120;
  const size_t from = begin - line_begin > kWidth ? begin - kWidth / 2 : line_begin;
  const size_t to = std::min(line_end, from + 2 * kWidth);
  const size_t stop = std::clamp(end, begin + 1, std::max(to, begin + 1));
  return fmt::format("{}\n  {}:{}:{}\n    {}\n    {}{}", message, source->file, line(), column(),
                     source->text.substr(from, to - from), std::string(begin - from, ' '),
                     std::string(stop - begin, stop - begin == 1 ? '^' : '~'));
}

void syntax_error(const Range& range, const std::string& message) {
  throw_error(ErrorKind::Value, range.highlight(message));
}
void type_error(const Range& range, const std::string& message) {
  throw_error(ErrorKind::Type, range.highlight(message));
}

}  // namespace weft::jit
