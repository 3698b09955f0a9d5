#include "script/builtins/aten.h"

#include <fmt/format.h>

#include <array>

#include "core/distinct_elements.h"
#include "ops/arguments.h"
#include "ops/pointwise.h"

namespace weft::jit::aten {
namespace {

using ParamType = ops::Param::Type;

Attr to_attribute(const ops::Param& param, const IValue& value) {
  if (value.is_none()) return {};
  switch (param.type) {
    case ParamType::Bool: return value.to_bool();
    case ParamType::Int: return Sym(value.to_int());
    case ParamType::Float: return value.to_double();
    case ParamType::Scalar: return value.to_scalar();
    case ParamType::String: return value.to_string();
    case ParamType::DType: return value.to_dtype();
    case ParamType::Device: return value.to_device();
    case ParamType::IntList:
      if (value.is_int()) return SymShape{Sym(value.to_int())};
      if (value.is_string()) return value.to_string();
      return sizes(value.to_int_list());
    default: break;
  }
  throw_error(ErrorKind::Internal, fmt::format("argument '{}' is no attribute", param.name));
}

bool is_promoting(const OpDef& op) {
  return op.kind == ops::OpKind::Pointwise || (op.kind == ops::OpKind::Composite && op.promotes);
}

// Of several results a builtin may declare fewer: it drops the last ones.
void store_results(const OpDef& op, Tensors values, IValue* results) {
  if (op.num_outputs < 0) {
    results[0] = IValue(std::move(values));
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) results[i] = IValue(std::move(values[i]));
}

}  // namespace

const OpDef& require_op(std::string_view name) {
  const OpDef* found = ops::find_op(name);
  if (found == nullptr) {
    throw_error(ErrorKind::NotImplemented,
                fmt::format("TorchScript: the operator '{}' is not implemented", name));
  }
  return *found;
}

Tensor call(const OpDef& op, std::vector<Tensor> tensors, Attrs attrs) {
  return std::move(call_all(op, std::move(tensors), std::move(attrs)).at(0));
}

std::vector<Tensor> call_all(const OpDef& op, std::vector<Tensor> tensors, Attrs attrs) {
  ops::OpArgs args;
  args.tensors = std::move(tensors);
  args.attrs = std::move(attrs);
  return ops::call(op, std::move(args));
}

Tensor promoted(const OpDef& op, std::initializer_list<Operand> operands, const Attrs& attrs) {
  return ops::invoke(op, std::span<const Operand>(operands.begin(), operands.size()), attrs,
                     Promotion::Torch);
}

Tensor matmul(const Tensor& x, const Tensor& y) { return call(op<"matmul">(), {x, y}); }
Tensor add(const Operand& x, const Operand& y) { return promoted(op<"add">(), {x, y}); }
Tensor mul(const Operand& x, const Operand& y) { return promoted(op<"mul">(), {x, y}); }

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return call(op<"cast">(), {x}, {{"dtype", dtype}});
}

Tensor alias(const Tensor& x) {
  if (x.is_traced()) return x;
  return Tensor(std::make_shared<TensorImpl>(*x.impl()));
}

int64_t wrap_dim(std::string_view op, int64_t dim, int64_t ndim) {
  return ops::normalize_dim(op, dim, std::max<int64_t>(ndim, 1));
}

void write_back(const char* op, const Tensor& self, const Tensor& result) {
  WEFT_CHECK(
      result.dim() == self.dim() && result.shape() == self.shape(),
      fmt::format("{}: the result's shape {} differs from that of the tensor it is written to\n  self: {}",
                  op, str(result.shape()), describe(self)));
  const auto category = [](DType dtype) {
    return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : dtype != DType::Bool;
  };
  WEFT_CHECK_TYPE(category(result.dtype()) <= category(self.dtype()),
                  fmt::format("{}: a result of dtype {} can't be written to a tensor of dtype {}\n  self: {}",
                              op, name(result.dtype()), name(self.dtype()), describe(self)));
  self.copy_from(result);
}

namespace {

// Towards zero; what the integers cannot hold wraps.
Tensor whole(const Tensor& x, DType dtype) { return cast(cast(x, DType::I64), dtype); }

bool is_default(const ops::Param& param, const IValue& value) {
  if (param.type != ParamType::Scalar || !value.is_int()) return false;
  const Scalar* expected = std::get_if<Scalar>(&param.default_value);
  return expected != nullptr && expected->is_int() && expected->to_int() == value.to_int();
}

// Operands and attributes of a pointwise operator, without the memory that the general case takes: most calls
// of small tensors. The arguments are moved from.
struct PointwiseCall {
  PointwiseCall(const OpDef& op, std::span<IValue> arguments) {
    for (size_t i = 0; i < std::min(arguments.size(), op.params.size()); ++i) {
      const ops::Param& param = op.params[i];
      IValue& value = arguments[i];
      if (param.type != ParamType::Tensor) {
        if (!is_default(param, value)) attrs.set(param.name, to_attribute(param, value));
      } else if (value.is_tensor()) {
        storage.at(count++) = std::move(value.to_tensor());
      } else {
        storage.at(count++) = value.is_none() ? Operand(Tensor()) : Operand(value.to_scalar());
      }
    }
  }
  std::span<const Operand> operands() const { return std::span(storage).first(count); }
  std::span<Operand> operands() { return std::span(storage).first(count); }

  std::array<Operand, 4> storage;
  size_t count = 0;
  Attrs attrs;
};

}  // namespace

void forward(const OpDef& op, std::span<IValue> arguments, IValue* results) {
  if (op.kind == ops::OpKind::Pointwise) {
    PointwiseCall call(op, arguments);
    Tensor result;
    if (call.attrs.items().empty()) result = ops::run_small_pointwise(op, call.operands());
    results[0] = IValue(result.defined() ? std::move(result)
                                         : ops::invoke(op, call.operands(), call.attrs, Promotion::Torch));
    return;
  }
  Attrs attrs;
  std::vector<Tensor> tensors;
  std::vector<Operand> operands;
  const bool promotes = is_promoting(op);
  const size_t count = std::min(arguments.size(), op.params.size());
  for (size_t i = 0; i < count; ++i) {
    const ops::Param& param = op.params[i];
    IValue& value = arguments[i];
    if (param.type == ParamType::TensorList) {
      for (Tensor& item : tensor_list(value)) tensors.push_back(std::move(item));
    } else if (param.type != ParamType::Tensor) {
      attrs.set(param.name, to_attribute(param, value));
    } else if (promotes) {
      if (value.is_number())
        operands.emplace_back(value.to_scalar());
      else
        operands.emplace_back(value.is_none() ? Tensor() : value.to_tensor());
    } else {
      tensors.push_back(value.is_none() ? Tensor() : value.to_tensor());
    }
  }
  if (promotes) {
    results[0] = IValue(ops::invoke(op, operands, attrs, Promotion::Torch));
  } else {
    store_results(op, call_all(op, std::move(tensors), std::move(attrs)), results);
  }
}

void forward_integers(const OpDef& op, ops::DTypeSet dtypes, std::span<IValue> arguments, IValue* results) {
  const DType dtype = arguments[0].to_tensor().dtype();
  const bool is_alike = std::all_of(arguments.begin(), arguments.end(), [&](const IValue& argument) {
    return !argument.is_tensor() || argument.to_tensor().dtype() == dtype;
  });
  if ((ops::dtype_bit(dtype) & dtypes) == 0 || !is_alike) return forward(op, arguments, results);
  for (IValue& argument : arguments)
    if (argument.is_tensor()) argument = cast(argument.to_tensor(), DType::F64);
  forward(op, arguments, results);
  results[0] = whole(results[0].to_tensor(), dtype);
}

Tensor call_integers(const OpDef& op, ops::DTypeSet dtypes, std::vector<Tensor> tensors, Attrs attrs) {
  const DType dtype = tensors[0].dtype();
  const bool is_alike = std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return !tensor.defined() || tensor.dtype() == dtype;
  });
  if ((ops::dtype_bit(dtype) & dtypes) == 0 || !is_alike)
    return call(op, std::move(tensors), std::move(attrs));
  for (Tensor& tensor : tensors)
    if (tensor.defined()) tensor = cast(tensor, DType::F64);
  return whole(call(op, std::move(tensors), std::move(attrs)), dtype);
}

void forward_inplace(const OpDef& op, std::span<IValue> arguments, IValue* results) {
  Tensor self = arguments[0].to_tensor();
  if (op.kind == ops::OpKind::Pointwise) {
    check_distinct_elements(self);
    const PointwiseCall call(op, arguments);
    if (!call.attrs.items().empty() || !ops::run_small_pointwise(op, call.operands(), self)) {
      write_back(op.name.c_str(), self, ops::invoke(op, call.operands(), call.attrs, Promotion::Torch));
    }
  } else {
    IValue result;
    forward(op, arguments, &result);
    write_back(op.name.c_str(), self, result.to_tensor());
  }
  results[0] = std::move(self);
}

std::vector<Tensor> tensor_list(const IValue& list) {
  std::vector<Tensor> tensors;
  tensors.reserve(list.elements().size());
  for (const IValue& item : list.elements()) tensors.push_back(item.is_none() ? Tensor() : item.to_tensor());
  return tensors;
}

void define_function(std::string_view schema, BuiltinFn run, bool is_pure) {
  register_builtin("aten::" + std::string(schema), run, is_pure);
}

void define_functions(std::string_view schema, BuiltinFn run, BuiltinFn inplace) {
  define_function(schema, run);
  std::string text(schema);
  text.insert(text.find_first_of(".("), "_");
  text.insert(text.find("(Tensor ") + 7, "(a!)");
  text.replace(text.rfind("-> Tensor"), std::string::npos, "-> Tensor(a!)");
  define_function(text, inplace, false);
}

}  // namespace weft::jit::aten
