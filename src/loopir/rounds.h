// What goes from round to round of a loop: sums, counts, values that are set before they are read.
#pragma once

#include <map>

#include "loopir/instruction.h"

namespace weft::loopir {

// The blocks of a loop, by their numbers. What leads out of them is in their jumps.
struct LoopBody {
  int head = 0;
  std::map<int, Instructions> blocks;
};

// Is the variable read in a round before it is set?
bool reads_first(const LoopBody& loop, const std::string& variable);
// Does every way round set it?
bool always_sets(const LoopBody& loop, const std::string& variable);

// Is the variable, an integer, only ever added to?
bool is_sum(const LoopBody& loop, const std::string& variable);

// Is an array of integers only ever added to (counts[k] += 1)? Threads that share the rounds then each add to
// an array of their own, and what is in those is added up in the order of the rounds.
bool is_histogram(const LoopBody& loop, const std::string& data);
// The names that hold elements of such an array in the code.
void add_counts(const Instructions& code, const std::string& data, std::set<std::string>& names);

}  // namespace weft::loopir
