// The reader of the form's text.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "loopir/operations.h"
#include "loopir/text.h"
#include "weft/error.h"

namespace weft::loopir {

namespace {

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  void expect_end() {
    if (!at_end()) fail("the end");
  }

  Expr expression() {
    if (accept("\"")) return Expr(rest_of_quote());
    if (accept("$\"")) return Expr::name(rest_of_quote());
    if (accept("#\"")) return Expr::constant(rest_of_quote());
    if (accept("@")) {
      const Expr function = Expr::function(name());
      if (!accept("(")) return function;
      std::vector<Expr> operands = list();
      operands.insert(operands.begin(), function);
      const std::string operation = fmt::format("call{}", operands.size() - 1);
      return apply(operation, std::move(operands), "");
    }
    const std::string first = token();
    if (is_digit(first[0]) || first == "true" || first == "false") return Expr::constant(first);
    if (next() == ':' || next() == '(') {
      const std::string type = accept(":") ? type_name() : "";
      expect("(");
      return apply(first, list(), type);
    }
    return Expr::name(first);
  }

  Instructions instructions() {
    Instructions code;
    while (!at_end() && next() != '}' && !is_next("version")) code.push_back(instruction());
    return code;
  }

  Function function() {
    Function result;
    expect_word("function");
    result.name = name();
    expect("{");
    while (!accept("}")) {
      const std::string what = token();
      if (what == "callee") {
        Callee callee{name(), "", 0};
        expect(":");
        callee.type = name();
        expect_word("at");
        callee.place = static_cast<size_t>(number());
        result.callees.push_back(std::move(callee));
      } else if (what == "array") {
        result.arrays.push_back(array());
      } else if (what == "lists") {
        result.num_lists = static_cast<size_t>(number());
      } else if (what == "var") {
        auto [variable, type] = typed_name();
        result.variables[variable] = type;
      } else if (what == "param") {
        auto [variable, type] = typed_name();
        result.parameters.push_back({type, variable, accept_word("nonnegative")});
      } else if (what == "exit") {
        if (static_cast<size_t>(number()) != result.exits.size()) fail("exits in their order");
        expect_word("words");
        result.exits.push_back(static_cast<size_t>(number()));
      } else if (what == "rounds") {
        result.rounds = rounds_end();
      } else if (what == "block") {
        result.blocks.push_back(block());
      } else {
        fail("a part of a function");
      }
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw Error(ErrorKind::Value,
                fmt::format("text of a native loop: line {}: expected {}, not '{}'", line, expected,
                            text_.substr(at_, std::min<size_t>(20, text_.size() - at_))));
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(std::string_view symbol) {
    skip_blanks();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) fail(fmt::format("'{}'", symbol));
  }
  bool is_next(std::string_view word) {
    skip_blanks();
    const size_t end = at_ + word.size();
    return text_.substr(at_, word.size()) == word && (end >= text_.size() || !is_word_part(text_[end]));
  }
  bool accept_word(std::string_view word) {
    if (!is_next(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect_word(std::string_view word) {
    if (!accept_word(word)) fail(fmt::format("'{}'", word));
  }
  // A word, or one number.
  std::string token() {
    skip_blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_word_part(text_[at_]) || (text_[at_] == '.' && is_digit(text_[begin]))))
      ++at_;
    if (begin == at_) fail("a word");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string rest_of_quote() {
    std::string result;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const bool is_escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
      if (is_escaped) ++at_;
      result += is_escaped && text_[at_] == 'n' ? '\n' : text_[at_];
    }
    if (at_ == text_.size()) fail("the end of a quote");
    ++at_;
    return result;
  }
  std::string name() { return accept("\"") ? rest_of_quote() : token(); }
  std::string type_name() {
    std::string type = name();
    if (accept("*")) type += '*';
    return type;
  }
  std::pair<std::string, std::string> typed_name() {
    std::string variable = name();
    expect(":");
    return {std::move(variable), type_name()};
  }
  int64_t number() {
    const bool is_negative = accept("-");
    const std::string digits = token();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("a number");
    return is_negative ? -value : value;
  }
  // "b3"
  int block_number() {
    expect("b");
    return static_cast<int>(number());
  }
  std::vector<Expr> list() {  // behind its bracket
    std::vector<Expr> values;
    while (!accept(")")) {
      if (!values.empty()) expect(",");
      values.push_back(expression());
    }
    return values;
  }
  std::vector<Expr> bracketed_list() {
    expect("(");
    return list();
  }
  Expr apply(const std::string& operation, std::vector<Expr> operands, const std::string& type) const {
    const Operation* found = find_operation(operation);
    if (!found) fail(fmt::format("an operation before this, which '{}' is not", operation));
    if (!takes(*found, operands.size()))
      fail(fmt::format("as many operands as '{}' has before this", operation));
    return Expr::apply(*found, std::move(operands), type);
  }

  Exit exit() {
    expect_word("exit");
    Exit result{static_cast<int>(number())};
    result.words = bracketed_list();
    return result;
  }
  Exit exit_behind_else() {
    expect_word("else");
    return exit();
  }
  Way way() {
    if (accept_word("done")) return Jump{};
    if (is_next("exit")) return exit();
    Jump jump;
    if (next() == 'v') {
      expect("v");
      jump.version = static_cast<int>(number());
    }
    jump.target = block_number();
    if (!accept("(")) return jump;
    while (!accept(")")) {
      if (!jump.moves.empty()) expect(",");
      auto [variable, type] = typed_name();
      expect("=");
      jump.moves.push_back({type, variable, expression()});
    }
    return jump;
  }
  Assignment assignment() {
    Assignment one{"", name(), {}};
    if (accept(":")) one.type = type_name();
    expect("=");
    one.value = expression();
    return one;
  }
  // An infix operator; the longer ones are looked for first.
  std::string symbol() {
    for (const bool is_long : {true, false})
      for (const std::string_view one : op::kSymbols)
        if ((one.size() > 1) == is_long && accept(one)) return std::string(one);
    return "";
  }

  Instruction instruction() {
    if (accept_word("declare")) {
      auto [variable, type] = typed_name();
      return declare(type, variable);
    }
    if (accept_word("store")) return store_instruction();
    if (accept_word("require")) {
      Expr condition = expression();
      return require(std::move(condition), exit_behind_else());
    }
    if (accept_word("poll")) {
      const int64_t weight = number();
      return poll(weight, exit_behind_else());
    }
    if (accept_word("test")) return test_instruction();
    if (accept_word("if")) {
      Expr condition = expression();
      return branch(std::move(condition), way());
    }
    if (accept_word("go")) return go(way());
    if (accept_word("do")) return statement(expression());
    return assigning_instruction();
  }
  Instruction assigning_instruction() {
    std::string result = name();
    const std::string type = accept(":") ? type_name() : "";
    expect("=");
    if (type.empty()) {
      if (!accept_word("settle")) return assign(std::move(result), expression());
      Expr index = expression();
      expect_word("in");
      Expr size = expression();
      return settle(std::move(result), std::move(index), std::move(size), exit_behind_else());
    }
    if (accept_word("load")) {
      auto [array, index] = element();
      const std::string part = accept_word("part") ? name() : "";
      return load(type, std::move(result), std::move(array), std::move(index), part);
    }
    const bool fits = accept_word("fits");
    if (fits || accept_word("overflows")) {
      std::string function = name();
      const std::vector<Expr> operands = bracketed_list();
      if (operands.size() != 2) fail("two operands before this");
      return overflow(type, std::move(result), std::move(function), fits, operands[0], operands[1],
                      exit_behind_else());
    }
    Expr value = expression();
    std::string infix = symbol();
    if (infix.empty()) return define(type, std::move(result), std::move(value));
    return binary(type, std::move(result), std::move(value), std::move(infix), expression());
  }
  std::pair<Expr, Expr> element() {
    Expr array = expression();
    expect("[");
    Expr index = expression();
    expect("]");
    return {std::move(array), std::move(index)};
  }
  Instruction store_instruction() {
    auto [array, index] = element();
    expect("=");
    Expr value = expression();
    std::string variable = accept_word("and") ? name() : "";
    return store(std::move(array), std::move(index), std::move(value), std::move(variable));
  }
  Instruction test_instruction() {
    Expr counter = expression();
    std::string before = symbol();
    Expr end = expression();
    Expr step = accept_word("step") ? expression() : Expr();
    std::optional<std::pair<int, Exit>> pieces;
    if (accept_word("pieces")) {
      const int next_piece = block_number();
      pieces = {next_piece, exit()};
    }
    expect_word("else");
    Instruction in = test(std::move(counter), std::move(before), std::move(end), way(), std::move(step));
    if (pieces) poll_between_pieces(in, pieces->first, std::move(pieces->second));
    return in;
  }

  Array array() {
    auto [array_name, type] = typed_name();
    Array result{array_name, type};
    expect_word("dims");
    result.dims = static_cast<int>(number());
    expect_word("unit");
    result.unit = static_cast<uint64_t>(number());
    result.is_made = accept_word("made");
    return result;
  }
  RoundsEnd rounds_end() {
    RoundsEnd end{static_cast<int>(number()), {}};
    expect("{");
    while (accept_word("result")) {
      const auto place = static_cast<size_t>(number());
      expect("=");
      end.results.emplace_back(place, expression());
    }
    expect("}");
    return end;
  }
  Checks checks() {
    Checks result;
    expect_word("fit");
    result.bits = static_cast<int>(number());
    result.atoms = bracketed_list();
    while (accept_word("check")) result.all.push_back(expression());
    return result;
  }
  std::vector<Assignment> assignments() {
    std::vector<Assignment> result;
    while (accept_word("set")) result.push_back(assignment());
    return result;
  }
  Preheader preheader() {
    Preheader result;
    expect("{");
    while (accept_word("counter")) {
      Preheader::Counter one{static_cast<int>(number())};
      expect_word("from");
      one.first = expression();
      expect_word("to");
      one.last = expression();
      result.counters.push_back(std::move(one));
    }
    while (accept_word("where")) result.conditions.push_back(expression());
    result.checks = checks();
    result.entering = assignments();
    expect("}");
    return result;
  }
  SharedRounds shared_rounds() {
    SharedRounds shared;
    shared.function = name();
    expect_word("of");
    shared.counter = expression();
    expect_word("to");
    shared.stop = expression();
    expect_word("by");
    shared.step = number();
    expect_word("site");
    shared.site = static_cast<size_t>(number());
    expect("{");
    shared.checks = checks();
    while (accept_word("conflict")) shared.conflicts.push_back(expression());
    expect_word("slabs");
    shared.slabs = bracketed_list();
    expect_word("state");
    shared.state = bracketed_list();
    shared.results = assignments();
    expect_word("interrupted");
    shared.interrupted = exit();
    expect("}");
    return shared;
  }
  StraightBlock straight_block(std::string_view part) {
    StraightBlock block;
    expect_word(part);
    expect("{");
    if (is_next("test")) block.test = instruction();
    if (is_next("poll")) block.poll = instruction();
    while (accept_word("where")) block.conditions.push_back(expression());
    expect_word("body");
    expect("{");
    block.body = instructions();
    expect("}");
    block.assignments = assignments();
    expect("}");
    return block;
  }
  Jam jam() {
    Jam result;
    while (next() != 'o') result.rounds.push_back(static_cast<int>(number()));
    expect_word("of");
    result.counter = name();
    expect_word("to");
    result.stop = name();
    expect_word("over");
    result.inner_counter = name();
    expect_word("to");
    result.inner_stop = name();
    expect("{");
    if (accept_word("where")) result.condition = name();
    while (accept_word("own")) {
      auto [variable, type] = typed_name();
      result.own[variable] = type;
    }
    if (accept_word("kept")) {
      auto [array, index] = element();
      expect(":");
      result.kept = KeptElement{std::move(array), std::move(index), type_name()};
    }
    result.is_beside = accept_word("beside");
    result.begin = straight_block("begin");
    if (is_next("first")) result.first = straight_block("first");
    result.round = straight_block("round");
    result.end = straight_block("end");
    expect("}");
    return result;
  }
  Version version(int head) {
    Version result;
    result.head = head;
    if (accept_word("step")) result.step = name();
    result.meets = accept_word("meets");
    if (accept_word("rounds")) result.rounds = static_cast<int>(number());
    expect("{");
    while (accept_word("block")) {
      BasicBlock one{static_cast<int>(number())};
      expect("{");
      if (accept_word("jam")) one.jam = jam();
      one.code = instructions();
      expect("}");
      result.blocks.push_back(std::move(one));
    }
    expect("}");
    return result;
  }
  Block block() {
    Block result{static_cast<int>(number())};
    expect_word("line");
    result.line = static_cast<int>(number());
    if (accept_word("inside"))
      while (next() != '{') result.inside.insert(static_cast<int>(number()));
    expect("{");
    if (accept_word("in_turn")) result.in_turn = name();
    if (accept_word("shared")) result.shared = shared_rounds();
    if (accept_word("preheader")) result.preheader = preheader();
    result.code = instructions();
    if (accept_word("version")) result.version = version(result.id);
    expect("}");
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
};

template <class Part>
auto read_whole(std::string_view text, const Part& part) {
  TextReader reader(text);
  auto result = part(reader);
  reader.expect_end();
  return result;
}

}  // namespace

Expr parse_expression(std::string_view text) {
  return read_whole(text, [](TextReader& reader) { return reader.expression(); });
}

Instructions parse_instructions(std::string_view text) {
  return read_whole(text, [](TextReader& reader) { return reader.instructions(); });
}

Function parse(std::string_view text) {
  return read_whole(text, [](TextReader& reader) { return reader.function(); });
}

}  // namespace weft::loopir
