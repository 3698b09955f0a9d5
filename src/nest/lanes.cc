#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nest/passes.h"
#include "weft/env.h"

namespace weft::nest {

using scalar::Prim;

namespace {

// How often what is in the scope runs for each of its enclosing map loops' iterations.
double serial_length(const LoopNest& nest, ScopeId id) {
  double length = 1;
  for (; id >= 0; id = nest.scope(id).parent) {
    if (nest.scope(id).kind != Scope::Kind::Serial) continue;
    for (int loop : nest.scope(id).loops)
      length *= static_cast<double>(std::max<int64_t>(1, nest.space.atom(loop).extent.hint()));
  }
  return length;
}

// Reductions along outer dimensions read as much of each row as registers hold, in whole cache lines.
int column_registers(const LoopNest& nest, ScopeId id) {
  constexpr int64_t kLong = 32;
  const Scope& scope = nest.scope(id);
  size_t accumulators = 0;
  bool is_long = false;
  for (const Scope& inner : nest.scopes) {
    if (inner.kind != Scope::Kind::Serial || inner.parent != id) continue;
    accumulators += inner.accumulators.size();
    is_long = is_long || nest.space.atom(inner.loops.back()).extent.hint() >= kLong;
    for (const Accumulator& accumulator : inner.accumulators)
      if (is_arg_reduction(accumulator.op)) return 1;
  }
  if (!is_long || accumulators > 2) return 1;
  // As much as the columns need, and half of the registers hold.
  const int most = accumulators == 1 ? 8 : 4;
  const int64_t columns = nest.space.atom(scope.loops[0]).extent.hint();
  int registers = 1;
  while (registers < most && registers * scope.lanes < columns) registers *= 2;
  // A row that twice as many hold is read from end to end, which memory likes best.
  constexpr int kWidest = 64;
  const bool whole =
      accumulators == 1 && nest.vector_bytes == kWidest && columns <= 2 * registers * scope.lanes;
  return registers == most && whole ? 2 * registers : registers;
}

int reduction_registers(const LoopNest& nest, const Scope& scope) {
  constexpr int64_t kLong = 512;
  Sym extent = nest.space.atom(scope.loops.back()).extent;
  return extent.hint() >= kLong && scope.accumulators.size() <= 4 ? 4 : 1;
}

// Elementary functions of bfloat16 are one long chain from the conversion before to the one behind: more of
// it than a processor looks ahead. Two registers side by side are two chains.
int chain_registers(const LoopNest& nest, ScopeId id) {
  bool has_load = false, has_function = false, is_plain = nest.scope(id).rings.empty();
  for (const KernelNode& node : nest.nodes) {
    if (!node.varying || !nest.encloses(id, node.scope)) continue;
    has_load = has_load || (node.kind == KernelNode::Kind::Load && node.dtype == DType::BF16);
    has_function = has_function || (node.kind == KernelNode::Kind::Apply && node.prim >= Prim::Exp);
    is_plain = is_plain && node.scope == id && itemsize(compute_dtype(node.dtype)) <= 4;
  }
  return has_load && has_function && is_plain ? 2 : 1;
}

}  // namespace

void choose_lanes(LoopNest& nest) {
  for (ScopeId id = 0; id < static_cast<ScopeId>(nest.scopes.size()); ++id) {
    Scope& scope = nest.scope(id);
    if (scope.lanes < 2) continue;
    int widest = 0, widest_any = 1;
    for (const KernelNode& node : nest.nodes) {
      if (!node.varying || is_complex(node.dtype) || !nest.encloses(id, node.scope)) continue;
      int size =
          node.kind == KernelNode::Kind::Load ? itemsize(node.dtype) : itemsize(compute_dtype(node.dtype));
      if (is_floating(node.dtype)) size = std::max(size, itemsize(compute_dtype(node.dtype)));
      widest_any = std::max(widest_any, size);
      bool bookkeeping = node.dtype == DType::I64 &&
                         (node.kind == KernelNode::Kind::Reduced || node.kind == KernelNode::Kind::Position ||
                          (node.kind == KernelNode::Kind::Apply && node.prim == Prim::Select));
      if (!bookkeeping && !(node.kind == KernelNode::Kind::Apply && node.prim == Prim::Cast))
        widest = std::max(widest, size);
    }
    if (widest == 0) widest = widest_any;
    scope.lanes = std::max(2, nest.vector_bytes / widest);
    const int most_lanes = scope.is_reduction() ? 64 : 128;
    scope.lanes *= scope.is_reduction() ? reduction_registers(nest, scope)
                                        : std::max(column_registers(nest, id), chain_registers(nest, id));
    scope.lanes = std::min(scope.lanes, most_lanes);
  }
}

namespace {

// The scope with lanes along its last loop that a node of `id` is in.
ScopeId scope_with_lanes(const LoopNest& nest, ScopeId id) {
  while (nest.scope(id).lanes < 2) id = nest.scope(id).parent;
  return id;
}

int offset_of_ring(LoopNest& nest, Scope& scope, int ring) {
  for (const RingOfLoop& known : scope.rings)
    if (known.ring == ring) return known.offset;
  scope.rings.push_back({ring, nest.space.new_loop(fmt::format("turn_{}", scope.rings.size()), Sym(1))});
  return scope.rings.back().offset;
}

// An index in one piece of the scope's loop.
Index within_piece(LoopNest& nest, Scope& scope, const Index& index) {
  Index result(index.constant);
  for (const auto& [id, coefficient] : index.terms) {
    Index term = IndexSpace::of(id);
    if (nest.space.loop_of_ring(id) == scope.loops.back())
      term =
          nest.space.add(IndexSpace::of(scope.loops.back()), IndexSpace::of(offset_of_ring(nest, scope, id)));
    result = nest.space.add(result, nest.space.scale(term, coefficient));
  }
  return result;
}

}  // namespace

void split_at_ring_ends(LoopNest& nest) {
  for (KernelNode& node : nest.nodes) {
    if (node.kind != KernelNode::Kind::Load || !node.varying) continue;
    Scope& scope = nest.scope(scope_with_lanes(nest, node.scope));
    node.index = within_piece(nest, scope, node.index);
  }
}

namespace {

// Large enough (WEFT_STREAMING_BYTES) that nothing of it would be found in the caches later. Only stores that
// fill whole cache lines bypass the caches: one flat loop.
bool writes_much(const LoopNest& nest, ScopeId innermost) {
  if (innermost == 0 || nest.scope(innermost).kind != Scope::Kind::Vector) return false;
  if (!nest.scope(nest.scope(innermost).parent).loops.empty() || !nest.scope(innermost).rings.empty())
    return false;
  int64_t bytes = 0;
  for (const Store& store : nest.scope(innermost).stores) {
    const Buffer& buffer = nest.buffers[static_cast<size_t>(store.buffer)];
    if (itemsize(buffer.dtype) * nest.scope(innermost).lanes % nest.vector_bytes != 0) return false;
    bytes += buffer.count.hint() * itemsize(buffer.dtype);
  }
  return bytes >= env::number("WEFT_STREAMING_BYTES").value_or(0);
}

}  // namespace

ScopeId blocked_reduction(const LoopNest& nest, ScopeId vector) {
  constexpr int64_t kLong = 256;
  const Scope& scope = nest.scope(vector);
  ScopeId found = -1;
  for (ScopeId id = 0; id < static_cast<ScopeId>(nest.scopes.size()); ++id) {
    if (nest.scope(id).parent != vector) continue;
    if (found >= 0) return -1;
    found = id;
  }
  if (found < 0 || scope.stores.size() != 1 || !scope.stores[0].more.empty()) return -1;
  const Scope& rows = nest.scope(found);
  if (rows.kind != Scope::Kind::Serial || rows.loops.size() != 1 || rows.accumulators.size() != 1) return -1;
  const Accumulator& accumulator = rows.accumulators[0];
  const DType stored = nest.buffers[static_cast<size_t>(scope.stores[0].buffer)].dtype;
  if (is_arg_reduction(accumulator.op) || !nest.node(accumulator.operand).varying ||
      accumulator.dtype != stored)
    return -1;
  if (stored != DType::F32 && stored != DType::F64 && stored != DType::I32 && stored != DType::I64) return -1;
  if (!known_one(nest.space.coefficient(scope.stores[0].index, scope.loops[0]))) return -1;
  const bool one_pass = nest.space.atom(scope.loops[0]).extent.hint() <= scope.lanes;
  return one_pass || nest.space.atom(rows.loops[0]).extent.hint() < kLong ? -1 : found;
}

namespace {

bool has_blocked_reduction(const LoopNest& nest) {
  for (ScopeId id = 0; id < static_cast<ScopeId>(nest.scopes.size()); ++id)
    if (nest.scope(id).kind == Scope::Kind::Vector && blocked_reduction(nest, id) >= 0) return true;
  return false;
}

// The nodes that a value is made of, in loops that have ended too.
void collect_nodes(const LoopNest& nest, NodeId id, std::set<NodeId>& found) {
  if (!found.insert(id).second) return;
  const KernelNode& node = nest.node(id);
  for (const NodeId arg : node.args) collect_nodes(nest, arg, found);
  if (node.kind != KernelNode::Kind::Reduced) return;
  const Scope& loop = nest.scope(node.loop);
  collect_nodes(nest, loop.accumulators[static_cast<size_t>(node.accumulator)].operand, found);
}

}  // namespace

std::vector<int> operands_read_after_stores(const LoopNest& nest) {
  bool is_late = has_blocked_reduction(nest);
  std::set<NodeId> before;  // what the values that are kept are made of has been read by then
  for (const Scope& scope : nest.scopes)
    if (scope.is_reduction())
      for (const Store& store : scope.stores) {
        is_late = true;
        collect_nodes(nest, store.value, before);
        for (const NodeId value : store.more) collect_nodes(nest, value, before);
      }
  if (!is_late) return {};
  std::set<int> late;
  for (NodeId id = 0; id < static_cast<NodeId>(nest.nodes.size()); ++id) {
    const KernelNode& node = nest.node(id);
    if (node.kind == KernelNode::Kind::Load && !before.count(id) &&
        !nest.buffers[static_cast<size_t>(node.buffer)].written)
      late.insert(node.buffer);
  }
  return {late.begin(), late.end()};
}

int64_t rows_of_block(const LoopNest& nest, ScopeId vector) {
  constexpr int64_t kBytes = 128 << 10;
  const DType dtype = nest.buffers[static_cast<size_t>(nest.scope(vector).stores[0].buffer)].dtype;
  const int64_t row = nest.space.atom(nest.scope(vector).loops[0]).extent.hint() * itemsize(dtype);
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(row, 1), 8, 256);
}

void choose_streaming(LoopNest& nest) {
  nest.may_stream = !nest.is_read_later && writes_much(nest, nest.innermost);
}

void estimate_cost(LoopNest& nest) {
  double operations = 0, bytes = 0;
  constexpr double kLanes = 8;
  for (const KernelNode& node : nest.nodes) {
    if (node.kind == KernelNode::Kind::Apply)
      operations += serial_length(nest, node.scope) * (node.prim >= Prim::Exp ? 20.0 : 1.0) / kLanes;
    if (node.kind == KernelNode::Kind::Load) bytes += serial_length(nest, node.scope) * itemsize(node.dtype);
  }
  for (ScopeId id = 0; id < static_cast<ScopeId>(nest.scopes.size()); ++id) {
    const Scope& scope = nest.scope(id);
    for (const Store& store : scope.stores)
      bytes += itemsize(nest.buffers[static_cast<size_t>(store.buffer)].dtype);
    operations += serial_length(nest, id) * static_cast<double>(scope.accumulators.size()) / kLanes;
  }
  constexpr double kNanosecondsPerOperation = 0.4, kNanosecondsPerByte = 0.05;
  nest.cost_per_element = std::max(operations * kNanosecondsPerOperation, bytes * kNanosecondsPerByte);
}

}  // namespace weft::nest
