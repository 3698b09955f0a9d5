// Arguments of a weft operator as those of the builtin of its name.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "script/builtins/aten.h"
#include "script/builtins/prim.h"
#include "script/emit/overload.h"
#include "script/trace/trace.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using ops::OpDef;
using OperatorArgument = Trace::OperatorArgument;

// Attributes that PyTorch calls otherwise. Of no other may a name differ: at the same position may be its
// opposite, as full_matrices is of some.
bool is_called(const std::string& param, const std::string& formal) {
  static const auto& names =
      *new std::multimap<std::string, std::string, std::less<>>{{"shape", "size"},
                                                                {"value", "fill_value"},
                                                                {"dim", "dimension"},
                                                                {"split_size", "split_sizes"},
                                                                {"indices_or_sections", "sections"},
                                                                {"indices_or_sections", "indices"}};
  const auto [first, last] = names.equal_range(param);
  return std::any_of(first, last, [&](const auto& other) { return other.second == formal; });
}

// For each of the operator's parameters, the argument of the schema that it is: of the same name, or else of
// the same position, where it is a tensor or another name of the attribute; -1 for none.
std::vector<int> match_parameters(const OpDef& op, const Schema& schema) {
  const auto& formals = schema.arguments;
  std::vector<int> places(op.params.size(), -1);
  std::vector<bool> taken(formals.size(), false);
  const auto take = [&](size_t param, size_t formal) {
    places[param] = static_cast<int>(formal);
    taken[formal] = true;
  };
  for (size_t i = 0; i < op.params.size(); ++i) {
    for (size_t j = 0; j < formals.size(); ++j) {
      if (!taken[j] && formals[j].name == op.params[i].name) take(i, j);
    }
  }
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (places[i] < 0 && i < formals.size() && !taken[i] && !formals[i].keyword_only &&
        !op.params[i].keyword_only &&
        (op.params[i].is_tensor() || is_called(op.params[i].name, formals[i].name)))
      take(i, i);
  }
  return places;
}

int64_t reduction_number(const std::string& word) {
  if (word == "none") return 0;
  if (word == "mean") return 1;
  WEFT_CHECK(word == "sum", fmt::format("reduction: expected 'none', 'mean' or 'sum', got '{}'", word));
  return 2;
}

bool wants(const SchemaArgument& formal, TypeKind kind) {
  const TypePtr type = without_none(formal.type);
  return type->is(kind);
}

// What an attribute of weft's is called in aten: a list of one dimension is that dimension, a word is its
// number.
std::optional<IValue> respelled(const IValue& value, const SchemaArgument& formal) {
  if (wants(formal, TypeKind::Int) && value.is_list() && value.elements().size() == 1)
    return value.elements()[0];
  if (wants(formal, TypeKind::Int) && value.is_string() && formal.name == "reduction")
    return reduction_number(value.to_string());
  return std::nullopt;
}

// A number beside tensors, as a tensor that promotes as the number does.
IValue as_tensor(const IValue& number, const std::vector<OperatorArgument>& arguments) {
  const Scalar scalar = number.to_scalar();
  DType dtype = promote_weak(DType::Bool, scalar.kind(), Promotion::Torch);
  for (const OperatorArgument& argument : arguments) {
    if (!argument.value.now.is_tensor() || !argument.value.now.to_tensor().defined()) continue;
    dtype = promote_weak(argument.value.now.to_tensor().dtype(), scalar.kind(), Promotion::Torch);
    break;
  }
  return Tensor::scalar(scalar, dtype);
}

}  // namespace

// Tries the overloads with numbers as they are, then with numbers as tensors.
std::optional<std::vector<Traced>> Trace::call_operator(const std::string& name, const OpDef& op,
                                                        std::vector<OperatorArgument> arguments) {
  for (const bool numbers_are_tensors : {false, true}) {
    for (const Builtin* builtin : find_builtins("aten::" + name)) {
      const Schema& schema = builtin->schema;
      if (schema.arguments.empty()) continue;
      const std::vector<int> places = match_parameters(op, schema);
      std::vector<Argument> call;
      bool fits = true;
      for (size_t i = 0; i < arguments.size() && fits; ++i) {
        const OperatorArgument& argument = arguments[i];
        if (places[i] < 0) {
          fits = argument.is_default;
          continue;
        }
        const SchemaArgument& formal = schema.arguments[static_cast<size_t>(places[i])];
        const IValue& now = argument.value.now;
        if (argument.is_default && formal.default_value && !now.is_instance(*formal.type)) continue;
        Traced value = argument.value;
        if (const auto other = respelled(now, formal))
          value = constant(*other);
        else if (numbers_are_tensors && now.is_number() && wants(formal, TypeKind::Tensor))
          value = constant(as_tensor(now, arguments));
        // Taking the number of a tensor is no way to fit, nor is a bool for a number: PyTorch does not take
        // it.
        const TypePtr& type = type_of(value.value);
        if (type->is(TypeKind::Tensor)) fits = Type::tensor()->is_subtype_of(*formal.type);
        if (type->is(TypeKind::Bool) && op.params[i].is_tensor()) fits = wants(formal, TypeKind::Bool);
        call.push_back({formal.name, std::move(value)});
      }
      if (fits && jit::fits_any(emitter_, {&schema}, call_arguments(call))) {
        return this->call(*builtin, call);
      }
    }
  }
  return std::nullopt;
}

}  // namespace weft::jit
