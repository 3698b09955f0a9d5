#include "nest/loop_nest.h"

namespace weft::nest {

int LoopNest::depth(ScopeId id) const {
  int result = 0;
  for (; scope(id).parent >= 0; id = scope(id).parent) ++result;
  return result;
}

bool LoopNest::encloses(ScopeId outer, ScopeId inner) const {
  for (; inner >= 0; inner = scope(inner).parent)
    if (inner == outer) return true;
  return false;
}

int LoopNest::vector_loop(ScopeId id) const {
  for (; id >= 0; id = scope(id).parent) {
    const Scope& s = scope(id);
    if (s.kind == Scope::Kind::Vector || s.kind == Scope::Kind::VectorReduce ||
        s.kind == Scope::Kind::ParallelReduce)
      return s.lanes > 1 ? s.loops.back() : -1;
  }
  return -1;
}

}  // namespace weft::nest
