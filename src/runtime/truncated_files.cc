#include "runtime/truncated_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

namespace weft::runtime {

// In a list that only grows: the handler reads it without a lock. An entry that is free has no bytes.
struct MappedRange {
  std::atomic<uintptr_t> begin = 0, end = 0;
  std::array<char, 512> path{};  // as much of it as there is room for
  MappedRange* next = nullptr;
};

namespace {

std::atomic<MappedRange*> all_ranges = nullptr;
struct sigaction handler_before{};

std::mutex& ranges_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

void write_text(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

// Calls nothing but what a signal's handler may.
void explain_bus_error(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const MappedRange* range = all_ranges.load(); range != nullptr; range = range->next) {
    if (address < range->begin.load() || address >= range->end.load()) continue;
    write_text("[weft error] '");
    write_text(range->path.data());
    write_text(
        "': the file has become shorter while it was in use, or cannot be read any more: the process ends\n");
    break;
  }
  // The instruction runs again, and its signal goes where it would have gone.
  ::sigaction(signal, &handler_before, nullptr);
}

void install_handler() {
  struct sigaction action{};
  action.sa_sigaction = explain_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &handler_before);
}

}  // namespace

MappedRange* watch_range(const void* data, size_t size, const std::string& path) noexcept {
  const std::scoped_lock lock(ranges_mutex());
  static const bool is_installed = (install_handler(), true);
  static_cast<void>(is_installed);
  MappedRange* range = all_ranges.load();
  while (range != nullptr && range->end.load() != 0) range = range->next;
  if (range == nullptr) {
    range = new (std::nothrow) MappedRange;
    if (range == nullptr) return nullptr;
    range->next = all_ranges.load();
    all_ranges.store(range);
  }
  range->path.fill('\0');
  std::copy_n(path.begin(), std::min(path.size(), range->path.size() - 1), range->path.begin());
  const auto begin = reinterpret_cast<uintptr_t>(data);
  range->begin.store(begin);
  range->end.store(begin + size);
  return range;
}

void forget_range(MappedRange* range) noexcept {
  if (range != nullptr) range->end.store(0);
}

}  // namespace weft::runtime
