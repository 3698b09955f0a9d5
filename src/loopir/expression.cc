#include "loopir/expression.h"

#include <fmt/args.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "loopir/operations.h"

namespace weft::loopir {

bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Expr::Node {
  enum class Kind : uint8_t { Name, Constant, Function, Operation };
  Kind kind;
  const Operation* operation = nullptr;
  std::vector<Expr> operands = {};
  std::string type = {};
};

namespace {

// The one place that looks into C++: calls `each(begin, end)` for its words.
template <class Each>
void for_each_word(const std::string& text, const Each& each) {
  for (size_t at = 0; at < text.size();) {
    if (!is_word_part(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && is_word_part(text[at])) ++at;
    each(begin, at);
  }
}

// With `by(word)` in the place of words.
std::string replaced(const std::string& text, const std::function<Expr(const std::string&)>& by) {
  std::string result;
  size_t done = 0;
  for_each_word(text, [&](size_t begin, size_t end) {
    result += text.substr(done, begin - done) + by(text.substr(begin, end - begin));
    done = end;
  });
  return result + text.substr(done);
}

}  // namespace

Expr::Expr(std::string text, Node node)
    : text_(std::move(text)), node_(std::make_shared<const Node>(std::move(node))) {}

Expr Expr::name(std::string name) { return {std::move(name), Node{Node::Kind::Name}}; }
Expr Expr::constant(std::string literal) { return {std::move(literal), Node{Node::Kind::Constant}}; }
Expr Expr::function(std::string name) { return {std::move(name), Node{Node::Kind::Function}}; }

Expr Expr::apply(const Operation& operation, std::vector<Expr> operands, const std::string& type) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const Expr& operand : operands) arguments.push_back(std::cref(operand.text()));
  arguments.push_back(fmt::arg("t", std::cref(type)));
  const std::string all = operation.is_variadic ? fmt::format("{}", fmt::join(operands, ", ")) : "";
  arguments.push_back(fmt::arg("all", std::cref(all)));
  std::string text = fmt::vformat(operation.form, arguments);
  return {std::move(text), Node{Node::Kind::Operation, &operation, std::move(operands), type}};
}

bool Expr::is_name() const { return node_ && node_->kind == Node::Kind::Name; }
bool Expr::is_constant() const { return node_ && node_->kind == Node::Kind::Constant; }
bool Expr::is_function() const { return node_ && node_->kind == Node::Kind::Function; }
const Operation* Expr::operation() const { return node_ ? node_->operation : nullptr; }
const std::vector<Expr>& Expr::operands() const { return node_->operands; }
const std::string& Expr::type() const { return node_->type; }

std::string integer_literal(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807L - 1)";
  return value < 0 ? fmt::format("({}L)", value) : fmt::format("{}L", value);
}

Expr integer(int64_t value) { return Expr::constant(integer_literal(value)); }

size_t Expr::num_words() const {
  size_t count = 0;
  for_each_word(text_, [&](size_t, size_t) { ++count; });
  return count;
}

int Expr::uses(const std::string& name) const {
  int count = 0;
  if (node_) {
    if (is_name()) return text_ == name ? 1 : 0;
    for (const Expr& operand : node_->operands) count += operand.uses(name);
    return count;
  }
  for_each_word(text_, [&](size_t begin, size_t end) {
    count += end - begin == name.size() && text_.compare(begin, name.size(), name) == 0 ? 1 : 0;
  });
  return count;
}

bool Expr::uses_any(const std::set<std::string>& names) const {
  if (names.empty()) return false;
  const auto any = [&](const Expr& operand) { return operand.uses_any(names); };
  if (node_)
    return is_name() ? names.count(text_) > 0
                     : std::any_of(node_->operands.begin(), node_->operands.end(), any);
  bool found = false;
  for_each_word(
      text_, [&](size_t begin, size_t end) { found |= names.count(text_.substr(begin, end - begin)) > 0; });
  return found;
}

bool Expr::calls_any(const std::set<std::string>& names) const {
  const auto any = [&](const Expr& operand) { return operand.calls_any(names); };
  if (node_) {
    // The first operand of a call is the function.
    const bool calls = node_->operation && node_->operation->is_call && names.count(node_->operands[0]) > 0;
    return calls || std::any_of(node_->operands.begin(), node_->operands.end(), any);
  }
  bool found = false;
  for_each_word(text_, [&](size_t begin, size_t end) {
    found |= end < text_.size() && text_[end] == '(' && names.count(text_.substr(begin, end - begin)) > 0;
  });
  return found;
}

bool Expr::is_word() const {
  const size_t begin = text_.size() > 1 && text_[0] == '-' ? 1 : 0;
  return !text_.empty() &&
         std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end(), is_word_part);
}

bool Expr::begins_with_number() const { return !text_.empty() && is_digit(text_[0]); }

Expr Expr::mapped(const std::function<Expr(const std::string&)>& by) const {
  if (!node_) return replaced(text_, by);
  if (is_name()) return by(text_);
  if (!node_->operation) return *this;
  std::vector<Expr> operands;
  for (const Expr& operand : node_->operands) operands.push_back(operand.mapped(by));
  return apply(*node_->operation, std::move(operands), node_->type);
}

Expr Expr::renamed(const std::set<std::string>& names, const std::string& suffix) const {
  return mapped([&](const std::string& word) { return name(names.count(word) ? word + suffix : word); });
}

Expr Expr::with(const std::map<std::string, Expr>& values) const {
  return mapped([&](const std::string& word) {
    const auto found = values.find(word);
    return found == values.end() ? name(word) : apply(op::kBrackets, {found->second});
  });
}

}  // namespace weft::loopir
