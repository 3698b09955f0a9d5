// A cache of int8: how far its rows are from what was stored, and which models refuse it.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/cached_elements.h"
#include "models/paged_batch.h"
#include "models/support.h"
#include "weft/models/causal_model.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;

std::vector<float> stored_and_loaded(const std::vector<float>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<int8_t> row(static_cast<size_t>(kernels::cached_row(DType::I8, count)));
  kernels::store_cached(DType::I8, numbers.data(), count, row.data());
  std::vector<float> loaded(numbers.size());
  kernels::load_cached(DType::I8, row.data(), count, loaded.data());
  return loaded;
}

float largest_of(std::span<const float> numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

TEST(Int8Cache, RowsAreNear) {
  for (const float size : {1e-20f, 1e-3f, 1.0f, 3e30f})
    for (const size_t count : {2U, 15U, 64U}) {
      std::vector<float> numbers;
      for (size_t i = 0; i < count; ++i)
        numbers.push_back(size * std::sin(static_cast<float>(3 * i + count)));
      const std::vector<float> loaded = stored_and_loaded(numbers);
      const float most = largest_of(numbers) / 254 * 1.0001f;
      for (size_t i = 0; i < count; ++i) EXPECT_NEAR(loaded[i], numbers[i], most) << size << ' ' << i;
    }
  EXPECT_EQ(stored_and_loaded({0, 0, 0}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(stored_and_loaded({1e-38f, -1e-39f}), (std::vector<float>{0, 0}));
  EXPECT_EQ(stored_and_loaded({127, -127, 63, -1}), (std::vector<float>{127, -127, 63, -1}));
  for (const float broken : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const float number : stored_and_loaded({1, broken, 2})) EXPECT_TRUE(std::isnan(number));
}

// What a layer's cache holds of the same text, in both dtypes.
TEST(Int8Cache, HoldsWhatAFloatCacheHolds) {
  for (const char* type : {"llama", "mistral", "qwen2"})
    for (const Execution execution : {Execution::Eager, Execution::Static, Execution::Compiled}) {
      const auto make = [&](const char* dtype) {
        return CausalModel::random(small_config(type), {.dtype = "float32", .cache_dtype = dtype}, 3);
      };
      const auto exact = make("float32"), rounded = make("int8");
      std::vector<int64_t> tokens;
      for (int64_t i = 0; i < 40; ++i) tokens.push_back((i * 37 + 5) % 96);
      KVCache kept = exact->make_cache(), rows = rounded->make_cache();
      double squares = 0, differences = 0;
      const std::span<const int64_t> all(tokens);
      for (const auto& part : {all.first(20), all.subspan(20, 3), all.subspan(23, 16), all.subspan(39)}) {
        const Tensor expected = exact->forward(part, kept, true, execution).clone();
        const Tensor logits = rounded->forward(part, rows, true, execution);
        for (int64_t i = 0; i < logits.numel(); ++i) {
          const double wanted = expected.data_as<float>()[i];
          squares += wanted * wanted;
          differences += std::pow(logits.data_as<float>()[i] - wanted, 2);
        }
      }
      EXPECT_LT(std::sqrt(differences / squares), 0.02) << type;
      EXPECT_GT(differences, 0);
      const int64_t dim = exact->config().head_dim, capacity = rows.keys[0].size(1);
      ASSERT_EQ(rows.keys[0].size(2), dim + 4);
      std::vector<float> loaded(static_cast<size_t>(dim));
      for (const auto& [own, floats] :
           {std::pair{&rows.keys[0], &kept.keys[0]}, {&rows.values[0], &kept.values[0]}})
        for (int64_t head = 0; head < own->size(0); ++head)
          for (int64_t position = 0; position < 40; ++position) {
            kernels::load_cached(DType::I8, own->data_as<int8_t>() + (head * capacity + position) * (dim + 4),
                                 dim, loaded.data());
            const std::span<const float> wanted(
                floats->data_as<float>() + (head * floats->size(1) + position) * dim,
                static_cast<size_t>(dim));
            for (size_t i = 0; i < loaded.size(); ++i)
              ASSERT_NEAR(loaded[i], wanted[i], largest_of(wanted) / 254 * 1.001f) << type << ' ' << position;
          }
    }
}

TEST(Int8Cache, BytesOfAToken) {
  const DecoderConfig config = small_config("llama");
  const auto bytes = [&](const char* dtype) {
    return PagedBatch::cache_bytes_per_token(
        *CausalModel::random(config, {.dtype = "float32", .cache_dtype = dtype}));
  };
  const int64_t rows = 2 * config.num_layers * config.num_kv_heads;
  EXPECT_EQ(bytes("int8"), rows * (config.head_dim + 4));
  EXPECT_EQ(bytes("bfloat16"), rows * 2 * config.head_dim);
}

TEST(Int8Cache, RefusesWhatItIsNotFor) {
  DecoderConfig config = small_config("llama");
  config.layers.assign(static_cast<size_t>(config.num_layers), {});
  config.layers[1].is_convolution = true;
  config.convolution_size = 3;
  EXPECT_THAT(error_of([&] { CausalModel::random(config, {.dtype = "float32", .cache_dtype = "int8"}); }),
              HasSubstr("cache_dtype int8 is for keys and values, and layer 1 is a convolution"));
  const auto exact = CausalModel::random(small_config("llama"), {.dtype = "float32"}),
             rounded =
                 CausalModel::random(small_config("llama"), {.dtype = "float32", .cache_dtype = "int8"});
  const std::vector<int64_t> tokens = {1, 2};
  KVCache other = exact->make_cache(), own = rounded->make_cache();
  EXPECT_THAT(error_of([&] { rounded->forward(tokens, other); }), HasSubstr("another model's"));
  EXPECT_THAT(error_of([&] { exact->forward(tokens, own); }), HasSubstr("another model's"));
}

}  // namespace
}  // namespace weft::models
