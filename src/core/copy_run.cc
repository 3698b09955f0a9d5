#include "core/copy_run.h"

#include <cstring>

namespace weft {
namespace {

constexpr int64_t kPiece = 64;

#if defined(__x86_64__) && defined(__GNUC__)
#define WEFT_COPY_AVX2 1
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
#endif

}  // namespace

void copy_run_baseline(char* to, const char* from, int64_t bytes) {
  struct Piece {
    char data[kPiece];
  } piece, last;
  std::memcpy(&last, from + bytes - kPiece, kPiece);
  for (int64_t at = 0; at < bytes - kPiece; at += kPiece) {
    std::memcpy(&piece, from + at, kPiece);
    std::memcpy(to + at, &piece, kPiece);
  }
  std::memcpy(to + bytes - kPiece, &last, kPiece);
}

CopyRun copy_run_function() {
#ifdef WEFT_COPY_AVX2
  if (__builtin_cpu_supports("avx2")) return &copy_avx2;
#endif
  return &copy_run_baseline;
}

}  // namespace weft
