#include "serve/merged_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/printable.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr const char* kSchemaTypes[] = {"object", "array", "string", "integer", "number", "boolean", "null"};

// Keywords by the type whose values they are about; "": any.
const std::map<std::string_view, std::string_view>& schema_keywords() {
  static const auto& keywords =
      *new std::map<std::string_view, std::string_view>{{"type", ""},
                                                        {"enum", ""},
                                                        {"const", ""},
                                                        {"anyOf", ""},
                                                        {"oneOf", ""},
                                                        {"allOf", ""},
                                                        {"$ref", ""},
                                                        {"nullable", ""},
                                                        {"properties", "object"},
                                                        {"required", "object"},
                                                        {"additionalProperties", "object"},
                                                        {"minProperties", "object"},
                                                        {"maxProperties", "object"},
                                                        {"items", "array"},
                                                        {"prefixItems", "array"},
                                                        {"minItems", "array"},
                                                        {"maxItems", "array"},
                                                        {"uniqueItems", "array"},
                                                        {"minLength", "string"},
                                                        {"maxLength", "string"},
                                                        {"pattern", "string"},
                                                        {"format", "string"},
                                                        {"minimum", "number"},
                                                        {"maximum", "number"},
                                                        {"exclusiveMinimum", "number"},
                                                        {"exclusiveMaximum", "number"}};
  return keywords;
}

OrderedJson both_of(const OrderedJson& left, const OrderedJson& right) {
  OrderedJson parts = OrderedJson::array();
  parts.push_back(left), parts.push_back(right);
  return OrderedJson::object({{"allOf", std::move(parts)}});
}

// What the left one says, with what the right one says of the same keyword.
OrderedJson merged_keyword(const OrderedJson& left, const OrderedJson& right, const std::string& keyword,
                           const std::string& where) {
  if (left == right) return left;
  const bool are_numbers = left.is_number() && right.is_number();
  if (are_numbers && (keyword.starts_with("min") || keyword == "exclusiveMinimum"))
    return std::max(left, right);
  if (are_numbers && (keyword.starts_with("max") || keyword == "exclusiveMaximum"))
    return std::min(left, right);
  OrderedJson result = left;
  if (keyword == "properties" && left.is_object() && right.is_object()) {
    for (const auto& [name, value] : right.items()) {
      const bool says_other = result.contains(name) && result[name] != value;
      result[name] = says_other ? both_of(result[name], value) : value;
    }
    return result;
  }
  if (keyword == "required" && left.is_array() && right.is_array()) {
    for (const OrderedJson& name : right)
      if (std::find(left.begin(), left.end(), name) == left.end()) result.push_back(name);
    return result;
  }
  if (keyword == "enum" && left.is_array() && right.is_array()) {
    result = OrderedJson::array();
    for (const OrderedJson& value : left)
      if (std::find(right.begin(), right.end(), value) != right.end()) result.push_back(value);
    if (!result.empty()) return result;
  }
  if (keyword == "items") return both_of(left, right);
  if (keyword == "nullable") return false;
  if (keyword == "additionalProperties") {
    if (left == false || right == true) return left;
    if (right == false || left == true) return right;
  }
  refuse_keyword(where, keyword, "says two things that weft does not join");
}

// Where one of the two has no others than its own properties, those of the other are none of them.
void check_closed(const OrderedJson& closed, const OrderedJson& other, const std::string& where) {
  if (closed.value("additionalProperties", OrderedJson(true)) != false) return;
  const OrderedJson own = closed.value("properties", OrderedJson::object());
  const OrderedJson others = other.value("properties", OrderedJson::object());
  for (const auto& [name, value] : others.items())
    if (!own.contains(name))
      refuse_keyword(where, "additionalProperties",
                     fmt::format("leaves out the property '{}'", printable(name)));
}

}  // namespace

void refuse_keyword(const std::string& where, std::string_view keyword, const std::string& why) {
  throw_error(ErrorKind::Value, fmt::format("the JSON Schema's '{}'{} {}", printable(keyword),
                                            where.empty() ? "" : " at " + printable(where), why));
}

bool is_annotation(std::string_view keyword) {
  static const auto& annotations = *new std::set<std::string_view>{
      "$defs",   "definitions", "title",    "description", "default",  "examples",  "example",
      "$schema", "$id",         "$comment", "deprecated",  "readOnly", "writeOnly", "discriminator"};
  return annotations.contains(keyword) || keyword.starts_with("x-");
}

void check_schema_keywords(const OrderedJson& schema, const std::string& where) {
  for (const auto& [keyword, value] : schema.items()) {
    if (is_annotation(keyword)) continue;
    if (!schema_keywords().contains(keyword)) refuse_keyword(where, keyword, "is not supported");
    if (keyword == "uniqueItems" && value != false) refuse_keyword(where, keyword, "must be false");
  }
}

bool says_more_than(const OrderedJson& schema, const std::set<std::string_view>& keywords) {
  for (const auto& [keyword, value] : schema.items())
    if (!is_annotation(keyword) && !keywords.contains(keyword)) return true;
  return false;
}

std::vector<std::string> types_of(const OrderedJson& schema, const std::string& where) {
  const auto type = schema.find("type");
  if (type == schema.end()) {
    for (const auto& [keyword, value] : schema.items())
      if (const auto known = schema_keywords().find(keyword);
          known != schema_keywords().end() && !known->second.empty())
        return {std::string(known->second)};
    return {"any"};
  }
  std::vector<std::string> types;
  for (const OrderedJson& name : type->is_array() ? *type : OrderedJson::array({*type})) {
    if (std::find(std::begin(kSchemaTypes), std::end(kSchemaTypes), name) == std::end(kSchemaTypes))
      refuse_keyword(where, "type",
                     "must be object, array, string, integer, number, boolean or null, or a list of these");
    types.push_back(name.get<std::string>());
  }
  if (types.empty()) refuse_keyword(where, "type", "must not be empty");
  return types;
}

bool has_type(const OrderedJson& value, std::string_view type) {
  if (type == "any") return true;
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return type == "number" ? value.is_number() : value.is_number_integer();
}

OrderedJson merged_schema(const OrderedJson& left, const OrderedJson& right, const std::string& where) {
  check_closed(left, right, where);
  check_closed(right, left, where);
  OrderedJson result = left;
  for (const auto& [keyword, value] : right.items()) {
    if (is_annotation(keyword)) continue;
    if (!result.contains(keyword)) {
      result[keyword] = value;
      continue;
    }
    if (keyword != "type") {
      result[keyword] = merged_keyword(result[keyword], value, keyword, where);
      continue;
    }
    OrderedJson both = OrderedJson::array();
    const std::vector<std::string> others = types_of(right, where);
    const auto has = [](const std::vector<std::string>& list, std::string_view name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    const std::vector<std::string> own = types_of(left, where);
    for (const char* type : kSchemaTypes) {
      const auto allows = [&](const std::vector<std::string>& list) {
        return has(list, type) || (std::string_view(type) == "integer" && has(list, "number"));
      };
      const bool is_needless =
          std::string_view(type) == "integer" && has(own, "number") && has(others, "number");
      if (allows(own) && allows(others) && !is_needless) both.push_back(type);
    }
    if (both.empty()) refuse_keyword(where, "type", "says two things that exclude each other");
    result["type"] = both;
  }
  return result;
}

}  // namespace weft::serve
