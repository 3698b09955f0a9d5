#include "script/run/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/run/interpreter.h"

namespace weft::jit {

FrameStack& FrameStack::current() {
  thread_local FrameStack stack;
  return stack;
}

IValue* FrameStack::push(size_t size) {
  if (chunks_.empty() || chunks_[chunk_].size - chunks_[chunk_].used < size) {
    const size_t next = chunks_.empty() ? 0 : chunk_ + 1;
    // A later chunk may be left over from deeper calls, and too small now.
    if (next < chunks_.size() && chunks_[next].size < size) chunks_.resize(next);
    if (next == chunks_.size()) {
      const size_t capacity = std::max(kChunk, size);
      chunks_.push_back({std::make_unique<IValue[]>(capacity), capacity, 0});
    }
    chunk_ = next;
  }
  Chunk& chunk = chunks_[chunk_];
  IValue* result = chunk.values.get() + chunk.used;
  chunk.used += size;
  return result;
}

void FrameStack::pop(size_t size) {
  chunks_[chunk_].used -= size;
  while (chunk_ > 0 && chunks_[chunk_].used == 0) --chunk_;
}

Frame& FrameStack::enter(const Code& code) {
  if (depth_ >= kMaxCallDepth) {
    throw_error(ErrorKind::Runtime,
                fmt::format("calls of TorchScript functions are nested deeper than {}, in '{}'",
                            kMaxCallDepth, code.function_name));
  }
  if (!frames_) frames_ = std::make_unique<Frame[]>(kMaxCallDepth);
  const size_t size = size_t{code.num_registers} + code.num_staged;
  IValue* const registers = push(size);
  return frames_[depth_++] = {&code, code.instructions.data(), registers, size};
}

void FrameStack::leave() {
  const Frame& frame = top();
  for (IValue* value = frame.registers; value != frame.registers + frame.size; ++value) {
    if (!value->is_none()) *value = IValue();
  }
  pop(frame.size);
  --depth_;
}

namespace {

std::string stack_line(const ir::SourceLocation& location, const std::string& function) {
  if (!location.file) return fmt::format("\n  in {}", function);
  return fmt::format("\n  File \"{}\", line {}, in {}", *location.file, location.line, function);
}

}  // namespace

std::string traceback() {
  std::vector<std::string> lines;
  const FrameStack& stack = FrameStack::current();
  for (size_t depth = stack.depth(); depth-- > 0;) {
    const Frame& frame = stack.frame(depth);
    const ir::SourceLocation* location = &frame.code->location(frame.at);
    for (; location->inlined; location = &location->inlined->location)
      lines.push_back(stack_line(*location, location->inlined->function));
    lines.push_back(stack_line(*location, frame.code->function_name));
  }
  // The innermost calls of a deep recursion say enough.
  constexpr size_t kMost = 30;
  std::string text = "\nTraceback of TorchScript (most recent call last):";
  if (lines.size() > kMost) {
    text += fmt::format("\n  … {} calls", lines.size() - kMost);
    lines.resize(kMost);
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) text += *line;
  return text;
}

}  // namespace weft::jit
