// 64-bit ARM: features as the kernel gives them, levels by -march's names, matrix engines.
#include "runtime/processor.h"

#include <asm/hwcap.h>
#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "runtime/ceiling_loops.h"

namespace weft::runtime::processor {
namespace {

struct ArmFeature {
  const char* name;  // as behind -march=armv8-a+, for g++ and clang alike
  unsigned long type, bit;
};

constexpr ArmFeature kArmFeatures[] = {
    {"simd", AT_HWCAP, HWCAP_ASIMD},   {"crc", AT_HWCAP, HWCAP_CRC32},
    {"lse", AT_HWCAP, HWCAP_ATOMICS},  {"rdma", AT_HWCAP, HWCAP_ASIMDRDM},
    {"fp16", AT_HWCAP, HWCAP_ASIMDHP}, {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},
    {"i8mm", AT_HWCAP2, HWCAP2_I8MM},  {"bf16", AT_HWCAP2, HWCAP2_BF16},
    {"sve", AT_HWCAP, HWCAP_SVE},      {"sve2", AT_HWCAP2, HWCAP2_SVE2},
};

struct Part {
  unsigned implementer, part;
  const char* name;
};

// What /proc/cpuinfo has as numbers.
constexpr Part kParts[] = {
    {0x41, 0xd03, "Arm Cortex-A53"},  {0x41, 0xd08, "Arm Cortex-A72"},  {0x41, 0xd0b, "Arm Cortex-A76"},
    {0x41, 0xd0c, "Arm Neoverse N1"}, {0x41, 0xd40, "Arm Neoverse V1"}, {0x41, 0xd49, "Arm Neoverse N2"},
    {0x41, 0xd4f, "Arm Neoverse V2"}, {0x41, 0xd83, "Arm Neoverse V3"}, {0x41, 0xd8e, "Arm Neoverse N3"},
    {0xc0, 0xac3, "Ampere Ampere-1"}, {0xc0, 0xac4, "Ampere Ampere-1a"}};

std::optional<unsigned> number_behind(const std::string& line, const char* key) {
  const size_t colon = line.find(':');
  if (line.rfind(key, 0) != 0 || colon == std::string::npos) return std::nullopt;
  char* end = nullptr;
  const unsigned long number = std::strtoul(line.c_str() + colon + 1, &end, 0);
  return end == line.c_str() + colon + 1 ? std::nullopt : std::optional(static_cast<unsigned>(number));
}

bool has(const Features& features, const char* name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

}  // namespace

Features detect_features() {
  Features names;
  for (const ArmFeature& feature : kArmFeatures)
    if ((getauxval(feature.type) & feature.bit) != 0) names.emplace_back(feature.name);
  return names;
}

std::string detect_brand() {
  std::ifstream file("/proc/cpuinfo");
  std::optional<unsigned> implementer, part;
  for (std::string line; std::getline(file, line) && !(implementer && part);) {
    if (!implementer) implementer = number_behind(line, "CPU implementer");
    if (!part) part = number_behind(line, "CPU part");
  }
  for (const Part& known : kParts)
    if (implementer == known.implementer && part == known.part) return known.name;
  return "unknown aarch64";
}

// What the code generator asks for is there on all of them.
std::string march_of(const Features&) { return "armv8-a"; }
int vector_bytes_of(const Features&) { return 16; }

// Atomics in place: kernels are linked without GCC's library, which has the functions that choose.
std::vector<std::string> further_flags(const Features&, int) { return {"-mno-outline-atomics"}; }

std::vector<std::string> flags_of_prelude(const std::vector<std::string>& flags) { return flags; }

std::string torch_capability(const Features&) { return "DEFAULT"; }

std::vector<MatrixEngine> find_engines(const Features& features, int) {
  const auto engine = [&](const char* name, const char* numbers, double (*loop)(int64_t)) {
    return MatrixEngine{name, numbers, has(features, name) ? "" : "not among the processor's features", loop};
  };
  return {engine("dotprod", "int8", dot_int8), engine("i8mm", "int8", tiles_int8),
          engine("bf16", "bfloat16", dot_bfloat16)};
}

uint16_t elf_machine() { return EM_AARCH64; }

Writes written_by(uint64_t relocation) {
  switch (relocation) {
    case R_AARCH64_RELATIVE: return Writes::Base;
    case R_AARCH64_GLOB_DAT:
    case R_AARCH64_JUMP_SLOT:
    case R_AARCH64_ABS64: return Writes::Symbol;
    default: return Writes::Unknown;
  }
}

}  // namespace weft::runtime::processor
