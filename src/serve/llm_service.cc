#include "serve/llm_service.h"

#include <fmt/format.h>

#include <atomic>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>

#include "serve/api_reply.h"
#include "serve/api_request.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

using Json = nlohmann::ordered_json;
constexpr int64_t kCompletionTokens = 16;  // OpenAI's default
constexpr const char* kEventStream = "text/event-stream";

HttpResponse answer(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error.json()};
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

// Takes as long for every key of the same length.
bool is_same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool is_json(const std::string& content_type) {
  std::string type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  for (char& letter : type) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return type == "application/json";
}

// A request that is being answered. In the server's thread.
struct Call {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<Exchange> exchange;
  ApiReply reply;
  bool is_stream, is_over = false;
  std::vector<uint64_t> requests = {};

  void cancel() {
    is_over = true;
    for (const uint64_t request : requests) engine->cancel(request);
  }
  void fail(const ApiError& error) {
    cancel();
    if (!is_stream) return exchange->respond(answer(error));
    exchange->write(ApiReply::error_event(error));
    exchange->finish();
  }
  void add(const Event& event) {
    if (is_over) return;
    if (!event.error.empty()) return fail(ApiError(500, event.error));
    const std::string piece = reply.add(event);
    if (is_stream) exchange->write(piece);
    is_over = reply.is_finished();
    if (!is_over) return;
    is_stream ? exchange->finish() : exchange->respond({.body = reply.whole()});
  }
  void end(ExchangeEnd end) {
    if (is_over) return;
    if (end == ExchangeEnd::Closed) return cancel();
    fail(end == ExchangeEnd::TimedOut ? ApiError(504, "the answer took too long")
                                      : ApiError(503, "the server stops"));
  }
};

class LlmService : public Service {
 public:
  LlmService(std::shared_ptr<Engine> engine, std::shared_ptr<const models::Tokenizer> tokenizer,
             LlmServiceOptions options)
      : engine_(std::move(engine)),
        tokenizer_(std::move(tokenizer)),
        options_(std::move(options)),
        started_(std::time(nullptr)) {}

  HttpResponse refusal(int status, const std::string& message) override {
    return answer(ApiError(status, message));
  }

  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override {
    try {
      route(request, exchange);
    } catch (const ApiError& error) {
      exchange->respond(answer(error));
    } catch (const Error& error) {
      const bool is_users = error.kind() == ErrorKind::Value || error.kind() == ErrorKind::Index;
      exchange->respond(answer(ApiError(is_users ? 400 : 500, error.what())));
    }
  }

 private:
  void route(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
    const std::string& path = request.path;
    const bool is_chat = path == "/v1/chat/completions", is_completion = path == "/v1/completions";
    const std::string of_model = "/v1/models/";
    const bool is_get = is_chat || is_completion ? false : true;
    const bool is_known = is_chat || is_completion || path == "/" || path == "/health" ||
                          path == "/metrics" || path == "/v1/models" || path.starts_with(of_model);
    if (!is_known) throw ApiError(404, "there is nothing at this path");
    if (request.method != (is_get ? "GET" : "POST")) {
      HttpResponse response =
          answer(ApiError(405, fmt::format("this path takes {}", is_get ? "GET" : "POST")));
      response.headers.emplace_back("Allow", is_get ? "GET, HEAD" : "POST");
      return exchange->respond(std::move(response));
    }
    if (path == "/") return exchange->respond(page());
    if (path == "/health") return exchange->respond({.body = R"({"status":"ok"})"});
    check_key(request);
    if (path == "/metrics")
      return exchange->respond(
          {.body = engine_->metrics().text(), .content_type = "text/plain; version=0.0.4; charset=utf-8"});
    if (path == "/v1/models")
      return exchange->respond({.body = Json{{"object", "list"}, {"data", Json::array({model()})}}.dump()});
    if (path.starts_with(of_model)) {
      check_model(path.substr(of_model.size()));
      return exchange->respond({.body = model().dump()});
    }
    // Pages of other origins cannot send this type without asking first.
    if (!is_json(request.content_type))
      throw ApiError(415, "the request's Content-Type must be application/json");
    complete(parse_completion(request.body, is_chat), exchange);
  }

  static HttpResponse page() {
    return {.body = page_html(),
            .content_type = "text/html; charset=utf-8",
            .headers = {{"Content-Security-Policy",
                         "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                         "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}}};
  }

  void check_key(const HttpRequest& request) const {
    if (options_.api_key.empty()) return;
    if (!is_same_secret(request.authorization, "Bearer " + options_.api_key))
      throw ApiError(401, "the API key is missing or wrong: Authorization: Bearer KEY", "",
                     "invalid_api_key");
  }
  void check_model(const std::string& name) const {
    if (!name.empty() && name != options_.model_name)
      throw ApiError(404,
                     fmt::format("there is no model '{}'; this server has '{}'", name, options_.model_name),
                     "model", "model_not_found");
  }
  Json model() const {
    return {{"id", options_.model_name},
            {"object", "model"},
            {"created", started_},
            {"owned_by", "weft"},
            {"max_model_len", engine_->options().context}};
  }

  std::string next_id(bool is_chat) {
    return fmt::format("{}-{:x}{:08x}", is_chat ? "chatcmpl" : "cmpl", started_, ++answers_);
  }

  std::vector<std::vector<int64_t>> tokens_of(const ApiRequest& request) const {
    if (request.is_chat) return {models::encode_chat(*tokenizer_, options_.chat, request.messages)};
    std::vector<std::vector<int64_t>> prompts;
    for (const Prompt& prompt : request.prompts)
      prompts.push_back(prompt.tokens.empty() ? tokenizer_->encode(prompt.text) : prompt.tokens);
    return prompts;
  }

  // What echo gives: of tokens, what they mean.
  std::vector<std::string> texts_of(const ApiRequest& request) const {
    if (request.is_chat) return {""};
    std::vector<std::string> texts;
    for (const Prompt& prompt : request.prompts)
      texts.push_back(prompt.tokens.empty() || !request.echo ? prompt.text
                                                             : tokenizer_->decode(prompt.tokens));
    return texts;
  }

  void complete(const ApiRequest& request, const std::shared_ptr<Exchange>& exchange) {
    check_model(request.model);
    const std::vector<std::vector<int64_t>> prompts = tokens_of(request);
    int64_t prompt_tokens = 0;
    for (const auto& prompt : prompts) prompt_tokens += static_cast<int64_t>(prompt.size());
    const auto call = std::make_shared<Call>(
        Call{.engine = engine_,
             .exchange = exchange,
             .reply = ApiReply(request, next_id(request.is_chat), options_.model_name, std::time(nullptr),
                               prompt_tokens, texts_of(request), tokenizer_),
             .is_stream = request.stream});
    for (size_t i = 0; i < prompts.size(); ++i) {
      const int64_t first_choice = static_cast<int64_t>(i) * request.n;
      std::optional<uint64_t> number;
      try {
        number =
            engine_->submit(engine_request(request, prompts[i], [call, first_choice](const Event& event) {
              call->exchange->post([call, first_choice, event = Event(event)]() mutable {
                event.choice += first_choice;
                call->add(event);
              });
            }));
      } catch (...) {
        call->cancel();
        throw;
      }
      if (!number) {
        call->cancel();
        throw ApiError(429, "too many requests wait; try again later", "", "queue_full");
      }
      call->requests.push_back(*number);
    }
    exchange->on_end([call](ExchangeEnd end) { call->end(end); });
    if (request.stream) exchange->begin(kEventStream);
  }

  Request engine_request(const ApiRequest& request, std::vector<int64_t> prompt,
                         std::function<void(const Event&)> on_event) {
    Request made;
    made.max_tokens = request.max_tokens.value_or(request.is_chat ? INT64_MAX : kCompletionTokens);
    made.prompt = std::move(prompt);
    made.sampling = request.sampling;
    if (!request.has_seed) made.sampling.seed = seeds_();
    made.stop = request.stop;
    made.ignore_eos = request.ignore_eos;
    made.choices = request.n;
    made.likeliest_tokens = request.logprobs;
    made.on_event = std::move(on_event);
    return made;
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const models::Tokenizer> tokenizer_;
  LlmServiceOptions options_;
  int64_t started_;
  uint32_t answers_ = 0;
  std::mt19937_64 seeds_{std::random_device{}()};
};

}  // namespace

std::shared_ptr<Service> make_llm_service(std::shared_ptr<Engine> engine,
                                          std::shared_ptr<const models::Tokenizer> tokenizer,
                                          LlmServiceOptions options) {
  return std::make_shared<LlmService>(std::move(engine), std::move(tokenizer), std::move(options));
}

}  // namespace weft::serve
