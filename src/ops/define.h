// Defining a pointwise operator in one place: its semantics are one generic lambda over the functions of
// scalar/math.h and scalar/expr.h. Called with numbers it is the eager loop, called with Expr it gives the
// expression that the code generator prints.
//
//   const auto& softplus = unary<kFloats>("softplus", DTypeRule::FloatOnly, [](auto x) { … }, {.doc = …});
//
// A lambda may take a trailing `const Params& p`: the schema's other parameters, in order.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/pointwise.h"
#include "scalar/math.h"

namespace weft::ops {

// The functions lambdas are written in.
using scalar::Expr;
using scalar::Number;

inline constexpr DTypeSet kInexact = kFloats | kComplex;

struct Options {
  std::string doc = {};
  std::string numpy = {};  // reference; "" = numpy.<name>(operands)
  ErrorBound error = {};
  double low = -3, high = 3;  // sample domain
  std::vector<std::string> aliases = {};
  std::string params = "";  // further parameters: ", float negative_slope=0.01"
  bool numpy_bool_is_int8 = false;
};

// A parameter's value in the dtype of `like`.
template <class T>
Number<T> param_like(const Params& p, size_t index, Number<T>) {
  if constexpr (scalar::is_int_v<T>)
    return Number<T>(static_cast<T>(p.integer(index)));
  else
    return Number<T>(scalar::convert<T>(p.real(index)));
}
inline Expr param_like(const Params& p, size_t index, const Expr& like) {
  return is_integral(like.dtype()) ? Expr::constant(Scalar(p.integer(index)), like.dtype())
                                   : scalar::constant_like(p.real(index), like);
}

namespace detail {

using ExpressionFunction = Expr (*)(std::span<const Expr> operands, const Params& params);

// What does not depend on the lambda's type.
const OpDef& register_pointwise(const char* name, const char* operands, DTypeRule rule, DTypeSet dtypes,
                                const LoopTable& loops, ExpressionFunction expression, Options options);

template <class F, class... Operands>
auto apply(const F& f, const Params& params, Operands... operands) {
  if constexpr (std::is_invocable_v<F, Operands..., const Params&>)
    return f(operands..., params);
  else
    return f(operands...);
}

template <class F, class... T>
void loop(void* out, const void* const* operands, int64_t count, const Params& given) {
  const F f{};
  const Params params = given;
  using Result = decltype(apply(f, params, Number<T>{}...));
  auto* __restrict target = static_cast<typename Result::type*>(out);
  [&]<size_t... I>(std::index_sequence<I...>) {
    for (int64_t i = 0; i < count; ++i)
      target[i] = apply(f, params, Number<T>(static_cast<const T*>(operands[I])[i])...).value;
  }(std::index_sequence_for<T...>{});
}

// N operands of type T; with a condition, the first is a bool.
template <class F, class T, size_t N, bool kCondition>
constexpr LoopFunction select_loop() {
  if constexpr (kCondition)
    return &loop<F, bool, T, T>;
  else if constexpr (N == 1)
    return &loop<F, T>;
  else if constexpr (N == 2)
    return &loop<F, T, T>;
  else
    return &loop<F, T, T, T>;
}

template <DTypeSet kTypes, class F, size_t N, bool kCondition>
constexpr LoopTable make_loops() {
  LoopTable table{};
#define WEFT_LOOP(NAME, TYPE)                                              \
  if constexpr (DType::NAME != DType::F16 && DType::NAME != DType::BF16 && \
                (kTypes & dtype_bit(DType::NAME)))                         \
    table[static_cast<size_t>(DType::NAME)] = select_loop<F, TYPE, N, kCondition>();
  WEFT_FOR_EACH_DTYPE(WEFT_LOOP)
#undef WEFT_LOOP
  return table;
}

// f16 and bf16 compute in f32 and round once, at the end of the operator.
template <class F, size_t N>
Expr expression(std::span<const Expr> operands, const Params& params) {
  const DType dtype = operands.back().dtype();
  const DType compute = compute_dtype(dtype);
  const auto load = [&](const Expr& operand) {
    return operand.dtype() == dtype ? scalar::cast(compute, operand) : operand;
  };
  const Expr result = [&]<size_t... I>(std::index_sequence<I...>) {
    return apply(F{}, params, load(operands[I])...);
  }(std::make_index_sequence<N>{});
  return result.dtype() == compute ? scalar::cast(dtype, result) : result;
}

template <DTypeSet kTypes, size_t N, bool kCondition, class F>
const OpDef& define(const char* name, const char* operands, DTypeRule rule, F, Options options) {
  static constexpr LoopTable loops = make_loops<kTypes, F, N, kCondition>();
  return register_pointwise(name, operands, rule, kTypes, loops, &expression<F, N>, std::move(options));
}

}  // namespace detail

template <DTypeSet kTypes, class F>
const OpDef& unary(const char* name, DTypeRule rule, F f, Options options) {
  return detail::define<kTypes, 1, false>(name, "Tensor x", rule, f, std::move(options));
}
template <DTypeSet kTypes, class F>
const OpDef& binary(const char* name, DTypeRule rule, F f, Options options) {
  return detail::define<kTypes, 2, false>(name, "Tensor x, Tensor y", rule, f, std::move(options));
}
template <DTypeSet kTypes, class F>
const OpDef& ternary(const char* name, const char* operands, DTypeRule rule, F f, Options options) {
  return detail::define<kTypes, 3, false>(name, operands, rule, f, std::move(options));
}

}  // namespace weft::ops
