// The kernels that a pointwise operator with its parameters' defaults runs instead of its loops, where the
// build has written them (kernels/cpu/built.h).
#pragma once

#include <array>
#include <mutex>
#include <string>

#include "kernels/cpu/built.h"
#include "weft/dtype.h"

namespace weft::ops {

class BuiltLoops {
 public:
  explicit BuiltLoops(std::string name) : name_(std::move(name)) {}
  // For operands of the dtype, which the result may or may not have; null where there is none.
  const kernels::BuiltKernel* of(DType dtype) const {
    std::call_once(once_, [this] {
      for (size_t i = 0; i < kNumDTypes; ++i)
        kernels_[i] = kernels::find_built(name_ + "_" + std::string(name(static_cast<DType>(i))));
    });
    return kernels_[static_cast<size_t>(dtype)];
  }

 private:
  const std::string name_;
  mutable std::once_flag once_;
  mutable std::array<const kernels::BuiltKernel*, kNumDTypes> kernels_{};
};

}  // namespace weft::ops
