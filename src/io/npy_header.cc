// The header of a .npy file: magic, version, and a dictionary written as Python would write it.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "core/printable.h"
#include "io/npy.h"
#include "weft/error.h"

namespace weft::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxDims = 64;

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_dtype = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_dtype) {
        has_dtype = true;
        header.dtype = dtype();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = shape();
      } else {
        fail(fmt::format("unexpected key '{}'", printable(key)));
      }
      if (peek() != '}') expect(',');
    }
    if (peek() != '\0' || position_ != text_.size()) fail("text after the dictionary");
    if (!has_dtype || !has_order || !has_shape)
      fail("expected the keys 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw_error(ErrorKind::Value,
                fmt::format("{}: malformed header: {}, at byte {}", where_, why, position_));
  }
  // The next character that is no space; '\0' at the end.
  char peek() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("expected '{}'", wanted));
  }
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a string");
    const size_t begin = ++position_, end = text_.find(quote, begin);
    if (end == text_.npos) fail("a string does not end");
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  std::string dtype() {
    if (peek() == '[')
      throw_error(ErrorKind::Type,
                  fmt::format("{}: has a structured dtype: expected one kind of number", where_));
    return std::string(quoted());
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      return value;
    }
    fail("expected True or False");
  }
  Shape shape() {
    Shape sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(size());
      if (sizes.size() > kMaxDims) fail(fmt::format("more than {} dimensions", kMaxDims));
      if (peek() != ')') expect(',');
    }
    return sizes;
  }
  int64_t size() {
    peek();
    int64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + position_, end, value);
    if (error != std::errc() || value < 0) fail("expected a size, a whole number from 0 on");
    position_ = static_cast<size_t>(stop - text_.data());
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2 wrote it
    return value;
  }

  std::string_view text_;
  const std::string& where_;
  size_t position_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, const std::string& where) {
  const auto fail = [&](const std::string& why) {
    throw_error(ErrorKind::Value, fmt::format("{}: {}", where, why));
  };
  if (!bytes.starts_with(kMagic)) fail("is no .npy array: it does not begin with \\x93NUMPY");
  if (bytes.size() < kMagic.size() + 2) fail("is truncated in its header");
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(bytes[at])); };
  const size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0)
    fail(fmt::format("has version {}.{}: expected 1.0, 2.0 or 3.0", major, minor));
  const size_t width = major == 1 ? 2 : 4, start = kMagic.size() + 2 + width;
  if (bytes.size() < start) fail("is truncated in its header");
  size_t length = 0;
  for (size_t i = 0; i < width; ++i) length |= byte(kMagic.size() + 2 + i) << (8 * i);
  if (length > bytes.size() - start)
    fail(
        fmt::format("is truncated: its header of {} bytes reaches past its end at {}", length, bytes.size()));
  NpyHeader header = HeaderParser(bytes.substr(start, length), where).parse();
  header.size = start + length;
  return header;
}

}  // namespace weft::io
