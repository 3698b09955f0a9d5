// What weft asks of the processor's architecture. Each has a folder named after it, src/runtime/x86_64 and so
// on, which defines these; src/CMakeLists.txt compiles the folder that it builds for. docs/HACKING.md says
// what a further one needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/matrix_engines.h"

namespace weft::runtime::processor {

using Features = std::vector<std::string>;

// What the processor has and the operating system saves, by the names that compilers have for it.
Features detect_features();
// "AMD EPYC 9R14", for people; "unknown …" where nothing tells.
std::string detect_brand();
// The level of the architecture that these features make, as -march wants it.
std::string march_of(const Features& features);
// Of the widest vectors whose kernels may run with these features.
int vector_bytes_of(const Features& features);
// Flags of kernels beside -march, for the host alone.
std::vector<std::string> further_flags(const Features& features, int vector_bytes);
// Of such flags those that what kernels have in common asks for (runtime/precompiled_prelude.h). One
// precompiled prelude serves processors for which these are the same.
std::vector<std::string> flags_of_prelude(const std::vector<std::string>& flags);
// What PyTorch calls the instructions that its kernels have with these features.
std::string torch_capability(const Features& features);
// From the smallest to the largest, with what is in the way of each. `vector_bytes`: what WEFT_VECTOR_BYTES
// leaves.
std::vector<MatrixEngine> find_engines(const Features& features, int vector_bytes);

// Of files that its linkers write: ELF's number of the architecture, and what a kind of relocation writes.
uint16_t elf_machine();
enum class Writes : uint8_t { Unknown, Base, Symbol };
Writes written_by(uint64_t relocation);

}  // namespace weft::runtime::processor
