#pragma once

#include <cstdint>

#include "kernels/cpu/packed_weights.h"

namespace weft::kernels {

// Memory that a thread keeps for its next call.
class Scratch {
 public:
  float* floats(int64_t count) {
    if (count > count_) {
      buffer_ = FloatBuffer(count);
      count_ = count;
    }
    return buffer_.data();
  }

 private:
  FloatBuffer buffer_;
  int64_t count_ = 0;
};

}  // namespace weft::kernels
