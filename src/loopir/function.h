// A native loop of Python: basic blocks, the versions of loops in them, and what is checked before those are
// entered. It is printed as C++ (print.h) and as text that is read back (text.h).
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

// What must hold of numbers where a loop is entered: they are so small that what is computed of them fits.
struct Checks {
  int bits = 60;
  std::vector<Expr> atoms;  // that fit, as the counters' ends do
  std::vector<Expr> all;
};

// Before a version of a loop.
struct Preheader {
  // The first and the last number of a counter: `first3` and `last3` where it is that of the loop with head
  // 3, `first` and `last` of the outermost one's.
  struct Counter {
    int head = -1;
    Expr first = {}, last = {};
  };
  std::vector<Counter> counters;
  std::vector<Expr> conditions;  // looked at first: the loop goes round at all
  Checks checks;
  std::vector<Assignment> entering;
};

std::string first_of(int head);
std::string last_of(int head);

// Before a loop whose rounds threads share.
struct SharedRounds {
  std::string function = {};  // that runs some of them
  Expr counter = {}, stop = {};
  int64_t step = 1;
  size_t site = 0;  // the place of what is known of the loop among the functions; who shares it is behind
  Checks checks = {};
  std::vector<Expr> conflicts = {};  // how many rounds come before one that others wait for
  std::vector<Expr> slabs = {};      // where a round stores
  std::vector<Expr> state = {};
  std::vector<Assignment> results = {};
  Exit interrupted = {};
};

// Of the function's own.
struct Block {
  int id = 0;
  int line = 0;
  Instructions code = {};
  std::optional<SharedRounds> shared = {};
  std::string in_turn = {};  // why its rounds are not shared, where it heads a loop
  std::optional<Preheader> preheader = {};
  std::optional<Version> version = {};  // of the loop it heads
  std::set<int> inside = {};            // blocks whose ways to this head go round the preheader
};

// An array: `x_data`, its sizes `x_n0`, …, its strides `x_s0`, … but for those that are one element (`unit`).
struct Array {
  std::string name, type;
  int dims = 0;
  uint64_t unit = 0;
  bool is_made = false;  // by the function
  bool operator==(const Array&) const = default;
};

// What is called in the library: `c_name`.
struct Callee {
  std::string name, type;
  size_t place = 0;
  bool operator==(const Callee&) const = default;
};

// A variable that is set where the function begins.
struct Parameter {
  std::string type, variable;
  bool is_nonnegative = false;
  bool operator==(const Parameter&) const = default;
};

// Of a function that runs some rounds of a loop.
struct RoundsEnd {
  int head = 0;
  std::vector<std::pair<size_t, Expr>> results;  // places in the state
};

struct Function {
  std::string name;
  std::vector<Callee> callees;
  std::vector<Array> arrays;
  size_t num_lists = 0;                          // of the entry: list0, …
  std::map<std::string, std::string> variables;  // with their types
  std::vector<Parameter> parameters;
  std::vector<Block> blocks;
  std::vector<size_t> exits;  // by number: how many words it sets
  std::optional<RoundsEnd> rounds = {};
};

// Null: there is none.
const Block* find_block(const Function& function, int id);
// Does the jump of block `id` go round the preheader of the loop that it leads to?
bool skips_preheader(const Function& function, const Jump& jump, int id);

}  // namespace weft::loopir
