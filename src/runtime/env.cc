#include "weft/env.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>

#include "runtime/log.h"
#include "weft/error.h"

namespace weft::env {
namespace {

const Variable* find(std::string_view name) {
  for (const Variable& variable : kVariables) {
    if (name == variable.name) return &variable;
  }
  return nullptr;
}

}  // namespace

std::string get(std::string_view name) {
  static std::once_flag once;
  std::call_once(once, warn_unknown);
  const Variable* variable = find(name);
  WEFT_ASSERT(variable != nullptr,
              fmt::format("environment variable {} is not declared in weft/env.h", name));
  const char* value = std::getenv(variable->name);
  return value != nullptr && *value != '\0' ? value : variable->default_value;
}

bool flag(std::string_view name) {
  std::string value = get(name);
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"", "0", "false", "no", "off"}) {
    if (value == no) return false;
  }
  throw_error(ErrorKind::Value, fmt::format("{}: expected 0 or 1, got '{}'", name, value));
}

int64_t integer(std::string_view name) {
  const std::string value = get(name);
  int64_t number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  WEFT_CHECK(error == std::errc() && end == value.data() + value.size() && number >= 0,
             fmt::format("{}: expected a whole number >= 0, got '{}'", name, value));
  return number;
}

std::vector<std::string> unknown() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("WEFT_") && !name.starts_with("WEFT_TEST_") && find(name) == nullptr) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void warn_unknown() {
  for (const std::string& name : unknown()) {
    log::warning(
        fmt::format("unknown environment variable {} (`weft env` lists those that weft reads)", name));
  }
}

}  // namespace weft::env
