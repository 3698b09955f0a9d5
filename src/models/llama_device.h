// A model on a device that is not the CPU: weights, cache and steps are there; token numbers go there, logits
// come back.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/llama_weights.h"
#include "weft/models/llama.h"

namespace weft::models {

class LlamaDevice {
 public:
  LlamaDevice(const LlamaConfig& config, const LlamaOptions& options, LlamaWeights& weights,
              const Tensor& rope);
  int64_t bytes_per_token() const { return bytes_; }
  // As Llama::forward, of tokens and a cache that have been checked; logits on the host.
  Tensor run(std::span<const int64_t> tokens, KVCache& cache, bool all_logits) const;

  // What the layers make of tokens: [tokens, hidden]. `attention` gives [tokens, heads head_dim] of a layer's
  // queries, keys and values.
  Tensor hidden(std::span<const int64_t> tokens,
                const std::function<Tensor(size_t layer, const Tensor& qkv)>& attention) const;
  // Of tokens that begin at `position`, beside the keys and values of those before; theirs are added.
  Tensor attend(size_t layer, const Tensor& qkv, const Tensor& keys, const Tensor& values,
                const Tensor& position) const;
  Tensor logits(const Tensor& x) const;  // on the host
  const LlamaConfig& config() const { return config_; }
  Device device() const { return device_; }

 private:
  struct Layer {
    Tensor attention_norm, mlp_norm;
    LinearWeight query, key, value, output, gate, up, down;
  };
  LinearWeight moved(const LinearWeight& weight);
  Tensor moved(const Tensor& tensor) const { return tensor.to(device_); }

  LlamaConfig config_;
  Device device_;
  Tensor embedding_, norm_, rope_;
  LinearWeight lm_head_;
  std::vector<Layer> layers_;
  int64_t bytes_ = 0;  // of weights that one token reads
};

}  // namespace weft::models
