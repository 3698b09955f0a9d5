// Python's interpreter lock while tensors are worked on.
#pragma once

#include <utility>
#include <vector>

#include "capture/py.h"
#include "weft/tensor.h"

namespace weft::capture {

// Gives the lock up as long as it lives, or until take_back(), where that is worth it.
class LockRelease {
 public:
  explicit LockRelease(const std::vector<Tensor>& inputs) {
    int64_t elements = 0;
    for (const Tensor& input : inputs) elements += input.numel();
    if (elements >= kLimit) thread_ = PyEval_SaveThread();
  }
  ~LockRelease() { take_back(); }
  LockRelease(const LockRelease&) = delete;
  LockRelease& operator=(const LockRelease&) = delete;

  void take_back() {
    if (PyThreadState* thread = std::exchange(thread_, nullptr)) PyEval_RestoreThread(thread);
  }

 private:
  // Below this many elements in all inputs, giving up the lock costs more than it gives others.
  static constexpr int64_t kLimit = 1 << 14;
  PyThreadState* thread_ = nullptr;
};

}  // namespace weft::capture
