// Instructions of native loops of Python: typed results, ways out of a block that carry what its target's
// variables become, and exits that carry the complete state.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "loopir/expression.h"

namespace weft::loopir {

// Out of the function: what the exit's words are set to. Python goes on from there.
struct Exit {
  int number = -1;
  std::vector<Expr> words = {};
  bool operator==(const Exit&) const = default;
};

// A variable of the block that a jump leads to, and its value there.
struct Move {
  std::string type, variable;
  Expr value;
  bool operator==(const Move&) const = default;
};

// To a block: of the version of a loop that has this head, or of the function's own.
struct Jump {
  static constexpr int kNoVersion = -1;
  static constexpr int kDone = -1;  // as a target: the end of a function that runs some rounds of a loop

  int target = kDone;
  int version = kNoVersion;
  std::vector<Move> moves = {};  // at once
  bool operator==(const Jump&) const = default;
};

using Way = std::variant<Jump, Exit>;

enum class Opcode : uint8_t {
  Define,    // result = operand 0
  Binary,    // result = operands 0 and 1 with `symbol` between them
  Load,      // result = array operand 0 at index operand 1, with `symbol` behind it
  Declare,   // result is set by what follows
  Overflow,  // result = function `symbol` of operands 0 and 1; left where it does not fit
  Settle,  // result = index operand 0, which counts from the end of size operand 1 where it is negative; left
           // where it is out of range
  Store,   // array operand 0 at index operand 1 = operand 2; so is the variable `result`, if there is one
  Assign,  // variable result = operand 0
  Require,    // left where operand 0 does not hold
  Poll,       // every so many rounds, by `number`: left where signal handlers raise
  Test,       // of a loop's head: goes on while counter operand 0 is before (`symbol`) the end operand 1
  Branch,     // if operand 0
  Go,         // always
  Statement,  // operand 0: C++ of any other kind
};

struct Instruction {
  Opcode opcode = Opcode::Statement;
  std::string type, result;
  std::vector<Expr> operands;
  std::string symbol = {};
  // Overflow: the function is true where the result fits. Test: looks for signals between pieces of the
  // range.
  bool flag = false;
  // Poll: the weight of a round. Test with signals: the block that goes on with the next piece.
  int64_t number = 0;
  std::optional<Exit> exit = {};
  std::optional<Way> way = {};
  bool operator==(const Instruction&) const = default;
};

using Instructions = std::vector<Instruction>;

Instruction define(std::string type, std::string result, Expr value);
Instruction binary(std::string type, std::string result, Expr a, std::string symbol, Expr b);
Instruction load(std::string type, std::string result, Expr array, Expr index, std::string part = "");
Instruction declare(std::string type, std::string result);
Instruction overflow(std::string type, std::string result, std::string function, bool true_if_fits, Expr a,
                     Expr b, Exit exit);
Instruction settle(std::string result, Expr index, Expr size, Exit exit);
Instruction store(Expr array, Expr index, Expr value, std::string variable = "");
Instruction assign(std::string variable, Expr value);
Instruction require(Expr condition, Exit exit);
Instruction poll(int64_t weight, Exit exit);
// The step decides which way `counter` goes where there is one; `before` does where not.
Instruction test(Expr counter, std::string before, Expr end, Way way, Expr step = {});
// Signals are looked for where a piece of the range ends; the block goes on with the next one.
void poll_between_pieces(Instruction& test, int block, Exit exit);
Instruction branch(Expr condition, Way way);
Instruction go(Way way);
Instruction statement(Expr text);

// What a definition, a binary operation or a load gives.
Expr expression(const Instruction& in);
// Null: it leads to no block.
const Jump* jump_of(const Instruction& in);
Jump* jump_of(Instruction& in);
bool may_leave(const Instruction& in);
// How often operands have the name: not what exits and jumps hand on.
int reads(const Instruction& in, const std::string& name);
int reads(const Instructions& code, const std::string& name);
// Does it have one of the names anywhere: in a result, an operand, an exit, a move?
bool mentions(const Instruction& in, const std::set<std::string>& names);
bool mentions(const Instructions& code, const std::set<std::string>& names);
// With the suffix behind the names, wherever they are.
Instruction renamed(Instruction in, const std::set<std::string>& names, const std::string& suffix);

// Moves one after another: values are kept before a variable that one of them needs changes.
struct Assignment {
  std::string type;  // of a value that is kept; empty: a variable is set
  std::string name;
  Expr value;
};
std::vector<Assignment> in_turn(const std::vector<Move>& moves);

}  // namespace weft::loopir
