// Scopes and nodes of a loop nest under construction.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nest/loop_nest.h"

namespace weft::compiler {

using namespace nest;

class NestBuilder {
 protected:
  ScopeId add_scope(ScopeId parent, Scope scope);
  // The innermost scope of the loops that the index depends on.
  ScopeId scope_of(const std::vector<Index>& index);
  // Does the index differ between the lanes at `scope`?
  bool is_varying(const Index& index, ScopeId scope);
  // The node of this key where its scope has one already.
  NodeId add_node(KernelNode node, const std::string& key);
  NodeId constant(Scalar value, DType dtype);
  NodeId position(const Index& index);
  NodeId apply(KernelNode node);
  NodeId apply(scalar::Prim prim, DType dtype, std::vector<NodeId> args);
  NodeId cast(DType dtype, NodeId a);
  // Squares can be compared in place of what sqrt gives, as long as near ties are decided on the roots.
  bool is_root_of_nonnegative(NodeId id);
  // True if the value is at least zero, or NaN.
  bool is_nonnegative(NodeId id);

  LoopNest nest_;
  std::set<NodeId> known_nonnegative_;
};

}  // namespace weft::compiler
