#include "models/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/printable.h"
#include "core/suggest.h"
#include "weft/error.h"

namespace weft::models {
namespace {

bool is_int64(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
}

// A value for a message.
std::string shown(const Json& value) {
  constexpr size_t kLongest = 100;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return printable(text);
}

bool is_one_of(const Json& value, const char* values) {
  std::istringstream words(values);
  for (std::string word; words >> word;)
    if (value == Json::parse(word)) return true;
  return false;
}

}  // namespace

JsonFields::JsonFields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  WEFT_CHECK(object.is_object(), fmt::format("{}: not a JSON object", where_));
}

std::string JsonFields::wrong(const char* key, const char* expected, const Json& value) const {
  return fmt::format("{}: '{}' must be {}, got {}", where_, key, expected, printable(value.dump()));
}

bool JsonFields::has(const char* key) const {
  asked_for_.insert(key);
  return object_.contains(key) && !object_[key].is_null();
}

const Json& JsonFields::get(const char* key) const {
  WEFT_CHECK(has(key), fmt::format("{}: no '{}'", where_, key));
  understood_.insert(key);
  return object_[key];
}

int64_t JsonFields::integer(const char* key, std::optional<int64_t> fallback) const {
  if (!has(key) && fallback) return *fallback;
  const Json& value = get(key);
  WEFT_CHECK(is_int64(value), wrong(key, "an integer", value));
  return value.get<int64_t>();
}

double JsonFields::real(const char* key, std::optional<double> fallback) const {
  if (!has(key) && fallback) return *fallback;
  const Json& value = get(key);
  WEFT_CHECK(value.is_number(), wrong(key, "a number", value));
  return value.get<double>();
}

bool JsonFields::boolean(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  WEFT_CHECK(get(key).is_boolean(), wrong(key, "true or false", get(key)));
  return get(key).get<bool>();
}

std::string JsonFields::text(const char* key, const std::string& fallback) const {
  if (!has(key)) return fallback;
  WEFT_CHECK(get(key).is_string(), wrong(key, "a text", get(key)));
  return get(key).get<std::string>();
}

std::vector<std::string> JsonFields::texts(const char* key) const {
  const Json& value = get(key);
  WEFT_CHECK(value.is_array() &&
                 std::all_of(value.begin(), value.end(), [](const Json& entry) { return entry.is_string(); }),
             wrong(key, "a list of texts", value));
  return value.get<std::vector<std::string>>();
}

std::vector<int64_t> JsonFields::integers(const char* key) const {
  const Json& value = get(key);
  WEFT_CHECK(value.is_array() && std::all_of(value.begin(), value.end(), is_int64),
             wrong(key, "a list of integers", value));
  return value.get<std::vector<int64_t>>();
}

std::vector<double> JsonFields::reals(const char* key) const {
  const Json& value = get(key);
  WEFT_CHECK(value.is_array() &&
                 std::all_of(value.begin(), value.end(), [](const Json& entry) { return entry.is_number(); }),
             wrong(key, "a list of numbers", value));
  return value.get<std::vector<double>>();
}

std::vector<int64_t> JsonFields::token_ids(const char* key) const {
  if (!has(key)) return {};
  const Json& value = get(key);
  std::vector<int64_t> ids;
  const auto add = [&](const Json& id) {
    WEFT_CHECK(is_int64(id), wrong(key, "token ids", value));
    ids.push_back(id.get<int64_t>());
  };
  if (value.is_array())
    for (const Json& id : value) add(id);
  else
    add(value);
  return ids;
}

void JsonFields::check_value(const IrrelevantKey& key) const {
  const Json& value = get(key.name);
  WEFT_CHECK(*key.values == '\0' || is_one_of(value, key.values),
             fmt::format("{}: '{}' with the value {} is not supported: {}", where_, key.name, shown(value),
                         key.why));
}

void JsonFields::check_all_understood(std::span<const IrrelevantKey> irrelevant) const {
  std::vector<std::string> names(asked_for_.begin(), asked_for_.end());
  for (const IrrelevantKey& key : irrelevant) names.emplace_back(key.name);
  for (const auto& [name, value] : object_.items()) {
    if (value.is_null() || understood_.contains(name)) continue;
    const auto known = std::find_if(irrelevant.begin(), irrelevant.end(),
                                    [&, &name = name](const IrrelevantKey& key) { return name == key.name; });
    WEFT_CHECK(known != irrelevant.end(),
               fmt::format("{}: unknown key '{}' with the value {}{}; weft leaves nothing out that a model's "
                           "files say: remove the key if it changes nothing",
                           where_, printable(name), shown(value), did_you_mean(name, names)));
    check_value(*known);
  }
}

}  // namespace weft::models
