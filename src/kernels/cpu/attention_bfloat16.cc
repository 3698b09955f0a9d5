// Attention over bfloat16 on an engine: both of its products are the engine's, scores and sums are float32,
// and weights are rounded to bfloat16 before they are multiplied with the values (their sum is that of the
// unrounded ones).
#include <algorithm>

#include "core/rounding.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/packed_weights.h"
#include "kernels/cpu/product_scope.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

class BFloat16Attention {
 public:
  BFloat16Attention(const BFloat16Kernels& engine, const AttentionShape& shape,
                    std::span<const AttentionHead> heads)
      : engine_(engine),
        shape_(shape),
        heads_(heads),
        depth_(ceil_div(shape.head_dim, engine.depth_unit) * engine.depth_unit),
        key_panels_(ceil_div(shape.keys, kPairColumns)),
        value_panels_(ceil_div(shape.value_dim, kPairColumns)),
        padded_keys_(key_panels_ * kPairColumns),
        key_size_(padded_keys_ * depth_),
        packed_size_(key_size_ + padded_keys_ * width()) {}

  void run() const {
    const int64_t kept =
        std::max<int64_t>(get_num_threads(), kPackedAttentionBytes / std::max<int64_t>(1, 2 * packed_size_));
    for (size_t begin = 0; begin < heads_.size();) {
      const AttentionGroup group(heads_, begin, kept);
      const FloatBuffer packed(packed_size_ * static_cast<int64_t>(group.sources.size()) / 2 + 1);
      auto* const bits = reinterpret_cast<uint16_t*>(packed.data());
      pack(group, bits);
      attend(group, bits);
      begin = group.end;
    }
  }

 private:
  int64_t width() const { return value_panels_ * kPairColumns; }

  // Per source [key panels][depth / 2][32][2] and [value panels][padded keys / 2][32][2].
  void pack(const AttentionGroup& group, uint16_t* packed) const {
    const int64_t grain =
        std::max<int64_t>(1, 32768 / std::max<int64_t>(1, kPairColumns * (depth_ + width())));
    parallel_for(
        0, static_cast<int64_t>(group.sources.size()) * key_panels_, grain, [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t source = task / key_panels_, first = task % key_panels_ * kPairColumns,
                          keys = std::min(kPairColumns, shape_.keys - first);
            const AttentionHead& head = heads_[group.sources[static_cast<size_t>(source)]];
            uint16_t* const to = packed + source * packed_size_;
            engine_.pack_columns({.b = static_cast<const uint16_t*>(head.key) + first * shape_.key_stride,
                                  .stride = shape_.key_stride,
                                  .columns = keys,
                                  .depth = shape_.head_dim,
                                  .padded_depth = depth_,
                                  .panels = to + first * depth_,
                                  .panel_stride = 0});
            engine_.pack_rows({.b = static_cast<const uint16_t*>(head.value) + first * shape_.value_stride,
                               .stride = shape_.value_stride,
                               .columns = shape_.value_dim,
                               .depth = keys,
                               .padded_depth = kPairColumns,
                               .panels = to + key_size_ + first * kPairColumns,
                               .panel_stride = padded_keys_ * kPairColumns});
          }
        });
  }

  void attend(const AttentionGroup& group, const uint16_t* packed) const {
    const int64_t blocks = ceil_div(shape_.queries, kAttentionRows);
    parallel_for(
        0, static_cast<int64_t>(group.end - group.begin) * blocks, 1, [&](int64_t begin, int64_t end) {
          const FloatBuffer scratch(kAttentionRows * (kAttentionKeys + width() + shape_.relative_size()) +
                                    kAttentionRows * (kAttentionKeys + depth_) / 2);
          const ProductScope scope(engine_);
          for (int64_t task = begin; task < end; ++task) {
            const auto index = static_cast<size_t>(task / blocks);
            attend_block(heads_[group.begin + index], task % blocks * kAttentionRows,
                         packed + group.source_of[index] * packed_size_, scratch.data());
          }
        });
  }

  void attend_block(const AttentionHead& head, int64_t first, const uint16_t* packed, float* scratch) const {
    const AttentionKernels& kernels = attention_kernels();
    float* const output = scratch + kAttentionRows * kAttentionKeys;
    float* const relative = output + kAttentionRows * width();
    auto* const weights = reinterpret_cast<uint16_t*>(relative + kAttentionRows * shape_.relative_size());
    uint16_t* const query = weights + kAttentionRows * kAttentionKeys;
    const int64_t rows = std::min(kAttentionRows, shape_.queries - first);
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(static_cast<const uint16_t*>(head.query) + (first + i) * shape_.query_stride,
                  shape_.head_dim, query + i * depth_);
      std::fill(query + i * depth_ + shape_.head_dim, query + (i + 1) * depth_, uint16_t{0});
    }
    if (shape_.grid_width > 0) pack_relative<BFloat16>(shape_, head, first, rows, relative);
    const AttentionBlock block = block_of(head, first, rows, relative, output, scratch);
    AttentionRows state;
    kernels.start(block, width(), state);
    int64_t end = shape_.keys;
    if (shape_.causal) end = std::min(end, block.first_limit + rows - 1);
    for (int64_t key = 0; key < end; key += kAttentionKeys) {
      const int64_t count = std::min(kAttentionKeys, end - key), padded = round_up(count, kPairColumns);
      multiply({.a = query,
                .a_stride = depth_,
                .rows = rows,
                .panels = packed + key * depth_,
                .panel_stride = kPairColumns * depth_,
                .num_panels = padded / kPairColumns,
                .depth = depth_,
                .start = nullptr,
                .before = nullptr,
                .sums = scratch,
                .sums_stride = kAttentionKeys,
                .sums_step = kPairColumns,
                .y = nullptr,
                .y_stride = 0,
                .columns = padded});
      kernels.weigh(block, key, count, padded, width(), shape_.scale, state, weights);
      multiply({.a = weights,
                .a_stride = kAttentionKeys,
                .rows = rows,
                .panels = packed + key_size_ + key * kPairColumns,
                .panel_stride = padded_keys_ * kPairColumns,
                .num_panels = value_panels_,
                .depth = padded,
                .start = nullptr,
                .before = output,
                .sums = output,
                .sums_stride = width(),
                .sums_step = kPairColumns,
                .y = nullptr,
                .y_stride = 0,
                .columns = width()});
    }
    kernels.finish_bfloat16(block, width(), shape_.value_dim, state,
                            static_cast<uint16_t*>(head.output) + first * shape_.output_stride,
                            shape_.output_stride);
  }

  // A tile of rows after the other.
  void multiply(PairTile all) const {
    const int64_t rows = all.rows, tiles = ceil_div(rows, engine_.max_rows);
    const uint16_t* const a = all.a;
    float* const sums = all.sums;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t first = tile * rows / tiles;
      all.rows = (tile + 1) * rows / tiles - first;
      all.a = a + first * all.a_stride;
      all.sums = sums + first * all.sums_stride;
      if (all.before) all.before = all.sums;
      engine_.multiply(all);
    }
  }

  AttentionBlock block_of(const AttentionHead& head, int64_t first, int64_t rows, const float* relative,
                          float* output, float* scores) const {
    const int64_t mask_bytes =
        first * shape_.mask_row_stride * (shape_.mask == AttentionMask::Additive ? 4 : 1);
    return {.query = nullptr,
            .keys = nullptr,
            .values = nullptr,
            .rows = rows,
            .num_keys = shape_.keys,
            .padded_keys = padded_keys_,
            .head_dim = shape_.head_dim,
            .value_panels = value_panels_,
            .first_limit = first + shape_.causal_offset + 1,
            .causal = shape_.causal,
            .mask_kind = shape_.mask,
            .mask = shape_.mask == AttentionMask::None
                        ? nullptr
                        : static_cast<const std::byte*>(head.mask) + mask_bytes,
            .mask_row_stride = shape_.mask_row_stride,
            .mask_column_stride = shape_.mask_column_stride,
            .grid_height = shape_.grid_height,
            .grid_width = shape_.grid_width,
            .down = relative,
            .across = relative + rows * shape_.grid_height,
            .output = output,
            .scores = scores};
  }

  const BFloat16Kernels& engine_;
  const AttentionShape& shape_;
  const std::span<const AttentionHead> heads_;
  const int64_t depth_, key_panels_, value_panels_, padded_keys_, key_size_, packed_size_;
};

}  // namespace

void attention_bfloat16(const BFloat16Kernels& engine, const AttentionShape& shape,
                        std::span<const AttentionHead> heads) {
  if (shape.queries > 0 && shape.value_dim > 0) BFloat16Attention(engine, shape, heads).run();
}

}  // namespace weft::kernels
