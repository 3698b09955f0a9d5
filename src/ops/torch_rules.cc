#include "ops/torch_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
      if (tensor->defined()) kind = info(tensor->dtype()).kind;
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
  static const auto& found = *new std::unordered_map<std::string_view, OutRules>{{"abs", own},
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
                                                                                 {"logsumexp", free}};
  const auto at = found.find(op.name);
  return at == found.end() ? OutRules() : at->second;
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
