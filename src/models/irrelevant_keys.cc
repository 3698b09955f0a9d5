#include "models/irrelevant_keys.h"

#include <algorithm>
#include <array>

namespace weft::models {
namespace {

constexpr const char *kOrigin = "says where the file comes from", *kTraining = "is of training alone",
                     *kTorch = "is how PyTorch runs it", *kTask = "is of other tasks than writing text",
                     *kEncoder = "weft's language models are decoders",
                     *kText = "the tokenizer's files say it",
                     *kSampling = "how a text is sampled is said with each text",
                     *kRestriction = "weft has no such restriction of what may be written";

// What config.json had before there was a generation_config.json, and both have.
constexpr IrrelevantKey kGenerating[] = {
    {"_name_or_path", kOrigin},
    {"_commit_hash", kOrigin},
    {"transformers_version", kOrigin},
    {"use_cache", kTorch},
    {"return_dict_in_generate", kTorch},
    {"output_attentions", kTorch},
    {"output_hidden_states", kTorch},
    {"output_scores", kTorch},
    {"decoder_start_token_id", kEncoder},
    {"pad_token_id", "texts are not padded"},
    {"max_length", kSampling},
    {"max_new_tokens", kSampling},
    {"do_sample", kSampling},
    {"early_stopping", kSampling},
    {"temperature", kSampling},
    {"top_k", kSampling},
    {"top_p", kSampling},
    {"min_p", kSampling},
    {"typical_p", kSampling},
    {"repetition_penalty", kSampling},
    {"num_beams", kSampling},
    {"num_beam_groups", kSampling},
    {"num_return_sequences", kSampling},
    {"diversity_penalty", kSampling},
    {"length_penalty", kSampling},
    {"remove_invalid_values", kSampling},
    {"min_length", kRestriction, "0"},
    {"no_repeat_ngram_size", kRestriction, "0"},
    {"encoder_no_repeat_ngram_size", kRestriction, "0"},
    {"bad_words_ids", kRestriction, "[]"},
    {"suppress_tokens", kRestriction, "[]"},
    {"begin_suppress_tokens", kRestriction, "[]"},
    {"forced_bos_token_id", kRestriction, "[]"},
    {"forced_eos_token_id", kRestriction, "[]"},
    {"exponential_decay_length_penalty", kRestriction, "[]"},
};

// source: the fields of transformers' PretrainedConfig, and of LlamaConfig, MistralConfig and Qwen2Config,
// versions 4.31 to 5; those that published checkpoints of the three families have besides.
constexpr IrrelevantKey kConfigAlone[] = {
    {"architectures", "model_type says it"},
    {"name_or_path", kOrigin},
    {"transformers.js_config", kOrigin},
    {"is_llama_config", kOrigin},
    {"unsloth_fixed", kOrigin},
    {"unsloth_version", kOrigin},
    {"auto_map", "is code for transformers; weft computes what model_type says"},
    {"attention_dropout", kTraining},
    {"attn_pdrop", kTraining},
    {"embd_pdrop", kTraining},
    {"resid_pdrop", kTraining},
    {"hidden_dropout", kTraining},
    {"dropout", kTraining},
    {"embed_dropout", kTraining},
    {"embedding_dropout", kTraining},
    {"resid_dropout", kTraining},
    {"layerdrop", kTraining},
    {"init_std", kTraining},
    {"residual_dropout", kTraining},
    {"cache_implementation", kTorch},
    {"hidden_dropout_prob", kTraining},
    {"attention_probs_dropout_prob", kTraining},
    {"initializer_range", kTraining},
    {"gradient_checkpointing", kTraining},
    {"neftune_noise_alpha", kTraining},
    {"return_dict", kTorch},
    {"torchscript", kTorch},
    {"tf_legacy_loss", kTorch},
    {"use_bfloat16", kTorch},
    {"use_flash_attn", kTorch},
    {"_flash_attn_2_enabled", kTorch},
    {"_attn_implementation", kTorch},
    {"_attn_implementation_autoset", kTorch},
    {"_attn_implementation_internal", kTorch},
    {"attn_implementation", kTorch},
    {"_experts_implementation", kTorch},
    {"chunk_size_feed_forward", kTorch},
    {"num_logits_to_keep", kTorch},
    {"pretraining_tp", "splits products that are the same whole"},
    {"finetuning_task", kTask},
    {"id2label", kTask},
    {"label2id", kTask},
    {"num_labels", kTask},
    {"problem_type", kTask},
    {"task_specific_params", kTask},
    {"classifier_dropout", kTask},
    {"is_decoder", "a causal language model is one"},
    {"is_encoder_decoder", kEncoder, "false"},
    {"add_cross_attention", kEncoder, "false"},
    {"cross_attention_hidden_size", kEncoder, ""},
    {"tie_encoder_decoder", kEncoder, "false"},
    {"pruned_heads", "weft does not prune heads", "{} []"},
    {"partial_rotary_factor", "weft rotates whole heads", "1 1.0"},
    {"use_mrope", "weft has no positions in several dimensions", "false"},
    {"sep_token_id", kTask},
    {"unk_token_id", kText},
    {"tokenizer_class", kText},
    {"prefix", kText, "\"\""},
    {"model_max_length", "max_position_embeddings says it"},
    {"max_sequence_length", "max_position_embeddings says it"},
};

// source: the fields of transformers' GenerationConfig, versions 4.31 to 5.
constexpr IrrelevantKey kGenerationAlone[] = {
    {"_from_model_config", kOrigin},
    {"generation_kwargs", kOrigin, "{}"},
    {"bos_token_id", "config.json and the tokenizer say it"},
    {"max_time", kSampling},
    {"top_h", kSampling},
    {"epsilon_cutoff", kSampling},
    {"eta_cutoff", kSampling},
    {"penalty_alpha", kSampling},
    {"renormalize_logits", kSampling},
    {"stop_strings", kSampling, "[]"},
    {"cache_implementation", kTorch},
    {"cache_config", kTorch},
    {"compile_config", kTorch},
    {"disable_compile", kTorch},
    {"return_legacy_cache", kTorch},
    {"output_logits", kTorch},
    {"low_memory", kTorch},
    {"prefill_chunk_size", kTorch},
    {"is_assistant", "speculation is asked for with each text"},
    {"num_assistant_tokens", "speculation is asked for with each text"},
    {"num_assistant_tokens_schedule", "speculation is asked for with each text"},
    {"assistant_confidence_threshold", "speculation is asked for with each text"},
    {"assistant_early_exit", "speculation is asked for with each text"},
    {"assistant_lookbehind", "speculation is asked for with each text"},
    {"target_lookbehind", "speculation is asked for with each text"},
    {"prompt_lookup_num_tokens", "speculation is asked for with each text"},
    {"max_matching_ngram_size", "speculation is asked for with each text"},
    {"token_healing", kRestriction, "false"},
    {"guidance_scale", kRestriction, "1 1.0"},
    {"min_new_tokens", kRestriction, "0"},
    {"encoder_repetition_penalty", kRestriction, "1 1.0"},
    {"force_words_ids", kRestriction, "[]"},
    {"constraints", kRestriction, "[]"},
    {"sequence_bias", kRestriction, "{} []"},
    {"forced_decoder_ids", kRestriction, "[]"},
    {"watermarking_config", kRestriction, "{}"},
    {"dola_layers", kRestriction, "[]"},
};

// Of models of several kinds of input, keys that are not of the text part.
constexpr const char* kPictures = "is of what the model is shown beside texts";
constexpr IrrelevantKey kOtherParts[] = {
    {"vision_config", kPictures},
    {"image_token_id", kPictures},
    {"image_token_index", kPictures},
    {"video_token_id", kPictures},
    {"video_token_index", kPictures},
    {"vision_start_token_id", kPictures},
    {"vision_end_token_id", kPictures},
    {"vision_token_id", kPictures},
    {"boi_token_id", kPictures},
    {"boi_token_index", kPictures},
    {"eoi_token_id", kPictures},
    {"eoi_token_index", kPictures},
    {"mm_tokens_per_image", kPictures},
    {"projector_hidden_act", kPictures},
    {"multimodal_projector_bias", kPictures},
    {"spatial_merge_size", kPictures},
    {"vision_feature_layer", kPictures},
    {"vision_feature_select_strategy", kPictures},
    {"vision_aspect_ratio", kPictures},
    {"image_seq_length", kPictures},
    {"image_grid_pinpoints", kPictures},
    {"use_image_newline_parameter", kPictures},
    {"downsample_factor", kPictures},
    {"downsample_ratio", kPictures},
    {"adapter_layer_norm_eps", kPictures},
    {"is_composition", kOrigin},
};

// source: the ModelArgs of Meta's llama and llama3.
constexpr IrrelevantKey kParams[] = {
    {"max_batch_size", "a cache is as large as it is asked for"},
    {"model_parallel_size", "the shards say it"},
};

template <size_t kFirst, size_t kSecond>
constexpr auto joined(const IrrelevantKey (&first)[kFirst], const IrrelevantKey (&second)[kSecond]) {
  std::array<IrrelevantKey, kFirst + kSecond> all{};
  std::copy(std::begin(first), std::end(first), all.begin());
  std::copy(std::begin(second), std::end(second), all.begin() + kFirst);
  return all;
}

constexpr auto kConfig = joined(kConfigAlone, kGenerating);
constexpr auto kGeneration = joined(kGenerationAlone, kGenerating);

}  // namespace

std::span<const IrrelevantKey> irrelevant_config_keys() { return kConfig; }
std::span<const IrrelevantKey> irrelevant_keys_of_other_parts() { return kOtherParts; }
std::span<const IrrelevantKey> irrelevant_generation_keys() { return kGeneration; }
std::span<const IrrelevantKey> irrelevant_params_keys() { return kParams; }

}  // namespace weft::models
