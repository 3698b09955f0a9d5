#include "capture/bytecode/jumps.h"

#include <unordered_map>
#include <vector>

namespace weft::capture {

const std::set<int>& jump_targets(const Code& code) {
  static auto& all = *new std::unordered_map<const Code*, std::set<int>>;
  auto [found, is_new] = all.try_emplace(&code);
  if (!is_new) return found->second;
  for (const Instruction& in : code.instructions)
    if (is_jump(in.op)) found->second.insert(in.arg);
  return found->second;
}

int loop_end(const Code& code, int head) {
  static auto& all = *new std::unordered_map<const Code*, std::vector<int>>;
  auto [found, is_new] = all.try_emplace(&code);
  std::vector<int>& ends = found->second;
  if (is_new) {
    ends.assign(code.instructions.size() + 1, -1);
    for (int i = 0; i < static_cast<int>(code.instructions.size()); ++i) {
      const Instruction& in = code.instructions[static_cast<size_t>(i)];
      const bool may_go_back = in.op == Op::JumpBack || in.op == Op::PopJumpIfTrue ||
                               in.op == Op::PopJumpIfFalse || in.op == Op::PopJumpIfNone ||
                               in.op == Op::PopJumpIfNotNone;
      if (may_go_back && in.arg <= i) ends[static_cast<size_t>(in.arg)] = i + 1;
    }
  }
  return ends[static_cast<size_t>(head)];
}

int outermost_loop(const Code& code, int at) {
  for (const int head : jump_targets(code))
    if (head <= at && loop_end(code, head) > at) return head;
  return -1;
}

}  // namespace weft::capture
