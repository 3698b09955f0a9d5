#include "loopir/function.h"

namespace weft::loopir {

int jumps_to(const Version& version, int target) {
  int count = 0;
  for (const BasicBlock& block : version.blocks)
    for (const Instruction& in : block.code)
      if (const Jump* jump = jump_of(in))
        count += jump->version == version.head && jump->target == target ? 1 : 0;
  return count;
}

}  // namespace weft::loopir
