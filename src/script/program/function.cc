#include "script/program/function.h"

namespace weft::jit {

ir::Graph& FunctionImpl::get_graph() {
  const std::lock_guard lock(mutex);
  if (!graph) graph = define();
  return *graph;
}

void FunctionImpl::forget() {
  ready = optimized_ready = nullptr;
  code.reset();
  optimized.reset();
  graph.reset();
}

}  // namespace weft::jit
