// Sequences of different lengths as one padded tensor: what nn.TransformerEncoder passes from layer to layer
// where a padding mask was given. The lengths are remembered with the tensor's storage.
#pragma once

#include <optional>

#include "weft/tensor.h"

namespace weft::jit::nested {

// May any tensor that is alive be nested? Most programs have none.
bool is_possible();
// int64 [batch]: how many rows of x[batch, length, …] are no padding; nothing for other tensors.
std::optional<Tensor> lengths_of(const Tensor& x);
void set_lengths(const Tensor& x, Tensor lengths);
// bool [batch, length]: true at padding.
Tensor padding_mask(const Tensor& lengths, int64_t length);

}  // namespace weft::jit::nested
