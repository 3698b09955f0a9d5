#include "loopir/unroll.h"

#include <algorithm>
#include <iterator>

namespace weft::loopir {

namespace {

constexpr size_t kMost = 61;  // of a round
constexpr int kRounds = 4;

// Instructions, and names that exits and moves write.
size_t size_of(const Instructions& code) {
  size_t size = code.size();
  for (const Instruction& in : code) {
    if (in.opcode == Opcode::Settle) size += 3;  // two tests and a sum
    if (in.exit)
      for (const Expr& word : in.exit->words) size += word.num_words();
    if (const Jump* jump = jump_of(in))
      for (const Move& move : jump->moves) size += 1 + move.value.num_words();
  }
  return size;
}

}  // namespace

void unroll(Version& version) {
  if (version.blocks.size() != 1 || jumps_to(version, version.head) != 1) return;
  const Instructions& code = version.blocks.front().code;
  const bool leaves = std::any_of(std::next(code.begin()), code.end(), may_leave);
  if (code.front().opcode == Opcode::Test && leaves && size_of(code) <= kMost) version.rounds = kRounds;
}

}  // namespace weft::loopir
