// weft::PackedLinear: operands checked, tensors to rows.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/quantized_matrix.h"
#include "kernels/cpu/weight_blocks.h"
#include "weft/error.h"
#include "weft/quantization.h"

namespace weft {
namespace {

using kernels::FinishActivation;
using kernels::GroupLayout;
using kernels::GroupNumbers;
using kernels::GroupValues;
using kernels::ProductArgs;
using kernels::RowsView;
using kernels::WeightFormat;
using kernels::WeightRows;

static_assert(static_cast<int>(LinearActivation::GeluTanh) == static_cast<int>(FinishActivation::GeluTanh));
static_assert(static_cast<int>(InputPrecision::Int8) == static_cast<int>(kernels::InputPrecision::Int8));
static_assert(static_cast<int>(InputPrecision::Weights) ==
              static_cast<int>(kernels::InputPrecision::Weights));
static_assert(static_cast<int>(LinearActivation::Silu) == static_cast<int>(FinishActivation::Silu));

std::string shown(const Tensor& tensor) { return tensor.defined() ? describe(tensor) : "none"; }

std::string describe_weight(const LinearWeight& w) {
  const std::string blocks =
      w.blocks == BlockFormat::None ? "" : fmt::format("  blocks: {}", block_size(w.blocks).name);
  return fmt::format("\n  weight: {}  scales: {}  bias: {}  group_size: {}{}", shown(w.weight),
                     shown(w.scales), shown(w.bias), w.group_size, blocks);
}

WeightFormat format_of(const LinearWeight& w) {
  if (w.blocks != BlockFormat::None) {
    WEFT_CHECK_TYPE(w.weight.dtype() == DType::U8,
                    "PackedLinear: expected blocks as uint8" + describe_weight(w));
    return WeightFormat::Groups;
  }
  if (w.group_size > 0 && w.scales.defined() && w.scales.dtype() == DType::F32 &&
      (w.weight.dtype() == DType::I8 || w.weight.dtype() == DType::U8 || w.weight.dtype() == DType::F8E4M3FN))
    return WeightFormat::Groups;
  switch (w.weight.dtype()) {
    case DType::F32: return WeightFormat::F32;
    case DType::F16: return WeightFormat::F16;
    case DType::BF16: return WeightFormat::BF16;
    case DType::I8: return WeightFormat::Int8;
    case DType::U8: return WeightFormat::Int4;
    default:
      throw_error(ErrorKind::Type,
                  "PackedLinear: expected weight of float32, float16, bfloat16, int8 or uint8 (int4)" +
                      describe_weight(w));
  }
}

void check_scales(const LinearWeight& w, WeightFormat format, int64_t in) {
  const int64_t out = w.weight.size(0);
  if (w.blocks != BlockFormat::None) {
    const BlockSize size = block_size(w.blocks);
    WEFT_CHECK(w.weight.size(1) % size.bytes == 0 && !w.scales.defined(),
               fmt::format("PackedLinear: expected rows of {} blocks of {} bytes each, and no scales{}",
                           size.name, size.bytes, describe_weight(w)));
  } else if (format == WeightFormat::Groups) {
    const int64_t group = w.group_size;
    WEFT_CHECK(group == 16 || group == 32 || group == 64 || group == 128 || group == 256,
               fmt::format("PackedLinear: expected group_size 16, 32, 64, 128 or 256, got {}{}", group,
                           describe_weight(w)));
    const Shape expected{(in + group - 1) / group, out, 2};
    WEFT_CHECK(w.scales.shape() == expected, fmt::format("PackedLinear: expected scales and zeros f32{}{}",
                                                         str(expected), describe_weight(w)));
    WEFT_CHECK(!w.table.defined() || (w.weight.dtype() == DType::U8 && w.table.dtype() == DType::F32 &&
                                      w.table.shape() == Shape{16}),
               "PackedLinear: expected a table f32[16] with int4 weights, got " + shown(w.table) +
                   describe_weight(w));
  } else if (format == WeightFormat::Int8) {
    WEFT_CHECK(
        w.scales.defined() && w.scales.dtype() == DType::F32 && w.scales.shape() == Shape{out},
        fmt::format("PackedLinear: expected scales f32[{}] with int8 weights{}", out, describe_weight(w)));
  } else if (format == WeightFormat::Int4) {
    const int64_t group = w.group_size;
    WEFT_CHECK(group == 32 || group == 64 || group == 128 || group == 256,
               fmt::format("PackedLinear: expected group_size 32, 64, 128 or 256, got {}{}", group,
                           describe_weight(w)));
    const Shape expected{(in + group - 1) / group, out, 2};
    WEFT_CHECK(w.scales.defined() && w.scales.dtype() == DType::BF16 && w.scales.shape() == expected,
               fmt::format("PackedLinear: expected scales and zeros bf16{} with int4 weights{}",
                           str(expected), describe_weight(w)));
  } else {
    WEFT_CHECK(!w.scales.defined(), "PackedLinear: floating weights take no scales" + describe_weight(w));
  }
}

GroupLayout layout_of(const LinearWeight& w) {
  if (w.blocks != BlockFormat::None) return kernels::group_layout(w.blocks);
  if (w.weight.dtype() == DType::F8E4M3FN)
    return kernels::float_scale_layout(w.group_size, GroupNumbers::Eight, 0, GroupValues::Float8);
  if (w.weight.dtype() == DType::I8)
    return kernels::float_scale_layout(w.group_size, GroupNumbers::Eight, 128);
  if (!w.table.defined()) return kernels::float_scale_layout(w.group_size, GroupNumbers::Four, 8);
  GroupLayout layout = kernels::float_scale_layout(w.group_size, GroupNumbers::Four, 0, GroupValues::Table);
  const Tensor table = w.table.contiguous();
  std::copy_n(table.data_as<float>(), 16, layout.floats);
  return layout;
}

// The parts' rows, and the contiguous tensors that hold them.
struct CheckedWeights {
  std::vector<WeightRows> rows;
  std::vector<std::vector<int64_t>> orders;  // of each, or empty
  std::vector<Tensor> held;

  void add(const LinearWeight& w) {
    WEFT_CHECK(w.weight.defined() && w.weight.dim() == 2,
               "PackedLinear: expected weight [out, in]" + describe_weight(w));
    const WeightFormat format = format_of(w);
    const int64_t out = w.weight.size(0), in = w.in_features();
    check_scales(w, format, in);
    WEFT_CHECK(!w.bias.defined() || (is_floating(w.bias.dtype()) && w.bias.shape() == Shape{out}),
               fmt::format("PackedLinear: expected floating bias [{}]{}", out, describe_weight(w)));
    WeightRows part{
        .format = format, .out = out, .in = in, .group = format == WeightFormat::Int4 ? w.group_size : 0};
    if (format == WeightFormat::Groups) part.blocks = w.blocks, part.layout = layout_of(w);
    orders.emplace_back();
    if (w.order.defined()) {
      WEFT_CHECK(w.order.dtype() == DType::I64 && w.order.shape() == Shape{in},
                 fmt::format("PackedLinear: expected an order i64[{}], got {}{}", in, shown(w.order),
                             describe_weight(w)));
      const Tensor order = w.order.contiguous();
      orders.back().assign(order.data_as<int64_t>(), order.data_as<int64_t>() + in);
      for (const int64_t column : orders.back())
        WEFT_CHECK_INDEX(column >= 0 && column < in,
                         fmt::format("PackedLinear: the order has {}, and there are {} inputs", column, in));
    }
    part.values = hold(w.weight);
    if (w.scales.defined()) part.scales = hold(w.scales);
    if (w.bias.defined()) part.bias = static_cast<const float*>(hold(w.bias.to(DType::F32)));
    if (!rows.empty()) {
      WEFT_CHECK(rows[0].in == in,
                 fmt::format("PackedLinear: weights of one input must have one in_features ({}){}",
                             rows[0].in, describe_weight(w)));
    }
    rows.push_back(part);
  }

  const void* hold(const Tensor& tensor) {
    held.push_back(tensor.contiguous());
    return held.back().data();
  }
};

bool is_one_kind(const CheckedWeights& checked, size_t first, size_t second) {
  const WeightRows &a = checked.rows[first], &b = checked.rows[second];
  return a.format == b.format && a.group == b.group && a.blocks == b.blocks &&
         a.layout.group == b.layout.group && a.layout.numbers == b.layout.numbers &&
         a.layout.values == b.layout.values &&
         std::equal(std::begin(a.layout.floats), std::end(a.layout.floats), std::begin(b.layout.floats)) &&
         checked.orders[first] == checked.orders[second];
}

// x as rows that are evenly apart.
RowsView rows_of(const Tensor& x, int64_t columns, int64_t rows, const char* operand) {
  const int64_t dims = x.dim();
  const auto complain = [&](const char* what) {
    throw_error(ErrorKind::Value,
                fmt::format("PackedLinear: expected {} {}, got {}", operand, what, describe(x)));
  };
  if (dims < 1 || x.size(-1) != columns || x.numel() != rows * columns)
    complain(fmt::format("of {} rows and {} columns", rows, columns).c_str());
  if (x.dtype() != DType::F32 && x.dtype() != DType::F16 && x.dtype() != DType::BF16)
    complain("of float32, float16 or bfloat16");
  if (columns > 1 && x.strides().back() != 1) complain("with contiguous rows");
  int64_t stride = columns, inner = 0;
  for (int64_t d = dims - 2; d >= 0; --d) {
    const int64_t size = x.shape()[static_cast<size_t>(d)], step = x.strides()[static_cast<size_t>(d)];
    if (size == 1) continue;
    if (inner == 0) {
      stride = step, inner = step * size;
    } else {
      if (step != inner) complain("with rows evenly apart");
      inner *= size;
    }
  }
  return {x.data(), x.dtype(), stride};
}

// x's columns in another order, in float32, until the thread's next call.
RowsView in_order(const RowsView& x, int64_t rows, const std::vector<int64_t>& order) {
  thread_local kernels::Scratch scratch;
  const auto columns = static_cast<int64_t>(order.size());
  float* const memory = scratch.floats((rows + 1) * columns);
  float* const row = memory + rows * columns;
  for (int64_t i = 0; i < rows; ++i) {
    kernels::to_floats(x, i, 1, 0, columns, columns, row, columns);
    for (int64_t k = 0; k < columns; ++k) memory[i * columns + k] = row[order[static_cast<size_t>(k)]];
  }
  return {memory, DType::F32, columns};
}

}  // namespace

int64_t LinearWeight::in_features() const {
  if (blocks != BlockFormat::None)
    return weight.size(1) / block_size(blocks).bytes * block_size(blocks).elements;
  return weight.size(1) * (weight.dtype() == DType::U8 ? 2 : 1);
}

PackedLinear::PackedLinear(const LinearWeight& weight) : PackedLinear(std::vector<LinearWeight>{weight}) {}

PackedLinear::PackedLinear(const std::vector<LinearWeight>& weights) {
  WEFT_CHECK(!weights.empty(), "PackedLinear: expected at least one weight");
  CheckedWeights checked;
  for (const LinearWeight& weight : weights) checked.add(weight);
  for (size_t first = 0, last = 0; first < checked.rows.size(); first = last) {
    for (last = first + 1; last < checked.rows.size() && is_one_kind(checked, first, last);) ++last;
    const std::vector<WeightRows> together(checked.rows.begin() + static_cast<ptrdiff_t>(first),
                                           checked.rows.begin() + static_cast<ptrdiff_t>(last));
    parts_.push_back({std::make_shared<kernels::PackedMatrix>(together, false), checked.orders[first]});
  }
}

bool PackedLinear::may_be_gated(const LinearWeight& gate, const LinearWeight& up) {
  CheckedWeights checked;
  checked.add(gate), checked.add(up);
  return is_one_kind(checked, 0, 1);
}

PackedLinear PackedLinear::gated(const LinearWeight& gate, const LinearWeight& up) {
  CheckedWeights checked;
  checked.add(gate), checked.add(up);
  WEFT_CHECK(checked.rows[0].out == checked.rows[1].out,
             "PackedLinear: gate and up must have one number of outputs" + describe_weight(gate) +
                 describe_weight(up));
  WEFT_CHECK(is_one_kind(checked, 0, 1),
             "PackedLinear: gate and up must have one dtype, group_size, block format and order" +
                 describe_weight(gate) + describe_weight(up));
  PackedLinear result;
  result.parts_.push_back({std::make_shared<kernels::PackedMatrix>(checked.rows, true), checked.orders[0]});
  return result;
}

int64_t PackedLinear::in_features() const { return parts_[0].matrix->in(); }
int64_t PackedLinear::out_features() const {
  int64_t out = 0;
  for (const Part& part : parts_) out += part.matrix->out();
  return out;
}
int64_t PackedLinear::weight_bytes() const {
  int64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.matrix->bytes();
  return bytes;
}
int64_t PackedLinear::independent_rows(InputPrecision precision, DType input) const {
  int64_t rows = INT64_MAX;
  for (const Part& part : parts_)
    rows =
        std::min(rows, part.matrix->independent_rows(static_cast<kernels::InputPrecision>(precision), input));
  return rows;
}

void PackedLinear::forward(const Tensor& x, const Tensor& out, const LinearEpilogue& epilogue) const {
  WEFT_CHECK(defined(), "PackedLinear: forward of an empty one");
  WEFT_CHECK(x.dim() >= 1 && x.size(-1) == in_features(),
             fmt::format("PackedLinear: expected x of {} columns, got {}", in_features(), describe(x)));
  int64_t rows = 1;
  for (int64_t i = 0; i + 1 < x.dim(); ++i) rows *= x.size(i);
  ProductArgs args{.x = rows_of(x, in_features(), rows, "x"),
                   .y = rows_of(out, out_features(), rows, "out"),
                   .residual = {},
                   .rows = rows,
                   .activation = static_cast<FinishActivation>(epilogue.activation),
                   .precision = static_cast<kernels::InputPrecision>(epilogue.precision)};
  if (epilogue.residual) {
    args.residual = rows_of(*epilogue.residual, out_features(), rows, "residual");
    WEFT_CHECK_TYPE(args.residual.dtype == args.y.dtype,
                    fmt::format("PackedLinear: residual must have the dtype of out\n  residual: {}  out: {}",
                                describe(*epilogue.residual), describe(out)));
  }
  if (out.numel() == 0) return;
  const RowsView given = args.x;
  for (const auto& [matrix, order] : parts_) {
    args.x = order.empty() ? given : in_order(given, rows, order);
    matrix->multiply(args);
    for (RowsView* view : {&args.y, &args.residual})
      if (view->data)
        view->data = static_cast<std::byte*>(view->data) + matrix->out() * itemsize(view->dtype);
  }
}

Tensor PackedLinear::operator()(const Tensor& x, const LinearEpilogue& epilogue) const {
  WEFT_CHECK(defined() && x.dim() >= 1, "PackedLinear: expected x of at least one dimension");
  Shape shape = x.shape();
  shape.back() = out_features();
  const Tensor out = Tensor::empty(shape, x.dtype());
  forward(x, out, epilogue);
  return out;
}

}  // namespace weft
