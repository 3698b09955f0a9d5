#include "loopir/instruction.h"

#include <algorithm>
#include <iterator>

#include "loopir/operations.h"

namespace weft::loopir {

Instruction define(std::string type, std::string result, Expr value) {
  return {Opcode::Define, std::move(type), std::move(result), {std::move(value)}};
}

Instruction binary(std::string type, std::string result, Expr a, std::string symbol, Expr b) {
  return {
      Opcode::Binary, std::move(type), std::move(result), {std::move(a), std::move(b)}, std::move(symbol)};
}

Instruction load(std::string type, std::string result, Expr array, Expr index, std::string part) {
  return {Opcode::Load,
          std::move(type),
          std::move(result),
          {std::move(array), std::move(index)},
          std::move(part)};
}

Instruction declare(std::string type, std::string result) {
  return {Opcode::Declare, std::move(type), std::move(result), {}};
}

Instruction overflow(std::string type, std::string result, std::string function, bool true_if_fits, Expr a,
                     Expr b, Exit exit) {
  return {Opcode::Overflow,
          std::move(type),
          std::move(result),
          {std::move(a), std::move(b)},
          std::move(function),
          true_if_fits,
          0,
          std::move(exit)};
}

Instruction settle(std::string result, Expr index, Expr size, Exit exit) {
  return {Opcode::Settle, "i64", std::move(result), {std::move(index), std::move(size)}, "",
          false,          0,     std::move(exit)};
}

Instruction store(Expr array, Expr index, Expr value, std::string variable) {
  return {Opcode::Store, "", std::move(variable), {std::move(array), std::move(index), std::move(value)}};
}

Instruction assign(std::string variable, Expr value) {
  return {Opcode::Assign, "", std::move(variable), {std::move(value)}};
}

Instruction require(Expr condition, Exit exit) {
  return {Opcode::Require, "", "", {std::move(condition)}, "", false, 0, std::move(exit)};
}

Instruction poll(int64_t weight, Exit exit) {
  return {Opcode::Poll, "", "", {}, "", false, weight, std::move(exit)};
}

Instruction test(Expr counter, std::string before, Expr end, Way way, Expr step) {
  Instruction in{Opcode::Test, "", "", {std::move(counter), std::move(end)}, std::move(before)};
  if (!step.empty()) in.operands.push_back(std::move(step));
  in.way = std::move(way);
  return in;
}

void poll_between_pieces(Instruction& test, int block, Exit exit) {
  test.flag = true;
  test.number = block;
  test.exit = std::move(exit);
}

Instruction branch(Expr condition, Way way) {
  Instruction in{Opcode::Branch, "", "", {std::move(condition)}};
  in.way = std::move(way);
  return in;
}

Instruction go(Way way) {
  Instruction in{Opcode::Go, "", "", {}};
  in.way = std::move(way);
  return in;
}

Instruction statement(Expr text) { return {Opcode::Statement, "", "", {std::move(text)}}; }

Expr expression(const Instruction& in) {
  if (in.opcode == Opcode::Binary) return Expr::apply(op::infix(in.symbol), in.operands);
  if (in.opcode != Opcode::Load) return in.operands[0];
  const Expr element = Expr::apply(op::kElement, in.operands);
  return in.symbol.empty() ? element : Expr::apply(op::part(in.symbol), {element});
}

const Jump* jump_of(const Instruction& in) { return in.way ? std::get_if<Jump>(&*in.way) : nullptr; }
Jump* jump_of(Instruction& in) { return in.way ? std::get_if<Jump>(&*in.way) : nullptr; }

bool may_leave(const Instruction& in) { return in.exit || (in.way && std::holds_alternative<Exit>(*in.way)); }

int reads(const Instruction& in, const std::string& name) {
  int count = 0;
  for (const Expr& operand : in.operands) count += operand.uses(name);
  return count;
}

int reads(const Instructions& code, const std::string& name) {
  int count = 0;
  for (const Instruction& in : code) count += reads(in, name);
  return count;
}

namespace {

// Calls `on_name` for the names that are set, and `on_expr` for what is read.
template <class In, class OnName, class OnExpr>
void visit(In& in, const OnName& on_name, const OnExpr& on_expr) {
  on_name(in.result);
  for (auto& operand : in.operands) on_expr(operand);
  const auto visit_exit = [&](auto& exit) {
    for (auto& word : exit.words) on_expr(word);
  };
  if (in.exit) visit_exit(*in.exit);
  if (auto* jump = jump_of(in)) {
    for (auto& move : jump->moves) {
      on_name(move.variable);
      on_expr(move.value);
    }
  } else if (in.way) {
    visit_exit(std::get<Exit>(*in.way));
  }
}

}  // namespace

bool mentions(const Instruction& in, const std::set<std::string>& names) {
  bool found = false;
  visit(
      in, [&](const std::string& name) { found |= names.count(name) > 0; },
      [&](const Expr& expr) { found |= expr.uses_any(names); });
  return found;
}

bool mentions(const Instructions& code, const std::set<std::string>& names) {
  return std::any_of(code.begin(), code.end(), [&](const Instruction& in) { return mentions(in, names); });
}

Instruction renamed(Instruction in, const std::set<std::string>& names, const std::string& suffix) {
  visit(
      in,
      [&](std::string& name) {
        if (names.count(name)) name += suffix;
      },
      [&](Expr& expr) { expr = expr.renamed(names, suffix); });
  return in;
}

std::vector<Assignment> in_turn(const std::vector<Move>& moves) {
  std::vector<Assignment> kept, set;
  for (size_t i = 0; i < moves.size(); ++i) {
    const bool is_overwritten = std::any_of(moves.begin(), moves.end(), [&](const Move& other) {
      return &other != &moves[i] && moves[i].value.uses(other.variable) > 0;
    });
    Expr value = moves[i].value;
    if (is_overwritten) {
      kept.push_back({moves[i].type, "old" + std::to_string(i), std::move(value)});
      value = kept.back().name;
    }
    set.push_back({"", moves[i].variable, std::move(value)});
  }
  std::move(set.begin(), set.end(), std::back_inserter(kept));
  return kept;
}

}  // namespace weft::loopir
