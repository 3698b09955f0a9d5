// What a family's file says: how its config.json fills the description of a decoder. One file per family,
// which
// registers what it reads; the functions here read what many have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/json_fields.h"
#include "weft/models/config.h"

namespace weft::models {

using ReadFamily = void (*)(const JsonFields& fields, DecoderConfig& config);

// Keys that are read are understood; of what a family has and weft computes otherwise, it throws.
// Called by a static object of the family's file. Returns true.
bool register_family(const char* model_type, ReadFamily read);
// Nothing for a family that weft does not have.
ReadFamily find_family(const std::string& model_type);

// vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
// head_dim, max_position_embeddings, and the layers' entries.
void read_sizes(const JsonFields& fields, DecoderConfig& config);
// Those that follow from others where config.json does not say them.
void read_head_sizes(const JsonFields& fields, DecoderConfig& config, const char* heads_key,
                     std::optional<int64_t> head_dim = std::nullopt);

// How a family's config.json begins, and its values where it does not say them.
struct LlamaDefaults {
  double norm_eps = 1e-6, theta = 10000.0;
  std::optional<double> share = std::nullopt;  // of read_rope
  const char* activation = "silu";
  bool is_tied = false;
  std::span<const char* const> own = {};  // of read_rope
};
// The sizes, rms_norm_eps, hidden_act, the rope, and whether embeddings are tied, as Llama has them.
void read_llama_parts(const JsonFields& fields, DecoderConfig& config, const LlamaDefaults& defaults = {});

// Keys of Qwen's dictionaries: which part of a head turns by which of a picture's positions; of a text, these
// are the same.
inline constexpr const char* kPlaces[] = {"mrope_section", "mrope_interleaved"};
// rope_theta with rope_scaling, as transformers 4 writes them, or rope_parameters, as transformers 5 does,
// into
// config.ropes[0]. `share`: of a head's elements that turn, where the files do not say it; without one,
// whole heads
// do in any case. `own`: keys of the dictionary that the family reads itself.
void read_rope(const JsonFields& fields, DecoderConfig& config, double theta = 10000.0,
               std::optional<double> share = std::nullopt, std::span<const char* const> own = {});
// What YaRN multiplies cosines and sines by where texts are `factor` times as long.
double yarn_scale(double factor, double by = 1.0);
// One dictionary of them.
void read_rope_dictionary(const JsonFields& rope, DecoderConfig& config, Rope& result,
                          std::optional<double> share, std::span<const char* const> own = {});

// Of full layers into config.ropes[0], and of those with a window, which get it, into config.ropes[1]:
// rope_parameters
// of both kinds, as transformers 5 writes them, or one for the full layers, and `local_theta` for the others.
void read_ropes_by_type(const JsonFields& fields, DecoderConfig& config, double theta, double local_theta);

// An activation by transformers' name. `is_gated`: of a product of two matrices.
void read_activation(const JsonFields& fields, DecoderConfig& config, const char* key = "hidden_act",
                     const std::string& fallback = "silu");
void read_tied(const JsonFields& fields, DecoderConfig& config, bool fallback);
// layer_types, each of `allowed`; nothing where there are none.
std::vector<std::string> read_layer_types(const JsonFields& fields, const DecoderConfig& config,
                                          const std::vector<std::string>& allowed = {"full_attention",
                                                                                     "sliding_attention"});
// sliding_window for the layers that layer_types calls sliding_attention. ValueError where there is none.
void read_windows_by_type(const JsonFields& fields, DecoderConfig& config,
                          const std::vector<std::string>& types);
// Layers with `window` turn with the position, the others do not: those of `types`, or all but each
// `pattern`-th.
void set_windows_that_turn(DecoderConfig& config, const std::vector<std::string>& types, int64_t pattern,
                           int64_t window);
// The layers that see a window alone, of configurations with use_sliding_window and max_window_layers.
void read_qwen_windows(const JsonFields& fields, DecoderConfig& config);
// num_experts and what is beside it, as Mixtral's descendants call them.
void read_experts(const JsonFields& fields, DecoderConfig& config, const char* count_key);

// All or some layers have experts, as mlp_only_layers and decoder_sparse_step say.
void read_qwen_experts(const JsonFields& fields, DecoderConfig& config);
// shared_expert_intermediate_size, of an expert that every token has, with a gate.
void read_qwen_shared_expert(const JsonFields& fields, DecoderConfig& config);
// Qwen's experts in two tensors, gates in front of the other halves, each [in, out].
void stack_qwen_experts(DecoderConfig& config);

// ValueError where the key has another value than weft computes with; absent and null are right.
void expect(const JsonFields& fields, const char* key, const char* values, const char* why);
// Matrices that lie in one tensor one behind another: `rows` of each.
std::vector<MatrixName> stacked(const std::string& name, const std::vector<int64_t>& rows);
// A query, a key and a value of each head, or of each group of heads, lie together.
void fuse_by_group(TensorNames& names, const std::string& name, const DecoderConfig& config);
// n_embd and the other sizes as GPT-2 and its descendants call them, and activation_function.
void read_gpt_sizes(const JsonFields& fields, DecoderConfig& config, int64_t positions,
                    const std::string& activation = "gelu_new");
// A key that has had another name.
int64_t read_either(const JsonFields& fields, const char* key, const char* other,
                    std::optional<int64_t> fallback = std::nullopt);
void pass_over_summaries(const JsonFields& fields);  // keys of GPT-2's descendants that are of other tasks
void set_gpt_names(TensorNames& names);              // of embeddings, norms and the layers
// Norms behind attention and the MLP, none before them.
void set_norms_behind(TensorNames& names);
// Names with ".bias" where the description has biases.
void set_plain_mlp(DecoderConfig& config, const std::string& up, const std::string& down);

}  // namespace weft::models
