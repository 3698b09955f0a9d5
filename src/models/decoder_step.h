// A step of a decoder as kernel calls over memory that is made once: of one text's tokens, or of rows of
// several
// texts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/cpu/attention_rule.h"
#include "models/decoder_weights.h"
#include "models/expert_choice.h"
#include "weft/models/causal_model.h"

namespace weft::models {

// Where a step's rows are in their texts, and where keys and values lie.
class StepCache {
 public:
  virtual ~StepCache() = default;
  virtual int64_t position(int64_t row) const = 0;
  // Writes keys and values of qkv, and attends to what the rows see.
  virtual void attend(size_t layer, const Tensor& qkv, const Tensor& output) const = 0;
  // What a convolution was given at a position of the row's text; of the cache's dtype.
  virtual void* convolved(size_t layer, int64_t row, int64_t position) const = 0;
  // What a delta rule keeps of the row's text, float32 [value_heads, key_dim, value_dim].
  virtual float* state(size_t layer, int64_t row) const = 0;
  virtual DType dtype() const = 0;
};

class DecoderStep {
 public:
  // Of up to `most_rows` rows, `most_logits` of which want logits. rows_are_independent: what a row gives
  // does not
  // depend on those beside it. `model` lives longer.
  DecoderStep(const CausalModel& model, InputPrecision precision, int64_t most_rows, int64_t most_logits,
              bool rows_are_independent);
  // Embeds tokens and runs all layers.
  void run(std::span<const int64_t> tokens, const StepCache& cache);
  // Of the last rows, or of those that `wanted` lists: valid until the next call. With ranks, of most_logits
  // rows.
  Tensor logits_of_last(int64_t rows);
  Tensor logits_of(std::span<const int64_t> wanted);
  // What the last norm gives of a row, [hidden]: valid until the next call.
  std::span<const float> state_of(int64_t row);

 private:
  Tensor view(const Tensor& buffer) const;  // of the step's rows
  void multiply(const PackedLinear& weights, const Tensor& x, const Tensor& out, LinearActivation activation,
                const Tensor* residual) const;
  void multiply(const Product& product, const Tensor& x, const Tensor& out) const {
    multiply(product.packed(), x, out, LinearActivation::None, nullptr);
  }
  void run_layer(size_t index, const StepCache& cache);
  void attention(size_t index, const Tensor& input, const StepCache& cache);
  void latent_rows(const DecoderLayer& layer, const Tensor& input, const Tensor& qkv);
  void values_of_heads(const Tensor& attended, const Tensor& values) const;
  void convolution(size_t index, const Tensor& input, const StepCache& cache);
  // The first numbers of each row of `parts` go to the cache, and what the layer's convolution makes of them
  // to `out`.
  void convolve(size_t index, const Tensor& parts, const Tensor& out, const StepCache& cache) const;
  void delta(size_t index, const Tensor& input, const StepCache& cache);
  void between(const Mlp& mlp, const Tensor& input, const Tensor& out, const Tensor& wide) const;
  void experts(const ExpertLayer& layer, const Tensor& input, const Tensor& out);
  // x += scale * norm(from W'), summed over the ranks.
  void add_product(const Product& product, const Tensor& from, const Norm& norm);
  void add_branch(const Norm& norm);
  Tensor head(const Tensor& last);

  const CausalModel& model_;
  const DecoderWeights& weights_;
  InputPrecision precision_;
  bool is_independent_;
  int64_t rows_ = 0;
  Tensor x_, normed_, qkv_, attended_, gated_, wide_, branch_;  // [most_rows, …]
  Tensor latent_query_, latent_query_normed_, queries_, latent_, latent_normed_, heads_, values_;
  Tensor delta_in_, delta_mixed_, delta_rates_, delta_out_, gates_;
  Tensor convolution_in_, router_, expert_in_, expert_out_, sums_, shared_scale_;
  Tensor wanted_, wanted_normed_, logits_, own_, own_vocab_, others_, last_;
  int64_t last_rows_ = 0;
  ExpertRows expert_rows_;
};

}  // namespace weft::models
