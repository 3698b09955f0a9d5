// How a model is divided over ranks. source: Shoeybi et al. 2019, Megatron-LM: whole heads and columns of
// what goes into a layer's two halves, rows of what comes out, and one sum over the ranks behind each.
#pragma once

#include <string>

#include "models/weight_source.h"

namespace weft::models {

// What a rank has of the configuration's sizes.
struct Share {
  int rank = 0, size = 1;
  int64_t heads = 0, kv_heads = 0;
  int64_t vocab_block = 0, vocab = 0;  // of the first ranks; of this one

  // This rank's part of `all`, which divides.
  Range of(int64_t all) const { return {rank * (all / size), (rank + 1) * (all / size)}; }
};

// Of this rank and model; the whole without tensor parallelism. ValueError where the ranks do not mean one
// model.
Share share_of(const DecoderConfig& config, const ModelOptions& options);
// ValueError with the numbers, where the heads do not divide, or there are fewer parts than ranks.
void check_ranks(const DecoderConfig& config, const std::string& quantize, int ranks);
// Columns of a layer's middle of `size`: groups of int4 weights stay whole, others come in 16. The first
// ranks
// have one part more where they do not divide.
Range intermediate_range(int64_t size, const std::string& quantize, int rank, int ranks);
// Rows of the last layer; the last ranks may have fewer than the others.
Range vocab_range(const DecoderConfig& config, int rank, int ranks);

}  // namespace weft::models
