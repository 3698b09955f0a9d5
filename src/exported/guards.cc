#include "exported/guards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "exported/json_access.h"

namespace weft::exported {
namespace {

constexpr int kMaxGuardDepth = 64, kMostGuardNodes = 1000;

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

// What binds alike, from what binds least; of words that begin alike, the longer one is first.
struct GuardInfix {
  const char* word;
  SizeOperation operation;
};
constexpr GuardInfix kGuardComparisons[] = {{"==", SizeOperation::Equal},  {"!=", SizeOperation::NotEqual},
                                            {"<=", SizeOperation::AtMost}, {">=", SizeOperation::AtLeast},
                                            {"<", SizeOperation::Less},    {">", SizeOperation::More}};
constexpr GuardInfix kGuardSums[] = {{"+", SizeOperation::Add}, {"-", SizeOperation::Subtract}};
constexpr GuardInfix kGuardProducts[] = {
    {"//", SizeOperation::FloorDivide}, {"*", SizeOperation::Multiply}, {"%", SizeOperation::Remainder}};

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
  Node node_of(Node::Kind kind) {
    if (++nodes_ > kMostGuardNodes) throw Unreadable();
    Node node;
    node.kind = kind;
    return node;
  }
  Node number_node(int64_t value) {
    Node node = node_of(Node::Kind::Number);
    node.number = value;
    return node;
  }
  Node joined(Node::Kind kind, Node left, Node right) {
    Node node = node_of(kind);
    node.operands.push_back(std::move(left));
    node.operands.push_back(std::move(right));
    return node;
  }
  Node applied(SizeOperation operation, Node left, Node right) {
    Node node = joined(Node::Kind::Operation, std::move(left), std::move(right));
    node.operation = operation;
    return node;
  }
  std::optional<SizeOperation> take_any(std::span<const GuardInfix> infixes) {
    for (const GuardInfix& infix : infixes)
      if (take(infix.word)) return infix.operation;
    return std::nullopt;
  }

  Node either(int depth) {
    if (depth > kMaxGuardDepth) throw Unreadable();
    Node left = both(depth);
    while (take("or")) left = joined(Node::Kind::Or, std::move(left), both(depth));
    return left;
  }
  Node both(int depth) {
    Node left = comparison(depth);
    while (take("and")) left = joined(Node::Kind::And, std::move(left), comparison(depth));
    return left;
  }
  Node comparison(int depth) {
    if (depth > kMaxGuardDepth) throw Unreadable();
    if (take("not")) {
      Node node = node_of(Node::Kind::Not);
      node.operands.push_back(comparison(depth + 1));
      return node;
    }
    Node left = sum(depth);
    const auto operation = take_any(kGuardComparisons);
    return operation ? applied(*operation, std::move(left), sum(depth)) : left;
  }
  Node sum(int depth) {
    Node left = product(depth);
    while (const auto operation = take_any(kGuardSums))
      left = applied(*operation, std::move(left), product(depth));
    return left;
  }
  Node product(int depth) {
    Node left = sign(depth);
    while (const auto operation = take_any(kGuardProducts))
      left = applied(*operation, std::move(left), sign(depth));
    return left;
  }
  Node sign(int depth) {
    if (depth > kMaxGuardDepth) throw Unreadable();
    if (take("-")) return applied(SizeOperation::Subtract, number_node(0), sign(depth + 1));
    Node left = atom(depth);
    return take("**") ? applied(SizeOperation::Power, std::move(left), sign(depth + 1)) : left;
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
      const SizeOperation operation = name[1] == 'a' ? SizeOperation::Max : SizeOperation::Min;
      Node left = either(depth + 1);
      while (take(",")) left = applied(operation, std::move(left), either(depth + 1));
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
      return take(".size()[")     ? std::optional(Node::Kind::Size)
             : take(".stride()[") ? std::optional(Node::Kind::Stride)
                                  : std::nullopt;
    };
    Node node = node_of(Node::Kind::Value);
    for (;;) {
      if (const auto kind = end_of_source()) {
        node.kind = *kind;
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
    const bool is_value = node.kind == Node::Kind::Value;
    if (input.is_tensor ? is_value || node.dim >= input.sizes.size() : !is_value || input.is_constant)
      throw Unreadable();
    node.input = index;
    guard_.parts_.emplace_back(text_.substr(written_, begin - written_), node);
    written_ = at_;
    return node;
  }

  const std::string& text_;
  std::span<const Input> inputs_;
  size_t at_ = 0, written_ = 0;
  int nodes_ = 0;
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
  switch (node.kind) {
    case Node::Kind::Number: return node.number;
    case Node::Kind::Size: return values[node.input].to_tensor().shape()[node.dim];
    case Node::Kind::Stride: return values[node.input].to_tensor().strides()[node.dim];
    case Node::Kind::Value:
      return values[node.input].is_int() ? std::optional(values[node.input].to_int()) : std::nullopt;
    default: break;
  }
  const auto left = evaluate(node.operands[0], values);
  if (!left) return std::nullopt;
  if (node.kind == Node::Kind::Not) return *left == 0;
  if (node.kind == Node::Kind::And && *left == 0) return 0;
  if (node.kind == Node::Kind::Or && *left != 0) return 1;
  const auto right = evaluate(node.operands[1], values);
  if (!right) return std::nullopt;
  return node.kind == Node::Kind::Operation ? computed(node.operation, *left, *right)
                                            : std::optional<int64_t>(*right != 0);
}

std::string Guard::place(const Node& node, std::span<const Input> inputs) {
  const std::string& input = inputs[node.input].place;
  if (node.kind == Node::Kind::Value) return input;
  return node.kind == Node::Kind::Size ? fmt::format("{}.shape[{}]", input, node.dim)
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
