#include "weft/models/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/json.h"
#include "weft/error.h"

namespace weft::models {
namespace {

bool is_int64(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
}

// Fields of a JSON object, each checked.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    WEFT_CHECK(object.is_object(), fmt::format("'{}': not a JSON object", path_));
  }
  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }
  int64_t integer(const char* key, std::optional<int64_t> fallback = std::nullopt) const {
    if (!has(key) && fallback) return *fallback;
    const Json& value = get(key);
    WEFT_CHECK(is_int64(value), wrong(key, "an integer", value));
    return value.get<int64_t>();
  }
  double real(const char* key, std::optional<double> fallback = std::nullopt) const {
    if (!has(key) && fallback) return *fallback;
    const Json& value = get(key);
    WEFT_CHECK(value.is_number(), wrong(key, "a number", value));
    return value.get<double>();
  }
  bool boolean(const char* key, bool fallback) const {
    if (!has(key)) return fallback;
    WEFT_CHECK(get(key).is_boolean(), wrong(key, "true or false", get(key)));
    return get(key).get<bool>();
  }
  std::string text(const char* key, const std::string& fallback) const {
    if (!has(key)) return fallback;
    WEFT_CHECK(get(key).is_string(), wrong(key, "a text", get(key)));
    return get(key).get<std::string>();
  }
  const Json& get(const char* key) const {
    WEFT_CHECK(has(key), fmt::format("'{}': no '{}'", path_, key));
    return object_[key];
  }
  const std::string& path() const { return path_; }

 private:
  std::string wrong(const char* key, const char* expected, const Json& value) const {
    return fmt::format("'{}': '{}' must be {}, got {}", path_, key, expected, printable(value.dump()));
  }
  const Json& object_;
  std::string path_;
};

void read_rope_scaling(const JsonFields& fields, LlamaConfig& config) {
  if (!fields.has("rope_scaling")) return;
  const JsonFields scaling(fields.get("rope_scaling"), fields.path() + "' rope_scaling of '");
  const std::string type = scaling.text("rope_type", scaling.text("type", "default"));
  if (type == "default") return;
  WEFT_CHECK(type == "linear" || type == "llama3",
             fmt::format("'{}': rope_scaling of type '{}' is not supported; weft has linear and llama3",
                         fields.path(), printable(type)));
  config.rope_factor = scaling.real("factor");
  config.rope_scaling = type == "linear" ? RopeScaling::Linear : RopeScaling::Llama3;
  if (config.rope_scaling == RopeScaling::Linear) return;
  config.rope_low_freq_factor = scaling.real("low_freq_factor", 1.0);
  config.rope_high_freq_factor = scaling.real("high_freq_factor", 4.0);
  config.rope_original_positions = scaling.integer("original_max_position_embeddings", 8192);
}

std::vector<int64_t> token_ids(const JsonFields& fields, const char* key) {
  if (!fields.has(key)) return {};
  const Json& value = fields.get(key);
  const auto one = [&](const Json& id) {
    WEFT_CHECK(is_int64(id), fmt::format("'{}': '{}' must be token ids, got {}", fields.path(), key,
                                         printable(value.dump())));
    return id.get<int64_t>();
  };
  std::vector<int64_t> ids;
  if (value.is_array())
    for (const Json& id : value) ids.push_back(one(id));
  else
    ids.push_back(one(value));
  return ids;
}

}  // namespace

int64_t LlamaConfig::num_parameters() const {
  const int64_t attention = hidden_size * head_dim * (2 * num_heads + 2 * num_kv_heads);
  const int64_t bias = qkv_bias ? head_dim * (num_heads + 2 * num_kv_heads) : 0;
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
  const std::string ids = fmt::format("an id of the vocabulary, between 0 and {}", vocab_size - 1);
  if (bos_token_id)
    require(*bos_token_id >= 0 && *bos_token_id < vocab_size, "bos_token_id", ids, *bos_token_id);
  for (const int64_t id : eos_token_ids) require(id >= 0 && id < vocab_size, "eos_token_id", ids, id);
}

LlamaConfig read_config_json(const std::string& path) {
  const Json json = read_json(path);
  const JsonFields fields(json, path);
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
  config.rope_theta = fields.real("rope_theta", 10000.0);
  read_rope_scaling(fields, config);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
  config.qkv_bias = config.model_type == "qwen2" || fields.boolean("attention_bias", false);
  if (config.model_type == "mistral" || fields.boolean("use_sliding_window", false))
    if (fields.has("sliding_window")) config.sliding_window = fields.integer("sliding_window");
  if (const auto bos = token_ids(fields, "bos_token_id"); !bos.empty()) config.bos_token_id = bos[0];
  config.eos_token_ids = token_ids(fields, "eos_token_id");
  config.rope_interleaved = fields.boolean("rope_interleaved", false);
  const char* const dtype_key = fields.has("torch_dtype") ? "torch_dtype" : "dtype";
  config.torch_dtype = fields.text(dtype_key, "float32");
  const std::vector<std::string> dtypes = {"float32", "bfloat16", "float16", "float64"};
  WEFT_CHECK(std::find(dtypes.begin(), dtypes.end(), config.torch_dtype) != dtypes.end(),
             fmt::format("'{}': {} must be {}, got '{}'{}", path, dtype_key, fmt::join(dtypes, ", "),
                         printable(config.torch_dtype), did_you_mean(config.torch_dtype, dtypes)));
  config.check(fmt::format("'{}'", path));
  return config;
}

LlamaConfig read_params_json(const std::string& path) {
  const Json json = read_json(path);
  const JsonFields fields(json, path);
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
