#include "ops/schema.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

namespace weft::ops {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas that stand outside brackets.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trim(text.substr(start, i - start));
      if (!part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (text[i] == '[' || text[i] == '(') {
      ++depth;
    } else if (text[i] == ']' || text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

Param::Type parse_type(std::string_view text) {
  using Type = Param::Type;
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"Tensor", Type::Tensor}, {"Tensor[]", Type::TensorList}, {"bool", Type::Bool},
      {"int", Type::Int},       {"float", Type::Float},         {"Scalar", Type::Scalar},
      {"str", Type::String},    {"dtype", Type::DType},         {"device", Type::Device},
      {"int[]", Type::IntList}, {"int|int[]", Type::IntList},   {"int[]|str", Type::IntList}};
  for (const auto& [name, type] : kTypes) {
    if (name == text) return type;
  }
  WEFT_ASSERT(false, fmt::format("schema: unknown type '{}'", text));
  return Type::Tensor;
}

double parse_number(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  WEFT_ASSERT(result.ec == std::errc() && result.ptr == text.data() + text.size(),
              fmt::format("schema: '{}' is not a number", text));
  return value;
}

Attr parse_default(Param::Type type, std::string_view text) {
  if (text == "None") return std::monostate{};
  switch (type) {
    case Param::Type::Bool: return text == "True";
    case Param::Type::Int: return Sym(static_cast<int64_t>(parse_number(text)));
    case Param::Type::Float: return parse_number(text);
    case Param::Type::Scalar:
      if (text == "True" || text == "False") return Scalar(text == "True");
      if (text.find_first_of(".en") == std::string_view::npos)
        return Scalar(static_cast<int64_t>(parse_number(text)));
      return Scalar(parse_number(text));
    case Param::Type::String: return std::string(text.substr(1, text.size() - 2));
    case Param::Type::DType: return dtype_from_name(text).value();
    case Param::Type::Device: return Device::parse(text);
    case Param::Type::IntList: {
      if (!text.starts_with('[')) return SymShape{Sym(static_cast<int64_t>(parse_number(text)))};
      SymShape values;
      for (std::string_view item : split(text.substr(1, text.size() - 2)))
        values.push_back(Sym(static_cast<int64_t>(parse_number(item))));
      return values;
    }
    case Param::Type::Tensor:
    case Param::Type::TensorList: break;
  }
  WEFT_ASSERT(false, fmt::format("schema: default '{}' for a tensor", text));
  return {};
}

Param parse_param(std::string_view text) {
  Param param;
  const size_t equals = text.find('=');
  std::string_view declaration = trim(text.substr(0, equals));
  const size_t space = declaration.rfind(' ');
  WEFT_ASSERT(space != std::string_view::npos, fmt::format("schema: parameter '{}' has no type", text));
  param.name = std::string(declaration.substr(space + 1));
  std::string_view type = trim(declaration.substr(0, space));
  if (type.ends_with('?')) {
    param.optional = true;
    type.remove_suffix(1);
  }
  if (type.starts_with("Tensor[") && type != "Tensor[]") {
    param.list_length = static_cast<int64_t>(parse_number(type.substr(7, type.size() - 8)));
    type = "Tensor[]";
  }
  param.type = parse_type(type);
  if (equals != std::string_view::npos) {
    param.has_default = true;
    param.default_value = parse_default(param.type, trim(text.substr(equals + 1)));
  }
  return param;
}

// Flattened operands must tell which parameter each belongs to.
void check_open_lists(const std::vector<Param>& params, std::string_view text) {
  int64_t open = 0, optional = 0;
  for (const Param& param : params) {
    open += param.num_operands() < 0;
    optional += param.type == Param::Type::Tensor && param.optional;
  }
  WEFT_ASSERT(
      open <= 1 && (open == 0 || optional == 0),
      fmt::format("schema: a list of any length beside another or beside an optional tensor: '{}'", text));
}

}  // namespace

Schema parse_schema(std::string_view text) {
  const size_t arrow = text.find("->");
  WEFT_ASSERT(text.starts_with('(') && arrow != std::string_view::npos,
              fmt::format("schema: malformed '{}'", text));
  const size_t close = text.rfind(')', arrow);
  WEFT_ASSERT(close != std::string_view::npos, fmt::format("schema: malformed '{}'", text));
  Schema schema;
  bool keyword_only = false;
  for (std::string_view part : split(text.substr(1, close - 1))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    schema.params.push_back(parse_param(part));
    schema.params.back().keyword_only = keyword_only;
  }
  check_open_lists(schema.params, text);
  const std::string_view result = trim(text.substr(arrow + 2));
  if (result.starts_with('(')) {
    schema.num_outputs = static_cast<int>(split(result.substr(1, result.size() - 2)).size());
  } else if (result == "()") {
    schema.num_outputs = 0;
  } else {
    schema.num_outputs = result.starts_with("Tensor[]") ? -1 : 1;
  }
  return schema;
}

}  // namespace weft::ops
