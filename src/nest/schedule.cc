#include <map>
#include <string>
#include <vector>

#include "nest/passes.h"

namespace weft::nest {

void find_load_groups(LoopNest& nest) {
  constexpr int64_t kMaxGroupStride = 4;
  struct Partial {
    LoadGroup group;
    int found = 0;
  };
  std::map<std::string, Partial> partial;
  nest.group_of.assign(nest.nodes.size(), -1);
  for (size_t i = 0; i < nest.nodes.size(); ++i) {
    const KernelNode& node = nest.nodes[i];
    if (node.kind != KernelNode::Kind::Load || !node.varying) continue;
    int loop = nest.vector_loop(node.scope);
    if (nest.space.is_nonlinear_in(node.index, loop)) continue;
    Sym stride = nest.space.coefficient(node.index, loop);
    if (!stride.is_constant() || stride.constant() < 2 || stride.constant() > kMaxGroupStride) continue;
    if (!node.index.constant.is_constant() || node.index.constant.constant() < 0) continue;
    int64_t s = stride.constant(), offset = node.index.constant.constant();
    Index base = node.index;
    base.constant = Sym(offset / s * s);
    std::string key =
        std::to_string(node.scope) + "/" + std::to_string(node.buffer) + "/" + nest.space.key(base);
    Partial& entry = partial[key];
    if (entry.group.members.empty()) {
      entry.group = {node.buffer, base, static_cast<int>(s), node.scope,
                     std::vector<NodeId>(static_cast<size_t>(s), -1)};
    }
    NodeId& member = entry.group.members[static_cast<size_t>(offset % s)];
    if (member < 0) ++entry.found;
    member = static_cast<NodeId>(i);
  }
  for (auto& [key, entry] : partial) {
    if (entry.found != entry.group.stride) continue;
    for (NodeId member : entry.group.members)
      nest.group_of[static_cast<size_t>(member)] = static_cast<int>(nest.groups.size());
    nest.groups.push_back(entry.group);
  }
}

namespace {

class Scheduler {
 public:
  explicit Scheduler(LoopNest& nest)
      : nest_(nest),
        node_done_(nest.nodes.size()),
        scope_done_(nest.scopes.size()),
        group_done_(nest.groups.size()) {}

  void visit_scope(ScopeId id) {
    if (scope_done_[static_cast<size_t>(id)]) return;
    scope_done_[static_cast<size_t>(id)] = true;
    for (size_t i = 0; i < nest_.scope(id).accumulators.size(); ++i) {
      visit_node(nest_.scope(id).accumulators[i].operand);
      append(id, Statement::Kind::Update, static_cast<int>(i));
    }
    for (size_t i = 0; i < nest_.scope(id).stores.size(); ++i) {
      visit_node(nest_.scope(id).stores[i].value);
      for (NodeId value : nest_.scope(id).stores[i].more) visit_node(value);
      append(id, Statement::Kind::Store, static_cast<int>(i));
    }
    for (ScopeId child : nest_.scope(id).children) visit_scope(child);
    if (nest_.scope(id).parent >= 0) append(nest_.scope(id).parent, Statement::Kind::Child, id);
  }

 private:
  void append(ScopeId scope, Statement::Kind kind, int id) {
    nest_.scope(scope).statements.push_back({kind, id});
  }

  void visit_node(NodeId id) {
    if (node_done_[static_cast<size_t>(id)]) return;
    node_done_[static_cast<size_t>(id)] = true;
    const KernelNode& node = nest_.node(id);
    for (NodeId arg : node.args) visit_node(arg);
    if (node.kind == KernelNode::Kind::Reduced) {
      visit_scope(node.loop);
      return;
    }
    if (node.kind == KernelNode::Kind::Constant) return;
    int group = nest_.group_of[static_cast<size_t>(id)];
    if (group >= 0 && !group_done_[static_cast<size_t>(group)]) {
      group_done_[static_cast<size_t>(group)] = true;
      append(node.scope, Statement::Kind::LoadGroup, group);
    }
    if (group < 0) append(node.scope, Statement::Kind::Let, id);
  }

  LoopNest& nest_;
  std::vector<bool> node_done_, scope_done_, group_done_;
};

}  // namespace

void order_statements(LoopNest& nest) { Scheduler(nest).visit_scope(0); }

}  // namespace weft::nest
