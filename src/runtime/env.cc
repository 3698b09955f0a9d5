#include "weft/env.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>

#include "runtime/log.h"
#include "runtime/process.h"
#include "weft/error.h"

namespace weft::env {
namespace {

constexpr std::array kYes = {"1", "true", "yes", "on"}, kNo = {"0", "false", "no", "off"};

const Variable* find(std::string_view name) {
  for (const Variable& variable : kVariables) {
    if (name == variable.name) return &variable;
  }
  return nullptr;
}

const Variable& require(std::string_view name) {
  const Variable* variable = find(name);
  WEFT_ASSERT(variable != nullptr,
              fmt::format("environment variable {} is not declared in weft/env.h", name));
  return *variable;
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

bool is_one_of(std::span<const char* const> words, std::string_view value) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return std::equal(word.begin(), word.end(), value.begin(), value.end(),
                      [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  });
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string choice_problem(const Variable& variable, std::string_view value) {
  const std::vector<std::string> choices = words(variable.choices);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return "";
  return fmt::format("expected {} or {}", fmt::join(choices.begin(), choices.end() - 1, ", "),
                     choices.back());
}

std::string number_problem(const Variable& variable, std::string_view value) {
  const std::optional<int64_t> number = parse_number(value);
  if (number && *number <= variable.largest) return "";
  return fmt::format("expected a whole number from 0 to {}", variable.largest);
}

std::string program_problem(std::string_view value) {
  const std::vector<std::string> command = words(value);
  if (!command.empty() && !runtime::find_program(command.front()).empty()) return "";
  return "expected a program";
}

std::string path_problem(const Variable& variable, std::string_view value) {
  struct stat status;
  const bool exists = ::stat(std::string(value).c_str(), &status) == 0;
  if (variable.kind == Kind::Folder) return exists && !S_ISDIR(status.st_mode) ? "expected a folder" : "";
  return exists && S_ISREG(status.st_mode) ? "" : "expected a file that is there";
}

// Is a value of the kind that cannot be right whatever the files of this machine?
bool is_text_wrong(const Variable& variable, std::string_view value) {
  const bool is_syntax =
      variable.kind == Kind::Flag || variable.kind == Kind::Number || variable.kind == Kind::Choice;
  return is_syntax && !problem(variable, value).empty();
}

// Each is said once.
void warn(const Variable& variable, std::string_view value, std::string_view why, std::string_view instead) {
  static std::mutex mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  const std::string message = fmt::format("{}: {}, got '{}'{}", variable.name, why, shown(value), instead);
  const std::lock_guard lock(mutex);
  if (said.insert(message).second) log::warning(message);
}

void warn_of_text(const Variable& variable, std::string_view value) {
  const std::string fallback = variable.default_value;
  warn(variable, value, problem(variable, value),
       fallback.empty() ? "; taken as not set" : fmt::format("; taken as {}", fallback));
}

void check_value(const Variable& variable) {
  const char* value = std::getenv(variable.name);
  if (value == nullptr || *value == '\0') return;
  if (is_text_wrong(variable, value)) return warn_of_text(variable, value);
  if (const std::string why = problem(variable, value); !why.empty()) warn(variable, value, why, "");
}

}  // namespace

std::string problem(const Variable& variable, std::string_view value) {
  switch (variable.kind) {
    case Kind::Flag: return is_one_of(kYes, value) || is_one_of(kNo, value) ? "" : "expected 0 or 1";
    case Kind::Number: return number_problem(variable, value);
    case Kind::Choice: return choice_problem(variable, value);
    case Kind::Channels: return log::channels_problem(value);
    case Kind::Program: return program_problem(value);
    case Kind::File:
    case Kind::Folder: return path_problem(variable, value);
    case Kind::Text: break;
  }
  return "";
}

std::string shown(std::string_view value) {
  constexpr size_t kLongest = 200;
  std::string text;
  for (const char c : value.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      text += c;
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return value.size() > kLongest ? text + "…" : text;
}

std::string get(std::string_view name) {
  check();
  const Variable& variable = require(name);
  const char* value = std::getenv(variable.name);
  if (value == nullptr || *value == '\0') return variable.default_value;
  if (!is_text_wrong(variable, value)) return value;
  warn_of_text(variable, value);  // of one that was set since the check
  return variable.default_value;
}

bool flag(std::string_view name) {
  WEFT_ASSERT(require(name).kind == Kind::Flag, fmt::format("{} is no flag", name));
  return is_one_of(kYes, get(name));
}

std::optional<int64_t> number(std::string_view name) {
  WEFT_ASSERT(require(name).kind == Kind::Number, fmt::format("{} is no number", name));
  return parse_number(get(name));
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

void check() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& name : unknown()) {
      log::warning(fmt::format("unknown environment variable {} (`weft env` lists those that weft reads)",
                               shown(name)));
    }
    for (const Variable& variable : kVariables) check_value(variable);
  });
}

}  // namespace weft::env
