// How much of its stack a thread has left, and work that needs more than that. A program chooses how large
// its threads' stacks are (threading.stack_size: 32 KiB at least); a compiler needs a hundred times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace weft::runtime {

// What a capture of a Python function needs, and a compilation by Clang.
constexpr size_t kCaptureStack = size_t{512} << 10, kCompilerStack = size_t{4} << 20;

// The stack that the calling thread runs on: its own, or one of on_own_stack's.
struct StackBounds {
  uintptr_t low = 0;
  size_t size = 0;
};
StackBounds current_stack();
// Of it; nothing on a stack that is not known (a coroutine's).
std::optional<size_t> stack_left();

// Where there is no telling, true.
inline bool has_stack(size_t nbytes) { return stack_left().value_or(nbytes) >= nbytes; }

// Does the work on another stack, with some MiB of room, and passes on what it throws. Error(Runtime) where
// there is no memory for one.
void on_own_stack(const std::function<void()>& work);

// Does the work with at least so much room: here, or there.
template <class Work>
void with_stack(size_t nbytes, const Work& work) {
  if (has_stack(nbytes))
    work();
  else
    on_own_stack(work);
}

}  // namespace weft::runtime
