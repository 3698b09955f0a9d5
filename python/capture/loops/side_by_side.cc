// Rounds of a loop around a loop, side by side. Where the inner loop only adds up what the round stores
// behind it (a product of matrices, distances of points), each of its sums waits for itself: several rounds
// of the outer loop take the inner one together, each with variables of its own. What a round computes, and
// in which order, stays as it is; where the rounds read elements that lie beside one another, compilers make
// vectors of them.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr int kMany = 16, kFew = 4;

}  // namespace

class SideBySide {
 public:
  SideBySide(const LoopBuilder& builder, int head, const CheckedLoop& nest,
             const std::map<int, loopir::Instructions>& codes,
             const std::map<int, std::vector<LoopBuilder::Edge>>& edges)
      : builder_(builder), head_(head), nest_(nest), codes_(codes), edges_(edges) {}

  // Can rounds go side by side?
  bool find() { return find_blocks() && find_variables() && find_elements(); }
  int inner() const { return inner_; }
  // A condition that is to be looked at once where the nest begins; empty: none.
  const std::string& apart() const { return apart_; }
  loopir::Jam jam(const std::string& apart_variable) && {
    std::string condition = apart_.empty() ? "" : apart_variable + " && ";
    if (jam_.kept) condition += kept_moves_ + " != 0 && ";
    for (const loopir::Expr& one : jam_.begin.conditions) condition += fmt::format("({}) && ", one.text());
    if (first_ >= 0) condition += fmt::format("{} < {} && ", inner_start_, inner_end_);
    jam_.condition = std::move(condition);
    if (jam_.is_beside) jam_.rounds.push_back(kMany);
    jam_.rounds.push_back(kFew);
    if (jam_.kept) jam_.rounds.push_back(1);
    for (const std::string& variable : own_)
      jam_.own[variable] =
          variable == loopir::kKept ? jam_.kept->type : builder_.variable_types_.at(variable);
    return std::move(jam_);
  }

 private:
  const LoopFrame& frame_of(int id) const { return builder_.blocks_[static_cast<size_t>(id)].frames.back(); }
  bool is_inner(int id) const { return std::count(nest_.inner.begin(), nest_.inner.end(), id) > 0; }
  // Of bounds and indices that this loop's counter is in.
  bool counts(const LoopAffine& value) const {
    return !value.factor.empty() && value.counter == (head_ == nest_.head ? -1 : head_);
  }
  const LoopBuilder::Edge* edge(int from, int to) const {
    const std::vector<LoopBuilder::Edge>& all = edges_.at(from);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.target == to; });
    return found == all.end() ? nullptr : &*found;
  }

  // The head, an inner loop of one block and one block behind it. Where the type of a sum changes with the
  // first number that is added, that round of the inner loop is a block of its own, behind which comes
  // another one where there is no round at all.
  bool find_blocks() {
    within_ = head_ == nest_.head ? nest_.blocks : builder_.all_loop_blocks(head_);
    if (nest_.has_other_stores || (head_ == nest_.head && nest_.step != 1)) return false;
    for (int id : within_) {
      if (id == head_) continue;
      const bool goes_round = edge(id, id) != nullptr;
      if (is_inner(id) && goes_round && inner_ < 0)
        inner_ = id;
      else if (is_inner(id) && !goes_round && first_ < 0)
        first_ = id;
      else if (is_inner(id))
        return false;
    }
    if (inner_ < 0 || within_.size() != (first_ < 0 ? 3U : 5U)) return false;
    for (int id : within_)
      if (id != head_ && id != first_ && id != inner_ && edge(inner_, id)) behind_ = id;
    const LoopValue *range = range_at_top(frame_of(head_)), *inner_range = range_at_top(frame_of(inner_));
    if (behind_ < 0 || !range || !inner_range) return false;
    jam_.counter = range->items[0].expr, jam_.stop = range->items[1].expr;
    jam_.inner_counter = inner_range->items[0].expr, jam_.inner_stop = inner_range->items[1].expr;
    return take_blocks_apart();
  }

  bool take_blocks_apart() {
    loopir::Barred barred;
    for (const auto& [name, of] : builder_.function_of_) barred.functions.insert("c_" + name);
    for (const auto& [variable, type] : builder_.variable_types_)
      if (type == "ResizedList*") barred.lists.insert(variable);
    for (size_t i = 0; i < builder_.result_.objects.num_entry_lists(); ++i)
      barred.lists.insert(fmt::format("list{}", i));
    const auto part = [&](int id, bool has_test, int target, bool may_leave, loopir::StraightBlock& block) {
      std::optional<loopir::StraightBlock> parts =
          take_apart(codes_.at(id), has_test, nest_.head, target, may_leave, barred);
      if (parts) block = std::move(*parts);
      return parts.has_value();
    };
    // By one, as long as the counter is below the end.
    const auto tests = [](const loopir::StraightBlock& block, const std::string& counter,
                          const std::string& end) {
      return *block.test == loopir::test(counter, "<", end, *block.test->way);
    };
    loopir::StraightBlock &begin = jam_.begin, &round = jam_.round, &end = jam_.end, first_round;
    if (!part(head_, true, first_ < 0 ? inner_ : first_, false, begin) ||
        !part(inner_, true, inner_, false, round) || !part(behind_, false, head_, true, end) ||
        !tests(begin, jam_.counter, jam_.stop) || !tests(round, jam_.inner_counter, jam_.inner_stop))
      return false;
    const loopir::Jump* leaving = loopir::jump_of(*round.test);
    if (!leaving || leaving->version != nest_.head || leaving->target != behind_ || !leaving->moves.empty())
      return false;
    if (first_ >= 0) {
      if (!part(first_, true, inner_, false, first_round) ||
          !tests(first_round, jam_.inner_counter, jam_.inner_stop) || first_round.poll ||
          !first_round.conditions.empty())
        return false;
      jam_.first = std::move(first_round);
    }
    if (round.poll || begin.poll || !round.conditions.empty()) return false;
    if (nest_.summing.count(inner_) == 0) return true;
    // An element that a round adds up in place waits in a variable.
    jam_.kept = loopir::only_stored(round.body);
    if (!jam_.kept || first_ >= 0) return false;
    loopir::keep(*jam_.kept, round.body);
    const loopir::Expr& index = jam_.kept->index;
    const std::set<std::string> array = {jam_.kept->array.text()};
    return index.uses(jam_.inner_counter) == 0 && !index.uses_any(loopir::results(round.body)) &&
           !mentions(round.body, array) && !mentions(end.body, array);
  }

  // The rounds begin in turn, but go through the inner loop together: nothing goes from one to the next
  // before the block behind it.
  bool find_variables() {
    std::set<std::string> all;
    for (int id : within_)
      for (const LoopBuilder::Edge& one : edges_.at(id))
        if (within_.count(one.target))
          for (const auto& [variable, value] : one.moves) all.insert(variable);
    const LoopBuilder::Edge* entering = edge(head_, first_ < 0 ? inner_ : first_);
    for (const auto& [variable, value] : entering->moves) {
      own_.insert(variable);
      if (variable != jam_.inner_counter && variable != jam_.inner_stop) continue;
      // The inner loop's bounds are those of all rounds.
      if (!value.affine || counts(*value.affine)) return false;
      (variable == jam_.inner_counter ? inner_start_ : inner_end_) = value.expr;
    }
    if (inner_start_.empty() || !own_.count(jam_.counter)) return false;
    if (inner_end_.empty()) inner_end_ = jam_.inner_stop;
    if (!own_.count(jam_.inner_stop) && all.count(jam_.inner_stop)) return false;
    if (first_ >= 0)
      for (const auto& [variable, value] : edge(first_, inner_)->moves) own_.insert(variable);
    const std::set<std::string> shared = {jam_.inner_counter, jam_.inner_stop};
    for (const std::string& variable : shared) own_.erase(variable);
    std::set<std::string> others, set_first = own_;
    for (const std::string& variable : all)
      if (!own_.count(variable) && !shared.count(variable)) others.insert(variable);
    set_first.erase(jam_.counter);
    const std::set<std::string> computed = loopir::results(jam_.begin.body);
    for (const loopir::Expr& condition : jam_.begin.conditions)
      if (condition.uses_any(all) || condition.uses_any(computed)) return false;
    if (jam_.first) {
      // What the first round sets, it does not read before.
      std::set<std::string> later = own_;
      for (const auto& [variable, value] : entering->moves) later.erase(variable);
      if (reads(*jam_.first, later)) return false;
      for (const loopir::Expr bound : {inner_start_, inner_end_})
        if (bound.uses_any(own_) || bound.uses_any(computed)) return false;
    }
    return !reads(jam_.begin, set_first) && !reads(jam_.begin, others) && !has(jam_.round, others) &&
           (!jam_.first || !has(*jam_.first, others)) && !has(jam_.end, shared) && is_small(jam_);
  }

  // Does the body, or what is handed on, read one of the names?
  static bool reads(const loopir::StraightBlock& block, const std::set<std::string>& names) {
    return mentions(block.body, names) ||
           std::any_of(block.assignments.begin(), block.assignments.end(),
                       [&](const loopir::Assignment& one) { return one.value.uses_any(names); });
  }
  static bool has(const loopir::StraightBlock& block, const std::set<std::string>& names) {
    return reads(block, names) ||
           std::any_of(block.assignments.begin(), block.assignments.end(),
                       [&](const loopir::Assignment& one) { return names.count(one.name) > 0; });
  }

  // Adds the arrays that the code has elements of; false where it has elements of something else.
  bool arrays_in(const loopir::StraightBlock& block, std::set<int>* arrays) const {
    for (const loopir::Instruction& in : block.body) {
      if (in.opcode != loopir::Opcode::Load && in.opcode != loopir::Opcode::Store) continue;
      const auto found =
          std::find_if(builder_.arrays_.begin(), builder_.arrays_.end(),
                       [&](const LoopArray& array) { return in.operands[0] == array.name + "_data"; });
      if (found == builder_.arrays_.end()) return false;
      if (arrays) arrays->insert(static_cast<int>(found - builder_.arrays_.begin()));
    }
    return true;
  }

  // No round reads before the block behind the inner loop what an earlier one stores there.
  bool find_elements() {
    std::set<int> read, stored;
    if (!arrays_in(jam_.begin, &read) || !arrays_in(jam_.round, &read) ||
        (jam_.first && !arrays_in(*jam_.first, &read)) || !arrays_in(jam_.end, nullptr))
      return false;
    for (const CheckedLoop::Element& element : nest_.elements) {
      known_.emplace(element.array.index, element.array);
      if (within_.count(element.block) && !note(element, &stored)) return false;
    }
    if (stored.empty() || (jam_.kept && kept_moves_.empty())) return false;
    for (int a : stored) {
      if (read.count(a)) return false;
      for (int b : read) {
        if (has_own_memory(a) || has_own_memory(b) || array(a).dtype != array(b).dtype) continue;
        if (!known_.count(a) || !known_.count(b)) return false;
        apart_ += fmt::format("{}!overlaps({}, {})", apart_.empty() ? "" : " && ", extent(a), extent(b));
      }
    }
    if (!jam_.kept) return true;
    for (const auto& [index, value] : known_)
      if (jam_.kept->array == builder_.data_text(value)) jam_.kept->type = element_type(value.dtype);
    own_.insert(loopir::kKept);
    return true;
  }

  bool note(const CheckedLoop::Element& element, std::set<int>* stored) {
    const bool is_read_inside = element.block == inner_ || element.block == first_;
    const bool is_kept =
        jam_.kept && element.block == inner_ && jam_.kept->array == builder_.data_text(element.array);
    if (element.stores && !is_kept && (is_read_inside || element.block == head_)) return false;
    if (element.stores) stored->insert(element.array.index);
    if (!is_read_inside) return true;
    std::string moves;
    for (size_t d = 0; d < element.index.size(); ++d) {
      const LoopAffine& index = *element.index[d];
      if (!counts(index)) continue;
      if (is_kept && index.factor != "1L") return false;
      moves += (moves.empty() ? "" : " + ") + builder_.stride_text(element.array, static_cast<int>(d));
      jam_.is_beside &= index.factor == "1L" && (builder_.array_of(element.array).unit >> d & 1) != 0;
    }
    if (is_kept) kept_moves_ = moves;
    return true;
  }

  const LoopArray& array(int index) const { return builder_.arrays_[static_cast<size_t>(index)]; }
  bool has_own_memory(int index) const { return static_cast<size_t>(index) >= builder_.num_entry_arrays_; }

  // The addresses of the array's first and last element.
  std::string extent(int index) const {
    const LoopValue& value = known_.at(index);
    std::string low = builder_.data_text(value), high = low;
    for (int d = 0; d < builder_.num_dims(value); ++d) {
      const std::string last =
          fmt::format("({} - 1) * {}", builder_.size_text(value, d), builder_.stride_text(value, d));
      low += fmt::format(" + minimum<i64>({}, 0L)", last);
      high += fmt::format(" + maximum<i64>({}, 0L)", last);
    }
    return low + ", " + high;
  }

  const LoopBuilder& builder_;
  int head_;
  const CheckedLoop& nest_;
  const std::map<int, loopir::Instructions>& codes_;
  const std::map<int, std::vector<LoopBuilder::Edge>>& edges_;
  std::set<int> within_;
  int inner_ = -1, first_ = -1, behind_ = -1;
  loopir::Jam jam_;
  std::string inner_start_, inner_end_;  // where the inner loop begins and ends, as its head is entered
  std::set<std::string> own_;            // variables of each round
  std::string kept_moves_;               // of a kept element, from round to round, in memory
  std::map<int, LoopValue> known_;
  std::string apart_;
};

// Several of the loop's rounds at a time, as long as there are as many; null where they cannot be so. Added
// to `entered`: what is to be done where the nest begins.
std::optional<loopir::Jam> LoopBuilder::side_by_side(int head, CheckedLoop& nest,
                                                     const std::map<int, loopir::Instructions>& codes,
                                                     const std::map<int, std::vector<Edge>>& edges,
                                                     loopir::Preheader& entered) {
  SideBySide sides(*this, head, nest, codes, edges);
  if (!sides.find()) return {};
  const std::string apart = fmt::format("apart{}_{}", nest.head, head);
  if (!sides.apart().empty()) {
    variable_types_[apart] = "bool";
    entered.entering.push_back({"", apart, sides.apart()});
  }
  nest.summing.erase(sides.inner());
  return std::move(sides).jam(apart);
}

}  // namespace weft::capture
