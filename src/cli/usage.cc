#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/printable.h"
#include "core/suggest.h"
#include "weft/distributed.h"

namespace weft::cli {
namespace {

constexpr int kUsageStatus = 2;

template <class Number>
std::optional<Number> parsed(const std::string& text) {
  Number value{};
  const char *begin = text.data(), *end = begin + text.size();
  const auto [stop, status] = std::from_chars(begin, end, value);
  if (text.empty() || stop != end || status != std::errc()) return std::nullopt;
  return value;
}

std::string expected(const std::string& what, const std::string& got) {
  return fmt::format("expected {}, got '{}'", what, printable(got));
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// The command that was being given, and its name: "bench llm".
std::pair<const CLI::App*, std::string> innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string name;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    name += (name.empty() ? "" : " ") + command->get_name();
  }
  return {command, name};
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_fnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  return names;
}

// What was given that nothing takes; "" where there is no such thing.
std::string unknown_argument(const CLI::App& app, const CLI::App& command) {
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return "";
  const std::vector<std::string> commands = command_names(command);
  if (!commands.empty() && !rest.front().starts_with("-"))
    return fmt::format("unknown command '{}'{}; the commands are {}", printable(rest.front()),
                       did_you_mean(rest.front(), commands), listed(commands));
  const auto option =
      std::find_if(rest.begin(), rest.end(), [](const std::string& text) { return text.starts_with("-"); });
  const std::string& text = option == rest.end() ? rest.front() : *option;
  const std::string name = text.substr(0, text.find('='));
  if (text.starts_with("-"))
    return fmt::format("unknown option '{}'{}", printable(name), did_you_mean(name, option_names(command)));
  return fmt::format("unexpected argument '{}'", printable(text));
}

std::string missing_argument(const CLI::App& command, const std::string& message) {
  const std::vector<std::string> commands = command_names(command);
  if (message.starts_with("A subcommand")) return fmt::format("expected a command: {}", listed(commands));
  const std::string name = message.substr(0, message.find(' '));
  return fmt::format("{} '{}' is missing", name.starts_with("-") ? "the option" : "the argument", name);
}

std::string description_of(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (kind == CLI::ExitCodes::RequiredError || kind == CLI::ExitCodes::ExtrasError)
    if (const std::string text = unknown_argument(app, command); !text.empty()) return text;
  if (kind == CLI::ExitCodes::RequiredError) return missing_argument(command, message);
  const std::string option = message.substr(0, message.find(": "));
  if (kind == CLI::ExitCodes::ArgumentMismatch && message.find("required but received") != std::string::npos)
    return fmt::format("{}: given more than once", option);
  if (kind == CLI::ExitCodes::ArgumentMismatch && message.find("required") != std::string::npos)
    return fmt::format("{}: expected a value", option);
  return message;
}

}  // namespace

int fail(const std::string& message, int status) {
  std::string text;
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    text += printable(std::string_view(message).substr(begin, end - begin), 4000) + "\n";
    begin = end + 1;
  }
  // Ranks mostly fail for one reason, which the first of them says; then it ends the others.
  const auto launched = distributed::launch();
  if (launched && launched->rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::string rank = distributed::rank_name();
  const bool is_named = rank.empty() || message.find(rank) != std::string::npos;
  std::fprintf(stderr, "weft: %s%s", is_named ? "" : (rank + ": ").c_str(), text.c_str());
  if (!rank.empty()) distributed::abort_process_group(status);
  return status;
}

int fail(CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const auto [command, name] = innermost(app);
  std::string text = description_of(app, *command, error);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return fail(fmt::format("{}{} (weft{} --help)", name.empty() ? "" : name + ": ", text,
                          name.empty() ? "" : " " + name),
              kUsageStatus);
}

CLI::Validator integer_in(int64_t least, int64_t most) {
  const std::string range =
      least == 0 && most == INT64_MAX ? "of at least 0" : fmt::format("between {} and {}", least, most);
  return CLI::Validator(
      [=](const std::string& text) {
        const auto value = parsed<int64_t>(text);
        return value && *value >= least && *value <= most ? "" : expected("an integer " + range, text);
      },
      "");
}

CLI::Validator seed() {
  return CLI::Validator(
      [](const std::string& text) {
        return parsed<uint64_t>(text) ? "" : expected("an integer between 0 and 2^64 - 1", text);
      },
      "");
}

CLI::Validator number_in(double least, Bound below, double most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        const auto value = parsed<double>(text);
        if (value && std::isfinite(*value) &&
            (*value > least || (*value == least && below == Bound::Closed)) && *value <= most)
          return "";
        const std::string above =
            below == Bound::Open ? fmt::format("above {}", least) : fmt::format("of at least {}", least);
        return expected(
            std::isinf(most) ? "a number " + above : fmt::format("a number {} and at most {}", above, most),
            text);
      },
      "");
}

CLI::Validator number_from(double least, Bound below) { return number_in(least, below, INFINITY); }

CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        return expected(listed(names), text) + did_you_mean(text, names);
      },
      "");
}

CLI::Validator one_of_or_file(std::vector<std::string> names, const std::string& file) {
  return CLI::Validator(
      [names = std::move(names), file](const std::string& text) -> std::string {
        std::error_code ignored;
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        if (std::filesystem::is_regular_file(text, ignored)) return "";
        return expected(fmt::format("{}, or {}", listed(names), file), text) + did_you_mean(text, names);
      },
      "");
}

CLI::Validator ending_in(std::vector<std::string> endings) {
  return CLI::Validator(
      [endings = std::move(endings)](const std::string& text) -> std::string {
        const bool ends = std::any_of(endings.begin(), endings.end(),
                                      [&](const std::string& end) { return text.ends_with(end); });
        return ends ? "" : expected(fmt::format("a file that ends in {}", listed(endings)), text);
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "expected a text, got ''" : ""; },
                        "");
}

std::vector<std::string> weight_dtypes() { return {"float32", "bfloat16", "float16"}; }

std::vector<std::string> cache_dtypes() {
  std::vector<std::string> dtypes = weight_dtypes();
  dtypes.emplace_back("int8");
  return dtypes;
}
std::vector<std::string> quantization_schemes() {
  return {"int8", "int4-g32", "int4-g64", "int4-g128", "int4-g256"};
}

}  // namespace weft::cli
