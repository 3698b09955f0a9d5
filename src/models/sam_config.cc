// Which Segment Anything a state dict is.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/printable.h"
#include "models/sam_layers.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// What batch normalization counts, which is for training.
constexpr const char* kBatches = ".bn.num_batches_tracked";

// The state dict's shapes, asked for by name; what was asked for is known.
class SamShapes {
 public:
  SamShapes(const SamWeights& weights, const std::string& path) : weights_(weights), path_(path) {}

  Shape get(const std::string& name, size_t ndim) {
    const auto found = weights_.find(name);
    WEFT_CHECK(
        found != weights_.end(),
        fmt::format("'{}': the checkpoint of another model: expected Segment Anything's weights "
                    "(sam_vit_b, sam_vit_l, sam_vit_h or mobile_sam), and there is no '{}' among {} weights",
                    path_, name, weights_.size()));
    const Shape shape = found->second.shape();
    bool is_empty = false;
    for (const int64_t size : shape) is_empty = is_empty || size == 0;
    WEFT_CHECK(shape.size() == ndim && !is_empty,
               fmt::format("'{}': '{}' must have {} dimensions and no size 0, got {}", path_, name, ndim,
                           str(shape)));
    return shape;
  }
  void expect(const std::string& name, const Shape& expected) {
    const Shape shape = get(name, expected.size());
    WEFT_CHECK(shape == expected,
               fmt::format("'{}': '{}' has shape {}, expected {}", path_, name, str(shape), str(expected)));
    known_.insert(name);
  }
  void expect_layer(const std::string& name, Shape weight) {
    expect(name + ".weight", weight);
    expect(name + ".bias", {weight[0]});
  }
  // A convolution without bias and a batch normalization.
  void expect_normed(const std::string& name, Shape weight) {
    expect(name + ".c.weight", weight);
    for (const char* part : {"weight", "bias", "running_mean", "running_var"})
      expect(fmt::format("{}.bn.{}", name, part), {weight[0]});
    if (weights_.contains(name + kBatches)) expect(name + kBatches, {});
  }
  bool has(const std::string& name) const { return weights_.contains(name); }
  int64_t count(const std::string& before, const std::string& after) const {
    int64_t n = 0;
    while (weights_.contains(before + std::to_string(n) + after)) ++n;
    return n;
  }
  void expect_nothing_else() const {
    for (const auto& item : weights_)
      WEFT_CHECK(known_.contains(item.first),
                 fmt::format("'{}': the model has no use for '{}'", path_, printable(item.first)));
  }

 private:
  const SamWeights& weights_;
  const std::string& path_;
  std::set<std::string> known_;
};

void expect_neck(SamShapes& shapes, const SamConfig& c, int64_t width) {
  const std::string neck = "image_encoder.neck.";
  shapes.expect(neck + "0.weight", {c.out_channels, width, 1, 1});
  shapes.expect_layer(neck + "1", {c.out_channels});
  shapes.expect(neck + "2.weight", {c.out_channels, c.out_channels, 3, 3});
  shapes.expect_layer(neck + "3", {c.out_channels});
}

void expect_encoder(SamShapes& shapes, const SamConfig& c, const std::vector<int64_t>& rows) {
  const std::string encoder = "image_encoder.";
  const int64_t head_dim = c.width / c.heads, hidden = shapes.get(encoder + "blocks.0.mlp.lin1.weight", 2)[0];
  shapes.expect(encoder + "pos_embed", {1, c.grid(), c.grid(), c.width});
  shapes.expect_layer(encoder + "patch_embed.proj", {c.width, 3, c.patch, c.patch});
  for (int64_t i = 0; i < c.depth; ++i) {
    const std::string block = fmt::format("{}blocks.{}.", encoder, i);
    for (const char* norm : {"norm1", "norm2"}) shapes.expect_layer(block + norm, {c.width});
    for (const char* table : {"attn.rel_pos_h", "attn.rel_pos_w"})
      shapes.expect(block + table, {rows[static_cast<size_t>(i)], head_dim});
    shapes.expect_layer(block + "attn.qkv", {3 * c.width, c.width});
    shapes.expect_layer(block + "attn.proj", {c.width, c.width});
    shapes.expect_layer(block + "mlp.lin1", {hidden, c.width});
    shapes.expect_layer(block + "mlp.lin2", {c.width, hidden});
  }
  expect_neck(shapes, c, c.width);
}

// The stages of a TinyViT, whose weights are all there.
std::vector<SamConfig::Stage> expect_tiny_vit(SamShapes& shapes, const SamConfig& c,
                                              const std::string& path) {
  const std::string encoder = "image_encoder.", layers = encoder + "layers.";
  const int64_t count = shapes.count(layers, ".downsample.conv1.c.weight") + 1;
  WEFT_CHECK(count >= 3, fmt::format("'{}': an image encoder of {} stages: no MobileSAM", path, count));
  std::vector<SamConfig::Stage> stages;
  for (int64_t i = 0; i < count; ++i) {
    const std::string blocks = fmt::format("{}{}.blocks.", layers, i);
    const int64_t width = shapes.get(i == 0 ? encoder + "patch_embed.seq.2.c.weight"
                                            : fmt::format("{}{}.downsample.conv1.c.weight", layers, i - 1),
                                     4)[0];
    SamConfig::Stage stage{width, shapes.count(blocks, i == 0 ? ".conv1.c.weight" : ".attn.norm.weight"), 0,
                           0};
    if (i == 0) {
      const int64_t hidden = shapes.get(blocks + "0.conv1.c.weight", 4)[0];
      shapes.expect_normed(encoder + "patch_embed.seq.0", {width / 2, 3, 3, 3});
      shapes.expect_normed(encoder + "patch_embed.seq.2", {width, width / 2, 3, 3});
      for (int64_t block = 0; block < stage.depth; ++block) {
        shapes.expect_normed(fmt::format("{}{}.conv1", blocks, block), {hidden, width, 1, 1});
        shapes.expect_normed(fmt::format("{}{}.conv2", blocks, block), {hidden, 1, 3, 3});
        shapes.expect_normed(fmt::format("{}{}.conv3", blocks, block), {width, hidden, 1, 1});
      }
    } else {
      const Shape biases = shapes.get(blocks + "0.attn.attention_biases", 2);
      const int64_t hidden = shapes.get(blocks + "0.mlp.fc1.weight", 2)[0];
      stage.heads = biases[0];
      stage.window = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(biases[1]))));
      WEFT_CHECK(width % stage.heads == 0 && stage.window * stage.window == biases[1],
                 fmt::format("'{}': stage {}: {} heads in {} channels, {} distances", path, i, stage.heads,
                             width, biases[1]));
      const std::string merging = fmt::format("{}{}.downsample.", layers, i - 1);
      shapes.expect_normed(merging + "conv1", {width, stages.back().width, 1, 1});
      shapes.expect_normed(merging + "conv2", {width, 1, 3, 3});
      shapes.expect_normed(merging + "conv3", {width, width, 1, 1});
      for (int64_t block = 0; block < stage.depth; ++block) {
        const std::string name = fmt::format("{}{}.", blocks, block);
        for (const char* norm : {"attn.norm", "mlp.norm"}) shapes.expect_layer(name + norm, {width});
        shapes.expect(name + "attn.attention_biases", biases);
        shapes.expect_layer(name + "attn.qkv", {3 * width, width});
        shapes.expect_layer(name + "attn.proj", {width, width});
        shapes.expect_normed(name + "local_conv", {width, 1, 3, 3});
        shapes.expect_layer(name + "mlp.fc1", {hidden, width});
        shapes.expect_layer(name + "mlp.fc2", {width, hidden});
      }
    }
    stages.push_back(stage);
  }
  const std::string head = encoder + "head";  // of the classifier that it was trained as
  if (shapes.has(head + ".weight")) {
    shapes.expect_layer(head, {shapes.get(head + ".weight", 2)[0], stages.back().width});
    shapes.expect_layer(encoder + "norm_head", {stages.back().width});
  }
  expect_neck(shapes, c, stages.back().width);
  return stages;
}

void expect_prompts(SamShapes& shapes, const SamConfig& c) {
  const std::string prompts = "prompt_encoder.", down = prompts + "mask_downscaling.";
  const int64_t channels = c.out_channels, hidden = shapes.get(down + "3.weight", 4)[0];
  shapes.expect(prompts + "pe_layer.positional_encoding_gaussian_matrix", {2, channels / 2});
  for (int i = 0; i < 4; ++i)
    shapes.expect(fmt::format("{}point_embeddings.{}.weight", prompts, i), {1, channels});
  for (const char* name : {"not_a_point_embed.weight", "no_mask_embed.weight"})
    shapes.expect(prompts + name, {1, channels});
  shapes.expect_layer(down + "0", {hidden / 4, 1, 2, 2});
  shapes.expect_layer(down + "1", {hidden / 4});
  shapes.expect_layer(down + "3", {hidden, hidden / 4, 2, 2});
  shapes.expect_layer(down + "4", {hidden});
  shapes.expect_layer(down + "6", {channels, hidden, 1, 1});
}

void expect_decoder(SamShapes& shapes, const SamConfig& c) {
  const std::string decoder = "mask_decoder.", layers = decoder + "transformer.layers.";
  const int64_t channels = c.out_channels,
                cross = shapes.get(layers + "0.cross_attn_token_to_image.q_proj.weight", 2)[0],
                hidden = shapes.get(layers + "0.mlp.lin1.weight", 2)[0];
  WEFT_CHECK(c.decoder_heads > 0 && channels % c.decoder_heads == 0 && cross % c.decoder_heads == 0,
             fmt::format("decoder_heads must divide {} and {}, got {}", channels, cross, c.decoder_heads));
  const auto expect_attention = [&](const std::string& name, int64_t width) {
    for (const char* part : {".q_proj", ".k_proj", ".v_proj"})
      shapes.expect_layer(name + part, {width, channels});
    shapes.expect_layer(name + ".out_proj", {channels, width});
  };
  for (int64_t i = 0; i < c.decoder_depth; ++i) {
    const std::string layer = fmt::format("{}{}.", layers, i);
    expect_attention(layer + "self_attn", channels);
    expect_attention(layer + "cross_attn_token_to_image", cross);
    expect_attention(layer + "cross_attn_image_to_token", cross);
    for (int norm = 1; norm <= 4; ++norm)
      shapes.expect_layer(fmt::format("{}norm{}", layer, norm), {channels});
    shapes.expect_layer(layer + "mlp.lin1", {hidden, channels});
    shapes.expect_layer(layer + "mlp.lin2", {channels, hidden});
  }
  expect_attention(decoder + "transformer.final_attn_token_to_image", cross);
  shapes.expect_layer(decoder + "transformer.norm_final_attn", {channels});
  shapes.expect(decoder + "iou_token.weight", {1, channels});
  shapes.expect(decoder + "mask_tokens.weight", {c.mask_tokens, channels});
  const std::string up = decoder + "output_upscaling.";
  shapes.expect(up + "0.weight", {channels, channels / 4, 2, 2});
  shapes.expect(up + "0.bias", {channels / 4});
  shapes.expect_layer(up + "1", {channels / 4});
  shapes.expect(up + "3.weight", {channels / 4, channels / 8, 2, 2});
  shapes.expect(up + "3.bias", {channels / 8});
  const auto expect_layers = [&](const std::string& name, int64_t depth, int64_t width, int64_t out) {
    for (int64_t i = 0; i < depth; ++i)
      shapes.expect_layer(fmt::format("{}.layers.{}", name, i),
                          {i + 1 < depth ? width : out, i > 0 ? width : channels});
  };
  for (int64_t i = 0; i < c.mask_tokens; ++i)
    expect_layers(fmt::format("{}output_hypernetworks_mlps.{}", decoder, i), 3, channels, channels / 8);
  const std::string head = decoder + "iou_prediction_head";
  expect_layers(head, c.iou_depth, shapes.get(head + ".layers.0.weight", 2)[0], c.mask_tokens);
}

// The sizes of a ViT, and of each block, how many rows its tables have.
std::vector<int64_t> read_vit(SamShapes& shapes, SamConfig& c, const std::string& path) {
  const std::string blocks = "image_encoder.blocks.";
  const Shape positions = shapes.get("image_encoder.pos_embed", 4);
  const int64_t grid = positions[1];
  c.width = positions[3];
  c.patch = shapes.get("image_encoder.patch_embed.proj.weight", 4)[2];
  c.image_size = grid * c.patch;
  c.depth = shapes.count(blocks, ".norm1.weight");
  c.window = 0;
  c.global_blocks.clear();
  const int64_t head_dim = shapes.get(blocks + "0.attn.rel_pos_h", 2)[1];
  WEFT_CHECK(c.width % head_dim == 0,
             fmt::format("'{}': heads of {} channels in {}", path, head_dim, c.width));
  c.heads = c.width / head_dim;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < c.depth; ++i) {
    rows.push_back(shapes.get(fmt::format("{}{}.attn.rel_pos_h", blocks, i), 2)[0]);
    const int64_t size = (rows.back() + 1) / 2;
    WEFT_CHECK(rows.back() % 2 == 1 && (size == grid || c.window == 0 || c.window == size),
               fmt::format("'{}': block {} has windows of {} rows of positions", path, i, rows.back()));
    if (size == grid)
      c.global_blocks.push_back(i);
    else
      c.window = size;
  }
  return rows;
}

void check_numbers(const SamWeights& weights, const std::string& path) {
  for (const auto& [name, x] : weights) {
    if (name.ends_with(kBatches)) continue;
    bool finite = x.dtype() == DType::F32;
    const float* values = finite ? x.data_as<float>() : nullptr;
    for (int64_t i = 0; finite && i < x.numel(); ++i) finite = std::isfinite(values[i]);
    WEFT_CHECK(finite, fmt::format("'{}': '{}' holds what is no number: {}, NaN or infinite", path,
                                   printable(name), short_name(x.dtype())));
  }
}

}  // namespace

SamConfig sam_config(const SamWeights& weights, const std::string& path, const SamOptions& options) {
  SamShapes shapes(weights, path);
  const std::string layers = "mask_decoder.transformer.layers.";
  const bool is_mobile = shapes.has("image_encoder.patch_embed.seq.0.c.weight");
  SamConfig c;
  std::vector<int64_t> rows;
  if (is_mobile) {
    WEFT_CHECK(
        options.image_size >= c.patch && options.image_size % c.patch == 0,
        fmt::format("'{}': image_size must be a multiple of {}, got {}", path, c.patch, options.image_size));
    c.image_size = options.image_size;
    c.width = c.depth = c.heads = c.window = 0;
    c.global_blocks.clear();
  } else {
    rows = read_vit(shapes, c, path);
  }
  c.out_channels = shapes.get("image_encoder.neck.0.weight", 4)[0];
  c.decoder_depth = shapes.count(layers, ".norm1.weight");
  c.decoder_heads = options.decoder_heads;
  c.mask_tokens = shapes.get("mask_decoder.mask_tokens.weight", 2)[0];
  c.iou_depth = shapes.count("mask_decoder.iou_prediction_head.layers.", ".weight");
  WEFT_CHECK(c.decoder_depth > 0 && c.iou_depth > 0 && c.mask_tokens > 1 && c.out_channels % 8 == 0,
             fmt::format("'{}': no mask decoder of Segment Anything", path));
  if (is_mobile)
    c.stages = expect_tiny_vit(shapes, c, path);
  else
    expect_encoder(shapes, c, rows);
  expect_prompts(shapes, c);
  expect_decoder(shapes, c);
  shapes.expect_nothing_else();
  check_numbers(weights, path);
  return c;
}

}  // namespace weft::models
