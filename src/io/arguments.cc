#include "io/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>

#include "core/printable.h"
#include "weft/error.h"

namespace weft::io {
namespace {

using jit::Schema;
using jit::SchemaArgument;
using jit::Type;
using jit::TypeKind;
using jit::TypePtr;

constexpr std::string_view kPrefix = "in.";

std::optional<size_t> position_of(std::string_view text) {
  size_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// Arrays by the parts of their names: "table.left" is the part "left" of "table".
struct Node {
  std::string name;               // in the file
  const IValue* value = nullptr;  // null where only its parts have values
  std::map<std::string, Node, std::less<>> parts;

  const Node* find(std::string_view part) const {
    const auto found = parts.find(part);
    return found == parts.end() ? nullptr : &found->second;
  }
};

std::string describe(const IValue& value) {
  if (value.is_tensor()) return weft::describe(value.to_tensor());
  return value.is_string() ? "text" : "a list of text";
}

// Makes the value of one argument.
class ArgumentReader {
 public:
  ArgumentReader(const Schema& schema, const SchemaArgument& argument)
      : schema_(schema), argument_(argument) {}

  IValue read(const Node& node, const TypePtr& type) const {
    switch (type->kind()) {
      case TypeKind::Tensor: return tensor(node, type, "an array of numbers");
      case TypeKind::Int:
      case TypeKind::Float:
      case TypeKind::Complex:
      case TypeKind::Bool:
      case TypeKind::Number: return number(node, type);
      case TypeKind::String: return text(node, type);
      case TypeKind::Device: return Device::parse(text(node, type).to_string());
      case TypeKind::Any: return leaf(node, type, "an array");
      case TypeKind::Optional: return read(node, type->element());
      case TypeKind::List: return list(node, type);
      case TypeKind::Tuple: return tuple(node, type);
      case TypeKind::Dict: return dict(node, type);
      default: fail(node, type, "a type that arrays can express");
    }
  }

  [[noreturn]] void fail(const Node& node, const TypePtr& type, std::string_view expected) const {
    const std::string got = node.value ? describe(*node.value) : fmt::format("{} arrays", node.parts.size());
    throw_error(ErrorKind::Type, fmt::format("{}: argument '{}' ({}): expected {} for {}, got {} in '{}'",
                                             method_name(), argument_.name, argument_.type->str(), expected,
                                             type->str(), got, printable(node.name)));
  }

 private:
  std::string method_name() const { return schema_.name.substr(schema_.name.find_last_of(".:") + 1); }

  const IValue& leaf(const Node& node, const TypePtr& type, std::string_view expected) const {
    if (!node.value || !node.parts.empty()) fail(node, type, expected);
    return *node.value;
  }
  const IValue& tensor(const Node& node, const TypePtr& type, std::string_view expected) const {
    const IValue& value = leaf(node, type, expected);
    if (!value.is_tensor()) fail(node, type, expected);
    return value;
  }
  const IValue& text(const Node& node, const TypePtr& type) const {
    const IValue& value = leaf(node, type, "text");
    if (!value.is_string()) fail(node, type, "text");
    return value;
  }

  static bool holds(TypeKind number, DType dtype) {
    switch (number) {
      case TypeKind::Bool: return dtype == DType::Bool;
      case TypeKind::Int: return is_integral(dtype);
      case TypeKind::Float: return is_integral(dtype) || is_floating(dtype);
      case TypeKind::Complex: return dtype != DType::Bool;
      default: return true;
    }
  }
  static IValue scalar(const Tensor& tensor, TypeKind number) {
    const Scalar value = tensor.item();
    if (number == TypeKind::Float) return value.to_double();
    if (number == TypeKind::Complex) return value.to_complex();
    return value;
  }
  IValue number(const Node& node, const TypePtr& type) const {
    const std::string expected = fmt::format("one {}", type->str());
    const Tensor& value = tensor(node, type, expected).to_tensor();
    if (value.numel() != 1 || !holds(type->kind(), value.dtype())) fail(node, type, expected);
    return scalar(value, type->kind());
  }

  IValue list(const Node& node, const TypePtr& type) const {
    if (node.value && node.parts.empty()) return list_of_array(node, type);
    IValue result = IValue::list(type->element());
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const Node* part = node.find(std::to_string(i));
      if (node.value || !part) fail(node, type, "arrays numbered from 0");
      result.to_list()->values.push_back(read(*part, type->element()));
    }
    return result;
  }
  // An array of dimension 1 stands for a list of numbers, text for a list of str.
  IValue list_of_array(const Node& node, const TypePtr& type) const {
    const TypePtr& element = type->element();
    if (node.value->is_list() && element->is(TypeKind::String)) return *node.value;
    const bool numbers = element->is(TypeKind::Int) || element->is(TypeKind::Float) ||
                         element->is(TypeKind::Bool) || element->is(TypeKind::Complex) ||
                         element->is(TypeKind::Number);
    const char* expected = numbers ? "an array of dimension 1" : "arrays numbered from 0";
    if (!node.value->is_tensor()) fail(node, type, expected);
    const Tensor& values = node.value->to_tensor();
    IValue result = IValue::list(element);
    if (values.dim() != 1 || (!numbers && values.numel() > 0)) fail(node, type, expected);
    if (values.numel() > 0 && !holds(element->kind(), values.dtype()))
      fail(node, type, fmt::format("values of {}", element->str()));
    for (int64_t i = 0; i < values.numel(); ++i)
      result.to_list()->values.push_back(
          scalar(values.as_strided({}, {}, values.offset() + i * values.strides()[0]), element->kind()));
    return result;
  }
  IValue tuple(const Node& node, const TypePtr& type) const {
    std::vector<IValue> values;
    const std::vector<std::string>& fields = type->fields();
    const std::string expected = fmt::format("{} arrays", type->elements().size());
    if (node.value || node.parts.size() != type->elements().size()) fail(node, type, expected);
    for (size_t i = 0; i < type->elements().size(); ++i) {
      const Node* part = node.find(std::to_string(i));
      if (!part && !fields.empty()) part = node.find(fields[i]);
      if (!part) fail(node, type, expected);
      values.push_back(read(*part, type->elements()[i]));
    }
    return fields.empty() ? IValue::tuple(std::move(values)) : IValue::named_tuple(type, std::move(values));
  }
  IValue dict(const Node& node, const TypePtr& type) const {
    const TypePtr &key_type = type->elements()[0], &value_type = type->elements()[1];
    IValue result = IValue::dict(key_type, value_type);
    if (node.value) fail(node, type, "arrays named by their keys");
    for (const auto& [name, part] : node.parts) {
      IValue key = name;
      if (key_type->is(TypeKind::Int)) {
        const std::optional<size_t> number = position_of(name);
        if (!number) fail(node, type, "whole numbers as keys");
        key = static_cast<int64_t>(*number);
      } else if (!key_type->is(TypeKind::String)) {
        fail(node, type, "keys of type str or int");
      }
      result.to_dict()->set(std::move(key), read(part, value_type));
    }
    return result;
  }

  const Schema& schema_;
  const SchemaArgument& argument_;
};

Node tree_of(const NamedValues& arrays) {
  const bool prefixed = std::any_of(arrays.begin(), arrays.end(),
                                    [](const auto& item) { return item.first.starts_with(kPrefix); });
  Node root;
  for (const auto& [name, value] : arrays) {
    std::string_view rest = name;
    if (prefixed && !rest.starts_with(kPrefix)) continue;
    if (prefixed) rest.remove_prefix(kPrefix.size());
    Node* node = &root;
    std::string path = prefixed ? std::string(kPrefix) : "";
    while (true) {
      const std::string part(rest.substr(0, rest.find('.')));
      path += part;
      node = &node->parts[part];
      node->name = path;
      if (part.size() == rest.size()) break;
      rest.remove_prefix(part.size() + 1);
      path += '.';
    }
    node->value = &value;
  }
  return root;
}

// The arguments a caller gives: all but a method's self.
std::span<const SchemaArgument> given_arguments(const Schema& schema) {
  const std::span<const SchemaArgument> all = schema.arguments;
  const bool is_method = !all.empty() && all.front().type->is(TypeKind::Class);
  return is_method ? all.subspan(1) : all;
}

const SchemaArgument* find_argument(std::span<const SchemaArgument> arguments, std::string_view name) {
  const auto named =
      std::find_if(arguments.begin(), arguments.end(), [&](const auto& a) { return a.name == name; });
  if (named != arguments.end()) return &*named;
  constexpr std::string_view kNumpyName = "arr_";
  const std::optional<size_t> position =
      position_of(name.starts_with(kNumpyName) ? name.substr(kNumpyName.size()) : name);
  return position && *position < arguments.size() ? &arguments[*position] : nullptr;
}

}  // namespace

jit::Keywords arguments_of_arrays(const Schema& schema, const NamedValues& arrays) {
  const std::span<const SchemaArgument> arguments = given_arguments(schema);
  const auto fail = [&](const std::string& why) {
    std::vector<std::string> expected, given;
    for (const SchemaArgument& argument : arguments)
      expected.push_back(fmt::format("{} ({})", argument.name, argument.type->str()));
    for (const auto& [name, value] : arrays)
      given.push_back(fmt::format("'{}' ({})", printable(name), describe(value)));
    throw_error(ErrorKind::Type,
                fmt::format("{}: {}\n  arguments: {}\n  arrays:    {}",
                            schema.name.substr(schema.name.find_last_of(".:") + 1), why,
                            expected.empty() ? "none" : fmt::format("{}", fmt::join(expected, ", ")),
                            given.empty() ? "none" : fmt::format("{}", fmt::join(given, ", "))));
  };
  const Node root = tree_of(arrays);
  std::map<const SchemaArgument*, const Node*> found;
  for (const auto& [name, node] : root.parts) {
    const SchemaArgument* argument = find_argument(arguments, name);
    if (!argument) fail(fmt::format("the array '{}' is no argument", printable(node.name)));
    if (!found.emplace(argument, &node).second)
      fail(fmt::format("the argument '{}' is given twice", argument->name));
  }
  jit::Keywords keywords;
  for (const SchemaArgument& argument : arguments) {
    if (const auto given = found.find(&argument); given != found.end()) {
      keywords.emplace_back(argument.name,
                            ArgumentReader(schema, argument).read(*given->second, argument.type));
    } else if (!argument.default_value && argument.type->is(TypeKind::Optional)) {
      keywords.emplace_back(argument.name, IValue());
    } else if (!argument.default_value) {
      fail(fmt::format("the argument '{}' ({}) is missing", argument.name, argument.type->str()));
    }
  }
  return keywords;
}

namespace {

void add_arrays(const std::string& name, const IValue& value, NamedValues& arrays) {
  const auto part = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
  switch (value.tag()) {
    case IValue::Tag::None: return;
    case IValue::Tag::List:
    case IValue::Tag::Tuple: {
      const std::vector<IValue>& elements = value.elements();
      const TypePtr type = value.is_list() ? nullptr : value.to_tuple()->type;
      for (size_t i = 0; i < elements.size(); ++i)
        add_arrays(part(type ? type->fields()[i] : std::to_string(i)), elements[i], arrays);
      return;
    }
    case IValue::Tag::Dict:
      for (const auto& [key, element] : value.to_dict()->items()) {
        if (!key.is_string() && !key.is_int())
          throw_error(ErrorKind::Type, fmt::format("{}: a dictionary with keys of type {} has no arrays",
                                                   name, key.type()->str()));
        add_arrays(part(key.is_string() ? key.to_string() : key.repr()), element, arrays);
      }
      return;
    case IValue::Tag::Device: arrays.emplace_back(name, value.to_device().str()); return;
    case IValue::Tag::Enum: add_arrays(name, value.to_enum()->value, arrays); return;
    case IValue::Tag::Object:
    case IValue::Tag::Future:
    case IValue::Tag::Function:
      throw_error(ErrorKind::Type,
                  fmt::format("{}: a value of type {} has no array", name, value.type()->str()));
    default: arrays.emplace_back(name, value);
  }
}

}  // namespace

NamedValues arrays_of_value(const std::string& name, const IValue& value) {
  NamedValues arrays;
  add_arrays(name, value, arrays);
  return arrays;
}

}  // namespace weft::io
