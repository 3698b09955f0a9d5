// A thread's floating-point state: whether subnormal numbers are zero, and floating-point exceptions (invalid
// operation, division by zero, overflow, underflow) that work raised: the processor's sticky flags of a
// thread. parallel_for hands those of its helpers to the thread that called it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "runtime/processor_inline.h"

namespace weft::runtime {

// Beside watched flags: no run is to be missed, also of what updates its inputs in place.
constexpr unsigned kEveryRun = 0x100;

// Whether the thread takes subnormal numbers for zero, as operands and as results.
bool flushes_denormals();
// True: there is no processor that cannot.
bool set_flush_denormals(bool flushes);

inline unsigned raised_flags() { return processor::exceptions(); }
inline void set_flags(unsigned flags) { processor::set_exceptions(flags); }

// While there is one in a thread, graphs that it runs call `on_raised` when they have raised one of these
// flags, before they change any of their inputs; not the first `*passes` times. It may throw, to stop them
// there.
class FlagWatch {
 public:
  explicit FlagWatch(unsigned watched, std::atomic<int64_t>* passes = nullptr,
                     const std::function<void()>* on_raised = nullptr);
  ~FlagWatch();
  FlagWatch(const FlagWatch&) = delete;
  FlagWatch& operator=(const FlagWatch&) = delete;

 private:
  struct Watch {
    unsigned flags = 0;
    std::atomic<int64_t>* passes = nullptr;
    const std::function<void()>* on_raised = nullptr;
  };
  static thread_local Watch current_;
  const Watch before_;
  friend unsigned watched_flags();
  friend bool are_flags_due();
  friend bool flags_pass();
  friend void report_flags();
};

// The flags that are watched for in this thread, and kEveryRun.
unsigned watched_flags();
// Has work since the watch began raised some, and is this none of the times to pass?
bool are_flags_due();
// The opposite, and one time to pass less where it raised some.
bool flags_pass();
// A graph has computed its values and is about to write them back. While there is a watch, it has not written
// any yet.
void report_flags();

}  // namespace weft::runtime
