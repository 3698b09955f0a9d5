#include "runtime/autotune.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/profiling.h"
#include "runtime/disk_cache.h"
#include "runtime/host.h"
#include "runtime/log.h"
#include "runtime/toolchain.h"
#include "weft/parallel.h"

namespace weft::runtime {
namespace {

using TuningClock = std::chrono::steady_clock;

thread_local bool is_on = false;
thread_local double seconds_left = 0;
thread_local std::optional<size_t> wanted_candidate;  // a test's

double elapsed_seconds(TuningClock::time_point start) {
  return std::chrono::duration<double>(TuningClock::now() - start).count();
}

struct ChoiceKey {
  std::string_view kernel;
  std::array<int64_t, 8> sizes;
  int threads;
  bool operator==(const ChoiceKey&) const = default;
};

struct HashChoiceKey {
  size_t operator()(const ChoiceKey& key) const {
    uint64_t hash = XXH3_64bits(key.sizes.data(), sizeof key.sizes);
    hash ^= static_cast<uint64_t>(key.threads) * 0x9e3779b97f4a7c15u;
    return XXH3_64bits_withSeed(key.kernel.data(), key.kernel.size(), hash);
  }
};

struct Choices {
  std::shared_mutex mutex;
  std::unordered_map<ChoiceKey, size_t, HashChoiceKey> chosen;
  std::mutex measuring;  // by one thread at a time
};

Choices& choices() {
  static Choices& all = *new Choices;
  return all;
}

ChoiceKey key_of(const TuningProblem& problem) { return {problem.kernel, problem.sizes, get_num_threads()}; }

std::optional<size_t> remembered(const ChoiceKey& key) {
  Choices& all = choices();
  const std::shared_lock lock(all.mutex);
  const auto found = all.chosen.find(key);
  return found == all.chosen.end() ? std::nullopt : std::optional(found->second);
}

void remember(const ChoiceKey& key, size_t chosen) {
  Choices& all = choices();
  const std::unique_lock lock(all.mutex);
  all.chosen[key] = chosen;
}

std::string text_of(const ChoiceKey& key) {
  auto last = key.sizes.end();
  while (last != key.sizes.begin() && last[-1] == 0) --last;
  return fmt::format("{} {}, {} thread{}", key.kernel, fmt::join(key.sizes.begin(), last, " x "), key.threads,
                     key.threads == 1 ? "" : "s");
}

// On the disk.
std::string entry_key(const std::string& problem, CandidateNames names) {
  const std::string text =
      fmt::format("weft {} choice 1\n{}\n{}\n{}\n{}\n{}", WEFT_VERSION_STRING, host_cpu_brand(),
                  fmt::join(host_cpu_features(), " "), host_vector_bytes(), problem, fmt::join(names, "\n"));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Candidates in turn, round after round; those that fall behind are left out of later ones.
class Race {
 public:
  Race(size_t candidates, const std::function<void(size_t)>& run, double most_seconds)
      : run_(run), most_seconds_(most_seconds), best_(candidates, kNever) {}

  // False: there was no time for enough rounds to tell. Of what is long one is enough.
  bool run() {
    constexpr int kLeastRounds = 3, kFewRounds = 6, kMostRounds = 40;
    constexpr double kEnoughSeconds = 0.02, kManySeconds = 0.15, kLongSeconds = 0.1;
    for (int round = 0; round < kMostRounds; ++round) {
      for (size_t i = 0; i < best_.size(); ++i) {
        if (!is_in(i, round)) continue;
        if (elapsed_seconds(start_) > most_seconds_)
          return round >= kLeastRounds || (round > 0 && fastest() > kLongSeconds);
        sample(i);
      }
      const double spent = elapsed_seconds(start_);
      if (round + 1 >= kLeastRounds && spent > kManySeconds) break;
      if (round + 1 >= kFewRounds && spent > kEnoughSeconds) break;
    }
    return true;
  }

  // The default where it is as fast.
  size_t winner() const {
    constexpr double kSame = 1.01;
    if (fastest() == kNever) return 0;
    if (best_[0] <= fastest() * kSame) return 0;
    return static_cast<size_t>(std::min_element(best_.begin(), best_.end()) - best_.begin());
  }
  double microseconds(size_t i) const { return best_[i] * 1e6; }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double fastest() const { return *std::min_element(best_.begin(), best_.end()); }

  // Other programs may have slowed a sample or two down. The default stays for comparison.
  bool is_in(size_t i, int round) const {
    if (round < 3) return round == 0 || best_[i] < kNever;
    return best_[i] < kNever && (i == 0 || best_[i] < fastest() * (round < 5 ? 1.15 : 1.06));
  }

  void sample(size_t i) {
    // Long enough for the clock.
    constexpr double kLeastSeconds = 1e-4;
    const double once = best_[i];  // at first never
    const int runs =
        once >= kLeastSeconds ? 1 : static_cast<int>(std::clamp(kLeastSeconds / once, 1.0, 256.0));
    try {
      const TuningClock::time_point start = TuningClock::now();
      for (int run = 0; run < runs; ++run) run_(i);
      best_[i] = std::min(best_[i], elapsed_seconds(start) / runs);
    } catch (const std::exception&) {
      best_[i] = kNever;
    }
  }

  const std::function<void(size_t)>& run_;
  const double most_seconds_;
  const TuningClock::time_point start_ = TuningClock::now();
  std::vector<double> best_;
};

constexpr const char* kEntryName = "choice";

}  // namespace

void log_choice(const TuningResult& result, const char* origin) {
  if (!log::enabled(log::Channel::Autotune)) return;
  const double best = *std::min_element(result.microseconds.begin(), result.microseconds.end());
  std::string table = fmt::format("{}: {}, {}\n", result.problem, result.names[result.chosen], origin);
  for (size_t i = 0; i < result.names.size(); ++i) {
    const double time = result.microseconds[i];
    table += fmt::format("  {} {:<36}", i == result.chosen ? '*' : ' ', result.names[i]);
    table += std::isfinite(time) ? fmt::format("{:>12.1f} us {:>7.2f}\n", time, time / best)
                                 : fmt::format("{:>12}\n", "unusable");
  }
  log::write(log::Channel::Autotune, table);
}

double measuring_seconds_left() { return seconds_left; }
void use_measuring_seconds(double seconds) { seconds_left -= seconds; }

AutotuneScope::AutotuneScope(bool on) : on_(on), before_(is_on), seconds_left_before_(seconds_left) {
  if (on_ && !before_) seconds_left = kMostSeconds;
  is_on = on_;
}

AutotuneScope::~AutotuneScope() {
  is_on = before_;
  if (!before_) seconds_left = seconds_left_before_;
}

CandidateScope::CandidateScope(size_t candidate) { wanted_candidate = candidate; }
CandidateScope::~CandidateScope() { wanted_candidate.reset(); }

bool is_autotuning() { return is_on && !in_parallel_region(); }

int64_t size_class(int64_t size) {
  if (size <= 64) return size;
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size - 1))) / 4;
  return (size + step - 1) / step * step;
}

int64_t rows_to_measure(int64_t rows, int64_t per_row) {
  constexpr int64_t kEnough = int64_t{1} << 30, kLeastRows = 256;
  return std::min(rows, std::max(kLeastRows, kEnough / std::max<int64_t>(1, per_row)));
}

std::string TuningResult::str() const {
  std::string text = problem + "\n";
  for (size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}\t{:.3f}\t{}\n", i == chosen ? '*' : '-', microseconds[i], names[i]);
  return text;
}

std::optional<TuningResult> TuningResult::parse(const std::string& text, CandidateNames names) {
  TuningResult result;
  std::istringstream lines(text);
  if (!std::getline(lines, result.problem)) return std::nullopt;
  size_t chosen = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first != 1 || second == std::string::npos) return std::nullopt;
    if (line[0] == '*') result.chosen = result.names.size(), ++chosen;
    char* end = nullptr;
    const std::string time = line.substr(first + 1, second - first - 1);
    result.microseconds.push_back(std::strtod(time.c_str(), &end));
    if (time.empty() || *end != '\0' || !(result.microseconds.back() > 0)) return std::nullopt;
    result.names.push_back(line.substr(second + 1));
  }
  if (chosen != 1 || !std::equal(names.begin(), names.end(), result.names.begin(), result.names.end()))
    return std::nullopt;
  return result;
}

std::optional<size_t> known_choice(const TuningProblem& problem, CandidateNames names) {
  if (wanted_candidate) return std::min(*wanted_candidate, names.size() - 1);
  const ChoiceKey key = key_of(problem);
  if (const std::optional<size_t> choice = remembered(key); choice && *choice < names.size()) return choice;
  const std::string text = text_of(key);
  const std::optional<std::string> entry = disk_cache_read(kEntryName, entry_key(text, names));
  if (!entry) return std::nullopt;
  const std::optional<TuningResult> result = TuningResult::parse(*entry, names);
  if (!result || result->problem != text) return std::nullopt;
  log_choice(*result, "as measured before");
  remember(key, result->chosen);
  return result->chosen;
}

size_t measure_choice(const TuningProblem& problem, CandidateNames names,
                      const std::function<void(size_t)>& run) {
  const std::unique_lock lock(choices().measuring, std::try_to_lock);
  if (!lock || seconds_left <= 0) return 0;
  const ChoiceKey key = key_of(problem);
  if (const std::optional<size_t> choice = remembered(key)) return *choice;  // another thread's, meanwhile
  TuningResult result{.problem = text_of(key), .names = {names.begin(), names.end()}, .microseconds = {}};
  const profiling::Span span([&] { return "autotune " + result.problem; }, profiling::Kind::Compile);
  const TuningClock::time_point start = TuningClock::now();
  Race race(names.size(), run, seconds_left);
  bool is_measured = false;
  {
    const AutotuneScope none(false);  // a candidate makes no choices of its own
    is_measured = race.run();
  }
  seconds_left -= elapsed_seconds(start);
  if (!is_measured) return 0;
  for (size_t i = 0; i < names.size(); ++i) result.microseconds.push_back(race.microseconds(i));
  result.chosen = race.winner();
  remember(key, result.chosen);
  if (!std::isfinite(result.microseconds[result.chosen])) return 0;  // none can be used
  log_choice(result, fmt::format("measured in {:.0f} ms", elapsed_seconds(start) * 1e3).c_str());
  disk_cache_write(kEntryName, entry_key(result.problem, names), result.str());
  return result.chosen;
}

void forget_choices() {
  Choices& all = choices();
  const std::unique_lock lock(all.mutex);
  all.chosen.clear();
}

}  // namespace weft::runtime
