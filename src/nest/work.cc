#include "nest/work.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace weft::nest {
namespace {

using scalar::Prim;

int operations_of(Prim prim) {
  switch (prim) {
    case Prim::Arg:
    case Prim::Const:
    case Prim::Cast:
    case Prim::Bitcast:
    case Prim::Real:
    case Prim::Imag:
    case Prim::MakeComplex: return 0;
    case Prim::Fma: return 2;
    default: return prim >= Prim::Exp ? 20 : 1;
  }
}

class Counter {
 public:
  explicit Counter(const LoopNest& nest) : nest_(nest) {}

  NestWork run() {
    for (const KernelNode& node : nest_.nodes) {
      if (node.kind == KernelNode::Kind::Load) note_access(node.buffer, node.index);
      if (node.kind != KernelNode::Kind::Apply) continue;
      work_.operations = work_.operations + times(node.scope) * Sym(operations_of(node.prim));
      if (node.dtype == DType::F64 || (node.dtype == DType::I64 && work_.arithmetic == DType::F32))
        work_.arithmetic = node.dtype;
    }
    for (ScopeId id = 0; id < static_cast<ScopeId>(nest_.scopes.size()); ++id) {
      const Scope& scope = nest_.scope(id);
      work_.operations = work_.operations + times(id) * Sym(static_cast<int64_t>(scope.accumulators.size()));
      for (const Store& store : scope.stores)
        note_access(store.buffer, store.index, 1 + static_cast<int64_t>(store.more.size()));
    }
    for (const auto& [buffer, accesses] : accesses_)
      add_bytes(nest_.buffers[static_cast<size_t>(buffer)], accesses);
    return work_;
  }

 private:
  const LoopNest& nest_;
  NestWork work_;
  std::map<int, std::map<std::string, Sym>> accesses_;  // elements by buffer and index

  Sym times(ScopeId scope) const {
    Sym count = 1;
    for (ScopeId id = scope; id >= 0; id = nest_.scope(id).parent)
      for (const int loop : nest_.scope(id).loops) count = count * nest_.space.atom(loop).extent;
    return count;
  }

  void note_access(int buffer, const Index& index, int64_t values = 1) {
    std::set<int> loops;
    nest_.space.collect_loops(index, loops);
    Sym count = values;
    for (const int loop : loops) count = count * nest_.space.atom(loop).extent;
    accesses_[buffer].try_emplace(nest_.space.key(index), count);
  }

  void add_bytes(const Buffer& buffer, const std::map<std::string, Sym>& accesses) {
    const DType dtype = buffer.value->tensor().dtype;
    Sym elements = itemsize(dtype) / itemsize(buffer.dtype), accessed = 0;
    for (const Sym& size : buffer.value->tensor().shape) elements = elements * size;
    for (const auto& [key, count] : accesses) accessed = accessed + count;
    work_.bytes = work_.bytes + sym_min(accessed, elements) * Sym(int64_t{itemsize(buffer.dtype)});
  }
};

}  // namespace

NestWork work_of(const LoopNest& nest) { return Counter(nest).run(); }

}  // namespace weft::nest
