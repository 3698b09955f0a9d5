// Decoder-only language models of the Llama family: Llama 2 and 3, CodeLlama, Mistral, Qwen2.
//
//   auto model = weft::models::Llama::from_pretrained("Llama-3.2-1B", {.quantize = "int8"});
//   auto tokenizer = weft::models::Tokenizer::open("Llama-3.2-1B");
//   weft::models::Generation generation(model, tokenizer->encode("Once upon a time"), {.max_new_tokens =
//   100}); while (auto token = generation.next()) …
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
struct CachedAttention;
}  // namespace weft::kernels

namespace weft::models {

class LlamaBatch;    // src/models/llama_batch.h
class LlamaDevice;   // src/models/llama_device.h
class LlamaPlan;     // src/models/llama_plan.h
class LlamaWeights;  // src/models/llama_weights.h

// Keys and values of the tokens so far, allocated once. Any model with layers of these sizes may go on with
// it.
struct KVCache {
  std::vector<Tensor> keys, values;  // per layer [kv_heads, capacity, head_dim]; the rank's heads
  int64_t length = 0;                // tokens it holds; may be set back
  int64_t capacity = 0;
  std::shared_ptr<LlamaPlan>
      plan;  // of Execution::Compiled; made anew when the model or the tensors are others
};

// How a step runs.
enum class Execution : uint8_t {
  Eager,     // tensor functions; keys and values are concatenated, the cache grows with every token
  Static,    // tensor functions over the static cache
  Compiled,  // a prepared list of kernel calls over memory that is planned once
};

struct LlamaOptions {
  // "" (the checkpoint's), "float32", "bfloat16", "float16": of the weights.
  std::string dtype = "";
  // "" or "none", "int8", "int4-g32", "int4-g64", "int4-g128", "int4-g256".
  std::string quantize = "";
  // How inputs enter products with quantized weights: "" or "auto", "float32", "int16", "int8"
  // (weft/quantization.h). "int8" makes prefill fastest; weights alone are quantized with the others.
  std::string activations = "";
  // float32, bfloat16 or float16; "": the weights' dtype.
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

class Llama : public std::enable_shared_from_this<Llama> {
 public:
  // A folder that Checkpoint reads (src/models/checkpoint.h), or that `weft quantize` wrote. RuntimeError and
  // ValueError naming the file and tensor.
  static std::shared_ptr<const Llama> from_pretrained(const std::string& folder,
                                                      const LlamaOptions& options = {});
  // Weights of these sizes that mean nothing, for measuring.
  static std::shared_ptr<const Llama> random(const LlamaConfig& config, const LlamaOptions& options = {},
                                             uint64_t seed = 0);
  ~Llama();

  const LlamaConfig& config() const { return config_; }
  const LlamaOptions& options() const { return options_; }
  int64_t max_positions() const { return options_.max_positions; }
  // Ranks that share it; 1 without tensor parallelism.
  int num_ranks() const { return share_.size; }
  // What rank 0 decided, on all ranks: for what depends on time or on a signal.
  bool agreed(bool decision) const;
  // Bytes of weights that one token reads, and that lie in memory; this rank's, with tensor parallelism.
  int64_t bytes_per_token() const;

  KVCache make_cache(int64_t capacity = 0) const;  // 0: max_positions()
  // Logits float32 [1, vocab] of the token after the last one, or [tokens, vocab] with `all_logits`. The
  // tokens take the positions from cache.length on, which grows. Valid until the next call with the same
  // cache. IndexError for ids outside the vocabulary, ValueError for no tokens, more than the cache has room
  // for, or a cache that does not fit the model; one that Execution::Eager has grown serves only that.
  Tensor forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits = false) const;
  // The same, said for one call.
  Tensor forward(std::span<const int64_t> tokens, KVCache& cache, bool all_logits, Execution execution) const;

 private:
  struct Layer {
    Tensor attention_norm, mlp_norm;  // [hidden]
    // With tensor parallelism, this rank's heads and columns.
    PackedLinear qkv;      // [(heads + 2 kv_heads) head_dim, hidden]
    PackedLinear output;   // [hidden, heads head_dim]
    PackedLinear gate_up;  // silu(gate x) * (up x): [intermediate, hidden] each
    PackedLinear down;     // [hidden, intermediate]
  };
  friend class LlamaBatch;
  friend class LlamaPlan;
  friend class Gptq;
  // Told the inputs of a layer's products: which products, and the input [tokens, in].
  using Observer = std::function<void(const char* products, const Tensor& input)>;

  // What this rank has of the configuration's sizes.
  struct Share {
    int rank = 0, size = 1;
    int64_t heads = 0, kv_heads = 0, intermediate = 0;
    int64_t vocab_block = 0, vocab = 0;  // of the first ranks; of this one
  };

  Llama(LlamaConfig config, LlamaOptions options, LlamaWeights& weights);
  void divide();
  // Residuals are added on rank 0 alone, before the sum over the ranks.
  const Tensor* residual(const Tensor& x) const { return share_.rank == 0 ? &x : nullptr; }
  void sum_over_ranks(const Tensor& x) const;
  // own [rows, vocab_block] and others [ranks, rows, vocab_block] become logits [rows, vocab].
  void gather_logits(const Tensor& own, const Tensor& others, const Tensor& logits) const;
  void check_cache(const KVCache& cache, int64_t new_tokens, Execution execution) const;
  void embed(std::span<const int64_t> tokens, float* out) const;
  Tensor forward_functions(std::span<const int64_t> tokens, KVCache& cache, bool all_logits,
                           bool static_cache) const;
  Tensor run_layer(size_t layer, const Tensor& x, KVCache& cache, bool static_cache,
                   const Observer& observe = nullptr) const;
  Tensor attend_growing(const Tensor& qkv, KVCache& cache, size_t layer) const;
  Tensor attend_static(const Tensor& qkv, KVCache& cache, size_t layer) const;
  // From position 0, into output [tokens, heads head_dim].
  kernels::CachedAttention cached_attention(size_t layer, const Tensor& qkv, const Tensor& keys,
                                            const Tensor& values, const Tensor& output) const;

  LlamaConfig config_;
  LlamaOptions options_;
  Share share_;
  InputPrecision precision_ = InputPrecision::Auto;
  Tensor embedding_;  // [vocab, hidden] of the checkpoint's dtype
  std::vector<Layer> layers_;
  Tensor norm_;  // [hidden]
  PackedLinear lm_head_;
  Tensor rope_;  // [max_positions, head_dim / 2, 2]: cos, sin
  std::unique_ptr<const LlamaDevice>
      on_device_;  // in place of the weights above, on a device that is not the CPU
};

// cos and sin of every position's angles, [positions, head_dim / 2, 2].
Tensor rope_table(const LlamaConfig& config, int64_t positions);

}  // namespace weft::models
