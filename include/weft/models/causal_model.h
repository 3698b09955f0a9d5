// Decoder-only language models: whatever DecoderConfig describes (weft/models/config.h).
//
//   auto model = weft::models::CausalModel::from_pretrained("Llama-3.2-1B", {.quantize = "int8"});
//   auto tokenizer = weft::models::Tokenizer::open("Llama-3.2-1B");
//   weft::models::Generation generation(model, tokenizer->encode("Once upon a time"), {.max_new_tokens =
// 100});
//   while (auto token = generation.next()) …
//
// Activations are float32; weights are what the checkpoint has or `quantize` makes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/config.h"
#include "weft/quantization.h"
#include "weft/tensor.h"

namespace weft::kernels {
struct AttentionRule;
}  // namespace weft::kernels

namespace weft::models {

class DecoderStep;      // src/models/decoder_step.h
class FunctionCache;    // src/models/decoder_functions.h
class StepPlan;         // src/models/step_plan.h
class WeightSource;     // src/models/weight_source.h
struct DecoderWeights;  // src/models/decoder_weights.h
struct Share;           // src/models/model_ranks.h

// Keys and values of the tokens so far, allocated once. Any model with layers of these sizes may go on with
// it.
struct KVCache {
  // Per layer [kv_heads, capacity, head_dim]; the rank's heads. Of int8, rows have the scale of their numbers
  // behind them, in the bytes of a float32: [kv_heads, capacity, head_dim + 4]. Of a convolution, keys are
  // [1, capacity, hidden], what it was given, and values have no elements; of a delta rule, values are its
  // state, float32 [value heads, key dimension, value dimension].
  std::vector<Tensor> keys, values;
  int64_t length = 0;     // tokens it holds; may be set back, with states to 0 alone
  int64_t in_states = 0;  // tokens that the states have seen
  int64_t text = 0;       // tokens that its text will have at least: see long_text_from()
  int64_t capacity = 0;
  std::shared_ptr<StepPlan>
      plan;  // of Execution::Compiled; made anew when the model or the tensors are others
};

// How a step runs.
enum class Execution : uint8_t {
  Eager,     // tensor functions; keys and values are concatenated, the cache grows with every token
  Static,    // tensor functions over the static cache
  Compiled,  // a prepared list of kernel calls over memory that is planned once
};

struct ModelOptions {
  // "" (the checkpoint's), "float32", "bfloat16", "float16": of the weights.
  std::string dtype = "";
  // "" or "none", "int8", "int4-g32", "int4-g64", "int4-g128", "int4-g256".
  std::string quantize = "";
  // How inputs enter products (weft/quantization.h): "" or "auto" (InputPrecision::Weights), "float32",
  // "int16", "int8", "bfloat16". "int8" makes prefill with quantized weights fastest; weights alone are
  // quantized with the others.
  std::string activations = "";
  // float32, bfloat16, float16 or int8 (each head's numbers at a position with a scale, on the CPU, in models
  // of attention alone); "": the weights' dtype.
  std::string cache_dtype = "";
  // Compares the checksums of the checkpoint's files first, which reads all of them (.pth and .bin;
  // safetensors files have none, and are refused then).
  bool verify = false;
  int64_t max_positions = 0;  // tokens a cache may hold; 0: the configuration's, at most 8192
  Execution execution = Execution::Compiled;
  // Each rank of the process group (weft/distributed.h) has its heads, its columns of the layer between, and
  // its part of the vocabulary, and reads no more of the checkpoint than that. All ranks make the same calls,
  // and get the same logits.
  bool tensor_parallel = false;
  // Where weights, cache and steps are. On a GPU (docs/GPU.md) every execution is Static's, activations are
  // float32, and there are no ranks.
  Device device = {};
  // Called as layers are made: done of total.
  std::function<void(int64_t done, int64_t total)> progress = nullptr;
};

class CausalModel : public std::enable_shared_from_this<CausalModel> {
 public:
  // A folder that Checkpoint reads (src/models/checkpoint.h), or that `weft quantize` wrote. RuntimeError and
  // ValueError naming the file and tensor.
  static std::shared_ptr<const CausalModel> from_pretrained(const std::string& folder,
                                                            const ModelOptions& options = {});
  // Weights of these sizes that mean nothing, for measuring.
  static std::shared_ptr<const CausalModel> random(const DecoderConfig& config,
                                                   const ModelOptions& options = {}, uint64_t seed = 0);
  ~CausalModel();

  const DecoderConfig& config() const { return config_; }
  const ModelOptions& options() const { return options_; }
  int64_t max_positions() const { return options_.max_positions; }
  // Ranks that share it; 1 without tensor parallelism.
  int num_ranks() const;
  // What rank 0 decided, on all ranks: for what depends on time or on a signal.
  bool agreed(bool decision) const;
  // Bytes of weights that one token reads, and that lie in memory; this rank's, with tensor parallelism.
  int64_t bytes_per_token() const;

  // Texts of more tokens turn by other frequencies (LongRope), with which keys have to be computed anew.
  std::optional<int64_t> long_text_from() const;

  KVCache make_cache(int64_t capacity = 0) const;  // 0: max_positions()
  // Logits float32 [1, vocab] of the token after the last one, or [tokens, vocab] with `all_logits`. The
  // tokens take the positions from cache.length on, which grows. Valid until the next call with the same
  // cache. IndexError for ids outside the vocabulary, ValueError for no tokens, more than the cache has room
  // for, or a cache that does not fit the model; one that Execution::Eager has grown serves only that.
  Tensor forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits = false) const;
  // The same, said for one call.
  Tensor forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits, Execution execution) const;

 private:
  friend class DecoderStep;
  friend class DeviceBatch;
  friend class Gptq;
  friend class PagedBatch;
  friend class StepPlan;
  friend class TextCache;
  // Told the inputs of a layer's products: which products, and the input [tokens, in].
  using Observer = std::function<void(const char* products, const Tensor& input)>;

  CausalModel(DecoderConfig config, ModelOptions options, WeightSource& weights);
  // Heads, and elements of a row, that a layer's cache holds for a token: of keys, of values.
  struct CacheShape {
    int64_t heads, key_dim, value_dim;
  };
  CacheShape cache_shape(int64_t layer) const;
  void check_cache_dtype() const;
  Shape state_shape() const;  // of a delta rule
  // Residuals are added on rank 0 alone, before the sum over the ranks.
  const Tensor* residual(const Tensor& x) const;
  void sum_over_ranks(const Tensor& x) const;
  // own [rows, vocab_block] and others [ranks, rows, vocab_block] become logits [rows, vocab].
  void gather_logits(const Tensor& own, const Tensor& others, const Tensor& logits) const;
  void finish_logits(const Tensor& logits) const;  // their cap, in place
  void check_cache(const KVCache& cache, int64_t new_tokens, Execution execution) const;
  // Rows of the embedding, and what is added to those at these positions: float32 [tokens, hidden].
  void embed(std::span<const int64_t> tokens, const std::function<int64_t(int64_t row)>& position,
             float* out) const;
  kernels::AttentionRule attention_rule(size_t layer) const;
  bool rounds_attention() const { return precision_ == InputPrecision::BFloat16; }

  // src/models/decoder_functions.cc: the formula in tensor functions, on any device.
  Tensor forward_functions(std::span<const int64_t> tokens, KVCache& cache, bool all_logits,
                           Execution execution) const;
  Tensor embed_functions(std::span<const int64_t> tokens, std::span<const int64_t> positions) const;
  Tensor run_layer(size_t layer, const Tensor& x, FunctionCache& cache,
                   const Observer& observe = nullptr) const;
  Tensor logits_functions(const Tensor& x) const;  // on the host
  // The first layer alone, of a text that begins here.
  Tensor run_alone(const Tensor& x, KVCache& cache, const Observer& observe) const;

  DecoderConfig config_;
  ModelOptions options_;
  std::unique_ptr<Share> share_;
  InputPrecision precision_ = InputPrecision::Weights;
  std::unique_ptr<const DecoderWeights> weights_;
};

// cos and sin of every position's angles, [positions, dim / 2, 2]; `in_long_text`: of LongRope's long
// factors.
Tensor rope_table(const Rope& rope, int64_t positions, bool in_long_text = false);
// Angles per position, of each pair of elements that turns; rope.dim says how many there are.
std::vector<float> rope_frequencies(const Rope& rope, bool in_long_text = false);

}  // namespace weft::models
