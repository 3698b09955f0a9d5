// Work that must be over before a program's libraries end: compiling and loading kernels.
#pragma once

namespace weft::runtime {

// While one lives, the program's exit waits for it (kLongestWait at most); once the program is exiting,
// making one blocks for ever, but in the thread that exits. May be nested. Made before any lock is taken.
class UnderWay {
 public:
  UnderWay();
  ~UnderWay();
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
};

// To be called when a library has been loaded that such work uses: handlers run in the opposite order of
// their registration, and ours must come before those of the library.
void wait_for_work_at_exit();

}  // namespace weft::runtime
