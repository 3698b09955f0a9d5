// What the host's processor is, asked once. Its features are found by hand (runtime/processor.h) rather than
// by a compiler's library: the cache key needs them in a process that loads no compiler, and both toolchains
// must be told the same thing.
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/host.h"
#include "runtime/log.h"
#include "runtime/processor.h"
#include "runtime/toolchain.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

const std::vector<std::string>& features() {
  static const auto& names = *new std::vector<std::string>(processor::detect_features());
  return names;
}

int machine_vector_bytes() {
  static const int bytes = processor::vector_bytes_of(features());
  return bytes;
}

// A child would wait for a thread that looks at the processor just then, and that it does not have.
[[maybe_unused]] const int looked_at_fork = pthread_atfork([] { machine_vector_bytes(); }, nullptr, nullptr);

}  // namespace

std::string host_cpu_brand() { return processor::detect_brand(); }

std::vector<std::string> host_cpu_features() { return features(); }

std::string torch_cpu_capability() {
  const char* const said = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view wanted = said ? said : "";
  if (wanted == "avx512") return "AVX512";
  if (wanted == "avx2") return "AVX2";
  if (wanted == "default") return "DEFAULT";
  static std::once_flag once;
  if (!wanted.empty()) {
    std::call_once(once, [&] {
      log::warning("ATEN_CPU_CAPABILITY: expected avx512, avx2 or default, got '" + std::string(wanted) +
                   "'; taken as what this machine has");
    });
  }
  return processor::torch_capability(features());
}

std::string host_cpu_name() { return processor::march_of(features()); }

int host_vector_bytes() {
  const int machine = machine_vector_bytes();
  const int wanted = std::stoi(env::get("WEFT_VECTOR_BYTES"));
  if (wanted <= machine) return wanted == 0 ? machine : wanted;
  static std::once_flag once;
  std::call_once(once, [&] {
    log::warning("WEFT_VECTOR_BYTES: expected at most this machine's " + std::to_string(machine) + ", got " +
                 std::to_string(wanted) + "; taken as " + std::to_string(machine));
  });
  return machine;
}

namespace {

std::string optimization_flag() { return "-O" + env::get("WEFT_KERNEL_OPTIMIZATION"); }

}  // namespace

std::vector<std::string> kernel_flags() {
  std::vector<std::string> flags = {
      "-std=c++20", optimization_flag(), "-w",
      // Rounding as in the eager kernels.
      "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
      // Integers wrap.
      "-fwrapv",
      // No system header, no C++ runtime.
      "-ffreestanding", "-nostdinc", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
      // Small position-independent code.
      "-fPIC", "-fno-plt", "-fno-semantic-interposition", "-fno-stack-protector",
      "-fno-asynchronous-unwind-tables", "-fno-ident", "-march=" + host_cpu_name()};
  for (std::string& flag : processor::further_flags(features(), host_vector_bytes()))
    flags.push_back(std::move(flag));
  return flags;
}

}  // namespace weft::runtime
