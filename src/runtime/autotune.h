// Choices between several ways to compute the same, made by measuring them on the operands at hand: what
// mode="max-autotune" adds to kernels that have such ways.
//
// A choice is made once per processor, kernel, sizes, number of threads and version of weft. It is kept in
// the process and in the folder of compiled kernels, an entry of its own each, written whole or not at all;
// a damaged one is measured again. The table of candidates is printed under WEFT_LOGS=autotune.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::runtime {

// Within one, kernels that this thread calls choose by measurement. Measuring takes at most kMostSeconds of
// the outermost one; what is not measured by then is left to a later call, and computed by default.
class AutotuneScope {
 public:
  static constexpr double kMostSeconds = 1.2;
  explicit AutotuneScope(bool on);
  ~AutotuneScope();
  AutotuneScope(const AutotuneScope&) = delete;
  AutotuneScope& operator=(const AutotuneScope&) = delete;

 private:
  bool on_, before_;
  double seconds_left_before_;
};

// For tests: within one, the candidate of this position (the last, where there are fewer) computes.
class CandidateScope {
 public:
  explicit CandidateScope(size_t candidate);
  ~CandidateScope();
  CandidateScope(const CandidateScope&) = delete;
  CandidateScope& operator=(const CandidateScope&) = delete;

 private:
  const AutotuneScope scope_{true};
};

// Within a scope, and not in a part of a parallel loop, where times would tell nothing.
bool is_autotuning();

// What stands for a size: itself up to 64, beyond the largest of four classes per doubling.
int64_t size_class(int64_t size);

// So many rows of a product of `per_row` multiplications each tell how fast all of them are.
int64_t rows_to_measure(int64_t rows, int64_t per_row);

struct TuningProblem {
  const char* kernel;  // for the rest of the process
  // What the times depend on beside the number of threads; classes, where they need not be exact.
  std::array<int64_t, 8> sizes{};
};

// How a problem's candidates are called, in entries and tables: the first is the default.
using CandidateNames = std::span<const char* const>;

// The choice that the process or the disk has.
std::optional<size_t> known_choice(const TuningProblem& problem, CandidateNames names);
// Measures: run(i) computes by candidate i into memory that nothing else needs, and may be called many times.
// A candidate that throws is none. 0 where another thread is measuring, or the scope's time is used up; that
// is not kept.
size_t measure_choice(const TuningProblem& problem, CandidateNames names,
                      const std::function<void(size_t)>& run);

// The candidate to compute by.
template <class Run>
size_t tuned_choice(const TuningProblem& problem, CandidateNames names, const Run& run) {
  if (!is_autotuning() || names.size() < 2) return 0;
  if (const std::optional<size_t> known = known_choice(problem, names)) return *known;
  return measure_choice(problem, names, std::cref(run));
}

// What measuring has found, as text: an entry on the disk, and the table in the log.
struct TuningResult {
  std::string problem;               // "float32 product 256 x 768 x 3072, 2 threads"
  std::vector<std::string> names;    // of the candidates
  std::vector<double> microseconds;  // of each; infinite: it cannot be used
  size_t chosen = 0;

  std::string str() const;
  // Of str(), where it is one of these candidates'; nullopt: it is damaged, or another's.
  static std::optional<TuningResult> parse(const std::string& text, CandidateNames names);
};

// The table, under WEFT_LOGS=autotune; `origin`: "measured in 12 ms".
void log_choice(const TuningResult& result, const char* origin);

// For choices that are measured elsewhere, on a GPU: what is left of the scope's time, and that some of it
// has been used.
double measuring_seconds_left();
void use_measuring_seconds(double seconds);

// Choices of the process are forgotten, those on the disk are not.
void forget_choices();

}  // namespace weft::runtime
