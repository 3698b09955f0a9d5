// A decoder's layers in tensor functions: any device, and plain enough to compare the kernels' reading with.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "models/decoder_weights.h"
#include "weft/models/causal_model.h"

namespace weft::models {

// What layers have of the tokens before theirs.
class FunctionCache {
 public:
  virtual ~FunctionCache() = default;
  // [tokens, (heads + 2 kv_heads) head_dim] -> [tokens, heads head_dim]
  virtual Tensor attend(size_t layer, const Tensor& qkv) = 0;
  // What a convolution is given, [tokens, hidden] -> what it makes of it and of what it was given before.
  virtual Tensor convolve(size_t layer, const Tensor& x) = 0;
  // The state of a delta rule, and whether the text begins with these tokens.
  virtual std::pair<Tensor*, bool> state(size_t layer) = 0;
};

// A part of a text whose cache tensors are at hand.
struct TextPart {
  const DecoderConfig& config;
  const DecoderWeights& weights;
  int64_t past;  // tokens before these
  int64_t text;  // tokens that the text has at least
  bool grows;    // keys and values are concatenated, else written to where they belong
};
// In plain tensor functions; keys and values are the cache's, or become longer ones.
Tensor attend_plainly(const TextPart& part, size_t layer, const Tensor& qkv, Tensor& keys, Tensor& values);
// By the operator, where the layer has nothing that it has not; else plainly.
Tensor attend_on_device(const TextPart& part, size_t layer, const Tensor& qkv, Tensor& keys, Tensor& values);
Tensor convolve_plainly(const TextPart& part, size_t layer, const Tensor& x, Tensor& keys);

}  // namespace weft::models
