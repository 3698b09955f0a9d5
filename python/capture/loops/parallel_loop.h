// What is found out of a loop whose rounds threads may share (parallel.cc).
#pragma once

#include "capture/loops/builder.h"
#include "loopir/rounds.h"

namespace weft::capture {

struct LoopBuilder::ParallelLoop : LoopMarks {
  using Dims = std::vector<LoopAffineRef>;  // null: not known
  struct Access {
    int array;
    bool stores;
    Dims dims;
  };
  // One execution of each block.
  loopir::LoopBody body;
  std::map<int, std::vector<Edge>> edges;
  std::vector<Access> accesses;
  bool stores_views = false;         // elements of
  std::map<std::string, Dims> rows;  // of pointers to rows: their indices
  // What the analysis found.
  std::vector<std::string> carried;  // sums
  std::vector<std::string> last;     // what every round sets: the last one's are read where the rounds end
  std::map<int, size_t> own;         // of a stored array: the dimension that tells rounds apart
  std::set<int> counted;             // stored arrays that the loop only adds to
  std::set<Expr> atoms, checks, conflicts;
  int bits = 60;
};

}  // namespace weft::capture
