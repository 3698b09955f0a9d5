#include "weft/models/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/irrelevant_keys.h"
#include "models/json_fields.h"
#include "models/llama_weights.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// What a dictionary of either name says: rope_scaling as transformers 4 writes it, with rope_theta beside it,
// or rope_parameters as transformers 5 does, with rope_theta in it.
void read_rope(const JsonFields& fields, const char* key, LlamaConfig& config) {
  const JsonFields rope(fields.get(key), fmt::format("{}: {}", fields.where(), key));
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (rope.has("type"))
    WEFT_CHECK(rope.text("type", type) == type,
               fmt::format("{}: {} has the rope_type '{}' and the type '{}'", fields.where(), key,
                           printable(type), printable(rope.text("type", type))));
  WEFT_CHECK(type == "default" || type == "linear" || type == "llama3",
             fmt::format("{}: {} of type '{}' is not supported; weft has default, linear and llama3",
                         fields.where(), key, printable(type)));
  if (rope.has("rope_theta")) {
    const double theta = rope.real("rope_theta");
    WEFT_CHECK(!fields.has("rope_theta") || fields.real("rope_theta") == theta,
               fmt::format("{}: rope_theta is {}, and {} says {}", fields.where(),
                           fields.real("rope_theta", theta), key, theta));
    config.rope_theta = theta;
  }
  if (type != "default") config.rope_factor = rope.real("factor");
  if (type == "linear") config.rope_scaling = RopeScaling::Linear;
  if (type == "llama3") {
    config.rope_scaling = RopeScaling::Llama3;
    config.rope_low_freq_factor = rope.real("low_freq_factor", 1.0);
    config.rope_high_freq_factor = rope.real("high_freq_factor", 4.0);
    config.rope_original_positions = rope.integer("original_max_position_embeddings", 8192);
  }
  static constexpr IrrelevantKey kIrrelevant[] = {
      {"partial_rotary_factor", "weft rotates whole heads", "1 1.0"}};
  rope.check_all_understood(kIrrelevant);
}

void read_rope(const JsonFields& fields, LlamaConfig& config) {
  config.rope_theta = fields.real("rope_theta", 10000.0);
  const bool has_both = fields.has("rope_scaling") && fields.has("rope_parameters");
  WEFT_CHECK(!has_both || fields.get("rope_scaling") == fields.get("rope_parameters"),
             fmt::format("{}: rope_scaling and rope_parameters say different things", fields.where()));
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (fields.has(key)) read_rope(fields, key, config);
}

// The layers that see a window alone. source: MistralConfig and Qwen2Config of transformers.
void read_window(const JsonFields& fields, LlamaConfig& config) {
  const bool is_mistral = config.model_type == "mistral", is_qwen2 = config.model_type == "qwen2";
  const bool is_on = is_mistral || fields.boolean("use_sliding_window", false);
  WEFT_CHECK(is_mistral || is_qwen2 ||
                 (!is_on && (!fields.has("sliding_window") || fields.has("use_sliding_window"))),
             fmt::format("{}: a {} model has no sliding_window", fields.where(), config.model_type));
  if (is_mistral) {
    WEFT_CHECK(fields.boolean("use_sliding_window", true) || !fields.has("sliding_window"),
               fmt::format("{}: sliding_window with use_sliding_window false is not supported: a mistral "
                           "model has its window in any case",
                           fields.where()));
    WEFT_CHECK(!fields.has("max_window_layers"),
               fmt::format("{}: a mistral model has no max_window_layers; weft reads its layer_types",
                           fields.where()));
  }
  for (const char* key : {"sliding_window", "max_window_layers"}) fields.pass_over(key);
  if (is_on && fields.has("sliding_window")) config.sliding_window = fields.integer("sliding_window");
  if (is_on && fields.is_absent("sliding_window")) config.sliding_window = 4096;
  const int64_t layers = std::clamp<int64_t>(config.num_layers, 0, int64_t{1} << 16);
  std::vector<bool> has_window(static_cast<size_t>(layers), config.sliding_window.has_value());
  if (is_qwen2 && !fields.has("layer_types") && config.sliding_window) {
    const int64_t full = fields.integer("max_window_layers", 28);
    for (int64_t i = 0; i < std::min(full, layers); ++i) has_window[static_cast<size_t>(i)] = false;
  }
  if (fields.has("layer_types")) {
    const std::vector<std::string> types = fields.texts("layer_types");
    WEFT_CHECK(static_cast<int64_t>(types.size()) == config.num_layers,
               fmt::format("{}: layer_types has {} entries, num_hidden_layers is {}", fields.where(),
                           types.size(), config.num_layers));
    has_window.assign(types.size(), false);
    for (size_t i = 0; i < types.size(); ++i) {
      has_window[i] = types[i] == "sliding_attention";
      WEFT_CHECK(has_window[i] || types[i] == "full_attention",
                 fmt::format("{}: layer_types has '{}' for layer {}; weft has full_attention and "
                             "sliding_attention",
                             fields.where(), printable(types[i]), i));
      WEFT_CHECK(!has_window[i] || config.sliding_window,
                 fmt::format("{}: layer_types has sliding_attention for layer {}, and there is no "
                             "sliding_window",
                             fields.where(), i));
    }
  }
  const auto windows = std::count(has_window.begin(), has_window.end(), true);
  if (windows == 0)
    config.sliding_window.reset();
  else if (windows < layers)
    config.has_window = std::move(has_window);
}

}  // namespace

int64_t LlamaConfig::num_parameters() const {
  const int64_t attention = hidden_size * head_dim * (2 * num_heads + 2 * num_kv_heads);
  const int64_t bias = (qkv_bias ? head_dim * (num_heads + 2 * num_kv_heads) : 0) +
                       (output_bias ? hidden_size : 0) + (mlp_bias ? 2 * intermediate_size + hidden_size : 0);
  const int64_t layer = attention + bias + 3 * hidden_size * intermediate_size + 2 * hidden_size;
  return num_layers * layer + hidden_size + vocab_size * hidden_size * (tie_word_embeddings ? 1 : 2);
}

void LlamaConfig::check(const std::string& where, bool meta_names) const {
  const auto require = [&](bool condition, const char* field, const std::string& expected,
                           const auto& value) {
    WEFT_CHECK(condition, fmt::format("{}: {} must be {}, got {}", where, field, expected, value));
  };
  const auto called = [&](const char* name, const char* meta) { return meta_names ? meta : name; };
  constexpr int64_t kMost = int64_t{1} << 24;
  const auto size = [&](const char* field, int64_t value) {
    require(value > 0 && value <= kMost, field, fmt::format("between 1 and {}", kMost), value);
  };
  const auto number = [&](const char* field, double value, double above, double most) {
    require(value > above && value <= most, field, fmt::format("above {} and at most {}", above, most),
            value);
  };
  const char* const heads = called("num_attention_heads", "n_heads");
  size("vocab_size", vocab_size);
  size(called("hidden_size", "dim"), hidden_size);
  size(called("intermediate_size", "hidden_dim"), intermediate_size);
  size(called("num_hidden_layers", "n_layers"), num_layers);
  size(heads, num_heads);
  size(called("num_key_value_heads", "n_kv_heads"), num_kv_heads);
  size("head_dim", head_dim);
  size(called("max_position_embeddings", "max_seq_len"), max_position_embeddings);
  WEFT_CHECK(num_heads % num_kv_heads == 0,
             fmt::format("{}: {} {} is not a multiple of {} {}", where, heads, num_heads,
                         called("num_key_value_heads", "n_kv_heads"), num_kv_heads));
  require(head_dim % 2 == 0, "head_dim", "even", head_dim);
  number(called("rms_norm_eps", "norm_eps"), rms_norm_eps, 0, 0.1);
  number("rope_theta", rope_theta, 0, 1e12);
  if (rope_scaling != RopeScaling::None) {
    number("the factor of rope_scaling", rope_factor, 0, 1e6);
    size("original_max_position_embeddings of rope_scaling", rope_original_positions);
    number("low_freq_factor of rope_scaling", rope_low_freq_factor, 0, 1e6);
    number("high_freq_factor of rope_scaling", rope_high_freq_factor, rope_low_freq_factor, 1e6);
  }
  if (sliding_window) require(*sliding_window > 0, "sliding_window", "positive", *sliding_window);
  WEFT_CHECK(
      has_window.empty() || static_cast<int64_t>(has_window.size()) == num_layers,
      fmt::format("{}: windows of {} layers, num_hidden_layers is {}", where, has_window.size(), num_layers));
  const std::string ids = fmt::format("an id of the vocabulary, between 0 and {}", vocab_size - 1);
  if (bos_token_id)
    require(*bos_token_id >= 0 && *bos_token_id < vocab_size, "bos_token_id", ids, *bos_token_id);
  for (const int64_t id : eos_token_ids) require(id >= 0 && id < vocab_size, "eos_token_id", ids, id);
}

std::optional<int64_t> LlamaConfig::window_of(int64_t layer) const {
  if (!has_window.empty() && !has_window[static_cast<size_t>(layer)]) return std::nullopt;
  return sliding_window;
}

LlamaConfig read_config_json(const std::string& path) {
  const Json json = read_json(path);
  const JsonFields fields(json, fmt::format("'{}'", path));
  LlamaConfig config;
  config.model_type = fields.text("model_type", "llama");
  WEFT_CHECK(config.model_type == "llama" || config.model_type == "mistral" || config.model_type == "qwen2",
             fmt::format("'{}': architecture '{}' is not supported; weft has llama, mistral and qwen2", path,
                         printable(config.model_type)));
  const std::string activation = fields.text("hidden_act", "silu");
  WEFT_CHECK(activation == "silu",
             fmt::format("'{}': hidden_act must be silu, got {}", path, printable(activation)));
  config.vocab_size = fields.integer("vocab_size");
  config.hidden_size = fields.integer("hidden_size");
  config.intermediate_size = fields.integer("intermediate_size");
  config.num_layers = fields.integer("num_hidden_layers");
  config.num_heads = fields.integer("num_attention_heads");
  config.num_kv_heads = fields.integer("num_key_value_heads", config.num_heads);
  WEFT_CHECK(config.num_heads > 0,
             fmt::format("'{}': num_attention_heads must be positive, got {}", path, config.num_heads));
  WEFT_CHECK(fields.has("head_dim") || config.hidden_size % config.num_heads == 0,
             fmt::format(
                 "'{}': hidden_size {} is not a multiple of num_attention_heads {}, and there is no head_dim",
                 path, config.hidden_size, config.num_heads));
  config.head_dim = fields.integer("head_dim", config.hidden_size / config.num_heads);
  config.max_position_embeddings = fields.integer("max_position_embeddings", 2048);
  config.rms_norm_eps = fields.real("rms_norm_eps", 1e-6);
  read_rope(fields, config);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
  const bool attention_bias = fields.boolean("attention_bias", false);
  config.qkv_bias = config.model_type == "qwen2" || attention_bias;
  config.output_bias = config.model_type == "llama" && attention_bias;
  config.mlp_bias = fields.boolean("mlp_bias", false);
  WEFT_CHECK(config.model_type != "mistral" || !attention_bias,
             fmt::format("'{}': a mistral model has no attention_bias", path));
  WEFT_CHECK(config.model_type == "llama" || !config.mlp_bias,
             fmt::format("'{}': a {} model has no mlp_bias", path, config.model_type));
  read_window(fields, config);
  if (const auto bos = fields.token_ids("bos_token_id"); !bos.empty()) config.bos_token_id = bos[0];
  config.eos_token_ids = fields.token_ids("eos_token_id");
  config.rope_interleaved = fields.boolean("rope_interleaved", false);
  const char* const dtype_key = fields.has("torch_dtype") ? "torch_dtype" : "dtype";
  config.torch_dtype = fields.text(dtype_key, "float32");
  const std::vector<std::string> dtypes = {"float32", "bfloat16", "float16", "float64"};
  WEFT_CHECK(std::find(dtypes.begin(), dtypes.end(), config.torch_dtype) != dtypes.end(),
             fmt::format("'{}': {} must be {}, got '{}'{}", path, dtype_key, fmt::join(dtypes, ", "),
                         printable(config.torch_dtype), did_you_mean(config.torch_dtype, dtypes)));
  fields.pass_over("dtype");                                   // torch_dtype goes before it
  QuantizationScheme::parse(fields.text("quantization", ""));  // the weights' file says it as well
  fields.check_all_understood(irrelevant_config_keys());
  config.check(fmt::format("'{}'", path));
  return config;
}

void read_generation_config(const std::string& path, LlamaConfig& config) {
  const Json json = read_json(path);
  const JsonFields fields(json, fmt::format("'{}'", path));
  for (const int64_t id : fields.token_ids("eos_token_id"))
    if (std::find(config.eos_token_ids.begin(), config.eos_token_ids.end(), id) == config.eos_token_ids.end())
      config.eos_token_ids.push_back(id);
  fields.check_all_understood(irrelevant_generation_keys());
  config.check(fmt::format("'{}'", path));
}

LlamaConfig read_params_json(const std::string& path) {
  const Json json = read_json(path);
  const JsonFields fields(json, fmt::format("'{}'", path));
  LlamaConfig config;
  config.rope_interleaved = true;
  config.hidden_size = fields.integer("dim");
  config.num_layers = fields.integer("n_layers");
  config.num_heads = fields.integer("n_heads");
  config.num_kv_heads = fields.integer("n_kv_heads", config.num_heads);
  config.vocab_size = fields.integer("vocab_size", -1);
  config.rms_norm_eps = fields.real("norm_eps", 1e-5);
  config.rope_theta = fields.real("rope_theta", 10000.0);
  config.max_position_embeddings = fields.integer("max_seq_len", 2048);
  WEFT_CHECK(config.num_heads > 0 && config.hidden_size > 0 && config.hidden_size < (1 << 24),
             fmt::format("'{}': dim and n_heads must be positive, got {} and {}", path, config.hidden_size,
                         config.num_heads));
  WEFT_CHECK(config.hidden_size % config.num_heads == 0,
             fmt::format("'{}': dim {} is not a multiple of n_heads {}", path, config.hidden_size,
                         config.num_heads));
  config.head_dim = config.hidden_size / config.num_heads;
  const int64_t multiple = fields.integer("multiple_of", 256);
  WEFT_CHECK(multiple > 0 && multiple <= (1 << 24),
             fmt::format("'{}': multiple_of must be between 1 and {}, got {}", path, 1 << 24, multiple));
  // source: Meta's FeedForward, hidden = multiple_of * ceil(int(ffn_dim_multiplier * int(2 * 4 dim / 3)) /
  // multiple_of).
  int64_t hidden = 2 * (4 * config.hidden_size) / 3;
  if (fields.has("ffn_dim_multiplier")) {
    const double multiplier = fields.real("ffn_dim_multiplier");
    WEFT_CHECK(
        multiplier > 0 && multiplier <= 1000,
        fmt::format("'{}': ffn_dim_multiplier must be above 0 and at most 1000, got {}", path, multiplier));
    hidden = static_cast<int64_t>(multiplier * static_cast<double>(hidden));
  }
  config.intermediate_size = fields.integer("hidden_dim", multiple * ((hidden + multiple - 1) / multiple));
  if (fields.boolean("use_scaled_rope", false)) {
    config.rope_scaling = RopeScaling::Llama3;
    config.rope_factor = fields.real("rope_scaling_factor", 8.0);
  }
  fields.check_all_understood(irrelevant_params_keys());
  return config;
}

namespace {

// vocabulary, hidden, intermediate, layers, heads, key-value heads, head dimension, positions, theta
struct Row {
  int64_t vocab, hidden, intermediate, layers, heads, kv_heads, head_dim, positions;
  double theta;
  const char* type;
};
// source: the models' published config.json.
const std::map<std::string, Row>& shapes() {
  static const auto& rows = *new std::map<std::string, Row>{
      {"tiny", {512, 64, 172, 5, 8, 4, 8, 512, 1e4, "llama"}},
      {"llama-1b", {128256, 2048, 8192, 16, 32, 8, 64, 131072, 5e5, "llama"}},
      {"llama-3b", {128256, 3072, 8192, 28, 24, 8, 128, 131072, 5e5, "llama"}},
      {"llama-7b", {32000, 4096, 11008, 32, 32, 32, 128, 4096, 1e4, "llama"}},
      {"llama-13b", {32000, 5120, 13824, 40, 40, 40, 128, 4096, 1e4, "llama"}},
      {"llama3-8b", {128256, 4096, 14336, 32, 32, 8, 128, 8192, 5e5, "llama"}},
      {"mistral-7b", {32000, 4096, 14336, 32, 32, 8, 128, 32768, 1e4, "mistral"}},
      {"qwen2-0.5b", {151936, 896, 4864, 24, 14, 2, 64, 32768, 1e6, "qwen2"}},
  };
  return rows;
}

}  // namespace

std::vector<std::string> config_names() {
  std::vector<std::string> names;
  for (const auto& row : shapes()) names.push_back(row.first);
  return names;
}

LlamaConfig named_config(const std::string& name) {
  const auto found = shapes().find(name);
  if (found == shapes().end())
    throw_error(ErrorKind::Value,
                fmt::format("unknown model shape '{}'; the shapes are {}{}", printable(name),
                            fmt::join(config_names(), ", "), did_you_mean(name, config_names())));
  const Row& row = found->second;
  LlamaConfig config;
  config.model_type = row.type;
  config.vocab_size = row.vocab;
  config.hidden_size = row.hidden;
  config.intermediate_size = row.intermediate;
  config.num_layers = row.layers;
  config.num_heads = row.heads;
  config.num_kv_heads = row.kv_heads;
  config.head_dim = row.head_dim;
  config.max_position_embeddings = row.positions;
  config.rope_theta = row.theta;
  config.qkv_bias = config.model_type == "qwen2";
  config.tie_word_embeddings =
      name == "llama-1b" || name == "llama-3b" || name == "qwen2-0.5b" || name == "tiny";
  if (name == "mistral-7b") config.sliding_window = 4096;
  config.check();
  return config;
}

}  // namespace weft::models
