#include "exported/guards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "exported/json_access.h"

namespace weft::exported {
namespace {

constexpr int kMaxGuardDepth = 64;

// Why a guard cannot be read.
struct Unreadable {};

// As PyTorch names a graph's inputs: L['d']['key'][0] is d_key_0.
std::string input_name(std::string_view text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c))
                ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                : '_';
  return name;
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

class Guard::Parser {
 public:
  Parser(const std::string& text, std::span<const Input> inputs) : text_(text), inputs_(inputs) {}

  Guard parse() {
    guard_.root_ = either(0);
    skip();
    if (at_ != text_.size()) throw Unreadable();
    guard_.rest_ = text_.substr(written_);
    return std::move(guard_);
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    const bool is_word = std::isalpha(static_cast<unsigned char>(word.back()));
    const size_t end = at_ + word.size();
    if (is_word && end < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      return false;
    at_ = end;
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) throw Unreadable();
  }
  int64_t number() {
    skip();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) throw Unreadable();
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e')) throw Unreadable();
    return value;
  }
  static Node number_node(int64_t value) {
    Node node;
    node.kind = "number";
    node.number = value;
    return node;
  }
  static Node made(const std::string& kind, Node left, Node right) {
    Node node;
    node.kind = kind;
    node.operands.push_back(std::move(left));
    node.operands.push_back(std::move(right));
    return node;
  }

  Node either(int depth) {
    if (depth > kMaxGuardDepth) throw Unreadable();
    Node left = both(depth);
    while (take("or")) left = made("or", std::move(left), both(depth));
    return left;
  }
  Node both(int depth) {
    Node left = comparison(depth);
    while (take("and")) left = made("and", std::move(left), comparison(depth));
    return left;
  }
  Node comparison(int depth) {
    if (depth > kMaxGuardDepth) throw Unreadable();
    if (take("not")) {
      Node node;
      node.kind = "not";
      node.operands.push_back(comparison(depth + 1));
      return node;
    }
    Node left = sum(depth);
    for (const char* const word : {"==", "!=", "<=", ">=", "<", ">"})
      if (take(word)) return made(word, std::move(left), sum(depth));
    return left;
  }
  Node sum(int depth) {
    Node left = product(depth);
    for (;;) {
      if (take("+"))
        left = made("+", std::move(left), product(depth));
      else if (take("-"))
        left = made("-", std::move(left), product(depth));
      else
        return left;
    }
  }
  Node product(int depth) {
    Node left = sign(depth);
    for (;;) {
      if (take("**")) throw Unreadable();  // binds closer
      if (take("*"))
        left = made("*", std::move(left), sign(depth));
      else if (take("//"))
        left = made("//", std::move(left), sign(depth));
      else if (take("%"))
        left = made("%", std::move(left), sign(depth));
      else
        return left;
    }
  }
  Node sign(int depth) {
    if (depth > kMaxGuardDepth) throw Unreadable();
    if (take("-")) return made("-", number_node(0), sign(depth + 1));
    return power(depth);
  }
  Node power(int depth) {
    Node left = atom(depth);
    if (take("**")) left = made("**", std::move(left), sign(depth + 1));
    return left;
  }
  Node atom(int depth) {
    if (take("(")) {
      Node inside = either(depth + 1);
      expect(")");
      return inside;
    }
    for (const char* const name : {"max", "min", "Max", "Min"}) {
      if (!take(name)) continue;
      expect("(");
      const std::string kind = std::string(1, static_cast<char>(std::tolower(name[0]))) + (name + 1);
      Node left = either(depth + 1);
      while (take(",")) left = made(kind, std::move(left), either(depth + 1));
      expect(")");
      return left;
    }
    skip();
    if (at_ < text_.size() && text_[at_] == 'L') return source();
    return number_node(number());
  }

  // L['x'][0].name.size()[1]
  Node source() {
    const size_t begin = at_;
    expect("L");
    std::string path;
    const auto end_of_source = [&] {
      return take(".size()[") ? "size" : take(".stride()[") ? "stride" : nullptr;
    };
    Node node;
    for (;;) {
      if (const char* const kind = end_of_source()) {
        node.kind = kind;
        const int64_t dim = number();
        if (dim < 0) throw Unreadable();
        node.dim = static_cast<size_t>(dim);
        expect("]");
        break;
      }
      if (take("['")) {
        const size_t end = text_.find("']", at_);
        if (end == std::string::npos) throw Unreadable();
        path += (path.empty() ? "" : "_") + text_.substr(at_, end - at_);
        at_ = end + 2;
      } else if (take("[")) {
        path += fmt::format("_{}", number());
        expect("]");
      } else if (take(".")) {
        path += '_';
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
          path += text_[at_++];
      } else {
        node.kind = "value";
        break;
      }
    }
    constexpr std::string_view flat = "flat_args_";
    const std::string name = input_name(path);
    size_t index = inputs_.size();
    if (name.starts_with(flat)) std::from_chars(name.data() + flat.size(), name.data() + name.size(), index);
    for (size_t i = 0; i < inputs_.size() && index >= inputs_.size(); ++i)
      if (input_name(inputs_[i].name) == name) index = i;
    if (index >= inputs_.size()) throw Unreadable();
    const Input& input = inputs_[index];
    if (input.is_tensor ? node.kind == "value" || node.dim >= input.sizes.size()
                        : node.kind != "value" || input.is_constant)
      throw Unreadable();
    node.input = index;
    guard_.parts_.emplace_back(text_.substr(written_, begin - written_), node);
    written_ = at_;
    return node;
  }

  const std::string& text_;
  std::span<const Input> inputs_;
  size_t at_ = 0, written_ = 0;
  Guard guard_;
};

std::optional<Guard> Guard::parse(const std::string& text, std::span<const Input> inputs) {
  try {
    return Parser(text, inputs).parse();
  } catch (const Unreadable&) {
    return std::nullopt;
  }
}

std::optional<int64_t> Guard::evaluate(const Node& node, std::span<const IValue> values) {
  if (node.kind == "number") return node.number;
  if (node.kind == "size") return values[node.input].to_tensor().shape()[node.dim];
  if (node.kind == "stride") return values[node.input].to_tensor().strides()[node.dim];
  if (node.kind == "value")
    return values[node.input].is_int() ? std::optional(values[node.input].to_int()) : std::nullopt;
  const auto left = evaluate(node.operands[0], values);
  if (!left) return std::nullopt;
  if (node.kind == "not") return *left == 0;
  if (node.kind == "and" && *left == 0) return 0;
  if (node.kind == "or" && *left != 0) return 1;
  const auto right = evaluate(node.operands[1], values);
  if (!right) return std::nullopt;
  if (node.kind == "and" || node.kind == "or") return *right != 0;
  if (node.kind == "==") return *left == *right;
  if (node.kind == "!=") return *left != *right;
  if (node.kind == "<=") return *left <= *right;
  if (node.kind == ">=") return *left >= *right;
  if (node.kind == "<") return *left < *right;
  if (node.kind == ">") return *left > *right;
  if (node.kind == "max") return std::max(*left, *right);
  if (node.kind == "min") return std::min(*left, *right);
  int64_t result = 0;
  if (node.kind == "+")
    return __builtin_add_overflow(*left, *right, &result) ? std::nullopt : std::optional(result);
  if (node.kind == "-")
    return __builtin_sub_overflow(*left, *right, &result) ? std::nullopt : std::optional(result);
  if (node.kind == "*")
    return __builtin_mul_overflow(*left, *right, &result) ? std::nullopt : std::optional(result);
  if (node.kind == "**") {
    if (*right < 0 || *right > 64) return std::nullopt;
    result = 1;
    for (int64_t i = 0; i < *right; ++i)
      if (__builtin_mul_overflow(result, *left, &result)) return std::nullopt;
    return result;
  }
  if (*right == 0 || (*right == -1 && *left == std::numeric_limits<int64_t>::min())) return std::nullopt;
  const int64_t quotient = floor_quotient(*left, *right);
  return node.kind == "//" ? quotient : *left - quotient * *right;
}

std::string Guard::place(const Node& node, std::span<const Input> inputs) {
  const std::string& input = inputs[node.input].place;
  if (node.kind == "value") return input;
  return node.kind == "size" ? fmt::format("{}.shape[{}]", input, node.dim)
                             : fmt::format("{}.stride({})", input, node.dim);
}

void Guard::check(std::span<const IValue> values, std::span<const Input> inputs) const {
  if (evaluate(root_, values).value_or(0) != 0) return;
  std::string text;
  std::vector<std::string> found;
  for (const auto& [before, node] : parts_) {
    const std::string named = place(node, inputs);
    text += before + named;
    const std::string value = fmt::format("{} = {}", named, evaluate(node, values).value_or(0));
    if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
  }
  throw_error(ErrorKind::Value, fmt::format("Expected inputs with {}{}, but got {}", text, printable(rest_),
                                            fmt::join(found, ", ")));
}

}  // namespace weft::exported
