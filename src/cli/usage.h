// What the command's options take, and what a wrong call is answered with: one line, status 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::cli {

// Arguments that do not belong together. The message begins with the command.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "weft: MESSAGE" on stderr, without control characters of the text; `status`.
int fail(const std::string& message, int status);
// For what parsing the arguments threw: --help and --version are printed, with status 0.
int fail(CLI::App& app, const CLI::ParseError& error);

// Checks of an option's value.
CLI::Validator integer_in(int64_t least, int64_t most);
CLI::Validator seed();  // an integer between 0 and 2^64 - 1
// Finite; each bound belongs to the range unless it is open.
enum class Bound { Closed, Open };
CLI::Validator number_in(double least, Bound below, double most);
CLI::Validator number_from(double least, Bound below = Bound::Closed);
CLI::Validator one_of(std::vector<std::string> names);
// A file that is there, too; `file` says what it holds: "a file with a template".
CLI::Validator one_of_or_file(std::vector<std::string> names, const std::string& file);
CLI::Validator ending_in(std::vector<std::string> endings);
CLI::Validator not_empty();

// The names that options of several commands take.
std::vector<std::string> weight_dtypes();
std::vector<std::string> cache_dtypes();
std::vector<std::string> quantization_schemes();

}  // namespace weft::cli
