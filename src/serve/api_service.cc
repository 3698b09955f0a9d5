#include "serve/api_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <string_view>

#include "core/printable.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

const std::string& models_path() {
  static const std::string& path = *new std::string("/v1/models");
  return path;
}

// Takes as long for every key of the same length.
bool is_same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

// What follows the scheme's name, whose letters may be small or large. source: RFC 9110, 11.1 and 11.4.
std::string bearer_token(const std::string& authorization) {
  constexpr std::string_view kScheme = "bearer";
  const size_t end = authorization.find(' ');
  if (end != kScheme.size() ||
      !std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                  [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); }))
    return "";
  const size_t begin = authorization.find_first_not_of(' ', end);
  return begin == std::string::npos ? "" : authorization.substr(begin);
}

// source: RFC 3986, 2.1; what is no such sequence stays as it is.
std::string percent_decoded(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(digits[0])) &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

HttpResponse page_of(const std::string& html) {
  return {.body = html,
          .content_type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                       "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}}};
}

}  // namespace

HttpResponse answer(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error.json()};
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

std::string media_type(const std::string& header) {
  std::string type = header.substr(0, header.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  for (char& letter : type) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return type;
}

bool is_npz(const std::string& media_type) {
  return media_type == "application/x-npz" || media_type == "application/zip" ||
         media_type == "application/octet-stream";
}

ApiService::ApiService(ApiServiceOptions options, std::vector<std::string> actions)
    : options_(std::move(options)), actions_(std::move(actions)), started_(std::time(nullptr)) {}

HttpResponse ApiService::refusal(int status, const std::string& message) {
  return answer(ApiError(status, message));
}

void ApiService::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  try {
    route(request, exchange);
  } catch (const ApiError& error) {
    exchange->respond(answer(error));
  } catch (const Error& error) {
    const bool is_users = error.kind() == ErrorKind::Value || error.kind() == ErrorKind::Type ||
                          error.kind() == ErrorKind::Index;
    if (!is_users) log::warning(fmt::format("serve: a request ends with an error: {}", error.what()));
    exchange->respond(answer(ApiError(is_users ? 400 : 500, error.what())));
  }
}

void ApiService::route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const std::string& path = request.path;
  const std::string of_model = models_path() + "/";
  const bool is_action = std::find(actions_.begin(), actions_.end(), path) != actions_.end();
  const bool is_known = is_action || (path == "/" && page() != nullptr) || path == "/health" ||
                        path == "/metrics" || path == models_path() || path.starts_with(of_model);
  if (!is_known) throw ApiError(404, "there is nothing at this path");
  if (request.method != (is_action ? "POST" : "GET")) {
    HttpResponse response =
        answer(ApiError(405, fmt::format("this path takes {}", is_action ? "POST" : "GET")));
    response.headers.emplace_back("Allow", is_action ? "POST" : "GET, HEAD");
    return exchange->respond(std::move(response));
  }
  if (path == "/") return exchange->respond(page_of(*page()));
  if (path == "/health") return exchange->respond({.body = R"({"status":"ok"})"});
  check_key(request);
  if (is_action) return act(request, exchange);
  if (path == "/metrics")
    return exchange->respond({.body = metrics(), .content_type = "text/plain; version=0.0.4; charset=utf-8"});
  if (path == models_path())
    return exchange->respond({.body = Json{{"object", "list"}, {"data", Json::array({model()})}}.dump()});
  check_model(percent_decoded(path.substr(of_model.size())));
  exchange->respond({.body = model().dump()});
}

void ApiService::check_key(const HttpRequest& request) const {
  if (options_.api_key.empty()) return;
  if (!is_same_secret(bearer_token(request.authorization), options_.api_key))
    throw ApiError(401, "the API key is missing or wrong: Authorization: Bearer KEY", "", "invalid_api_key");
}

// Pages of other origins cannot send these types without asking first.
bool ApiService::has_npz_body(const HttpRequest& request) {
  const std::string type = media_type(request.content_type);
  if (type != "application/json" && !is_npz(type))
    throw ApiError(415, "the request's Content-Type must be application/json or application/x-npz");
  return type != "application/json";
}

void ApiService::end_queued(const std::shared_ptr<Exchange>& exchange, std::optional<uint64_t> number,
                            std::function<void(uint64_t)> cancel) {
  if (!number) throw ApiError(429, "too many requests wait; try again later", "", "queue_full");
  exchange->on_end([exchange, number = *number, cancel = std::move(cancel)](ExchangeEnd end) {
    cancel(number);
    if (end == ExchangeEnd::TimedOut) exchange->respond(answer(ApiError(504, "the answer took too long")));
    if (end == ExchangeEnd::Stopping) exchange->respond(answer(ApiError(503, "the server stops")));
  });
}

void ApiService::check_model(const std::string& name) const {
  if (!name.empty() && name != options_.model_name)
    throw ApiError(
        404,
        fmt::format("there is no model '{}'; this server has '{}'", printable(name), options_.model_name),
        "model", "model_not_found");
}

ApiService::Json ApiService::model() const {
  Json json = {{"id", options_.model_name}, {"object", "model"}, {"created", started_}, {"owned_by", "weft"}};
  json.update(model_fields());
  return json;
}

}  // namespace weft::serve
