#include "runtime/matrix_engines.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "runtime/ceiling_loops.h"
#include "runtime/processor.h"
#include "runtime/toolchain.h"

namespace weft::runtime {
namespace {

// The best of a few runs, in operations per second.
double rate(double (*loop)(int64_t)) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kIterations = 2000;
  const double operations = loop(1) * kIterations;
  double best = 0;
  for (int i = 0; i < 4 && operations > 0; ++i) {
    const auto start = Clock::now();
    loop(kIterations);
    best = std::max(best, operations / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

double measure(double (*loop)(int64_t)) {
  double engine = 0, plain = 0;
  for (int round = 0; round < 3; ++round) {  // by turns: others may disturb one of them
    engine = std::max(engine, rate(loop));
    plain = std::max(plain, rate(multiply_add_float32));
  }
  return engine / plain;
}

}  // namespace

const std::vector<MatrixEngine>& matrix_engines() {
  static const auto& engines =
      *new std::vector<MatrixEngine>(processor::find_engines(host_cpu_features(), host_vector_bytes()));
  return engines;
}

bool has_matrix_engine(std::string_view name) {
  for (const MatrixEngine& engine : matrix_engines())
    if (engine.name == name) return engine.why_not.empty();
  return false;
}

double matrix_engine_speedup(std::string_view name) {
  static const auto& measured = *new std::map<std::string, double, std::less<>>([] {
    std::map<std::string, double, std::less<>> result;
    for (const MatrixEngine& engine : matrix_engines())
      if (engine.loop != nullptr) result[engine.name] = engine.why_not.empty() ? measure(engine.loop) : 0;
    return result;
  }());
  const auto found = measured.find(name);
  return found == measured.end() ? 0 : found->second;
}

}  // namespace weft::runtime
