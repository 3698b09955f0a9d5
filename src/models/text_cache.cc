#include "models/text_cache.h"

#include "kernels/cpu/cached_attention.h"

namespace weft::models {

void TextCache::attend(size_t layer, const Tensor& qkv, const Tensor& output) const {
  const Tensor &keys = keys_[layer], &values = values_[layer];
  const int64_t dim = model_.config().head_dim, kv_heads = keys.size(0);
  kernels::attention_with_kv_cache({.qkv = qkv.data_as<float>(),
                                    .key_cache = keys.data(),
                                    .value_cache = values.data(),
                                    .dtype = keys.dtype(),
                                    .tokens = count_,
                                    .heads = qkv.size(1) / dim - 2 * kv_heads,
                                    .kv_heads = kv_heads,
                                    .head_dim = dim,
                                    .capacity = keys.size(1),
                                    .position = position_,
                                    .rule = model_.attention_rule(layer).in_text(text_),
                                    .output = output.data_as<float>(),
                                    .may_round = model_.rounds_attention()});
}

void* TextCache::convolved(size_t layer, int64_t, int64_t position) const {
  const Tensor& keys = keys_[layer];
  return static_cast<char*>(keys.data()) + position * keys.size(2) * itemsize(keys.dtype());
}

}  // namespace weft::models
