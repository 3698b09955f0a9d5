// Refusals and failures, as OpenAI's clients expect them.
#pragma once

#include <exception>
#include <string>

namespace weft::serve {

// An answer that says what was wrong.
struct ApiError : std::exception {
  ApiError(int status, std::string message, std::string parameter = "", std::string code = "");
  const char* what() const noexcept override { return message.c_str(); }
  std::string json() const;  // {"error": {"message", "type", "param", "code"}}
  int status;                // of HTTP; the type follows from it
  std::string message, parameter, code;
};
// ApiError 400: "'parameter' why".
[[noreturn]] void refuse_parameter(const std::string& parameter, const std::string& why);

}  // namespace weft::serve
