#include "device/cuda/product_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "core/profiling.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/driver.h"
#include "device/cuda/written_kernel.h"
#include "runtime/autotune.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr size_t kMostChoices = 4096;  // further problems are weft's kernels'
constexpr int kMostAlgorithms = 4;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Weft's kernel where `product` is null.
struct Choice {
  std::shared_ptr<const LtProduct> product;
  lt::Heuristic by;
};
struct ProductChoices {
  std::mutex mutex;
  std::map<LtProblem, Choice> known;
};
ProductChoices& product_choices() {
  static ProductChoices& instance = *new ProductChoices;
  return instance;
}

std::optional<Choice> known_choice_of(const LtProblem& problem) {
  ProductChoices& all = product_choices();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (const auto found = all.known.find(problem); found != all.known.end()) return found->second;
  return all.known.size() < kMostChoices ? std::nullopt : std::optional(Choice());
}

void keep_choice(const LtProblem& problem, const Choice& choice) {
  ProductChoices& all = product_choices();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.known[problem] = choice;
}

void log_line(const std::string& text) {
  if (log::enabled(log::Channel::Autotune)) log::write(log::Channel::Autotune, text);
}

// ---- operands to measure on ----

void fill(const Tensor& array, int64_t seed) {
  const int device = array.device().index;
  WrittenKernel kernel("fill_samples_" + type_in_kernels(array.dtype()), device);
  kernel.writes("to", array).number("count", array.numel()).number("seed", seed);
  kernel.with(Text::Operands).with(Text::Comparing);
  kernel.launch("fill_samples(to, count, seed);", blocks_of_items(array.numel(), device));
}

// `count` drawn elements at an address that is as aligned as the array's.
Tensor drawn_like(const Tensor& array, int64_t count, int64_t seed) {
  const int64_t size = itemsize(array.dtype());
  const int64_t shift = static_cast<int64_t>(reinterpret_cast<uintptr_t>(array.data()) % 256) / size;
  const Tensor whole = Tensor::empty({count + shift}, array.dtype(), array.device());
  fill(whole, seed);
  return whole.as_strided({count}, {1}, shift);
}

// Elements from a side's first to its last.
int64_t extent_of_side(const ProductSide& side, int64_t outer, int64_t depth, int64_t batches) {
  return 1 + (outer - 1) * side.row_step + (depth - 1) * side.depth_step +
         (batches - 1) * side.batch_steps[0];
}

Product drawn_product(const Product& p) {
  Product drawn = p;
  const int64_t batches = p.batches[0];
  drawn.left.array = drawn_like(p.left.array, extent_of_side(p.left, p.rows, p.depth, batches), 1);
  drawn.right.array = drawn_like(p.right.array, extent_of_side(p.right, p.columns, p.depth, batches), 2);
  if (p.end.bias.defined()) drawn.end.bias = drawn_like(p.end.bias, p.columns, 3);
  if (p.end.residual.defined()) drawn.end.residual = drawn_like(p.end.residual, p.end.residual.numel(), 4);
  drawn.end.out = drawn_like(p.end.out, p.end.out.numel(), 5);
  return drawn;
}

// The numbers that candidates multiply, and what weft's kernel makes of them.
struct Measured {
  Product product;
  Tensor want;
};

Measured measured_on(const Product& product) {
  Measured measured{product, drawn_like(product.end.out, product.end.out.numel(), 6)};
  Product own = product;
  own.end.out = measured.want;
  run_own_product(own);
  return measured;
}

// The same with a NaN in the first row, which no activation may swallow.
Measured measured_on_nan(const Product& product) {
  Product with_nan = product;
  const Tensor& left = product.left.array;
  with_nan.left.array = drawn_like(left, left.numel(), 1);
  const Tensor nan =
      Tensor::full({1}, Scalar(std::numeric_limits<double>::quiet_NaN()), left.dtype(), left.device());
  with_nan.left.array.as_strided({1}, {1}, with_nan.left.array.offset()).copy_from(nan);
  return measured_on(with_nan);
}

// ---- how results are compared, and candidates timed ----

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return 0x1p-53;
    case DType::F32: return 0x1p-24;
    case DType::F16: return 0x1p-11;
    case DType::BF16: return 0x1p-8;
    default: return 0;  // whole numbers
  }
}

bool is_same_result(const Tensor& got, const Tensor& want, int64_t depth) {
  const int device = got.device().index;
  const DType dtype = got.dtype();
  const Tensor differs = Tensor::full({1}, Scalar(0), DType::I64, got.device());
  const double unit = itemsize(dtype) == 2 ? 0x1p-22 : unit_of(dtype);
  const double sums = is_floating(dtype) ? 4 * unit * static_cast<double>(depth + 16) : 0;
  WrittenKernel kernel("compare_results_" + type_in_kernels(dtype), device);
  kernel.reads("a", got).reads("b", want).number("count", got.numel());
  kernel.real("sums", sums).real("relative", 2 * unit_of(dtype)).writes("differs", differs);
  kernel.with(Text::Operands).with(Text::Comparing);
  kernel.launch("compare_results(a, b, count, sums, relative, differs);",
                blocks_of_items(got.numel(), device));
  int64_t found = 0;
  driver().copy_to_host(&found, differs.data(), sizeof found, device);
  return found == 0;
}

// The median, on the device's clock.
double seconds_of(const std::function<void()>& run, int device) {
  constexpr double kLeast = 2e-4;  // long enough beside what an event costs
  constexpr int kSamples = 5, kMostRuns = 20;
  const Driver& gpu = driver();
  const auto timed = [&](int runs) {
    const std::shared_ptr<void> begin = gpu.record(device);
    for (int k = 0; k < runs; ++k) run();
    const std::shared_ptr<void> end = gpu.record(device);
    return gpu.elapsed_ms(begin.get(), end.get()) * 1e-3 / runs;
  };
  const double once = timed(1);
  const int runs = static_cast<int>(std::clamp(kLeast / std::max(once, 1e-9), 1.0, double{kMostRuns}));
  std::array<double, kSamples> samples{};
  for (double& sample : samples) sample = timed(runs);
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return std::max(samples[kSamples / 2], 1e-9);
}

// ---- the choice ----

// Whether it succeeds and its result is that of weft's kernel; else a line of the log says what is wrong.
bool computes(const LtProduct& lt, const lt::Heuristic& by, const Measured& on,
              const std::string& candidate) {
  const Tensor& out = on.product.end.out;
  fill(out, 5);  // what is not written shows
  if (const lt::Status status = lt.run(on.product, by)) {
    log_line(fmt::format("{}: cublasLtMatmul gives status {}", candidate, status));
    return false;
  }
  if (is_same_result(out, on.want, on.product.depth)) return true;
  log_line(candidate + " differs from weft's kernel by more than rounding");
  return false;
}

double seconds_of_algorithm(const LtProduct& lt, const lt::Heuristic& by, const Product& product,
                            const std::string& candidate) {
  lt::Status failed = 0;
  const double seconds = seconds_of(
      [&] {
        if (const lt::Status status = lt.run(product, by)) failed = status;
      },
      product.end.out.device().index);
  if (failed != 0) log_line(fmt::format("{}: cublasLtMatmul gives status {}", candidate, failed));
  return failed != 0 ? kNever : seconds;
}

Choice measure_candidates(const Product& product, const LtProblem& problem, const std::string& text) {
  const auto lt = std::make_shared<LtProduct>(problem);
  const Product drawn = drawn_product(product);
  const std::vector<lt::Heuristic> algorithms = lt->algorithms(drawn, kMostAlgorithms);
  if (algorithms.empty()) {
    log_line(text + ": cuBLASLt has no algorithm for it");
    return {};
  }
  std::vector<Measured> checks{measured_on(drawn)};
  if ((problem.epilogue & (lt::kRelu | lt::kGelu)) != 0) checks.push_back(measured_on_nan(drawn));
  Product own = drawn;
  own.end.out = checks[0].want;
  runtime::TuningResult result{.problem = text, .names = {"weft"}, .microseconds = {}};
  result.microseconds.push_back(seconds_of([&] { run_own_product(own); }, problem.device) * 1e6);
  for (size_t k = 0; k < algorithms.size(); ++k) {
    result.names.push_back(fmt::format("cuBLASLt {}", k + 1));
    const std::string candidate = text + ": " + result.names.back();
    const bool is_right = std::all_of(checks.begin(), checks.end(), [&](const Measured& on) {
      return computes(*lt, algorithms[k], on, candidate);
    });
    result.microseconds.push_back(is_right ? 1e6 * seconds_of_algorithm(*lt, algorithms[k], drawn, candidate)
                                           : kNever);
  }
  // Weft's where it is as fast.
  constexpr double kSame = 1.01;
  const auto best = std::min_element(result.microseconds.begin(), result.microseconds.end());
  if (result.microseconds[0] > *best * kSame)
    result.chosen = static_cast<size_t>(best - result.microseconds.begin());
  runtime::log_choice(result, "measured");
  return result.chosen == 0 ? Choice() : Choice{lt, algorithms[result.chosen - 1]};
}

// Nullopt: none is made now, and nothing is kept.
std::optional<Choice> measured_choice(const Product& product, const LtProblem& problem) {
  const auto order = driver().submitting(problem.device);  // nothing else runs meanwhile
  if (driver().is_recording(problem.device) || runtime::measuring_seconds_left() <= 0) return std::nullopt;
  if (std::optional<Choice> known = known_choice_of(problem)) return known;  // another thread's, meanwhile
  const std::string text = problem.str();
  const profiling::Span span([&] { return "autotune " + text; }, profiling::Kind::Compile);
  const auto start = std::chrono::steady_clock::now();
  Choice choice;
  try {
    if (const std::string why = why_no_cublaslt(problem.device); !why.empty())
      log_line(text + ": weft: " + why);
    else
      choice = measure_candidates(product, problem, text);
  } catch (const Error& error) {
    log_line(fmt::format("{}: weft: {}", text, error.what()));
  }
  keep_choice(problem, choice);
  runtime::use_measuring_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return choice;
}

}  // namespace

bool run_by_library(const Product& product) {
  if (!runtime::is_autotuning()) return false;
  const std::optional<LtProblem> problem = lt_problem(product);
  if (!problem) return false;
  std::optional<Choice> choice = known_choice_of(*problem);
  if (!choice) choice = measured_choice(product, *problem);
  if (!choice || choice->product == nullptr) return false;
  std::string failure;
  try {
    const lt::Status status = choice->product->run(product, choice->by);
    if (status == 0) return true;
    failure = fmt::format("cublasLtMatmul gives status {}", status);
  } catch (const Error& error) {  // no memory for its workspace
    if (error.kind() != ErrorKind::Memory) throw;
    failure = error.what();
  }
  log_line(fmt::format("{}: weft from now on: {}", problem->str(), failure));
  keep_choice(*problem, {});
  return false;
}

}  // namespace weft::cuda
