// Defining aten:: builtins by weft's operators.
//
//   same<"softplus">("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor");
//   with_inplace("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", [](const Tensor& self,
//   …) {…});
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "script/builtins/builtin.h"

namespace weft::jit::aten {

using ops::Attr;
using ops::Attrs;
using ops::OpDef;
using ops::Operand;

using Ints = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;
using OptionalTensor = std::optional<Tensor>;
using OptionalInt = std::optional<int64_t>;
using OptionalInts = std::optional<Ints>;
using OptionalDType = std::optional<DType>;
using OptionalDevice = std::optional<Device>;

template <size_t N>
struct Name {
  consteval Name(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  char text[N];
};

// NotImplementedError naming the operator where weft has none.
const OpDef& require_op(std::string_view name);

// The operator of this name, looked up once.
template <Name N>
const OpDef& op() {
  static const OpDef& found = require_op(N.text);
  return found;
}

// ---- calls -----------------------------------------------------------------------------------------------
// With operands as they are.
Tensor call(const OpDef& op, std::vector<Tensor> tensors, Attrs attrs = {});
std::vector<Tensor> call_all(const OpDef& op, std::vector<Tensor> tensors, Attrs attrs = {});
// With operands promoted to one dtype, as PyTorch promotes them.
Tensor promoted(const OpDef& op, std::initializer_list<Operand> operands, const Attrs& attrs = {});
Tensor matmul(const Tensor& x, const Tensor& y);
Tensor add(const Operand& x, const Operand& y);
Tensor mul(const Operand& x, const Operand& y);

inline ops::Attr sizes(const Ints& values) { return SymShape(values.begin(), values.end()); }
inline ops::Attr sizes(const OptionalInts& values) { return values ? sizes(*values) : Attr(); }
inline ops::Attr number(int64_t value) { return Sym(value); }
inline ops::Attr number(OptionalInt value) { return value ? Attr(Sym(*value)) : Attr(); }
template <class T>
Attr optional(const std::optional<T>& value) {
  return value ? Attr(*value) : Attr();
}
inline Tensor or_undefined(const OptionalTensor& tensor) { return tensor.value_or(Tensor()); }

Tensor cast(const Tensor& x, DType dtype);  // x itself when it has that dtype
inline Tensor cast(const Tensor& x, OptionalDType dtype) { return dtype ? cast(x, *dtype) : x; }
// A list of tensors, undefined ones for None.
std::vector<Tensor> tensor_list(const IValue& list);
// A tensor of its own that views the same elements.
Tensor alias(const Tensor& x);
// dim in [-ndim, ndim) to [0, ndim); a 0-d tensor counts as one-dimensional.
int64_t wrap_dim(std::string_view op, int64_t dim, int64_t ndim);

// self[...] = result, as an in-place operator does it: the shape must be self's, the dtype castable to
// self's.
void write_back(const char* op, const Tensor& self, const Tensor& result);

// ---- definitions -----------------------------------------------------------------------------------------
// The operator `op` on a builtin's arguments, matched by position; arguments it does not have are left out.
void forward(const OpDef& op, std::span<IValue> arguments, IValue* results);
template <Name N>
void forward_to(std::span<IValue> arguments, IValue* results) {
  forward(op<N>(), arguments, results);
}

// The same for operators without a loop of integers: these are computed in float64, whose sums are exact
// below 2 ** 53, and rounded towards zero. `dtypes`: the integers that PyTorch has the operator for.
void forward_integers(const OpDef& op, ops::DTypeSet dtypes, std::span<IValue> arguments, IValue* results);
Tensor call_integers(const OpDef& op, ops::DTypeSet dtypes, std::vector<Tensor> tensors, Attrs attrs);
inline constexpr ops::DTypeSet kConvolvedIntegers = ops::dtype_bit(DType::I64) | ops::dtype_bit(DType::I32) |
                                                    ops::dtype_bit(DType::I16) | ops::dtype_bit(DType::I8) |
                                                    ops::dtype_bit(DType::U8);

// self.add_(…) by the operator `op`.
void forward_inplace(const OpDef& op, std::span<IValue> arguments, IValue* results);
template <Name N>
void forward_inplace_to(std::span<IValue> arguments, IValue* results) {
  forward_inplace(op<N>(), arguments, results);
}
// The same by the function of add.
template <BuiltinFn F>
void run_inplace(std::span<IValue> arguments, IValue* results) {
  Tensor self = arguments[0].to_tensor();
  IValue result;
  F(arguments, &result);
  write_back("in-place operator", self, result.to_tensor());
  results[0] = std::move(self);
}

// Schemas here leave out "aten::".
void define_function(std::string_view schema, BuiltinFn run, bool is_pure = true);
// Also "NAME_", whose schema is derived: its first tensor is written and returned.
void define_functions(std::string_view schema, BuiltinFn run, BuiltinFn inplace);

template <class F>
void define(std::string_view schema, F, bool is_pure = true) {
  define_function(schema, &detail::call_builtin<F>, is_pure);
}
template <class F>
void with_inplace(std::string_view schema, F) {
  define_functions(schema, &detail::call_builtin<F>, &run_inplace<&detail::call_builtin<F>>);
}
// The weft operator N by the same order of arguments.
template <Name N>
void same(std::string_view schema) {
  define_function(schema, &forward_to<N>);
}
template <Name N>
void same_with_inplace(std::string_view schema) {
  define_functions(schema, &forward_to<N>, &forward_inplace_to<N>);
}

}  // namespace weft::jit::aten
