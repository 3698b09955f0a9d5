#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace weft::cli {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string what)
    : what_(std::move(what)), is_terminal_(::isatty(STDERR_FILENO) != 0), start_(Clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (!is_shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_shown_ = false;
}

void Progress::print(const std::string& text) {
  clear();
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  last_ = {};
}

void Progress::update(int64_t done, int64_t total, const std::string& detail) {
  const auto now = Clock::now();
  if (!is_terminal_ || (done < total && now - last_ < std::chrono::milliseconds(50))) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string text = fmt::format("\r\033[K{} {}/{}", what_, done, total);
  if (done > 0 && done < total)
    text += fmt::format(", {:.0f} s left",
                        seconds / static_cast<double>(done) * static_cast<double>(total - done));
  if (!detail.empty()) text += fmt::format("  {}", detail);
  is_shown_ = true;
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes * 1e-9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes * 1e-6);
  return fmt::format("{:.1f} kB", bytes * 1e-3);
}

}  // namespace weft::cli
