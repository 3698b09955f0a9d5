// Promoted calls: the dtype an operator computes in, under PyTorch's and NumPy's rules.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/default_dtype.h"
#include "ops/arguments.h"
#include "ops/composite.h"
#include "ops/pointwise.h"
#include "ops/pointwise_into.h"
#include "ops/quantized/tensors.h"
#include "ops/torch_rules.h"
#include "ops/tracer.h"

namespace weft::ops {
namespace {

// Range of an integer dtype; unsigned 64-bit values above INT64_MAX cannot come from a Scalar.
std::pair<int64_t, int64_t> integer_range(DType dtype) {
  return visit_dtype(dtype, []<class T>(std::type_identity<T>) -> std::pair<int64_t, int64_t> {
    if constexpr (std::is_integral_v<T>) {
      constexpr auto highest = std::numeric_limits<T>::max();
      return {static_cast<int64_t>(std::numeric_limits<T>::min()),
              static_cast<uint64_t>(highest) > static_cast<uint64_t>(INT64_MAX)
                  ? INT64_MAX
                  : static_cast<int64_t>(highest)};
    } else {
      return {INT64_MIN, INT64_MAX};
    }
  });
}

bool fits(int64_t value, DType dtype) {
  const auto [lowest, highest] = integer_range(dtype);
  return value >= lowest && value <= highest;
}

DType alone(WeakKind kind, Promotion rules) {
  switch (kind) {
    case WeakKind::Bool: return DType::Bool;
    case WeakKind::Int: return DType::I64;
    case WeakKind::Float: return rules == Promotion::Torch ? default_float() : DType::F64;
    case WeakKind::Complex: return rules == Promotion::Torch ? default_complex() : DType::C128;
  }
  return DType::F64;
}

std::optional<DType> merge(std::optional<DType> a, std::optional<DType> b, Promotion rules) {
  if (!a) return b;
  if (!b) return a;
  return promote_types(*a, *b, rules);
}

// PyTorch: operands of a lower priority (0-d tensors, then Python scalars) matter only when their category
// is above that of the operands of a higher priority.
std::optional<DType> combine_categories(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_floating(*higher)) {
    if (!is_complex(*lower)) return higher;
    return *higher == DType::F64 ? DType::C128 : DType::C64;
  }
  if (*higher == DType::Bool || is_inexact(*lower)) return promote_types(*higher, *lower, Promotion::Torch);
  return higher;
}

struct OperandKinds {
  std::optional<DType> dimensioned, zero_dim;
  std::optional<WeakKind> weak;
};

OperandKinds collect(const OpDef& op, std::span<const Operand> operands, Promotion rules) {
  OperandKinds found;
  size_t index = 0;
  for (const Operand& operand : operands) {
    const bool is_condition = op.name == "where" && index++ == 0;
    if (is_condition) continue;
    if (const Scalar* scalar = std::get_if<Scalar>(&operand)) {
      found.weak = found.weak ? std::max(*found.weak, scalar->kind()) : scalar->kind();
    } else if (const Tensor& tensor = std::get<Tensor>(operand); tensor.defined()) {
      auto& group = tensor.dim() == 0 && rules == Promotion::Torch ? found.zero_dim : found.dimensioned;
      group = merge(group, tensor.dtype(), rules);
    }
  }
  return found;
}

DType common_dtype(const OpDef& op, std::span<const Operand> operands, Promotion rules) {
  const OperandKinds found = collect(op, operands, rules);
  if (rules == Promotion::NumPy) {
    if (!found.dimensioned) return alone(found.weak.value_or(WeakKind::Float), rules);
    return found.weak ? promote_weak(*found.dimensioned, *found.weak, rules) : *found.dimensioned;
  }
  const std::optional<DType> arrays = combine_categories(found.dimensioned, found.zero_dim);
  if (!arrays) return alone(found.weak.value_or(WeakKind::Float), rules);
  return found.weak ? promote_weak(*arrays, *found.weak, rules) : *arrays;
}

DType float_for(DType dtype, const OpDef& op, Promotion rules) {
  if (is_inexact(dtype)) return dtype;
  if (rules == Promotion::Torch) return default_float();
  if (op.name == "true_divide" || itemsize(dtype) >= 4) return DType::F64;
  return itemsize(dtype) == 1 ? DType::F16 : DType::F32;
}

// NumPy looks for a loop of floats that every operand can be cast to: int8 and uint8 meet in float16, not by
// way of int16.
DType common_float(const OpDef& op, DType common, std::span<const Operand> operands, Promotion rules) {
  if (rules == Promotion::Torch || op.name == "true_divide" || is_inexact(common))
    return float_for(common, op, rules);
  std::optional<DType> arrays, found;
  for (const Operand& operand : operands) {
    const Tensor* tensor = std::get_if<Tensor>(&operand);
    if (!tensor || !tensor->defined()) continue;
    arrays = merge(arrays, tensor->dtype(), rules);
    found = merge(found, float_for(tensor->dtype(), op, rules), rules);
  }
  // Truth values with a Python int are numbers of its default dtype.
  const bool only_bools = !arrays || *arrays == DType::Bool;
  return only_bools ? float_for(common, op, rules) : *found;
}

// NumPy: a comparison with a Python integer outside the array's range is decided in a dtype that holds both.
// PyTorch's integer wraps.
DType widen_for_scalars(const OpDef& op, DType compute, std::span<const Operand> operands, Promotion rules) {
  if (rules == Promotion::Torch) return compute;
  if (op.dtype_rule != DTypeRule::Bool || !is_integral(compute)) return compute;
  for (const Operand& operand : operands) {
    const Scalar* scalar = std::get_if<Scalar>(&operand);
    if (scalar && scalar->is_int() && !fits(scalar->to_int(), compute))
      return compute == DType::U64 ? DType::F64 : DType::I64;
  }
  return compute;
}

Tensor to_operand(const OpDef& op, const Operand& operand, DType compute, Promotion rules,
                  bool is_condition) {
  if (const Scalar* scalar = std::get_if<Scalar>(&operand)) {
    if (is_condition) return Tensor::scalar(Scalar(scalar->to_bool()), DType::Bool);
    if (rules == Promotion::NumPy && scalar->is_int() && is_integral(compute)) {
      const auto [lowest, highest] = integer_range(compute);
      WEFT_CHECK(fits(scalar->to_int(), compute),
                 fmt::format("{}: Python integer {} out of bounds for {}: expected one in [{}, {}]", op.name,
                             scalar->to_int(), name(compute), lowest, highest));
    }
    return Tensor::scalar(*scalar, compute);
  }
  const Tensor& tensor = std::get<Tensor>(operand);
  const DType wanted = is_condition ? DType::Bool : compute;
  if (!tensor.defined() || tensor.dtype() == wanted) return tensor;
  return call1("cast", {tensor}, {{"dtype", wanted}});
}

}  // namespace

PromotedTypes promoted_types(const OpDef& op, std::span<const Operand> operands, Promotion rules) {
  DType compute = widen_for_scalars(op, common_dtype(op, operands, rules), operands, rules);
  if (op.dtype_rule == DTypeRule::FloatOnly) compute = common_float(op, compute, operands, rules);
  // Operators without a loop for the promoted dtype: NumPy takes the first wider one it has.
  if (compute == DType::Bool && !(op.dtypes & kBool) && op.dtype_rule != DTypeRule::FloatOnly) {
    if (rules == Promotion::NumPy && op.numpy_bool_is_int8)
      compute = DType::I8;
    else if ((op.dtypes & kIntegers) == 0)
      compute = float_for(compute, op, rules);
  } else if (is_integral(compute) && !(op.dtypes & kIntegers) && (op.dtypes & kFloats)) {
    compute = float_for(compute, op, rules);
  }
  // Numbers and elements of fewer bits are what they are.
  if (op.name == "float_power") compute = is_complex(compute) ? DType::C128 : DType::F64;
  PromotedTypes types{compute, compute};
  if (op.dtype_rule == DTypeRule::Bool) types.result = DType::Bool;
  if (op.dtype_rule == DTypeRule::Real) types.result = real_dtype(compute);
  return types;
}

namespace {

// Operands in the dtype that the operator computes in.
OpArgs promoted_operands(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                         DType compute, Promotion rules) {
  if (rules == Promotion::Torch) refuse_order_of_complex(op, compute);
  OpArgs args;
  args.attrs = attrs;
  args.rules = rules;
  if (rules == Promotion::Torch && compute_dtype(compute) != compute && rounds_alpha(op) &&
      attrs.find("alpha") != nullptr) {
    const Scalar alpha = scalar_arg(attrs, "alpha");
    refuse_overflow(alpha, compute);
    args.attrs.set("alpha", Tensor::scalar(alpha, compute).item());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    args.tensors.push_back(to_operand(op, operands[i], compute, rules, op.name == "where" && i == 0));
  if (rules == Promotion::Torch) {
    refuse_zero_divisors(op, args.tensors);
    refuse_negative_number(op, operands, compute);
  }
  return args;
}

}  // namespace

namespace {

// The place of the signed operand where signed integers are compared with unsigned ones of 64 bits: no dtype
// holds both, and NumPy compares the numbers that they are.
std::optional<size_t> signed_beside_unsigned(const OpDef& op, std::span<const Operand> operands,
                                             Promotion rules) {
  if (rules != Promotion::NumPy || op.dtype_rule != DTypeRule::Bool || operands.size() != 2) return {};
  static constexpr std::string_view kComparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  if (std::find(std::begin(kComparisons), std::end(kComparisons), op.name) == std::end(kComparisons))
    return {};
  const auto is_of = [&](size_t place, bool is_signed_one) {
    const Tensor* tensor = std::get_if<Tensor>(&operands[place]);
    if (tensor == nullptr || !tensor->defined()) return false;
    return is_signed_one ? is_integral(tensor->dtype()) && is_signed(tensor->dtype())
                         : tensor->dtype() == DType::U64;
  };
  if (is_of(0, true) && is_of(1, false)) return 0;
  if (is_of(0, false) && is_of(1, true)) return 1;
  return {};
}

// What is below zero is below all unsigned numbers, and the rest are such numbers.
Tensor compare_signed_with_unsigned(const OpDef& op, std::span<const Operand> operands, size_t place) {
  const Tensor& number = std::get<Tensor>(operands[place]);
  std::array<Operand, 2> unsigned_ones = {operands[0], operands[1]};
  unsigned_ones[place] = call1("cast", {number}, {{"dtype", DType::U64}});
  const bool holds_below_zero = op.name == "ne" || (place == 0 ? op.name == "lt" || op.name == "le"
                                                               : op.name == "gt" || op.name == "ge");
  return invoke("where",
                {invoke("lt", {number, Scalar(int64_t{0})}, Promotion::NumPy), Scalar(holds_below_zero),
                 invoke(op, unsigned_ones, {}, Promotion::NumPy)},
                Promotion::NumPy);
}

}  // namespace

namespace {

// Do the 16 bits hold what float32 holds of the number?
bool holds(DType dtype, const Scalar& number) {
  const auto wide =
      static_cast<float>(number.is_int() ? static_cast<double>(number.to_int()) : number.to_double());
  return visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return std::isnan(wide) || static_cast<float>(T(wide)) == wide;
    else
      return true;
  });
}

// Does the operator take one of these operands as a number in float32 beside elements of `compute`, and does
// it matter?
bool has_wide_number(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, DType compute,
                     Promotion rules) {
  if (rules != Promotion::Torch || compute_dtype(compute) == compute) return false;
  const std::optional<size_t> place = number_in_float32(op);
  if (!place || *place >= operands.size()) return false;
  // Towards zero goes what float32 has of the quotient.
  const bool rounds_quotient = attrs.find("rounding_mode") != nullptr && !attrs.is_none("rounding_mode");
  if (const Scalar* number = std::get_if<Scalar>(&operands[*place]))
    return rounds_quotient || !holds(compute, *number);
  const Tensor& number = std::get<Tensor>(operands[*place]);
  if (!number.defined() || number.dtype() == compute) return false;
  const SymShape sizes = sym_shape(number);
  return std::all_of(sizes.begin(), sizes.end(),
                     [](const Sym& size) { return size.is_constant() && size.constant() == 1; });
}

// All of them in `compute`, but for that number.
std::vector<Tensor> beside_wide_number(const OpDef& op, std::span<const Operand> operands, DType compute) {
  const size_t place = *number_in_float32(op);
  std::vector<Tensor> given;
  for (size_t i = 0; i < operands.size(); ++i)
    given.push_back(to_operand(op, operands[i], i == place ? DType::F32 : compute, Promotion::Torch, false));
  return given;
}

// Have the operands, of which the second is that number, one loop here and now?
bool run_in_one_loop(const OpDef& op, std::span<const Tensor> given) {
  return op.loops != nullptr && given.size() == 2 &&
         std::all_of(given.begin(), given.end(), [](const Tensor& operand) {
           return !operand.is_traced() && operand.device() == Device();
         });
}

Tensor invoke_wide(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, DType compute) {
  const std::vector<Tensor> given = beside_wide_number(op, operands, compute);
  const PointwiseCall pointwise = pointwise_call(op, operands, attrs, Promotion::Torch);
  const OpDef& meant = pointwise.op != nullptr ? *pointwise.op : op;
  if (run_in_one_loop(meant, given)) return run_beside_wide_number(meant, given[0], given[1]);
  std::vector<Operand> wide;
  for (const Tensor& operand : given) wide.emplace_back(cast_to(operand, DType::F32));
  return cast_to(invoke(op, wide, attrs, Promotion::Torch), compute);
}

}  // namespace

Tensor invoke(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, Promotion rules) {
  if (is_any_quantized(operands)) return invoke_quantized(op, operands, attrs, rules);
  if (const std::optional<size_t> place = signed_beside_unsigned(op, operands, rules))
    return compare_signed_with_unsigned(op, operands, *place);
  if (attrs.items().empty()) {
    if (Tensor result = run_small_pointwise(op, operands, rules); result.defined()) return result;
  }
  const DType compute = promoted_types(op, operands, rules).compute;
  if (has_wide_number(op, operands, attrs, compute, rules)) return invoke_wide(op, operands, attrs, compute);
  return call(op, promoted_operands(op, operands, attrs, compute, rules)).at(0);
}

bool invoke_into(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, Promotion rules,
                 const Tensor& target) {
  if (op.kind == OpKind::Composite) {
    const PointwiseCall call = pointwise_call(op, operands, attrs, rules);
    return call.op != nullptr && invoke_into(*call.op, call.operands, call.attrs, rules, target);
  }
  const auto is_here = [](const Tensor& x) {
    return x.defined() && !x.is_traced() && x.device() == Device() && !is_stored_only(x.dtype());
  };
  if (op.kind != OpKind::Pointwise || op.loops == nullptr || current_tracer() != nullptr ||
      !is_here(target) || target.storage()->read_only() || signed_beside_unsigned(op, operands, rules))
    return false;
  for (const Operand& operand : operands)
    if (const Tensor* tensor = std::get_if<Tensor>(&operand); tensor && !is_here(*tensor)) return false;
  const PromotedTypes types = promoted_types(op, operands, rules);
  if (has_wide_number(op, operands, attrs, types.compute, rules)) {
    const std::vector<Tensor> given = beside_wide_number(op, operands, types.compute);
    return run_in_one_loop(op, given) && run_beside_wide_number(op, given[0], given[1], target);
  }
  if (types.result != target.dtype() || !(op.dtypes & dtype_bit(types.compute))) return false;
  Attrs complete = attrs;
  for (const Param& param : op.params) {
    if (param.is_tensor() || complete.find(param.name) != nullptr) continue;
    if (!param.has_default) return false;
    complete.set(param.name, param.default_value);
  }
  const OpArgs args = promoted_operands(op, operands, complete, types.compute, rules);
  return run_pointwise_into(op, args.tensors, args.attrs, target);
}

Tensor invoke(std::string_view op, std::initializer_list<Operand> operands, Promotion rules) {
  return invoke(get_op(op), std::span<const Operand>(operands.begin(), operands.size()), Attrs{}, rules);
}

}  // namespace weft::ops
