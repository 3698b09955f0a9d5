#include "ops/composite.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/backend.h"
#include "ops/pointwise_into.h"

namespace weft::ops {
namespace {

std::vector<TensorType> infer_size(const OpDef&, std::span<const TensorType>, const Attrs&) {
  return {TensorType{DType::I64, {}, {}}};
}

const OpDef& kSize = register_op({
    .name = "size_scalar",
    .schema = "(int value) -> Tensor",
    .kind = OpKind::Creation,
    .doc = "A size (possibly symbolic) as a 0-d int64 tensor.",
    .numpy = "numpy.int64(value)",
    .infer = infer_size,
    .eager = [](const OpDef&, std::span<const Tensor>, const Attrs& attrs) -> std::vector<Tensor> {
      return {Tensor::scalar(Scalar(attrs.get_int("value")), DType::I64)};
    },
});

}  // namespace

Tensor cast_to(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : call1("cast", {x}, {{"dtype", dtype}});
}

Operand size_operand(const Sym& size) {
  if (size.is_constant()) return Scalar(size.constant());
  return call1("size_scalar", {}, {{"value", size}});
}

CompositeFn on_host(CompositeFn body) {
  return [body = std::move(body)](const OpDef& op, const OpArgs& args) {
    const auto is_elsewhere = [](const Tensor& x) {
      return x.defined() && !x.is_traced() && backend_of(x.device()).memory == MemoryKind::Device;
    };
    const auto found = std::find_if(args.tensors.begin(), args.tensors.end(), is_elsewhere);
    if (found == args.tensors.end()) return body(op, args);
    const Device device = found->device();
    const bool are_all_there = std::all_of(args.tensors.begin(), args.tensors.end(), [&](const Tensor& x) {
      return !x.defined() || (!x.is_traced() && x.device() == device);
    });
    if (are_all_there)
      if (std::vector<Tensor> results = backend_of(device).run_composite(op, args); !results.empty())
        return results;
    OpArgs copies = args;
    for (Tensor& tensor : copies.tensors)
      if (is_elsewhere(tensor)) tensor = tensor.to(Device());
    std::vector<Tensor> results = body(op, copies);
    for (Tensor& result : results) result = result.to(device);
    return results;
  };
}

const OpDef& composite(std::string name, std::string schema, std::string doc, std::string numpy,
                       CompositeFn body, std::vector<std::string> aliases, bool promotes) {
  OpDef def;
  def.name = std::move(name);
  def.schema = std::move(schema);
  def.kind = OpKind::Composite;
  def.doc = std::move(doc);
  def.numpy = std::move(numpy);
  def.aliases = std::move(aliases);
  def.promotes = promotes;
  def.composite = std::move(body);
  return register_op(std::move(def));
}

namespace {

std::vector<Tensor> divide(const OpDef& op, const OpArgs& args) {
  const Compose compose{args.rules};
  const Tensor &x = args.tensors[0], &y = args.tensors[1];
  if (args.attrs.is_none("rounding_mode")) return {compose("true_divide", {x, y})};
  const std::string mode = args.attrs.get<std::string>("rounding_mode");
  if (mode == "floor") return {compose("floor_divide", {x, y})};
  WEFT_CHECK(mode == "trunc",
             fmt::format("{}: rounding_mode: expected None, 'trunc' or 'floor', got '{}'", op.name, mode));
  if (is_integral(x.dtype())) return {compose("trunc_divide", {x, y})};
  return {compose("trunc", {compose("true_divide", {x, y})})};
}

std::vector<Tensor> reciprocal(const OpDef&, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  const bool keeps_integers = args.rules == Promotion::NumPy && is_integral(x.dtype());
  return {invoke(keeps_integers ? "trunc_divide" : "true_divide", {Scalar(1), x}, args.rules)};
}

std::vector<Tensor> sign(const OpDef&, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  return {call1(args.rules == Promotion::NumPy || !is_floating(x.dtype()) ? "signum" : "sign_or_zero", {x})};
}

std::vector<Tensor> float_power(const OpDef&, const OpArgs& args) {
  const DType dtype = is_complex(args.tensors[0].dtype()) ? DType::C128 : DType::F64;
  return {call1("pow", {cast_to(args.tensors[0], dtype), cast_to(args.tensors[1], dtype)})};
}

std::vector<Tensor> clip(const OpDef& op, const OpArgs& args) {
  const Compose compose{args.rules};
  Tensor result = args.tensors[0];
  WEFT_CHECK(args.tensors[1].defined() || args.tensors[2].defined(),
             fmt::format("{}: expected at least one of 'min' and 'max', got None for both", op.name));
  const auto is_like = [&](const Tensor& bound) {
    return bound.defined() && !bound.is_traced() && (bound.dim() == 0 || bound.dtype() == result.dtype());
  };
  const auto is_integer_like = [&](const Tensor& bound) {
    return bound.defined() && !bound.is_traced() && is_integral(bound.dtype()) && is_like(bound);
  };
  const bool is_integer = is_integral(result.dtype()) && args.rules == Promotion::Torch &&
                          is_integer_like(args.tensors[1]) && is_integer_like(args.tensors[2]);
  if (!result.is_traced() &&
      (is_integer || (is_floating(result.dtype()) && is_like(args.tensors[1]) && is_like(args.tensors[2]))))
    return {compose("clamp_between", {result, args.tensors[1], args.tensors[2]})};
  if (args.tensors[1].defined()) result = compose("maximum", {result, args.tensors[1]});
  if (args.tensors[2].defined()) result = compose("minimum", {result, args.tensors[2]});
  return {result};
}

std::vector<Tensor> gelu(const OpDef& op, const OpArgs& args) {
  const std::string approximate = args.attrs.get<std::string>("approximate");
  WEFT_CHECK(approximate == "none" || approximate == "tanh",
             fmt::format("{}: approximate: expected 'none' or 'tanh', got '{}'", op.name, approximate));
  return {invoke(approximate == "none" ? "gelu_erf" : "gelu_tanh", {args.tensors[0]}, args.rules)};
}

std::pair<double, double> finite_range(DType dtype) {
  const double largest = dtype == DType::F16    ? 65504.0
                         : dtype == DType::BF16 ? 0x1.FEp127
                         : real_dtype(dtype) == DType::F32
                             ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  return {-largest, largest};
}

// What stands for NaN and the infinities, as replace_nonfinite takes it.
Attrs finite_numbers(DType dtype, const Attrs& attrs) {
  const auto [lowest, largest] = finite_range(dtype);
  const auto value = [&](std::string_view name, double otherwise) {
    return attrs.find(name) == nullptr || attrs.is_none(name) ? otherwise : attrs.get<double>(name);
  };
  return {
      {"nan", value("nan", 0)}, {"posinf", value("posinf", largest)}, {"neginf", value("neginf", lowest)}};
}

std::vector<Tensor> nan_to_num(const OpDef&, const OpArgs& args) {
  const Tensor& x = args.tensors[0];
  if (!is_floating(x.dtype())) return {x};
  const Compose compose{args.rules};
  const Attrs numbers = finite_numbers(x.dtype(), args.attrs);
  if (!x.is_traced()) return {call1("replace_nonfinite", {x}, numbers)};
  const auto value = [&](std::string_view name) { return Scalar(numbers.get<double>(name)); };
  Tensor result = compose("where", {compose("isnan", {x}), value("nan"), x});
  result = compose("where", {compose("isposinf", {x}), value("posinf"), result});
  return {compose("where", {compose("isneginf", {x}), value("neginf"), result})};
}

std::vector<Tensor> equal(const OpDef&, const OpArgs& args) {
  const Tensor &x = args.tensors[0], &y = args.tensors[1];
  const SymShape xs = sym_shape(x), ys = sym_shape(y);
  const bool fits = xs.size() == ys.size() && std::equal(xs.begin(), xs.end(), ys.begin(), sym_eq);
  if (!fits) return {Tensor::scalar(Scalar(false), DType::Bool)};
  return {call1("all", {invoke("eq", {x, y}, args.rules)})};
}

// all and any of uint8 under PyTorch's rules.
template <const char* kName>
std::vector<Tensor> truth_of_uint8(const OpDef&, const OpArgs& args) {
  return {cast_to(call(get_op(kName), args)[0], DType::U8)};
}
constexpr char kAll[] = "all", kAny[] = "any";

[[maybe_unused]] const OpDef* const kCompositeComposites[] = {
    &composite("equal", "(Tensor x, Tensor y) -> bool",
               "Whether both have the same shape and equal elements, as one bool: false where there is NaN. "
               "Element by "
               "element: eq.\n"
               "While a function is traced for compilation: a 0-d tensor of dtype bool.",
               "numpy.array_equal(x, y)", equal),
    &composite("all_uint8", "(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor",
               "all(x) as uint8, which it stays for uint8 under PyTorch's rules.",
               "numpy.all(x, axis=dim, keepdims=keepdim).astype(numpy.uint8)", truth_of_uint8<kAll>),
    &composite("any_uint8", "(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor",
               "any(x) as uint8, which it stays for uint8 under PyTorch's rules.",
               "numpy.any(x, axis=dim, keepdims=keepdim).astype(numpy.uint8)", truth_of_uint8<kAny>),
    &composite("div", "(Tensor x, Tensor y, *, str? rounding_mode=None) -> Tensor",
               "x / y; rounded toward zero for rounding_mode='trunc', down for 'floor' (then integers stay "
               "integers).",
               "numpy.true_divide(x, y)", divide, {"divide"}, true),
    &composite("reciprocal", "(Tensor x) -> Tensor",
               "1 / x. Integers: floating under PyTorch's rules, truncated under NumPy's.", "1 / x",
               reciprocal, {}, true),
    &composite("sign", "(Tensor x) -> Tensor",
               "-1, 0 or 1; x / |x| for complex x != 0. NaN: 0 under PyTorch's rules, NaN under NumPy's. "
               "TypeError for bool.",
               "numpy.sign(x)", sign, {"sgn"}, true),
    &composite("float_power", "(Tensor x, Tensor y) -> Tensor",
               "x**y in float64 or complex128. error: 1 ULP.", "numpy.float_power(x, y)", float_power, {},
               true),
    &composite("clip", "(Tensor x, Tensor? min=None, Tensor? max=None) -> Tensor",
               "minimum(maximum(x, min), max): max where min > max. ValueError if both are None.",
               "numpy.minimum(numpy.maximum(x, min), max)", clip, {"clamp"}, true),
    &composite(
        "gelu", "(Tensor x, *, str approximate='none') -> Tensor",
        "x * Phi(x), Phi the normal distribution function; approximate='tanh': its tanh approximation.\n"
        "source: Hendrycks and Gimpel 2016.",
        "x * 0.5 * numpy.vectorize(math.erfc)(-x / numpy.sqrt(2))", gelu, {}, true),
    &composite("nan_to_num", "(Tensor x, float nan=0.0, float? posinf=None, float? neginf=None) -> Tensor",
               "x with NaN replaced by nan and infinities by posinf and neginf (None: the dtype's largest "
               "and lowest).",
               "numpy.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)", nan_to_num, {}, true),
    &composite("divmod", "(Tensor x, Tensor y) -> (Tensor, Tensor)", "(floor_divide(x, y), remainder(x, y)).",
               "numpy.divmod(x, y)",
               [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                 const Compose compose{args.rules};
                 return {compose("floor_divide", {args.tensors[0], args.tensors[1]}),
                         compose("remainder", {args.tensors[0], args.tensors[1]})};
               }),
    &composite("modf", "(Tensor x) -> (Tensor, Tensor)", "(fraction, integral part), both with x's sign.",
               "numpy.modf(x)",
               [](const OpDef&, const OpArgs& args) -> std::vector<Tensor> {
                 const Compose compose{args.rules};
                 const Tensor x = compose("fabs", {args.tensors[0]}), whole = compose("trunc", {x});
                 // An infinity has the fraction 0; both parts take the sign of x.
                 const Tensor fraction =
                     compose("where", {compose("isinf", {x}), Scalar(0.0), compose("sub", {x, whole})});
                 return {compose("copysign", {fraction, args.tensors[0]}),
                         compose("copysign", {whole, args.tensors[0]})};
               }),
};

}  // namespace

PointwiseCall pointwise_call(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                             Promotion rules) {
  const auto is_there = [&](size_t i) {
    const Tensor* tensor = std::get_if<Tensor>(&operands[i]);
    return tensor == nullptr || tensor->defined();
  };
  if (op.name == "clip" && operands.size() == 3 && (is_there(1) || is_there(2))) {
    if (is_there(1) != is_there(2))
      return {&get_op(is_there(1) ? "maximum" : "minimum"), {operands[0], operands[is_there(1) ? 1 : 2]}};
    const DType compute = promoted_types(op, operands, rules).compute;
    const bool in_one_pass = is_floating(compute) || (is_integral(compute) && rules == Promotion::Torch);
    return {in_one_pass ? &get_op("clamp_between") : nullptr, {operands.begin(), operands.end()}};
  }
  if (op.name == "nan_to_num") {
    const DType compute = promoted_types(op, operands, rules).compute;
    return is_floating(compute)
               ? PointwiseCall{&get_op("replace_nonfinite"), {operands[0]}, finite_numbers(compute, attrs)}
               : PointwiseCall{};
  }
  if (op.name == "sign" && rules == Promotion::Torch) {
    const bool has_zero = is_floating(promoted_types(op, operands, rules).compute);
    return {&get_op(has_zero ? "sign_or_zero" : "signum"), {operands[0]}};
  }
  if (op.name == "div" && attrs.is_none("rounding_mode"))
    return {&get_op("true_divide"), {operands.begin(), operands.end()}};
  return {};
}

}  // namespace weft::ops
