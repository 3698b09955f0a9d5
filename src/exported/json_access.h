// Reading the fields of a serialized program: each is there and of its type, or a ValueError says where it is not.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

#include "core/printable.h"
#include "io/json.h"
#include "weft/error.h"

namespace weft::exported {

[[noreturn]] inline void fail(const std::string& why) {
  throw_error(ErrorKind::Value, "exported program: " + why);
}

inline const Json& field(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) fail(fmt::format("{} has no '{}'", where, key));
  return *found;
}
inline const Json& list(const Json& object, const char* key, const std::string& where) {
  const Json& value = field(object, key, where);
  if (!value.is_array()) fail(fmt::format("{}: '{}' is no list", where, key));
  return value;
}
inline const Json& items(const Json& value, const std::string& where) {
  if (!value.is_array()) fail(where + " is no list");
  return value;
}
inline const std::string& text(const Json& value, const std::string& where) {
  if (!value.is_string()) fail(where + " is no text");
  return value.get_ref<const std::string&>();
}
inline const std::string& text(const Json& object, const char* key, const std::string& where) {
  return text(field(object, key, where), fmt::format("{}: '{}'", where, key));
}
inline int64_t integer(const Json& value, const std::string& where) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
    fail(where + " is no 64-bit integer");
  return value.get<int64_t>();
}
inline bool truth(const Json& value, const std::string& where) {
  if (!value.is_boolean()) fail(where + " is no truth value");
  return value.get<bool>();
}
// A number; the schema writes infinities and NaN as words.
inline double real(const Json& value, const std::string& where) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  fail(where + " is no number");
}
// Which of a union's fields is set, and its value: {"as_int": 3}.
struct Choice {
  const std::string& kind;
  const Json& value;
};
inline Choice choice(const Json& object, const std::string& where) {
  if (!object.is_object() || object.size() != 1) fail(where + " names not one kind of value");
  return {object.begin().key(), object.begin().value()};
}

}  // namespace weft::exported
