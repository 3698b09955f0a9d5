#include "loopir/rounds.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace weft::loopir {

namespace {

// Calls `visit` for the moves of all jumps; stops where it is false.
using Visit = std::function<bool(const Jump&, const Move&)>;
bool all_moves(const Instructions& code, const Visit& visit) {
  for (const Instruction& in : code)
    if (const Jump* jump = jump_of(in))
      for (const Move& move : jump->moves)
        if (!visit(*jump, move)) return false;
  return true;
}
bool all_moves(const LoopBody& loop, const Visit& visit) {
  return std::all_of(loop.blocks.begin(), loop.blocks.end(),
                     [&](const auto& block) { return all_moves(block.second, visit); });
}

bool sets(const Jump& jump, const std::string& variable) {
  return std::any_of(jump.moves.begin(), jump.moves.end(),
                     [&](const Move& move) { return move.variable == variable; });
}

int reads(const LoopBody& loop, const std::string& name) {
  int count = 0;
  for (const auto& [id, code] : loop.blocks) count += loopir::reads(code, name);
  return count;
}

bool reads_first(const LoopBody& loop, const std::string& variable, int id, std::set<int>& seen) {
  if (!seen.insert(id).second) return false;
  const Instructions& code = loop.blocks.at(id);
  if (reads(code, variable) > 0) return true;
  for (const Instruction& in : code) {
    const Jump* jump = jump_of(in);
    if (!jump || !loop.blocks.count(jump->target)) continue;
    for (const Move& move : jump->moves)
      if (move.value.uses(variable) > 0) return true;
    if (jump->target != loop.head && !sets(*jump, variable) &&
        reads_first(loop, variable, jump->target, seen))
      return true;
  }
  return false;
}

// Is there a way round from the block that does not set it?
bool passes(const LoopBody& loop, const std::string& variable, int id, std::set<int>& seen) {
  if (!seen.insert(id).second) return false;
  for (const Instruction& in : loop.blocks.at(id)) {
    const Jump* jump = jump_of(in);
    if (jump && loop.blocks.count(jump->target) && !sets(*jump, variable) &&
        (jump->target == loop.head || passes(loop, variable, jump->target, seen)))
      return true;
  }
  return false;
}

// result = a + b or a - b, of 64 bits
struct Update {
  bool subtracts;
  std::string a, b;
  // As an addition to `name`: what is subtracted from is only the left operand.
  bool adds_to(const std::string& name) const { return a != b && (a == name || (b == name && !subtracts)); }
};

std::optional<Update> update_of(const Instruction& in) {
  if (in.type != "i64") return {};
  const bool adds = in.opcode == Opcode::Overflow ? in.symbol == "__builtin_add_overflow" : in.symbol == "+";
  const bool subtracts =
      in.opcode == Opcode::Overflow ? in.symbol == "__builtin_sub_overflow" : in.symbol == "-";
  if ((in.opcode != Opcode::Overflow && in.opcode != Opcode::Binary) || (!adds && !subtracts)) return {};
  return Update{subtracts, in.operands[0].text(), in.operands[1].text()};
}

std::map<std::string, Update> updates_of(const LoopBody& loop) {
  std::map<std::string, Update> updates;
  for (const auto& [id, code] : loop.blocks)
    for (const Instruction& in : code)
      if (const auto update = update_of(in)) updates.emplace(in.result, *update);
  return updates;
}

// Is it `i64 const NAME = DATA[INDEX];`?
bool loads_count(const Instruction& in, const std::string& data) {
  return in.opcode == Opcode::Load && in.type == "i64" && in.symbol.empty() && in.operands[0] == data &&
         in.operands[1].uses(data) == 0;
}

// Is it `DATA[INDEX] = NAME;`?
bool stores_count(const Instruction& in, const std::string& data) {
  return in.opcode == Opcode::Store && in.result.empty() && in.operands[0] == data && reads(in, data) == 1;
}

}  // namespace

bool reads_first(const LoopBody& loop, const std::string& variable) {
  std::set<int> seen;
  return reads_first(loop, variable, loop.head, seen);
}

bool always_sets(const LoopBody& loop, const std::string& variable) {
  std::set<int> seen;
  return !passes(loop, variable, loop.head, seen);
}

bool is_sum(const LoopBody& loop, const std::string& variable) {
  const std::map<std::string, Update> updates = updates_of(loop);
  const auto is_inside = [&](const Jump& jump) { return loop.blocks.count(jump.target) > 0; };
  int num_updates = 0;
  for (const auto& [result, update] : updates) {
    if (update.a != variable && update.b != variable) continue;
    if (!update.adds_to(variable) || reads(loop, result) > 0) return false;
    const std::string& name = result;
    const auto goes_elsewhere = [&](const Jump& jump, const Move& move) {
      return is_inside(jump) && move.variable != variable && move.value.uses(name) > 0;
    };
    if (!all_moves(loop, [&](const Jump& jump, const Move& move) { return !goes_elsewhere(jump, move); }))
      return false;
    ++num_updates;
  }
  const auto keeps_sum = [&](const Jump& jump, const Move& move) {
    if (!is_inside(jump)) return true;
    if (move.value.uses(variable) > 0) return false;
    if (move.variable != variable) return true;
    const auto found = updates.find(move.value.text());
    return found != updates.end() && (found->second.a == variable || found->second.b == variable);
  };
  return all_moves(loop, keeps_sum) && reads(loop, variable) == num_updates;
}

bool is_histogram(const LoopBody& loop, const std::string& data) {
  const std::map<std::string, Update> updates = updates_of(loop);
  const auto is_handed_on = [&](const std::string& name) {
    return !all_moves(loop, [&](const Jump&, const Move& move) { return move.value.uses(name) == 0; });
  };
  const auto is_stored = [&](const Expr& array) {
    for (const auto& [id, code] : loop.blocks)
      for (const Instruction& in : code)
        if (in.opcode == Opcode::Store && in.operands[0] == array) return true;
    return false;
  };
  for (const auto& [id, code] : loop.blocks) {
    std::map<std::string, Expr> values;  // of names, as far as the block computes them
    std::map<std::string, Expr> loaded;  // name -> the index, with what the block computes for it
    for (const Instruction& in : code) {
      if (in.opcode == Opcode::Settle || (in.opcode == Opcode::Define && in.type == "i64"))
        values[in.result] = in.operands[0];
      if (in.opcode == Opcode::Binary && in.type == "i64") values[in.result] = expression(in);
      if (in.opcode == Opcode::Load && in.type == "i64" && !is_stored(in.operands[0]))
        values[in.result] = expression(in);
      if (reads(in, data) == 0) continue;
      const bool stores = stores_count(in, data);
      if (!stores && !loads_count(in, data)) return false;
      const Expr place = in.operands[1].with(values);
      if (!stores) {
        loaded[in.result] = place;
        continue;
      }
      const std::string& stored = in.operands[2].text();
      const auto update = updates.find(stored);
      if (update == updates.end()) return false;
      const std::string& count = loaded.count(update->second.a) ? update->second.a : update->second.b;
      const auto from = loaded.find(count);
      if (from == loaded.end() || !(from->second == place) || !update->second.adds_to(count)) return false;
      if (loopir::reads(code, count) != 1 || loopir::reads(code, stored) != 1) return false;
      if (is_handed_on(count) || is_handed_on(stored)) return false;
      loaded.erase(from);
    }
    if (!loaded.empty()) return false;
  }
  return !is_handed_on(data);
}

void add_counts(const Instructions& code, const std::string& data, std::set<std::string>& names) {
  for (const Instruction& in : code)
    if (loads_count(in, data)) names.insert(in.result);
}

}  // namespace weft::loopir
