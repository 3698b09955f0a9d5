// What pointwise operators run over elements that lie one after the other.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/built.h"
#include "ops/built_loops.h"
#include "ops/pointwise.h"

namespace weft::ops {

inline constexpr size_t kMostOperands = 4;
inline constexpr int64_t kGrain = 32 * 1024;  // elements per task: some tens of microseconds of work

// An operator's loop over elements of one dtype: what the build has written for it, or the one of its
// definition.
class Loop {
 public:
  // `numbers`: as BuiltLoops has it. `elements`: of the whole call.
  Loop(const OpDef& op, LoopFunction plain, DType operand, const Params& params, bool has_defaults,
       unsigned numbers = 0, int64_t elements = 0)
      : plain_(plain),
        built_(has_defaults && op.built ? op.built->of(operand, numbers) : nullptr),
        table_(built_ != nullptr && numbers == 0 ? op.built->results(operand, elements) : nullptr),
        params_(params) {}
  // Of f16 and bf16: it takes and gives them as they are, and needs no conversion.
  bool is_built() const { return built_ != nullptr; }
  // What to run; null where results are looked up instead.
  const kernels::BuiltKernel* built() const { return table_ == nullptr ? built_ : nullptr; }
  void operator()(void* out, std::span<const void* const> operands, int64_t count) const {
    if (table_ != nullptr) [[unlikely]]
      look_up(static_cast<uint16_t*>(out), static_cast<const uint16_t*>(operands[0]), table_, count);
    else if (built_ != nullptr)
      run_built(*built_, out, operands, std::span(&count, 1), /*is_parallel=*/false);
    else
      plain_(out, operands.data(), count, params_);
  }

 private:
  const LoopFunction plain_;
  const kernels::BuiltKernel* const built_;
  const uint16_t* const table_;
  const Params& params_;
};

// The loops of one call: `numbers` says which operands are one element for all.
struct Loops {
  const OpDef& op;
  LoopFunction plain;
  DType operand;
  const Params& params;
  bool has_defaults;
  int64_t elements;  // of the result
  Loop with(unsigned numbers) const {
    return Loop(op, plain, operand, params, has_defaults, numbers, elements);
  }
};

// ---- operands in any layout (pointwise_rows.cc)

// Rows shorter than this are gathered into blocks instead.
inline constexpr int64_t kShortRow = 48;

// Operands in dimensions' order of memory where all of them lie densely in one that is not C order; empty
// otherwise. `order`: which dimension each of theirs is.
std::vector<Tensor> in_common_order(std::span<const Tensor> operands, const Shape& shape,
                                    std::vector<size_t>& order);
Tensor with_dimensions(const Tensor& x, const std::vector<size_t>& order);
// A copy in C order of what would be read across cache lines, else the same.
Tensor in_reading_order(const Tensor& x);
// Elements that lie together along the rows of the shape that all operands broadcast to.
int64_t row_length(std::span<const Tensor> operands, const Tensor& result);
// Short rows beside one that is there for all of them: that one is repeated in a block, and rows are no
// matter. False where operands lie otherwise.
bool run_beside_repeated_rows(const Loops& loops, std::span<const Tensor> operands, const Tensor& result);
// Longer rows beside one that is there for all of them, where the build has a kernel for both; else false.
bool run_rows_with_one(const Loops& loops, std::span<const Tensor> operands, const Tensor& result);
// `is_in_place`: operands may be the result itself.
void run_along_rows(const Loops& loops, std::span<const Tensor> operands, const Tensor& result,
                    bool is_in_place = false);

// This thread's: two blocks for each operand, one for the result.
struct BlockBuffer* scratch_blocks();

}  // namespace weft::ops
