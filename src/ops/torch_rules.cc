#include "ops/torch_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/backend.h"
#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

bool divides(const OpDef& op) {
  static const std::array<const OpDef*, 4> found{find_op("floor_divide"), find_op("remainder"),
                                                 find_op("fmod"), find_op("trunc_divide")};
  return std::find(found.begin(), found.end(), &op) != found.end();
}

bool is_power(const OpDef& op) {
  static const OpDef* const power = find_op("pow");
  return &op == power;
}

// PyTorch's own text begins so.
std::string zero_division(const OpDef& op) {
  return fmt::format("ZeroDivisionError: {}: an integer is divided by zero", op.name);
}

constexpr const char* kNegativePower = "Integers to negative integer powers are not allowed.";

std::optional<DType> dtype_of(const Operand& operand) {
  if (const Tensor* tensor = std::get_if<Tensor>(&operand)) return tensor->dtype();
  const Scalar& number = std::get<Scalar>(operand);
  return number.is_int() || number.is_bool() ? std::optional(DType::I64) : std::nullopt;
}

bool is_integer(const Operand& operand) {
  const std::optional<DType> dtype = dtype_of(operand);
  return dtype && (is_integral(*dtype) || *dtype == DType::Bool);
}

}  // namespace

const OpDef& torch_overload(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) {
  static const OpDef* const median = find_op("median");
  static const OpDef* const median_dim = find_op("median_dim");
  static const std::pair<const OpDef*, const OpDef*> truths[] = {{find_op("all"), find_op("all_uint8")},
                                                                 {find_op("any"), find_op("any_uint8")}};
  static const OpDef* const heaviside = find_op("heaviside");
  static const OpDef* const of_integers = find_op("heaviside_integer");
  if (&op == heaviside) return std::all_of(operands.begin(), operands.end(), is_integer) ? *of_integers : op;
  if (&op == median) return attrs.is_none("dim") ? op : *median_dim;
  for (const auto& [truth, of_uint8] : truths) {
    if (&op != truth) continue;
    const Tensor* x = operands.empty() ? nullptr : std::get_if<Tensor>(&operands[0]);
    return x && x->defined() && x->dtype() == DType::U8 ? *of_uint8 : op;
  }
  return op;
}

std::optional<size_t> number_in_float32(const OpDef& op) {
  static const std::pair<const OpDef*, size_t> found[] = {{find_op("mul"), 1},
                                                          {find_op("div"), 1},
                                                          {find_op("true_divide"), 1},
                                                          {find_op("floor_divide"), 1},
                                                          {find_op("lerp"), 2}};
  for (const auto& [taking, place] : found)
    if (taking == &op) return place;
  return std::nullopt;
}

bool rounds_alpha(const OpDef& op) {
  static const std::array<const OpDef*, 2> found{find_op("add"), find_op("sub")};
  return std::find(found.begin(), found.end(), &op) != found.end();
}

void refuse_bool_subtraction(const OpDef& op, std::span<const Operand> operands) {
  static const OpDef* const subtraction = find_op("sub");
  if (&op != subtraction) return;
  const auto is_bool = [](const Operand& operand) {
    const Tensor* tensor = std::get_if<Tensor>(&operand);
    return tensor ? tensor->defined() && tensor->dtype() == DType::Bool : std::get<Scalar>(operand).is_bool();
  };
  if (std::any_of(operands.begin(), operands.end(), is_bool))
    throw_error(ErrorKind::Type, "sub: truth values are not subtracted; use ^, or ~ to invert a mask");
}

uint32_t kinds_refused_by(const OpDef& op) {
  constexpr auto bit = [](DTypeKind kind) { return 1u << static_cast<uint32_t>(kind); };
  constexpr uint32_t truths = bit(DTypeKind::Bool), complex = bit(DTypeKind::Complex);
  constexpr uint32_t whole = truths | bit(DTypeKind::Signed) | bit(DTypeKind::Unsigned);
  static const auto& found = *new std::unordered_map<std::string_view, uint32_t>{{"celu", whole},
                                                                                 {"elu", whole},
                                                                                 {"selu", whole},
                                                                                 {"leaky_relu", whole},
                                                                                 {"softplus", whole},
                                                                                 {"silu", whole},
                                                                                 {"gelu", whole},
                                                                                 {"mish", whole},
                                                                                 {"hardswish", whole},
                                                                                 {"hardsigmoid", whole},
                                                                                 {"logsigmoid", whole},
                                                                                 {"hardshrink", whole},
                                                                                 {"softshrink", whole},
                                                                                 {"frac", whole},
                                                                                 {"hypot", whole},
                                                                                 {"igamma", whole},
                                                                                 {"igammac", whole},
                                                                                 {"logaddexp", whole},
                                                                                 {"logaddexp2", whole},
                                                                                 {"abs", truths},
                                                                                 {"ceil", truths},
                                                                                 {"floor", truths},
                                                                                 {"trunc", truths},
                                                                                 {"round", truths},
                                                                                 {"trace", truths},
                                                                                 {"amax", complex},
                                                                                 {"amin", complex},
                                                                                 {"argmax", truths | complex},
                                                                                 {"argmin", truths | complex},
                                                                                 {"topk", truths | complex}};
  const auto at = found.find(op.name);
  return at == found.end() ? 0 : at->second;
}

void refuse_kinds(const OpDef& op, uint32_t kinds, std::span<const Operand> operands) {
  const auto is_refused = [kinds](const Operand& operand) {
    DTypeKind kind = DTypeKind::Float;
    if (const Tensor* tensor = std::get_if<Tensor>(&operand)) {
      if (tensor->defined() && !is_quantized(tensor->dtype())) kind = info(tensor->dtype()).kind;
    } else {
      const Scalar& number = std::get<Scalar>(operand);
      kind = number.is_bool() ? DTypeKind::Bool : number.is_int() ? DTypeKind::Signed : kind;
    }
    return (kinds >> static_cast<uint32_t>(kind) & 1) != 0;
  };
  if (operands.empty() || !std::all_of(operands.begin(), operands.end(), is_refused)) return;
  const Tensor* first = std::get_if<Tensor>(&operands[0]);
  throw_error(ErrorKind::Type,
              fmt::format("\"{}\" is not implemented for {}", op.name, first ? describe(*first) : "numbers"));
}

uint8_t tensors_needed_by(const OpDef& op) {
  constexpr uint8_t first = 1, both = 3;
  static const auto& found =
      *new std::unordered_map<std::string_view, uint8_t>{{"atan2", both},
                                                         {"maximum", both},
                                                         {"minimum", both},
                                                         {"fmax", both},
                                                         {"fmin", both},
                                                         {"gcd", both},
                                                         {"lcm", both},
                                                         {"hypot", both},
                                                         {"logical_and", both},
                                                         {"logical_or", both},
                                                         {"logical_xor", both},
                                                         {"eq", first},
                                                         {"ne", first},
                                                         {"lt", first},
                                                         {"le", first},
                                                         {"gt", first},
                                                         {"ge", first},
                                                         {"fmod", first},
                                                         {"copysign", first},
                                                         {"bitwise_and", kSomeTensor},
                                                         {"bitwise_or", kSomeTensor},
                                                         {"bitwise_xor", kSomeTensor},
                                                         {"left_shift", kSomeTensor},
                                                         {"right_shift", kSomeTensor},
                                                         {"pow", kSomeTensor},
                                                         {"float_power", kSomeTensor},
                                                         {"remainder", kSomeTensor},
                                                         {"xlogy", kSomeTensor},
                                                         {"xlog1py", kSomeTensor},
                                                         {"chebyshev_polynomial_t", kSomeTensor},
                                                         {"chebyshev_polynomial_u", kSomeTensor},
                                                         {"chebyshev_polynomial_v", kSomeTensor},
                                                         {"chebyshev_polynomial_w", kSomeTensor},
                                                         {"shifted_chebyshev_polynomial_t", kSomeTensor},
                                                         {"shifted_chebyshev_polynomial_u", kSomeTensor},
                                                         {"shifted_chebyshev_polynomial_v", kSomeTensor},
                                                         {"shifted_chebyshev_polynomial_w", kSomeTensor},
                                                         {"hermite_polynomial_h", kSomeTensor},
                                                         {"hermite_polynomial_he", kSomeTensor},
                                                         {"laguerre_polynomial_l", kSomeTensor},
                                                         {"legendre_polynomial_p", kSomeTensor},
                                                         {"zeta", kSomeTensor}};
  const auto at = found.find(op.name);
  return at == found.end() ? 0 : at->second;
}

void refuse_numbers(const OpDef& op, uint8_t needed, std::span<const Operand> operands) {
  const auto is_number = [](const Operand& operand) { return std::holds_alternative<Scalar>(operand); };
  if (needed == kSomeTensor) {
    if (!std::all_of(operands.begin(), operands.end(), is_number)) return;
    throw_error(ErrorKind::Type,
                fmt::format("{}(): expected a Tensor among the operands, got numbers", op.name));
  }
  for (size_t i = 0; i < operands.size(); ++i)
    if ((needed >> i & 1) != 0 && is_number(operands[i]))
      throw_error(ErrorKind::Type,
                  fmt::format("{}(): argument {} must be Tensor, not a number", op.name, i + 1));
}

OutRules out_rules_of(const OpDef& op) {
  using Overlap = OutRules::Overlap;
  static constexpr OutRules own{true}, own_apart{true, Overlap::Any}, own_free{true, Overlap::None};
  static constexpr OutRules apart{false, Overlap::Any}, free{false, Overlap::None};
  static const auto& found = *new std::unordered_map<std::string_view, OutRules>{
      {"abs", own},
      {"neg", own},
      {"sign", own},
      {"floor", own},
      {"ceil", own},
      {"trunc", own},
      {"index_select", own_apart},
      {"logcumsumexp", own},
      {"amax", own_free},
      {"amin", own_free},
      {"matmul", own_free},
      {"mm", own_free},
      {"mv", own_free},
      {"dot", own_free},
      {"bmm", own_free},
      {"tril", own_free},
      {"triu", own_free},
      {"softmax", own_free},
      {"sort", own},
      {"topk", own},
      {"cummax", own_free},
      {"cummin", own_free},
      {"concatenate", apart},
      {"stack", apart},
      {"sum", free},
      {"mean", free},
      {"prod", free},
      {"std", free},
      {"var", free},
      {"logsumexp", free},
      {"bitwise_not", own},
      {"signbit", own},
      {"isposinf", own},
      {"isneginf", own},
      {"frac", own},
      {"round", own},
      {"argmax", own_free},
      {"argmin", own_free},
  };
  const auto at = found.find(op.name);
  return at == found.end() ? OutRules() : at->second;
}

namespace {

bool overflows(double value, DType dtype) {
  if (is_floating(dtype)) {
    const double greatest = dtype == DType::F16    ? 65504
                            : dtype == DType::BF16 ? std::bit_cast<float>(0x7f7f0000u)
                            : dtype == DType::F32  ? std::numeric_limits<float>::max()
                                                   : std::numeric_limits<double>::max();
    return std::isfinite(value) && std::abs(value) > greatest;
  }
  const double greatest = std::ldexp(1.0, 8 * itemsize(dtype) - (info(dtype).kind == DTypeKind::Signed));
  // What is beyond is the power of two but for a unit in the last place, which doubles of 64 bits do not
  // have.
  const double last = itemsize(dtype) == 8 ? greatest : greatest - 1;
  const double first = info(dtype).kind == DTypeKind::Signed ? -greatest : -last;
  return !(value >= first && value <= last);
}

// As PyTorch writes it.
std::string_view stored_type(DType dtype) {
  switch (dtype) {
    case DType::F16: return "c10::Half";
    case DType::BF16: return "c10::BFloat16";
    case DType::F32: return "float";
    case DType::F64: return "double";
    case DType::C64: return "c10::complex<float>";
    case DType::C128: return "c10::complex<double>";
    case DType::I32: return "int";
    default: return info(dtype).c_name;
  }
}

}  // namespace

void refuse_overflow(const Scalar& value, DType dtype, bool is_alone) {
  if (dtype == DType::Bool || is_stored_only(dtype)) return;
  const std::complex<double> number = value.to_complex();
  const DType part = real_dtype(dtype);
  const bool may_be_infinite = is_alone && compute_dtype(dtype) != dtype;
  const bool is_refused = (!may_be_infinite && overflows(number.real(), part)) ||
                          (is_complex(dtype) ? overflows(number.imag(), part) : number.imag() != 0);
  if (is_refused)
    throw_error(ErrorKind::Runtime, fmt::format("value cannot be converted to type {} without overflow: {}",
                                                stored_type(dtype), value.str()));
}

void refuse_unfit_number(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) {
  static const OpDef* const by_dtype[] = {find_op("full"), find_op("full_like")};
  static const OpDef* const by_operand[] = {find_op("masked_fill"), find_op("index_fill"), find_op("pad")};
  const bool says_dtype = std::find(std::begin(by_dtype), std::end(by_dtype), &op) != std::end(by_dtype);
  if (!says_dtype && std::find(std::begin(by_operand), std::end(by_operand), &op) == std::end(by_operand))
    return;
  if (attrs.is_none("value")) return;
  const Tensor* const x = operands.empty() ? nullptr : std::get_if<Tensor>(&operands[0]);
  const Scalar value = scalar_arg(attrs, "value");
  if (says_dtype && (x != nullptr || !attrs.is_none("dtype"))) {
    const SymShape shape = x != nullptr ? sym_shape(*x) : list_arg(attrs, "shape");
    const bool is_alone = std::all_of(shape.begin(), shape.end(), [](const Sym& size) {
      return size.is_constant() && size.constant() == 1;
    });
    refuse_overflow(value, attrs.is_none("dtype") ? x->dtype() : attrs.get<DType>("dtype"), is_alone);
  } else if (x != nullptr) {
    const bool is_filled = op.name == "index_fill";
    if (is_filled && value.is_complex() && !is_complex(x->dtype()))
      throw_error(ErrorKind::Runtime,
                  "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    refuse_overflow(value, x->dtype());
  }
}

void refuse_order_of_complex(const OpDef& op, DType compute) {
  static const std::array<const OpDef*, 8> ordering{find_op("lt"),   find_op("le"),      find_op("gt"),
                                                    find_op("ge"),   find_op("maximum"), find_op("minimum"),
                                                    find_op("fmax"), find_op("fmin")};
  if (!is_complex(compute) || std::find(ordering.begin(), ordering.end(), &op) == ordering.end()) return;
  throw_error(ErrorKind::Type,
              fmt::format("{}: complex numbers have no order: expected real operands, got {}", op.name,
                          name(compute)));
}

void refuse_zero_divisors(const OpDef& op, DType dtype, const void* divisors, int64_t count) {
  if (!is_integral(dtype) || !divides(op)) return;
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const T* const values = static_cast<const T*>(divisors);
      if (std::find(values, values + count, T(0)) != values + count)
        throw_error(ErrorKind::Runtime, zero_division(op));
    }
  });
}

void refuse_zero_divisors(const OpDef& op, std::vector<Tensor>& given) {
  if (given.size() != 2 || !is_integral(given[1].dtype()) || !divides(op)) return;
  Tensor& divisor = given[1];
  if (divisor.is_traced()) {
    const Tensor holds = invoke("ne", {divisor, Scalar(0)});
    divisor = call1("require", {divisor, holds}, {{"error", zero_division(op)}});
  } else if (has_memory(divisor.device())) {
    const Tensor elements = divisor.to(Device()).contiguous();
    refuse_zero_divisors(op, elements.dtype(), elements.data(), elements.numel());
  }
}

void refuse_negative_number(const OpDef& op, std::span<const Operand> operands, DType compute) {
  if (!is_integral(compute) || operands.size() != 2 || !is_power(op)) return;
  const Scalar* exponent = std::get_if<Scalar>(&operands[1]);
  if (exponent && exponent->is_int() && exponent->to_int() < 0)
    throw_error(ErrorKind::Runtime, fmt::format("{}: {}", op.name, kNegativePower));
}

void refuse_negative_powers(const OpDef& op, std::vector<Operand>& operands) {
  if (operands.size() != 2 || !is_power(op) || !is_integer(operands[0]) || !is_integer(operands[1])) return;
  const auto check = [&](bool holds) { WEFT_CHECK(holds, fmt::format("{}: {}", op.name, kNegativePower)); };
  if (const Scalar* exponent = std::get_if<Scalar>(&operands[1])) {
    return check(exponent->is_bool() || exponent->to_int() >= 0);
  }
  Tensor& exponent = std::get<Tensor>(operands[1]);
  if (!is_signed(exponent.dtype())) return;
  const Tensor holds = invoke("ge", {exponent, Scalar(0)});
  if (exponent.is_traced())
    exponent = call1("require", {exponent, holds});
  else if (has_memory(exponent.device()))
    check(call1("all", {holds}).item().to_bool());
}

}  // namespace weft::ops
