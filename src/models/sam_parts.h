// What the parts of Segment Anything have in common: weights by name, and layers of them.
#pragma once

#include <string>
#include <utility>

#include "models/sam_layers.h"
#include "weft/ops.h"

namespace weft::models {

// Weights below a name: "image_encoder.blocks.0.".
class SamPart {
 public:
  SamPart(const SamWeights& weights, std::string name) : weights_(weights), name_(std::move(name)) {}
  SamPart operator[](const std::string& name) const { return {weights_, name_ + name + "."}; }
  SamPart operator[](int64_t i) const { return (*this)[std::to_string(i)]; }
  const Tensor& get(const std::string& name) const { return weights_.at(name_ + name); }
  const Tensor& weight() const { return get("weight"); }
  const Tensor& bias() const { return get("bias"); }

 private:
  const SamWeights& weights_;
  std::string name_;
};

inline Tensor linear_of(const SamPart& part, const Tensor& x) {
  return linear(x, part.weight(), part.bias());
}
inline Tensor norm_of(const SamPart& part, const Tensor& x, double eps) {
  return layer_norm(x, {part.weight().size(0)}, part.weight(), part.bias(), eps);
}
// Over the channels of [B, C, H, W].
Tensor image_norm_of(const SamPart& part, const Tensor& x);
// The image encoder's last layers: [B, C, H, W] to [B, out_channels, H, W].
Tensor neck_of(const SamPart& neck, const Tensor& x);

// MobileSAM's image encoder: [B, 3, S, S] to [B, out_channels, S / 16, S / 16].
Tensor tiny_vit_embedding(const SamConfig& config, const SamPart& encoder, Tensor x);

// [B, H, W, C] as [B * windows, window, window, C], with zeros where windows go beyond, and back to
// x's sizes.
Tensor to_windows(const Tensor& x, int64_t window);
Tensor from_windows(const Tensor& windows, const Tensor& x);

}  // namespace weft::models
