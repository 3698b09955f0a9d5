#include "loopir/function.h"

#include <algorithm>

namespace weft::loopir {

int jumps_to(const Version& version, int target) {
  int count = 0;
  for (const BasicBlock& block : version.blocks)
    for (const Instruction& in : block.code)
      if (const Jump* jump = jump_of(in))
        count += jump->version == version.head && jump->target == target ? 1 : 0;
  return count;
}

std::string first_of(int head) { return head < 0 ? "first" : "first" + std::to_string(head); }
std::string last_of(int head) { return head < 0 ? "last" : "last" + std::to_string(head); }

const Block* find_block(const Function& function, int id) {
  const auto found = std::find_if(function.blocks.begin(), function.blocks.end(),
                                  [&](const Block& block) { return block.id == id; });
  return found == function.blocks.end() ? nullptr : &*found;
}

bool skips_preheader(const Function& function, const Jump& jump, int id) {
  const Block* target = find_block(function, jump.target);
  return target && target->inside.count(id) > 0;
}

}  // namespace weft::loopir
