#include "loopir/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "loopir/operations.h"

namespace weft::loopir {

namespace {

bool is_plain_word(const std::string& text) {
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), is_word_part);
}

// One number, without a sign: what a reader takes until the next blank or bracket.
bool is_plain_number(const std::string& text) {
  return !text.empty() && is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_word_part(c) || c == '.'; });
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result + "\"";
}

std::string word(const std::string& text) { return is_plain_word(text) ? text : quoted(text); }

// "f64", "f64*"
std::string type_text(const std::string& type) {
  const std::string pointed =
      !type.empty() && type.back() == '*' ? std::string(type.begin(), type.end() - 1) : "";
  return is_plain_word(pointed) ? type : word(type);
}

std::string list_of(const std::vector<Expr>& values) {
  std::string text;
  for (const Expr& value : values) text += (text.empty() ? "" : ", ") + str(value);
  return text;
}

std::string str_of(const Way& way) {
  const Jump* jump = std::get_if<Jump>(&way);
  if (!jump) return str(std::get<Exit>(way));
  if (jump->target == Jump::kDone) return "done";
  std::string text = fmt::format("b{}", jump->target), moves;
  if (jump->version != Jump::kNoVersion) text = fmt::format("v{} {}", jump->version, text);
  for (const Move& move : jump->moves)
    moves += fmt::format("{}{}: {} = {}", moves.empty() ? "" : ", ", word(move.variable),
                         type_text(move.type), str(move.value));
  return moves.empty() ? text : fmt::format("{}({})", text, moves);
}

std::string str_of(const Assignment& one) {
  const std::string type = one.type.empty() ? "" : ": " + type_text(one.type);
  return fmt::format("{}{} = {}", word(one.name), type, str(one.value));
}

std::string test_text(const Instruction& in) {
  std::string text = fmt::format("test {} {} {}", str(in.operands[0]), in.symbol, str(in.operands[1]));
  if (in.operands.size() > 2) text += " step " + str(in.operands[2]);
  if (in.flag) text += fmt::format(" pieces b{} {}", in.number, str(*in.exit));
  return fmt::format("{} else {}", text, str_of(*in.way));
}

std::string indented(const Instructions& code, const std::string& indent) {
  std::string text;
  for (const Instruction& in : code) text += indent + str(in) + "\n";
  return text;
}

std::string str_of(const StraightBlock& block, const char* name, const std::string& indent) {
  std::string text = fmt::format("{}{} {{\n", indent, name);
  const std::string inner = indent + "  ";
  if (block.test) text += inner + str(*block.test) + "\n";
  if (block.poll) text += inner + str(*block.poll) + "\n";
  for (const Expr& condition : block.conditions) text += fmt::format("{}where {}\n", inner, str(condition));
  text += inner + "body {\n" + indented(block.body, inner + "  ") + inner + "}\n";
  for (const Assignment& one : block.assignments) text += fmt::format("{}set {}\n", inner, str_of(one));
  return text + indent + "}\n";
}

std::string str_of(const Jam& jam, const std::string& indent) {
  std::string text =
      fmt::format("{}jam {} of {} to {} over {} to {} {{\n", indent, fmt::join(jam.rounds, " "),
                  word(jam.counter), word(jam.stop), word(jam.inner_counter), word(jam.inner_stop));
  const std::string inner = indent + "  ";
  if (!jam.condition.empty()) text += fmt::format("{}where {}\n", inner, quoted(jam.condition));
  for (const auto& [variable, type] : jam.own)
    text += fmt::format("{}own {}: {}\n", inner, word(variable), type_text(type));
  if (jam.kept)
    text += fmt::format("{}kept {}[{}]: {}\n", inner, str(jam.kept->array), str(jam.kept->index),
                        type_text(jam.kept->type));
  if (jam.is_beside) text += inner + "beside\n";
  text += str_of(jam.begin, "begin", inner);
  if (jam.first) text += str_of(*jam.first, "first", inner);
  return text + str_of(jam.round, "round", inner) + str_of(jam.end, "end", inner) + indent + "}\n";
}

std::string str_of(const Checks& checks, const std::string& indent) {
  std::string text = fmt::format("{}fit {}({})\n", indent, checks.bits, list_of(checks.atoms));
  for (const Expr& check : checks.all) text += fmt::format("{}check {}\n", indent, str(check));
  return text;
}

std::string str_of(const Preheader& preheader) {
  std::string text = "    preheader {\n";
  for (const Preheader::Counter& one : preheader.counters)
    text += fmt::format("      counter {} from {} to {}\n", one.head, str(one.first), str(one.last));
  for (const Expr& condition : preheader.conditions) text += fmt::format("      where {}\n", str(condition));
  text += str_of(preheader.checks, "      ");
  for (const Assignment& one : preheader.entering) text += fmt::format("      set {}\n", str_of(one));
  return text + "    }\n";
}

std::string str_of(const SharedRounds& shared) {
  std::string text = fmt::format("    shared {} of {} to {} by {} site {} {{\n", word(shared.function),
                                 str(shared.counter), str(shared.stop), shared.step, shared.site);
  text += str_of(shared.checks, "      ");
  for (const Expr& one : shared.conflicts) text += fmt::format("      conflict {}\n", str(one));
  text += fmt::format("      slabs ({})\n      state ({})\n", list_of(shared.slabs), list_of(shared.state));
  for (const Assignment& one : shared.results) text += fmt::format("      set {}\n", str_of(one));
  return text + fmt::format("      interrupted {}\n    }}\n", str(shared.interrupted));
}

std::string str_of(const Version& version) {
  std::string text = "    version";
  if (!version.step.empty()) text += " step " + quoted(version.step);
  if (version.meets) text += " meets";
  if (version.rounds != 1) text += fmt::format(" rounds {}", version.rounds);
  text += " {\n";
  for (const BasicBlock& block : version.blocks) {
    text += fmt::format("      block {} {{\n", block.id);
    if (block.jam) text += str_of(*block.jam, "        ");
    text += indented(block.code, "        ") + "      }\n";
  }
  return text + "    }\n";
}

std::string str_of(const Block& block) {
  std::string text = fmt::format("  block {} line {}", block.id, block.line);
  if (!block.inside.empty()) text += fmt::format(" inside {}", fmt::join(block.inside, " "));
  text += " {\n";
  if (!block.in_turn.empty()) text += fmt::format("    in_turn {}\n", quoted(block.in_turn));
  if (block.shared) text += str_of(*block.shared);
  if (block.preheader) text += str_of(*block.preheader);
  text += indented(block.code, "    ");
  if (block.version) text += str_of(*block.version);
  return text + "  }\n";
}

}  // namespace

std::string str(const Expr& expr) {
  const std::string& text = expr.text();
  if (!expr.is_typed()) return quoted(text);
  if (expr.is_name()) return is_plain_word(text) ? text : "$" + quoted(text);
  if (expr.is_function()) return "@" + word(text);
  if (expr.is_constant())
    return is_plain_number(text) || text == "true" || text == "false" ? text : "#" + quoted(text);
  const Operation& operation = *expr.operation();
  const std::vector<Expr>& operands = expr.operands();
  if (operation.is_call && operands[0].is_function() && expr.type().empty())
    return fmt::format("{}({})", str(operands[0]), list_of({operands.begin() + 1, operands.end()}));
  const std::string type = expr.type().empty() ? "" : ":" + type_text(expr.type());
  return fmt::format("{}{}({})", operation.name, type, list_of(operands));
}

std::string str(const Exit& exit) { return fmt::format("exit {}({})", exit.number, list_of(exit.words)); }

std::string str(const Instruction& in) {
  const auto operand = [&](size_t k) { return str(in.operands[k]); };
  const std::string result = word(in.result);
  const std::string is = fmt::format("{}: {} = ", result, type_text(in.type));
  const std::string otherwise = in.exit ? " else " + str(*in.exit) : "";
  switch (in.opcode) {
    case Opcode::Define: return is + operand(0);
    case Opcode::Binary: return fmt::format("{}{} {} {}", is, operand(0), in.symbol, operand(1));
    case Opcode::Load: {
      const std::string part = in.symbol.empty() ? "" : " part " + quoted(in.symbol);
      return fmt::format("{}load {}[{}]{}", is, operand(0), operand(1), part);
    }
    case Opcode::Declare: return fmt::format("declare {}: {}", result, type_text(in.type));
    case Opcode::Overflow:
      return fmt::format("{}{} {}({}, {}){}", is, in.flag ? "fits" : "overflows", word(in.symbol), operand(0),
                         operand(1), otherwise);
    case Opcode::Settle:
      return fmt::format("{} = settle {} in {}{}", result, operand(0), operand(1), otherwise);
    case Opcode::Store:
      return fmt::format("store {}[{}] = {}{}", operand(0), operand(1), operand(2),
                         in.result.empty() ? "" : " and " + result);
    case Opcode::Assign: return fmt::format("{} = {}", result, operand(0));
    case Opcode::Require: return fmt::format("require {}{}", operand(0), otherwise);
    case Opcode::Poll: return fmt::format("poll {}{}", in.number, otherwise);
    case Opcode::Test: return test_text(in);
    case Opcode::Branch: return fmt::format("if {} {}", operand(0), str_of(*in.way));
    case Opcode::Go: return "go " + str_of(*in.way);
    case Opcode::Statement: return "do " + operand(0);
  }
  return "";
}

std::string str(const Function& function) {
  std::string text = fmt::format("function {} {{\n", word(function.name));
  for (const Callee& callee : function.callees)
    text += fmt::format("  callee {}: {} at {}\n", word(callee.name), word(callee.type), callee.place);
  for (const Array& array : function.arrays)
    text += fmt::format("  array {}: {} dims {} unit {}{}\n", word(array.name), type_text(array.type),
                        array.dims, array.unit, array.is_made ? " made" : "");
  if (function.num_lists > 0) text += fmt::format("  lists {}\n", function.num_lists);
  for (const auto& [variable, type] : function.variables)
    text += fmt::format("  var {}: {}\n", word(variable), type_text(type));
  for (const Parameter& one : function.parameters)
    text += fmt::format("  param {}: {}{}\n", word(one.variable), type_text(one.type),
                        one.is_nonnegative ? " nonnegative" : "");
  for (size_t k = 0; k < function.exits.size(); ++k)
    text += fmt::format("  exit {} words {}\n", k, function.exits[k]);
  if (function.rounds) {
    text += fmt::format("  rounds {} {{\n", function.rounds->head);
    for (const auto& [place, value] : function.rounds->results)
      text += fmt::format("    result {} = {}\n", place, str(value));
    text += "  }\n";
  }
  for (const Block& block : function.blocks) text += str_of(block);
  return text + "}\n";
}

}  // namespace weft::loopir
