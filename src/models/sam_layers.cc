#include "models/sam_layers.h"

#include <algorithm>
#include <numbers>

#include "models/sam_parts.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

Tensor convolution_of(const SamPart& part, const Tensor& x, int64_t stride) {
  return conv2d(x, part.weight(), part.bias(), {stride, stride});
}
// Linear layers with ReLU between them.
Tensor layers_of(const SamPart& part, Tensor x, int64_t depth) {
  for (int64_t i = 0; i < depth; ++i) {
    x = linear_of(part["layers"][i], x);
    if (i + 1 < depth) x = relu(x);
  }
  return x;
}

// ---- the image encoder -----------------------------------------------------------------------------------

// [2 * size - 1, C] to [size, C, size]: of query and key, the row of their distance, its channels in between.
Tensor table_of(const Tensor& positions, int64_t size) {
  const Tensor rows = Tensor::empty({size * size}, DType::I64);
  for (int64_t i = 0; i < size * size; ++i) rows.data_as<int64_t>()[i] = i / size - i % size + size - 1;
  return transpose(
      reshape(index_select(positions, 0, rows.to(positions.device())), {size, size, positions.size(1)}), 1,
      2);
}

// [B, H, W, C], whose tables are for that size.
Tensor attention_of(const SamPart& part, const Tensor& x, int64_t heads, int64_t size) {
  const int64_t batch = x.size(0), keys = size * size, width = x.size(3), head_dim = width / heads;
  const Tensor qkv =
      permute(reshape(linear_of(part["qkv"], x), {batch, keys, 3, heads, head_dim}), {2, 0, 3, 1, 4});
  const Tensor q = select(qkv, 0, 0), k = select(qkv, 0, 1), v = select(qkv, 0, 2);
  const Tensor grid = reshape(q, {batch, heads, size, size, head_dim});
  const Tensor down = matmul(grid, table_of(part.get("rel_pos_h"), size));
  const Tensor across = transpose(matmul(transpose(grid, 2, 3), table_of(part.get("rel_pos_w"), size)), 2, 3);
  const Tensor y = relative_position_attention(q, k, v, reshape(down, {batch, heads, keys, size}),
                                               reshape(across, {batch, heads, keys, size}));
  return linear_of(part["proj"], reshape(transpose(y, 1, 2), {batch, size, size, width}));
}

// ---- prompts ---------------------------------------------------------------------------------------------

// [..., 2] in [0, 1] to [..., C].
Tensor encoding_of(const SamPart& prompts, const Tensor& positions) {
  const Tensor& matrix = prompts["pe_layer"].get("positional_encoding_gaussian_matrix");
  const Tensor angles =
      mul(matmul(sub(mul(positions, Scalar(2.0)), Scalar(1.0)), matrix), Scalar(2 * std::numbers::pi));
  return concatenate({sin(angles), cos(angles)}, -1);
}

// [1, H * W, C]: of the centers of the grid's cells.
Tensor grid_encoding(const SamPart& prompts, int64_t grid) {
  const Tensor centers = Tensor::empty({1, grid * grid, 2}, DType::F32);
  for (int64_t i = 0; i < grid * grid; ++i) {
    centers.data_as<float>()[2 * i] = (static_cast<float>(i % grid) + 0.5f) / static_cast<float>(grid);
    centers.data_as<float>()[2 * i + 1] = (static_cast<float>(i / grid) + 0.5f) / static_cast<float>(grid);
  }
  const Device device = prompts["pe_layer"].get("positional_encoding_gaussian_matrix").device();
  return encoding_of(prompts, centers.to(device));
}

Tensor sparse_embeddings(const SamConfig& config, const SamPart& prompts, const Tensor& points,
                         const std::vector<int>& labels) {
  if (labels.empty()) return Tensor::empty({1, 0, config.out_channels}, DType::F32, points.device());
  const Tensor encoded = encoding_of(
      prompts, true_divide(add(points, Scalar(0.5)), Scalar(static_cast<double>(config.image_size))));
  std::vector<Tensor> rows;
  for (size_t i = 0; i < labels.size(); ++i) {
    const Tensor& none = prompts["not_a_point_embed"].weight();
    rows.push_back(labels[i] < 0 ? none
                                 : add(narrow(encoded, 0, static_cast<int64_t>(i), 1),
                                       prompts["point_embeddings"][labels[i]].weight()));
  }
  return unsqueeze(concatenate(rows, 0), {0});
}

// [1, C, H, W], or [1, C, 1, 1] without a mask.
Tensor dense_embedding(const SamPart& prompts, const Tensor& mask) {
  if (!mask.defined()) return reshape(prompts["no_mask_embed"].weight(), {1, -1, 1, 1});
  const SamPart down = prompts["mask_downscaling"];
  Tensor x = gelu(image_norm_of(down["1"], convolution_of(down["0"], mask, 2)));
  x = gelu(image_norm_of(down["4"], convolution_of(down["3"], x, 2)));
  return convolution_of(down["6"], x, 1);
}

// ---- the mask decoder ------------------------------------------------------------------------------------

struct SamDecoder {
  const SamConfig& config;
  const SamPart part;

  Tensor attention(const SamPart& layer, const Tensor& q, const Tensor& k, const Tensor& v) const {
    const auto split = [&](const char* name, const Tensor& x) {
      return transpose(reshape(linear_of(layer[name], x), {x.size(0), x.size(1), config.decoder_heads, -1}),
                       1, 2);
    };
    const Tensor y = transpose(
        scaled_dot_product_attention(split("q_proj", q), split("k_proj", k), split("v_proj", v)), 1, 2);
    return linear_of(layer["out_proj"], reshape(y, {y.size(0), y.size(1), -1}));
  }

  // Tokens and image attend to themselves and each other; both [1, N, C].
  void transform(Tensor& tokens, Tensor& image, const Tensor& prompts, const Tensor& positions) const {
    const SamPart transformer = part["transformer"];
    for (int64_t i = 0; i < config.decoder_depth; ++i) {
      const SamPart layer = transformer["layers"][i];
      const Tensor q = i == 0 ? tokens : add(tokens, prompts);
      const Tensor own = attention(layer["self_attn"], q, q, tokens);
      tokens = norm_of(layer["norm1"], i == 0 ? own : add(tokens, own), 1e-5);
      const Tensor keys = add(image, positions);
      const Tensor seen = attention(layer["cross_attn_token_to_image"], add(tokens, prompts), keys, image);
      tokens = norm_of(layer["norm2"], add(tokens, seen), 1e-5);
      const Tensor hidden = relu(linear_of(layer["mlp"]["lin1"], tokens));
      tokens = norm_of(layer["norm3"], add(tokens, linear_of(layer["mlp"]["lin2"], hidden)), 1e-5);
      const Tensor told = attention(layer["cross_attn_image_to_token"], keys, add(tokens, prompts), tokens);
      image = norm_of(layer["norm4"], add(image, told), 1e-5);
    }
    const Tensor last = attention(transformer["final_attn_token_to_image"], add(tokens, prompts),
                                  add(image, positions), image);
    tokens = norm_of(transformer["norm_final_attn"], add(tokens, last), 1e-5);
  }

  // [1, H * W, C] to [1, C / 8, 16 * H * W].
  Tensor upscaled(const Tensor& image, int64_t grid) const {
    const SamPart up = part["output_upscaling"];
    Tensor x = reshape(transpose(image, 1, 2), {1, -1, grid, grid});
    x = conv_transpose2d(x, up["0"].weight(), up["0"].bias(), {2, 2});
    x = gelu(image_norm_of(up["1"], x));
    x = gelu(conv_transpose2d(x, up["3"].weight(), up["3"].bias(), {2, 2}));
    return reshape(x, {1, x.size(1), -1});
  }
};

}  // namespace

Tensor image_norm_of(const SamPart& part, const Tensor& x) {
  const Tensor centered = sub(x, mean(x, {1}, true));
  const Tensor scaled =
      true_divide(centered, sqrt(add(mean(mul(centered, centered), {1}, true), Scalar(1e-6))));
  return add(mul(reshape(part.weight(), {-1, 1, 1}), scaled), reshape(part.bias(), {-1, 1, 1}));
}

Tensor neck_of(const SamPart& neck, const Tensor& x) {
  const Tensor y = image_norm_of(neck["1"], conv2d(x, neck["0"].weight()));
  return image_norm_of(neck["3"], conv2d(y, neck["2"].weight(), {}, {1, 1}, {1, 1}));
}

Tensor to_windows(const Tensor& x, int64_t window) {
  const int64_t batch = x.size(0), height = x.size(1), breadth = x.size(2), width = x.size(3);
  const int64_t rows = (height + window - 1) / window, columns = (breadth + window - 1) / window;
  Tensor y = pad(x, {0, 0, 0, columns * window - breadth, 0, rows * window - height});
  y = permute(reshape(y, {batch, rows, window, columns, window, width}), {0, 1, 3, 2, 4, 5});
  return reshape(y, {batch * rows * columns, window, window, width});
}

Tensor from_windows(const Tensor& windows, const Tensor& x) {
  const int64_t batch = x.size(0), height = x.size(1), breadth = x.size(2), width = x.size(3);
  const int64_t window = windows.size(1), rows = (height + window - 1) / window,
                columns = (breadth + window - 1) / window;
  Tensor y = permute(reshape(windows, {batch, rows, columns, window, window, width}), {0, 1, 3, 2, 4, 5});
  y = reshape(y, {batch, rows * window, columns * window, width});
  return narrow(narrow(y, 1, 0, height), 2, 0, breadth);
}

Tensor sam_image_embedding(const SamConfig& config, const SamWeights& weights, Tensor x) {
  const SamPart encoder(weights, "image_encoder.");
  if (!config.stages.empty()) return tiny_vit_embedding(config, encoder, x);
  x = permute(convolution_of(encoder["patch_embed"]["proj"], x, config.patch), {0, 2, 3, 1});
  x = add(x, encoder.get("pos_embed"));
  for (int64_t i = 0; i < config.depth; ++i) {
    const SamPart block = encoder["blocks"][i];
    const auto& global = config.global_blocks;
    const bool is_global = std::find(global.begin(), global.end(), i) != global.end();
    const Tensor normal = norm_of(block["norm1"], x, 1e-6);
    x = add(x, is_global ? attention_of(block["attn"], normal, config.heads, config.grid())
                         : from_windows(attention_of(block["attn"], to_windows(normal, config.window),
                                                     config.heads, config.window),
                                        normal));
    const Tensor hidden = gelu(linear_of(block["mlp"]["lin1"], norm_of(block["norm2"], x, 1e-6)));
    x = add(x, linear_of(block["mlp"]["lin2"], hidden));
  }
  return neck_of(encoder["neck"], permute(x, {0, 3, 1, 2}));
}

std::pair<Tensor, Tensor> sam_decode(const SamConfig& config, const SamWeights& weights,
                                     const Tensor& embedding, const Tensor& points,
                                     const std::vector<int>& labels, const Tensor& mask, bool multimask) {
  const SamPart prompts(weights, "prompt_encoder.");
  const SamDecoder decoder{config, SamPart(weights, "mask_decoder.")};
  const int64_t grid = config.grid(), channels = config.out_channels;
  const Tensor sparse = sparse_embeddings(config, prompts, points, labels);
  const Tensor own = unsqueeze(
      concatenate({decoder.part["iou_token"].weight(), decoder.part["mask_tokens"].weight()}, 0), {0});
  const Tensor given = concatenate({own, sparse}, 1);
  Tensor tokens = given;
  Tensor image =
      transpose(reshape(add(embedding, dense_embedding(prompts, mask)), {1, channels, grid * grid}), 1, 2);
  decoder.transform(tokens, image, given, grid_encoding(prompts, grid));

  const Tensor pixels = decoder.upscaled(image, grid);
  std::vector<Tensor> rows;
  const int64_t first = multimask ? 1 : 0, count = multimask ? config.mask_tokens - 1 : 1;
  for (int64_t i = first; i < first + count; ++i)
    rows.push_back(layers_of(decoder.part["output_hypernetworks_mlps"][i], select(tokens, 1, 1 + i), 3));
  const Tensor logits = reshape(matmul(stack(rows, 1), pixels), {1, count, 4 * grid, 4 * grid});
  const Tensor iou = layers_of(decoder.part["iou_prediction_head"], select(tokens, 1, 0), config.iou_depth);
  return {logits, narrow(iou, 1, first, count)};
}

}  // namespace weft::models
