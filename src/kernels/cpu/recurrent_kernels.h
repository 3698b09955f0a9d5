// The gates of recurrent networks in float32, once per instruction set.
#pragma once

#include <cstdint>

namespace weft::kernels {

// One sequence's gates at one step, each of `size` numbers, one gate after another: `x` is the input's part,
// with the biases; `h` the hidden state's. `state` is the new hidden state (of gru: the old one too).
struct GateKernels {
  void (*lstm)(int64_t size, const float* x, const float* h, float* cell, float* state);
  // `bias` of the hidden state's part of the candidate, or null.
  void (*gru)(int64_t size, const float* x, const float* h, const float* bias, float* state);
  void (*rnn)(bool relu, int64_t size, const float* x, const float* h, float* state);
};

extern const GateKernels kGatesBaseline;
// Those of this machine.
const GateKernels& gate_kernels();

}  // namespace weft::kernels
