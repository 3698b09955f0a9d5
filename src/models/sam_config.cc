// Which Segment Anything a state dict is.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/printable.h"
#include "models/sam_layers.h"
#include "weft/error.h"

namespace weft::models {
namespace {

// The state dict's shapes, asked for by name; what was asked for is known.
class SamShapes {
 public:
  SamShapes(const SamWeights& weights, const std::string& path) : weights_(weights), path_(path) {}

  Shape get(const std::string& name, size_t ndim) {
    const auto found = weights_.find(name);
    WEFT_CHECK(found != weights_.end(),
               fmt::format("'{}': the checkpoint of another model: expected Segment Anything's weights "
                           "(sam_vit_b, sam_vit_l or sam_vit_h), and there is no '{}' among {} weights",
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
  shapes.expect(encoder + "neck.0.weight", {c.out_channels, c.width, 1, 1});
  shapes.expect_layer(encoder + "neck.1", {c.out_channels});
  shapes.expect(encoder + "neck.2.weight", {c.out_channels, c.out_channels, 3, 3});
  shapes.expect_layer(encoder + "neck.3", {c.out_channels});
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

void check_numbers(const SamWeights& weights, const std::string& path) {
  for (const auto& [name, x] : weights) {
    bool finite = x.dtype() == DType::F32;
    const float* values = finite ? x.data_as<float>() : nullptr;
    for (int64_t i = 0; finite && i < x.numel(); ++i) finite = std::isfinite(values[i]);
    WEFT_CHECK(finite, fmt::format("'{}': '{}' holds what is no number: {}, NaN or infinite", path,
                                   printable(name), short_name(x.dtype())));
  }
}

}  // namespace

SamConfig sam_config(const SamWeights& weights, const std::string& path, int64_t decoder_heads) {
  SamShapes shapes(weights, path);
  const std::string blocks = "image_encoder.blocks.", layers = "mask_decoder.transformer.layers.";
  const Shape positions = shapes.get("image_encoder.pos_embed", 4);
  const int64_t grid = positions[1];
  SamConfig c;
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
  c.out_channels = shapes.get("image_encoder.neck.0.weight", 4)[0];
  c.decoder_depth = shapes.count(layers, ".norm1.weight");
  c.decoder_heads = decoder_heads;
  c.mask_tokens = shapes.get("mask_decoder.mask_tokens.weight", 2)[0];
  c.iou_depth = shapes.count("mask_decoder.iou_prediction_head.layers.", ".weight");
  WEFT_CHECK(c.decoder_depth > 0 && c.iou_depth > 0 && c.mask_tokens > 1 && c.out_channels % 8 == 0,
             fmt::format("'{}': no mask decoder of Segment Anything", path));
  expect_encoder(shapes, c, rows);
  expect_prompts(shapes, c);
  expect_decoder(shapes, c);
  shapes.expect_nothing_else();
  check_numbers(weights, path);
  return c;
}

}  // namespace weft::models
