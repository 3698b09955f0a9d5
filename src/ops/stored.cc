#include "ops/stored.h"

#include <algorithm>
#include <string_view>

#include "ops/quantized/tensors.h"
#include "weft/error.h"

namespace weft::ops {
namespace {

bool is_stored(const Tensor& tensor) { return tensor.defined() && is_stored_only(tensor.dtype()); }

// Of the dtypes of a call, the one that is only stored; F32 where there is none.
DType stored_dtype(const OpArgs& args) {
  for (const Tensor& tensor : args.tensors)
    if (is_stored(tensor)) return tensor.dtype();
  for (const auto& [name, value] : args.attrs.items())
    if (const DType* dtype = std::get_if<DType>(&value); dtype && is_stored_only(*dtype)) return *dtype;
  return DType::F32;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Elements go to other places as they are.
bool moves(const OpDef& op) {
  return is_one_of(op.name, {"concatenate",
                             "diag",
                             "diagonal_update",
                             "embedding",
                             "flip",
                             "gather_nd",
                             "index",
                             "index_put",
                             "index_select",
                             "join",
                             "masked_select",
                             "pad",
                             "repeat",
                             "repeat_interleave",
                             "roll",
                             "scatter_nd",
                             "slice_update",
                             "take",
                             "tile",
                             "where"});
}

// Computed of the numbers in float32, which holds all of them.
bool asks(const OpDef& op) {
  return is_one_of(op.name, {"all", "any", "eq", "isfinite", "isinf", "isnan", "ne", "sum_to_bool"});
}
bool computes(const OpDef& op) { return is_one_of(op.name, {"abs", "linear", "matmul"}); }

Tensor in_bits(const Tensor& tensor) {
  return is_stored(tensor) ? call1("bitcast", {tensor}, {{"dtype", DType::U8}}) : tensor;
}

std::vector<Tensor> move(const OpDef& op, const OpArgs& args, DType dtype) {
  OpArgs bits = args;
  if (op.name == "pad") {  // zeros are bits of zeros
    const Scalar* const value = std::get_if<Scalar>(&args.attrs.at("value"));
    if ((value && value->to_double() != 0) || dtype == DType::F8E8M0FNU) refuse_stored_only(op.name, dtype);
  }
  for (Tensor& tensor : bits.tensors) {
    if (tensor.defined() && !is_stored(tensor) && is_inexact(tensor.dtype()))
      promote_types(dtype, tensor.dtype(), args.rules);
    if (is_stored(tensor)) promote_types(dtype, tensor.dtype(), args.rules);
    tensor = in_bits(tensor);
  }
  std::vector<Tensor> results = call(op, std::move(bits));
  for (Tensor& result : results) result = call1("bitcast", {result}, {{"dtype", dtype}});
  return results;
}

std::vector<Tensor> in_float32(const OpDef& op, const OpArgs& args) {
  OpArgs wide = args;
  for (Tensor& tensor : wide.tensors)
    if (is_stored(tensor)) tensor = tensor.to(DType::F32);
  return call(op, std::move(wide));
}

}  // namespace

bool concerns_stored_only(const OpDef& op, const OpArgs& args) {
  if (std::any_of(args.tensors.begin(), args.tensors.end(), is_stored)) return true;
  if (op.kind != OpKind::Creation && op.name != "cast" && op.name != "bitcast") return false;
  return is_stored_only(stored_dtype(args));
}

std::vector<Tensor> call_stored_only(const OpDef& op, const OpArgs& args) {
  if (is_any_quantized(args.tensors)) return call_quantized(op, args);
  const DType dtype = stored_dtype(args);
  if (is_recorded(op, args.tensors) && op.kind != OpKind::Composite)
    refuse_stored_only("a graph's " + op.name, dtype);
  if (op.kind == OpKind::Composite) return op.composite(op, args);
  const bool is_filled = op.kind == OpKind::Creation && op.name != "iota";
  if (op.kind == OpKind::View || op.name == "cast" || op.name == "bitcast" || is_filled)
    return run_now(op, args);
  if (moves(op)) return move(op, args, dtype);
  if (asks(op)) return in_float32(op, args);
  if (computes(op)) return {in_float32(op, args).at(0).to(dtype)};
  refuse_stored_only(op.name, dtype);
}

}  // namespace weft::ops
