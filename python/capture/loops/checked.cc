// Checked versions of innermost loops: what follows from the counter is checked once, before the loop begins,
// so that nothing is left in the loop that keeps it from being vectorized. Where a check fails, the other
// version runs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "capture/loops/builder.h"
#include "loopir/unroll.h"

namespace weft::capture {

const LoopValue* range_at_top(const LoopFrame& frame, bool any_step) {
  if (frame.stack.empty() || frame.stack.back().kind != LoopKind::RangeIter ||
      resized_under(frame.stack.back()))
    return nullptr;
  const LoopValue& it = frame.stack.back();
  return it.items[2].known || any_step ? &it : nullptr;
}

// The step of a range, in C++.
static Expr step_of(const LoopValue& range) {
  const LoopValue& step = range.items[2];
  return step.known ? loopir::integer(*step.known) : step.expr;
}

Expr last_of_range(const LoopValue& range) {
  const auto of = [](const Expr& a, const char* symbol, const Expr& b) {
    return Expr::apply(op::infix(symbol), {a, b});
  };
  const Expr &next = range.items[0].expr, &stop = range.items[1].expr;
  const int64_t step = range.items[2].known.value_or(0);
  if (step == 1 || step == -1) return of(stop, step == 1 ? "-" : "+", Expr::constant("1"));
  const Expr by = step_of(range), inside = in_brackets(Expr::constant(step >= 0 ? "1" : "-1"));
  const Expr rounds = of(in_brackets(of(of(stop, "-", inside), "-", next)), "/", by);
  return of(next, "+", of(rounds, "*", by));
}

// The blocks of the innermost loop with this head; none where it is no such thing.
std::set<int> LoopBuilder::loop_blocks(int head) const {
  const LoopFrame& frame = blocks_[static_cast<size_t>(head)].frames.back();
  const size_t depth = blocks_[static_cast<size_t>(head)].frames.size();
  const int end = loop_end(*frame.code, frame.ip);
  const auto inside = [&](int id) {
    const std::vector<LoopFrame>& frames = blocks_[static_cast<size_t>(id)].frames;
    if (frames.size() < depth) return false;
    const LoopFrame& own = frames[depth - 1];
    return own.code == frame.code && own.ip > frame.ip && own.ip < end;
  };
  // Depth first: `open` blocks are on the path; meeting one again other than the head is an inner loop.
  std::set<int> reaching, done, open;
  bool has_inner = false;
  const std::function<bool(int)> visit = [&](int id) {
    open.insert(id);
    bool reaches = false;
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges) {
      if (edge.target == head) {
        reaches = true;
      } else if (open.count(edge.target)) {
        has_inner = true;
      } else if (inside(edge.target)) {
        if (!done.count(edge.target)) visit(edge.target);
        reaches |= reaching.count(edge.target) > 0;
      }
    }
    open.erase(id);
    done.insert(id);
    if (reaches) reaching.insert(id);
    return reaches;
  };
  visit(head);
  if (has_inner || !reaching.count(head)) return {};
  return reaching;
}

// What is known of the block's variables.
void LoopBuilder::mark_affine(int id, const LoopMarks& loop) {
  for_each_leaf(frames_, [&](LoopValue& leaf) {
    if (leaf.kind != LoopKind::Int) return;
    if (!loop.changed.count(leaf.expr)) {
      leaf.affine = affine_atom(leaf.expr);
    } else if (auto found = loop.affine.find(leaf.expr); id != loop.head && found != loop.affine.end()) {
      leaf.affine = found->second;
    }
  });
  if (checked_ == &loop)
    for_each_leaf(frames_,
                  [&](LoopValue& leaf) { leaf.is_counter = checked_->counters.count(leaf.expr) > 0; });
  const bool is_inner =
      checked_ == &loop && std::count(checked_->inner.begin(), checked_->inner.end(), id) > 0;
  if (id != loop.head && !is_inner) return;
  LoopAffine counter{loopir::integer(1), loopir::integer(0), 1, {}};
  if (is_inner) counter.counter = id;
  frame().stack.back().items[0].affine = std::make_shared<const LoopAffine>(std::move(counter));
}

// Empty bounds: only that the number is exact.
bool LoopBuilder::check_before(const LoopAffineRef& value, const Expr& low, const Expr& end) {
  if (!checked_ || !value) return false;
  if (value->degree > 1) checked_->bits = 29;
  checked_->atoms.insert(value->atoms.begin(), value->atoms.end());
  if (low.empty()) return true;
  const Expr first = Expr::name(loopir::first_of(value->counter));
  const Expr last = Expr::name(loopir::last_of(value->counter));
  const Expr factor = value->factor.empty() ? loopir::integer(0) : value->factor;
  Expr check = Expr::apply(op::kStaysIn, {factor, value->base, first, last, low, end});
  if (value->counter >= 0)
    check = in_brackets(Expr::apply(op::kOr, {Expr::apply(op::infix("<"), {last, first}), check}));
  checked_->checks.insert(std::move(check));
  return true;
}

// Variables that only the head sets, to one value, are known behind it.
void LoopBuilder::note_set_by_head(int head, const std::vector<Edge>& edges, CheckedLoop& loop) const {
  std::set<std::string> elsewhere;
  for (int other : loop.blocks)
    for (const Edge& edge : blocks_[static_cast<size_t>(other)].edges)
      if (other != head && loop.blocks.count(edge.target))
        for (const auto& [variable, value] : edge.moves) elsewhere.insert(variable);
  // In a nest, behind the loop it may have what another run of the loop left there.
  if (loop.is_nest) {
    std::vector<LoopFrame> frames = blocks_[static_cast<size_t>(head)].frames;
    for_each_leaf(frames, [&](LoopValue& leaf) {
      if (head != loop.head) elsewhere.insert(leaf.expr);
    });
  }
  for (const Edge& edge : edges) {
    if (edge.target == head || !loop.blocks.count(edge.target)) continue;
    for (const auto& [variable, value] : edge.moves) {
      if (elsewhere.count(variable) || !value.affine) continue;
      const auto [found, is_new] = loop.affine.try_emplace(variable, value.affine);
      if (!is_new && found->second &&
          (!(found->second->base == value.affine->base) || !(found->second->factor == value.affine->factor)))
        found->second = nullptr;
    }
  }
}

// The blocks of the checked version, the head first.
loopir::Version LoopBuilder::checked_blocks() {
  CheckedLoop& loop = *checked_;
  const int head = loop.head;
  std::vector<int> order(loop.blocks.begin(), loop.blocks.end());
  std::stable_partition(order.begin(), order.end(), [&](int id) { return id == head; });
  const auto first_temporary = num_temporaries_;
  loopir::Version version{head, {}};
  version.meets = true;
  std::set<std::string> others;  // that are no counters
  loop.moved = 0;
  for (int id : order) {
    execute_block(id);
    for (const Edge& edge : block_edges_)
      for (const auto& [variable, value] : edge.moves)
        if (loop.blocks.count(edge.target) && !value.is_counter && !(value.known && most_of(value)))
          others.insert(variable);
    loopir::Instructions code;
    if (id == head) code = carried_on();
    std::move(block_code_.begin(), block_code_.end(), std::back_inserter(code));
    version.blocks.push_back({id, std::move(code)});
    if (id == head) note_set_by_head(head, block_edges_, loop);
  }
  bool all_count = true;
  for (const std::string& variable : others) all_count &= loop.counters.erase(variable) == 0;
  if (all_count) return version;
  num_temporaries_ = first_temporary;
  loop.elements.clear();
  return checked_blocks();
}

// To the same array at least.
bool LoopBuilder::stores_what_it_reads(const CheckedLoop& loop) {
  const auto is_read = [&](const CheckedLoop::Element& stored) {
    return std::any_of(loop.elements.begin(), loop.elements.end(), [&](const CheckedLoop::Element& other) {
      return !other.stores && other.array.index == stored.array.index;
    });
  };
  return loop.has_other_stores ||
         std::any_of(loop.elements.begin(), loop.elements.end(),
                     [&](const CheckedLoop::Element& one) { return one.stores && is_read(one); });
}

void LoopBuilder::add_checked_loop(int head) {
  const std::vector<LoopFrame>& frames = blocks_[static_cast<size_t>(head)].frames;
  const LoopFrame& frame = frames.back();
  if (frame.code->instructions[static_cast<size_t>(frame.ip)].op != Op::ForIter || !range_at_top(frame, true))
    return;
  CheckedLoop loop;
  loop.head = head;
  loop.blocks = loop_blocks(head);
  if (loop.blocks.empty()) return;
  for (int id : loop.blocks)
    if (blocks_[static_cast<size_t>(id)].has_arrays) return;
  for (int id : loop.blocks)
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges)
      if (loop.blocks.count(edge.target))
        for (const auto& [variable, value] : edge.moves) loop.changed.insert(variable);
  const LoopValue range = *range_at_top(frame, true);
  if (loop.changed.count(range.items[1].expr) || loop.changed.count(range.items[2].expr)) return;
  loop.polls = frames.size() == 1 && outermost_loop(*frame.code, frame.ip) == frame.ip;
  checked_ = &loop;
  marks_ = &loop;
  loop.step = range.items[2].known.value_or(0);
  find_counters();
  loopir::Version version = checked_blocks();
  find_carried_elements();
  if (loop.carried > 0) version = checked_blocks();
  version.step = step_of(range);
  loopir::unroll(version);
  check_counters();
  loopir::Preheader before = preheader(loop, range);
  checked_ = nullptr;
  marks_ = nullptr;
  Block& block = blocks_[static_cast<size_t>(head)];
  const bool is_alike = loop.step != 0 && loop.carried == 0 && loop.moved == 0 && version.rounds == 1;
  block.is_plain = is_alike && !stores_what_it_reads(loop);
  block.sums_in_place = is_alike && !block.is_plain && !loop.has_other_stores;
  enter_checked(loop, std::move(version), std::move(before));
}

void LoopBuilder::enter_checked(const CheckedLoop& loop, loopir::Version checked,
                                loopir::Preheader preheader) {
  Block& block = blocks_[static_cast<size_t>(loop.head)];
  block.checked = std::move(checked);
  block.preheader = std::move(preheader);
  block.checked_from = loop.blocks;
}

loopir::Preheader LoopBuilder::preheader(const CheckedLoop& loop, const LoopValue& range) const {
  const auto of = [](const Expr& a, const char* symbol, const Expr& b) {
    return Expr::apply(op::infix(symbol), {a, b});
  };
  const Expr &current = range.items[0].expr, &stop = range.items[1].expr, step = step_of(range);
  loopir::Preheader before;
  before.counters.push_back({-1, current, last_of_range(range)});
  constexpr int64_t kMostStep = int64_t{1} << 50;  // a few rounds more are numbers as well
  if (loop.step == 0)
    before.conditions = {of(step, ">", Expr::constant("0")), of(step, "<", loopir::integer(kMostStep))};
  before.conditions.push_back(of(current, loop.step < 0 ? ">" : "<", stop));
  before.checks.bits = loop.bits;
  before.checks.atoms.assign(loop.atoms.begin(), loop.atoms.end());
  before.checks.all.assign(loop.checks.begin(), loop.checks.end());
  if (loop.polls)
    before.entering.push_back({"", "piece_end", Expr::apply(op::kPieceEnd, {current, stop, step})});
  carried_at_first(before);
  return before;
}

}  // namespace weft::capture
