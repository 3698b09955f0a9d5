// What is found out of a loop whose rounds threads may share (parallel.cc, counted.cc).
#pragma once

#include "capture/loops/builder.h"

namespace weft::capture {

struct LoopBuilder::ParallelLoop : LoopMarks {
  using Dims = std::vector<LoopAffineRef>;  // null: not known
  struct Access {
    int array;
    bool stores;
    Dims dims;
  };
  struct Update {
    char op;
    std::string a, b;
  };
  struct Step {  // one execution of a block
    loopir::Instructions code;
    std::vector<Edge> edges;
  };
  std::map<int, Step> steps;
  std::vector<Access> accesses;
  bool stores_views = false;         // elements of
  std::map<std::string, Dims> rows;  // of pointers to rows: their indices
  std::map<std::string, Update> updates;
  // What the analysis found.
  std::vector<std::string> carried;  // sums
  std::vector<std::string> last;     // what every round sets: the last one's are read where the rounds end
  std::map<int, size_t> own;         // of a stored array: the dimension that tells rounds apart
  std::set<int> counted;             // stored arrays that the loop only adds to
  std::set<std::string> atoms, checks, conflicts;
  int bits = 60;
};

}  // namespace weft::capture
