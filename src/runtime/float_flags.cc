#include "runtime/float_flags.h"

#include <utility>

namespace weft::runtime {

bool flushes_denormals() { return processor::flushes_denormals(); }
bool set_flush_denormals(bool flushes) {
  processor::set_flush_denormals(flushes);
  return true;
}

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
