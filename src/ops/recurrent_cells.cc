// One step of a recurrent network, and sequences of different lengths packed into one tensor.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/cpu/recurrent_kernels.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/composite.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

// ---- cells
// ------------------------------------------------------------------------------------------------- The
// operands of a cell: x, h[, c], w_ih, w_hh, b_ih, b_hh.
struct CellOperands {
  Tensor input, hidden, cell;
  Tensor input_gates, hidden_gates;  // [batch, gates * size]

  CellOperands(const OpDef& op, const OpArgs& args, bool lstm) {
    const std::vector<Tensor>& t = args.tensors;
    const size_t weights = lstm ? 3 : 2;
    std::vector<TensorType> types;
    for (const Tensor& tensor : t)
      types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
    const auto check_rank = [&](size_t i, size_t rank, const char* what) {
      WEFT_CHECK(!t[i].defined() || types[i].shape.size() == rank,
                 fmt::format("{}: {} must have {} dimension{}{}", op.name, what, rank, rank == 1 ? "" : "s",
                             describe_operands(op, types)));
    };
    for (size_t i = 0; i < weights + 2; ++i)
      check_rank(i, 2, i == 0 ? "the input" : i < weights ? "a state" : "a weight matrix");
    for (size_t i = weights + 2; i < weights + 4; ++i) check_rank(i, 1, "a bias");
    WEFT_CHECK_TYPE(t[weights + 2].defined() == t[weights + 3].defined(),
                    fmt::format("{}: give both biases or none{}", op.name, describe_operands(op, types)));
    input = t[0], hidden = t[1];
    if (lstm) cell = t[2];
    input_gates = call1("linear", {input, t[weights], t[weights + 2]});
    hidden_gates = call1("linear", {hidden, t[weights + 1], t[weights + 3]});
  }
};

Tensor sigmoid(const Tensor& x) { return call1("sigmoid", {x}); }
Tensor tanh(const Tensor& x) { return call1("tanh", {x}); }

// Part `i` of `gates` gates.
Tensor gate(const Tensor& all, int64_t i, int64_t gates) {
  const Sym size = floor_div(sym_shape(all)[1], Sym(gates));
  return build::slice(all, 1, Sym(i) * size, Sym(i + 1) * size);
}

// Float gates that are there, of `gates` gates: kernels take them as they lie.
bool runs_now(const CellOperands& x, int64_t gates) {
  const auto ready = [](const Tensor& t) {
    return !t.is_traced() && t.device().type == DeviceType::CPU && t.dtype() == DType::F32;
  };
  if (!ready(x.input_gates) || !ready(x.hidden_gates) || !ready(x.hidden)) return false;
  const Shape state = x.hidden.shape(), all{state[0], gates * state[1]};
  return x.input_gates.shape() == all && x.hidden_gates.shape() == all &&
         (!x.cell.defined() || (ready(x.cell) && x.cell.shape() == state));
}

// step(row, x's gates, h's gates) for every sequence.
template <class Step>
void for_each_row(const CellOperands& x, const Step& step) {
  const Tensor from_input = x.input_gates.contiguous(), from_hidden = x.hidden_gates.contiguous();
  const int64_t width = from_input.size(1);
  parallel_for(0, from_input.size(0), std::max<int64_t>(1, 4096 / std::max<int64_t>(width, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t n = begin; n < end; ++n)
                   step(n, from_input.data_as<float>() + n * width, from_hidden.data_as<float>() + n * width);
               });
}

std::vector<Tensor> lstm_cell_now(const CellOperands& x) {
  const Tensor state = Tensor::empty(x.hidden.shape(), DType::F32), cell = x.cell.clone();
  const int64_t size = state.size(1);
  for_each_row(x, [&](int64_t n, const float* from_input, const float* from_hidden) {
    kernels::gate_kernels().lstm(size, from_input, from_hidden, cell.data_as<float>() + n * size,
                                 state.data_as<float>() + n * size);
  });
  return {state, cell};
}

Tensor gru_cell_now(const CellOperands& x) {
  Tensor state = x.hidden.clone();
  const int64_t size = state.size(1);
  for_each_row(x, [&](int64_t n, const float* from_input, const float* from_hidden) {
    kernels::gate_kernels().gru(size, from_input, from_hidden, nullptr, state.data_as<float>() + n * size);
  });
  return state;
}

std::vector<Tensor> lstm_cell(const OpDef& op, const OpArgs& args) {
  const CellOperands x(op, args, true);
  if (runs_now(x, 4)) return lstm_cell_now(x);
  const Tensor gates = build::add(x.input_gates, x.hidden_gates);
  const Tensor kept = build::mul(sigmoid(gate(gates, 1, 4)), x.cell);
  const Tensor cell = build::add(kept, build::mul(sigmoid(gate(gates, 0, 4)), tanh(gate(gates, 2, 4))));
  return {build::mul(sigmoid(gate(gates, 3, 4)), tanh(cell)), cell};
}

std::vector<Tensor> gru_cell(const OpDef& op, const OpArgs& args) {
  const CellOperands x(op, args, false);
  if (runs_now(x, 3)) return {gru_cell_now(x)};
  const auto both = [&](int64_t i) {
    return build::add(gate(x.input_gates, i, 3), gate(x.hidden_gates, i, 3));
  };
  const Tensor reset = sigmoid(both(0)), update = sigmoid(both(1));
  const Tensor candidate =
      tanh(build::add(gate(x.input_gates, 2, 3), build::mul(reset, gate(x.hidden_gates, 2, 3))));
  return {build::add(build::mul(build::sub(x.hidden, candidate), update), candidate)};
}

std::vector<Tensor> rnn_cell(const OpDef& op, const OpArgs& args, const char* activation) {
  const CellOperands x(op, args, false);
  return {call1(activation, {build::add(x.input_gates, x.hidden_gates)})};
}

// ---- packing
// ----------------------------------------------------------------------------------------------- Rows that
// follow one another in both tensors are copied together; the dtypes are equal.
void copy_rows(const Tensor& target, int64_t target_row, const Tensor& source, int64_t source_row,
               int64_t rows, int64_t row_size) {
  const size_t bytes = static_cast<size_t>(row_size * itemsize(target.dtype()));
  std::memcpy(static_cast<std::byte*>(target.data()) + static_cast<size_t>(target_row) * bytes,
              static_cast<const std::byte*>(source.data()) + static_cast<size_t>(source_row) * bytes,
              static_cast<size_t>(rows) * bytes);
}

Tensor known(const OpDef& op, const Tensor& x, const char* what) {
  WEFT_CHECK(!x.is_traced(),
             fmt::format("{}: the results' sizes depend on the values of `{}`, which are not known while a "
                         "function is traced",
                         op.name, what));
  WEFT_CHECK_TYPE(x.dim() == 1 && x.dtype() == DType::I64,
                  fmt::format("{}: {} must be a vector of int64, got {}", op.name, what, describe(x)));
  return x.contiguous();
}

// [steps, batch, *], or [batch, steps, *] -> (rows of step 0, rows of step 1, …; how many each step has)
std::vector<Tensor> pack_padded(const OpDef& op, const OpArgs& args) {
  const Tensor lengths = known(op, args.tensors[1], "lengths");
  Tensor input = args.tensors[0];
  WEFT_CHECK(!input.is_traced() && input.dim() >= 2,
             fmt::format("{}: expected an input of at least 2 dimensions, got {}", op.name, describe(input)));
  if (args.attrs.get_bool("batch_first")) input = build::transpose(input, 0, 1);
  input = input.contiguous();
  const int64_t steps = input.size(0), batch = input.size(1),
                row_size = steps * batch > 0 ? input.numel() / (steps * batch) : 0;
  const int64_t* length = lengths.data_as<int64_t>();
  WEFT_CHECK(lengths.numel() == batch && batch > 0,
             fmt::format("{}: expected one length for each of {} sequences, got {}", op.name, batch,
                         lengths.numel()));
  WEFT_CHECK(
      std::is_sorted(length, length + batch, std::greater<>()) && length[batch - 1] > 0 && length[0] <= steps,
      fmt::format("{}: lengths must be sorted in decreasing order, positive, and at most {}: got {}", op.name,
                  steps, weft::str(std::vector<int64_t>(length, length + batch))));
  Shape shape(input.shape().begin() + 1, input.shape().end());
  shape[0] = std::accumulate(length, length + batch, int64_t{0});
  const Tensor data = Tensor::empty(shape, input.dtype()),
               batch_sizes = Tensor::empty({length[0]}, DType::I64);
  int64_t row = 0, size = batch;
  for (int64_t t = 0; t < length[0]; ++t) {
    while (length[size - 1] <= t) --size;
    batch_sizes.data_as<int64_t>()[t] = size;
    copy_rows(data, row, input, t * batch, size, row_size);
    row += size;
  }
  return {data, batch_sizes};
}

// The reverse: what a sequence does not have is `padding_value`.
std::vector<Tensor> pad_packed(const OpDef& op, const OpArgs& args) {
  const Tensor batch_sizes = known(op, args.tensors[1], "batch_sizes");
  WEFT_CHECK(
      !args.tensors[0].is_traced() && args.tensors[0].dim() >= 1,
      fmt::format("{}: expected data of at least 1 dimension, got {}", op.name, describe(args.tensors[0])));
  const Tensor data = args.tensors[0].contiguous();
  const int64_t* sizes = batch_sizes.data_as<int64_t>();
  const int64_t longest = batch_sizes.numel(), total = int_arg(args.attrs, "total_length");
  const std::vector<int64_t> listed(sizes, sizes + longest);
  WEFT_CHECK(longest > 0 && std::is_sorted(sizes, sizes + longest, std::greater<>()) &&
                 sizes[longest - 1] > 0 &&
                 std::accumulate(sizes, sizes + longest, int64_t{0}) == data.size(0),
             fmt::format("{}: batch_sizes must be positive, never grow and add up to {} rows: got {}",
                         op.name, data.size(0), weft::str(listed)));
  WEFT_CHECK(total <= 0 || total >= longest,
             fmt::format("{}: expected total_length to be at least the longest sequence's {}, got {}",
                         op.name, longest, total));
  const int64_t batch = sizes[0];
  Shape shape = data.shape();
  shape[0] = batch;
  shape.insert(shape.begin(), total > 0 ? total : longest);
  Tensor output = Tensor::full(shape, scalar_arg(args.attrs, "padding_value"), data.dtype());
  const Tensor lengths = Tensor::full({batch}, Scalar(int64_t{0}), DType::I64);
  const int64_t row_size = data.numel() / data.size(0);
  for (int64_t t = 0, row = 0; t < longest; row += sizes[t], ++t) {
    copy_rows(output, t * batch, data, row, sizes[t], row_size);
    for (int64_t n = 0; n < sizes[t]; ++n) lengths.data_as<int64_t>()[n] = t + 1;
  }
  if (args.attrs.get_bool("batch_first")) output = build::transpose(output, 0, 1);
  return {output, lengths};
}

constexpr const char* kCellOperands =
    "Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None";

const OpDef& define_cell(const char* operator_name, const char* doc, CompositeFn body) {
  return define_composite(operator_name, fmt::format("(Tensor input, {}) -> Tensor", kCellOperands).c_str(),
                          doc, "", std::move(body));
}

[[maybe_unused]] const OpDef* const kRecurrentCellsOps[] = {
    &define_composite(
        "lstm_cell",
        "(Tensor input, Tensor[2] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
        "(Tensor, Tensor)",
        "One step of an LSTM: input [batch, n], hx (h, c) [batch, size]; gives the next (h, c).", "",
        lstm_cell),
    &define_cell("gru_cell", "One step of a GRU: input [batch, n], hx [batch, size]; gives the next h.",
                 gru_cell),
    &define_cell("rnn_tanh_cell", "tanh(w_ih x + b_ih + w_hh h + b_hh).",
                 [](const OpDef& op, const OpArgs& args) { return rnn_cell(op, args, "tanh"); }),
    &define_cell("rnn_relu_cell", "max(w_ih x + b_ih + w_hh h + b_hh, 0).",
                 [](const OpDef& op, const OpArgs& args) { return rnn_cell(op, args, "relu"); }),
    &define_composite("_pack_padded_sequence",
                      "(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
                      "Sequences of decreasing lengths (int64) in a padded input [steps, batch, *] or "
                      "[batch, steps, *]: (data [rows, *],\n"
                      "every step's rows one after another; batch_sizes, how many rows each step has).",
                      "", on_host(pack_padded), {"pack_padded_sequence"}),
    &define_composite("_pad_packed_sequence",
                      "(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int "
                      "total_length) -> (Tensor, Tensor)",
                      "The reverse of _pack_padded_sequence: (padded sequences, lengths). A positive "
                      "total_length is the number of steps.",
                      "", on_host(pad_packed), {"pad_packed_sequence"}),
};

}  // namespace
}  // namespace weft::ops
