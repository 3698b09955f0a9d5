// MobileSAM's image encoder: convolutions, then a vision transformer in windows whose width grows as its grid
// shrinks. Wu et al. 2022, TinyViT; Zhang et al. 2023, Faster Segment Anything.
#include <cstdlib>

#include "models/sam_parts.h"

namespace weft::models {
namespace {

// With the batch normalization that fold_batch_norms() made part of it.
Tensor normed_of(const SamPart& part, const Tensor& x, int64_t stride = 1) {
  const SamPart c = part["c"];
  const int64_t pad = c.weight().size(2) / 2, groups = x.size(1) / c.weight().size(1);
  return conv2d(x, c.weight(), c.bias(), {stride, stride}, {pad, pad}, {1, 1}, groups);
}

// Three convolutions, of which the middle one is of each channel by itself.
Tensor bottleneck_of(const SamPart& part, const Tensor& x, int64_t stride = 1) {
  const Tensor wide = gelu(normed_of(part["conv1"], x));
  return normed_of(part["conv3"], gelu(normed_of(part["conv2"], wide, stride)));
}

// [1, heads, patches, patches] of [heads, window * window]: of query and key, what their distance adds.
Tensor bias_of(const Tensor& biases, int64_t window) {
  const int64_t patches = window * window;
  const Tensor distances = Tensor::empty({patches * patches}, DType::I64);
  for (int64_t i = 0; i < patches; ++i)
    for (int64_t j = 0; j < patches; ++j)
      distances.data_as<int64_t>()[i * patches + j] =
          std::abs(i / window - j / window) * window + std::abs(i % window - j % window);
  return reshape(index_select(biases, 1, distances.to(biases.device())),
                 {1, biases.size(0), patches, patches});
}

// Of windows [B, window, window, C].
Tensor tiny_attention_of(const SamPart& part, const Tensor& x, const SamConfig::Stage& stage) {
  const int64_t batch = x.size(0), patches = stage.window * stage.window;
  const Tensor normal = norm_of(part["norm"], x, 1e-5);
  const Tensor qkv = permute(
      reshape(linear_of(part["qkv"], normal), {batch, patches, stage.heads, 3, stage.width / stage.heads}),
      {3, 0, 2, 1, 4});
  const Tensor y = scaled_dot_product_attention(select(qkv, 0, 0), select(qkv, 0, 1), select(qkv, 0, 2),
                                                bias_of(part.get("attention_biases"), stage.window));
  return linear_of(part["proj"],
                   reshape(transpose(y, 1, 2), {batch, stage.window, stage.window, stage.width}));
}

// [B, C, H, W].
Tensor tiny_block_of(const SamPart& part, Tensor x, const SamConfig::Stage& stage) {
  x = permute(x, {0, 2, 3, 1});
  x = add(x, from_windows(tiny_attention_of(part["attn"], to_windows(x, stage.window), stage), x));
  x = permute(normed_of(part["local_conv"], permute(x, {0, 3, 1, 2})), {0, 2, 3, 1});
  const SamPart mlp = part["mlp"];
  const Tensor hidden = gelu(linear_of(mlp["fc1"], norm_of(mlp["norm"], x, 1e-5)));
  return permute(add(x, linear_of(mlp["fc2"], hidden)), {0, 3, 1, 2});
}

}  // namespace

void fold_batch_norms(SamWeights& weights) {
  const std::string end = ".bn.running_var";
  SamWeights folded;
  for (const auto& [name, variance] : weights) {
    if (!name.ends_with(end)) continue;
    const std::string before = name.substr(0, name.size() - end.size());
    const SamPart part(weights, before + "."), norm = part["bn"];
    const Tensor scale = true_divide(norm.weight(), sqrt(add(variance, Scalar(1e-5))));
    folded[before + ".c.weight"] = mul(part["c"].weight(), reshape(scale, {-1, 1, 1, 1})).contiguous();
    folded[before + ".c.bias"] = sub(norm.bias(), mul(norm.get("running_mean"), scale)).contiguous();
  }
  std::erase_if(weights, [](const auto& item) { return item.first.find(".bn.") != std::string::npos; });
  for (auto& [name, x] : folded) weights[name] = x;
}

Tensor tiny_vit_embedding(const SamConfig& config, const SamPart& encoder, Tensor x) {
  const SamPart patches = encoder["patch_embed"]["seq"];
  x = normed_of(patches["2"], gelu(normed_of(patches["0"], x, 2)), 2);
  const auto count = static_cast<int64_t>(config.stages.size());
  for (int64_t i = 0; i < count; ++i) {
    const SamConfig::Stage& stage = config.stages[static_cast<size_t>(i)];
    const SamPart layer = encoder["layers"][i];
    for (int64_t block = 0; block < stage.depth; ++block) {
      const SamPart part = layer["blocks"][block];
      x = i == 0 ? gelu(add(x, bottleneck_of(part, x))) : tiny_block_of(part, x, stage);
    }
    // Two halvings in the patches, and as many as lead to a sixteenth.
    if (i + 1 < count) x = bottleneck_of(layer["downsample"], x, i < 2 ? 2 : 1);
  }
  return neck_of(encoder["neck"], x);
}

}  // namespace weft::models
