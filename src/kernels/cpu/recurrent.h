// One direction of one layer of a recurrent network over a whole sequence.
#pragma once

#include <cstdint>

namespace weft::kernels {

enum class Cell : uint8_t { Lstm, Gru, RnnTanh, RnnRelu };
// Rows of the weight matrices per hidden unit.
constexpr int64_t gates_of(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

// How a layer of other weights than matrices multiplies: gates [rows, gates * hidden_size] of rows of inputs
// or hidden states, biases among them. All rows of the input come in one call.
class RecurrentProducts {
 public:
  virtual ~RecurrentProducts() = default;
  virtual void input(const float* x, int64_t rows, float* gates) const = 0;
  virtual void hidden(const float* x, int64_t rows, float* gates) const = 0;
};

// Row-major, contiguous; biases may be null.
template <class T>
struct RecurrentWeights {
  const T* input;       // [gates * hidden_size, input_size]
  const T* hidden;      // [gates * hidden_size, state_size]
  const T* input_bias;  // [gates * hidden_size]
  const T* hidden_bias;
  const T* projection;  // [state_size, hidden_size]; null where state_size == hidden_size
  int64_t input_size, hidden_size, state_size;
  const RecurrentProducts* products = nullptr;  // of float, in place of the matrices and biases
};

// Which rows of the input are one time step: batch_sizes[t] of them, which follow those of step t - 1. The
// batch never grows: sequence n ends where n >= batch_sizes[t].
struct RecurrentSteps {
  int64_t num_steps;
  const int64_t* batch_sizes;
};

// Where a layer's output goes: sequence n at step t has its row at starts[t] + n * sequence_stride.
template <class T>
struct RecurrentOutput {
  T* data;
  const int64_t* starts;
  int64_t sequence_stride;
};

// `input` has a row of input_size per sequence and step. `hidden_state` [batch, state_size] and, for LSTM,
// `cell_state` [batch, hidden_size] hold the initial states and then each sequence's last.
template <class T>
void recurrent_layer(Cell cell, const RecurrentWeights<T>& weights, const RecurrentSteps& steps,
                     const T* input, T* hidden_state, T* cell_state, const RecurrentOutput<T>& output,
                     bool reverse);

}  // namespace weft::kernels
