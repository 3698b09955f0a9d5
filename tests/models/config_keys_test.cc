// Every key of a model's files is understood, known to change nothing, or refused by name.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "models/irrelevant_keys.h"
#include "models/support.h"

namespace weft::models {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using KeysOfFile = std::span<const IrrelevantKey> (*)();

constexpr const char* kLeast =
    R"({"model_type": "llama", "vocab_size": 96, "hidden_size": 64, "intermediate_size": 192,
        "num_hidden_layers": 2, "num_attention_heads": 8})";

DecoderConfig config_with(const std::string& changes, const char* text = kLeast) {
  const Folder folder;
  Json json = Json::parse(text);
  json.update(Json::parse(changes));
  return read_config_json(folder.write("config.json", json.dump()));
}
DecoderConfig generation_with(const std::string& text) {
  const Folder folder;
  DecoderConfig config = small_config("llama");
  read_generation_config(folder.write("generation_config.json", text), config);
  return config;
}
DecoderConfig params_with(const std::string& changes) {
  const Folder folder;
  Json json = {{"dim", 64}, {"n_layers", 2}, {"n_heads", 8}, {"vocab_size", 96}};
  json.update(Json::parse(changes));
  return read_params_json(folder.write("params.json", json.dump()));
}

struct KeyFile {
  const char* name;
  KeysOfFile keys;
  DecoderConfig (*read)(const std::string& changes);
};
const KeyFile kFiles[] = {
    {"config.json", irrelevant_config_keys, [](const std::string& changes) { return config_with(changes); }},
    {"generation_config.json", irrelevant_generation_keys, generation_with},
    {"params.json", irrelevant_params_keys, params_with}};

TEST(ConfigKeys, IrrelevantOnesChangeNothing) {
  for (const KeyFile& file : kFiles) {
    std::set<std::string> names;
    for (const IrrelevantKey& key : file.keys()) {
      EXPECT_TRUE(names.insert(key.name).second) << key.name << " is there twice";
      const auto error = [&](const std::string& value) {
        return error_of([&] { file.read(fmt::format("{{\"{}\": {}}}", key.name, value)); });
      };
      EXPECT_EQ(error("null"), "no error") << key.name;
      if (*key.values == '\0') {
        for (const char* value : {"3", "\"x\"", "[1]", "{\"a\": 1}", "true"})
          EXPECT_EQ(error(value), "no error") << file.name << ' ' << key.name << ' ' << value;
        continue;
      }
      std::istringstream words(key.values);
      for (std::string word; words >> word;) EXPECT_EQ(error(word), "no error") << key.name << ' ' << word;
      EXPECT_THAT(error("[7]"),
                  AllOf(HasSubstr(file.name), HasSubstr(fmt::format("'{}' with the value [7]", key.name)),
                        HasSubstr(key.why)));
    }
  }
}

TEST(ConfigKeys, UnknownOnesAreRefusedByName) {
  for (const KeyFile& file : kFiles) {
    const auto error = [&](const std::string& changes) { return error_of([&] { file.read(changes); }); };
    for (const char* value : {"0", "false", "\"\"", "[]", "{}", "1.5"})
      EXPECT_THAT(error(fmt::format("{{\"logit_scale\": {}}}", value)),
                  AllOf(HasSubstr(file.name), HasSubstr("unknown key 'logit_scale'"), HasSubstr(value)));
    EXPECT_EQ(error(R"({"logit_scale": null})"), "no error");
  }
  EXPECT_THAT(error_of([] { config_with(R"({"rms_norm_epss": 1e-5})"); }),
              HasSubstr("did you mean 'rms_norm_eps'?"));
  EXPECT_THAT(error_of([] { config_with(R"({"rope_theta ": 5})"); }), HasSubstr("unknown key 'rope_theta '"));
  EXPECT_THAT(error_of([] { config_with(R"({"rope_parameters": {"beta_fast": 32}})"); }),
              HasSubstr("config.json': rope_parameters: unknown key 'beta_fast'"));
  EXPECT_THAT(error_of([] { config_with(R"({"quantization": {"bits": 4}})"); }),
              HasSubstr("'quantization' must be a text"));
}

TEST(ConfigKeys, RopeOfBothVersions) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    for (const char* type : {"rope_type", "type"}) {
      const auto read = [&](const std::string& more) {
        return config_with(fmt::format("{{\"{}\": {{\"{}\": {}}}}}", key, type, more));
      };
      const auto error = [&](const std::string& more) { return error_of([&] { read(more); }); };
      EXPECT_EQ(read(R"("default", "rope_theta": 5000)").ropes[0].theta, 5000) << key;
      EXPECT_EQ(read(R"("default")").ropes[0].theta, 10000);
      EXPECT_EQ(read(R"("default")").ropes[0].scaling, RopeScaling::None);
      const DecoderConfig linear = read(R"("linear", "factor": 2.5, "rope_theta": 7)");
      EXPECT_EQ(linear.ropes[0].scaling, RopeScaling::Linear);
      EXPECT_EQ(linear.ropes[0].factor, 2.5);
      EXPECT_EQ(linear.ropes[0].theta, 7);
      // Beyond max_position_embeddings they would be others, and there are no such positions.
      EXPECT_EQ(read(R"("dynamic", "factor": 6)").ropes[0].scaling, RopeScaling::None);
      EXPECT_THAT(error(R"("dynamic")"), HasSubstr("no 'factor'"));
      EXPECT_THAT(error(R"("dynamic", "factor": 0.5)"),
                  HasSubstr("the factor of dynamic frequencies must be at least 1, got 0.5"));
      const DecoderConfig llama3 = read(
          R"("llama3", "factor": 8, "low_freq_factor": 1.5, "high_freq_factor": 3, "original_max_position_embeddings": 64)");
      EXPECT_EQ(llama3.ropes[0].scaling, RopeScaling::Llama3);
      EXPECT_EQ(llama3.ropes[0].factor, 8);
      EXPECT_EQ(llama3.ropes[0].low_freq_factor, 1.5);
      EXPECT_EQ(llama3.ropes[0].high_freq_factor, 3);
      EXPECT_EQ(llama3.ropes[0].original_positions, 64);
      for (const char* other : {"ntk", "su", "proportional"})
        EXPECT_THAT(error(fmt::format("\"{}\"", other)),
                    HasSubstr(fmt::format("{} of type '{}' is not supported", key, other)));
      EXPECT_THAT(error(R"("default", "partial_rotary_factor": 0.5)"),
                  HasSubstr("'partial_rotary_factor' with the value 0.5 is not supported"));
      EXPECT_EQ(error(R"("default", "partial_rotary_factor": 1.0)"), "no error");
      EXPECT_THAT(error(R"("default", "factor": 2)"), HasSubstr("unknown key 'factor'"));
      EXPECT_THAT(error(R"("linear", "factor": 2, "low_freq_factor": 2)"),
                  HasSubstr("unknown key 'low_freq_factor'"));
      EXPECT_THAT(error(R"("default", "full_attention": {})"), HasSubstr("unknown key 'full_attention'"));
    }
  EXPECT_EQ(
      config_with(R"({"rope_theta": 6, "rope_scaling": {"type": "linear", "factor": 2}})").ropes[0].theta, 6);
  EXPECT_THAT(error_of([] { config_with(R"({"rope_theta": 6, "rope_parameters": {"rope_theta": 7}})"); }),
              HasSubstr("rope_theta is 6, and rope_parameters says 7"));
  EXPECT_EQ(config_with(R"({"rope_theta": 7, "rope_parameters": {"rope_theta": 7}})").ropes[0].theta, 7);
  EXPECT_THAT(error_of([] {
                config_with(R"({"rope_scaling": {"type": "default"}, "rope_parameters": {"rope_theta": 7}})");
              }),
              HasSubstr("rope_scaling and rope_parameters say different things"));
  EXPECT_THAT(
      error_of([] { config_with(R"({"rope_scaling": {"type": "linear", "rope_type": "default"}})"); }),
      HasSubstr("the rope_type 'default' and the type 'linear'"));
}

// The layers that have a window, as "1" each.
std::string windows(const std::string& type, const std::string& changes, int64_t layers = 4) {
  Json json = Json::parse(kLeast);
  json["model_type"] = type, json["num_hidden_layers"] = layers;
  const DecoderConfig config = config_with(changes, json.dump().c_str());
  std::string found;
  for (int64_t i = 0; i < layers; ++i) {
    found += config.window_of(i) ? '1' : '0';
  }
  return found;
}

TEST(ConfigKeys, WindowsByLayer) {
  const std::string on = R"("use_sliding_window": true, "sliding_window": 9)";
  EXPECT_EQ(windows("qwen2", R"({"use_sliding_window": false, "sliding_window": 9, "max_window_layers": 2})"),
            "0000");
  EXPECT_EQ(windows("qwen2", R"({"sliding_window": 9, "max_window_layers": 0})"), "0000");
  EXPECT_EQ(
      windows("qwen2", R"({"use_sliding_window": true, "sliding_window": null, "max_window_layers": 0})"),
      "0000");
  for (const auto& [layers, expected] :
       {std::pair{0, "1111"}, {1, "0111"}, {2, "0011"}, {3, "0001"}, {4, "0000"}, {28, "0000"}})
    EXPECT_EQ(windows("qwen2", fmt::format("{{{}, \"max_window_layers\": {}}}", on, layers)), expected);
  EXPECT_EQ(windows("qwen2", fmt::format("{{{}}}", on)), "0000");  // 28 by default
  EXPECT_EQ(windows("qwen2", fmt::format("{{{}}}", on), 30), std::string(28, '0') + "11");
  EXPECT_EQ(windows("qwen2", R"({"use_sliding_window": true, "max_window_layers": 0})"), "1111");
  EXPECT_EQ(windows("mistral", R"({"sliding_window": 9})"), "1111");
  EXPECT_EQ(windows("mistral", "{}"), "1111");
  EXPECT_EQ(windows("mistral", R"({"sliding_window": null})"), "0000");
  EXPECT_EQ(windows("llama", R"({"sliding_window": 9, "use_sliding_window": false})"), "0000");
  const std::string types =
      R"("layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"])";
  EXPECT_EQ(windows("qwen2", fmt::format("{{{}, {}, \"max_window_layers\": 0}}", on, types)), "0101");
  EXPECT_EQ(windows("mistral", fmt::format("{{\"sliding_window\": 9, {}}}", types)), "0101");
  const auto error = [](const std::string& type, const std::string& changes) {
    return error_of([&] { windows(type, "{" + changes + "}"); });
  };
  EXPECT_THAT(error("llama", types),
              HasSubstr("sliding_attention for layer 1, and there is no sliding_window"));
  EXPECT_THAT(error("llama", R"("sliding_window": 9)"), HasSubstr("a llama model has no sliding_window"));
  EXPECT_THAT(error("llama", on), HasSubstr("a llama model has no sliding_window"));
  EXPECT_THAT(error("mistral", R"("sliding_window": 9, "use_sliding_window": false)"),
              HasSubstr("use_sliding_window"));
  EXPECT_THAT(error("mistral", R"("sliding_window": 9, "max_window_layers": 2)"),
              HasSubstr("max_window_layers"));
  EXPECT_THAT(error("mistral", R"("layer_types": ["full_attention"])"),
              HasSubstr("layer_types has 1 entries, num_hidden_layers is 4"));
  EXPECT_THAT(
      error("mistral", R"("layer_types": ["full_attention", "full_attention", "linear_attention", ""])"),
      HasSubstr("layer_types has 'linear_attention' for layer 2"));
  EXPECT_THAT(error("mistral", R"("layer_types": [1, 2, 3, 4])"),
              HasSubstr("'layer_types' must be a list of texts"));
}

TEST(ConfigKeys, Biases) {
  const auto biases = [](const char* type, const std::string& changes) {
    Json json = Json::parse(kLeast);
    json["model_type"] = type;
    const DecoderConfig config = config_with(changes, json.dump().c_str());
    return fmt::format("{:d}{:d}{:d}", config.qkv_bias, config.output_bias, config.mlp_bias);
  };
  EXPECT_EQ(biases("llama", "{}"), "000");
  EXPECT_EQ(biases("llama", R"({"attention_bias": true})"), "110");
  EXPECT_EQ(biases("llama", R"({"mlp_bias": true})"), "001");
  EXPECT_EQ(biases("qwen2", "{}"), "100");
  EXPECT_EQ(biases("mistral", R"({"attention_bias": false, "mlp_bias": false})"), "000");
  EXPECT_THAT(error_of([&] { biases("mistral", R"({"attention_bias": true})"); }),
              HasSubstr("attention_bias"));
  EXPECT_THAT(error_of([&] { biases("qwen2", R"({"mlp_bias": true})"); }), HasSubstr("mlp_bias"));
}

TEST(ConfigKeys, EndTokensOfGenerationConfig) {
  EXPECT_EQ(generation_with(R"({"eos_token_id": 5})").eos_token_ids, (std::vector<int64_t>{5}));
  EXPECT_EQ(generation_with(R"({"eos_token_id": [5, 7, 5]})").eos_token_ids, (std::vector<int64_t>{5, 7}));
  EXPECT_TRUE(generation_with(R"({"eos_token_id": null})").eos_token_ids.empty());
  EXPECT_THAT(
      error_of([] { generation_with(R"({"eos_token_id": 96})"); }),
      AllOf(HasSubstr("generation_config.json"), HasSubstr("eos_token_id must be an id of the vocabulary")));
  EXPECT_THAT(error_of([] { generation_with(R"({"eos_token_id": "</s>"})"); }),
              HasSubstr("must be token ids"));
}

}  // namespace
}  // namespace weft::models
