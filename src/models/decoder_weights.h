// A model's weights, as its two readings compute with them: decoder_step.cc with kernels over planned memory,
// decoder_functions.cc with tensor functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "models/model_ranks.h"
#include "models/weight_source.h"
#include "weft/models/causal_model.h"

namespace weft::models {

// A norm of rows; one that is not there has no size.
struct Norm {
  NormKind kind = NormKind::Rms;
  double eps = 0;
  int64_t size = 0;
  Tensor weight = {}, bias = {};

  explicit operator bool() const { return size > 0; }
  Tensor operator()(const Tensor& x) const;
  void run(const Tensor& x, const Tensor& out) const;  // contiguous float32 of the CPU; `out` may be x
};

// Norms of the heads of queries or keys.
struct HeadNorms {
  HeadNorm shape = HeadNorm::None;
  NormKind kind = NormKind::Rms;
  double eps = 0;
  int64_t heads = 0, dim = 0, all_heads = 0;  // this rank's, and all ranks'
  Tensor weight = {};                         // [dim], or [heads, dim]; undefined: ones
  Tensor bias = {};                           // [dim]; undefined: zeros

  explicit operator bool() const { return shape != HeadNorm::None; }
  // x[tokens, heads, dim]; `sum` adds over the ranks.
  Tensor operator()(const Tensor& x, const std::function<void(const Tensor&)>& sum) const;
  // In place; rows[i] at x + i * stride. sums[rows]: memory.
  void run(float* x, int64_t rows, int64_t stride, const Tensor& sums,
           const std::function<void(const Tensor&)>& sum) const;
};

// Matrices with one input: packed for the CPU's kernels, or as they are on another device.
class Product {
 public:
  Product() = default;
  // Their outputs one behind another; `is_gated`: activation(first) * second.
  Product(std::vector<LinearWeight> weights, Device device, bool is_gated = false);
  explicit operator bool() const { return packed_.defined() || !parts_.empty(); }
  Tensor operator()(const Tensor& x, const LinearEpilogue& epilogue = {}) const;
  const PackedLinear& packed() const { return packed_; }
  int64_t bytes() const;

 private:
  PackedLinear packed_;
  std::vector<LinearWeight> parts_;
  bool is_gated_ = false;
};

struct Mlp {
  Product in = {}, down = {};  // gate and up, or up alone
  int64_t size = 0;            // columns between, this rank's
  bool is_gated = true;
  MlpActivation activation = MlpActivation::Silu;
  double limit = 0;
  double alpha_positive = 0, alpha_negative = 0;  // of Xielu
  // The activation that the product itself computes; without one, activate() does.
  std::optional<LinearActivation> fused = std::nullopt;

  int64_t width() const { return is_gated && !fused ? 2 * size : size; }  // of what `in` gives
  int64_t bytes() const { return in.bytes() + down.bytes(); }
};

// out[rows, size] of what `in` gave, [rows, width]: an activation that no product computes.
void activate(const Mlp& mlp, const Tensor& in, const Tensor& out);
Tensor activate(const Mlp& mlp, const Tensor& in);  // in tensor functions

struct ExpertLayer {
  Product router = {}, shared_scale = {};
  Tensor correction = {};  // float32 [experts], on the host
  std::vector<Mlp> experts = {};
  std::optional<Mlp> shared = std::nullopt;
};

struct DecoderLayer {
  LayerKind kind = {};
  Norm attention_norm = {}, attention_post_norm = {}, mlp_norm = {}, mlp_post_norm = {};
  // With tensor parallelism, this rank's heads and columns.
  Product qkv = {};  // [(heads + 2 kv_heads) head_dim, hidden]
  Product output = {};
  HeadNorms query_norm = {}, key_norm = {};
  Tensor sinks = {};  // float32 [heads]
  // float32 [head_dim]: of norms that follow the turn, which changes no head's length: the rest of the norm
  // is before it.
  Tensor turned_query_weight = {}, turned_key_weight = {};
  Product latent_query_in = {}, latent_query_out = {}, latent_in = {}, latent_out = {};
  Norm latent_query_norm = {}, latent_norm = {};
  Product convolution_in = {};
  // float32 [positions, hidden], [hidden]; of a delta rule [positions, channels].
  Tensor convolution = {}, convolution_bias = {};
  // Of a delta rule: queries, keys, values and gates; what beta and the decay come from.
  Product delta_in = {}, delta_rates = {};
  Tensor delta_decay = {}, delta_step_bias = {}, delta_norm = {};  // float32: -exp(A_log), and as they are
  Product attention_gate = {};
  Mlp mlp = {};
  std::optional<ExpertLayer> experts = std::nullopt;
};

struct DecoderWeights {
  RowTable embedding;  // [vocab, hidden] of the checkpoint's dtype
  RowTable positions;  // learned ones
  Norm embedding_norm;
  Tensor slopes;  // float32 [heads] of alibi, this rank's
  std::vector<DecoderLayer> layers;
  Norm norm;
  Product head;
  // Per rope of the configuration: of short texts, and of long ones where those have another.
  struct RopeTable {
    Tensor of_short = {}, of_long = {};
    int64_t dim = 0, original_positions = 0;
  };
  std::vector<RopeTable> ropes;
  int64_t bytes_per_token = 0;
};

std::unique_ptr<const DecoderWeights> load_weights(const DecoderConfig& config, const ModelOptions& options,
                                                   const Share& share, WeightSource& source);

}  // namespace weft::models
