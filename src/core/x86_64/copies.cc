// Copies by AVX2, where the processor has it.
#include <cstring>

#include "core/copy_run.h"
#include "core/transpose.h"

namespace weft {

extern const TransposeFunctions kTransposeAvx2;

namespace {

constexpr int64_t kPiece = 64;

// Pieces of 64 bytes, two vectors by name each, which stay in registers; the last one overlaps the one
// before.
__attribute__((target("avx2"))) void copy_avx2(char* to, const char* from, int64_t bytes) {
  using Half = long long __attribute__((vector_size(32)));
  constexpr int64_t kHalf = kPiece / 2;
  Half first, second, last_first, last_second;
  std::memcpy(&last_first, from + bytes - kPiece, kHalf);
  std::memcpy(&last_second, from + bytes - kHalf, kHalf);
  for (int64_t at = 0; at < bytes - kPiece; at += kPiece) {
    std::memcpy(&first, from + at, kHalf);
    std::memcpy(&second, from + at + kHalf, kHalf);
    std::memcpy(to + at, &first, kHalf);
    std::memcpy(to + at + kHalf, &second, kHalf);
  }
  std::memcpy(to + bytes - kPiece, &last_first, kHalf);
  std::memcpy(to + bytes - kHalf, &last_second, kHalf);
}

}  // namespace

CopyRun copy_run_function() { return __builtin_cpu_supports("avx2") ? &copy_avx2 : &copy_run_baseline; }

const TransposeFunctions& transpose_functions() {
  static const TransposeFunctions& functions =
      __builtin_cpu_supports("avx2") ? kTransposeAvx2 : kTransposeBaseline;
  return functions;
}

}  // namespace weft
