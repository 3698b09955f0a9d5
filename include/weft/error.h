// Errors: a user error is reported with what was expected and what came; an internal error is a bug of ours.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

// What the Python side raises for an Error.
enum class ErrorKind { Value, Type, Index, NotImplemented, Runtime, Memory, Internal };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message) : std::runtime_error(std::move(message)), kind_(kind) {}
  ErrorKind kind() const { return kind_; }
  // The same error with one more line of context, e.g. "at model.py:42".
  Error with_note(std::string_view note) const {
    return Error(kind_, std::string(what()) + "\n  " + std::string(note));
  }

 private:
  ErrorKind kind_;
};

[[noreturn]] void throw_error(ErrorKind kind, std::string message);
[[noreturn]] void throw_internal(const char* file, int line, const char* condition, std::string message);

}  // namespace weft

// User errors. The message is any expression convertible to std::string (fmt::format in .cc files).
#define WEFT_CHECK(condition, message) \
  ((condition) ? (void)0 : ::weft::throw_error(::weft::ErrorKind::Value, (message)))
#define WEFT_CHECK_TYPE(condition, message) \
  ((condition) ? (void)0 : ::weft::throw_error(::weft::ErrorKind::Type, (message)))
#define WEFT_CHECK_INDEX(condition, message) \
  ((condition) ? (void)0 : ::weft::throw_error(::weft::ErrorKind::Index, (message)))
// Internal errors: these never depend on what a user passes.
#define WEFT_ASSERT(condition, message) \
  ((condition) ? (void)0 : ::weft::throw_internal(__FILE_NAME__, __LINE__, #condition, (message)))
