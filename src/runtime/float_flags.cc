#include "runtime/float_flags.h"

#include <utility>

namespace weft::runtime {

#if defined(__x86_64__)
namespace {
constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
}
bool flushes_denormals() { return (_mm_getcsr() & kFlushToZero) != 0; }
bool set_flush_denormals(bool flushes) {
  constexpr unsigned kBoth = kFlushToZero | kDenormalsAreZero;
  const unsigned state = _mm_getcsr(), wanted = flushes ? state | kBoth : state & ~kBoth;
  if (state != wanted) _mm_setcsr(wanted);
  return true;
}
#elif defined(__aarch64__)
namespace {
constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
uint64_t control() {
  uint64_t bits;
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
}  // namespace
bool flushes_denormals() { return (control() & kFlushToZero) != 0; }
bool set_flush_denormals(bool flushes) {
  const uint64_t state = control(), wanted = flushes ? state | kFlushToZero : state & ~kFlushToZero;
  if (state != wanted) __asm__ volatile("msr fpcr, %0" : : "r"(wanted));
  return true;
}
#else
bool flushes_denormals() { return false; }
bool set_flush_denormals(bool) { return false; }
#endif

thread_local FlagWatch::Watch FlagWatch::current_;

FlagWatch::FlagWatch(unsigned watched, std::atomic<int64_t>* passes, const std::function<void()>* on_raised)
    : before_(std::exchange(current_, Watch{.flags = watched, .passes = passes, .on_raised = on_raised})) {
  set_flags(0);
}
FlagWatch::~FlagWatch() { current_ = before_; }

unsigned watched_flags() { return FlagWatch::current_.flags; }

bool are_flags_due() {
  const auto& watch = FlagWatch::current_;
  if (!(raised_flags() & watch.flags)) return false;
  return (watch.flags & kEveryRun) || !watch.passes || watch.passes->load(std::memory_order_relaxed) <= 0;
}
bool flags_pass() {
  if (are_flags_due()) return false;
  const auto& watch = FlagWatch::current_;
  if (raised_flags() & watch.flags) watch.passes->fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void report_flags() {
  const auto* on_raised = FlagWatch::current_.on_raised;
  if (!on_raised || flags_pass()) return;
  const unsigned raised = raised_flags();
  {
    const FlagWatch none(0);
    (*on_raised)();
  }
  set_flags(raised);
}

}  // namespace weft::runtime
