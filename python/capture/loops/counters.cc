// Counters in checked loops: variables that a round moves by little. No round passes a statement twice, so
// that the sum of all steps in the loop bounds what a round moves a variable by; with the number of rounds it
// is checked once, before the loop, that no sum overflows. Nothing is then left in the loop that keeps it
// from being vectorized.
#include <opcode.h>

#include <limits>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr int64_t kMostStep = int64_t{1} << 40;

bool is_counted_type(const LoopValue& leaf) {
  return leaf.kind == LoopKind::Int || (leaf.kind == LoopKind::Numpy && leaf.dtype == DType::I64);
}

}  // namespace

// The largest magnitude of a number that varies little.
std::optional<int64_t> LoopBuilder::most_of(const LoopValue& step) {
  if (step.known)
    return *step.known >= -kMostStep && *step.known <= kMostStep ? std::optional(std::abs(*step.known))
                                                                 : std::nullopt;
  if (step.kind == LoopKind::Bool) return 1;
  if (step.most && *step.most <= kMostStep) return step.most;
  if (step.kind != LoopKind::Numpy || is_floating(step.dtype) || itemsize(step.dtype) == 8) return {};
  return step.dtype == DType::Bool ? 1 : int64_t{1} << (8 * itemsize(step.dtype));
}

// A sum of a counter and a step, unchecked; otherwise unbound.
LoopValue LoopBuilder::counter_binary(int op, const LoopValue& a, const LoopValue& b) {
  LoopValue result;
  if (!checked_ || (op != NB_ADD && op != NB_SUBTRACT) || a.is_counter == b.is_counter) return result;
  if (op == NB_SUBTRACT && b.is_counter) return result;
  const LoopValue &counter = a.is_counter ? a : b, &step = a.is_counter ? b : a;
  const std::optional<int64_t> most = most_of(step);
  if (!most || checked_->moved > kMostStep) return result;
  checked_->moved += *most;
  const Expr sum = temporary(
      "i64", Expr::apply(op::infix(op == NB_ADD ? "+" : "-"), {cast("i64", a.expr), cast("i64", b.expr)}));
  if (counter.kind == LoopKind::Numpy || step.kind == LoopKind::Numpy) {
    result = loop_numpy(DType::I64, sum);
  } else {
    const auto is_nonnegative = [](const LoopValue& x) { return x.nonnegative || x.kind == LoopKind::Bool; };
    result = loop_int(sum, op == NB_ADD && is_nonnegative(a) && is_nonnegative(b));
  }
  result.is_counter = true;
  return result;
}

// All that may be one. checked_blocks() takes out what is not.
void LoopBuilder::find_counters() {
  for (int id : checked_->blocks)
    for_each_leaf(blocks_[static_cast<size_t>(id)].frames, [&](LoopValue& leaf) {
      if (is_counted_type(leaf) && checked_->changed.count(leaf.expr)) checked_->counters.insert(leaf.expr);
    });
}

// Of those that the loop begins with.
void LoopBuilder::check_counters() {
  if (checked_->moved == 0) return;
  std::vector<Expr> numbers = {Expr::name("first"), Expr::name("last"),
                               Expr::constant(std::to_string(checked_->moved))};
  for_each_leaf(blocks_[static_cast<size_t>(checked_->head)].frames, [&](LoopValue& leaf) {
    if (checked_->counters.count(leaf.expr)) numbers.push_back(leaf.expr);
  });
  checked_->checks.insert(Expr::apply(op::kMoveLittle, std::move(numbers)));
}

}  // namespace weft::capture
