#include "kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/rounding.h"
#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/levels.h"
#include "weft/parallel.h"
#include "weft/tensor.h"

namespace weft::kernels {
namespace {

struct AttentionScratch {
  explicit AttentionScratch(int64_t count)
      : storage(Storage::allocate(static_cast<size_t>(count) * sizeof(float))) {}
  float* data() const { return static_cast<float*>(storage->data()); }
  std::shared_ptr<Storage> storage;
};

// Keys [first, first + panel), transposed: out[d][key]. Those past the end are zeros.
template <class T>
void pack_keys(const T* keys, int64_t stride, int64_t first, int64_t count, int64_t head_dim, int64_t panel,
               float* out) {
  const int64_t present = std::min(panel, count - first);
  for (int64_t j = 0; j < panel; ++j) {
    const T* key = keys + (first + j) * stride;
    for (int64_t d = 0; d < head_dim; ++d)
      out[d * panel + j] = j < present ? static_cast<float>(key[d]) : 0.0f;
  }
}

// Columns [column, column + panel) of values [first, first + rows).
template <class T>
void pack_values(const T* values, int64_t stride, int64_t first, int64_t rows, int64_t count, int64_t column,
                 int64_t value_dim, int64_t panel, float* out) {
  const int64_t present = std::min(panel, value_dim - column);
  for (int64_t j = 0; j < rows; ++j, out += panel) {
    const int64_t taken = first + j < count ? present : 0;
    const T* value = values + (first + j) * stride + column;
    for (int64_t d = 0; d < taken; ++d) out[d] = static_cast<float>(value[d]);
    std::fill(out + taken, out + panel, 0.0f);
  }
}

template <class T>
class Attention {
 public:
  Attention(const AttentionShape& shape, std::span<const AttentionHead> heads)
      : shape_(shape),
        heads_(heads),
        kernels_(attention_kernels()),
        key_panels_(ceil_div(shape.keys, kernels_.panel)),
        value_panels_(ceil_div(shape.value_dim, kernels_.panel)),
        padded_keys_(key_panels_ * kernels_.panel),
        key_size_(padded_keys_ * shape.head_dim),
        value_size_(padded_keys_ * value_panels_ * kernels_.panel) {}

  void run() {
    const int64_t bytes = (key_size_ + value_size_) * static_cast<int64_t>(sizeof(float));
    const int64_t kept =
        std::max<int64_t>(get_num_threads(), kPackedAttentionBytes / std::max<int64_t>(bytes, 1));
    for (size_t begin = 0; begin < heads_.size();) {
      const AttentionGroup group(heads_, begin, kept);
      const AttentionScratch packed((key_size_ + value_size_) * static_cast<int64_t>(group.sources.size()));
      pack(group, packed.data());
      attend(group, packed.data());
      begin = group.end;
    }
  }

 private:
  void pack(const AttentionGroup& group, float* packed) const {
    const int64_t panel = kernels_.panel,
                  grain = std::max<int64_t>(
                      1, 16384 / std::max<int64_t>(1, panel * (shape_.head_dim + shape_.value_dim)));
    parallel_for(0, static_cast<int64_t>(group.sources.size()) * key_panels_, grain,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t task = begin; task < end; ++task) {
                     const int64_t source = task / key_panels_, first = task % key_panels_ * panel;
                     const AttentionHead& head = heads_[group.sources[static_cast<size_t>(source)]];
                     float* keys = packed + source * (key_size_ + value_size_);
                     pack_keys(static_cast<const T*>(head.key), shape_.key_stride, first, shape_.keys,
                               shape_.head_dim, panel, keys + first * shape_.head_dim);
                     for (int64_t p = 0; p < value_panels_; ++p) {
                       pack_values(static_cast<const T*>(head.value), shape_.value_stride, first, panel,
                                   shape_.keys, p * panel, shape_.value_dim, panel,
                                   keys + key_size_ + (p * padded_keys_ + first) * panel);
                     }
                   }
                 });
  }

  void attend(const AttentionGroup& group, const float* packed) const {
    const int64_t blocks = ceil_div(shape_.queries, kAttentionRows);
    parallel_for(
        0, static_cast<int64_t>(group.end - group.begin) * blocks, 1, [&](int64_t begin, int64_t end) {
          const int64_t width = value_panels_ * kernels_.panel;
          const AttentionScratch scratch(kAttentionRows *
                                         (shape_.head_dim + kAttentionKeys + width + shape_.relative_size()));
          for (int64_t task = begin; task < end; ++task) {
            const int64_t index = task / blocks;
            const float* keys =
                packed + group.source_of[static_cast<size_t>(index)] * (key_size_ + value_size_);
            attend_block(heads_[group.begin + static_cast<size_t>(index)], task % blocks * kAttentionRows,
                         keys, scratch.data());
          }
        });
  }

  void attend_block(const AttentionHead& head, int64_t first, const float* keys, float* scratch) const {
    const int64_t rows = std::min(kAttentionRows, shape_.queries - first),
                  width = value_panels_ * kernels_.panel;
    float* output = scratch + kAttentionRows * kAttentionKeys;
    float* query = output + kAttentionRows * width;
    float* relative = query + kAttentionRows * shape_.head_dim;
    pack_query(static_cast<const T*>(head.query) + first * shape_.query_stride, rows, query);
    if (shape_.grid_width > 0) pack_relative<T>(shape_, head, first, rows, relative);
    const int64_t mask_bytes =
        first * shape_.mask_row_stride * (shape_.mask == AttentionMask::Additive ? 4 : 1);
    kernels_.block({.query = query,
                    .keys = keys,
                    .values = keys + key_size_,
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
                    .scores = scratch});
    T* target = static_cast<T*>(head.output) + first * shape_.output_stride;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t d = 0; d < shape_.value_dim; ++d)
        target[i * shape_.output_stride + d] = static_cast<T>(output[i * width + d]);
    }
  }

  // [tiles][head_dim][kAttentionTile]
  void pack_query(const T* query, int64_t rows, float* out) const {
    const float scale = shape_.scale * static_cast<float>(M_LOG2E);
    for (int64_t i = 0; i < rows; ++i) {
      float* to = out + i / kAttentionTile * kAttentionTile * shape_.head_dim + i % kAttentionTile;
      for (int64_t d = 0; d < shape_.head_dim; ++d)
        to[d * kAttentionTile] = static_cast<float>(query[i * shape_.query_stride + d]) * scale;
    }
  }

  const AttentionShape& shape_;
  const std::span<const AttentionHead> heads_;
  const AttentionKernels& kernels_;
  const int64_t key_panels_, value_panels_, padded_keys_, key_size_, value_size_;
};

}  // namespace

const AttentionKernels& attention_kernels() {
  static const AttentionKernels& kernels = *best_kernels(&KernelLevel::attention);
  return kernels;
}

void attention(const AttentionShape& shape, std::span<const AttentionHead> heads) {
  if (shape.queries == 0 || shape.value_dim == 0) return;
  if (attends_where_they_lie(shape, heads)) return attention_where_they_lie(shape, heads);
  switch (shape.dtype) {
    case DType::F16: return Attention<Half>(shape, heads).run();
    case DType::BF16:
      if (const BFloat16Kernels* engine = bfloat16_kernels())
        return attention_bfloat16(*engine, shape, heads);
      return Attention<BFloat16>(shape, heads).run();
    default: return Attention<float>(shape, heads).run();
  }
}

}  // namespace weft::kernels
