#include "ops/quantized/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/quantized.h"
#include "ops/iteration_order.h"
#include "ops/kept_order.h"
#include "ops/stored.h"
#include "weft/error.h"

namespace weft::ops {
namespace {

using Results = std::vector<Tensor>;
using Handler = Results (*)(const OpDef& op, const OpArgs& args);

bool is_quantized_tensor(const Tensor& tensor) { return tensor.defined() && is_quantized(tensor.dtype()); }

const Tensor& first_quantized(const OpArgs& args) {
  return *std::find_if(args.tensors.begin(), args.tensors.end(), is_quantized_tensor);
}

bool are_same(const Quantizer& a, const Quantizer& b) {
  return &a == &b || (a.scales == b.scales && a.zero_points == b.zero_points && a.axis == b.axis);
}

OpArgs with_first(const OpArgs& args, Tensor first) {
  OpArgs changed = args;
  changed.tensors[0] = std::move(first);
  return changed;
}

[[noreturn]] void refuse_quantized(const OpDef& op, const OpArgs& args) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : args.tensors)
    types.push_back(tensor.defined() ? type_of(tensor) : TensorType{.absent = true});
  throw_error(ErrorKind::NotImplemented, fmt::format("{}: not implemented for quantized tensors{}", op.name,
                                                     describe_operands(op, types)));
}

// ---- elements as they are --------------------------------------------------------------------------------
Results view_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  Results results = run_now(op, args);
  for (Tensor& result : results) {
    if (result.shape() != x.shape()) check_keeps_dimensions(op.name, x);
    result.impl()->quantizer = x.quantizer();
  }
  return results;
}

// The integers of all operands, rounded to the first one's scale.
Results move_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = first_quantized(args);
  check_keeps_dimensions(op.name, x);
  OpArgs integers = args;
  for (Tensor& tensor : integers.tensors) {
    if (!is_quantized_tensor(tensor)) continue;
    const bool fits = tensor.dtype() == x.dtype() && are_same(*tensor.quantizer(), *x.quantizer());
    tensor = as_integers(fits ? tensor : requantize(tensor, x.dtype(), x.quantizer()));
  }
  Results results = call(op, std::move(integers));
  for (Tensor& result : results) result = of_integers(result, x.dtype(), x.quantizer());
  return results;
}

Results pad_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  check_keeps_dimensions(op.name, x);
  OpArgs integers = with_first(args, as_integers(x));
  if (const Attr* const value = integers.attrs.find("value");
      value && args.attrs.get<std::string>("mode") == "constant") {
    const Scalar* const number = std::get_if<Scalar>(value);
    const Tensor fill =
        quantize(Tensor::full({1}, number ? *number : Scalar(0.0), DType::F32), x.dtype(), x.quantizer());
    integers.attrs.set("value", as_integers(fill).item());
  }
  return {of_integers(call(op, std::move(integers)).at(0), x.dtype(), x.quantizer())};
}

// ---- order -----------------------------------------------------------------------------------------------
// Integers are ordered as their numbers; the first result has them, a second one positions.
Results order_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  check_keeps_dimensions(op.name, x);
  const std::shared_ptr<const Quantizer> units = per_tensor(1, 0);
  Results results =
      call_in_kept_order(op, with_first(args, dequantize(of_integers(as_integers(x), x.dtype(), units))));
  if (op.name.starts_with("arg")) return results;
  results[0] = of_integers(as_integers(quantize(results[0], x.dtype(), units)), x.dtype(), x.quantizer());
  return results;
}

// Integers within [low, high], which are numbers' or the range's.
Results clamp_quantized(const Tensor& x, std::optional<float> low, std::optional<float> high) {
  check_keeps_dimensions("clamp", x);
  const QuantizedRange range = range_of(x.dtype());
  const auto integer_of = [&](float number) {
    const Tensor one =
        quantize(Tensor::full({1}, Scalar(double{number}), DType::F32), x.dtype(), x.quantizer());
    return as_integers(one).item().to_int();
  };
  const int64_t least = low ? integer_of(*low) : range.low, most = high ? integer_of(*high) : range.high;
  const Tensor from = dense(as_integers(x)), to = empty_as(from, from.dtype());
  visit_dtype(from.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const auto bottom = static_cast<T>(least), top = static_cast<T>(most);
      const T* const source = from.data_as<T>();
      T* const target = to.data_as<T>();
      for (int64_t i = 0; i < to.numel(); ++i) target[i] = std::min(std::max(source[i], bottom), top);
    }
  });
  return {of_integers(to, x.dtype(), x.quantizer())};
}

std::optional<float> number_attr(const Attrs& attrs, std::string_view name) {
  const Attr* const value = attrs.find(name);
  if (!value) return std::nullopt;
  if (const double* const number = std::get_if<double>(value)) return static_cast<float>(*number);
  if (const Scalar* const number = std::get_if<Scalar>(value)) return static_cast<float>(number->to_double());
  return std::nullopt;
}
std::optional<float> number_of(const Tensor& x) {
  return x.defined() ? std::optional(static_cast<float>(x.item().to_double())) : std::nullopt;
}

Results relu_quantized(const OpDef&, const OpArgs& args) {
  return clamp_quantized(args.tensors[0], 0.0F, {});
}
Results relu6_quantized(const OpDef&, const OpArgs& args) {
  return clamp_quantized(args.tensors[0], 0.0F, 6.0F);
}
Results hardtanh_quantized(const OpDef&, const OpArgs& args) {
  return clamp_quantized(args.tensors[0], number_attr(args.attrs, "min_val"),
                         number_attr(args.attrs, "max_val"));
}
Results clip_quantized(const OpDef& op, const OpArgs& args) {
  if (!is_quantized_tensor(args.tensors[0])) refuse_quantized(op, args);
  return clamp_quantized(args.tensors[0], number_of(args.tensors[1]), number_of(args.tensors[2]));
}
Results maximum_quantized(const OpDef& op, const OpArgs& args) {
  if (args.tensors[1].dim() > 0) refuse_quantized(op, args);
  return clamp_quantized(args.tensors[0], number_of(args.tensors[1]), {});
}
Results minimum_quantized(const OpDef& op, const OpArgs& args) {
  if (args.tensors[1].dim() > 0) refuse_quantized(op, args);
  return clamp_quantized(args.tensors[0], {}, number_of(args.tensors[1]));
}

// ---- numbers ---------------------------------------------------------------------------------------------
OpArgs in_numbers(const OpArgs& args, Tensor (*convert)(const Tensor&) = dequantize) {
  OpArgs numbers = args;
  for (Tensor& tensor : numbers.tensors)
    if (is_quantized_tensor(tensor)) tensor = convert(tensor);
  return numbers;
}

// Booleans of the numbers.
Results ask_quantized(const OpDef& op, const OpArgs& args) {
  OpArgs numbers = in_numbers(args);
  if (op.dtype_rule != DTypeRule::Bool) return call(op, std::move(numbers));
  const std::vector<Operand> operands(numbers.tensors.begin(), numbers.tensors.end());
  return {invoke(op, operands, numbers.attrs, args.rules)};
}

// What the operator makes of numbers, which lies as they do where PyTorch's does.
Tensor computed(const OpDef& op, const OpArgs& numbers) {
  if (op.kind != OpKind::Pointwise) return call_in_kept_order(op, numbers).at(0);
  const std::vector<Operand> operands(numbers.tensors.begin(), numbers.tensors.end());
  return invoke_in_order(op, operands, numbers.attrs);
}

// The result has x's scale.
Results compute_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  check_keeps_dimensions(op.name, x);
  const OpArgs numbers = in_numbers(args, op.name == "mean" ? dequantize : dequantize_fused);
  return {quantize(computed(op, numbers), x.dtype(), x.quantizer())};
}

// Means of neighbours: of the integers less the zero point, which PyTorch adds before it rounds, or after
// where channels lie densest.
Results average_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  check_keeps_dimensions(op.name, x);
  const auto zero = static_cast<int64_t>(x.quantizer()->zero_points[0]);
  const std::shared_ptr<const Quantizer> units = per_tensor(1, zero);
  const Tensor mean =
      computed(op, with_first(args, dequantize(of_integers(as_integers(x), x.dtype(), units))));
  const Tensor rounded = x.is_contiguous()
                             ? quantize(invoke("add", {mean, Scalar(zero)}), x.dtype(), per_tensor(1, 0))
                             : quantize(mean, x.dtype(), units);
  return {of_integers(as_integers(rounded), x.dtype(), x.quantizer())};
}

// Where the neighbours of a result's place lie, and how much the second one counts.
struct Neighbours {
  int64_t first, step;
  float share;
};
Neighbours neighbours(int64_t place, int64_t size, float scale, bool align_corners) {
  const float at = align_corners ? scale * static_cast<float>(place)
                                 : std::max(scale * (static_cast<float>(place) + 0.5F) - 0.5F, 0.0F);
  const auto first = std::min(static_cast<int64_t>(at), size - 1);
  return {first, first < size - 1 ? 1 : 0, std::clamp(at - static_cast<float>(first), 0.0F, 1.0F)};
}

// Of the integers, in the order of sums that PyTorch has.
Results upsample_quantized(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const std::string& mode = args.attrs.get<std::string>("mode");
  if (mode != "bilinear") return average_quantized(op, args);
  check_keeps_dimensions(op.name, x);
  const SymShape& wanted = args.attrs.get<SymShape>("size");
  const bool align_corners = args.attrs.get_bool("align_corners");
  const int64_t height = x.size(2), width = x.size(3), rows = wanted[0].constant(),
                columns = wanted[1].constant();
  const auto scale_of = [&](const char* attribute, int64_t from, int64_t to) {
    if (align_corners) return to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0F;
    const double* const given = std::get_if<double>(args.attrs.find(attribute));
    return given && *given > 0 ? static_cast<float>(1.0 / *given)
                               : static_cast<float>(from) / static_cast<float>(to);
  };
  const float down = scale_of("scale_height", height, rows), across = scale_of("scale_width", width, columns);
  const auto zero = static_cast<int64_t>(x.quantizer()->zero_points[0]);
  const Tensor numbers = as_integers(x).to(DType::F32).contiguous();
  const Tensor result = Tensor::empty({x.size(0), x.size(1), rows, columns}, DType::F32);
  const auto* from = numbers.data_as<float>();
  auto* to = result.data_as<float>();
  for (int64_t plane = 0; plane < x.size(0) * x.size(1); ++plane, from += height * width)
    for (int64_t row = 0; row < rows; ++row) {
      const Neighbours y = neighbours(row, height, down, align_corners);
      for (int64_t column = 0; column < columns; ++column) {
        const Neighbours z = neighbours(column, width, across, align_corners);
        const float* const upper = from + y.first * width + z.first;
        const float* const lower = upper + y.step * width;
        const float left = 1.0F - z.share;
        *to++ = (1.0F - y.share) * (left * upper[0] + z.share * upper[z.step]) +
                y.share * (left * lower[0] + z.share * lower[z.step]) - static_cast<float>(zero);
      }
    }
  const Tensor rounded = quantize(result, x.dtype(), per_tensor(1, zero));
  return {of_integers(as_integers(rounded), x.dtype(), x.quantizer())};
}

// Functions to [0, 1] or [-1, 1], whose results have a scale of their own.
Results to_unit_range(const OpDef& op, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const bool is_signed_range = op.name == "tanh", is_signed_integer = x.dtype() != DType::QU8;
  const double scale = x.dtype() == DType::QI32 ? 1.0 / 4294967296.0 : 1.0 / 256.0;
  const int64_t zero = is_signed_range ? (is_signed_integer ? 0 : 128) : (x.dtype() == DType::QI8 ? -128 : 0);
  return {quantize(computed(op, in_numbers(args, dequantize_fused)), x.dtype(),
                   per_tensor(is_signed_range ? 2 * scale : scale, zero))};
}

[[noreturn]] Results refuse_cast(const OpDef&, const OpArgs&) { refuse_conversion(); }

const std::unordered_map<std::string_view, Handler>& handlers() {
  static const auto& table = *[] {
    auto* made = new std::unordered_map<std::string_view, Handler>{
        {"relu", relu_quantized}, {"relu6", relu6_quantized},     {"hardtanh", hardtanh_quantized},
        {"clip", clip_quantized}, {"maximum", maximum_quantized}, {"minimum", minimum_quantized},
        {"pad", pad_quantized},   {"cast", refuse_cast},          {"upsample", upsample_quantized},
    };
    const auto all = [&](Handler handler, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) (*made)[name] = handler;
    };
    all(move_quantized, {"concatenate", "diag", "embedding", "flip", "gather_nd", "index", "index_put",
                         "index_select", "join", "masked_select", "repeat", "repeat_interleave", "roll",
                         "slice_update", "stack", "take", "tile", "where"});
    all(order_quantized, {"max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices",
                          "max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool1d",
                          "adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_max_pool2d_with_indices",
                          "sort", "topk", "amax", "amin", "max", "min", "argmax", "argmin"});
    all(average_quantized, {"avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
                            "adaptive_avg_pool2d", "adaptive_avg_pool3d"});
    all(compute_quantized,
        {"mean", "leaky_relu", "elu", "celu", "gelu", "gelu_erf", "gelu_tanh", "threshold"});
    all(to_unit_range, {"sigmoid", "tanh", "hardsigmoid"});
    all(ask_quantized, {"eq", "ne", "lt", "le", "gt", "ge", "equal"});
    return made;
  }();
  return table;
}

}  // namespace

bool is_any_quantized(std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), is_quantized_tensor);
}

std::vector<Tensor> call_quantized(const OpDef& op, const OpArgs& args) {
  if (std::any_of(args.tensors.begin(), args.tensors.end(), [](const Tensor& x) { return x.is_traced(); }))
    refuse_stored_only("a graph's " + op.name, first_quantized(args).dtype());
  for (const Tensor& tensor : args.tensors)
    WEFT_CHECK(!is_quantized_tensor(tensor) || tensor.quantizer(),
               fmt::format("{}: {} has no scale and zero point", op.name, describe(tensor)));
  if (const auto found = handlers().find(op.name); found != handlers().end()) return found->second(op, args);
  if (op.kind == OpKind::View) return view_quantized(op, args);
  if (op.kind == OpKind::Composite) return op.composite(op, args);  // over views, or a part of it is refused
  refuse_quantized(op, args);
}

bool is_any_quantized(std::span<const Operand> operands) {
  return std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    const Tensor* const tensor = std::get_if<Tensor>(&operand);
    return tensor && is_quantized_tensor(*tensor);
  });
}

Tensor invoke_quantized(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                        Promotion rules) {
  OpArgs args{{}, attrs, rules};
  for (const Operand& operand : operands) {
    const Scalar* const number = std::get_if<Scalar>(&operand);
    args.tensors.push_back(number ? Tensor::scalar(*number, DType::F32) : std::get<Tensor>(operand));
  }
  return call(op, std::move(args)).at(0);
}

Tensor requantize(const Tensor& x, DType dtype, std::shared_ptr<const Quantizer> quantizer) {
  return quantize(dequantize(x), dtype, std::move(quantizer));
}

}  // namespace weft::ops
