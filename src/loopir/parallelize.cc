#include "loopir/parallelize.h"

#include <map>

namespace weft::loopir {

void end_at_test(Instructions& head) {
  for (Instruction& in : head) {
    if (in.opcode != Opcode::Test) continue;
    in.way = Jump{};
    in.exit.reset();
    in.flag = false;
    return;
  }
}

void limit_sums(Instructions& code, const std::set<std::string>& sums) {
  static const auto& limited = *new std::map<std::string, std::string>{
      {"__builtin_add_overflow", "limited_add_overflow"}, {"__builtin_sub_overflow", "limited_sub_overflow"}};
  for (Instruction& in : code) {
    if (in.opcode != Opcode::Overflow ||
        (!sums.count(in.operands[0].text()) && !sums.count(in.operands[1].text())))
      continue;
    if (const auto found = limited.find(in.symbol); found != limited.end()) in.symbol = found->second;
  }
}

void limit_sums(Jam& jam, const std::set<std::string>& sums) {
  limit_sums(jam.begin.body, sums);
  if (jam.first) limit_sums(jam.first->body, sums);
  limit_sums(jam.round.body, sums);
  limit_sums(jam.end.body, sums);
}

}  // namespace weft::loopir
