// CPU detection by hand rather than by a compiler's library: the cache key needs the features in a process
// that loads no compiler, and both toolchains must be told the same thing.
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host.h"
#include "runtime/log.h"
#include "runtime/toolchain.h"
#include "weft/env.h"
#include "weft/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstring>

namespace weft::runtime {
namespace {

#if defined(__x86_64__)
enum Register { kEax, kEbx, kEcx, kEdx };
// What the operating system must save for the feature to be usable.
enum State { kNone, kYmm, kZmm };

struct Feature {
  const char* name;  // as in -m<name>, for g++ 12 and clang alike
  unsigned leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"cx16", 1, 0, kEcx, 13, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"lzcnt", 0x80000001u, 0, kEcx, 5, kNone},
};

bool operating_system_saves(State state) {
  if (state == kNone) return true;
  unsigned registers[4];
  if (__get_cpuid(1, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return false;
  if ((registers[kEcx] >> 27 & 1u) == 0) return false;  // OSXSAVE
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const unsigned needed = state == kZmm ? 0xe6u : 0x06u;
  return (low & needed) == needed;
}

std::vector<std::string> detect_features() {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    unsigned r[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &r[0], &r[1], &r[2], &r[3]) == 0) continue;
    if (feature.subleaf > 0) {
      unsigned base[4] = {};
      __get_cpuid_count(feature.leaf, 0, &base[0], &base[1], &base[2], &base[3]);
      if (base[kEax] < feature.subleaf) continue;
    }
    if ((r[feature.reg] >> feature.bit & 1u) == 0 || !operating_system_saves(feature.state)) continue;
    names.emplace_back(feature.name);
  }
  return names;
}

std::string detect_brand() {
  unsigned words[12] = {};
  for (unsigned i = 0; i < 3; ++i) {
    if (__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                    &words[4 * i + 3]) == 0) {
      return "unknown x86-64";
    }
  }
  char text[49] = {};
  std::memcpy(text, words, 48);
  std::string brand(text);
  while (!brand.empty() && brand.back() == ' ') brand.pop_back();
  return brand.substr(brand.find_first_not_of(' ') == std::string::npos ? 0 : brand.find_first_not_of(' '));
}
#else
std::vector<std::string> detect_features() { return {}; }
std::string detect_brand() { return "unknown"; }
#endif

const std::vector<std::string>& features() {
  static const auto& names = *new std::vector<std::string>(detect_features());
  return names;
}

bool has_all(std::initializer_list<const char*> wanted) {
  for (const char* name : wanted) {
    bool found = false;
    for (const std::string& feature : features()) found = found || feature == name;
    if (!found) return false;
  }
  return true;
}

int machine_vector_bytes() {
  static const int bytes = has_all({"avx512f", "avx512bw", "avx512dq", "avx512vl"}) ? 64
                           : has_all({"avx2"})                                      ? 32
                                                                                    : 16;
  return bytes;
}

// A child would wait for a thread that looks at the processor just then, and that it does not have.
[[maybe_unused]] const int looked_at_fork = pthread_atfork([] { machine_vector_bytes(); }, nullptr, nullptr);

}  // namespace

std::string host_cpu_brand() { return detect_brand(); }

std::vector<std::string> host_cpu_features() { return features(); }

std::string torch_cpu_capability() {
  const char* const said = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view wanted = said ? said : "";
  if (wanted == "avx512") return "AVX512";
  if (wanted == "avx2") return "AVX2";
  if (wanted == "default") return "DEFAULT";
  if (has_all({"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"})) return "AVX512";
  return has_all({"avx2", "fma"}) ? "AVX2" : "DEFAULT";
}

std::string host_cpu_name() {
#if defined(__x86_64__)
  if (!has_all({"cx16", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"})) return "x86-64";
  if (!has_all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "x86-64-v2";
  if (!has_all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "x86-64-v3";
  return "x86-64-v4";
#elif defined(__aarch64__)
  return "armv8-a";
#else
  return "native";
#endif
}

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
#if defined(__x86_64__)
  for (const std::string& feature : features()) {
    if (feature.starts_with("avx512") || feature == "gfni" || feature == "avxvnni")
      flags.push_back("-m" + feature);
  }
  flags.push_back("-mprefer-vector-width=" + std::to_string(host_vector_bytes() * 8));
#endif
  return flags;
}

}  // namespace weft::runtime
