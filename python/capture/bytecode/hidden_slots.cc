// CPython's stack has slots that ours has not: from 3.14 on that of self above the __exit__ of a `with`, whose method is bound
// here; from 3.15 on one above each iterator, a null, or a position in a list. `Code::null_above` says where they are.
#include "capture/bytecode/decoder.h"

#if PY_VERSION_HEX >= 0x030E0000

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>

namespace weft::capture {

namespace {

bool ends_block(int opcode) {
  switch (opcode) {
    case RETURN_VALUE:
    case RAISE_VARARGS:
    case RERAISE:
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT: return true;
    default: return false;
  }
}

// The offset that the instruction jumps to; -1: it does not jump.
int target_of(const Raw& raw) {
  switch (raw.opcode) {
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT: return raw.after - 2 * raw.arg;
    case JUMP_FORWARD:
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
    case FOR_ITER:
    case SEND: return raw.after + 2 * raw.arg;
    default: return -1;
  }
}

// Instructions that change what lies at a place of the stack: how far below the top that is with an argument of 0.
int depth_below(int opcode) {
  switch (opcode) {
    case LIST_APPEND:
    case SET_ADD:
    case LIST_EXTEND:
    case SET_UPDATE:
    case DICT_UPDATE:
    case DICT_MERGE: return 1;
    case MAP_ADD: return 2;
    default: return -1;
  }
}

constexpr bool kIteratorsTakeTwo = PY_VERSION_HEX >= 0x030F0000;

// Of a generator that is iterated at once, which is its own iterator.
bool pushes_null_of_iterator(std::span<const Raw> raw, size_t at) {
  return kIteratorsTakeTwo && raw[at].opcode == PUSH_NULL && at + 1 < raw.size() && raw[at + 1].opcode == FOR_ITER;
}

int hidden_in(const std::vector<bool>& stack, int slots) {
  return static_cast<int>(std::count(stack.end() - slots, stack.end(), true));
}

}  // namespace

// From each instruction to those that may follow it: is each slot of the stack before it hidden?
void Decoder::find_hidden() {
  hidden_.assign(raw_.size(), {});
  std::vector<bool> is_known(raw_.size(), false);
  std::unordered_map<int, size_t> at_offset;
  for (size_t i = 0; i < raw_.size(); ++i) at_offset[raw_[i].offset] = i;
  std::vector<size_t> work;
  const auto flow = [&](size_t to, std::vector<bool> stack) {
    if (to >= raw_.size() || is_known[to]) return;
    is_known[to] = true;
    hidden_[to] = std::move(stack);
    work.push_back(to);
  };
  flow(0, {});
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    const Raw& raw = raw_[at];
    const std::vector<bool> before = hidden_[at];
    // The table may name one also for what cannot raise, with less on the stack.
    const Handler* handler = code_.find_handler(raw.offset);
    if (handler && before.size() >= static_cast<size_t>(handler->depth)) {
      std::vector<bool> stack(before.begin(), before.begin() + handler->depth);
      stack.resize(stack.size() + (handler->push_lasti ? 2 : 1), false);
      flow(at_offset.at(handler->target), std::move(stack));
    }
    std::vector<bool> after = before;
    if (raw.opcode == SWAP) {
      const bool top = after.back();
      after.back() = after[after.size() - static_cast<size_t>(raw.arg)];
      after[after.size() - static_cast<size_t>(raw.arg)] = top;
    } else if (raw.opcode == COPY) {
      after.push_back(after[after.size() - static_cast<size_t>(raw.arg)]);
    } else {
      const int effect = PyCompile_OpcodeStackEffectWithJump(raw.opcode, raw.arg, 0);
      after.resize(static_cast<size_t>(std::max(0, static_cast<int>(after.size()) + effect)), false);
      if ((kIteratorsTakeTwo && raw.opcode == GET_ITER) || pushes_null_of_iterator(raw_, at)) after.back() = true;
      if (ends_with(raw_, at)) after[after.size() - 2] = true;
    }
    if (const int target = target_of(raw); target >= 0) {
      const size_t to = at_offset.at(target);
      if (raw.opcode == FOR_ITER)  // behind END_FOR and POP_ITER
        flow(to + 2, std::vector<bool>(before.begin(), before.end() - (kIteratorsTakeTwo ? 2 : 1)));
      else
        flow(to, after);
    }
    if (!ends_block(raw.opcode)) flow(at + 1, std::move(after));
  }
}

int Decoder::visible_depth(const Handler& handler) const {
  for (size_t i = 0; i < raw_.size(); ++i) {
    const std::vector<bool>& stack = hidden_[i];
    if (raw_[i].offset < handler.start || raw_[i].offset >= handler.end || stack.size() < static_cast<size_t>(handler.depth))
      continue;
    return handler.depth - static_cast<int>(std::count(stack.begin(), stack.begin() + handler.depth, true));
  }
  return handler.depth;
}

void Decoder::note_hidden() {
  int visible = 0;
  std::vector<int> above;
  for (const bool hidden : hidden_[at_]) {
    if (hidden) above.push_back(visible - 1);
    visible += hidden ? 0 : 1;
  }
  if (!above.empty()) code_.null_above[static_cast<int>(code_.instructions.size())] = std::move(above);
  if (raw_[at_].opcode == RETURN_GENERATOR && !hidden_[at_].empty()) code_.iterates_argument = true;
}

bool Decoder::lower_across_hidden(int opcode, int arg) {
  const std::vector<bool>& stack = hidden_[at_];
  const auto slots = static_cast<int>(stack.size());
  if (pushes_null_of_iterator(raw_, at_)) {
    emit(Op::Nop);
    return true;
  }
  if (const int below = depth_below(opcode); below >= 0) {
    if (slots >= arg + below) return lower_common(opcode, arg - hidden_in(stack, arg + below));
    return false;
  }
  switch (opcode) {
    case POP_TOP:
      emit(slots > 0 && stack.back() ? Op::Nop : Op::PopTop);
      return true;
    case CALL:
      if (slots < arg + 2 || !stack[static_cast<size_t>(slots - arg - 1)]) return false;
      return lower_common(opcode, arg - 1);  // the first argument takes its place
    case COPY: {
      if (slots < arg) return false;
      if (stack[static_cast<size_t>(slots - arg)]) break;
      emit(Op::Copy, arg - hidden_in(stack, arg));
      return true;
    }
    // A hidden slot changes its place with a value: the values between keep their order.
    case SWAP: {
      if (slots < arg) return false;
      const bool is_hidden = stack.back(), is_other_hidden = stack[static_cast<size_t>(slots - arg)];
      const int count = arg - hidden_in(stack, arg);
      if (is_hidden && is_other_hidden)
        emit(Op::Nop);
      else if (!is_hidden && !is_other_hidden)
        emit(Op::Swap, count);
      else if (count < 2)
        emit(Op::Nop);
      else if (is_other_hidden)
        for (int i = count; i >= 2; --i) emit(Op::Swap, i);
      else
        for (int i = 2; i <= count; ++i) emit(Op::Swap, i);
      return true;
    }
    default: return false;
  }
  unsupported("it uses an instruction that weft does not know");
  return true;
}

}  // namespace weft::capture

#endif
