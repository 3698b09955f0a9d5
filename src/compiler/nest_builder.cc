#include "compiler/nest_builder.h"

#include <fmt/format.h>

namespace weft::compiler {

using scalar::Prim;

ScopeId NestBuilder::add_scope(ScopeId parent, Scope scope) {
  scope.parent = parent;
  ScopeId id = static_cast<ScopeId>(nest_.scopes.size());
  for (int loop : scope.loops) nest_.space.atom(loop).scope = id;
  nest_.scopes.push_back(std::move(scope));
  return id;
}

ScopeId NestBuilder::scope_of(const std::vector<Index>& index) {
  ScopeId result = 0;
  int best = 0;
  std::set<int> loops;
  for (const Index& i : index) nest_.space.collect_loops(i, loops);
  for (int loop : loops) {
    ScopeId scope = nest_.space.atom(loop).scope;
    int depth = nest_.depth(scope);
    if (depth > best) best = depth, result = scope;
  }
  return result;
}

bool NestBuilder::is_varying(const Index& index, ScopeId scope) {
  int loop = nest_.vector_loop(scope);
  return loop >= 0 && nest_.space.depends_on(index, loop);
}

NodeId NestBuilder::add_node(KernelNode node, const std::string& key) {
  auto& known = nest_.scope(node.scope).nodes;
  if (auto found = known.find(key); found != known.end()) return found->second;
  NodeId id = static_cast<NodeId>(nest_.nodes.size());
  known[key] = id;
  nest_.nodes.push_back(std::move(node));
  return id;
}

NodeId NestBuilder::constant(Scalar value, DType dtype) {
  KernelNode node;
  node.kind = KernelNode::Kind::Constant;
  node.dtype = dtype;
  node.value = value;
  return add_node(
      node, fmt::format("const {} {} {}", short_name(dtype), value.str(), static_cast<int>(value.kind())));
}

NodeId NestBuilder::position(const Index& index) {
  if (index.is_constant() && index.constant.is_constant())
    return constant(Scalar(index.constant.constant()), DType::I64);
  KernelNode node;
  node.kind = KernelNode::Kind::Position;
  node.dtype = DType::I64;
  node.index = index;
  node.scope = scope_of({index});
  node.varying = is_varying(index, node.scope);
  return add_node(node, "position " + nest_.space.key(index));
}

NodeId NestBuilder::apply(KernelNode node) {
  std::string key =
      fmt::format("apply {} {} {} {}{}", static_cast<int>(node.kind), static_cast<int>(node.prim),
                  short_name(node.dtype), node.through_root, node.largest);
  int best = -1;
  for (NodeId arg : node.args) {
    const KernelNode& a = nest_.node(arg);
    int depth = nest_.depth(a.scope);
    if (depth > best) best = depth, node.scope = a.scope;
    node.varying = node.varying || a.varying;
    key += fmt::format(" {}", arg);
  }
  return add_node(std::move(node), key);
}

NodeId NestBuilder::apply(Prim prim, DType dtype, std::vector<NodeId> args) {
  KernelNode node;
  node.kind = KernelNode::Kind::Apply;
  node.prim = prim;
  node.dtype = dtype;
  node.args = std::move(args);
  return apply(std::move(node));
}

NodeId NestBuilder::cast(DType dtype, NodeId a) {
  DType from = nest_.node(a).dtype;
  // Held in the same register type, and exact.
  if (from == dtype || (dtype == DType::F32 && (from == DType::F16 || from == DType::BF16))) return a;
  return apply(Prim::Cast, dtype, {a});
}

bool NestBuilder::is_root_of_nonnegative(NodeId id) {
  const KernelNode& node = nest_.node(id);
  return node.kind == KernelNode::Kind::Apply && node.prim == Prim::Sqrt &&
         (node.dtype == DType::F32 || node.dtype == DType::F64) && is_nonnegative(node.args[0]);
}

bool NestBuilder::is_nonnegative(NodeId id) {
  const KernelNode& node = nest_.node(id);
  if (known_nonnegative_.count(id)) return true;
  if (node.kind == KernelNode::Kind::Constant) return node.value.to_double() >= 0;
  if (node.kind == KernelNode::Kind::Reduced) {
    const Accumulator& accumulator =
        nest_.scope(node.loop).accumulators[static_cast<size_t>(node.accumulator)];
    return !is_arg_reduction(accumulator.op) && is_nonnegative(accumulator.operand);
  }
  if (node.kind != KernelNode::Kind::Apply) return false;
  switch (node.prim) {
    case Prim::Abs:
    case Prim::Sqrt:
    case Prim::Exp: return is_floating(node.dtype);
    case Prim::Mul:
      return node.args[0] == node.args[1] || (is_nonnegative(node.args[0]) && is_nonnegative(node.args[1]));
    case Prim::Add:
    case Prim::Min:
    case Prim::Div: return is_nonnegative(node.args[0]) && is_nonnegative(node.args[1]);
    case Prim::Cast: return is_floating(nest_.node(node.args[0]).dtype) && is_nonnegative(node.args[0]);
    default: return false;
  }
}

}  // namespace weft::compiler
