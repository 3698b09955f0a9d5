// The kernels that a pointwise operator with its parameters' defaults runs instead of its loops, where the
// build has written them (kernels/cpu/built.h).
#pragma once

#include <array>
#include <mutex>
#include <string>

#include "kernels/cpu/built.h"
#include "ops/half_table.h"
#include "weft/dtype.h"

namespace weft::ops {

class BuiltLoops {
 public:
  BuiltLoops(std::string name, size_t num_operands)
      : name_(std::move(name)), num_operands_(num_operands), looks_up_(looks_up_halves(name_)) {}
  // For operands of the dtype, which the result may or may not have. Bits of `numbers`: operands that are one
  // element for all; null where there is none.
  const kernels::BuiltKernel* of(DType dtype, unsigned numbers) const {
    std::call_once(once_, [this] { find(); });
    return kernels_[static_cast<size_t>(dtype)][numbers % kForms];
  }
  // For a call of so many elements, where its results are looked up; else null.
  const uint16_t* results(DType dtype, int64_t elements) const {
    return looks_up_ && elements >= HalfTable::kFewest ? table_.of(dtype, of(dtype, 0)) : nullptr;
  }

 private:
  static constexpr unsigned kForms = 8;

  void find() const {
    if (num_operands_ > 3) return;
    for (size_t i = 0; i < kNumDTypes; ++i) {
      for (unsigned numbers = 0; numbers < 1u << num_operands_; ++numbers) {
        std::string form;
        for (size_t operand = 0; operand < num_operands_; ++operand)
          form += numbers >> operand & 1 ? '1' : 'n';
        kernels_[i][numbers] =
            kernels::find_built(name_ + "_" + std::string(name(static_cast<DType>(i))) + "_" + form);
      }
    }
  }

  const std::string name_;
  const size_t num_operands_;
  const bool looks_up_;
  HalfTable table_;
  mutable std::once_flag once_;
  mutable std::array<std::array<const kernels::BuiltKernel*, kForms>, kNumDTypes> kernels_{};
};

}  // namespace weft::ops
