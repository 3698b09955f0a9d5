#include "kernels/cpu/cached_attention.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/bfloat16_kernels.h"
#include "kernels/cpu/cached_attention_kernels.h"
#include "kernels/cpu/cached_elements.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/scratch.h"
#include "weft/parallel.h"
#include "weft/tensor.h"

namespace weft::kernels {
namespace {

// More tokens than this are attended block by block, with packed keys.
constexpr int64_t kFewTokens = 16;

// What the heads' caches hold, in another dtype: [heads][numbers].
class CopiedCache {
 public:
  CopiedCache(int64_t heads, int64_t numbers, DType dtype)
      : bytes_(numbers * itemsize(dtype)),
        storage_(heads > 0 ? Storage::allocate(static_cast<size_t>(heads * bytes_)) : nullptr) {}
  char* of(int64_t head) const { return static_cast<char*>(storage_->data()) + head * bytes_; }

 private:
  int64_t bytes_;
  std::shared_ptr<Storage> storage_;
};

class Call {
 public:
  explicit Call(const CachedAttention& call)
      : call_(call),
        group_(call.heads / call.kv_heads),
        row_((call.heads + 2 * call.kv_heads) * call.head_dim),
        cached_row_(cached_row(call.dtype, call.head_dim)) {}

  void run() {
    if (call_.tokens == 0) return;
    // Packed keys have plain scores only.
    if (call_.tokens <= kFewTokens || !call_.rule.has_plain_scores())
      few_tokens();
    else
      many_tokens();
  }

 private:
  void few_tokens() const {
    const int64_t head_dim = call_.head_dim;
    parallel_for(0, call_.kv_heads, 1, [&](int64_t from, int64_t to) {
      thread_local Scratch scratch;  // for the whole cache: it does not grow from token to token
      const bool has_slopes = call_.rule.slopes != nullptr;
      float* const rotated =
          scratch.floats(group_ * ((has_slopes ? 2 : 1) * call_.capacity + 2 * head_dim) + head_dim);
      float *queries = rotated + head_dim, *output = queries + group_ * head_dim,
            *scores = output + group_ * head_dim,
            *slopes = has_slopes ? scores + group_ * call_.capacity : nullptr;
      for (int64_t head = from; head < to; ++head) {
        for (int64_t token = 0; token < call_.tokens; ++token) write(head, token, rotated);
        for (int64_t token = 0; token < call_.tokens; ++token) {
          const int64_t last = call_.position + token, first = call_.rule.first_seen(last);
          for (int64_t q = 0; q < group_; ++q)
            call_.rule.rotate_query(query(head * group_ + q, token), last, head_dim, queries + q * head_dim);
          for (int64_t q = 0; q < group_ && has_slopes; ++q)
            call_.rule.add_slope(head * group_ + q, first, last, slopes + q * call_.capacity);
          attend_cached(call_.dtype, {.queries = queries,
                                      .count = group_,
                                      .head_dim = head_dim,
                                      .keys = cache(call_.key_cache, head, first),
                                      .values = cache(call_.value_cache, head, first),
                                      .key_stride = cached_row_,
                                      .value_stride = cached_row_,
                                      .positions = last + 1 - first,
                                      .scale = call_.rule.scale,
                                      .bias = slopes,
                                      .scores = scores,
                                      .output = output,
                                      .soft_cap = call_.rule.soft_cap,
                                      .sinks = call_.rule.sinks ? call_.rule.sinks + head * group_ : nullptr,
                                      .bias_stride = call_.capacity});
          std::copy_n(output, group_ * head_dim,
                      call_.output + (token * call_.heads + head * group_) * head_dim);
        }
      }
    });
  }

  void many_tokens() const {
    // Blocks of keys are packed from floating numbers.
    const DType dtype = call_.may_round && bfloat16_kernels() ? DType::BF16
                        : call_.dtype == DType::I8            ? DType::F32
                                                              : call_.dtype;
    const int64_t head_dim = call_.head_dim, tokens = call_.tokens, item = itemsize(dtype),
                  end = call_.position + tokens;
    const auto queries = Storage::allocate(static_cast<size_t>(call_.heads * tokens * head_dim * item));
    const auto output = Storage::allocate(static_cast<size_t>(call_.heads * tokens * head_dim * item));
    const auto at = [&](const std::shared_ptr<Storage>& storage, int64_t head) {
      return static_cast<char*>(storage->data()) + head * tokens * head_dim * item;
    };
    parallel_for(0, call_.heads, 1, [&](int64_t from, int64_t to) {
      std::vector<float> rotated(static_cast<size_t>(head_dim));
      for (int64_t head = from; head < to; ++head) {
        for (int64_t token = 0; token < tokens; ++token) {
          call_.rule.rotate_query(query(head, token), call_.position + token, head_dim, rotated.data());
          store_cached(dtype, rotated.data(), head_dim, at(queries, head) + token * head_dim * item);
          if (head % group_ == 0) write(head / group_, token, rotated.data());
        }
      }
    });
    const bool is_copied = dtype != call_.dtype;
    const CopiedCache copied_keys(is_copied ? call_.kv_heads : 0, end * head_dim, dtype),
        copied_values(is_copied ? call_.kv_heads : 0, end * head_dim, dtype);
    if (is_copied) {
      parallel_for(0, call_.kv_heads, 1, [&](int64_t from, int64_t to) {
        for (int64_t head = from; head < to; ++head) {
          copy(cache(call_.key_cache, head, 0), end, dtype, copied_keys.of(head));
          copy(cache(call_.value_cache, head, 0), end, dtype, copied_values.of(head));
        }
      });
    }
    AttentionShape shape{.dtype = dtype,
                         .queries = tokens,
                         .keys = end,
                         .head_dim = head_dim,
                         .value_dim = head_dim,
                         .query_stride = head_dim,
                         .key_stride = head_dim,
                         .value_stride = head_dim,
                         .output_stride = head_dim,
                         .scale = call_.rule.scale,
                         .causal = true,
                         .causal_offset = call_.position};
    std::vector<uint8_t> mask;
    if (call_.rule.first_seen(end - 1) > 0) {
      mask.resize(static_cast<size_t>(tokens * end));
      for (int64_t token = 0; token < tokens; ++token) {
        const int64_t last = call_.position + token;
        std::fill(mask.begin() + token * end + call_.rule.first_seen(last),
                  mask.begin() + token * end + last + 1, uint8_t{1});
      }
      shape.causal = false;
      shape.mask = AttentionMask::Bool;
      shape.mask_row_stride = end;
      shape.mask_column_stride = 1;
    }
    std::vector<AttentionHead> heads;
    for (int64_t head = 0; head < call_.heads; ++head) {
      const int64_t source = head / group_;
      const void *keys = cache(call_.key_cache, source, 0), *values = cache(call_.value_cache, source, 0);
      if (is_copied) keys = copied_keys.of(source), values = copied_values.of(source);
      heads.push_back(
          {at(queries, head), keys, values, mask.empty() ? nullptr : mask.data(), at(output, head)});
    }
    attention(shape, heads);
    parallel_for(0, tokens, 8, [&](int64_t from, int64_t to) {
      for (int64_t token = from; token < to; ++token)
        for (int64_t head = 0; head < call_.heads; ++head)
          load_cached(dtype, at(output, head) + token * head_dim * item, head_dim,
                      call_.output + (token * call_.heads + head) * head_dim);
    });
  }

  const float* query(int64_t head, int64_t token) const {
    return call_.qkv + token * row_ + head * call_.head_dim;
  }
  char* cache(void* base, int64_t head, int64_t position) const {
    return static_cast<char*>(base) +
           (head * call_.capacity + position) * cached_row_ * itemsize(call_.dtype);
  }
  // rotated: room for one head.
  void write(int64_t head, int64_t token, float* rotated) const {
    call_.rule.rotate_key(query(call_.heads + head, token), call_.position + token, call_.head_dim, rotated);
    store(rotated, cache(call_.key_cache, head, call_.position + token));
    store(query(call_.heads + call_.kv_heads + head, token),
          cache(call_.value_cache, head, call_.position + token));
  }
  void store(const float* from, void* to) const { store_cached(call_.dtype, from, call_.head_dim, to); }
  void copy(const char* from, int64_t positions, DType dtype, char* to) const {
    const int64_t numbers = call_.head_dim;
    std::vector<float> row(static_cast<size_t>(numbers));
    for (int64_t position = 0; position < positions; ++position) {
      load_cached(call_.dtype, from + position * cached_row_ * itemsize(call_.dtype), numbers, row.data());
      store_cached(dtype, row.data(), numbers, to + position * numbers * itemsize(dtype));
    }
  }

  const CachedAttention& call_;
  int64_t group_, row_, cached_row_;
};

}  // namespace

const CachedAttentionKernels& cached_attention_kernels() {
  static const CachedAttentionKernels& kernels = *best_kernels(&KernelLevel::cached_attention);
  return kernels;
}

void attention_with_kv_cache(const CachedAttention& call) { Call(call).run(); }

}  // namespace weft::kernels
