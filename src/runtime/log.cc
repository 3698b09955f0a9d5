#include "runtime/log.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "weft/env.h"
#include "weft/error.h"

namespace weft::log {
namespace {

constexpr const char* kNames[] = {"output_code", "graph_breaks", "recompiles", "guards",
                                  "fusion",      "schedule",     "cache",      "passes",
                                  "executor",    "autotune",     "syncs",      "native_loops"};
static_assert(std::size(kNames) == static_cast<size_t>(Channel::kCount));

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// A bit per channel; the names that are none go to `unknown`.
uint32_t parse(std::string_view channels, std::string* unknown) {
  uint32_t mask = 0;
  while (!channels.empty()) {
    const size_t comma = channels.find(',');
    const std::string_view name = trimmed(channels.substr(0, comma));
    channels = comma == std::string_view::npos ? std::string_view() : channels.substr(comma + 1);
    bool found = name.empty();
    if (name == "all") {
      mask = (1u << std::size(kNames)) - 1;
      found = true;
    }
    for (size_t i = 0; i < std::size(kNames); ++i) {
      if (name != kNames[i]) continue;
      mask |= 1u << i;
      found = true;
    }
    if (!found) *unknown = name;
  }
  return mask;
}

std::atomic<uint32_t>& mask() {
  static std::atomic<uint32_t> value = [] {
    std::string unknown;  // env::check() tells of it
    return parse(env::get("WEFT_LOGS"), &unknown);
  }();
  return value;
}

// One fwrite per message, so that lines of several threads and processes do not mix.
void emit(std::string_view tag, std::string_view message) {
  if (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  const std::string line = fmt::format("[weft {}] {}\n", tag, message);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

bool enabled(Channel channel) {
  return (mask().load(std::memory_order_relaxed) >> static_cast<unsigned>(channel) & 1u) != 0;
}

void write(Channel channel, std::string_view message) {
  if (enabled(channel)) emit(kNames[static_cast<size_t>(channel)], message);
}

std::string channels_problem(std::string_view channels) {
  std::string unknown;
  parse(channels, &unknown);
  if (unknown.empty()) return "";
  return fmt::format("unknown log channel '{}'; expected all or some of {}", env::shown(unknown),
                     fmt::join(kNames, ", "));
}

void set_logs(std::string_view channels) {
  const std::string problem = channels_problem(channels);
  WEFT_CHECK(problem.empty(), "set_logs: " + problem);
  std::string unknown;
  mask().store(parse(channels, &unknown), std::memory_order_relaxed);
}

void warning(std::string_view message) { emit("warning", message); }

bool dumping() { return !env::get("WEFT_DUMP").empty(); }

void dump(std::string_view name, std::string_view text) {
  const std::string folder = env::get("WEFT_DUMP");
  if (folder.empty()) return;
  static std::atomic<int> counter{0};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = fmt::format("{}/{:04}_{}", folder, counter.fetch_add(1), name);
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  static std::once_flag once;
  if (!file)
    std::call_once(once, [&] { warning(fmt::format("WEFT_DUMP: cannot write {}", env::shown(path))); });
}

}  // namespace weft::log
