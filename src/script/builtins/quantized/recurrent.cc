// LSTM, GRU and their cells with weights of int8 or float16; inputs and states are quantized at each product.
#include "ops/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/quantized.h"
#include "ops/quantized/products.h"
#include "script/builtins/aten.h"
#include "script/builtins/quantized/packed_classes.h"
#include "weft/error.h"

namespace weft::jit::aten {
namespace {

// Weights of one layer and direction: LinearPackedParamsBase, multiplied as integers, or in float32.
class CellWeights final : public kernels::RecurrentProducts {
 public:
  CellWeights(IValue input, IValue hidden, bool is_dynamic, bool reduce_range)
      : input_(std::move(input)),
        hidden_(std::move(hidden)),
        is_dynamic_(is_dynamic),
        reduce_range_(reduce_range) {}

  void input(const float* x, int64_t rows, float* gates) const override { multiply(input_, x, rows, gates); }
  void hidden(const float* x, int64_t rows, float* gates) const override {
    multiply(hidden_, x, rows, gates);
  }

  kernels::RecurrentWeights<float> of(kernels::Cell cell, int64_t input_size, int64_t state_size) const {
    const Tensor from_input = packed::linear_params(input_).weight,
                 from_hidden = packed::linear_params(hidden_).weight;
    const int64_t rows = kernels::gates_of(cell) * state_size;
    WEFT_CHECK(
        from_input.shape() == Shape({rows, input_size}) && from_hidden.shape() == Shape({rows, state_size}),
        fmt::format("quantized recurrent network: expected weights of {} rows for inputs of {} and states "
                    "of {} numbers, got {} and {}",
                    rows, input_size, state_size, describe(from_input), describe(from_hidden)));
    kernels::RecurrentWeights<float> weights{};
    weights.input_size = input_size;
    weights.hidden_size = weights.state_size = state_size;
    weights.products = this;
    return weights;
  }

 private:
  void multiply(const IValue& weights, const float* x, int64_t rows, float* gates) const {
    const packed::LinearParams params = packed::linear_params(weights);
    const Tensor given = Tensor::empty({rows, params.weight.size(1)}, DType::F32);
    std::copy_n(x, given.numel(), given.data_as<float>());
    const Tensor result = is_dynamic_
                              ? packed::product_of(weights)(
                                    ops::quantize_dynamic(given, DType::QU8, reduce_range_), params.bias, {})
                              : call(op<"linear">(), {given, params.weight, params.bias}).contiguous();
    std::copy_n(result.data_as<float>(), result.numel(), gates);
  }

  IValue input_, hidden_;
  bool is_dynamic_, reduce_range_;
};

CellWeights weights_of(const IValue& object) {
  const packed::CellParams params = packed::cell_params(object);
  const bool is_dynamic = params.kind == "quantized_dynamic";
  if ((!is_dynamic && params.kind != "quantized_fp16") || params.packed.size() != 2)
    throw_error(ErrorKind::NotImplemented,
                fmt::format("quantized recurrent network: cells of kind '{}' with {} weights are "
                            "not supported",
                            params.kind, params.packed.size()));
  return {params.packed[0], params.packed[1], is_dynamic,
          !is_dynamic || params.integers.empty() || params.integers[0] != 0};
}

struct Network {
  kernels::Cell cell;
  int64_t layers;
  bool is_bidirectional, batch_first = false;
};

// steps: of packed sequences, else undefined.
Tensors run_network(const Network& network, const Tensor& input, const Tensor& steps, const Tensors& hx,
                    const IValue& params) {
  const int64_t directions = network.is_bidirectional ? 2 : 1, count = network.layers * directions;
  std::vector<CellWeights> cells;
  for (const IValue& each : params.elements()) cells.push_back(weights_of(each));
  WEFT_CHECK(
      static_cast<int64_t>(cells.size()) == count && count > 0,
      fmt::format("quantized recurrent network: expected parameters of {} layers and directions, got {}",
                  count, cells.size()));
  const size_t states = network.cell == kernels::Cell::Lstm ? 2 : 1;
  WEFT_CHECK(
      hx.size() == states && input.dim() == (steps.defined() ? 2 : 3),
      fmt::format("quantized recurrent network: expected an input of {} dimensions and {} states, got {} "
                  "and {}",
                  steps.defined() ? 2 : 3, states, describe(input), hx.size()));
  const int64_t batch = steps.defined() ? hx[0].size(1) : input.size(network.batch_first ? 0 : 1);
  Tensors given;
  for (const Tensor& state : hx) {
    WEFT_CHECK(state.dim() == 3 && state.shape() == Shape({count, batch, hx[0].size(2)}),
               fmt::format("quantized recurrent network: expected states [{}, {}, size], got {}", count,
                           batch, describe(state)));
    given.push_back(cast(state, DType::F32));
  }
  return ops::run_recurrent<float>(
      {"quantized recurrent network", network.cell, network.layers, directions, network.batch_first},
      cast(input, DType::F32), steps, given, [&](int64_t layer, int64_t direction) {
        const int64_t size = given[0].size(2), width = layer == 0 ? input.size(-1) : size * directions;
        return cells[static_cast<size_t>(layer * directions + direction)].of(network.cell, width, size);
      });
}

void refuse_dropout(double dropout, bool train, int64_t layers) {
  if (train && dropout > 0 && layers > 1)
    throw_error(ErrorKind::NotImplemented,
                "quantized recurrent network: dropout between layers: weft runs inference");
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
            run_network({kernels::Cell::Lstm, layers, bidirectional, batch_first}, x, Tensor(), hx, params);
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
        const Tensors y = run_network({kernels::Cell::Lstm, layers, bidirectional}, x, steps, hx, params);
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
            run_network({kernels::Cell::Gru, layers, bidirectional, batch_first}, x, Tensor(), {hx}, params);
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
        const Tensors y = run_network({kernels::Cell::Gru, layers, bidirectional}, x, steps, {hx}, params);
        return std::tuple(y[0], y[1]);
      },
      false);
  return true;
}();

// ---- cells -----------------------------------------------------------------------------------------------
// A sequence of one step: the states [batch, size] after it.
Tensors one_step(kernels::Cell kind, const Tensor& x, const Tensors& states, const IValue& w_ih,
                 const IValue& w_hh) {
  const CellWeights cell(w_ih, w_hh, true, true);
  Tensors given;
  const auto with_length = [](const Tensor& each) {
    return call(op<"unsqueeze">(), {cast(each, DType::F32)}, {{"dim", sizes(Ints{0})}});
  };
  for (const Tensor& state : states) {
    WEFT_CHECK(
        state.dim() == 2 && x.dim() == 2 && state.shape() == Shape({x.size(0), states[0].size(1)}),
        fmt::format("quantized recurrent cell: expected x [batch, width] and states [batch, size], got {} "
                    "and {}",
                    describe(x), describe(state)));
    given.push_back(with_length(state));
  }
  Tensors results = ops::run_recurrent<float>(
      {"quantized recurrent cell", kind, 1, 1, false}, with_length(x), Tensor(), given,
      [&](int64_t, int64_t) { return cell.of(kind, x.size(1), states[0].size(1)); });
  results.erase(results.begin());
  for (Tensor& state : results) state = call(op<"squeeze">(), {state}, {{"dim", sizes(Ints{0})}});
  return results;
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
        WEFT_CHECK(hx.size() == 2, "quantized_lstm_cell_dynamic: expected two states");
        const Tensors state = one_step(kernels::Cell::Lstm, x, hx, w_ih, w_hh);
        return std::tuple(state[0], state[1]);
      },
      false);
  builtin(
      "quantized::quantized_gru_cell_dynamic(Tensor input, Tensor hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
      [](const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) { return one_step(kernels::Cell::Gru, x, {h}, w_ih, w_hh)[0]; },
      false);
  builtin(
      "quantized::quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
      [](const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) { return one_step(kernels::Cell::RnnTanh, x, {h}, w_ih, w_hh)[0]; },
      false);
  builtin(
      "quantized::quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, " WEFT_WEIGHT " w_ih, " WEFT_WEIGHT
      " w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
      [](const Tensor& x, const Tensor& h, const IValue& w_ih, const IValue& w_hh, const Tensor&,
         const Tensor&) { return one_step(kernels::Cell::RnnRelu, x, {h}, w_ih, w_hh)[0]; },
      false);
  return true;
}();

}  // namespace
}  // namespace weft::jit::aten
