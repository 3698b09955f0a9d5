// What a decoder-only language model of the Llama family is made of, as its folder says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::models {

enum class RopeScaling { None, Linear, Llama3 };

struct LlamaConfig {
  std::string model_type = "llama";  // "llama", "mistral", "qwen2"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 2048;  // tokens
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  // source: the positions' frequencies as transformers computes them for rope_type "linear" and "llama3".
  RopeScaling rope_scaling = RopeScaling::None;
  double rope_factor = 1.0, rope_low_freq_factor = 1.0, rope_high_freq_factor = 4.0;
  int64_t rope_original_positions = 8192;
  bool rope_interleaved = false;  // pairs (2i, 2i + 1), Meta's layout; else (i, i + head_dim / 2)
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool tie_word_embeddings = false;
  std::optional<int64_t> sliding_window;  // tokens a position sees, itself included
  std::vector<bool> has_window;           // by layer; all have it where empty
  std::optional<int64_t> bos_token_id;
  std::vector<int64_t> eos_token_ids;
  std::string torch_dtype = "float32";

  // What the layer's positions see; nothing where that is all before them.
  std::optional<int64_t> window_of(int64_t layer) const;
  // The number of elements of all weights, embeddings counted once where they are tied.
  int64_t num_parameters() const;
  // ValueError naming `where` (a file, say), the field, its value and what was expected, for sizes that are
  // not positive or do not divide each other, numbers that no model has, and ids outside the vocabulary.
  // meta_names: the fields as params.json calls them.
  void check(const std::string& where = "model configuration", bool meta_names = false) const;
};

// config.json of a Hugging Face folder, as transformers 4 and 5 write it. ValueError for an architecture weft
// does not have, for fields that are missing or of another type, and for a key that is neither understood nor
// known to change nothing (src/models/irrelevant_keys.cc).
LlamaConfig read_config_json(const std::string& path);
// generation_config.json beside it: its end tokens are added. ValueError as above.
void read_generation_config(const std::string& path, LlamaConfig& config);
// params.json of a Meta folder; `vocab_size` where the file says -1.
LlamaConfig read_params_json(const std::string& path);
// Shapes by name, for measuring without a checkpoint: "llama-7b", "llama-13b", "llama3-8b", "llama-1b"
// (Llama 3.2), "llama-3b", "mistral-7b", "qwen2-0.5b", "tiny". ValueError with the list for another.
LlamaConfig named_config(const std::string& name);
std::vector<std::string> config_names();

}  // namespace weft::models
