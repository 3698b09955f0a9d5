// Loops over ranges of few numbers: the number is part of the types that blocks are versioned by, so that
// each round is a block of its own, in which the counter is known. A loop around such is an innermost one.
#include <optional>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr int64_t kMaxRounds = 8;
constexpr int64_t kMaxInstructions = 1700;  // of all rounds, those of loops within included
constexpr int64_t kCallInstructions = 20;   // what a call or a statement on arrays counts for
constexpr size_t kFewBlocks = 160;          // with more, further loops go round
constexpr int64_t kTooMany = int64_t{1} << 40;

int64_t rounds_of(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) return kTooMany;
  if (step > 0 ? start >= stop : start <= stop) return 0;
  if (start < -kTooMany || start > kTooMany || stop < -kTooMany || stop > kTooMany) return kTooMany;
  return step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
}

std::optional<int64_t> small_constant(const Code& code, int at) {
  if (at < 0) return {};
  const Instruction& in = code.instructions[static_cast<size_t>(at)];
  if (in.op != Op::LoadConst) return {};
  PyObject* object = code.constants[static_cast<size_t>(in.arg)].get();
  if (!PyLong_CheckExact(object)) return {};
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow ? std::nullopt : std::optional(number);
}

// The rounds of `for ... in range(constants)` whose head this is; kTooMany for other loops.
int64_t constant_rounds(const Code& code, int head) {
  // Backwards from the head; Nops are passed over.
  int at = head;
  const auto before = [&]() -> const Instruction* {
    while (--at >= 0)
      if (const Instruction& in = code.instructions[static_cast<size_t>(at)]; in.op != Op::Nop) return &in;
    return nullptr;
  };
  const Instruction *made = before(), *called = before();
  if (!called || made->op != Op::GetIter || called->op != Op::Call || called->arg < 1 || called->arg > 3)
    return kTooMany;
  const int count = called->arg;
  int64_t numbers[3] = {};
  for (int i = count; i-- > 0;) {
    if (!before()) return kTooMany;
    const std::optional<int64_t> number = small_constant(code, at);
    if (!number) return kTooMany;
    numbers[i] = *number;
  }
  return count == 1 ? rounds_of(0, numbers[0], 1)
                    : rounds_of(numbers[0], numbers[1], count == 3 ? numbers[2] : 1);
}

// Instructions of all rounds of the loop.
int64_t unrolled_size(const Code& code, int head, int64_t rounds) {
  if (rounds > kMaxRounds) return kTooMany;
  const int end = code.instructions[static_cast<size_t>(head)].arg;
  int64_t size = 0;
  for (int i = head + 1; i < end; ++i) {
    const Instruction& in = code.instructions[static_cast<size_t>(i)];
    if (in.op == Op::ForIter) {
      size += unrolled_size(code, i, constant_rounds(code, i));
      i = in.arg - 1;
    } else if (is_jump(in.op) && in.arg <= i && in.arg != head) {
      return kTooMany;  // a `while`
    } else {
      const bool is_call = (in.op == Op::Call || in.op == Op::CallKw) &&
                           code.instructions[static_cast<size_t>(i) + 1].op != Op::GetIter;
      const bool is_slice = in.op == Op::BuildSlice || in.op == Op::BinarySlice || in.op == Op::StoreSlice;
      size += is_call || is_slice ? kCallInstructions : 1;
    }
    if (size * rounds > kMaxInstructions) return kTooMany;
  }
  return size * rounds;
}

}  // namespace

bool LoopBuilder::is_to_be_unrolled(const LoopValue& it) {
  if (it.kind != LoopKind::RangeIter || it.items.size() != 3) return false;
  for (const LoopValue& item : it.items)
    if (!item.known) return false;
  const auto head = static_cast<size_t>(frame().ip);
  if (head >= frame().code->instructions.size() || frame().code->instructions[head].op != Op::ForIter)
    return false;
  const int64_t rounds = rounds_of(*it.items[0].known, *it.items[1].known, *it.items[2].known);
  const bool is_small = blocks_.size() < kFewBlocks;
  if (!may_unroll_.try_emplace({frame().code, frame().ip}, is_small).first->second) return false;
  return rounds > 0 && unrolled_size(*frame().code, frame().ip, rounds) <= kMaxInstructions;
}

void LoopBuilder::iterate_unrolled(const Instruction& in) {
  LoopValue& it = top();
  const int64_t current = *it.items[0].known, stop = *it.items[1].known, step = *it.items[2].known;
  if (step > 0 ? current < stop : current > stop) {
    LoopValue number = it.items[0];
    it.items[0] = loop_known_int(current + step);
    it.items[0].pinned = true;
    return push(std::move(number));
  }
  pop();
  frame().ip = in.arg;
  emit(loopir::go(jump_to(frames_)));
  block_done_ = true;
}

}  // namespace weft::capture
