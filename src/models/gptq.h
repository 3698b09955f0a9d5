// GPTQ: int4 weights whose rounding errors are made up for by the columns after them, as the model's own
// inputs want it. source: Frantar et al. 2022, "GPTQ: Accurate Post-Training Quantization for Generative
// Pre-trained Transformers".
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/checkpoint.h"
#include "models/weight_source.h"

namespace weft::models {

// quantize() of an int4 scheme, for inputs x of which `moments` is the sum of x^T x, float64 [in, in].
// ValueError for another scheme, an odd `in`, or numbers that are not finite.
LinearWeight quantize_gptq(const Tensor& weight, const Tensor& moments, const QuantizationScheme& scheme);

struct GptqWeight {
  LinearWeight weight;
  double output_error;  // sqrt(sum (x (w - w')^T)^2 / sum (x w^T)^2) over the inputs x
};

// Quantizes a checkpoint layer after layer, each for the inputs that the quantized layers before give it.
class Gptq {
 public:
  // `sequences`: token ids to calibrate with. ValueError where there are none, or one is outside the
  // vocabulary.
  Gptq(std::shared_ptr<const Checkpoint> checkpoint, const QuantizationScheme& scheme,
       const std::vector<std::vector<int64_t>>& sequences);
  ~Gptq();
  // The linear layers of the next layer, by name without ".weight": as often as there are layers.
  std::map<std::string, GptqWeight> next_layer();
  GptqWeight head();  // after all layers

 private:
  std::shared_ptr<const CausalModel> one_layer(const std::map<std::string, GptqWeight>& quantized) const;
  GptqWeight quantized(const Tensor& weight, const Tensor& moments) const;

  std::shared_ptr<const Checkpoint> checkpoint_;
  QuantizationScheme scheme_;
  DecoderConfig config_;
  std::unique_ptr<WeightSource> weights_;  // float32
  std::vector<Tensor> hidden_;             // what enters the next layer, per sequence [tokens, hidden]
  int64_t longest_ = 0, layer_ = 0;
};

}  // namespace weft::models
