#include "weft/models/causal_model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "io/pickle.h"
#include "models/weight_source.h"
#include "models/support.h"
#include "weft/models/generation.h"
#include "weft/models/safetensors.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

Ids expected_ids() { return nlohmann::json::parse(read_file(stories() + "/expected.json"))["greedy_ids"]; }

Ids greedy(const CausalModel& model, int64_t count, Execution execution) {
  KVCache cache = model.make_cache();
  Ids ids = {1};
  while (static_cast<int64_t>(ids.size()) < count) {
    const Tensor logits = model.forward(std::span(ids).last(1), cache, false, execution);
    ids.push_back(argmax({logits.data_as<float>(), static_cast<size_t>(logits.numel())}));
  }
  return ids;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i) largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  return largest;
}

class Executions : public ::testing::TestWithParam<Execution> {};

TEST_P(Executions, GreedyIdsOfTheStories) {
  WEFT_NEEDS_STORIES();
  const auto model = CausalModel::from_pretrained(stories());
  EXPECT_EQ(greedy(*model, static_cast<int64_t>(expected_ids().size()), GetParam()), expected_ids());
}

TEST_P(Executions, PromptAtOnceIsPromptByToken) {
  for (const char* type : {"llama", "mistral", "qwen2"}) {
    const auto model = CausalModel::random(small_config(type), {.dtype = "float32"});
    Ids prompt(40);
    for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int64_t>(i * 37 % 96);
    KVCache whole = model->make_cache(), single = model->make_cache();
    const Tensor all = model->forward(prompt, whole, true, GetParam());
    for (size_t i = 0; i < prompt.size(); ++i) {
      const Tensor one = model->forward(std::span(prompt).subspan(i, 1), single, false, Execution::Compiled);
      EXPECT_LT(largest_difference(one, slice(all, 0, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1)),
                2e-5)
          << type << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Executions,
                         ::testing::Values(Execution::Eager, Execution::Static, Execution::Compiled));

TEST(CausalModel, FewTokensAtOnceAreExactlyThoseOneByOne) {
  const auto model = CausalModel::random(small_config("llama"), {.dtype = "bfloat16"});
  KVCache whole = model->make_cache(), single = model->make_cache();
  const Ids prompt = {3, 1, 4, 1, 5, 9, 2};
  const Tensor all = model->forward(prompt, whole, true);
  for (size_t i = 0; i < prompt.size(); ++i)
    EXPECT_EQ(largest_difference(model->forward(std::span(prompt).subspan(i, 1), single),
                                 slice(all, 0, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1)),
              0.0);
}

TEST(CausalModel, MetaFolderGivesTheSame) {
  WEFT_NEEDS_STORIES();
  const Folder folder;
  for (const char* file : {"params.json", "consolidated.00.pth", "tokenizer.model"})
    std::filesystem::create_symlink(std::filesystem::path(stories()) / file, folder.path(file));
  const auto model = CausalModel::from_pretrained(folder.path());
  EXPECT_TRUE(model->config().ropes[0].interleaved);
  Ids ids = expected_ids();
  ids.resize(128);
  EXPECT_EQ(greedy(*model, 128, Execution::Compiled), ids);
}

TEST(CausalModel, ShardedFolderGivesTheSame) {
  WEFT_NEEDS_STORIES();
  const Folder folder;
  const SafetensorsFile file(stories() + "/model.safetensors");
  std::map<std::string, Tensor> parts[2];
  nlohmann::json index;
  int i = 0;
  for (const std::string& name : file.names()) {
    parts[i % 2][name] = file.tensor(name);
    index["weight_map"][name] = fmt::format("part-{}.safetensors", i++ % 2);
  }
  for (int part = 0; part < 2; ++part)
    save_safetensors(folder.path(fmt::format("part-{}.safetensors", part)), parts[part]);
  folder.write("config.json", read_file(stories() + "/config.json"));
  folder.write("model.safetensors.index.json", index.dump());
  Ids ids = expected_ids();
  ids.resize(64);
  EXPECT_EQ(greedy(*CausalModel::from_pretrained(folder.path()), 64, Execution::Compiled), ids);
  std::filesystem::remove(folder.path("part-1.safetensors"));
  EXPECT_THAT(error_of([&] { CausalModel::from_pretrained(folder.path()); }),
              HasSubstr("the shard 'part-1.safetensors' is missing"));
}

TEST(CausalModel, QuantizedModelsAreTheirDequantizedOnes) {
  const DecoderConfig config = small_config("llama");
  const Folder folder, back;
  std::map<std::string, Tensor> tensors, rounded;
  ModelOptions options{.dtype = "float32", .cache_dtype = "float32"};
  const auto weights = random_weights(options, 1);
  const auto add = [&](const std::string& name, int64_t out, int64_t in, const QuantizationScheme& scheme) {
    tensors[name + ".weight"] = weights->linear(name, out, in).weight;
    rounded[name + ".weight"] = dequantize(quantize(tensors[name + ".weight"], scheme));
  };
  DecoderConfig wide = config;
  wide.intermediate_size = 192;  // groups of 32
  wide.tie_word_embeddings = false;
  for (const char* name : {"int8", "int4-g32"}) {
    const QuantizationScheme scheme = QuantizationScheme::parse(name);
    for (int64_t i = 0; i < wide.num_layers; ++i) {
      const std::string prefix = fmt::format("model.layers.{}.", i);
      add(prefix + "self_attn.q_proj", 64, 64, scheme), add(prefix + "self_attn.o_proj", 64, 64, scheme);
      add(prefix + "self_attn.k_proj", 32, 64, scheme), add(prefix + "self_attn.v_proj", 32, 64, scheme);
      add(prefix + "mlp.gate_proj", 192, 64, scheme), add(prefix + "mlp.up_proj", 192, 64, scheme),
          add(prefix + "mlp.down_proj", 64, 192, scheme);
      for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"})
        tensors[prefix + norm] = rounded[prefix + norm] = Tensor::full({64}, 1.0, DType::F32);
    }
    add("lm_head", 96, 64, scheme);
    tensors["model.norm.weight"] = rounded["model.norm.weight"] = Tensor::full({64}, 1.0, DType::F32);
    tensors["model.embed_tokens.weight"] = rounded["model.embed_tokens.weight"] =
        weights->embedding("e", 96, 64).rows;
    const std::string text =
        R"({"model_type": "llama", "vocab_size": 96, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2,
      "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 128})";
    for (const auto* where : {&folder, &back}) where->write("config.json", text);
    save_safetensors(folder.path("model.safetensors"), tensors);
    save_safetensors(back.path("model.safetensors"), rounded);
    const auto quantized = CausalModel::from_pretrained(folder.path(), {.dtype = "float32", .quantize = name});
    const auto reference = CausalModel::from_pretrained(back.path(), {.dtype = "float32"});
    const auto exact = CausalModel::from_pretrained(
        folder.path(), {.dtype = "float32", .quantize = name, .activations = "float32"});
    EXPECT_LT(quantized->bytes_per_token(), reference->bytes_per_token() / 3);
    for (const Ids& prompt : {Ids{5}, Ids{1, 2, 3, 4}}) {
      KVCache a = quantized->make_cache(), b = reference->make_cache();
      // Inputs of products are rounded to 2^-16 of their group's largest; logits of a few units move by that
      // through 14 products.
      EXPECT_LT(largest_difference(quantized->forward(prompt, a), reference->forward(prompt, b)), 5e-4)
          << name;
      KVCache c = exact->make_cache(), d = reference->make_cache();
      EXPECT_LT(largest_difference(exact->forward(prompt, c), reference->forward(prompt, d)), 3e-5) << name;
    }
  }
}

TEST(CausalModel, RopeScaling) {
  Rope rope{.theta = 500000, .dim = 64};
  const Tensor plain = rope_table(rope, 4);
  rope.scaling = RopeScaling::Linear;
  rope.factor = 2;
  EXPECT_NEAR(std::acos(rope_table(rope, 4).at(2 * 64)), 1.0, 1e-6);  // position 2 turns as position 1 did
  EXPECT_NEAR(std::acos(plain.at(64)), 1.0, 1e-6);
  rope.scaling = RopeScaling::Llama3;
  rope.factor = 8;
  const Tensor scaled = rope_table(rope, 2);
  const auto angle = [](const Tensor& table, int64_t pair) { return std::asin(table.at(64 + 2 * pair + 1)); };
  EXPECT_NEAR(angle(scaled, 0), angle(plain, 0), 1e-6);        // short waves are kept
  EXPECT_NEAR(angle(scaled, 31) * 8, angle(plain, 31), 1e-9);  // long ones stretched
  EXPECT_LT(angle(scaled, 18), angle(plain, 18));              // between them in between
  EXPECT_GT(angle(scaled, 18) * 8, angle(plain, 18));
}

TEST(Cache, GoesOnWithAnotherModelOfItsSizes) {
  const auto config = small_config("llama");
  const Ids prompt = {3, 1, 4, 1, 5}, next = {9};
  KVCache cache, expected;
  const auto second = CausalModel::random(config, {.dtype = "float32"}, 2);
  {
    const auto first = CausalModel::random(config, {.dtype = "float32"}, 1);
    cache = first->make_cache(), expected = first->make_cache();
    for (KVCache* each : {&cache, &expected}) first->forward(prompt, *each);
    first->forward(next, cache);  // its plan for one token is made
    --cache.length;
  }
  const Tensor fresh = second->forward(next, expected, false, Execution::Static);
  EXPECT_EQ(largest_difference(second->forward(next, cache), fresh), 0.0);
}

TEST(Cache, ReplacedTensorsAreSeen) {
  const auto model = CausalModel::random(small_config("llama"), {.dtype = "float32"});
  KVCache cache = model->make_cache(), other = model->make_cache();
  model->forward(Ids{1, 2, 3}, cache);
  model->forward(Ids{4, 5, 6}, other);
  const Tensor expected = model->forward(Ids{7}, other).clone();
  --other.length;
  model->forward(Ids{7}, cache);
  cache.length = 3;
  for (size_t i = 0; i < cache.keys.size(); ++i)
    cache.keys[i] = other.keys[i].clone(), cache.values[i] = other.values[i].clone();
  EXPECT_EQ(largest_difference(model->forward(Ids{7}, cache), expected), 0.0);
}

TEST(Cache, ListsOfManyLengthsAreMadeAnew) {
  const auto model = CausalModel::random(small_config("llama"), {.dtype = "float32"});
  KVCache cache = model->make_cache();
  const auto logits_of = [&](int64_t count, bool all) {
    cache.length = 0;
    return model->forward(Ids(static_cast<size_t>(count), 5), cache, all).clone();
  };
  const Tensor first = logits_of(3, true), last = logits_of(3, false);
  for (int64_t count = 1; count < 12; ++count) logits_of(count, count % 2 == 0);
  EXPECT_EQ(largest_difference(logits_of(3, true), first), 0.0);
  EXPECT_EQ(largest_difference(logits_of(3, false), last), 0.0);
}

TEST(Cache, WhatDoesNotFitIsRefused) {
  const auto model = CausalModel::random(small_config("llama"), {.dtype = "float32", .max_positions = 16});
  const auto error = [&](KVCache& cache, Execution execution) {
    return error_of([&] { model->forward(Ids{1, 2}, cache, false, execution); });
  };
  KVCache grown = model->make_cache();
  model->forward(Ids{1, 2, 3}, grown, false, Execution::Eager);
  for (const Execution execution : {Execution::Static, Execution::Compiled})
    EXPECT_THAT(error(grown, execution),
                HasSubstr("keys of layer 0 are f32[4, 3, 8] cpu, expected a contiguous [4, 16, 8]"));
  EXPECT_EQ(error(grown, Execution::Eager), "no error");
  DecoderConfig wide = small_config("llama");
  wide.num_kv_heads = 8;
  KVCache other = CausalModel::random(wide)->make_cache(16);
  for (const Execution execution : {Execution::Eager, Execution::Static, Execution::Compiled})
    EXPECT_THAT(error(other, execution), HasSubstr("it is another model's, or eager execution has grown it"));
  KVCache longer = CausalModel::random(small_config("llama"), {.max_positions = 64})->make_cache();
  longer.length = 15;
  for (const Execution execution : {Execution::Eager, Execution::Static, Execution::Compiled})
    EXPECT_THAT(error(longer, execution),
                HasSubstr("2 tokens after 15 are more than the model's 16 positions"));
  KVCache none, mixed = model->make_cache(), missing = model->make_cache(), negative = model->make_cache();
  EXPECT_THAT(error(none, Execution::Compiled),
              HasSubstr("keys of 0 layers and values of 0, the model has 2"));
  mixed.values[1] = mixed.values[1].to(DType::BF16);
  EXPECT_THAT(error(mixed, Execution::Compiled), HasSubstr("values of layer 1 are bfloat16"));
  missing.values[1] = Tensor();
  EXPECT_THAT(error(missing, Execution::Compiled), HasSubstr("the cache has no values of layer 1"));
  negative.length = -1;
  EXPECT_THAT(error(negative, Execution::Compiled), HasSubstr("2 tokens after -1 do not fit"));
}

TEST(CausalModel, Errors) {
  const auto model = CausalModel::random(small_config("llama"), {.max_positions = 16});
  KVCache cache = model->make_cache();
  const auto forward = [&](const Ids& ids) { return error_of([&] { model->forward(ids, cache); }); };
  EXPECT_THAT(forward({}), HasSubstr("no tokens"));
  EXPECT_THAT(forward({96}), HasSubstr("token id 96 is outside the vocabulary of 96"));
  EXPECT_THAT(forward({-1}), HasSubstr("token id -1"));
  EXPECT_THAT(forward(Ids(17, 1)), HasSubstr("17 tokens after 0 do not fit into a cache of 16"));
  EXPECT_THAT(error_of([] { CausalModel::random(small_config("llama"), {.quantize = "int3"}); }),
              HasSubstr("unknown quantization scheme 'int3'"));
  EXPECT_THAT(error_of([] { CausalModel::random(small_config("llama"), {.activations = "int4"}); }),
              HasSubstr("activations must be auto, float32, int16, int8 or bfloat16, got 'int4'"));
  EXPECT_THAT(error_of([] { CausalModel::random(small_config("llama"), {.dtype = "int8"}); }),
              HasSubstr("dtype must be float32, bfloat16 or float16"));
  EXPECT_THAT(error_of([] { CausalModel::random(small_config("llama"), {.max_positions = 1000}); }),
              HasSubstr("more than the model's 128"));
  EXPECT_THAT(error_of([] { named_config("gpt-5"); }),
              HasSubstr("unknown model shape 'gpt-5'; the shapes are "));
}

TEST(Checkpoint, BadFolders) {
  const Folder folder;
  const auto error = [&] { return error_of([&] { CausalModel::from_pretrained(folder.path()); }); };
  EXPECT_THAT(error(), HasSubstr("no model here; looked for config.json with model.safetensors"));
  folder.write("config.json", R"({"model_type": "bert"})");
  EXPECT_THAT(error(), HasSubstr("architecture 'bert' is not supported"));
  folder.write("config.json", R"({"model_type": "llama"})");
  EXPECT_THAT(error(), HasSubstr("no 'vocab_size'"));
  folder.write("config.json", R"({"vocab_size": "many"})");
  EXPECT_THAT(error(), HasSubstr("'vocab_size' must be an integer, got \"many\""));
  const std::string sizes =
      R"("vocab_size": 96, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 8)";
  folder.write("config.json", fmt::format("{{{}, \"num_key_value_heads\": 3}}", sizes));
  EXPECT_THAT(error(), HasSubstr("num_attention_heads 8 is not a multiple of num_key_value_heads 3"));
  folder.write("config.json", fmt::format("{{{}, \"rope_scaling\": {{\"rope_type\": \"turning\"}}}}", sizes));
  EXPECT_THAT(error(), HasSubstr("rope_scaling of type 'turning' is not supported"));
  folder.write("config.json", fmt::format("{{{}}}", sizes));
  save_safetensors(folder.path("model.safetensors"),
                   {{"model.layers.0.input_layernorm.weight", Tensor::full({65}, 1.0, DType::F32)}});
  EXPECT_THAT(
      error(),
      HasSubstr(
          "tensor 'model.layers.0.input_layernorm.weight' has shape [65], the configuration expects [64]"));
  save_safetensors(folder.path("model.safetensors"), {{"x", Tensor::full({1}, 1.0, DType::F32)}});
  EXPECT_THAT(error(), HasSubstr("the checkpoint has no tensor 'model.layers.0.input_layernorm.weight'"));
  save_safetensors(folder.path("model.safetensors"),
                   {{"model.layers.0.input_layernorm.weight", Tensor::full({64}, 1.0, DType::I32)}});
  EXPECT_THAT(
      error(),
      HasSubstr(folder.path("model.safetensors") +
                "': tensor 'model.layers.0.input_layernorm.weight' is int32, expected a floating dtype"));
  folder.write("model.safetensors", "");
  EXPECT_THAT(error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("empty")));
  folder.write(
      "config.json",
      R"({"vocab_size": -5, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 8})");
  EXPECT_THAT(error(), HasSubstr("vocab_size must be between 1 and 16777216, got -5"));
  folder.write(
      "config.json",
      R"({"vocab_size": 96, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 0})");
  EXPECT_THAT(error(), HasSubstr("num_attention_heads must be positive, got 0"));
  folder.write("config.json", "{\"model_type\": \"\xFF\"}");
  EXPECT_THAT(error(), AllOf(HasSubstr("config.json"), HasSubstr("not valid JSON")));
  EXPECT_THAT(error_of([&] { CausalModel::from_pretrained(folder.path("config.json")); }),
              HasSubstr("not a folder"));
}

TEST(Checkpoint, MismatchedShards) {
  const Folder folder;
  const auto error = [&] { return error_of([&] { CausalModel::from_pretrained(folder.path()); }); };
  const std::string norm = "model.layers.0.input_layernorm.weight";
  folder.write(
      "config.json",
      R"({"vocab_size": 96, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 8})");
  for (const auto& [extension, index] : {std::pair{"safetensors", "model.safetensors.index.json"},
                                         std::pair{"bin", "pytorch_model.bin.index.json"}}) {
    const auto save = [&](const std::string& file, const std::map<std::string, Tensor>& tensors) {
      if (std::string(extension) == "safetensors") return save_safetensors(folder.path(file), tensors);
      IValue dict = IValue::dict(jit::Type::string(), jit::Type::tensor());
      for (const auto& [name, tensor] : tensors) dict.to_dict()->set(name, tensor);
      folder.write(file, jit::save_value_bytes(dict));
    };
    const std::string a = fmt::format("a.{}", extension), b = fmt::format("b.{}", extension);
    const auto map = [&](const std::string& file) {
      folder.write(index, fmt::format(R"({{"weight_map": {{"{}": "{}", "x": "{}"}}}})", norm, file, b));
    };
    map(a);
    EXPECT_THAT(error(), HasSubstr(fmt::format("the shard '{}' is missing", a)));
    save(a, {{"y", Tensor::full({1}, 1.0, DType::F32)}});
    save(b, {{"x", Tensor::full({1}, 1.0, DType::F32)}, {norm, Tensor::full({64}, 1.0, DType::F32)}});
    EXPECT_THAT(error(),
                HasSubstr(fmt::format("the index says that '{}' holds '{}', and it does not", a, norm)));
    save(a, {{norm, Tensor::full({63}, 1.0, DType::F32)}});  // this one counts, not that of the other shard
    EXPECT_THAT(error(),
                HasSubstr(fmt::format("{}': tensor '{}' has shape [63], the configuration expects [64]",
                                      folder.path(a), norm)));
    map("../" + a);
    EXPECT_THAT(error(), HasSubstr("is not in the same folder"));
    folder.write(index, R"({"weight_map": {"x": 3}})");
    EXPECT_THAT(error(), HasSubstr("the file of 'x' is not a text"));
    folder.write(index, "{}");
    EXPECT_THAT(error(), HasSubstr("no 'weight_map'"));
    std::filesystem::remove(folder.path(index));
  }
}

TEST(Checkpoint, MismatchedMetaShards) {
  const Folder folder;
  folder.write("params.json",
               R"({"dim": 64, "n_layers": 1, "n_heads": 8, "vocab_size": 96, "multiple_of": 32})");
  const auto save = [&](const char* file, float norm, int64_t rows) {
    IValue dict = IValue::dict(jit::Type::string(), jit::Type::tensor());
    dict.to_dict()->set("tok_embeddings.weight", Tensor::full({48, 64}, 1.0, DType::F32));
    for (const char* name : {"layers.0.attention_norm.weight", "layers.0.ffn_norm.weight"})
      dict.to_dict()->set(name, Tensor::full({64}, norm, DType::F32));
    dict.to_dict()->set("layers.0.attention.wq.weight", Tensor::full({rows, 64}, 1.0, DType::F32));
    folder.write(file, jit::save_value_bytes(dict));
  };
  const auto error = [&] { return error_of([&] { CausalModel::from_pretrained(folder.path()); }); };
  save("consolidated.00.pth", 1, 32), save("consolidated.02.pth", 1, 32);
  EXPECT_THAT(error(), HasSubstr("the shard 'consolidated.01.pth' is missing"));
  std::filesystem::rename(folder.path("consolidated.02.pth"), folder.path("consolidated.01.pth"));
  EXPECT_THAT(error(), HasSubstr("no tensor 'model.layers.0.self_attn.k_proj.weight'"));
  save("consolidated.01.pth", 1, 31);
  EXPECT_THAT(error(),
              HasSubstr("consolidated.01.pth': tensor 'model.layers.0.self_attn.q_proj.weight' has shape "
                        "[31, 64] as the last of 2 parts, the configuration expects [64, 64]"));
  save("consolidated.01.pth", 2, 32);
  EXPECT_THAT(
      error(),
      HasSubstr(
          "tensor 'model.layers.0.input_layernorm.weight' is whole in 2 shards, and not the same in all"));
}

TEST(Checkpoint, StoredQuantizationIsChecked) {
  WEFT_NEEDS_STORIES();
  const Folder folder;
  const SafetensorsFile file(stories() + "/model.safetensors");
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : file.names()) tensors[name] = file.tensor(name);
  const std::string layer = "model.layers.0.self_attn.q_proj";
  const LinearWeight quantized = quantize(tensors[layer + ".weight"], QuantizationScheme::parse("int4-g32"));
  tensors[layer + ".weight"] = quantized.weight;
  tensors[layer + ".scales"] = quantized.scales.to(DType::F32);
  folder.write("config.json", read_file(stories() + "/config.json"));
  const auto error = [&](const std::string& scheme, const std::string& asked = "") {
    save_safetensors(folder.path("model.safetensors"), tensors, {{"weft.quantization", scheme}});
    return error_of([&] { CausalModel::from_pretrained(folder.path(), {.quantize = asked}); });
  };
  EXPECT_THAT(error("int4-g32"),
              HasSubstr("model.safetensors': tensor 'model.layers.0.self_attn.q_proj.scales' is float32, "
                        "expected bfloat16"));
  EXPECT_THAT(error("int8"), HasSubstr("has shape [64, 32], the configuration expects [64, 64]"));
  EXPECT_THAT(error("int4-g32", "int8"),
              HasSubstr("the weights are quantized as 'int4-g32', and 'int8' was asked for"));
  EXPECT_THAT(error("int5"), HasSubstr("unknown quantization scheme 'int5'"));
}

}  // namespace
}  // namespace weft::models
