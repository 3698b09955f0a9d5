#include "kernels/cpu/paged_attention.h"

#include <algorithm>

#include "kernels/cpu/cached_elements.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

class PagedCall {
 public:
  explicit PagedCall(const PagedAttention& call)
      : call_(call),
        group_(call.heads / call.kv_heads),
        qkv_stride_((call.heads + 2 * call.kv_heads) * call.head_dim),
        row_(cached_row(call.dtype, call.head_dim)),
        page_stride_(call.page_positions * row_) {
    for (int64_t row = 0; row < call.row_count; ++row)
      most_positions_ = std::max(most_positions_, call.rows[row].position + 1);
  }

  // Every row's keys and values are written before any row reads those of rows before it in its text. Items
  // go head by head: rows of one text find its keys in the cache.
  void run() const {
    parallel_for_raw(0, call_.row_count, 8, write_rows, const_cast<PagedCall*>(this));
    parallel_for_raw(0, call_.row_count * call_.kv_heads, 1, attend_rows, const_cast<PagedCall*>(this));
  }

 private:
  static void write_rows(void* self, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) static_cast<const PagedCall*>(self)->write(row);
  }
  static void attend_rows(void* self, int64_t begin, int64_t end) {
    static_cast<const PagedCall*>(self)->attend(begin, end);
  }

  void write(int64_t row) const {
    thread_local Scratch scratch;
    float* const rotated = scratch.floats(call_.head_dim);
    const int64_t position = call_.rows[row].position;
    const int32_t page = call_.rows[row].pages[position / call_.page_positions];
    const AttentionRule rule = call_.rule.in_text(call_.rows[row].text);
    for (int64_t head = 0; head < call_.kv_heads; ++head) {
      const int64_t at =
          head * call_.pages * page_stride_ + page * page_stride_ + position % call_.page_positions * row_;
      rule.rotate_key(input(row, call_.heads + head), position, call_.head_dim, rotated);
      store_cached(call_.dtype, rotated, call_.head_dim, element(call_.key_cache, at));
      store_cached(call_.dtype, input(row, call_.heads + call_.kv_heads + head), call_.head_dim,
                   element(call_.value_cache, at));
    }
  }

  void attend(int64_t begin, int64_t end) const {
    thread_local Scratch scratch;
    const int64_t head_dim = call_.head_dim;
    // In steps, so that it does not grow from token to token.
    const int64_t positions = (most_positions_ + 1023) / 1024 * 1024;
    const bool has_slopes = call_.rule.slopes != nullptr;
    float* const queries = scratch.floats(group_ * ((has_slopes ? 2 : 1) * positions + head_dim));
    float* const scores = queries + group_ * head_dim;
    float* const slopes = has_slopes ? scores + group_ * positions : nullptr;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t head = item / call_.row_count, row = item % call_.row_count;
      const int64_t last = call_.rows[row].position, first = call_.rule.first_seen(last);
      const AttentionRule rule = call_.rule.in_text(call_.rows[row].text);
      for (int64_t q = 0; q < group_; ++q)
        rule.rotate_query(input(row, head * group_ + q), last, head_dim, queries + q * head_dim);
      for (int64_t q = 0; q < group_ && has_slopes; ++q)
        rule.add_slope(head * group_ + q, first, last, slopes + q * positions);
      const int64_t at = head * call_.pages * page_stride_;
      attend_cached(call_.dtype, {.queries = queries,
                                  .count = group_,
                                  .head_dim = head_dim,
                                  .keys = element(call_.key_cache, at),
                                  .values = element(call_.value_cache, at),
                                  .key_stride = row_,
                                  .value_stride = row_,
                                  .positions = last + 1 - first,
                                  .scale = call_.rule.scale,
                                  .bias = slopes,
                                  .scores = scores,
                                  .output = call_.output + (row * call_.heads + head * group_) * head_dim,
                                  .pages = call_.rows[row].pages,
                                  .page_positions = call_.page_positions,
                                  .page_stride = page_stride_,
                                  .first = first,
                                  .soft_cap = call_.rule.soft_cap,
                                  .sinks = call_.rule.sinks ? call_.rule.sinks + head * group_ : nullptr,
                                  .bias_stride = positions});
    }
  }

  const float* input(int64_t row, int64_t head) const {
    return call_.qkv + row * qkv_stride_ + head * call_.head_dim;
  }
  void* element(void* cache, int64_t index) const {
    return static_cast<char*>(cache) + index * itemsize(call_.dtype);
  }

  const PagedAttention& call_;
  const int64_t group_, qkv_stride_, row_, page_stride_;
  int64_t most_positions_ = 0;
};

}  // namespace

void attention_over_pages(const PagedAttention& call) { PagedCall(call).run(); }

}  // namespace weft::kernels
