#include <set>

#include "codegen/print_grid.h"

namespace weft::codegen {
namespace {

using namespace nest;

void collect_symbols(Sym s, std::set<int>& symbols) {
  if (s.is_constant()) return;
  const SymNode& node = *s.node();
  if (node.op == SymOp::Symbol) {
    symbols.insert(node.symbol);
    return;
  }
  collect_symbols(node.a, symbols);
  collect_symbols(node.b, symbols);
}

}  // namespace

std::vector<int> grid_symbols(const LoopNest& nest) {
  std::set<int> symbols;
  const auto of_index = [&](const auto& self, const Index& index) -> void {
    collect_symbols(index.constant, symbols);
    for (const auto& [atom_id, coefficient] : index.terms) {
      collect_symbols(coefficient, symbols);
      const Atom& atom = nest.space.atom(atom_id);
      if (atom.kind == Atom::Kind::Loop) continue;
      collect_symbols(atom.divisor, symbols);
      self(self, atom.inner);
    }
  };
  for (const Scope& scope : nest.scopes) {
    for (const int loop : scope.loops) collect_symbols(nest.space.atom(loop).extent, symbols);
    for (const Accumulator& accumulator : scope.accumulators) of_index(of_index, accumulator.position);
    for (const Store& store : scope.stores) of_index(of_index, store.index);
  }
  for (const KernelNode& node : nest.nodes) of_index(of_index, node.index);
  return {symbols.begin(), symbols.end()};
}

}  // namespace weft::codegen
