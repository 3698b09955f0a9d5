#include "runtime/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "runtime/ceilings.h"
#include "runtime/disk_cache.h"
#include "runtime/host.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

constexpr const char* kName = "ceilings";

struct PeaksOfProcess {
  std::mutex mutex;
  std::map<int, Peaks> by_threads;
};
PeaksOfProcess& peaks_of_process() {
  static auto& peaks = *new PeaksOfProcess;
  return peaks;
}

std::string key_of(int threads) {
  const std::string machine = fmt::format("ceilings 2, {}, {} threads", host_cpu_brand(), threads);
  return fmt::format("{:016x}{:016x}", std::hash<std::string>()(machine),
                     std::hash<std::string>()(machine + "."));
}

std::string text_of(const Peaks& peaks) {
  return fmt::format("{} {} {} {} {}", peaks.bytes_per_ns, peaks.float32_per_ns, peaks.float64_per_ns,
                     peaks.bfloat16_per_ns, peaks.int8_per_ns);
}

std::optional<Peaks> parsed(const std::string& text) {
  std::istringstream stream(text);
  Peaks peaks;
  stream >> peaks.bytes_per_ns >> peaks.float32_per_ns >> peaks.float64_per_ns >> peaks.bfloat16_per_ns >>
      peaks.int8_per_ns;
  if (!stream || !(peaks.bytes_per_ns > 0)) return std::nullopt;
  return peaks;
}

// With the lock held.
const Peaks* find(int threads) {
  const auto found = peaks_of_process().by_threads.find(threads);
  if (found != peaks_of_process().by_threads.end()) return &found->second;
  const std::optional<std::string> text = disk_cache_read(kName, key_of(threads));
  const std::optional<Peaks> peaks = text ? parsed(*text) : std::nullopt;
  return peaks ? &peaks_of_process().by_threads.emplace(threads, *peaks).first->second : nullptr;
}

Peaks measure(int threads) {
  Peaks peaks;
  // GB/s are bytes per nanosecond.
  for (const Ceiling& ceiling : measure_ceilings({threads})) {
    const double rate = ceiling.rates.at(0);
    if (ceiling.unit == "GB/s") peaks.bytes_per_ns = std::max(peaks.bytes_per_ns, rate);
    if (ceiling.key == "float32_gflops") peaks.float32_per_ns = rate;
    if (ceiling.key == "float64_gflops") peaks.float64_per_ns = rate;
    // By vectors or by tiles.
    if (ceiling.key.starts_with("bfloat16")) peaks.bfloat16_per_ns = std::max(peaks.bfloat16_per_ns, rate);
    if (ceiling.key.starts_with("int8")) peaks.int8_per_ns = std::max(peaks.int8_per_ns, rate);
  }
  return peaks;
}

}  // namespace

// Where the machine has no instructions for a dtype, it computes in float32.
double Peaks::operations_per_ns(DType dtype) const {
  double rate = float32_per_ns;
  if (dtype == DType::F64 || dtype == DType::C128 || dtype == DType::I64) rate = float64_per_ns;
  if (dtype == DType::BF16 || dtype == DType::F16) rate = std::max(rate, bfloat16_per_ns);
  if (dtype == DType::I8 || dtype == DType::U8) rate = std::max(rate, int8_per_ns);
  return rate;
}

double Peaks::least_ns(const profiling::Work& work) const {
  if (!work.is_known || bytes_per_ns <= 0) return 0;
  const double rate = operations_per_ns(work.arithmetic);
  return std::max(work.bytes / bytes_per_ns, rate > 0 ? work.operations / rate : 0);
}

const Peaks* known_peaks() {
  const std::lock_guard lock(peaks_of_process().mutex);
  return find(get_num_threads());
}

const Peaks& measured_peaks() {
  const int threads = get_num_threads();
  const std::lock_guard lock(peaks_of_process().mutex);
  if (const Peaks* found = find(threads)) return *found;
  const Peaks peaks = measure(threads);
  disk_cache_write(kName, key_of(threads), text_of(peaks));
  return peaks_of_process().by_threads.insert_or_assign(threads, peaks).first->second;
}

}  // namespace weft::runtime
