// How a model is divided over ranks. source: Shoeybi et al. 2019, Megatron-LM: whole heads and columns of
// what goes into a layer's two halves, rows of what comes out, and one sum over the ranks behind each.
#pragma once

#include <string>

#include "models/llama_weights.h"

namespace weft::models {

// ValueError with the numbers, where the heads do not divide, or there are fewer parts than ranks.
void check_ranks(const LlamaConfig& config, const std::string& quantize, int ranks);
// Columns of the layer's middle: groups of int4 weights stay whole, others come in 16. The first ranks have
// one part more where they do not divide.
Range intermediate_range(const LlamaConfig& config, const std::string& quantize, int rank, int ranks);
// Rows of the last layer; the last ranks may have fewer than the others.
Range vocab_range(const LlamaConfig& config, int rank, int ranks);

}  // namespace weft::models
