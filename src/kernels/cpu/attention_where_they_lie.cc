// Attention of few queries: nothing is packed, since each key and value is used only a few times.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/cached_attention_kernels.h"
#include "kernels/cpu/mask_units.inc"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// Queries that are taken at once, and those up to which packing does not pay: of bfloat16, where an engine
// takes the products, sooner.
constexpr int64_t kTogether = 4, kFewQueries = 16, kFewForEngine = 4;

// The keys that a query sees lie in [first, end), all of them if `bias` is null.
struct Seen {
  int64_t first, end;
  const float* bias;  // of the keys from `first` on
};

template <class T>
class FewQueries {
 public:
  FewQueries(const AttentionShape& shape, std::span<const AttentionHead> heads)
      : shape_(shape), heads_(heads), kernels_(cached_attention_kernels()) {
    const AttentionGroup group(heads, 0, std::numeric_limits<int64_t>::max());
    int64_t num_rows = 0;
    for (size_t head = 0; head < heads.size(); ++head) {
      if (head == 0 || group.source_of[head] != group.source_of[head - 1]) num_rows = 0;
      for (int64_t query = 0; query < shape.queries; ++query, ++num_rows) {
        if (num_rows % kTogether == 0) tasks_.emplace_back();
        tasks_.back().push_back({head, query});
      }
    }
  }

  void run() const {
    parallel_for(0, static_cast<int64_t>(tasks_.size()), 1, [&](int64_t begin, int64_t end) {
      thread_local Scratch scratch;
      const int64_t head_dim = shape_.head_dim;
      float* const queries = scratch.floats(kTogether * (2 * head_dim + shape_.keys) + shape_.keys);
      float *output = queries + kTogether * head_dim, *scores = output + kTogether * head_dim,
            *bias = scores + kTogether * shape_.keys;
      for (int64_t task = begin; task < end; ++task) {
        const std::span<const Row> rows = tasks_[static_cast<size_t>(task)];
        for (size_t first = 0; first < rows.size();) {
          const Seen seen = seen_by(rows[first], bias);
          size_t last = first + 1;
          while (last < rows.size() && sees_the_same(rows[first], rows[last])) ++last;
          attend(rows.subspan(first, last - first), seen, queries, scores, output);
          first = last;
        }
      }
    });
  }

 private:
  struct Row {
    size_t head;
    int64_t query;
  };
  const AttentionShape& shape_;
  const std::span<const AttentionHead> heads_;
  const CachedAttentionKernels& kernels_;
  std::vector<std::vector<Row>> tasks_;  // with the same keys and values

  const std::byte* mask_of(const Row& row) const {
    const int64_t size = shape_.mask == AttentionMask::Additive ? 4 : 1;
    return static_cast<const std::byte*>(heads_[row.head].mask) + row.query * shape_.mask_row_stride * size;
  }
  bool sees_the_same(const Row& a, const Row& b) const {
    return (!shape_.causal || a.query == b.query) &&
           (shape_.mask == AttentionMask::None || mask_of(a) == mask_of(b));
  }

  Seen seen_by(const Row& row, float* bias) const {
    Seen seen{0, shape_.keys, nullptr};
    if (shape_.causal) seen.end = std::clamp<int64_t>(row.query + shape_.causal_offset + 1, 0, shape_.keys);
    if (shape_.mask == AttentionMask::Bool) {
      const auto* mask = reinterpret_cast<const uint8_t*>(mask_of(row));
      cut(
          seen, bias, [](uint8_t value) { return value ? 0.0f : -std::numeric_limits<float>::infinity(); },
          mask);
    } else if (shape_.mask == AttentionMask::Additive) {
      const auto* mask = reinterpret_cast<const float*>(mask_of(row));
      cut(seen, bias, [](float value) { return in_units_of_log2(value); }, mask);
    }
    return seen;
  }
  // Without the keys at both ends that are not seen.
  template <class F, class Value>
  void cut(Seen& seen, float* bias, F&& in_units, const Value* mask) const {
    const int64_t stride = shape_.mask_column_stride;
    const auto at = [&](int64_t key) { return in_units(mask[key * stride]); };
    const auto is_seen = [&](int64_t key) { return at(key) != -std::numeric_limits<float>::infinity(); };
    while (seen.end > seen.first && !is_seen(seen.end - 1)) --seen.end;
    while (seen.first < seen.end && !is_seen(seen.first)) ++seen.first;
    bool is_plain = true;
    for (int64_t key = seen.first; key < seen.end; ++key) {
      bias[key - seen.first] = at(key);
      is_plain = is_plain && bias[key - seen.first] == 0;
    }
    if (!is_plain) seen.bias = bias;
  }

  auto kernel() const {
    if constexpr (std::is_same_v<T, float>) return kernels_.attend_f32;
    if constexpr (std::is_same_v<T, Half>) return kernels_.attend_f16;
    if constexpr (std::is_same_v<T, BFloat16>) return kernels_.attend_bf16;
  }

  // Rows of one set of keys, values and mask.
  void attend(std::span<const Row> rows, const Seen& seen, float* queries, float* scores,
              float* output) const {
    const int64_t head_dim = shape_.head_dim;
    const AttentionHead& head = heads_[rows[0].head];
    for (size_t i = 0; i < rows.size(); ++i) {
      const T* query =
          static_cast<const T*>(heads_[rows[i].head].query) + rows[i].query * shape_.query_stride;
      for (int64_t d = 0; d < head_dim; ++d)
        queries[static_cast<int64_t>(i) * head_dim + d] = static_cast<float>(query[d]);
    }
    if (seen.end <= seen.first)
      std::fill_n(output, static_cast<int64_t>(rows.size()) * head_dim, 0.0f);
    else
      kernel()({.queries = queries,
                .count = static_cast<int64_t>(rows.size()),
                .head_dim = head_dim,
                .keys = static_cast<const T*>(head.key) + seen.first * shape_.key_stride,
                .values = static_cast<const T*>(head.value) + seen.first * shape_.value_stride,
                .key_stride = shape_.key_stride,
                .value_stride = shape_.value_stride,
                .positions = seen.end - seen.first,
                .scale = shape_.scale,
                .bias = seen.bias,
                .scores = scores,
                .output = output});
    for (size_t i = 0; i < rows.size(); ++i) {
      T* to = static_cast<T*>(heads_[rows[i].head].output) + rows[i].query * shape_.output_stride;
      for (int64_t d = 0; d < head_dim; ++d)
        to[d] = static_cast<T>(output[static_cast<int64_t>(i) * head_dim + d]);
    }
  }
};

}  // namespace

bool attends_where_they_lie(const AttentionShape& shape, std::span<const AttentionHead> heads) {
  const bool has_engine = shape.dtype == DType::BF16 && bfloat16_kernels() != nullptr;
  const int64_t few = has_engine ? kFewForEngine : kFewQueries;
  if (shape.grid_width > 0 || shape.head_dim != shape.value_dim || shape.queries > few) return false;
  // Heads with the same keys and values follow one another.
  int64_t rows = 0, most = 0;
  for (size_t head = 0; head < heads.size(); ++head) {
    if (head > 0 && (heads[head].key != heads[head - 1].key || heads[head].value != heads[head - 1].value))
      rows = 0;
    most = std::max(most, rows += shape.queries);
  }
  return most <= few;
}

void attention_where_they_lie(const AttentionShape& shape, std::span<const AttentionHead> heads) {
  switch (shape.dtype) {
    case DType::F16: return FewQueries<Half>(shape, heads).run();
    case DType::BF16: return FewQueries<BFloat16>(shape, heads).run();
    default: return FewQueries<float>(shape, heads).run();
  }
}

}  // namespace weft::kernels
