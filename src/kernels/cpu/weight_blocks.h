// Blocks of weights as GGUF files have them, taken apart: what rows are packed from, and what they are in
// float32.
#pragma once

#include <cstdint>

#include "kernels/cpu/quantized_kernels.h"
#include "weft/block_format.h"

namespace weft::kernels {

inline constexpr int64_t kMostInBlock = 256;  // weights
inline constexpr int64_t kMostGroups = 16;    // of a block

// One block. Its numbers are codes of as many bits as the layout has; scales are as the layout stores them.
struct WeightBlockParts {
  uint8_t codes[kMostInBlock];
  uint32_t scales[kMostGroups], zeros[kMostGroups];
  uint16_t scale, zero;  // of the scales, half precision, where the layout has such
};

// How panels hold weights of this format.
const GroupLayout& group_layout(BlockFormat format);
// The same of weights with float32 scales and zeros for every `group`.
GroupLayout float_scale_layout(int64_t group, GroupNumbers numbers, int32_t offset,
                               GroupValues values = GroupValues::Integers);
int64_t scale_bytes(GroupScales scales);
// The other way: Q8_0 or Q4_0, rounded as llama.cpp does.
void make_blocks(BlockFormat format, const float* row, int64_t count, uint8_t* to);
void take_apart(BlockFormat format, const uint8_t* block, WeightBlockParts& parts);
// `count` weights of a row, whole blocks, in float32.
void dequantize_blocks(BlockFormat format, const uint8_t* row, int64_t count, float* to);

}  // namespace weft::kernels
