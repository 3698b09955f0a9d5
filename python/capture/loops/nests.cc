// Checked versions of nests of loops: where the bounds of the inner loops are known before the outermost one
// begins, all that follows from the counters is checked there once. Inner loops of few rounds then cost no
// checks of their own, and nothing in the nest has to keep what an exit would need.
#include <algorithm>
#include <functional>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr size_t kMaxBlocksOfNest = 48;

// The least and the greatest of what a bound may be, in terms of the counter that it depends on.
Expr extreme(const loopir::Operation& operation, const LoopAffine& bound) {
  if (bound.factor.empty()) return bound.base;
  const auto at = [&](const std::string& counter) {
    const Expr product = Expr::apply(op::infix("*"), {bound.factor, Expr::name(counter)});
    return Expr::apply(op::infix("+"), {product, bound.base});
  };
  return Expr::apply(operation, {at(loopir::first_of(bound.counter)), at(loopir::last_of(bound.counter))},
                     "i64");
}

}  // namespace

void LoopBuilder::add_checked_nests() {
  std::set<int> covered;
  for (int id = 0, count = static_cast<int>(blocks_.size()); id < count; ++id) {
    if (covered.count(id) || !add_checked_nest(id)) continue;
    const std::set<int> blocks = all_loop_blocks(id);
    covered.insert(blocks.begin(), blocks.end());
  }
}

bool LoopBuilder::add_checked_nest(int head) {
  const std::vector<LoopFrame>& frames = blocks_[static_cast<size_t>(head)].frames;
  const LoopFrame& frame = frames.back();
  const Block& block = blocks_[static_cast<size_t>(head)];
  if (frame.code->instructions[static_cast<size_t>(frame.ip)].op != Op::ForIter || !range_at_top(frame) ||
      is_unrolled(*range_at_top(frame)) || block.checked)
    return false;
  const LoopValue range = *range_at_top(frame);
  CheckedLoop nest;
  nest.head = head;
  nest.is_nest = true;
  nest.step = *range.items[2].known;
  nest.blocks = all_loop_blocks(head);
  if (nest.blocks.empty() || nest.blocks.size() > kMaxBlocksOfNest || !find_inner_loops(nest)) return false;
  for (int id : nest.blocks)
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges)
      if (nest.blocks.count(edge.target))
        for (const auto& [variable, value] : edge.moves) nest.changed.insert(variable);
  if (nest.changed.count(range.items[1].expr)) return false;
  // Threads share the rounds of loops that have an entry of their own.
  if (!has_independent_rounds(head) &&
      std::any_of(nest.inner.begin(), nest.inner.end(), [&](int id) { return has_independent_rounds(id); }))
    return false;
  // Each block behind those that lead to it, but for the ways back.
  std::vector<int> order;
  std::set<int> seen;
  const std::function<void(int)> visit = [&](int id) {
    if (!nest.blocks.count(id) || !seen.insert(id).second) return;
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges) visit(edge.target);
    order.insert(order.begin(), id);
  };
  visit(head);
  const std::vector<int> inner = nest.inner;
  nest.inner.clear();
  for (int id : order)
    if (std::count(inner.begin(), inner.end(), id) > 0) nest.inner.push_back(id);
  const size_t num_blocks = blocks_.size();
  checked_ = &nest;
  marks_ = &nest;
  std::map<int, loopir::Instructions> codes;
  std::map<int, std::vector<Edge>> edges;
  for (int id : order) {
    execute_block(id);
    codes[id] = std::move(block_code_);
    if (id == head || std::count(inner.begin(), inner.end(), id) > 0)
      note_set_by_head(id, block_edges_, nest);
    edges[id] = std::move(block_edges_);
  }
  checked_ = nullptr;
  marks_ = nullptr;
  if (blocks_.size() != num_blocks) return false;
  std::optional<loopir::Preheader> before = nest_preheader(nest, range, edges);
  if (!before) return false;
  loopir::Version version{head, {}};
  std::map<int, std::optional<loopir::Jam>> jams;
  for (int id : order) {
    const bool is_loop = id == head || std::count(inner.begin(), inner.end(), id) > 0;
    if (is_loop) jams[id] = side_by_side(id, nest, codes, edges, *before);
  }
  for (int id : order) version.blocks.push_back({id, std::move(codes[id]), std::move(jams[id])});
  if (!nest.summing.empty()) return false;
  enter_checked(nest, std::move(version), std::move(*before));
  return true;
}

void LoopBuilder::drop_checked_nest(int head) {
  Block& block = blocks_[static_cast<size_t>(head)];
  if (loop_blocks(head).empty()) block.checked.reset();
  if (block.checked) return;
  block.checked_from.clear();
  block.preheader.reset();
}

// False where the loops in the nest are not all ranges by one, or would lose by being in it.
bool LoopBuilder::find_inner_loops(CheckedLoop& nest) const {
  for (int id : nest.blocks) {
    const Block& block = blocks_[static_cast<size_t>(id)];
    if (block.has_arrays || block.stores_arrays || block.draws) return false;
    const LoopFrame& frame = block.frames.back();
    const bool is_for = frame.code->instructions[static_cast<size_t>(frame.ip)].op == Op::ForIter;
    if (id == nest.head || !is_for || frame.stack.empty()) continue;
    const LoopValue& it = frame.stack.back();
    if (it.kind == LoopKind::Rest || is_unrolled(it)) continue;
    if (it.kind != LoopKind::RangeIter || it.items.size() != 3 || it.items[2].known != 1) return false;
    if (!loop_blocks(id).empty() && !block.is_plain) {
      if (!block.sums_in_place) return false;
      nest.summing.insert(id);
    }
    nest.inner.push_back(id);
  }
  // Are there other ways back?
  std::set<int> open, done;
  bool has_others = false;
  const std::function<void(int)> visit = [&](int id) {
    open.insert(id);
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges) {
      const int target = edge.target;
      if (!nest.blocks.count(target)) continue;
      if (open.count(target))
        has_others |= target != nest.head && std::count(nest.inner.begin(), nest.inner.end(), target) == 0;
      else if (!done.count(target))
        visit(target);
    }
    open.erase(id);
    done.insert(id);
  };
  visit(nest.head);
  return !has_others && !nest.inner.empty();
}

std::optional<loopir::Preheader> LoopBuilder::nest_preheader(
    CheckedLoop& nest, const LoopValue& range, const std::map<int, std::vector<Edge>>& edges) const {
  const auto need = [&](const LoopAffineRef& bound) {
    if (bound->degree > 1) nest.bits = 29;
    nest.atoms.insert(bound->atoms.begin(), bound->atoms.end());
  };
  loopir::Preheader before;
  before.counters.push_back({-1, range.items[0].expr, last_of_range(range)});
  std::set<int> known;                                         // heads whose counters have bounds
  std::map<std::pair<int, std::string>, LoopAffineRef> stops;  // where they end: by head and variable
  // The first round of an inner loop may be a head of its own, with the same end.
  const auto bound_of = [&](int id, const std::string& variable) {
    const auto found = stops.find({id, variable});
    return found == stops.end() ? nullptr : found->second;
  };
  for (int head : nest.inner) {
    const LoopValue& it = blocks_[static_cast<size_t>(head)].frames.back().stack.back();
    const std::set<int> within = all_loop_blocks(head);
    LoopAffineRef bounds[2];
    for (const auto& [id, ways] : edges) {
      if (within.count(id)) continue;
      for (const Edge& way : ways) {
        if (way.target != head) continue;
        for (size_t k = 0; k < 2; ++k) {
          const std::string& variable = it.items[k].expr;
          const auto move = std::find_if(way.moves.begin(), way.moves.end(),
                                         [&](const auto& one) { return one.first == variable; });
          const LoopAffineRef bound = move != way.moves.end()        ? move->second.affine
                                      : nest.changed.count(variable) ? bound_of(id, variable)
                                                                     : affine_atom(Expr::name(variable));
          if (!bound || (bounds[k] && !equal(bounds[k], bound))) return {};
          if (!bound->factor.empty() && bound->counter >= 0 && !known.count(bound->counter)) return {};
          bounds[k] = bound;
        }
      }
    }
    if (!bounds[0] || !bounds[1]) return {};
    stops[{head, it.items[1].expr}] = bounds[1];
    need(bounds[0]);
    need(bounds[1]);
    const Expr end = extreme(op::kMaximum, *bounds[1]);
    before.counters.push_back(
        {head, extreme(op::kMinimum, *bounds[0]), Expr::apply(op::infix("-"), {end, Expr::constant("1")})});
    known.insert(head);
  }
  const int64_t step = *range.items[2].known;
  before.conditions = {
      Expr::apply(op::infix(step > 0 ? "<" : ">"), {range.items[0].expr, range.items[1].expr})};
  before.checks.bits = nest.bits;
  before.checks.atoms.assign(nest.atoms.begin(), nest.atoms.end());
  before.checks.all.assign(nest.checks.begin(), nest.checks.end());
  return before;
}

}  // namespace weft::capture
