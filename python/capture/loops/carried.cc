// Elements that a round of a checked loop sets and the next rounds read (y[i] after y[i - 1]) go from round
// to round in variables: they are stored all the same, but nobody waits for what comes back from memory.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr int64_t kMaxDistance = 3;  // rounds

// How many rounds before, if always as many, an index had the value of the other: by `step` counters each.
// Null: nobody knows.
std::optional<int64_t> rounds_between(const LoopAffine& now, const LoopAffine& before, int64_t step) {
  if (!(now.factor == before.factor) || !(now.form == before.form)) return {};
  const int64_t difference = now.constant - before.constant;
  if (now.factor.empty()) return difference == 0 ? std::optional<int64_t>(0) : std::nullopt;
  if (now.factor.text() != "1L" || (step == 0 ? difference != 0 : difference % step != 0)) return {};
  return step == 0 ? 0 : difference / step;
}

}  // namespace

// Remembers the access; gives the variable that has the element, or gets it beside.
void LoopBuilder::note_element(const LoopValue& container, const std::vector<LoopValue>& indices, bool stores,
                               Place& place) {
  const bool is_known = container.kind == LoopKind::Array && container.dtype != DType::C128 &&
                        std::all_of(indices.begin(), indices.end(),
                                    [](const LoopValue& index) { return index.affine != nullptr; });
  if (!is_known) {
    checked_->has_other_stores |= stores;
    return;
  }
  CheckedLoop::Element element{container, {}, block_id_, stores};
  for (const LoopValue& index : indices) element.index.push_back(index.affine);
  const std::optional<int64_t> distance = checked_->carried > 0 ? distance_to_stored(element) : std::nullopt;
  if (distance) {
    if (stores || (*distance > 0 && *distance <= checked_->carried))
      place.variable = fmt::format("carried{}_{}", checked_->head, *distance);
  }
  checked_->elements.push_back(std::move(element));
}

// The first that the loop stores; null: none.
const CheckedLoop::Element* LoopBuilder::stored_element() const {
  const std::vector<CheckedLoop::Element>& elements = checked_->elements;
  const auto found =
      std::find_if(elements.begin(), elements.end(), [](const auto& one) { return one.stores; });
  return found == elements.end() ? nullptr : &*found;
}

// How many rounds ago the loop stored what is at the element; 0: in this round.
std::optional<int64_t> LoopBuilder::distance_to_stored(const CheckedLoop::Element& element) const {
  const CheckedLoop::Element* stored = stored_element();
  if (!stored || stored->array.index != element.array.index || stored->index.size() != element.index.size())
    return {};
  std::optional<int64_t> rounds;
  for (size_t d = 0; d < element.index.size(); ++d) {
    const std::optional<int64_t> here = rounds_between(*stored->index[d], *element.index[d], checked_->step);
    if (!here) return {};
    if (stored->index[d]->factor.empty()) continue;
    if (rounds && *rounds != *here) return {};
    rounds = here;
  }
  return rounds;
}

// Does every round pass one of the blocks?
bool LoopBuilder::is_passed_always(const std::set<int>& blocks) const {
  std::set<int> seen;
  std::vector<int> waiting{checked_->head};
  if (blocks.count(checked_->head)) return true;
  while (!waiting.empty()) {
    const int id = waiting.back();
    waiting.pop_back();
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges) {
      if (edge.target == checked_->head) return false;
      if (checked_->blocks.count(edge.target) && !blocks.count(edge.target) &&
          seen.insert(edge.target).second)
        waiting.push_back(edge.target);
    }
  }
  return true;
}

// Of a loop whose blocks have been executed: how many rounds an element is to be carried, 0 where none can
// be.
void LoopBuilder::find_carried_elements() {
  CheckedLoop& loop = *checked_;
  if (loop.has_other_stores) return;
  std::set<int> storing;
  int64_t farthest = 0;
  for (const CheckedLoop::Element& element : loop.elements) {
    const std::optional<int64_t> distance = distance_to_stored(element);
    if (element.stores && distance != 0) return;
    if (element.stores) storing.insert(element.block);
    if (!element.stores && distance && *distance <= kMaxDistance) farthest = std::max(farthest, *distance);
  }
  if (farthest == 0 || !is_passed_always(storing)) return;
  loop.carried = farthest;
  loop.affine.clear();
  for (int64_t distance = 0; distance <= farthest; ++distance)
    variable_types_[fmt::format("carried{}_{}", loop.head, distance)] =
        element_type(stored_element()->array.dtype);
}

// Before the first round: what the rounds before it would have left. Added to the checks: an element's
// address is another one in every round.
void LoopBuilder::carried_at_first(loopir::Preheader& before) const {
  if (checked_->carried == 0) return;
  const CheckedLoop::Element& stored = *stored_element();
  const auto sum_of = [](const Expr& sum, const Expr& term) {
    return sum.empty() ? term : Expr::apply(op::infix("+"), {sum, term});
  };
  Expr strides;
  for (int64_t distance = 1; distance <= checked_->carried; ++distance) {
    Expr offset;
    for (size_t d = 0; d < stored.index.size(); ++d) {
      const LoopAffine& index = *stored.index[d];
      const Expr stride = stride_text(stored.array, static_cast<int>(d));
      Expr place = index.base;
      if (!index.factor.empty()) {
        const Expr earlier =
            Expr::apply(op::infix("-"), {Expr::name("first"), loopir::integer(distance * checked_->step)});
        place = sum_of(earlier, place);
      }
      offset = sum_of(offset, Expr::apply(op::infix("*"), {in_brackets(place), stride}));
      if (distance == 1 && !index.factor.empty()) strides = sum_of(strides, stride);
    }
    before.entering.push_back({"", fmt::format("carried{}_{}", checked_->head, distance - 1),
                               Expr::apply(op::kElement, {data_text(stored.array), offset})});
  }
  before.checks.all.push_back(Expr::apply(op::infix("!="), {strides, Expr::constant("0")}));
}

// At the head of a round: what was this round's is the last one's.
loopir::Instructions LoopBuilder::carried_on() const {
  loopir::Instructions code;
  const auto variable = [&](int64_t distance) {
    return fmt::format("carried{}_{}", checked_->head, distance);
  };
  for (int64_t distance = checked_->carried; distance > 0; --distance)
    code.push_back(loopir::assign(variable(distance), Expr::name(variable(distance - 1))));
  return code;
}

}  // namespace weft::capture
