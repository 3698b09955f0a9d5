// The parts of Segment Anything as tensor functions over named weights.
#pragma once

#include <map>
#include <string>

#include "weft/models/sam.h"

namespace weft::models {

using SamWeights = std::map<std::string, Tensor>;

// The configuration of these weights; ValueError that names `path` where they are another model's, misshapen
// or no numbers.
SamConfig sam_config(const SamWeights& weights, const std::string& path, const SamOptions& options);
// Batch normalizations, whose statistics are constants, become part of the convolutions before them:
// "NAME.c.weight" and "NAME.bn.…" become "NAME.c.weight" and "NAME.c.bias".
void fold_batch_norms(SamWeights& weights);

// [B, 3, S, S] to [B, C, grid, grid].
Tensor sam_image_embedding(const SamConfig& config, const SamWeights& weights, Tensor x);
// Logits [1, masks, 4 * grid, 4 * grid] and IoUs [1, masks] of prompts in pixels of the model's image.
// points: [N, 2]; labels: of each, with 2 and 3 for a box's corners and -1 for none.
std::pair<Tensor, Tensor> sam_decode(const SamConfig& config, const SamWeights& weights,
                                     const Tensor& embedding, const Tensor& points,
                                     const std::vector<int>& labels, const Tensor& mask, bool multimask);

}  // namespace weft::models
