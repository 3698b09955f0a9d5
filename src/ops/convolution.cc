// Convolutions. conv1d … conv_transpose3d are composites over one kernel operator, `convolution`, whose
// padding is always a list of numbers: graphs contain no other.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/conv_bfloat16.h"
#include "kernels/cpu/conv_f32.h"
#include "kernels/cpu/gemm.h"
#include "ops/arguments.h"
#include "ops/iteration_order.h"
#include "ops/window.h"
#include "weft/parallel.h"

namespace weft::ops {
namespace {

// The attributes of a convolution of `dims` spatial dimensions, one number for each.
struct ConvAttrs {
  size_t dims;
  std::vector<int64_t> stride, dilation, output_padding;
  SymShape before, after;  // padding
  bool transposed;
  int64_t groups;
};

// One number per spatial dimension, from a list of as many or of one.
SymShape spatial_list(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs,
                      const char* name, size_t dims, int64_t least) {
  SymShape values = list_arg(attrs, name);
  if (values.size() == 1) values.resize(dims, values[0]);
  if (values.size() != dims) {
    fail_for(op, operands,
             fmt::format("expected {} to be one number or {}, got {}", name, dims, weft::str(values)));
  }
  for (const Sym& value : values) {
    if (sym_lt(value, Sym(least)))
      fail_for(op, operands, fmt::format("expected {} >= {}, got {}", name, least, weft::str(values)));
  }
  return values;
}

std::vector<int64_t> spatial_ints(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs,
                                  const char* name, size_t dims, int64_t least) {
  std::vector<int64_t> values;
  for (const Sym& value : spatial_list(op, operands, attrs, name, dims, least)) {
    values.push_back(sym_specialize(value));
    if (values.back() > kLargestWindow)
      fail_for(op, operands, fmt::format("expected {} <= {}, got {}", name, kLargestWindow, values.back()));
  }
  return values;
}

ConvAttrs read_attrs(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  const size_t dims = operands[1].shape.size() - 2;
  ConvAttrs result{dims,
                   spatial_ints(op, operands, attrs, "stride", dims, 1),
                   spatial_ints(op, operands, attrs, "dilation", dims, 1),
                   spatial_ints(op, operands, attrs, "output_padding", dims, 0),
                   {},
                   {},
                   attrs.get_bool("transposed"),
                   int_arg(attrs, "groups")};
  // As many numbers as dimensions, or those before each dimension and then those after it.
  const SymShape padding = list_arg(attrs, "padding");
  if (padding.size() == 2 * dims) {
    result.before.assign(padding.begin(), padding.begin() + static_cast<long>(dims));
    result.after.assign(padding.begin() + static_cast<long>(dims), padding.end());
  } else {
    result.before = result.after = spatial_list(op, operands, attrs, "padding", dims, 0);
  }
  if (result.groups < 1) fail_for(op, operands, fmt::format("expected groups >= 1, got {}", result.groups));
  for (size_t d = 0; d < dims; ++d) {
    const int64_t limit = std::max(result.stride[d], result.dilation[d]);
    if (result.transposed && result.output_padding[d] >= limit) {
      fail_for(
          op, operands,
          fmt::format("output_padding must be smaller than stride or dilation: expected less than {}, got {}",
                      limit, result.output_padding[d]));
    }
  }
  return result;
}

void check_dtypes(const OpDef& op, std::span<const TensorType> operands) {
  const DType dtype = operands[0].dtype;
  for (const TensorType& operand : operands) {
    WEFT_CHECK_TYPE(operand.absent || operand.dtype == dtype,
                    fmt::format("{}: input, weight and bias must have one dtype: expected {}, got {}{}",
                                op.name, name(dtype), name(operand.dtype), describe_operands(op, operands)));
  }
  WEFT_CHECK_TYPE((dtype_bit(dtype) & op.dtypes) != 0,
                  fmt::format("{}: dtype not supported: expected {}, got {}{}", op.name, str(op.dtypes),
                              name(dtype), describe_operands(op, operands)));
}

// Ranks of input and weight: `dims` spatial dimensions and two more, or one more for an input without a
// batch.
void check_ranks(const OpDef& op, std::span<const TensorType> operands, size_t dims) {
  const size_t input = operands[0].shape.size(), weight = operands[1].shape.size();
  if (weight != dims + 2)
    fail_for(op, operands, fmt::format("expected weight of {} dimensions, got {}", dims + 2, weight));
  if (input != dims + 1 && input != dims + 2) {
    fail_for(op, operands,
             fmt::format("expected input of {} (unbatched) or {} (batched) dimensions, got {}", dims + 1,
                         dims + 2, input));
  }
}

// Channels of the result, checked against the input's, the weight's and the bias's.
Sym check_channels(const OpDef& op, std::span<const TensorType> operands, const ConvAttrs& attrs) {
  const SymShape& weight = operands[1].shape;
  const Sym channels = operands[0].shape[operands[0].shape.size() - attrs.dims - 1], groups(attrs.groups);
  const Sym expected = attrs.transposed ? weight[0] : weight[1] * groups;
  if (sym_ne(channels, expected)) {
    fail_for(
        op, operands,
        fmt::format("expected input with {} channels (weight.shape[{}]{}), got {} channels", expected.str(),
                    attrs.transposed ? 0 : 1, attrs.transposed ? "" : " * groups", channels.str()));
  }
  if (sym_ne(floor_mod(weight[0], groups), Sym(0))) {
    fail_for(op, operands,
             fmt::format("expected weight.shape[0] to be divisible by groups = {}, got {}", attrs.groups,
                         weight[0].str()));
  }
  const Sym out_channels = attrs.transposed ? weight[1] * groups : weight[0];
  if (operands.size() > 2 && !operands[2].absent) {
    const SymShape& bias = operands[2].shape;
    if (bias.size() != 1 || sym_ne(bias[0], out_channels)) {
      fail_for(op, operands,
               fmt::format("expected bias of shape [{}] (the number of output channels), got {}",
                           out_channels.str(), weft::str(bias)));
    }
  }
  return out_channels;
}

Sym output_size(const OpDef& op, std::span<const TensorType> operands, const ConvAttrs& attrs, size_t d) {
  const SymShape& input = operands[0].shape;
  const Sym size = input[input.size() - attrs.dims + d], kernel = operands[1].shape[d + 2];
  if (sym_lt(kernel, Sym(1))) fail_for(op, operands, "expected a kernel with at least one element");
  const Sym reach = Sym(attrs.dilation[d]) * (kernel - Sym(1)), padding = attrs.before[d] + attrs.after[d];
  const Sym stride(attrs.stride[d]);
  if (attrs.transposed) {
    const Sym result = (size - Sym(1)) * stride - padding + reach + Sym(attrs.output_padding[d]) + Sym(1);
    if (sym_lt(result, Sym(0)))
      fail_for(op, operands,
               fmt::format("the padding leaves no output: size {} in dimension {}", result.str(), d + 2));
    return result;
  }
  if (sym_lt(size + padding, reach + Sym(1))) {
    fail_for(
        op, operands,
        fmt::format("the kernel is larger than the padded input in spatial dimension {}: expected at most "
                    "{}, got {}{}",
                    d, (size + padding).str(), (reach + Sym(1)).str(),
                    attrs.dilation[d] > 1 ? " (dilated)" : ""));
  }
  return floor_div(size + padding - reach - Sym(1), stride) + Sym(1);
}

std::vector<TensorType> infer_convolution(const OpDef& op, std::span<const TensorType> operands,
                                          const Attrs& attrs) {
  check_dtypes(op, operands);
  const size_t dims = operands[1].shape.size() - 2;
  if (operands[1].shape.size() < 3 || dims > 3)
    fail_for(op, operands,
             fmt::format("expected weight of 3 to 5 dimensions, got {}", operands[1].shape.size()));
  check_ranks(op, operands, dims);
  const ConvAttrs parsed = read_attrs(op, operands, attrs);
  TensorType result{operands[0].dtype, {}, operands[0].device};
  if (operands[0].shape.size() == dims + 2) result.shape.push_back(operands[0].shape[0]);
  result.shape.push_back(check_channels(op, operands, parsed));
  for (size_t d = 0; d < dims; ++d) result.shape.push_back(output_size(op, operands, parsed, d));
  return {result};
}

kernels::ConvGeometry geometry_of(const Tensor& x, const Tensor& weight, const Shape& output,
                                  const ConvAttrs& attrs) {
  kernels::ConvGeometry geometry;
  const size_t dims = attrs.dims, unbatched = x.shape().size() == dims + 1;
  geometry.batch = unbatched ? 1 : x.shape()[0];
  geometry.in_channels = x.shape()[1 - unbatched];
  geometry.out_channels = output[1 - unbatched];
  geometry.groups = attrs.groups;
  geometry.transposed = attrs.transposed;
  for (size_t d = 0; d < dims; ++d) {
    const size_t to = 3 - dims + d;
    geometry.input[to] = x.shape()[2 - unbatched + d];
    geometry.output[to] = output[2 - unbatched + d];
    geometry.kernel[to] = weight.shape()[2 + d];
    geometry.stride[to] = attrs.stride[d];
    geometry.dilation[to] = attrs.dilation[d];
    geometry.padding[to] = attrs.before[d].constant();
  }
  return geometry;
}

// Strides of [n, c, *size] (or [c, *size]) stored with the channels last.
Strides channels_last_strides(const Shape& shape, size_t channel_dim) {
  Strides strides(shape.size());
  int64_t stride = 1;
  strides[channel_dim] = stride;
  stride *= shape[channel_dim];
  for (size_t d = shape.size(); d-- > 0;) {
    if (d == channel_dim) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

bool is_channels_last(const Tensor& x, size_t channel_dim) {
  const Strides wanted = channels_last_strides(x.shape(), channel_dim);
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (x.shape()[d] != 1 && x.strides()[d] != wanted[d]) return false;
  }
  return true;
}

// One product for each image: its channels are the rows of a matrix.
bool is_product(const kernels::ConvGeometry& g) {
  bool is_one = !g.transposed && g.groups == 1;
  for (size_t d = 0; d < g.kernel.size(); ++d)
    is_one = is_one && g.kernel[d] == 1 && g.stride[d] == 1 && g.padding[d] == 0 && g.output[d] == g.input[d];
  return is_one;
}

// The sums begin with the bias, as those of any other convolution do.
Tensor product_f32(const kernels::ConvGeometry& g, const Tensor& input, const Tensor& weight,
                   const Tensor& bias, const Shape& shape) {
  const Tensor x = input.contiguous();
  const Tensor y = Tensor::empty(shape, DType::F32);
  const int64_t pixels = g.output[0] * g.output[1] * g.output[2], m = g.out_channels, k = g.in_channels;
  constexpr int64_t kGrain = 1 << 16;  // elements
  parallel_for(0, g.batch * m, std::max<int64_t>(1, kGrain / pixels), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      std::fill_n(y.data_as<float>() + row * pixels, pixels,
                  bias.defined() ? bias.data_as<float>()[row % m] : 0.0f);
  });
  for (int64_t image = 0; image < g.batch; ++image)
    kernels::add_product_f32(m, pixels, k, {weight.data_as<float>(), k, 1},
                             {x.data_as<float>() + image * k * pixels, pixels, 1},
                             y.data_as<float>() + image * m * pixels);
  return y;
}

// Through channels-last images; channels-last images give channels-last ones, sequences as in PyTorch C
// order.
Tensor convolution_f32(const kernels::ConvGeometry& g, const Tensor& input, const Tensor& weight,
                       const Tensor& bias, const Shape& shape, size_t channel_dim) {
  const int64_t pixels_in = g.input[0] * g.input[1] * g.input[2],
                pixels_out = g.output[0] * g.output[1] * g.output[2];
  const bool last = is_channels_last(input, channel_dim) && g.in_channels > 1;
  // With fewer, turning images costs as much as the products.
  constexpr int64_t kManyPixels = 64;
  if (!last && pixels_out >= kManyPixels && is_product(g)) return product_f32(g, input, weight, bias, shape);
  Tensor x = input;
  if (!last) {
    x = input.contiguous();
    if (g.in_channels > 1 && pixels_in > 1) {
      const Tensor turned = Tensor::empty(x.shape(), DType::F32);
      kernels::to_channels_last(g.batch, g.in_channels, pixels_in, x.data_as<float>(),
                                turned.data_as<float>());
      x = turned;
    }
  }
  const Tensor y = Tensor::empty(shape, DType::F32);
  kernels::convolve_f32(g, x.data_as<float>(), weight.data_as<float>(),
                        bias.defined() ? bias.data_as<float>() : nullptr, y.data_as<float>());
  const bool is_sequence = shape.size() == channel_dim + 2;
  if (last && !is_sequence) return y.as_strided(shape, channels_last_strides(shape, channel_dim), 0);
  if (g.out_channels == 1 || pixels_out == 1) return y;
  const Tensor result = Tensor::empty(shape, DType::F32);
  kernels::to_channels_first(g.batch, g.out_channels, pixels_out, y.data_as<float>(),
                             result.data_as<float>());
  return result;
}

Tensor convolution_bfloat16(const kernels::BFloat16Kernels& engine, const kernels::ConvGeometry& g,
                            std::span<const Tensor> operands, const Shape& shape) {
  const Tensor x = operands[0].contiguous(), weight = operands[1].contiguous(),
               bias = operands[2].defined() ? operands[2].contiguous() : Tensor(),
               y = Tensor::empty(shape, DType::BF16);
  kernels::convolve_bfloat16(engine, g, x.data_as<BFloat16>(), weight.data_as<BFloat16>(),
                             bias.defined() ? bias.data_as<BFloat16>() : nullptr, y.data_as<BFloat16>());
  return y;
}

std::vector<Tensor> eager_convolution(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<TensorType> types;
  for (const Tensor& operand : operands)
    types.push_back(operand.defined() ? type_of(operand) : TensorType{.absent = true});
  const TensorType type = infer_convolution(op, types, attrs)[0];
  Shape shape;
  for (const Sym& size : type.shape) shape.push_back(size.constant());
  if (numel(shape) == 0) return {Tensor::empty(shape, type.dtype)};
  const kernels::ConvGeometry geometry =
      geometry_of(operands[0], operands[1], shape, read_attrs(op, types, attrs));
  const auto prepared = [](const Tensor& x, DType dtype) {
    return x.defined() ? x.to(dtype).contiguous() : Tensor();
  };
  const size_t channel_dim = operands[0].shape().size() - operands[1].shape().size() + 1;
  const kernels::BFloat16Kernels* const engine =
      type.dtype == DType::BF16 && geometry.in_channels > 0 &&
              kernels::convolve_bfloat16_supports(geometry) &&
              (operands[0].is_contiguous() || !is_channels_last(operands[0], channel_dim))
          ? kernels::bfloat16_kernels()
          : nullptr;
  if (engine) return {convolution_bfloat16(*engine, geometry, operands, shape)};
  if (type.dtype != DType::F64 && kernels::convolve_f32_supports(geometry)) {
    const Tensor y =
        convolution_f32(geometry, to_in_order(operands[0], DType::F32), prepared(operands[1], DType::F32),
                        prepared(operands[2], DType::F32), shape, channel_dim);
    return {to_in_order(y, type.dtype)};
  }
  const Tensor result = Tensor::empty(shape, type.dtype);
  const Tensor x = prepared(operands[0], type.dtype), weight = prepared(operands[1], type.dtype);
  const Tensor bias = prepared(operands[2], type.dtype);
  visit_dtype(type.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half> ||
                  std::is_same_v<T, BFloat16>) {
      kernels::convolve_generic<T>(geometry, x.data_as<T>(), weight.data_as<T>(),
                                   bias.defined() ? bias.data_as<T>() : nullptr, result.data_as<T>());
    }
  });
  return {result};
}

// ---- the functions of torch.nn.functional ----------------------------------------------------------------

// 'valid', 'same' or numbers as the numbers that `convolution` takes.
SymShape resolve_padding(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  const std::string* word = std::get_if<std::string>(&attrs.at("padding"));
  const size_t dims = operands[1].shape.size() - 2;
  if (word == nullptr) return spatial_list(op, operands, attrs, "padding", dims, 0);
  if (*word == "valid") return SymShape(dims, Sym(0));
  if (*word != "same")
    fail_for(op, operands, fmt::format("expected padding to be numbers, 'same' or 'valid', got '{}'", *word));
  const std::vector<int64_t> stride = spatial_ints(op, operands, attrs, "stride", dims, 1);
  const std::vector<int64_t> dilation = spatial_ints(op, operands, attrs, "dilation", dims, 1);
  SymShape padding(2 * dims);
  for (size_t d = 0; d < dims; ++d) {
    if (stride[d] != 1)
      fail_for(op, operands, fmt::format("padding='same' needs stride 1, got stride {}", weft::str(stride)));
    const Sym total = Sym(dilation[d]) * (operands[1].shape[d + 2] - Sym(1));
    padding[d] = floor_div(total, Sym(2));
    padding[dims + d] = total - padding[d];
  }
  return padding;
}

std::vector<Tensor> convolve(const OpDef& op, const OpArgs& args, size_t dims, bool transposed) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : args.tensors)
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
  check_ranks(op, types, dims);
  Attrs attrs{{"stride", args.attrs.at("stride")},
              {"padding", resolve_padding(op, types, args.attrs)},
              {"dilation", args.attrs.at("dilation")},
              {"transposed", transposed},
              {"output_padding", transposed ? args.attrs.at("output_padding") : Attr(SymShape{Sym(0)})},
              {"groups", args.attrs.at("groups")}};
  // The checks once under the name the caller used; `convolution` repeats them under its own.
  infer_convolution(op, types, attrs);
  return {call1("convolution", args.tensors, std::move(attrs))};
}

template <size_t kDims, bool kTransposed>
std::vector<Tensor> convolve(const OpDef& op, const OpArgs& args) {
  return convolve(op, args, kDims, kTransposed);
}

constexpr const char* kConvSchema =
    "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[]|str padding=0, int[] dilation=1, "
    "int groups=1) -> Tensor";
constexpr const char* kTransposedSchema =
    "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
    "output_padding=0, "
    "int groups=1, int[] dilation=1) -> Tensor";

const OpDef& define_convolution(const char* name, const char* schema, const char* doc, CompositeFn body) {
  return register_op({.name = name,
                      .schema = schema,
                      .kind = OpKind::Composite,
                      .dtypes = kFloats,
                      .doc = doc,
                      .composite = std::move(body)});
}

[[maybe_unused]] const OpDef* const kConvolutionOps[] = {
    &register_op({.name = "convolution",
                  .schema = "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] "
                            "padding=0, int[] dilation=1, "
                            "bool transposed=False, int[] output_padding=0, int groups=1) -> Tensor",
                  .dtypes = kFloats,
                  .doc = "What conv1d to conv_transpose3d are written over: input[n, c, *size] or [c, *size] "
                         "of 1 to 3 spatial "
                         "dimensions,\n"
                         "weight[out, c / groups, *kernel], transposed: weight[c, out / groups, *kernel].\n"
                         "padding: a number for every dimension, or those before each dimension and then "
                         "those after it.\n"
                         "dtype:  floating, the same for all; float16 and bfloat16 add in float32.\n"
                         "error:  k * eps * sum(|x||w|), k = c / groups * kernel elements. raises: "
                         "ValueError where sizes do "
                         "not fit.",
                  .infer = infer_convolution,
                  .eager = eager_convolution}),
    &define_convolution(
        "conv1d", kConvSchema,
        "Cross-correlation of input[n, c, w] or [c, w] with weight[out, c / groups, kw]. padding: "
        "numbers, 'valid' (0) or\n"
        "'same' (the output has the input's size; the odd one goes after).",
        convolve<1, false>),
    &define_convolution(
        "conv2d", kConvSchema,
        "Cross-correlation of input[n, c, h, w] or [c, h, w] with weight[out, c / groups, kh, kw]. "
        "padding: numbers, 'valid'\n"
        "(0) or 'same' (the output has the input's size; the odd one goes after).",
        convolve<2, false>),
    &define_convolution(
        "conv3d", kConvSchema,
        "Cross-correlation of input[n, c, d, h, w] or [c, d, h, w] with weight[out, c / groups, kd, kh, "
        "kw]. padding: numbers,\n"
        "'valid' (0) or 'same' (the output has the input's size; the odd one goes after).",
        convolve<3, false>),
    &define_convolution(
        "conv_transpose1d", kTransposedSchema,
        "Transposed convolution (the gradient of conv1d) of input[n, c, w] or [c, w] with weight[c, out "
        "/ groups, kw].",
        convolve<1, true>),
    &define_convolution(
        "conv_transpose2d", kTransposedSchema,
        "Transposed convolution (the gradient of conv2d) of input[n, c, h, w] or [c, h, w] with "
        "weight[c, out / groups, kh, kw].",
        convolve<2, true>),
    &define_convolution(
        "conv_transpose3d", kTransposedSchema,
        "Transposed convolution (the gradient of conv3d) of input[n, c, d, h, w] or [c, d, h, w] with "
        "weight[c, out / groups, kd,\n"
        "kh, kw].",
        convolve<3, true>),
};

}  // namespace
}  // namespace weft::ops
