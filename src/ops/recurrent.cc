// Recurrent networks over whole sequences: lstm, gru, rnn_tanh, rnn_relu, on padded and on packed sequences.
#include "ops/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

using kernels::Cell;
using Types = std::span<const TensorType>;

// Where each operand of a call is, and how many weights there are.
struct Network {
  Cell cell;
  bool packed;
  int64_t layers, directions;
  bool biases, projection, batch_first;

  size_t first_state() const { return packed ? 2 : 1; }
  size_t num_states() const { return cell == Cell::Lstm ? 2 : 1; }
  size_t first_weight() const { return first_state() + num_states(); }
  size_t weights_per_direction() const { return 2 + (biases ? 2 : 0) + (projection ? 1 : 0); }
  // First operand of the weights of one layer and direction: w_ih, w_hh[, b_ih, b_hh][, w_hr].
  size_t weights_of(int64_t layer, int64_t direction) const {
    return first_weight() + static_cast<size_t>(layer * directions + direction) * weights_per_direction();
  }
};

bool attr_or(const Attrs& attrs, std::string_view name, bool otherwise) {
  return attrs.find(name) ? attrs.get_bool(name) : otherwise;
}

Network network_of(const OpDef& op, Cell cell, bool packed, Types operands, const Attrs& attrs) {
  Network network{.cell = cell,
                  .packed = packed,
                  .layers = int_arg(attrs, "num_layers"),
                  .directions = attrs.get_bool("bidirectional") ? 2 : 1,
                  .biases = attrs.get_bool("has_biases"),
                  .projection = false,
                  .batch_first = attr_or(attrs, "batch_first", false)};
  WEFT_CHECK(network.layers >= 1,
             fmt::format("{}: num_layers must be positive, got {}", op.name, network.layers));
  if (attrs.get_bool("train") && float_arg(attrs, "dropout") > 0 && network.layers > 1) {
    throw_error(ErrorKind::NotImplemented,
                fmt::format("{}: dropout between layers (train=True, dropout={}) is not "
                            "supported: weft runs inference",
                            op.name, float_arg(attrs, "dropout")));
  }
  const size_t hidden = network.first_state();
  WEFT_CHECK(
      operands.size() >= network.first_weight() && operands[hidden].shape.size() == 3,
      fmt::format("{}: the hidden state must have 3 dimensions [num_layers * directions, batch, size]{}",
                  op.name, describe_operands(op, operands)));
  if (cell == Cell::Lstm) {
    WEFT_CHECK(
        operands[hidden + 1].shape.size() == 3,
        fmt::format("{}: the cell state must have 3 dimensions [num_layers * directions, batch, size]{}",
                    op.name, describe_operands(op, operands)));
    network.projection = !sym_eq(operands[hidden].shape[2], operands[hidden + 1].shape[2]);
  }
  return network;
}

void check_shape(const OpDef& op, Types operands, const TensorType& type, const std::string& what,
                 const SymShape& expected) {
  WEFT_CHECK(type.shape.size() == expected.size() &&
                 std::equal(expected.begin(), expected.end(), type.shape.begin(), sym_eq),
             fmt::format("{}: expected {} of shape {}, got {}{}", op.name, what, weft::str(expected),
                         weft::str(type.shape), describe_operands(op, operands)));
}

void check_weights(const OpDef& op, const Network& network, Types operands, const Sym& input_size,
                   const Sym& hidden_size, const Sym& state_size) {
  const size_t expected =
      static_cast<size_t>(network.layers * network.directions) * network.weights_per_direction();
  const size_t given = operands.size() - network.first_weight();
  WEFT_CHECK(given == expected,
             fmt::format("{}: expected {} weights ({} for each of {} layers x {} directions), got {}{}",
                         op.name, expected, network.weights_per_direction(), network.layers,
                         network.directions, given, describe_operands(op, operands)));
  const Sym rows = hidden_size * Sym(kernels::gates_of(network.cell));
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      size_t at = network.weights_of(layer, direction);
      const auto check = [&](const char* weight, const SymShape& shape) {
        check_shape(op, operands, operands[at++],
                    fmt::format("{} (layer {}{})", weight, layer, direction ? ", reverse" : ""), shape);
      };
      check("w_ih", {rows, layer == 0 ? input_size : state_size * Sym(network.directions)});
      check("w_hh", {rows, state_size});
      if (network.biases) check("b_ih", {rows});
      if (network.biases) check("b_hh", {rows});
      if (network.projection) check("w_hr", {state_size, hidden_size});
    }
  }
}

void check_dtypes(const OpDef& op, const Network& network, Types operands) {
  const DType dtype = operands[0].dtype;
  WEFT_CHECK_TYPE(is_floating(dtype), fmt::format("{}: expected a floating dtype, got {}{}", op.name,
                                                  name(dtype), describe_operands(op, operands)));
  for (size_t i = network.first_state(); i < operands.size(); ++i) {
    WEFT_CHECK_TYPE(operands[i].dtype == dtype,
                    fmt::format("{}: operands must have one dtype: expected {}, got {}{}", op.name,
                                name(dtype), name(operands[i].dtype), describe_operands(op, operands)));
  }
}

// (output, h_n[, c_n])
std::vector<TensorType> infer_network(const OpDef& op, const Network& network, Types operands) {
  check_dtypes(op, network, operands);
  const TensorType &input = operands[0], &hidden = operands[network.first_state()];
  WEFT_CHECK(input.shape.size() == (network.packed ? 2 : 3),
             fmt::format("{}: expected an input of shape {}, got {}{}", op.name,
                         network.packed        ? "[rows, input_size]"
                         : network.batch_first ? "[batch, steps, input_size]"
                                               : "[steps, batch, input_size]",
                         weft::str(input.shape), describe_operands(op, operands)));
  if (network.packed) {
    WEFT_CHECK(
        operands[1].shape.size() == 1 && operands[1].dtype == DType::I64,
        fmt::format("{}: batch_sizes must be a vector of int64{}", op.name, describe_operands(op, operands)));
  }
  const Sym batch = network.packed ? hidden.shape[1] : input.shape[network.batch_first ? 0 : 1];
  const Sym state_size = hidden.shape[2], states = Sym(network.layers * network.directions);
  const Sym hidden_size =
      network.cell == Cell::Lstm ? operands[network.first_state() + 1].shape[2] : state_size;
  check_shape(op, operands, hidden, "a hidden state", {states, batch, state_size});
  if (network.cell == Cell::Lstm) {
    check_shape(op, operands, operands[network.first_state() + 1], "a cell state",
                {states, batch, hidden_size});
  }
  check_weights(op, network, operands, input.shape.back(), hidden_size, state_size);

  TensorType output = input;
  output.shape.back() = state_size * Sym(network.directions);
  std::vector<TensorType> results{output, hidden};
  if (network.cell == Cell::Lstm) results.push_back(operands[network.first_state() + 1]);
  return results;
}

// The rows of a sequence by time step, and where each row's output lies (in rows).
struct Sequence {
  std::vector<int64_t> batch_sizes, starts;
  int64_t sequence_stride = 1;

  static Sequence padded(int64_t steps, int64_t batch, bool batch_first) {
    Sequence result;
    result.batch_sizes.assign(static_cast<size_t>(batch > 0 ? steps : 0), batch);
    for (int64_t t = 0; t < steps; ++t) result.starts.push_back(batch_first ? t : t * batch);
    if (batch_first) result.sequence_stride = steps;
    return result;
  }

  static Sequence packed(std::string_view op, const Tensor& batch_sizes, int64_t rows, int64_t batch) {
    Sequence result;
    const Tensor sizes = batch_sizes.contiguous();
    result.batch_sizes.assign(sizes.data_as<int64_t>(), sizes.data_as<int64_t>() + sizes.numel());
    int64_t row = 0, previous = batch;
    for (const int64_t size : result.batch_sizes) {
      WEFT_CHECK(size > 0 && size <= previous, fmt::format("{}: batch_sizes must be positive and never grow, "
                                                           "from the hidden state's batch of {} on: got {}",
                                                           op, batch, weft::str(result.batch_sizes)));
      result.starts.push_back(row);
      row += size;
      previous = size;
    }
    WEFT_CHECK(row == rows && (result.batch_sizes.empty() || result.batch_sizes[0] == batch),
               fmt::format(
                   "{}: batch_sizes must begin with the batch of {} and add up to the data's {} rows: got {}",
                   op, batch, rows, weft::str(result.batch_sizes)));
    return result;
  }
};

template <class T>
kernels::RecurrentWeights<T> weights_at(const Network& network, std::span<const Tensor> operands,
                                        int64_t layer, int64_t direction) {
  const size_t at = network.weights_of(layer, direction);
  const auto data = [&](size_t i) { return operands[at + i].data_as<T>(); };
  return {.input = data(0),
          .hidden = data(1),
          .input_bias = network.biases ? data(2) : nullptr,
          .hidden_bias = network.biases ? data(3) : nullptr,
          .projection = network.projection ? data(network.biases ? 4 : 2) : nullptr,
          .input_size = operands[at].size(1),
          .hidden_size = operands[at].size(0) / kernels::gates_of(network.cell),
          .state_size = operands[at + 1].size(1)};
}

// Runs the layers one after another. `input` has its rows step by step; the states are updated in place.
template <class T>
void run_layers(const RecurrentNetwork& network, const WeightsOfLayer<T>& weights, const Sequence& sequence,
                Tensor input, const Tensor& hidden, const Tensor& cell, const Tensor& output) {
  const int64_t state_size = hidden.size(2), width = state_size * network.directions,
                rows = width > 0 ? output.numel() / width : 0;
  const kernels::RecurrentSteps steps{static_cast<int64_t>(sequence.batch_sizes.size()),
                                      sequence.batch_sizes.data()};
  std::vector<int64_t> row_starts;  // of results between layers, which are step by step
  int64_t row = 0;
  for (const int64_t size : sequence.batch_sizes) {
    row_starts.push_back(row * width);
    row += size;
  }
  std::vector<int64_t> output_starts = sequence.starts;
  for (int64_t& start : output_starts) start *= width;
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    const bool last = layer + 1 == network.layers;
    const Tensor result = last ? output : Tensor::empty({rows, width}, output.dtype());
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      const int64_t state = layer * network.directions + direction;
      T* cells =
          network.cell == Cell::Lstm ? cell.data_as<T>() + state * cell.size(1) * cell.size(2) : nullptr;
      kernels::recurrent_layer<T>(
          network.cell, weights(layer, direction), steps, input.data_as<T>(),
          hidden.data_as<T>() + state * hidden.size(1) * state_size, cells,
          {result.data_as<T>() + direction * state_size, last ? output_starts.data() : row_starts.data(),
           last ? sequence.sequence_stride * width : width},
          direction == 1);
    }
    input = result;
  }
}

std::vector<Tensor> run_network(const OpDef& op, const Network& network, std::span<const Tensor> given) {
  const DType dtype = given[0].dtype(), compute = compute_dtype(dtype);
  std::vector<Tensor> operands(given.begin(), given.end());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i != 1 || !network.packed) operands[i] = operands[i].to(compute).contiguous();
  }
  const RecurrentNetwork sizes{op.name, network.cell, network.layers, network.directions,
                               network.batch_first};
  const auto states = std::span<const Tensor>(operands).subspan(network.first_state(), network.num_states());
  const auto run = [&]<class T>(T) {
    return run_recurrent<T>(
        sizes, operands[0], network.packed ? operands[1] : Tensor(), states,
        [&](int64_t layer, int64_t direction) { return weights_at<T>(network, operands, layer, direction); });
  };
  std::vector<Tensor> results = compute == DType::F32 ? run(float{}) : run(double{});
  for (Tensor& result : results) result = result.to(dtype);
  return results;
}

const OpDef& define_network(const char* operator_name, Cell cell, bool packed, const char* formula) {
  const bool lstm = cell == Cell::Lstm;
  OpDef def{.name = operator_name};
  def.schema = fmt::format(
      "({}, {}, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
      "bidirectional{}) -> ({})",
      packed ? "Tensor data, Tensor batch_sizes" : "Tensor input", lstm ? "Tensor[2] hx" : "Tensor hx",
      packed ? "" : ", bool batch_first", lstm ? "Tensor, Tensor, Tensor" : "Tensor, Tensor");
  def.doc = fmt::format(
      "{}\n{}. {}, from the\nstates hx [num_layers * directions, batch, size]; gives (output, h_n{}).\n"
      "params: for each layer and direction w_ih, w_hh{}{}. Dropout is refused: weft runs inference.\n"
      "dtype:  floating; float16 and bfloat16 compute in float32 and round at the end. raises: ValueError, "
      "TypeError.\n"
      "source: PyTorch's {}.",
      packed ? "A recurrent network over packed sequences (see _pack_padded_sequence)."
             : "A recurrent network over a padded batch [steps, batch, size], or [batch, steps, size].",
      formula, packed ? "data [rows, size]" : "input", lstm ? ", c_n" : "", ", b_ih, b_hh (has_biases)",
      lstm ? ", w_hr (where h is smaller than c: a projection)" : "", operator_name);
  def.infer = [cell, packed](const OpDef& op, Types operands, const Attrs& attrs) {
    return infer_network(op, network_of(op, cell, packed, operands, attrs), operands);
  };
  def.eager = [cell, packed](const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
    std::vector<TensorType> types;
    for (const Tensor& tensor : operands) types.push_back(type_of(tensor));
    return run_network(op, network_of(op, cell, packed, types, attrs), operands);
  };
  return register_op(std::move(def));
}

constexpr const char* kLstm =
    "i, f, g, o = gates of w_ih x + b_ih + w_hh h + b_hh; c = sigmoid(f) c + sigmoid(i) tanh(g); h = "
    "sigmoid(o) tanh(c)";
constexpr const char* kGru =
    "r, z = sigmoid(w_ih x + b_ih + w_hh h + b_hh); n = tanh(w_in x + b_in + r (w_hn h + b_hn)); h = (1 - z) "
    "n + z h";
constexpr const char* kTanh = "h = tanh(w_ih x + b_ih + w_hh h + b_hh)";
constexpr const char* kRelu = "h = max(w_ih x + b_ih + w_hh h + b_hh, 0)";

[[maybe_unused]] const OpDef* const kRecurrentOps[] = {
    &define_network("lstm", Cell::Lstm, false, kLstm),
    &define_network("lstm_packed", Cell::Lstm, true, kLstm),
    &define_network("gru", Cell::Gru, false, kGru),
    &define_network("gru_packed", Cell::Gru, true, kGru),
    &define_network("rnn_tanh", Cell::RnnTanh, false, kTanh),
    &define_network("rnn_tanh_packed", Cell::RnnTanh, true, kTanh),
    &define_network("rnn_relu", Cell::RnnRelu, false, kRelu),
    &define_network("rnn_relu_packed", Cell::RnnRelu, true, kRelu),
};

}  // namespace

template <class T>
std::vector<Tensor> run_recurrent(const RecurrentNetwork& network, const Tensor& given,
                                  const Tensor& batch_sizes, std::span<const Tensor> states,
                                  const WeightsOfLayer<T>& weights) {
  const bool is_packed = batch_sizes.defined();
  Shape shape = given.shape();
  const Tensor hidden = states[0].contiguous().clone();
  const Tensor cell = states.size() > 1 ? states[1].contiguous().clone() : Tensor();
  const Sequence sequence = is_packed
                                ? Sequence::packed(network.name, batch_sizes, shape[0], hidden.size(1))
                                : Sequence::padded(shape[network.batch_first ? 1 : 0],
                                                   shape[network.batch_first ? 0 : 1], network.batch_first);
  const bool is_turned = network.batch_first && !is_packed;
  const Tensor input = (is_turned ? build::transpose(given, 0, 1) : given).contiguous();
  shape.back() = hidden.size(2) * network.directions;
  const Tensor output = Tensor::empty(shape, given.dtype());
  run_layers<T>(network, weights, sequence, input, hidden, cell, output);
  std::vector<Tensor> results{output, hidden};
  if (cell.defined()) results.push_back(cell);
  return results;
}

#define WEFT_INSTANTIATE(T)                                                                            \
  template std::vector<Tensor> run_recurrent<T>(const RecurrentNetwork&, const Tensor&, const Tensor&, \
                                                std::span<const Tensor>, const WeightsOfLayer<T>&);
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

}  // namespace weft::ops
