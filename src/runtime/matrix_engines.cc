#include "runtime/matrix_engines.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "runtime/ceiling_loops.h"
#include "runtime/toolchain.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace weft::runtime {
namespace {

constexpr const char* kNotThere = "not among the processor's features, or hidden by the hypervisor";

std::string vector_engine(const char* feature) {
  for (const std::string& name : host_cpu_features())
    if (name == feature)
      return host_vector_bytes() < 64 && std::strncmp(feature, "avx512", 6) == 0
                 ? "WEFT_VECTOR_BYTES asks for narrower vectors"
                 : "";
  return kNotThere;
}

#if defined(__x86_64__) && defined(__linux__)
// Bits of EDX of CPUID's leaf 7.
enum { kAmxBf16 = 22, kFloat16 = 23, kAmxTile = 24, kAmxInt8 = 25 };

bool cpu_has(int bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> bit & 1u) != 0;
}

// Does the operating system save the tiles' state (XCR0), and does it give it to this process?
std::string tiles_refused() {
  constexpr unsigned kTileState = 3u << 17;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 27 & 1u) == 0)
    return "the operating system does not save its tiles";
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kTileState) != kTileState) return "the operating system does not save its tiles";
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0) return "";
  return std::string("the kernel refuses the tiles (arch_prctl): ") + std::strerror(errno);
}

std::string tile_engine(int bit) {
  if (!cpu_has(kAmxTile) || !cpu_has(bit)) return kNotThere;
  // Its kernels use vectors of 64 bytes beside the tiles.
  const std::string vectors = vector_engine("avx512bf16");
  if (!vectors.empty()) return vectors == kNotThere ? "needs AVX512-BF16, which is hidden" : vectors;
  static const auto& refused = *new std::string(tiles_refused());
  return refused;
}

std::string float16_engine() {
  return cpu_has(kFloat16)
             ? "it adds in float16, which rounds each sum to 11 bits: products of float16 use float32, or "
               "tiles of bfloat16"
             : kNotThere;
}
#else
enum { kAmxBf16, kAmxInt8 };
std::string tile_engine(int) { return kNotThere; }
std::string float16_engine() { return kNotThere; }
#endif

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
      *new std::vector<MatrixEngine>{{"avx-vnni", "int8", vector_engine("avxvnni")},
                                     {"avx512-vnni", "int8", vector_engine("avx512vnni")},
                                     {"avx512-bf16", "bfloat16", vector_engine("avx512bf16")},
                                     {"avx512-fp16", "float16", float16_engine()},
                                     {"amx-bf16", "bfloat16", tile_engine(kAmxBf16)},
                                     {"amx-int8", "int8", tile_engine(kAmxInt8)}};
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
    using Loop = std::pair<const char*, double (*)(int64_t)>;
    for (const auto& [engine, loop] : {Loop{"avx512-vnni", dot_int8}, Loop{"avx512-bf16", dot_bfloat16},
                                       Loop{"amx-bf16", tiles_bfloat16}, Loop{"amx-int8", tiles_int8}})
      result[engine] = has_matrix_engine(engine) ? measure(loop) : 0;
    return result;
  }());
  const auto found = measured.find(name);
  return found == measured.end() ? 0 : found->second;
}

}  // namespace weft::runtime
