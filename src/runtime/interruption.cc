#include "runtime/interruption.h"

#include <chrono>
#include <utility>

#include "runtime/float_flags.h"

namespace weft::runtime {
namespace {

using Clock = std::chrono::steady_clock;
// Asking takes the interpreter's lock, for which others may have to be waited for.
constexpr auto kAskEvery = std::chrono::milliseconds(100);

using IsWanted = bool (*)();
constinit thread_local IsWanted is_interrupt_wanted = nullptr;
constinit thread_local const std::atomic<bool>* has_work_failed = nullptr;
thread_local Clock::time_point ask_at;  // the beginning of time: not begun to wait

constinit thread_local bool is_kernel_interrupted = false;

void ask() {
  const Clock::time_point now = Clock::now();
  if (ask_at == Clock::time_point()) ask_at = now + kAskEvery;
  if (now < ask_at) return;
  // Whoever is asked may run a program, which computes as well.
  const unsigned raised = raised_flags();
  const IsWanted is_wanted = std::exchange(is_interrupt_wanted, nullptr);
  const bool is_over = is_wanted();
  is_interrupt_wanted = is_wanted;
  set_flags(raised);
  ask_at = Clock::now() + kAskEvery;
  if (is_over) throw Interrupted{};
}

}  // namespace

Interruptible::Interruptible(bool (*is_wanted)()) : outer_(std::exchange(is_interrupt_wanted, is_wanted)) {
  ask_at = {};
}
Interruptible::~Interruptible() { is_interrupt_wanted = outer_; }

void check_interrupt() {
  if (has_work_failed != nullptr && has_work_failed->load(std::memory_order_relaxed)) throw Interrupted{};
  if (is_interrupt_wanted != nullptr) ask();
}

void parallel_for_in_kernel(int64_t begin, int64_t end, int64_t grain, RangeFn body, void* context) noexcept {
  if (is_kernel_interrupted) return;
  try {
    parallel_for_raw(begin, end, grain, body, context);
  } catch (const Interrupted&) {
    is_kernel_interrupted = true;
  }
}

void throw_if_interrupted() {
  if (std::exchange(is_kernel_interrupted, false)) throw Interrupted{};
}

SharedWork::SharedWork(const std::atomic<bool>* has_failed)
    : outer_(std::exchange(has_work_failed, has_failed)) {}
SharedWork::~SharedWork() { has_work_failed = outer_; }

}  // namespace weft::runtime
