// Recurrent networks over whole sequences whose weights are given layer by layer.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu/recurrent.h"
#include "weft/tensor.h"

namespace weft::ops {

struct RecurrentNetwork {
  std::string_view name;  // in errors
  kernels::Cell cell;
  int64_t layers, directions;
  bool batch_first;  // of padded sequences
};

template <class T>
using WeightsOfLayer = std::function<kernels::RecurrentWeights<T>(int64_t layer, int64_t direction)>;

// (output, h_n[, c_n]), of float or double. input: [steps, batch, size], or [batch, steps, size]; where there
// are batch_sizes, I64 [steps], rows of packed sequences. states: h and, for LSTM, c: [layers * directions,
// batch, size].
template <class T>
std::vector<Tensor> run_recurrent(const RecurrentNetwork& network, const Tensor& input,
                                  const Tensor& batch_sizes, std::span<const Tensor> states,
                                  const WeightsOfLayer<T>& weights);

}  // namespace weft::ops
