// What a decoder-only language model is made of: one description for all families, as a model's folder says
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::models {

enum class RopeScaling : uint8_t { None, Linear, Llama3, Yarn, LongRope };

// How a head's elements turn with the position. source: the frequencies as transformers computes them.
struct Rope {
  double theta = 10000.0;
  int64_t dim = 0;           // a head's first elements, which turn; 0: all
  bool interleaved = false;  // pairs (2i, 2i + 1); else (i, i + dim / 2)
  RopeScaling scaling = RopeScaling::None;
  double factor = 1.0, low_freq_factor = 1.0, high_freq_factor = 4.0;
  int64_t original_positions = 8192;
  double beta_fast = 32, beta_slow = 1;  // of Yarn
  bool truncates = true;
  double attention_factor = 1.0;  // of cosines and sines
  std::optional<double> long_attention_factor = std::nullopt;  // of longer texts, where they have another
  // LongRope: what frequencies are divided by, in texts of up to original_positions and in longer ones.
  std::vector<double> short_factors = {}, long_factors = {};
};

enum class NormKind : uint8_t { Rms, Layer };
// Queries and keys are normalized with one weight for all heads, with one per head, or all heads as one row.
enum class HeadNorm : uint8_t { None, Shared, PerHead, Whole };
enum class MlpActivation : uint8_t { Silu, GeluTanh, Gelu, Relu, SquaredRelu, ClampedSilu, Xielu };
enum class RouterScores : uint8_t { Softmax, Sigmoid, SoftmaxOfChosen, SparseMixer };

// Layers whose products are chosen by token.
struct Experts {
  int64_t count = 0, chosen = 0, intermediate_size = 0;
  int64_t shared_size = 0;       // of an expert that every token has; 0: there is none
  bool shared_is_gated = false;  // its output is multiplied by a sigmoid
  RouterScores scores = RouterScores::Softmax;
  bool is_normalized = false;             // the weights of the chosen add up to one
  double scale = 1.0;                     // of the weights
  double jitter = 0.0;                    // of SparseMixer: how far below the best others have no share
  int64_t groups = 1, chosen_groups = 1;  // of experts, of which so many are considered
  int64_t group_best = 2;                 // of a group's scores that say how good it is, 1 or 2
  double least_sum = 1e-20;               // added to the sum that normalizes
  bool has_correction = false;            // added to the scores that choose, not to the weights
  bool has_router_bias = false, has_bias = false;
  bool scales_input = false;  // the weight is the input's, not the output's
};

// Scores fall with the distance of a key, in each head by another slope; positions are nothing else.
// source: Press et al. 2022, Train Short, Test Long (ALiBi).
struct Alibi {
  double max_bias = 8;      // of heads in a power of two, the last has the slope 2^-max_bias
  bool is_scaled = false;   // as the scores are
  bool is_rounded = false;  // slopes, and their products with positions, are bfloat16
};

// Keys and values come from a row of `rank` numbers and rotary keys that heads share.
// source: DeepSeek-AI 2024, DeepSeek-V2.
struct LatentAttention {
  int64_t query_rank = 0;  // 0: queries come from the input
  int64_t rank = 0, plain_dim = 0, rope_dim = 0, value_dim = 0;
};

// A layer that keeps a matrix per head in place of keys and values: S becomes exp(g) S, then
// S + k (beta (v - k S)); its output is q S. Queries, keys and values are convolved first.
// source: Yang et al. 2024, Gated Delta Networks.
struct DeltaRule {
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  int64_t keys() const { return key_heads * key_dim; }
  int64_t values() const { return value_heads * value_dim; }
  int64_t channels() const { return 2 * keys() + values(); }  // that are convolved
};

// What one layer has that others have not.
struct LayerKind {
  std::optional<int64_t> window = std::nullopt;  // positions that one sees, itself included
  std::optional<int64_t> chunk = std::nullopt;   // positions see their chunk alone
  std::optional<size_t> rope = 0;                // which of the ropes; none: positions do not turn
  bool has_experts = false;
  bool is_convolution = false;  // in place of attention
  bool is_delta = false;        // a delta rule in its place
  bool has_temperature = false, has_head_norm = true;
  double score_factor = 1.0;  // beside DecoderConfig::score_scale
};

// Where a matrix [out, in] lies in a checkpoint.
struct MatrixName {
  std::string name = {};  // "": there is none; with ".weight" behind it but for `is_bare`
  // Of a tensor that holds several matrices: `block` rows of every `period`, from `first` on. 0: all its
  // rows.
  int64_t first = 0, block = 0, period = 0, rows = 0;
  bool is_transposed = false;  // [in, out]
  bool is_bare = false;
  std::string bias = {};          // "": name + ".bias"
  int64_t index = -1, count = 0;  // one of so many matrices in a tensor
  bool is_exact = false;          // never quantized
};

// The tensors' names; those of a layer without what is before them.
struct TensorNames {
  std::string layer = "model.layers.{}.";  // {}: its number
  std::string embedding = "model.embed_tokens", positions = {}, final_norm = "model.norm", head = "lm_head";
  std::string embedding_norm = {};  // "": there is none
  // "": the layer has no such norm. Without mlp_norm the MLP has attention's input.
  std::string attention_norm = "input_layernorm", attention_post_norm = {},
              mlp_norm = "post_attention_layernorm", mlp_post_norm = {};
  std::string query_norm = "self_attn.q_norm", key_norm = "self_attn.k_norm", sinks = "self_attn.sinks";
  MatrixName query{.name = "self_attn.q_proj"}, key{.name = "self_attn.k_proj"},
      value{.name = "self_attn.v_proj"}, output{.name = "self_attn.o_proj"};
  MatrixName gate{.name = "mlp.gate_proj"}, up{.name = "mlp.up_proj"}, down{.name = "mlp.down_proj"};
  MatrixName shared_gate{.name = "mlp.shared_experts.gate_proj"},
      shared_up{.name = "mlp.shared_experts.up_proj"}, shared_down{.name = "mlp.shared_experts.down_proj"};
  bool correction_is_row = false;  // [1, experts]
  std::string router = "mlp.gate", correction = "mlp.gate.e_score_correction_bias",
              shared_scale = "mlp.shared_expert_gate";
  // {}: the expert's number, of tensors that hold one; else all are in one tensor.
  MatrixName expert_gate{.name = "mlp.experts.{}.gate_proj"}, expert_up{.name = "mlp.experts.{}.up_proj"},
      expert_down{.name = "mlp.experts.{}.down_proj"};
  MatrixName latent_query_in{.name = "self_attn.q_a_proj"}, latent_query_out{.name = "self_attn.q_b_proj"},
      latent_in{.name = "self_attn.kv_a_proj_with_mqa"}, latent_out{.name = "self_attn.kv_b_proj"};
  std::string latent_query_norm = "self_attn.q_a_layernorm", latent_norm = "self_attn.kv_a_layernorm";
  MatrixName convolution_in{.name = "conv.in_proj"}, convolution_out{.name = "conv.out_proj"};
  std::string convolution = "conv.conv";
  MatrixName delta_query, delta_key, delta_value, delta_gate, delta_output, delta_beta,
      delta_decay;  // these two are never quantized
  std::string delta_norm, delta_decay_log, delta_step_bias;
  MatrixName attention_gate;
  std::string activation;  // with ".alpha_p" and ".alpha_n" behind it, of Xielu
  // Names that a checkpoint may have and nobody reads, behind a layer's.
  std::vector<std::string> unread = {"self_attn.rotary_emb.inv_freq"};
};

struct DecoderConfig {
  std::string model_type = "llama";
  std::string part_of = {};  // the model_type of a model of several kinds of input whose text part this is
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 2048;  // tokens

  NormKind norm = NormKind::Rms;
  double norm_eps = 1e-5;
  double norm_offset = 0.0;  // weights are stored without it
  bool norm_bias = false, norm_has_weights = true;
  HeadNorm head_norm = HeadNorm::None;
  NormKind head_norm_kind = NormKind::Rms;
  bool head_norm_has_weights = true, head_norm_bias = false;
  bool head_norm_follows_rope = false;  // of heads that have turned
  bool is_parallel = false;  // attention and the MLP have the same input, and their outputs are added

  std::vector<Rope> ropes = {Rope{}};
  bool has_learned_positions = false;
  int64_t position_offset = 0;  // of a position's row among the learned ones
  std::optional<Alibi> alibi;
  double clip_qkv = 0.0;  // queries, keys and values lie between its negative and it; 0: they may be any
  std::optional<double> score_scale;  // 1 / sqrt(head_dim) where empty
  double score_cap = 0.0;             // scores become cap * tanh(score / cap); 0: they do not
  bool has_sinks = false;             // a score per head that takes weight and adds nothing
  double temperature = 0.0;           // see AttentionRule
  int64_t temperature_positions = 1, temperature_from = 1;
  std::optional<LatentAttention> latent;
  int64_t convolution_size = 0;  // positions that a convolution sees
  bool convolution_bias = false;
  std::optional<DeltaRule> delta;
  bool gates_attention = false;  // what heads give is multiplied by sigmoids of a product with the input

  bool qkv_bias = false, output_bias = false, mlp_bias = false, head_bias = false;
  MlpActivation activation = MlpActivation::Silu;
  bool is_gated = true;           // activation(gate x) * (up x); else activation(up x)
  double activation_limit = 0.0;  // of ClampedSilu
  std::optional<Experts> experts;

  double embedding_scale = 1.0, residual_scale = 1.0, logit_scale = 1.0;
  double logit_cap = 0.0;
  bool tie_word_embeddings = false;

  std::vector<LayerKind> layers;  // empty: all are LayerKind{}
  TensorNames names;

  std::optional<int64_t> bos_token_id;
  std::vector<int64_t> eos_token_ids;
  std::string torch_dtype = "float32";
  int64_t unread_layers = 0;  // that a checkpoint may have behind the others

  const LayerKind& layer(int64_t index) const;
  void set_num_layers(int64_t count);  // further ones are LayerKind{}
  std::optional<int64_t> window_of(int64_t index) const { return layer(index).window; }
  // Of a head that attention computes with, and that it gives: other numbers with latent attention.
  int64_t value_dim() const { return latent ? latent->value_dim : head_dim; }
  int64_t position_rows() const { return max_position_embeddings + position_offset; }  // of learned ones
  bool has_states() const;  // are there layers with a delta rule?
  // The number of elements of all weights, embeddings counted once where they are tied.
  int64_t num_parameters() const;
  // Of the weights that one token is multiplied with: of experts, those that are chosen.
  int64_t num_active_parameters() const;
  // ValueError naming `where` (a file, say), the field, its value and what was expected, for sizes that are
  // not positive or do not divide each other, numbers that no model has, and ids outside the vocabulary.
  // meta_names: the fields as params.json calls them.
  void check(const std::string& where = "model configuration", bool meta_names = false) const;
};

// config.json of a Hugging Face folder, as transformers 4 and 5 write it. ValueError for a family weft does
// not
// have (src/models/families/), for fields that are missing or of another type, and for a key that is neither
// understood nor known to change nothing (src/models/irrelevant_keys.cc).
DecoderConfig read_config_json(const std::string& path);
// generation_config.json beside it: its end tokens are added. ValueError as above.
void read_generation_config(const std::string& path, DecoderConfig& config);
// params.json of a Meta folder; `vocab_size` where the file says -1.
DecoderConfig read_params_json(const std::string& path);
// The model_types that config.json may have.
std::vector<std::string> model_types();
// The description for people: names, and what they are. What a model has not is not there.
std::vector<std::pair<std::string, std::string>> describe(const DecoderConfig& config);
// Shapes by name, for measuring without a checkpoint: "llama-7b", "llama-13b", "llama3-8b", "llama-1b"
// (Llama 3.2), "llama-3b", "mistral-7b", "qwen2-0.5b", "tiny". ValueError with the list for another.
DecoderConfig named_config(const std::string& name);
std::vector<std::string> config_names();

}  // namespace weft::models
