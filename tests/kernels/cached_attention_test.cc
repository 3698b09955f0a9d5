// Attention over a cache whose queries, keys and values may be rounded to bfloat16 (may_round), beside the
// one that does not round: on both sides of the number of tokens from which it does.
#include "kernels/cpu/cached_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/bfloat16_kernels.h"
#include "weft/parallel.h"
#include "weft/tensor.h"

namespace weft::kernels {
namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kDim = 24, kCapacity = 80;

struct Result {
  std::vector<float> output;
  std::vector<std::byte> keys, values;
};

struct CacheCase {
  DType cache;
  int64_t tokens, position;
  std::optional<int64_t> sliding_window;
};

Result run(const CacheCase& c, bool may_round) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto numbers = [&](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  };
  const std::vector<float> qkv = numbers(c.tokens * (kHeads + 2 * kKvHeads) * kDim);
  std::vector<float> rope;
  for (int64_t i = 0; i < kCapacity * kDim / 2; ++i) {
    const auto angle = static_cast<float>(i % 97);
    rope.push_back(std::cos(angle)), rope.push_back(std::sin(angle));
  }
  const Shape shape{kKvHeads, kCapacity, kDim};
  const Tensor keys = Tensor::of(numbers(kKvHeads * kCapacity * kDim), shape).to(c.cache),
               values = Tensor::of(numbers(kKvHeads * kCapacity * kDim), shape).to(c.cache);
  Result result{std::vector<float>(static_cast<size_t>(c.tokens * kHeads * kDim), -1.0f), {}, {}};
  attention_with_kv_cache({.qkv = qkv.data(),
                           .key_cache = keys.data(),
                           .value_cache = values.data(),
                           .dtype = c.cache,
                           .tokens = c.tokens,
                           .heads = kHeads,
                           .kv_heads = kKvHeads,
                           .head_dim = kDim,
                           .capacity = kCapacity,
                           .position = c.position,
                           .rule = {.rope = rope.data(),
                                    .scale = 0.2f,
                                    .sliding_window = c.sliding_window,
                                    .rope_interleaved = false,
                                    .rotary_dim = kDim},
                           .output = result.output.data(),
                           .may_round = may_round});
  for (const auto& [tensor, bytes] : {std::pair{&keys, &result.keys}, {&values, &result.values}}) {
    const auto* const from = static_cast<const std::byte*>(tensor->data());
    bytes->assign(from, from + tensor->numel() * itemsize(c.cache));
  }
  return result;
}

TEST(CachedAttention, RoundsManyTokensAndNotTheCache) {
  const int before = get_num_threads();
  for (const DType cache : {DType::F32, DType::F16, DType::BF16})
    for (const int64_t tokens : {1, 16, 17, 48, 49})
      for (const int64_t position : {0, 31})
        for (const std::optional<int64_t> window : {std::optional<int64_t>(), std::optional<int64_t>(9)}) {
          const CacheCase c{cache, tokens, position, window};
          SCOPED_TRACE(std::string(name(cache)) + ", tokens: " + std::to_string(tokens) + " after " +
                       std::to_string(position) + (window ? ", a window" : ""));
          const Result plain = run(c, false);
          for (const int threads : {1, 3}) {
            set_num_threads(threads);
            const Result rounded = run(c, true);
            EXPECT_EQ(rounded.keys, plain.keys);
            EXPECT_EQ(rounded.values, plain.values);
            if (tokens <= 16 || cache == DType::BF16 || !bfloat16_kernels()) {
              EXPECT_EQ(rounded.output, plain.output);
              continue;
            }
            // Scores of some units, each of whose products is rounded to 2^-8 twice; values below 5.
            for (size_t i = 0; i < plain.output.size(); ++i)
              ASSERT_NEAR(rounded.output[i], plain.output[i], 0.1) << i;
            EXPECT_NE(rounded.output, plain.output);
          }
        }
  set_num_threads(before);
}

}  // namespace
}  // namespace weft::kernels
