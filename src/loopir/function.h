// A native loop of Python: basic blocks, and the versions of loops in them. They are printed as C++
// (print.h).
#pragma once

#include <optional>

#include "loopir/unroll_and_jam.h"

namespace weft::loopir {

struct BasicBlock {
  int id = 0;
  Instructions code = {};
  std::optional<Jam> jam = {};  // of a loop's head: before the block's own instructions
};

// The version of a loop whose checks are made before it begins.
struct Version {
  int head = 0;
  std::vector<BasicBlock> blocks;  // the head is the first
  std::string step = {};           // of the range that it goes over
  bool meets = false;              // its ways back meet before the head
  int rounds = 1;                  // that stand behind one another (unroll.h)
};

int jumps_to(const Version& version, int target);

}  // namespace weft::loopir
