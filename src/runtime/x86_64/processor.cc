// x86-64: features by CPUID, levels by -march's names, matrix engines.
#include "runtime/processor.h"

#include <cpuid.h>
#include <elf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "runtime/ceiling_loops.h"

namespace weft::runtime::processor {
namespace {

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

bool has_all(const Features& features, std::initializer_list<const char*> wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const char* name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  });
}

constexpr const char* kNotThere = "not among the processor's features, or hidden by the hypervisor";

std::string vector_engine(const Features& features, int vector_bytes, const char* feature) {
  if (!has_all(features, {feature})) return kNotThere;
  return vector_bytes < 64 && std::strncmp(feature, "avx512", 6) == 0
             ? "WEFT_VECTOR_BYTES asks for narrower vectors"
             : "";
}

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

std::string tile_engine(int bit, const std::string& vectors) {
  if (!cpu_has(kAmxTile) || !cpu_has(bit)) return kNotThere;
  // Its kernels use vectors of 64 bytes beside the tiles.
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

}  // namespace

Features detect_features() {
  Features names;
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

std::string march_of(const Features& features) {
  const auto has = [&](std::initializer_list<const char*> wanted) { return has_all(features, wanted); };
  if (!has({"cx16", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"})) return "x86-64";
  if (!has({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "x86-64-v2";
  if (!has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "x86-64-v3";
  return "x86-64-v4";
}

int vector_bytes_of(const Features& features) {
  if (has_all(features, {"avx512f", "avx512bw", "avx512dq", "avx512vl"})) return 64;
  return has_all(features, {"avx2"}) ? 32 : 16;
}

std::vector<std::string> further_flags(const Features& features, int vector_bytes) {
  std::vector<std::string> flags;
  for (const std::string& feature : features) {
    if (feature.starts_with("avx512") || feature == "gfni" || feature == "avxvnni")
      flags.push_back("-m" + feature);
  }
  flags.push_back("-mprefer-vector-width=" + std::to_string(vector_bytes * 8));
  return flags;
}

// Processors differ in many features; the prelude asks only for two that -march may not bring.
std::vector<std::string> flags_of_prelude(const std::vector<std::string>& flags) {
  const bool has_both = std::find(flags.begin(), flags.end(), "-march=x86-64-v4") != flags.end();
  std::vector<std::string> kept;
  for (const std::string& flag : flags) {
    const bool is_asked_for = !has_both && (flag == "-mavx512f" || flag == "-mavx512bw");
    if (!flag.starts_with("-m") || flag.starts_with("-march=") || is_asked_for) kept.push_back(flag);
  }
  return kept;
}

std::string torch_capability(const Features& features) {
  if (has_all(features, {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"})) return "AVX512";
  return has_all(features, {"avx2", "fma"}) ? "AVX2" : "DEFAULT";
}

std::vector<MatrixEngine> find_engines(const Features& features, int vector_bytes) {
  const auto vectors = [&](const char* feature) { return vector_engine(features, vector_bytes, feature); };
  const std::string bfloat16 = vectors("avx512bf16");
  return {{"avx-vnni", "int8", vectors("avxvnni"), nullptr},
          {"avx512-vnni", "int8", vectors("avx512vnni"), dot_int8},
          {"avx512-bf16", "bfloat16", bfloat16, dot_bfloat16},
          {"avx512-fp16", "float16", float16_engine(), nullptr},
          {"amx-bf16", "bfloat16", tile_engine(kAmxBf16, bfloat16), tiles_bfloat16},
          {"amx-int8", "int8", tile_engine(kAmxInt8, bfloat16), tiles_int8}};
}

uint16_t elf_machine() { return EM_X86_64; }

Writes written_by(uint64_t relocation) {
  switch (relocation) {
    case R_X86_64_RELATIVE: return Writes::Base;
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_64: return Writes::Symbol;
    default: return Writes::Unknown;
  }
}

}  // namespace weft::runtime::processor
