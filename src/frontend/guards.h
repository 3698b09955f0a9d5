// What a trace took for granted about its arguments.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace weft::frontend {

struct InputGuard {
  DType dtype;
  Device device;
  SymShape shape;
  std::vector<int8_t> steps;  // empty: C-contiguous
};

// Of one dimension: -1 for a negative stride, 0, 1, and 2 for any larger one; empty when C-contiguous.
std::vector<int8_t> stride_steps(const Tensor& tensor);

class Guards {
 public:
  Guards() = default;
  // Reads the inputs' types and the guards recorded in the graph's symbols, which must outlive this.
  Guards(const ir::Graph& graph, const std::vector<Tensor>& arguments);
  // Fills `symbols` with the sizes they stand for.
  bool hold(const std::vector<Tensor>& arguments, std::vector<int64_t>& symbols) const;
  std::string str() const;

 private:
  std::vector<InputGuard> inputs_;
  std::vector<SymGuard> relations_;
  size_t num_symbols_ = 0;
};

}  // namespace weft::frontend
