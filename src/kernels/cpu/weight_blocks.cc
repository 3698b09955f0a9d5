#include "kernels/cpu/weight_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "weft/dtype.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// What the codes of IQ4_NL and MXFP4 stand for, and 128 or 12 more, so that none is negative.
// source: kvalues_iq4nl and kvalues_mxfp4 of llama.cpp; the latter are doubled, and their scales halved.
constexpr uint8_t kIq4Codes[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
constexpr uint8_t kMxfp4Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

constexpr int64_t kScaleBytes[] = {2, 2, 4, 1, 1};  // by GroupScales

constexpr int64_t high_bytes(GroupNumbers numbers) {
  return numbers == GroupNumbers::Five || numbers == GroupNumbers::Six ? 4 * kPanel : 0;
}

constexpr GroupLayout with_sizes(GroupLayout layout) {
  const int64_t kinds = layout.has_zeros ? 2 : 1;
  layout.block_head = layout.block == layout.group ? 0 : kinds * 2 * kPanel;
  layout.group_head = kinds * kScaleBytes[static_cast<size_t>(layout.scales)] * kPanel;
  layout.group_bytes = layout.group_head + high_bytes(layout.numbers) +
                       layout.group * kPanel / (layout.numbers == GroupNumbers::Eight ? 1 : 2);
  return layout;
}

constexpr GroupLayout layout_of(BlockFormat format) {
  using N = GroupNumbers;
  using S = GroupScales;
  const int64_t block = block_size(format).elements;
  const auto layout = [&](int64_t group, N numbers, S scales, bool has_zeros, int32_t offset,
                          const uint8_t* table = nullptr) {
    return with_sizes(
        {group, block, numbers, scales, has_zeros, offset, table, 0, 0, 0, GroupValues::Integers, {}});
  };
  switch (format) {
    case BlockFormat::None: break;
    case BlockFormat::Q4_0: return layout(32, N::Four, S::F16, false, 8);
    case BlockFormat::Q4_1: return layout(32, N::Four, S::F16, true, 0);
    case BlockFormat::Q5_0: return layout(32, N::Five, S::F16, false, 16);
    case BlockFormat::Q5_1: return layout(32, N::Five, S::F16, true, 0);
    case BlockFormat::Q8_0: return layout(32, N::Eight, S::F16, false, 128);
    case BlockFormat::Q4_K: return layout(32, N::Four, S::Byte, true, 0);
    case BlockFormat::Q5_K: return layout(32, N::Five, S::Byte, true, 0);
    case BlockFormat::Q6_K: return layout(16, N::Six, S::SignedByte, false, 32);
    case BlockFormat::IQ4_NL: return layout(32, N::Four, S::F16, false, 128, kIq4Codes);
    case BlockFormat::MXFP4: return layout(32, N::Four, S::BF16, false, 12, kMxfp4Codes);
  }
  return {};
}

constexpr auto kLayouts = [] {
  std::array<GroupLayout, kNumBlockFormats> layouts{};
  for (int i = 0; i < kNumBlockFormats; ++i)
    layouts[static_cast<size_t>(i)] = layout_of(static_cast<BlockFormat>(i));
  return layouts;
}();

uint16_t bits_at(const uint8_t* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

float half(uint16_t bits) {
  Half number;
  number.bits = bits;
  return static_cast<float>(number);
}

float bfloat16(uint16_t bits) {
  BFloat16 number;
  number.bits = bits;
  return static_cast<float>(number);
}

// The first 16 codes are low halves of bytes, the others high ones.
void take_nibbles(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + 16] = bytes[i] >> 4;
  }
}

void take_high_bits(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] |= static_cast<uint8_t>((bytes[i / 8] >> (i % 8) & 1) << 4);
}

// Eight scales and eight minima of six bits in twelve bytes. source: get_scale_min_k4 of llama.cpp.
void take_six_bit_scales(const uint8_t* bytes, WeightBlockParts& parts) {
  for (int i = 0; i < 4; ++i) {
    parts.scales[i] = bytes[i] & 63;
    parts.zeros[i] = bytes[i + 4] & 63;
    parts.scales[i + 4] = static_cast<uint32_t>((bytes[i + 8] & 15) | bytes[i] >> 6 << 4);
    parts.zeros[i + 4] = static_cast<uint32_t>(bytes[i + 8] >> 4 | bytes[i + 4] >> 6 << 4);
  }
}

// Q4_K and Q5_K: 64 weights in 32 bytes; of the fifth bits, two of each byte.
void take_k_block(const uint8_t* block, bool has_high_bits, WeightBlockParts& parts) {
  parts.scale = bits_at(block);
  parts.zero = bits_at(block + 2) ^ 0x8000;  // the minimum is taken off
  take_six_bit_scales(block + 4, parts);
  const uint8_t *high = block + 16, *low = has_high_bits ? high + 32 : high;
  for (int part = 0; part < 4; ++part, low += 32)
    for (int i = 0; i < 32; ++i)
      for (int half_byte = 0; half_byte < 2; ++half_byte) {
        uint8_t code = half_byte == 0 ? low[i] & 15 : low[i] >> 4;
        if (has_high_bits) code |= static_cast<uint8_t>((high[i] >> (2 * part + half_byte) & 1) << 4);
        parts.codes[part * 64 + half_byte * 32 + i] = code;
      }
}

// 128 weights in 64 bytes of low halves and 32 of two high bits each.
void take_q6_k(const uint8_t* block, WeightBlockParts& parts) {
  const uint8_t *low = block, *high = block + 128;
  for (int part = 0; part < 2; ++part, low += 64, high += 32)
    for (int i = 0; i < 32; ++i)
      for (int quarter = 0; quarter < 4; ++quarter) {
        const uint8_t byte = low[i + quarter % 2 * 32];
        parts.codes[part * 128 + quarter * 32 + i] =
            static_cast<uint8_t>((quarter < 2 ? byte & 15 : byte >> 4) | (high[i] >> (2 * quarter) & 3) << 4);
      }
  for (int i = 0; i < 16; ++i) parts.scales[i] = block[192 + i];
  parts.scale = bits_at(block + 208);
}

// 2^(exponent - 128) as a bfloat16, which has it exactly: numbers below 2^-126 are not normal.
uint16_t mxfp4_scale(uint8_t exponent) {
  if (exponent < 2) return static_cast<uint16_t>(0x0020 << exponent);
  return static_cast<uint16_t>((exponent - 1) << 7);
}

float scale_value(GroupScales scales, uint32_t bits, float of_block) {
  switch (scales) {
    case GroupScales::F16: return half(static_cast<uint16_t>(bits));
    case GroupScales::BF16: return bfloat16(static_cast<uint16_t>(bits));
    case GroupScales::F32: return std::bit_cast<float>(bits);
    case GroupScales::Byte: return of_block * static_cast<float>(bits);
    case GroupScales::SignedByte: return of_block * static_cast<float>(static_cast<int8_t>(bits));
  }
  return 0;
}

}  // namespace

const GroupLayout& group_layout(BlockFormat format) { return kLayouts[static_cast<size_t>(format)]; }

GroupLayout float_scale_layout(int64_t group, GroupNumbers numbers, int32_t offset, GroupValues values) {
  return with_sizes({group, group, numbers, GroupScales::F32, true, offset, nullptr, 0, 0, 0, values, {}});
}

int64_t scale_bytes(GroupScales scales) { return kScaleBytes[static_cast<size_t>(scales)]; }

void take_apart(BlockFormat format, const uint8_t* block, WeightBlockParts& parts) {
  switch (format) {
    case BlockFormat::None: break;
    case BlockFormat::Q4_0:
    case BlockFormat::IQ4_NL: parts.scales[0] = bits_at(block); return take_nibbles(block + 2, parts.codes);
    case BlockFormat::Q4_1:
      parts.scales[0] = bits_at(block), parts.zeros[0] = bits_at(block + 2);
      return take_nibbles(block + 4, parts.codes);
    case BlockFormat::Q5_0:
      parts.scales[0] = bits_at(block);
      take_nibbles(block + 6, parts.codes);
      return take_high_bits(block + 2, parts.codes);
    case BlockFormat::Q5_1:
      parts.scales[0] = bits_at(block), parts.zeros[0] = bits_at(block + 2);
      take_nibbles(block + 8, parts.codes);
      return take_high_bits(block + 4, parts.codes);
    case BlockFormat::Q8_0:
      parts.scales[0] = bits_at(block);
      for (int i = 0; i < 32; ++i) parts.codes[i] = block[2 + i] ^ 0x80;
      return;
    case BlockFormat::Q4_K: return take_k_block(block, false, parts);
    case BlockFormat::Q5_K: return take_k_block(block, true, parts);
    case BlockFormat::Q6_K: return take_q6_k(block, parts);
    case BlockFormat::MXFP4:
      parts.scales[0] = mxfp4_scale(block[0]);
      return take_nibbles(block + 1, parts.codes);
  }
}

// source: quantize_row_q8_0_ref and quantize_row_q4_0_ref of llama.cpp.
void make_blocks(BlockFormat format, const float* row, int64_t count, uint8_t* to) {
  WEFT_ASSERT(format == BlockFormat::Q8_0 || format == BlockFormat::Q4_0, "blocks that are only read");
  const bool is_q8 = format == BlockFormat::Q8_0;
  const auto [name, elements, bytes] = block_size(format);
  for (int64_t at = 0; at < count; at += elements, row += elements, to += bytes) {
    float most = 0;
    for (int64_t i = 0; i < elements; ++i)
      if (std::abs(row[i]) > std::abs(most)) most = row[i];
    const float scale = is_q8 ? std::abs(most) / 127.0f : most / -8.0f,
                inverse = scale != 0 ? 1.0f / scale : 0.0f;
    const uint16_t bits = Half(scale).bits;
    std::memcpy(to, &bits, sizeof bits);
    for (int64_t i = 0; i < elements; ++i) {
      const float x = row[i] * inverse;
      if (is_q8) {
        to[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(x)));
        continue;
      }
      const auto code = static_cast<uint8_t>(std::min(15, static_cast<int>(static_cast<int8_t>(x + 8.5f))));
      uint8_t& byte = to[2 + i % 16];
      byte = static_cast<uint8_t>(i < 16 ? code : byte | code << 4);
    }
  }
}

void dequantize_blocks(BlockFormat format, const uint8_t* row, int64_t count, float* to) {
  const GroupLayout& layout = group_layout(format);
  WeightBlockParts parts;
  for (int64_t at = 0; at < count; at += layout.block, row += block_size(format).bytes) {
    take_apart(format, row, parts);
    const bool has_block_scales = layout.block != layout.group;
    const float scale = has_block_scales ? half(parts.scale) : 0,
                zero = has_block_scales && layout.has_zeros ? half(parts.zero) : 0;
    for (int64_t i = 0; i < layout.block; ++i) {
      const int64_t group = i / layout.group;
      const int code = layout.table ? layout.table[parts.codes[i]] : parts.codes[i];
      float value =
          scale_value(layout.scales, parts.scales[group], scale) * static_cast<float>(code - layout.offset);
      if (layout.has_zeros) value += scale_value(layout.scales, parts.zeros[group], zero);
      to[at + i] = value;
    }
  }
}

}  // namespace weft::kernels
