// Rows of weights in groups to their place in a panel; quantized_kernels.h has the layout.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantized_matrix.h"
#include "kernels/cpu/weight_blocks.h"

namespace weft::kernels {
namespace {

// The codes of one group of rows that have their scales beside them, and these.
void take_group(const WeightRows& rows, int64_t row, int64_t first, WeightBlockParts& parts) {
  const int64_t group = rows.layout.group, count = std::min(group, rows.in - first);
  const bool is_bytes = rows.layout.numbers == GroupNumbers::Eight;
  const uint8_t flipped = rows.layout.values == GroupValues::Integers ? 0x80 : 0;
  const auto* const values = static_cast<const uint8_t*>(rows.values);
  std::fill_n(parts.codes, group, static_cast<uint8_t>(rows.layout.offset));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = row * rows.in + first + i;
    parts.codes[i] = is_bytes               ? values[at] ^ flipped
                     : (first + i) % 2 == 0 ? values[row * (rows.in / 2) + (first + i) / 2] >> 4
                                            : values[row * (rows.in / 2) + (first + i) / 2] & 15;
  }
  const auto* const scales = static_cast<const uint32_t*>(rows.scales);
  const int64_t at = (first / group * rows.out + row) * 2;
  parts.scales[0] = scales[at], parts.zeros[0] = scales[at + 1];
}

// One output's codes of a group.
void put_codes(const GroupLayout& layout, const uint8_t* codes, int64_t lane, uint8_t* to) {
  if (layout.numbers == GroupNumbers::Eight) {
    for (int64_t i = 0; i < layout.group; i += 4) std::memcpy(to + i * kPanel + 4 * lane, codes + i, 4);
    return;
  }
  if (layout.numbers != GroupNumbers::Four) {
    const int bits = layout.numbers == GroupNumbers::Five ? 1 : 2;
    uint8_t high[4] = {};
    for (int64_t i = 0; i < layout.group; ++i)
      high[i % 4] |= static_cast<uint8_t>(codes[i] >> 4 << (bits * (i / 4)));
    std::memcpy(to + 4 * lane, high, 4);
    to += 4 * kPanel;
  }
  for (int64_t i = 0; i < layout.group; i += 8)
    for (int64_t j = 0; j < 4; ++j)
      to[i / 2 * kPanel + 4 * lane + j] =
          static_cast<uint8_t>((codes[i + j] & 15) | (codes[i + 4 + j] & 15) << 4);
}

}  // namespace

void PackedMatrix::pack_groups(const WeightRows& rows, int64_t row, uint8_t* panel, int64_t lane) const {
  const int64_t bytes = scale_bytes(layout_.scales), zeros_at = layout_.group_head / 2;
  const BlockSize size = block_size(rows.blocks);
  WeightBlockParts parts{};
  for (int64_t k = 0; k < packed_in_; k += layout_.block) {
    if (rows.blocks == BlockFormat::None)
      take_group(rows, row, k, parts);
    else
      take_apart(rows.blocks,
                 static_cast<const uint8_t*>(rows.values) +
                     (row * (in_ / size.elements) + k / size.elements) * size.bytes,
                 parts);
    uint8_t* to = panel + offset_of(k);
    if (layout_.block_head > 0) {
      std::memcpy(to + 2 * lane, &parts.scale, 2);
      if (layout_.has_zeros) std::memcpy(to + 2 * kPanel + 2 * lane, &parts.zero, 2);
      to += layout_.block_head;
    }
    for (int64_t group = 0; group < layout_.block / layout_.group; ++group, to += layout_.group_bytes) {
      const auto size_of_scale = static_cast<size_t>(bytes);
      std::memcpy(to + bytes * lane, &parts.scales[group], size_of_scale);
      if (layout_.has_zeros) std::memcpy(to + zeros_at + bytes * lane, &parts.zeros[group], size_of_scale);
      put_codes(layout_, parts.codes + group * layout_.group, lane, to + layout_.group_head);
    }
  }
}

}  // namespace weft::kernels
