// What families have that others have not: every execution computes the same, of weights that mean nothing.
#include <gmock/gmock.h>

#include "models/paged_batch.h"
#include "models/support.h"
#include "weft/models/causal_model.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

struct Case {
  const char* name;
  const char* fields;  // beside the sizes
};
constexpr Case kCases[] = {
    {"llama", ""},
    {"gemma3_text", R"("head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 20)"},
    {"gemma2", R"("head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 20)"},
    {"starcoder2", R"("sliding_window": 5)"},
    {"cohere", R"("use_qk_norm": true)"},
    {"cohere2", R"("sliding_window": 5)"},
    {"olmo3", R"("sliding_window": 5)"},
    {"glm4", R"("attention_bias": true)"},
    {"nemotron", R"("attention_bias": true, "mlp_bias": true)"},
    {"gpt_neox", R"("use_parallel_residual": true)"},
    {"qwen3",
     R"("rope_parameters": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 8})"},
    {"phi3",
     R"("rope_scaling": {"rope_type": "longrope", "short_factor": [1, 2, 3, 4], "long_factor": [2, 3, 4, 5]},
                "original_max_position_embeddings": 8)"},
    {"qwen2_moe", R"("num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                     "shared_expert_intermediate_size": 48, "decoder_sparse_step": 2)"},
    {"gpt_oss", R"("num_local_experts": 4, "num_experts_per_tok": 3, "sliding_window": 5)"},
    {"llama4_text",
     R"("num_local_experts": 4, "num_experts_per_tok": 2, "attention_chunk_size": 5, "floor_scale": 3,
                       "intermediate_size_mlp": 80, "interleave_moe_layer_step": 2)"},
    {"deepseek_v3", R"("q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
                       "v_head_dim": 12, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 4,
                       "topk_group": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1)"},
    {"lfm2", R"("layer_types": ["conv", "full_attention", "conv", "full_attention"], "conv_bias": true)"},
    {"arcee", R"("mlp_bias": true)"},
    {"helium", R"("head_dim": 16)"},
    {"cwm", R"("head_dim": 16, "sliding_window": 5)"},
    {"seed_oss", R"("head_dim": 16)"},
    {"internlm3", R"("qkv_bias": true, "bias": true,
                     "rope_scaling": {"rope_type": "dynamic", "factor": 6.0})"},
    {"ministral3", R"("rope_parameters": {"rope_type": "yarn", "factor": 4, "llama_4_scaling_beta": 0.3,
                      "original_max_position_embeddings": 8})"},
    {"exaone4", R"("sliding_window": 5)"},
    {"hunyuan_v1_dense", R"("rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 50.0})"},
    {"phimoe", R"("num_local_experts": 4, "num_experts_per_tok": 2, "attention_bias": true,
                  "original_max_position_embeddings": 64,
                  "rope_scaling": {"type": "longrope", "short_factor": [1, 2, 3, 4], "long_factor": [2, 3, 4, 5],
                                   "short_mscale": 1.2, "long_mscale": 1.3}, "lm_head_bias": true)"},
    {"deepseek_v2", R"("kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12,
                       "n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2,
                       "topk_method": "group_limited_greedy", "routed_scaling_factor": 1.5,
                       "moe_intermediate_size": 32, "first_k_dense_replace": 1)"},
    {"dots1", R"("n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)"},
    {"glm4_moe", R"("n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                    "use_qk_norm": true, "attention_bias": true)"},
    {"ernie4_5_moe", R"("moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 32)"},
    {"granitemoe", R"("num_local_experts": 4, "num_experts_per_tok": 2, "residual_multiplier": 0.5)"},
    {"granitemoeshared",
     R"("num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 48)"},
    {"minimax_m2", R"("num_local_experts": 4, "num_experts_per_tok": 2, "rotary_dim": 4)"},
    {"flex_olmo", R"("num_experts": 4, "num_experts_per_tok": 2)"},
    {"vaultgemma", R"("head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 20)"},
    {"lfm2_moe", R"("layer_types": ["conv", "full_attention", "conv", "full_attention"], "num_experts": 4,
                    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_dense_layers": 1)"},
    {"olmo", R"("clip_qkv": 0.05)"},
    {"olmoe", R"("num_experts": 4, "num_experts_per_tok": 2, "clip_qkv": 0.05)"},
    {"phi", R"("qk_layernorm": true)"},
    {"stablelm", R"("qk_layernorm": true, "use_parallel_residual": true)"},
    {"persimmon", R"("partial_rotary_factor": 0.5)"},
    {"apertus", R"("hidden_act": "xielu")"},
    {"qwen3_5_text", R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
                        "linear_value_head_dim": 16)"},
    {"qwen3_next", R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
                      "linear_value_head_dim": 8, "full_attention_interval": 2, "num_experts": 4,
                      "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                      "shared_expert_intermediate_size": 24)"},
};

// Of families that call sizes otherwise.
constexpr Case kOtherSizes[] = {
    {"gpt_neo",
     R"("vocab_size": 96, "hidden_size": 64, "num_layers": 4, "num_heads": 8, "intermediate_size": 96,
                   "max_position_embeddings": 64, "window_size": 5,
                   "attention_types": [[["global", "local"], 2]])"},
    {"gptj",
     R"("vocab_size": 96, "n_embd": 64, "n_layer": 4, "n_head": 8, "n_positions": 64, "rotary_dim": 4)"},
    {"codegen",
     R"("vocab_size": 96, "n_embd": 64, "n_layer": 4, "n_head": 8, "n_positions": 64, "rotary_dim": 4)"},
    {"gpt_bigcode", R"("vocab_size": 96, "n_embd": 64, "n_layer": 4, "n_head": 8, "n_positions": 64)"},
    {"falcon", R"("vocab_size": 96, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8,
                  "max_position_embeddings": 64, "alibi": true, "new_decoder_architecture": true,
                  "num_kv_heads": 4)"},
    {"bloom", R"("vocab_size": 96, "hidden_size": 64, "n_layer": 4, "n_head": 8, "seq_length": 64)"},
    {"mpt", R"("vocab_size": 96, "d_model": 48, "n_layers": 4, "n_heads": 6, "max_seq_len": 64,
               "attn_config": {"clip_qkv": 0.5, "softmax_scale": 0.3})"},
    {"opt", R"("vocab_size": 96, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8,
               "ffn_dim": 96, "max_position_embeddings": 64)"},
};

DecoderConfig config_of(const Case& family) {
  const Folder folder;
  const std::string fields = family.fields;
  if (fields.starts_with("\"vocab_size"))
    return read_config_json(folder.write(
        "config.json", R"({"model_type": ")" + std::string(family.name) + "\", " + fields + "}"));
  return read_config_json(
      folder.write("config.json",
                   R"({"vocab_size": 96, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
          "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 64, "model_type": ")" +
                       std::string(family.name) + "\"" + (fields.empty() ? "" : ", ") + fields + "}"));
}

std::vector<int64_t> some_tokens(int64_t count) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back((7 + i * 29) % 96);
  return tokens;
}

// The largest difference to an expected [1, vocab].
double difference(std::span<const float> got, const Tensor& expected) {
  double largest = 0;
  for (int64_t i = 0; i < expected.numel(); ++i)
    largest = std::max(
        largest, std::abs(static_cast<double>(got[static_cast<size_t>(i)]) - expected.data_as<float>()[i]));
  return largest;
}

class Families : public ::testing::TestWithParam<Case> {};

TEST_P(Families, EveryExecutionComputesTheSame) {
  const auto model = CausalModel::random(config_of(GetParam()), {.dtype = "float32"}, 3);
  const std::vector<int64_t> tokens = some_tokens(30);
  KVCache eager = model->make_cache(), fixed = model->make_cache(), compiled = model->make_cache();
  const auto feed = [&](int64_t first, int64_t last) {
    const auto part =
        std::span(tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    const Tensor expected = model->forward(part, eager, false, Execution::Eager);
    for (const auto& [cache, execution] :
         {std::pair{&fixed, Execution::Static}, {&compiled, Execution::Compiled}}) {
      const Tensor got = model->forward(part, *cache, false, execution);
      EXPECT_LT(difference({got.data_as<float>(), static_cast<size_t>(got.numel())}, expected), 1e-4)
          << first << " to " << last << ", " << static_cast<int>(execution);
    }
  };
  feed(0, 1), feed(1, 4), feed(4, 26), feed(26, 27),
      feed(27, 30);  // both sides of a window, and of 16 tokens
}

// The text once in rows of one step, and once in steps of a row, beside another text.
TEST_P(Families, RowsOverPages) {
  const auto model = CausalModel::random(config_of(GetParam()), {.dtype = "float32"}, 3);
  const std::vector<int64_t> tokens = some_tokens(20);
  KVCache cache = model->make_cache();
  const Tensor expected = model->forward(tokens, cache, true, Execution::Eager).clone();
  PagedBatch batch(model, 16, 4, 24, 24);
  const std::vector<int32_t> first = {9, 2, 4, 11, 7}, second = {0, 1, 3, 5, 6};
  std::vector<PagedBatch::Row> rows;
  for (size_t i = 0; i < tokens.size(); ++i)
    rows.push_back({tokens[i], static_cast<int64_t>(i), first.data(), true});
  const std::span<const float> together = batch.forward(rows);
  const auto row_of = [](std::span<const float> logits, size_t row) { return logits.subspan(row * 96, 96); };
  std::vector<std::vector<float>> kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    EXPECT_LT(difference(row_of(together, i), slice(expected, 0, row, row + 1).contiguous()), 1e-4) << i;
    kept.emplace_back(row_of(together, i).begin(), row_of(together, i).end());
  }
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    PagedBatch::Row own = rows[i], other = rows[i + 1];
    own.pages = second.data(), own.slot = 1;
    const PagedBatch::Row both[] = {other, own};
    const std::span<const float> logits = batch.forward(both);
    if (std::string(GetParam().name) == "phi3")
      continue;  // turns by other frequencies when a text becomes long
    EXPECT_TRUE(std::equal(kept[i].begin(), kept[i].end(), row_of(logits, 1).begin())) << i;
  }
}

TEST_P(Families, AreDescribed) {
  const DecoderConfig config = config_of(GetParam());
  const auto lines = describe(config);
  EXPECT_EQ(lines[0], (std::pair<std::string, std::string>("family", GetParam().name)));
  EXPECT_GT(config.num_parameters(), 0);
  EXPECT_EQ(config.num_active_parameters() < config.num_parameters(), config.experts.has_value());
}

INSTANTIATE_TEST_SUITE_P(OtherSizes, Families, ::testing::ValuesIn(kOtherSizes),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(All, Families, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Decode reads the weights of the experts that it chooses.
TEST(Experts, BytesOfTheChosenAlone) {
  const auto bytes = [](int64_t chosen) {
    DecoderConfig config = config_of({"mixtral", R"("num_local_experts": 8, "num_experts_per_tok": 1)"});
    config.experts->chosen = chosen;
    return CausalModel::random(config, {.dtype = "float32"})->bytes_per_token();
  };
  const int64_t expert = 3 * 64 * 96 * 4;
  EXPECT_EQ(bytes(2) - bytes(1), 4 * expert);
  EXPECT_EQ(bytes(8) - bytes(1), 4 * 7 * expert);
}

TEST(Experts, ConfigurationsThatCannotBe) {
  const auto error = [](const char* fields) { return error_of([&] { config_of({"mixtral", fields}); }); };
  EXPECT_THAT(error(R"("num_local_experts": 2, "num_experts_per_tok": 3)"),
              ::testing::HasSubstr("num_experts_per_tok must be between 1 and 2, got 3"));
  EXPECT_THAT(error(R"("num_local_experts": 0, "num_experts_per_tok": 1)"),
              ::testing::HasSubstr("the number of experts must be between 1 and"));
  EXPECT_THAT(error(R"("num_experts_per_tok": 1)"), ::testing::HasSubstr("no 'num_local_experts'"));
}

// What a delta rule keeps of a text is not of fewer tokens.
TEST(DeltaRules, CachesAreSetBackToTheStartAlone) {
  const auto model = CausalModel::random(
      config_of({"qwen3_5_text", R"("linear_num_key_heads": 2, "linear_num_value_heads": 4,
                                    "linear_key_head_dim": 8, "linear_value_head_dim": 8)"}),
      {.dtype = "float32"}, 3);
  const std::vector<int64_t> tokens = some_tokens(9);
  for (const Execution execution : {Execution::Eager, Execution::Static, Execution::Compiled}) {
    KVCache cache = model->make_cache();
    const Tensor first = model->forward(tokens, cache, false, execution).clone();
    cache.length = 5;
    EXPECT_THAT(error_of([&] { model->forward(tokens, cache, false, execution); }),
                ::testing::HasSubstr("the cache was set back to 5 tokens of 9"));
    if (execution == Execution::Eager) continue;
    cache.length = 0;
    const Tensor again = model->forward(tokens, cache, false, execution);
    EXPECT_EQ(difference({again.data_as<float>(), 96}, first), 0);
  }
}

TEST(Families, WhatTheyAreNotIsRefusedByName) {
  const auto error = [](const char* family, const char* fields) {
    return error_of([&] { config_of({family, fields}); });
  };
  const char* const sizes = R"("vocab_size": 96, "hidden_size": 64, "num_hidden_layers": 4, "ffn_dim": 96,
                               "num_attention_heads": 8, )";
  EXPECT_THAT(error("opt", (std::string(sizes) + R"("do_layer_norm_before": false)").c_str()),
              ::testing::HasSubstr("'do_layer_norm_before' with the value false"));
  EXPECT_THAT(error("opt", (std::string(sizes) + R"("word_embed_proj_dim": 32)").c_str()),
              ::testing::HasSubstr("'word_embed_proj_dim' with the value 32"));
  EXPECT_THAT(error("internlm3", R"("qkv_bias": true)"), ::testing::HasSubstr("has all biases or none"));
  EXPECT_THAT(error("olmo", R"("clip_qkv": -1)"),
              ::testing::HasSubstr("clip_qkv must be between 0 and 1000000, got -1"));
  EXPECT_THAT(error("exaone4", R"("sliding_window_pattern": 0)"),
              ::testing::HasSubstr("sliding_window_pattern must be positive, got 0"));
  EXPECT_THAT(error("ernie4_5_moe", R"("moe_layer_interval": 0)"),
              ::testing::HasSubstr("moe_layer_interval must be positive, got 0"));
  const char* const neo = R"("vocab_size": 96, "hidden_size": 64, "num_layers": 4, "num_heads": 8, )";
  EXPECT_THAT(error("gpt_neo", (std::string(neo) + R"("attention_types": [[["global"], 3]])").c_str()),
              ::testing::HasSubstr("3 layers have a kind of attention, num_layers is 4"));
  EXPECT_THAT(error("gpt_neo", (std::string(neo) + R"("attention_types": [3])").c_str()),
              ::testing::HasSubstr("attention_types must be a list of pairs"));
  const char* const mpt = R"("vocab_size": 96, "d_model": 64, "n_layers": 4, "n_heads": 8, )";
  EXPECT_THAT(error("mpt", (std::string(mpt) + R"("attn_config": {"alibi": false})").c_str()),
              ::testing::HasSubstr("attn_config: 'alibi' with the value false"));
  EXPECT_THAT(error("mpt", (std::string(mpt) + R"("attn_config": {"qk_gn": true})").c_str()),
              ::testing::HasSubstr("attn_config: unknown key 'qk_gn'"));
  EXPECT_THAT(error("mpt", (std::string(mpt) + R"("attn_config": {"alibi_bias_max": 0})").c_str()),
              ::testing::HasSubstr("alibi_bias_max must be above 0"));
  EXPECT_THAT(
      error("bloom", R"("vocab_size": 96, "hidden_size": 64, "n_layer": 4, "n_head": 8, "n_inner": 96)"),
      ::testing::HasSubstr("n_inner 96 is not four times hidden_size 64"));
  EXPECT_THAT(error("phimoe", R"("num_local_experts": 4, "num_experts_per_tok": 3)"),
              ::testing::HasSubstr("'num_experts_per_tok' with the value 3"));
  EXPECT_THAT(error("hunyuan_v1_dense", R"("use_cla": true)"),
              ::testing::HasSubstr("'use_cla' with the value true"));
  EXPECT_THAT(error("codegen", R"("vocab_size": 96, "n_embd": 60, "n_layer": 4, "n_head": 6)"),
              ::testing::HasSubstr("n_head is a multiple of 4, got 6"));
}

}  // namespace
}  // namespace weft::models
