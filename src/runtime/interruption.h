// Work that its user may end before it is done (Ctrl-C).
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/parallel.h"

namespace weft::runtime {

// Thrown from the work, to whoever has made it interruptible. No std::exception: nothing between takes it for
// an error.
struct Interrupted {};

// As long as one lives, `is_wanted` is asked every now and then, in this thread, between the pieces of what
// the thread computes: true, and check_interrupt throws. Null: nobody is asked.
class Interruptible {
 public:
  explicit Interruptible(bool (*is_wanted)());
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool (*const outer_)();
};

// Between the pieces of long work, some of which may take microseconds. Also in a body of parallel_for, on
// any thread.
void check_interrupt();

// parallel_for for generated code, which no exception can pass: what is interrupted does nothing from then
// on, until who called it asks.
void parallel_for_in_kernel(int64_t begin, int64_t end, int64_t grain, RangeFn body, void* context) noexcept;
// After a call of generated code.
void throw_if_interrupted();

// parallel_for's: while one lives, check_interrupt throws in this thread where the others have failed.
class SharedWork {
 public:
  explicit SharedWork(const std::atomic<bool>* has_failed);
  ~SharedWork();
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

 private:
  const std::atomic<bool>* const outer_;
};

}  // namespace weft::runtime
