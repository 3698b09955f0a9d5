// source: convert_hf_to_gguf.py of llama.cpp.
#include "models/gguf_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "core/printable.h"
#include "core/suggest.h"
#include "models/families/family.h"
#include "models/gguf.h"
#include "models/gguf_architecture.h"
#include "models/gguf_model.h"
#include "models/tensor_names.h"
#include "models/tokenizers.h"
#include "models/weight_source.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

using Metadata = nlohmann::ordered_json;

struct GgufScheme {
  DType dtype = DType::F32;
  BlockFormat blocks = BlockFormat::None;
};
const std::map<std::string, GgufScheme>& schemes_of_gguf() {
  static const auto& table = *new std::map<std::string, GgufScheme>{{"q8_0", {.blocks = BlockFormat::Q8_0}},
                                                                    {"q4_0", {.blocks = BlockFormat::Q4_0}},
                                                                    {"f32", {DType::F32}},
                                                                    {"f16", {DType::F16}},
                                                                    {"bf16", {DType::BF16}}};
  return table;
}

class GgufWriter {
 public:
  GgufWriter(std::string folder, std::shared_ptr<const Checkpoint> checkpoint, const std::string& scheme)
      : folder_(std::move(folder)), config_(checkpoint->config()), named_(config_) {
    const auto found = schemes_of_gguf().find(scheme);
    WEFT_CHECK(found != schemes_of_gguf().end(),
               fmt::format("unknown scheme '{}' of GGUF files; they are {}{}", printable(scheme),
                           fmt::join(gguf_schemes(), ", "), did_you_mean(scheme, gguf_schemes())));
    scheme_ = found->second;
    check(checkpoint->quantization() == "none", "already quantized as " + checkpoint->quantization());
    // Mixtral and Mistral are of Llama's architecture.
    const bool is_llama = config_.model_type == "mistral" || config_.model_type == "mixtral";
    const std::string type = is_llama                              ? "llama"
                             : config_.model_type == "deepseek_v2" ? "deepseek_v3"
                                                                   : config_.model_type;
    for (const auto& [name, architecture] : gguf_architectures())
      if (architecture.model_type == type) name_ = name, architecture_ = architecture;
    check(!name_.empty(), fmt::format("weft writes no GGUF files of '{}' models", config_.model_type));
    name_as_gguf(named_);
    ModelOptions options{.dtype = "float32", .cache_dtype = "float32"};
    source_ = checkpoint_weights(std::move(checkpoint), options);
  }

  void write(const std::string& path, const std::function<void(int64_t, int64_t)>& progress) {
    Metadata metadata = {{"general.architecture", name_},
                         {"general.name", std::filesystem::path(folder_).filename().string()},
                         {"general.quantization_version", 2}};
    describe(metadata);
    add_gguf_tokenizer(folder_, config_, metadata);
    whole_tensors();
    for (layer_ = 0; layer_ < config_.num_layers; ++layer_) {
      matrices();
      vectors();
      if (progress) progress(layer_ + 1, config_.num_layers);
    }
    save_gguf(path, metadata, tensors_);
    const std::string lost = difference(gguf_config(GgufFile(path)));
    if (lost.empty()) return;
    std::filesystem::remove(path);
    check(false, fmt::format("GGUF files of the architecture '{}' have no way to say {}", name_, lost));
  }

 private:
  void check(bool condition, const std::string& why) const {
    WEFT_CHECK(condition, fmt::format("'{}': {}", folder_, why));
  }
  bool is(std::initializer_list<const char*> names) const {
    return std::find(names.begin(), names.end(), name_) != names.end();
  }

  // What a reader of the file would not know; "" for nothing.
  std::string difference(const DecoderConfig& read) const {
    for (int64_t i = 0; i < config_.num_layers; ++i) {
      const LayerKind &own = config_.layer(i), &other = read.layer(i);
      if (own.window != other.window) return fmt::format("the window of layer {}", i);
      if (own.chunk != other.chunk) return fmt::format("the chunk of layer {}", i);
      if (own.is_convolution != other.is_convolution)
        return fmt::format("which layers are convolutions, as layer {}", i);
      if (own.has_temperature != other.has_temperature || own.score_factor != other.score_factor ||
          own.has_head_norm != other.has_head_norm)
        return fmt::format("how layer {} scales its scores", i);
      if (own.rope != other.rope) return fmt::format("how positions turn in layer {}", i);
      if (own.has_experts != other.has_experts)
        return fmt::format("which layers have experts, as layer {}", i);
    }
    if (config_.activation != read.activation) return "the activation";
    const Alibi slopes = config_.alibi.value_or(Alibi{}), others = read.alibi.value_or(Alibi{});
    if (config_.alibi.has_value() != read.alibi.has_value() || slopes.max_bias != others.max_bias ||
        slopes.is_scaled != others.is_scaled || slopes.is_rounded != others.is_rounded)
      return "how scores fall with the distance";
    if (config_.qkv_bias != read.qkv_bias || config_.output_bias != read.output_bias ||
        config_.mlp_bias != read.mlp_bias)
      return "which matrices have biases";
    if (config_.is_parallel != read.is_parallel) return "that attention is beside the MLP";
    if (config_.head_norm != read.head_norm || config_.head_norm_bias != read.head_norm_bias)
      return "the norms of heads";
    if (config_.clip_qkv != read.clip_qkv) return "the limit of queries, keys and values";
    const Experts own = config_.experts.value_or(Experts{}), other = read.experts.value_or(Experts{});
    const auto is_near = [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(a); };
    if (own.is_normalized != other.is_normalized || own.scores != other.scores ||
        !is_near(own.scale, other.scale) || own.has_correction != other.has_correction)
      return "how experts are weighted";
    if (own.groups != other.groups || own.chosen_groups != other.chosen_groups ||
        own.group_best != other.group_best)
      return "which groups experts are chosen from";
    if (config_.activation_limit != read.activation_limit) return "the activation's limit";
    if (config_.convolution_bias != read.convolution_bias) return "the biases of convolutions";
    if (!is_near(config_.temperature, read.temperature) ||
        config_.temperature_positions != read.temperature_positions)
      return "how queries are scaled by their positions";
    if (config_.latent && (!is_near(*config_.score_scale, read.score_scale.value_or(0)) ||
                           config_.ropes[0].interleaved != read.ropes[0].interleaved))
      return "the scale of scores, or how positions turn";
    return "";
  }

  void describe(Metadata& metadata) {
    const auto set = [&](const char* key, auto value) { metadata[name_ + "." + key] = value; };
    const auto real = [&](const char* key, double value) { set(key, value); };
    set("context_length", config_.max_position_embeddings);
    set("embedding_length", config_.hidden_size);
    set("block_count", config_.num_layers);
    set("feed_forward_length", config_.intermediate_size);
    set("attention.head_count", config_.num_heads);
    set("attention.head_count_kv", config_.latent ? 1 : config_.num_kv_heads);
    set("attention.key_length", config_.head_dim);
    set("attention.value_length", config_.head_dim);
    if (config_.latent) describe_latent(set, real);
    if (is({"lfm2"})) {
      Metadata kv_heads = Metadata::array();
      for (int64_t i = 0; i < config_.num_layers; ++i)
        kv_heads.push_back(config_.layer(i).is_convolution ? 0 : config_.num_kv_heads);
      set("attention.head_count_kv", kv_heads);
      set("shortconv.l_cache", config_.convolution_size);
    }
    if (is({"llama4"}))
      for (int64_t i = config_.num_layers - 1; i >= 0; --i)
        if (config_.layer(i).has_experts) set("interleave_moe_layer_step", i + 1);
    set("vocab_size", config_.vocab_size);
    real(config_.norm == NormKind::Rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
         config_.norm_eps);
    for (int64_t i = 0; i < config_.num_layers; ++i)
      if (const auto window = config_.layer(i).window) set("attention.sliding_window", *window);
    if (config_.experts) {
      set("expert_count", config_.experts->count);
      set("expert_used_count", config_.experts->chosen);
      if (config_.model_type != "mixtral")
        set("expert_feed_forward_length", config_.experts->intermediate_size);
      if (config_.experts->shared_size > 0 && !config_.latent)
        set("expert_shared_feed_forward_length", config_.experts->shared_size);
    }
    if (config_.score_cap > 0 || is({"gemma2"})) real("attn_logit_softcapping", config_.score_cap);
    if (config_.logit_cap > 0 || is({"gemma2"})) real("final_logit_softcapping", config_.logit_cap);
    if (is({"command-r"})) real("logit_scale", config_.logit_scale);
    if (is({"mpt"})) real("attention.max_alibi_bias", config_.alibi->max_bias);
    if (is({"mpt"}) && config_.clip_qkv > 0) real("attention.clamp_kqv", config_.clip_qkv);
    if (is({"granite"})) {
      real("logit_scale", 1 / config_.logit_scale);
      real("embedding_scale", config_.embedding_scale);
      real("residual_scale", config_.residual_scale);
      real("attention.scale", *config_.score_scale);
    }
    if (is({"gptneox", "stablelm"})) set("use_parallel_residual", config_.is_parallel);
    describe_rope(set, real);
  }

  template <class Set, class Real>
  void describe_latent(const Set& set, const Real& real) {
    const LatentAttention& latent = *config_.latent;
    const Rope& rope = config_.ropes[0];
    if (latent.query_rank > 0) set("attention.q_lora_rank", latent.query_rank);
    set("attention.kv_lora_rank", latent.rank);
    set("attention.key_length", latent.rank + latent.rope_dim), set("attention.value_length", latent.rank);
    set("attention.key_length_mla", config_.head_dim), set("attention.value_length_mla", latent.value_dim);
    if (rope.scaling == RopeScaling::Yarn && rope.factor > 1) {
      const double of_all =
          std::sqrt(*config_.score_scale * std::sqrt(static_cast<double>(config_.head_dim)));
      real("rope.scaling.yarn_log_multiplier", (of_all - 1) / std::log(rope.factor));
    }
    if (!config_.experts) return;
    const Experts& experts = *config_.experts;
    int64_t dense = 0;
    while (dense < config_.num_layers && !config_.layer(dense).has_experts) ++dense;
    set("leading_dense_block_count", dense);
    check(experts.shared_size % experts.intermediate_size == 0,
          "GGUF files of this architecture have whole shared experts");
    set("expert_shared_count", experts.shared_size / experts.intermediate_size);
    set("expert_weights_norm", experts.is_normalized);
    real("expert_weights_scale", experts.scale);
    set("expert_gating_func", experts.scores == RouterScores::Softmax ? 1 : 2);
    if (experts.groups > 1) {
      set("expert_group_count", experts.groups);
      set("expert_group_used_count", experts.chosen_groups);
    }
  }

  template <class Set, class Real>
  void describe_rope(const Set& set, const Real& real) {
    const Rope& rope = config_.ropes[0];
    const int64_t dim = rope.dim == 0 ? config_.head_dim : rope.dim;
    if (config_.has_learned_positions || config_.alibi) return;
    set("rope.dimension_count", dim);
    real("rope.freq_base", rope.theta);
    if (config_.ropes.size() > 1) real("rope.freq_base_swa", config_.ropes[1].theta);
    switch (rope.scaling) {
      case RopeScaling::None: return;
      case RopeScaling::Linear: set("rope.scaling.type", "linear"); break;
      case RopeScaling::Llama3: {
        Rope whole = rope, plain = rope;
        whole.dim = plain.dim = dim;
        plain.scaling = RopeScaling::None;
        const std::vector<float> scaled = rope_frequencies(whole), unscaled = rope_frequencies(plain);
        std::vector<float> factors;
        for (size_t i = 0; i < scaled.size(); ++i) factors.push_back(unscaled[i] / scaled[i]);
        return add("rope_freqs.weight", Tensor::of(factors));
      }
      case RopeScaling::Yarn:
        set("rope.scaling.type", "yarn");
        set("rope.scaling.original_context_length", rope.original_positions);
        real("rope.scaling.yarn_beta_fast", rope.beta_fast),
            real("rope.scaling.yarn_beta_slow", rope.beta_slow);
        // Beside what follows from the factor; of latent attention, cosines and sines are as they are.
        check(!config_.latent || rope.attention_factor == 1,
              "GGUF files have no way to say this model's factor of cosines and sines");
        if (const double beside = rope.attention_factor / yarn_scale(rope.factor);
            !config_.latent && std::abs(beside - 1) > 1e-9)
          real("rope.scaling.attn_factor", beside);
        break;
      case RopeScaling::LongRope:
        set("rope.scaling.original_context_length", rope.original_positions);
        real("rope.scaling.attn_factor", rope.attention_factor);
        add("rope_factors_short.weight",
            Tensor::of(std::vector<float>(rope.short_factors.begin(), rope.short_factors.end())));
        add("rope_factors_long.weight",
            Tensor::of(std::vector<float>(rope.long_factors.begin(), rope.long_factors.end())));
        return;
    }
    real("rope.scaling.factor", rope.factor);
  }

  void add(const std::string& name, const Tensor& tensor) { tensors_.push_back({name, {.tensor = tensor}}); }
  void add_matrix(const std::string& name, const Tensor& weight) {
    const bool fits =
        scheme_.blocks == BlockFormat::None || weight.size(-1) % block_size(scheme_.blocks).elements == 0;
    if (scheme_.blocks == BlockFormat::None || !fits)
      return add(name, weight.to(fits ? scheme_.dtype : DType::F16));
    tensors_.push_back({name, {.tensor = blocks_of(weight, scheme_.blocks), .blocks = scheme_.blocks}});
  }

  Tensor offset(const Tensor& norm) const {
    return config_.norm_offset == 0 ? norm : norm + config_.norm_offset;
  }

  void whole_tensors() {
    const TensorNames &own = config_.names, &names = named_.names;
    const int64_t hidden = config_.hidden_size;
    RowTable table = source_->embedding(own.embedding + ".weight", config_.vocab_size, hidden);
    add_matrix(names.embedding + ".weight", table.rows);
    if (!names.embedding_norm.empty())
      for (const char* part : {".weight", ".bias"})
        add(names.embedding_norm + part, source_->vector(own.embedding_norm + part, {hidden}));
    if (config_.has_learned_positions)
      add(names.positions + ".weight",
          source_->embedding(own.positions + ".weight", config_.position_rows(), hidden).rows);
    add(names.final_norm + ".weight", offset(source_->vector(own.final_norm + ".weight", {hidden})));
    if (config_.norm_bias)
      add(names.final_norm + ".bias", source_->vector(own.final_norm + ".bias", {hidden}));
    if (!config_.tie_word_embeddings) {
      const LinearWeight head = source_->linear(own.head, config_.vocab_size, hidden, config_.head_bias);
      add_matrix(names.head + ".weight", head.weight);
      if (head.bias.defined()) add(names.head + ".bias", head.bias);
    } else {
      check(!config_.head_bias, "GGUF files have no bias of a head that is the embedding");
    }
  }

  // Rows of heads, so that pairs of elements that turn lie side by side.
  Tensor permuted(const Tensor& rows) const {
    const int64_t dim = config_.head_dim, heads = rows.size(0) / dim;
    Shape split = {heads, 2, dim / 2}, shape = rows.shape();
    if (rows.dim() > 1) split.push_back(rows.size(1));
    return reshape(transpose(reshape(rows, split), 1, 2).contiguous(), shape);
  }

  // What the architecture computes scores with, where the model has another scale: queries take the
  // difference.
  double query_factor() const {
    if (!config_.score_scale || is({"granite"}) || config_.latent) return 1;
    return *config_.score_scale * std::sqrt(static_cast<double>(config_.head_dim));
  }

  void matrices() {
    std::vector<NamedMatrix> own, named;
    for_each_matrix(config_, layer_, [&](const NamedMatrix& matrix) { own.push_back(matrix); });
    for_each_matrix(named_, layer_, [&](const NamedMatrix& matrix) { named.push_back(matrix); });
    // Tensors that hold several matrices, each part in its turn: by name, the parts.
    std::vector<std::string> order;
    std::map<std::string, std::vector<LinearWeight>> parts;
    std::map<std::string, NamedMatrix> kinds;
    const bool turns = architecture_.is_permuted && !config_.ropes[0].interleaved;
    const std::string prefix = layer_prefix(named_.names, layer_);
    for (size_t i = 0; i < own.size(); ++i) {
      LinearWeight weight = source_->linear(own[i].name, own[i].out, own[i].in, own[i].has_bias);
      const std::string& name = named[i].name.name;
      const bool is_query = name == prefix + named_.names.query.name && named[i].name.first == 0;
      if (turns && (is_query || name == prefix + "attn_k")) {
        weight.weight = permuted(weight.weight);
        if (weight.bias.defined()) weight.bias = permuted(weight.bias);
      }
      if (is_query && std::abs(query_factor() - 1) > 1e-9) {
        check(config_.head_norm == HeadNorm::None,
              "GGUF files have no way to say this model's scale of scores");
        weight.weight = weight.weight * query_factor();
        if (weight.bias.defined()) weight.bias = weight.bias * query_factor();
      }
      if (!parts.contains(name)) order.push_back(name);
      parts[name].push_back(weight);
      kinds.insert_or_assign(name, named[i]);
    }
    for (const std::string& name : order) put(name, parts[name], kinds.at(name));
  }

  void put(const std::string& name, const std::vector<LinearWeight>& parts, const NamedMatrix& kind) {
    std::vector<Tensor> weights, biases;
    for (const LinearWeight& part : parts) {
      weights.push_back(part.weight);
      if (part.bias.defined()) biases.push_back(part.bias);
    }
    if (name.ends_with("attn_kv_b")) return put_keys_and_values(name, weights[0]);
    const bool is_expert = kind.name.count > 0;
    const auto joined = [&](const std::vector<Tensor>& all) {
      return is_expert ? stack(all, 0) : concatenate(all, 0);
    };
    if (kind.name.is_exact)
      add(tensor_of(kind.name), weights[0]);
    else
      add_matrix(tensor_of(kind.name), joined(weights));
    if (!biases.empty()) add(kind.name.bias.empty() ? name + ".bias" : kind.name.bias, joined(biases));
  }

  // Of latent attention, those of heads lie apart, keys on their side: [heads, rank, plain], [heads, value,
  // rank].
  void put_keys_and_values(const std::string& name, const Tensor& both) {
    const LatentAttention& latent = *config_.latent;
    const int64_t plain = latent.plain_dim, all = plain + latent.value_dim;
    const Tensor heads = reshape(both, {config_.num_heads, all, latent.rank});
    const std::string before = name.substr(0, name.size() - std::string("kv_b").size());
    add_matrix(before + "k_b.weight", transpose(slice(heads, 1, 0, plain), 1, 2).contiguous());
    add_matrix(before + "v_b.weight", slice(heads, 1, plain, all).contiguous());
  }

  void vectors() {
    std::vector<std::pair<std::string, Shape>> own, named;
    for_each_vector(config_, layer_,
                    [&](const std::string& name, const Shape& shape) { own.emplace_back(name, shape); });
    for_each_vector(named_, layer_,
                    [&](const std::string& name, const Shape& shape) { named.emplace_back(name, shape); });
    for (size_t i = 0; i < own.size(); ++i) {
      const Tensor vector = source_->vector(own[i].first, own[i].second);
      if (vector.dim() == 3)  // of a convolution [hidden, 1, positions]
        add(named[i].first, reshape(vector, {vector.size(0), vector.size(2)}));
      else
        add(named[i].first, named[i].first.ends_with("norm.weight") ? offset(vector) : vector);
    }
  }

  std::string folder_, name_;
  DecoderConfig config_, named_;
  GgufArchitecture architecture_{};
  GgufScheme scheme_;
  std::unique_ptr<WeightSource> source_;
  std::vector<std::pair<std::string, GgufTensor>> tensors_;
  int64_t layer_ = 0;
};

}  // namespace

std::vector<std::string> gguf_schemes() {
  std::vector<std::string> names;
  for (const auto& item : schemes_of_gguf()) names.push_back(item.first);
  return names;
}

void write_gguf(const std::string& folder, std::shared_ptr<const Checkpoint> checkpoint,
                const std::string& scheme, const std::string& path,
                const std::function<void(int64_t, int64_t)>& progress) {
  GgufWriter(folder, std::move(checkpoint), scheme).write(path, progress);
}

}  // namespace weft::models
