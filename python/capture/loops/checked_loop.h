// What is known of a loop while a version of it is built (checked.cc, nests.cc, carried.cc).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "capture/loops/value.h"

namespace weft::capture {

// What one version of a loop knows of its variables.
struct LoopMarks {
  int head = 0;
  std::set<int> blocks;
  std::set<std::string> changed;                // variables
  std::map<std::string, LoopAffineRef> affine;  // variables, behind the head
};
// The checked version of an innermost loop: all indices that follow from its counter are checked before it
// begins.
struct CheckedLoop : LoopMarks {
  std::set<Expr> checks, atoms;
  int bits = 60;  // what the numbers in the checks must fit in
  bool polls = false;
  std::set<std::string> counters;  // variables (counters.cc)
  int64_t moved = 0;               // by how much a round moves one of them at most
  // An element of an array that a round reads or sets.
  struct Element {
    LoopValue array;
    std::vector<LoopAffineRef> index;
    int block;
    bool stores;
  };
  std::vector<Element> elements;
  bool has_other_stores = false;
  int64_t step = 1;     // 0: a positive number that is not known
  int64_t carried = 0;  // rounds that an element is kept for
  bool is_nest = false;
  std::vector<int> inner;  // heads of the loops in the nest, each behind the one around it
  std::set<int> summing;   // those that store what they read: they lose by being in it, unless side by side
};

}  // namespace weft::capture
