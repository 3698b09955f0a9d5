// Python's interpreter lock while tensors are worked on.
#pragma once

#include <optional>
#include <vector>

#include "capture/objects/py.h"
#include "interpreter_lock.h"
#include "weft/tensor.h"

namespace weft::capture {

// Gives the lock up as long as it lives, or until take_back(), where that is worth it. What is computed
// meanwhile may end by runtime::Interrupted.
class LockRelease {
 public:
  explicit LockRelease(const std::vector<Tensor>& inputs) {
    int64_t elements = 0;
    for (const Tensor& input : inputs) elements += input.numel();
    if (elements >= kLimit) released_.emplace();
  }
  void take_back() { released_.reset(); }

 private:
  // Below this many elements in all inputs, giving up the lock costs more than it gives others.
  static constexpr int64_t kLimit = 1 << 14;
  std::optional<python::ComputeRelease> released_;
};

}  // namespace weft::capture
