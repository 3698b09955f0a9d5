// The names of what printed source refers to, and literals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "script/archive/python_print.h"
#include "script/builtins/quantized/packed_classes.h"
#include "script/syntax/literal.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return IValue(value).repr();
}

// Does its source have a definition?
bool is_printed(const Type& type) {
  if (type.name().starts_with(packed::kPrefix)) return false;  // PyTorch has it in C++
  return type.is(TypeKind::Class) || type.is(TypeKind::Interface) || type.is(TypeKind::Enum) ||
         (type.is(TypeKind::Tuple) && !type.name().empty());
}

}  // namespace

std::string SourceReferences::constant_name(const Tensor& tensor) {
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].impl() == tensor.impl()) return fmt::format("CONSTANTS.c{}", i);
  }
  constants.push_back(tensor);
  return fmt::format("CONSTANTS.c{}", constants.size() - 1);
}

void SourceReferences::note(const TypePtr& type) {
  for (const TypePtr& element : type->elements()) note(element);
  if (!is_printed(*type) || find(*type)) return;
  positions_[type.get()] = types.size();
  types.push_back(type);
  type_names_.push_back(unused_name(type->name()));
}

// Types of NamedTuples are equal by their fields; the others are one object each.
std::optional<size_t> SourceReferences::find(const Type& type) const {
  if (const auto found = positions_.find(&type); found != positions_.end()) return found->second;
  if (!type.is(TypeKind::Tuple)) return std::nullopt;
  const auto same =
      std::find_if(types.begin(), types.end(), [&](const TypePtr& seen) { return seen->equals(type); });
  if (same == types.end()) return std::nullopt;
  return static_cast<size_t>(same - types.begin());
}

void SourceReferences::note(const std::shared_ptr<Function>& function) {
  if (std::find(functions.begin(), functions.end(), function) != functions.end()) return;
  functions.push_back(function);
  function_names_.push_back(unused_name(function->qualified_name()));
}

std::string SourceReferences::unused_name(const std::string& name) {
  const size_t dot = name.rfind('.') + 1;
  std::string candidate = name;
  for (int i = 0; !taken_.insert(candidate).second; ++i) {
    candidate = fmt::format("{}___torch_mangle_{}.{}", name.substr(0, dot), i, name.substr(dot));
  }
  return candidate;
}

std::string SourceReferences::name(const Type& type) {
  note(type.shared_from_this());
  return type_names_[*find(type)];
}

std::string SourceReferences::name(const std::shared_ptr<Function>& function) {
  note(function);
  return function_names_[static_cast<size_t>(std::find(functions.begin(), functions.end(), function) -
                                             functions.begin())];
}

std::string SourceReferences::text(const TypePtr& type) {
  if (is_printed(*type)) return name(*type);
  if (type->elements().empty()) return type->str();
  std::string elements;
  for (const TypePtr& element : type->elements()) elements += (elements.empty() ? "" : ", ") + text(element);
  const std::string own = type->str();
  return own.substr(0, own.find('[')) + "[" + elements + "]";
}

std::string print_literal(const IValue& value, SourceReferences& references) {
  const auto joined = [&](const std::vector<IValue>& values) {
    std::string text;
    for (const IValue& item : values) text += (text.empty() ? "" : ", ") + print_literal(item, references);
    return text;
  };
  switch (value.tag()) {
    case IValue::Tag::None: return "None";
    case IValue::Tag::Tensor: return references.constant_name(value.to_tensor());
    case IValue::Tag::Int:
    case IValue::Tag::Bool: return value.repr();
    case IValue::Tag::Float: return float_text(value.to_double());
    case IValue::Tag::Complex: {
      const std::complex<double> z = value.to_complex();
      return fmt::format("torch.complex({}, {})", float_text(z.real()), float_text(z.imag()));
    }
    case IValue::Tag::String: return quote_string(value.to_string());
    case IValue::Tag::Device: return fmt::format("torch.device({})", quote_string(value.to_device().str()));
    case IValue::Tag::List: return "[" + joined(value.elements()) + "]";
    case IValue::Tag::Tuple: {
      const Tuple& tuple = *value.to_tuple();
      if (tuple.type) return fmt::format("{}({})", references.text(tuple.type), joined(tuple.values));
      return "(" + joined(tuple.values) + (tuple.values.size() == 1 ? ",)" : ")");
    }
    case IValue::Tag::Dict: {
      std::string text;
      for (const auto& [key, item] : value.to_dict()->items()) {
        text += (text.empty() ? "" : ", ") + print_literal(key, references) + ": " +
                print_literal(item, references);
      }
      return "{" + text + "}";
    }
    case IValue::Tag::Enum: return references.text(value.to_enum()->type) + "." + value.to_enum()->name;
    default:
      throw_error(ErrorKind::Value,
                  fmt::format("a constant of type {} has no source text", value.type()->str()));
  }
}

}  // namespace weft::jit
