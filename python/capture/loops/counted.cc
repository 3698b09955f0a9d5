// Arrays of integers that a loop only adds to (counts[k] += 1): threads that share its rounds each add to an
// array of their own, and what is in those is added up in the order of the rounds.
#include "capture/loops/parallel_loop.h"

namespace weft::capture {

namespace {

// Is it `i64 const NAME = DATA[INDEX];`?
bool loads_count(const loopir::Instruction& in, const std::string& data) {
  return in.opcode == loopir::Opcode::Load && in.type == "i64" && in.symbol.empty() &&
         in.operands[0] == data && in.operands[1].uses(data) == 0;
}

// Is it `DATA[INDEX] = NAME;`?
bool stores_count(const loopir::Instruction& in, const std::string& data) {
  return in.opcode == loopir::Opcode::Store && in.result.empty() && in.operands[0] == data &&
         reads(in, data) == 1;
}

}  // namespace

// Is the array named `name` only ever added to?
bool LoopBuilder::is_counted(const ParallelLoop& loop, const std::string& name) {
  const std::string data = name + "_data";
  const auto is_handed_on = [&](const std::string& value_or_part) {
    for (const auto& [id, step] : loop.steps)
      for (const Edge& edge : step.edges)
        for (const auto& [variable, value] : edge.moves)
          if (loopir::Expr(value.expr).uses(value_or_part) > 0) return true;
    return false;
  };
  const auto is_stored = [&](const loopir::Expr& array) {
    for (const auto& [id, step] : loop.steps)
      for (const loopir::Instruction& in : step.code)
        if (in.opcode == loopir::Opcode::Store && in.operands[0] == array) return true;
    return false;
  };
  for (const auto& [id, step] : loop.steps) {
    std::map<std::string, loopir::Expr> values;  // of names, as far as the block computes them
    std::map<std::string, loopir::Expr> loaded;  // name -> the index, with what the block computes for it
    for (const loopir::Instruction& in : step.code) {
      if (in.opcode == loopir::Opcode::Settle || (in.opcode == loopir::Opcode::Define && in.type == "i64"))
        values[in.result] = in.operands[0];
      if (in.opcode == loopir::Opcode::Load && in.type == "i64" && !is_stored(in.operands[0]))
        values[in.result] = loopir::element(in);
      if (reads(in, data) == 0) continue;
      const bool stores = stores_count(in, data);
      if (!stores && !loads_count(in, data)) return false;
      const loopir::Expr place = in.operands[1].with(values);
      if (!stores) {
        loaded[in.result] = place;
        continue;
      }
      const std::string& stored = in.operands[2].text();
      const auto update = loop.updates.find(stored);
      if (update == loop.updates.end()) return false;
      const auto& [op, a, b] = update->second;
      const std::string& count = loaded.count(a) ? a : b;
      const auto from = loaded.find(count);
      if (from == loaded.end() || !(from->second == place) || a == b || (op == '-' && count == b))
        return false;
      if (reads(step.code, count) != 1 || reads(step.code, stored) != 1) return false;
      if (is_handed_on(count) || is_handed_on(stored)) return false;
      loaded.erase(from);
    }
    if (!loaded.empty()) return false;
  }
  return !is_handed_on(data);
}

// The names that hold elements of a counted array in the code.
void LoopBuilder::add_counts(const loopir::Instructions& code, const std::string& array,
                             std::set<std::string>& names) {
  for (const loopir::Instruction& in : code)
    if (loads_count(in, array + "_data")) names.insert(in.result);
}

}  // namespace weft::capture
