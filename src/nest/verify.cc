#include <fmt/format.h>

#include <set>
#include <vector>

#include "nest/text.h"
#include "weft/error.h"

namespace weft::nest {
namespace {

class Verifier {
 public:
  explicit Verifier(const LoopNest& nest) : nest_(nest), is_computed_(nest.nodes.size()) {}

  void run() {
    require(!nest_.scopes.empty() && nest_.scope(0).kind == Scope::Kind::Function, "no function");
    for (ScopeId id = 0; id < num_scopes(); ++id) verify_scope(id);
    for (NodeId id = 0; id < static_cast<NodeId>(nest_.nodes.size()); ++id) verify_node(id);
    for (const Scope& scope : nest_.scopes)
      if (!scope.statements.empty()) return verify_order(0);
  }

 private:
  const LoopNest& nest_;
  std::vector<bool> is_computed_;

  ScopeId num_scopes() const { return static_cast<ScopeId>(nest_.scopes.size()); }

  void require(bool holds, const std::string& what) const {
    WEFT_ASSERT(holds, fmt::format("nest {}: {}\n{}", nest_.name, what, holds ? "" : str(nest_)));
  }

  void verify_scope(ScopeId id) const {
    const Scope& scope = nest_.scope(id);
    require(id == 0 || (scope.parent >= 0 && scope.parent < num_scopes()),
            fmt::format("scope {} has no parent", id));
    require(id == 0 || nest_.encloses(0, id), fmt::format("scope {} is not in the function", id));
    require(scope.lanes >= 1, fmt::format("scope {} has {} lanes", id, scope.lanes));
    for (const int loop : scope.loops)
      require(nest_.space.atom(loop).kind == Atom::Kind::Loop, fmt::format("scope {} runs over no loop", id));
    for (const Accumulator& accumulator : scope.accumulators) {
      require(is_node(accumulator.operand), fmt::format("scope {}: an accumulator of nothing", id));
      verify_use(accumulator.operand, id, "an accumulator");
      verify_index(accumulator.position, id, "the position of an accumulator");
    }
    for (const Store& store : scope.stores) {
      require(is_buffer(store.buffer) && nest_.buffers[static_cast<size_t>(store.buffer)].written,
              fmt::format("scope {}: a store into what is not written", id));
      verify_index(store.index, id, "a store");
      verify_use(store.value, id, "a store");
      for (const NodeId value : store.more) verify_use(value, id, "a store");
    }
  }

  void verify_node(NodeId id) const {
    const KernelNode& node = nest_.node(id);
    const std::string what = fmt::format("%{}", id);
    require(node.scope >= 0 && node.scope < num_scopes(), what + " is in no scope");
    for (const NodeId arg : node.args) {
      require(is_node(arg), what + " has an operand that is none");
      verify_use(arg, node.scope, what);
    }
    if (node.kind == KernelNode::Kind::Load) require(is_buffer(node.buffer), what + " loads from no buffer");
    if (node.kind == KernelNode::Kind::Load || node.kind == KernelNode::Kind::Position)
      verify_index(node.index, node.scope, what);
    if (node.kind != KernelNode::Kind::Reduced) return;
    require(node.loop > 0 && node.loop < num_scopes() && nest_.scope(node.loop).parent == node.scope,
            what + " is the result of a loop elsewhere");
    require(node.accumulator >= 0 &&
                node.accumulator < static_cast<int>(nest_.scope(node.loop).accumulators.size()),
            what + " is the result of no accumulator");
  }

  bool is_node(NodeId id) const { return id >= 0 && id < static_cast<NodeId>(nest_.nodes.size()); }
  bool is_buffer(int id) const { return id >= 0 && id < static_cast<int>(nest_.buffers.size()); }

  void verify_use(NodeId operand, ScopeId scope, const std::string& user) const {
    require(
        nest_.node(operand).kind == KernelNode::Kind::Constant ||
            nest_.encloses(nest_.node(operand).scope, scope),
        fmt::format("{} in scope {} uses %{} of scope {}", user, scope, operand, nest_.node(operand).scope));
  }

  // The variables of an address are those of loops around it; where a ring splits a loop, its offset is one
  // of them.
  void verify_index(const Index& index, ScopeId scope, const std::string& user) const {
    std::set<int> bound, used;
    for (ScopeId id = scope; id >= 0; id = nest_.scope(id).parent) {
      bound.insert(nest_.scope(id).loops.begin(), nest_.scope(id).loops.end());
      for (const RingOfLoop& ring : nest_.scope(id).rings) bound.insert(ring.offset);
    }
    nest_.space.collect_loops(index, used);
    for (const int loop : used)
      require(bound.count(loop) != 0,
              fmt::format("{} in scope {} uses the variable {} of a loop that is not around it", user, scope,
                          nest_.space.atom(loop).name));
  }

  // ---- order -------------------------------------------------------------------------------------------
  void verify_order(ScopeId id) {
    const Scope& scope = nest_.scope(id);
    for (const Statement& statement : scope.statements) {
      switch (statement.kind) {
        case Statement::Kind::Let: compute(statement.id); break;
        case Statement::Kind::LoadGroup:
          for (const NodeId member : nest_.groups[static_cast<size_t>(statement.id)].members) compute(member);
          break;
        case Statement::Kind::Child: verify_order(statement.id); break;
        case Statement::Kind::Update:
          use(scope.accumulators[static_cast<size_t>(statement.id)].operand);
          break;
        case Statement::Kind::Store:
          use(scope.stores[static_cast<size_t>(statement.id)].value);
          for (const NodeId more : scope.stores[static_cast<size_t>(statement.id)].more) use(more);
          break;
      }
    }
    // What a loop has computed last is its result.
    for (NodeId node = 0; node < static_cast<NodeId>(nest_.nodes.size()); ++node)
      if (nest_.node(node).kind == KernelNode::Kind::Reduced && nest_.node(node).loop == id)
        is_computed_[static_cast<size_t>(node)] = true;
  }
  void compute(NodeId id) {
    for (const NodeId arg : nest_.node(id).args) use(arg);
    is_computed_[static_cast<size_t>(id)] = true;
  }
  void use(NodeId id) const {
    require(nest_.node(id).kind == KernelNode::Kind::Constant || is_computed_[static_cast<size_t>(id)],
            fmt::format("%{} is used before it is computed", id));
  }
};

}  // namespace

void verify(const LoopNest& nest) { Verifier(nest).run(); }

}  // namespace weft::nest
