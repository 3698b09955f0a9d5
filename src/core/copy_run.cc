#include "core/copy_run.h"

#include <cstring>

namespace weft {

void copy_run_baseline(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kPiece = 64;
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

}  // namespace weft
