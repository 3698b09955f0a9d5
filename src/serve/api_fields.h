// Fields of a JSON body, each checked.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "io/json.h"
#include "serve/api_error.h"

namespace weft::serve {

// ApiError 400 that names the field: `where` stands before it ("messages[2].").
class Fields {
 public:
  explicit Fields(const OrderedJson& object, std::string where = "")
      : object_(object), where_(std::move(where)) {}

  // Null where it is not there or null.
  const OrderedJson* find(const char* name) const {
    read_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  bool flag(const char* name, bool otherwise) const {
    const OrderedJson* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(name, "must be true or false");
    return value->get<bool>();
  }
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most) const {
    const OrderedJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool is_large = value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX;
    if (!value->is_number_integer() || is_large || value->get<int64_t>() < least ||
        value->get<int64_t>() > most)
      refuse(name, most == INT64_MAX ? fmt::format("must be an integer of at least {}", least)
                                     : fmt::format("must be an integer between {} and {}", least, most));
    return value->get<int64_t>();
  }
  double number(const char* name, double otherwise, double least, double most) const {
    const OrderedJson* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
      refuse(name, fmt::format("must be a number between {} and {}", least, most));
    return value->get<double>();
  }
  std::string text(const char* name) const {
    const OrderedJson* value = find(name);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(name, "must be a string");
    return value->get<std::string>();
  }
  // Refuses by name what was not asked for and is not `irrelevant` to an answer; what is empty asks for
  // nothing.
  void refuse_others(const std::set<std::string_view>& irrelevant) const {
    for (const auto& [name, value] : object_.items())
      if (!read_.contains(name) && !irrelevant.contains(name) && !value.empty() && value != "")
        refuse(name.c_str(), "is not supported");
  }
  [[noreturn]] void refuse(const char* name, const std::string& why) const {
    refuse_parameter(where_ + name, why);
  }

 private:
  const OrderedJson& object_;
  std::string where_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace weft::serve
