// weft::PackedLinear: operands checked, tensors to rows.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/quantized_matrix.h"
#include "weft/error.h"
#include "weft/quantization.h"

namespace weft {
namespace {

using kernels::FinishActivation;
using kernels::ProductArgs;
using kernels::RowsView;
using kernels::WeightFormat;
using kernels::WeightRows;

static_assert(static_cast<int>(LinearActivation::GeluTanh) == static_cast<int>(FinishActivation::GeluTanh));
static_assert(static_cast<int>(InputPrecision::Int8) == static_cast<int>(kernels::InputPrecision::Int8));
static_assert(static_cast<int>(InputPrecision::BFloat16) ==
              static_cast<int>(kernels::InputPrecision::BFloat16));
static_assert(static_cast<int>(LinearActivation::Silu) == static_cast<int>(FinishActivation::Silu));

std::string shown(const Tensor& tensor) { return tensor.defined() ? describe(tensor) : "none"; }

std::string describe_weight(const LinearWeight& w) {
  return fmt::format("\n  weight: {}  scales: {}  bias: {}  group_size: {}", shown(w.weight), shown(w.scales),
                     shown(w.bias), w.group_size);
}

WeightFormat format_of(const LinearWeight& w) {
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
  if (format == WeightFormat::Int8) {
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

// The parts' rows, and the contiguous tensors that hold them.
struct CheckedWeights {
  std::vector<WeightRows> rows;
  std::vector<Tensor> held;

  void add(const LinearWeight& w) {
    WEFT_CHECK(w.weight.defined() && w.weight.dim() == 2,
               "PackedLinear: expected weight [out, in]" + describe_weight(w));
    const WeightFormat format = format_of(w);
    const int64_t out = w.weight.size(0), in = w.weight.size(1) * (format == WeightFormat::Int4 ? 2 : 1);
    check_scales(w, format, in);
    WEFT_CHECK(!w.bias.defined() || (is_floating(w.bias.dtype()) && w.bias.shape() == Shape{out}),
               fmt::format("PackedLinear: expected floating bias [{}]{}", out, describe_weight(w)));
    WeightRows part{
        .format = format, .out = out, .in = in, .group = format == WeightFormat::Int4 ? w.group_size : 0};
    part.values = hold(w.weight);
    if (w.scales.defined()) part.scales = hold(w.scales);
    if (w.bias.defined()) part.bias = static_cast<const float*>(hold(w.bias.to(DType::F32)));
    if (!rows.empty()) {
      WEFT_CHECK(rows[0].format == format && rows[0].in == in && rows[0].group == part.group,
                 fmt::format("PackedLinear: weights that are packed together must have one dtype, "
                             "in_features ({}) and group_size ({}){}",
                             rows[0].in, rows[0].group, describe_weight(w)));
    }
    rows.push_back(part);
  }

  const void* hold(const Tensor& tensor) {
    held.push_back(tensor.contiguous());
    return held.back().data();
  }
};

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

}  // namespace

PackedLinear::PackedLinear(const LinearWeight& weight) : PackedLinear(std::vector<LinearWeight>{weight}) {}

PackedLinear::PackedLinear(const std::vector<LinearWeight>& weights) {
  WEFT_CHECK(!weights.empty(), "PackedLinear: expected at least one weight");
  CheckedWeights checked;
  for (const LinearWeight& weight : weights) checked.add(weight);
  matrix_ = std::make_shared<kernels::PackedMatrix>(checked.rows, false);
}

PackedLinear PackedLinear::gated(const LinearWeight& gate, const LinearWeight& up) {
  CheckedWeights checked;
  checked.add(gate), checked.add(up);
  WEFT_CHECK(checked.rows[0].out == checked.rows[1].out,
             "PackedLinear: gate and up must have one number of outputs" + describe_weight(gate) +
                 describe_weight(up));
  PackedLinear result;
  result.matrix_ = std::make_shared<kernels::PackedMatrix>(checked.rows, true);
  return result;
}

int64_t PackedLinear::in_features() const { return matrix_->in(); }
int64_t PackedLinear::out_features() const { return matrix_->out(); }
int64_t PackedLinear::weight_bytes() const { return matrix_->bytes(); }
int64_t PackedLinear::independent_rows(InputPrecision precision, DType input) const {
  return matrix_->independent_rows(static_cast<kernels::InputPrecision>(precision), input);
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
  if (out.numel() > 0) matrix_->multiply(args);
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
