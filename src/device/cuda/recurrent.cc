#include "device/cuda/recurrent.h"

#include <fmt/format.h>

#include "device/cuda/products.h"
#include "device/cuda/written_kernel.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::cuda {
namespace {

// The operands of a call by what they are.
struct Network {
  std::string cell;  // as in text/recurrent.inc
  bool is_packed, is_lstm, has_biases, has_projection;
  int64_t layers, directions;

  Network(const ops::OpDef& op, std::span<const Tensor> operands, const ops::Attrs& attrs)
      : is_packed(op.name.ends_with("_packed")),
        is_lstm(op.name.starts_with("lstm")),
        has_biases(attrs.get_bool("has_biases")),
        has_projection(false),
        layers(ops::int_arg(attrs, "num_layers")),
        directions(attrs.get_bool("bidirectional") ? 2 : 1) {
    cell = is_lstm                           ? "kLstm"
           : op.name.starts_with("gru")      ? "kGru"
           : op.name.starts_with("rnn_tanh") ? "kRnnTanh"
                                             : "kRnnRelu";
    has_projection = is_lstm && operands[first_state()].size(2) != operands[first_state() + 1].size(2);
  }
  size_t first_state() const { return is_packed ? 2 : 1; }
  size_t first_weight() const { return first_state() + (is_lstm ? 2 : 1); }
  // w_ih, w_hh[, b_ih, b_hh][, w_hr] of a layer and direction.
  size_t weights_of(int64_t layer, int64_t direction) const {
    const int64_t each = 2 + (has_biases ? 2 : 0) + (has_projection ? 1 : 0);
    return first_weight() + static_cast<size_t>((layer * directions + direction) * each);
  }
};

// Rows of a contiguous matrix.
Tensor rows_from(const Tensor& x, int64_t first, int64_t count) {
  return x.as_strided({count, x.size(-1)}, {x.size(-1), 1}, x.offset() + first * x.size(-1));
}

// How many rows each step has; empty where they are none of a sequence of such states, about which the host
// has words.
std::vector<int64_t> batch_sizes_of(const Tensor& given, int64_t rows, int64_t batch) {
  const Tensor sizes = given.to(Device()).contiguous();
  std::vector<int64_t> result(sizes.data_as<int64_t>(), sizes.data_as<int64_t>() + sizes.numel());
  int64_t left = rows, previous = batch;
  for (const int64_t size : result) {
    if (size <= 0 || size > previous) return {};
    left -= size, previous = size;
  }
  if (left != 0 || result.empty() || result[0] != batch) return {};
  return result;
}

// One layer in one direction: `input` has its rows step by step, `out` begins at its columns of the first
// row.
struct Layer {
  const Network& network;
  std::span<const Tensor> weights;  // w_ih, w_hh[, b_ih, b_hh][, w_hr]
  const std::vector<int64_t>& batch_sizes;

  void step(const Tensor& input_gates, const Tensor& state, const Tensor& cells, const Tensor& to,
            int64_t to_step) const {
    const Tensor bias = network.has_biases ? weights[3] : Tensor();
    const Tensor hidden_gates = ops::call1("linear", {state, weights[1], bias}).contiguous();
    const int64_t rows = state.size(0), size = hidden_gates.size(1) / (network.is_lstm          ? 4
                                                                       : network.cell == "kGru" ? 3
                                                                                                : 1);
    WrittenKernel kernel(fmt::format("step_{}_{}", network.cell.substr(1), short_name(state.dtype())),
                         state.device().index);
    // The state of a projection is what becomes of it behind this kernel.
    kernel.address("state", network.has_projection ? nullptr : state.data());
    kernel.address("cells", network.is_lstm ? cells.data() : nullptr).writes("out", to);
    kernel.reads("from_input", input_gates).reads("from_hidden", hidden_gates);
    kernel.number("rows", rows).number("size", size).number("out_step", to_step);
    kernel.with(Text::Recurrent).calls_elementary({scalar::Prim::Exp, scalar::Prim::Tanh});
    const std::string type = type_in_kernels(state.dtype());
    kernel.launch(fmt::format("step_network<{0}>(({1}*)state, ({1}*)cells, out, from_input, from_hidden, "
                              "rows, size, out_step);",
                              network.cell, type),
                  blocks_of_items(rows * size, state.device().index));
  }

  void run(const Tensor& input, const Tensor& state, const Tensor& cells, const Tensor& out, int64_t column,
           bool is_reversed) const {
    const Tensor bias = network.has_biases ? weights[2] : Tensor();
    const Tensor gates = ops::call1("linear", {input, weights[0], bias}).contiguous();
    const int64_t width = out.size(1);
    std::vector<int64_t> starts;
    int64_t row = 0;
    for (const int64_t size : batch_sizes) starts.push_back(row), row += size;
    for (size_t k = 0; k < batch_sizes.size(); ++k) {
      const size_t t = is_reversed ? batch_sizes.size() - 1 - k : k;
      const int64_t rows = batch_sizes[t];
      const Tensor now = rows_from(state, 0, rows);
      const Tensor cells_now = network.is_lstm ? rows_from(cells, 0, rows) : Tensor();
      const Tensor to =
          out.as_strided({rows, state.size(1)}, {width, 1}, out.offset() + starts[t] * width + column);
      if (!network.has_projection) {
        step(rows_from(gates, starts[t], rows), now, cells_now, to, width);
        continue;
      }
      const Tensor before = Tensor::empty({rows, cells.size(1)}, state.dtype(), state.device());
      step(rows_from(gates, starts[t], rows), now, cells_now, before, cells.size(1));
      const Tensor next = ops::call1("linear", {before, weights.back(), Tensor()});
      now.copy_from(next);
      to.copy_from(next);
    }
  }
};

}  // namespace

std::vector<Tensor> run_recurrent(const ops::OpDef& op, std::span<const Tensor> given,
                                  const ops::Attrs& attrs) {
  const Network network(op, given, attrs);
  const DType dtype = given[0].dtype(), compute = compute_dtype(dtype);
  const bool is_batch_first = !network.is_packed && attrs.get_bool("batch_first");
  std::vector<Tensor> operands(given.begin(), given.end());
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != 1 || !network.is_packed) operands[i] = operands[i].to(compute).contiguous();
  const Tensor hidden = operands[network.first_state()].clone();
  const Tensor cells = network.is_lstm ? operands[network.first_state() + 1].clone() : Tensor();
  if (given[0].numel() == 0 || hidden.numel() == 0) return {};
  const int64_t batch = hidden.size(1), size = hidden.size(2), width = size * network.directions;

  Tensor input = operands[0];
  if (is_batch_first) input = ops::build::transpose(input, 0, 1).contiguous();
  const int64_t rows = input.numel() / input.size(-1);
  const std::vector<int64_t> batch_sizes =
      network.is_packed ? batch_sizes_of(given[1], rows, batch)
                        : std::vector<int64_t>(static_cast<size_t>(rows / batch), batch);
  if (batch_sizes.empty()) return {};
  input = rows_from(input, 0, rows);
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    const Tensor out = Tensor::empty({rows, width}, compute, input.device());
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      const int64_t at = layer * network.directions + direction;
      const size_t first = network.weights_of(layer, direction),
                   count = network.weights_of(0, 1) - network.weights_of(0, 0);
      const Tensor cells_of = network.is_lstm ? rows_from(cells, at * batch, batch) : Tensor();
      Layer{network, std::span<const Tensor>(operands).subspan(first, count), batch_sizes}.run(
          input, rows_from(hidden, at * batch, batch), cells_of, out, direction * size, direction == 1);
    }
    input = out;
  }
  Tensor output = input;
  if (!network.is_packed) {
    const int64_t steps = rows / batch;
    output = input.as_strided({steps, batch, width}, {batch * width, width, 1}, input.offset());
    if (is_batch_first) output = ops::build::transpose(output, 0, 1).contiguous();
  }
  std::vector<Tensor> results{output.to(dtype), hidden.to(dtype)};
  if (network.is_lstm) results.push_back(cells.to(dtype));
  return results;
}

}  // namespace weft::cuda
