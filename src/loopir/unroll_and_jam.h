// Several rounds of an outer loop that go through the inner loop together, each with variables of its own.
#pragma once

#include <map>

#include "loopir/instruction.h"

namespace weft::loopir {

// A block that leads straight to another one, in its parts.
struct StraightBlock {
  std::optional<Instruction> test, poll;
  std::vector<Expr> conditions;  // that hold, or Python performs the rest
  Instructions body;             // all else
  std::vector<Assignment> assignments;
};

// What keeps code from being taken apart: functions, which may do anything; lists.
struct Barred {
  std::set<std::string> functions, lists;
};

// Null where the block is no straight way to `target` of a version. `may_leave`: what is required stays in
// the body.
std::optional<StraightBlock> take_apart(const Instructions& code, bool has_test, int version, int target,
                                        bool may_leave, const Barred& barred);
std::set<std::string> results(const Instructions& code);

// An element of an array that the inner loop adds up in place: meanwhile it waits in the variable `kept`.
struct KeptElement {
  Expr array, index;
  std::string type;
};
// The one element that the code stores to; null: none, or several.
std::optional<KeptElement> only_stored(const Instructions& code);
void keep(const KeptElement& element, Instructions& code);

struct Jam {
  std::string condition;      // holds, or the rounds go in turn
  std::vector<int> rounds;    // at a time: the first as long as there are as many, then the next
  std::string counter, stop;  // of the outer loop
  std::string inner_counter, inner_stop;
  StraightBlock begin, round, end;     // before, in and behind the inner loop
  std::optional<StraightBlock> first;  // the first round of the inner loop, where it is a block of its own
  std::map<std::string, std::string> own;  // variables that each round has for itself, with their types
  std::optional<KeptElement> kept;
  bool is_beside = true;  // the rounds read what lies beside one another
};

// The variable of a kept element.
extern const char* const kKept;

// Is a round so small that several of them are of use?
bool is_small(const Jam& jam);
std::string print(const Jam& jam);

}  // namespace weft::loopir
