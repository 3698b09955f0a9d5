// LSTM, GRU and their cells with weights of int8 or float16; inputs and states are quantized at each product.
#include <fmt/format.h>

#include <algorithm>

#include "core/quantized.h"
#include "ops/quantized/products.h"
#include "script/builtins/aten.h"
#include "script/builtins/quantized/packed_classes.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

// One layer and direction.
struct Cell {
  packed::LinearParams input, hidden;
  bool is_dynamic = true, reduce_range = true;

  Tensor multiply(const Tensor& x, const packed::LinearParams& params) const {
    if (!is_dynamic) return call(op<"linear">(), {cast(x, DType::F32), params.weight, params.bias});
    return ops::affine_linear(ops::quantize_dynamic(x, DType::QU8, reduce_range), params.weight, params.bias,
                              {});
  }
};

Cell cell_of(const IValue& object) {
  const packed::CellParams params = packed::cell_params(object);
  const bool is_dynamic = params.kind == "quantized_dynamic";
  if ((!is_dynamic && params.kind != "quantized_fp16") || params.packed.size() != 2)
    throw_error(ErrorKind::NotImplemented,
                fmt::format("quantized recurrent network: cells of kind '{}' with {} weights are "
                            "not supported",
                            params.kind, params.packed.size()));
  return {packed::linear_params(params.packed[0]), packed::linear_params(params.packed[1]), is_dynamic,
          !is_dynamic || params.integers.empty() || params.integers[0] != 0};
}

Tensor sigmoid(const Tensor& x) { return call(op<"sigmoid">(), {x}); }
Tensor tanh(const Tensor& x) { return call(op<"tanh">(), {x}); }
Tensors parts(const Tensor& gates, int64_t count) {
  return call_all(op<"chunk">(), {gates}, {{"chunks", number(count)}, {"dim", number(1)}});
}

// h, or h and c, after one step from x's gates.
using State = Tensors;
State lstm_step(const Cell& cell, const Tensor& input_gates, const State& state) {
  const Tensors gates = parts(add(cell.multiply(state[0], cell.hidden), input_gates), 4);
  const Tensor c = add(mul(sigmoid(gates[1]), state[1]), mul(sigmoid(gates[0]), tanh(gates[2])));
  return {mul(sigmoid(gates[3]), tanh(c)), c};
}
State gru_step(const Cell& cell, const Tensor& input_gates, const State& state) {
  const Tensors from_input = parts(input_gates, 3),
                from_hidden = parts(cell.multiply(state[0], cell.hidden), 3);
  const Tensor reset = sigmoid(add(from_hidden[0], from_input[0])),
               update = sigmoid(add(from_hidden[1], from_input[1]));
  const Tensor fresh = tanh(add(from_input[2], mul(from_hidden[2], reset)));
  return {add(mul(promoted(op<"sub">(), {state[0], fresh}), update), fresh)};
}
template <Name N>
State simple_step(const Cell& cell, const Tensor& input_gates, const State& state) {
  return {call(op<N>(), {add(cell.multiply(state[0], cell.hidden), input_gates)})};
}
using Step = State (*)(const Cell&, const Tensor&, const State&);

Tensor rows(const Tensor& x, int64_t start, int64_t count) {
  return call(op<"narrow">(), {x}, {{"dim", number(0)}, {"start", number(start)}, {"length", number(count)}});
}
Tensor joined(const Tensors& parts) {
  return parts.size() == 1 ? parts[0] : call(op<"concatenate">(), parts, {{"dim", number(0)}});
}

// x [rows of all steps, width], of which step i has sizes[i] rows: those of the sequences that go on so long.
struct Sequences {
  Tensor data;
  std::vector<int64_t> sizes;
};

// The result's rows, and each sequence's last state.
std::pair<Tensor, State> run_direction(const Cell& cell, Step step, const Sequences& x, const State& first,
                                       bool reverse) {
  const Tensor gates = cell.multiply(x.data, cell.input);
  const size_t count = x.sizes.size();
  std::vector<int64_t> starts(count + 1, 0);
  for (size_t i = 0; i < count; ++i) starts[i + 1] = starts[i] + x.sizes[i];
  Tensors outputs(count);
  const auto part = [](const State& state, int64_t start, int64_t rows_of) {
    State result;
    for (const Tensor& each : state) result.push_back(rows(each, start, rows_of));
    return result;
  };
  const auto put_together = [](const State& a, const State& b) {
    State result;
    for (size_t i = 0; i < a.size(); ++i) result.push_back(joined({a[i], b[i]}));
    return result;
  };
  // Forwards, sequences end: their states are put aside. Backwards, they begin.
  std::vector<State> ended;
  State state = part(first, 0, reverse ? x.sizes.back() : x.sizes.front());
  for (size_t i = 0; i < count; ++i) {
    const size_t at = reverse ? count - 1 - i : i;
    const int64_t now = state[0].size(0), wanted = x.sizes[at];
    if (wanted < now) {
      ended.push_back(part(state, wanted, now - wanted));
      state = part(state, 0, wanted);
    } else if (wanted > now) {
      state = put_together(state, part(first, now, wanted - now));
    }
    state = step(cell, rows(gates, starts[at], wanted), state);
    outputs[at] = state[0];
  }
  while (!ended.empty()) {
    state = put_together(state, ended.back());
    ended.pop_back();
  }
  return {joined(outputs), state};
}

struct Network {
  Step step;
  int64_t layers;
  bool is_bidirectional;
};

// hx: [layers * directions, batch, size] of h, or h and c. Results: data, then the states alike.
Tensors run_network(const Network& network, const Sequences& input, const Tensors& hx,
                    const std::vector<IValue>& params) {
  const int64_t directions = network.is_bidirectional ? 2 : 1;
  WEFT_CHECK(
      static_cast<int64_t>(params.size()) == network.layers * directions && !input.sizes.empty(),
      fmt::format("quantized recurrent network: expected parameters of {} layers and directions, got {}",
                  network.layers * directions, params.size()));
  Sequences x = input;
  std::vector<Tensors> states(hx.size());
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    Tensors outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t at = layer * directions + direction;
      State first;
      for (const Tensor& each : hx)
        first.push_back(call(op<"select">(), {each}, {{"dim", number(0)}, {"index", number(at)}}));
      auto [output, last] =
          run_direction(cell_of(params[static_cast<size_t>(at)]), network.step, x, first, direction == 1);
      outputs.push_back(output);
      for (size_t i = 0; i < last.size(); ++i) states[i].push_back(last[i]);
    }
    x.data = outputs.size() == 1 ? outputs[0] : call(op<"concatenate">(), outputs, {{"dim", number(1)}});
  }
  Tensors results{x.data};
  for (const Tensors& each : states) results.push_back(call(op<"stack">(), each));
  return results;
}

void refuse_dropout(double dropout, bool train, int64_t layers) {
  if (train && dropout > 0 && layers > 1)
    throw_error(ErrorKind::NotImplemented,
                "quantized recurrent network: dropout between layers: weft runs inference");
}

// input [length, batch, width], or batch first.
Tensors run_padded(const Network& network, const Tensor& input, const Tensors& hx,
                   const std::vector<IValue>& params, bool batch_first) {
  const auto turned = [](const Tensor& x) {
    return call(op<"permute">(), {x}, {{"dims", sizes(Ints{1, 0, 2})}});
  };
  WEFT_CHECK(input.dim() == 3, "quantized recurrent network: expected 3 dimensions, got " + describe(input));
  const Tensor x = batch_first ? turned(input) : input;
  const int64_t length = x.size(0), batch = x.size(1);
  const Tensor flat = call(op<"reshape">(), {x}, {{"shape", sizes(Ints{length * batch, x.size(2)})}});
  Tensors results =
      run_network(network, {flat, std::vector<int64_t>(static_cast<size_t>(length), batch)}, hx, params);
  results[0] =
      call(op<"reshape">(), {results[0]}, {{"shape", sizes(Ints{length, batch, results[0].size(1)})}});
  if (batch_first) results[0] = turned(results[0]).contiguous();
  return results;
}

Tensors run_packed(const Network& network, const Tensor& data, const Tensor& sizes_of_steps,
                   const Tensors& hx, const std::vector<IValue>& params) {
  std::vector<int64_t> steps;
  for (int64_t i = 0; i < sizes_of_steps.numel(); ++i)
    steps.push_back(static_cast<int64_t>(sizes_of_steps.at(i)));
  return run_network(network, {data, std::move(steps)}, hx, params);
}

[[maybe_unused]] const bool kNetworks = [] {
#define WEFT_CELLS "__torch__.torch.classes.rnn.CellParamsBase[]"
  define(
      "quantized_lstm.input(Tensor input, Tensor[] hx, " WEFT_CELLS
      " params, bool has_biases, int num_layers, float "
      "dropout, bool train, bool bidirectional, bool batch_first, *, ScalarType? dtype=None, bool "
      "use_dynamic=False) -> "
      "(Tensor, Tensor, Tensor)",
      [](const Tensor& x, const Tensors& hx, const IValue& params, bool, int64_t layers, double dropout,
         bool train, bool bidirectional, bool batch_first, OptionalInt, bool) {
        refuse_dropout(dropout, train, layers);
        const Tensors y =
            run_padded({lstm_step, layers, bidirectional}, x, hx, params.elements(), batch_first);
        return std::tuple(y[0], y[1], y[2]);
      },
      false);
  define(
      "quantized_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " WEFT_CELLS
      " params, bool has_biases, int "
      "num_layers, float dropout, bool train, bool bidirectional, *, ScalarType? dtype=None, bool "
      "use_dynamic=False) -> "
      "(Tensor, Tensor, Tensor)",
      [](const Tensor& x, const Tensor& steps, const Tensors& hx, const IValue& params, bool, int64_t layers,
         double dropout, bool train, bool bidirectional, OptionalInt, bool) {
        refuse_dropout(dropout, train, layers);
        const Tensors y = run_packed({lstm_step, layers, bidirectional}, x, steps, hx, params.elements());
        return std::tuple(y[0], y[1], y[2]);
      },
      false);
  define(
      "quantized_gru.input(Tensor input, Tensor hx, " WEFT_CELLS
      " params, bool has_biases, int num_layers, float "
      "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
      [](const Tensor& x, const Tensor& hx, const IValue& params, bool, int64_t layers, double dropout,
         bool train, bool bidirectional, bool batch_first) {
        refuse_dropout(dropout, train, layers);
        const Tensors y =
            run_padded({gru_step, layers, bidirectional}, x, {hx}, params.elements(), batch_first);
        return std::tuple(y[0], y[1]);
      },
      false);
  define(
      "quantized_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, " WEFT_CELLS
      " params, bool has_biases, int "
      "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
      [](const Tensor& x, const Tensor& steps, const Tensor& hx, const IValue& params, bool, int64_t layers,
         double dropout, bool train, bool bidirectional) {
        refuse_dropout(dropout, train, layers);
        const Tensors y = run_packed({gru_step, layers, bidirectional}, x, steps, {hx}, params.elements());
        return std::tuple(y[0], y[1]);
      },
      false);
  return true;
}();

// ---- cells -----------------------------------------------------------------------------------------------
template <Step kStep>
Tensor one_step(const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh) {
  const Cell cell{packed::linear_params(w_ih), packed::linear_params(w_hh), true, true};
  return kStep(cell, cell.multiply(x, cell.input), {h})[0];
}

[[maybe_unused]] const bool kCells = [] {
#define WEFT_WEIGHT "__torch__.torch.classes.quantized.LinearPackedParamsBase"
  builtin(
      "quantized::make_quantized_cell_params_dynamic(" WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor bias_ih, Tensor bias_hh, bool reduce_range=False) -> "
      "__torch__.torch.classes.rnn.CellParamsBase",
      [](const IValue& w_ih, const IValue& w_hh, const Tensor& b_ih, const Tensor& b_hh, bool reduce_range) {
        return packed::make_cell({"quantized_dynamic", {b_ih, b_hh}, {}, {reduce_range}, {w_ih, w_hh}});
      },
      false);
  builtin(
      "quantized::make_quantized_cell_params_fp16(" WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh) -> __torch__.torch.classes.rnn.CellParamsBase",
      [](const IValue& w_ih, const IValue& w_hh) {
        return packed::make_cell({"quantized_fp16", {}, {}, {}, {w_ih, w_hh}});
      },
      false);
  builtin(
      "quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)",
      [](const Tensor& x, const Tensors& hx, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) {
        const Cell cell{packed::linear_params(w_ih), packed::linear_params(w_hh), true, true};
        const State state = lstm_step(cell, cell.multiply(x, cell.input), hx);
        return std::tuple(state[0], state[1]);
      },
      false);
  builtin(
      "quantized::quantized_gru_cell_dynamic(Tensor input, Tensor hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
      [](const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) { return one_step<gru_step>(x, h, w_ih, w_hh); },
      false);
  builtin(
      "quantized::quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
      [](const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) { return one_step<simple_step<"tanh">>(x, h, w_ih, w_hh); },
      false);
  builtin(
      "quantized::quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
      [](const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) { return one_step<simple_step<"relu">>(x, h, w_ih, w_hh); },
      false);
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
