#include "serve/api_error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::serve {
namespace {

using Ordered = nlohmann::ordered_json;

const char* type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

ApiError::ApiError(int status, std::string message, std::string parameter, std::string code)
    : status(status), message(std::move(message)), parameter(std::move(parameter)), code(std::move(code)) {}

std::string ApiError::json() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Ordered() : Ordered(text); };
  return Ordered{{"error",
                  {{"message", message},
                   {"type", type_of(status)},
                   {"param", or_null(parameter)},
                   {"code", or_null(code)}}}}
      .dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

void refuse_parameter(const std::string& parameter, const std::string& why) {
  throw ApiError(400, fmt::format("'{}' {}", parameter, why), parameter);
}

}  // namespace weft::serve
