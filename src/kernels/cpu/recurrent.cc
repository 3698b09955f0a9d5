#include "kernels/cpu/recurrent.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/recurrent_kernels.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

// What the input projections of a piece of the sequence may take, so that they stay in the caches.
constexpr int64_t kProjectionBytes = 4 << 20;
// Hidden units of one task of the gates' loop.
constexpr int64_t kGateGrain = 4096;

// ---- gates in other types than float
// --------------------------------------------------------------------------
template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <class T>
void lstm_gates(int64_t size, const T* x, const T* h, T* cell, T* state) {
  for (int64_t j = 0; j < size; ++j) {
    const T input = sigmoid(x[j] + h[j]), forget = sigmoid(x[size + j] + h[size + j]);
    const T candidate = std::tanh(x[2 * size + j] + h[2 * size + j]);
    const T output = sigmoid(x[3 * size + j] + h[3 * size + j]);
    cell[j] = forget * cell[j] + input * candidate;
    state[j] = output * std::tanh(cell[j]);
  }
}

template <class T>
void gru_gates(int64_t size, const T* x, const T* h, const T* bias, T* state) {
  for (int64_t j = 0; j < size; ++j) {
    const T reset = sigmoid(x[j] + h[j]), update = sigmoid(x[size + j] + h[size + j]);
    const T candidate = std::tanh(x[2 * size + j] + reset * (h[2 * size + j] + (bias ? bias[j] : T(0))));
    state[j] = (state[j] - candidate) * update + candidate;
  }
}

template <class T>
void rnn_gates(bool relu, int64_t size, const T* x, const T* h, T* state) {
  for (int64_t j = 0; j < size; ++j) {
    const T sum = x[j] + h[j];
    state[j] = relu ? (sum < T(0) ? T(0) : sum) : std::tanh(sum);
  }
}

template <class T>
class Layer {
 public:
  Layer(Cell cell, const RecurrentWeights<T>& weights, const RecurrentSteps& steps, const T* input,
        T* hidden_state, T* cell_state, const RecurrentOutput<T>& output, bool reverse)
      : cell_(cell),
        weights_(weights),
        steps_(steps),
        input_(input),
        hidden_state_(hidden_state),
        cell_state_(cell_state),
        output_(output),
        reverse_(reverse),
        rows_(gates_of(cell) * weights.hidden_size) {
    const int64_t batch = steps.num_steps > 0 ? steps.batch_sizes[0] : 0;
    hidden_gates_.resize(static_cast<size_t>(batch * rows_));
    if (weights.projection) unprojected_.resize(static_cast<size_t>(batch * weights.hidden_size));
    if (weights.input_bias) {
      bias_.assign(weights.input_bias, weights.input_bias + rows_);
      const int64_t shared = cell == Cell::Gru ? 2 * weights.hidden_size : rows_;
      for (int64_t j = 0; j < shared; ++j) bias_[static_cast<size_t>(j)] += weights.hidden_bias[j];
    }
    first_rows_.push_back(0);
    for (int64_t t = 0; t < steps.num_steps; ++t)
      first_rows_.push_back(first_rows_.back() + steps.batch_sizes[t]);
  }

  void run() {
    for (int64_t done = 0; done < steps_.num_steps;) {
      const int64_t count = piece(done);
      const int64_t first = reverse_ ? steps_.num_steps - done - count : done;
      project(first, count);
      for (int64_t i = 0; i < count; ++i) step(first + (reverse_ ? count - 1 - i : i), first);
      done += count;
    }
  }

 private:
  int64_t row(int64_t t) const { return first_rows_[static_cast<size_t>(t)]; }

  // How many steps are projected at once, after `done`.
  int64_t piece(int64_t done) const {
    if (weights_.products) return steps_.num_steps;
    const int64_t most = std::max<int64_t>(
        1, kProjectionBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(rows_, 1));
    int64_t count = 0, sequences = 0;
    while (done + count < steps_.num_steps) {
      const int64_t t = reverse_ ? steps_.num_steps - 1 - done - count : done + count;
      sequences += steps_.batch_sizes[t];
      if (count > 0 && sequences > most) break;
      ++count;
    }
    return count;
  }

  // The input's part of the gates, with both biases; of gru's candidate only the input's.
  void project(int64_t first, int64_t count) {
    const int64_t m = row(first + count) - row(first), k = weights_.input_size;
    input_gates_.resize(std::max(input_gates_.size(), static_cast<size_t>(m * rows_)));
    if constexpr (std::is_same_v<T, float>)
      if (weights_.products) return weights_.products->input(input_ + row(first) * k, m, input_gates_.data());
    matrix_product<T>(m, rows_, k, {input_ + row(first) * k, k, 1}, {weights_.input, 1, k},
                      input_gates_.data());
    if (!weights_.input_bias) return;
    parallel_for(0, m, std::max<int64_t>(1, kGateGrain / std::max<int64_t>(rows_, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     for (int64_t j = 0; j < rows_; ++j)
                       input_gates_[static_cast<size_t>(i * rows_ + j)] += bias_[static_cast<size_t>(j)];
                   }
                 });
  }

  void multiply_hidden(int64_t batch) {
    const int64_t state_size = weights_.state_size;
    if constexpr (std::is_same_v<T, float>)
      if (weights_.products) return weights_.products->hidden(hidden_state_, batch, hidden_gates_.data());
    matrix_product<T>(batch, rows_, state_size, {hidden_state_, state_size, 1},
                      {weights_.hidden, 1, state_size}, hidden_gates_.data());
  }

  void step(int64_t t, int64_t first) {
    const int64_t batch = steps_.batch_sizes[t], state_size = weights_.state_size,
                  size = weights_.hidden_size;
    multiply_hidden(batch);
    const T* input_gates = input_gates_.data() + (row(t) - row(first)) * rows_;
    parallel_for(0, batch, std::max<int64_t>(1, kGateGrain / std::max<int64_t>(size, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t n = begin; n < end; ++n) gates(n, input_gates + n * rows_);
                 });
    if (weights_.projection) {
      matrix_product<T>(batch, state_size, size, {unprojected_.data(), size, 1},
                        {weights_.projection, 1, size}, hidden_state_);
    }
    for (int64_t n = 0; n < batch; ++n) {
      const T* state = hidden_state_ + n * state_size;
      std::copy(state, state + state_size, output_.data + output_.starts[t] + n * output_.sequence_stride);
    }
  }

  void gates(int64_t n, const T* input_gates) {
    const T* hidden_gates = hidden_gates_.data() + n * rows_;
    const int64_t size = weights_.hidden_size;
    T* state = weights_.projection ? unprojected_.data() + n * size : hidden_state_ + n * size;
    const T* candidate_bias = weights_.hidden_bias ? weights_.hidden_bias + 2 * size : nullptr;
    const bool relu = cell_ == Cell::RnnRelu;
    if constexpr (std::is_same_v<T, float>) {
      const GateKernels& kernels = gate_kernels();
      if (cell_ == Cell::Lstm)
        return kernels.lstm(size, input_gates, hidden_gates, cell_state_ + n * size, state);
      if (cell_ == Cell::Gru) return kernels.gru(size, input_gates, hidden_gates, candidate_bias, state);
      return kernels.rnn(relu, size, input_gates, hidden_gates, state);
    } else {
      if (cell_ == Cell::Lstm)
        return lstm_gates(size, input_gates, hidden_gates, cell_state_ + n * size, state);
      if (cell_ == Cell::Gru) return gru_gates(size, input_gates, hidden_gates, candidate_bias, state);
      return rnn_gates(relu, size, input_gates, hidden_gates, state);
    }
  }

  const Cell cell_;
  const RecurrentWeights<T>& weights_;
  const RecurrentSteps& steps_;
  const T* input_;
  T *hidden_state_, *cell_state_;
  const RecurrentOutput<T>& output_;
  const bool reverse_;
  const int64_t rows_;  // of the weight matrices
  std::vector<int64_t> first_rows_;
  std::vector<T> bias_, input_gates_, hidden_gates_, unprojected_;
};

}  // namespace

const GateKernels& gate_kernels() {
  static const GateKernels& kernels = *best_kernels(&KernelLevel::gates);
  return kernels;
}

template <class T>
void recurrent_layer(Cell cell, const RecurrentWeights<T>& weights, const RecurrentSteps& steps,
                     const T* input, T* hidden_state, T* cell_state, const RecurrentOutput<T>& output,
                     bool reverse) {
  Layer<T>(cell, weights, steps, input, hidden_state, cell_state, output, reverse).run();
}

#define WEFT_INSTANTIATE(T)                                                                               \
  template void recurrent_layer<T>(Cell, const RecurrentWeights<T>&, const RecurrentSteps&, const T*, T*, \
                                   T*, const RecurrentOutput<T>&, bool);
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

}  // namespace weft::kernels
