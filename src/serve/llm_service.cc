#include "serve/llm_service.h"

#include <fmt/format.h>

#include <ctime>
#include <map>
#include <random>

#include "runtime/log.h"
#include "serve/api_reply.h"
#include "serve/api_request.h"
#include "serve/api_service.h"
#include "serve/call_grammar.h"
#include "serve/embeddings.h"
#include "serve/json_body.h"
#include "serve/response_request.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kCompletionTokens = 16;  // OpenAI's default
constexpr const char *kCompletions = "/v1/completions", *kChatCompletions = "/v1/chat/completions";
constexpr const char *kEmbeddings = "/v1/embeddings", *kResponses = "/v1/responses";
constexpr const char *kTokenize = "/tokenize", *kDetokenize = "/detokenize";
constexpr size_t kMostGrammars = 32;
constexpr const char* kEventStream = "text/event-stream";

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
    exchange->write(reply.failed(error));
    exchange->finish();
  }
  void add(const Event& event) {
    if (is_over) return;
    if (!event.error.empty()) return fail(ApiError(500, event.error));
    try {
      const std::string piece = reply.add(event);
      if (is_stream) exchange->write(piece);
      is_over = reply.is_finished();
      if (!is_over) return;
      is_stream ? exchange->finish() : exchange->respond({.body = reply.whole()});
    } catch (const std::exception& failure) {
      log::warning(fmt::format("serve: an answer cannot be written: {}", failure.what()));
      fail(ApiError(500, failure.what()));
    }
  }
  void end(ExchangeEnd end) {
    if (is_over) return;
    if (end == ExchangeEnd::Closed) return cancel();
    fail(end == ExchangeEnd::TimedOut ? ApiError(504, "the answer took too long")
                                      : ApiError(503, "the server stops"));
  }
};

// Texts whose embeddings are computed, so many at a time that others have room beside them.
struct EmbeddingCall : std::enable_shared_from_this<EmbeddingCall> {
  EmbeddingCall(std::shared_ptr<Engine> computing, std::shared_ptr<Exchange> asking, EmbeddingRequest asked,
                std::vector<std::vector<int64_t>> tokens, std::string name)
      : engine(std::move(computing)),
        exchange(std::move(asking)),
        request(std::move(asked)),
        prompts(std::move(tokens)),
        model(std::move(name)),
        embeddings(prompts.size()),
        numbers(prompts.size()) {
    for (const auto& prompt : prompts) prompt_tokens += static_cast<int64_t>(prompt.size());
  }

  void begin() {
    const size_t most = static_cast<size_t>(engine->options().max_batch);
    while (next < prompts.size() && next - done < most) submit(next++);
  }
  void end(ExchangeEnd how) {
    if (is_over) return;
    cancel();
    if (how == ExchangeEnd::Closed) return;
    exchange->respond(answer(how == ExchangeEnd::TimedOut ? ApiError(504, "the answer took too long")
                                                          : ApiError(503, "the server stops")));
  }
  void cancel() {
    is_over = true;
    for (const uint64_t number : numbers)
      if (number != 0) engine->cancel(number);
  }

  std::shared_ptr<Engine> engine;
  std::shared_ptr<Exchange> exchange;
  EmbeddingRequest request;
  std::vector<std::vector<int64_t>> prompts;
  std::string model;
  std::vector<std::vector<float>> embeddings;
  std::vector<uint64_t> numbers;  // of the engine's requests
  size_t next = 0, done = 0;
  int64_t prompt_tokens = 0;
  bool is_over = false;

 private:
  void submit(size_t index) {
    Request made{.prompt = prompts[index], .pooling = request.pooling};
    made.on_event = [call = shared_from_this(), index](const Event& event) {
      call->exchange->post([call, index, event = Event(event)] { call->add(index, event); });
    };
    const std::optional<uint64_t> number = engine->submit(std::move(made));
    if (!number) throw ApiError(429, "too many requests wait; try again later", "", "queue_full");
    numbers[index] = *number;
  }
  void add(size_t index, const Event& event) {
    if (is_over) return;
    try {
      if (!event.error.empty()) throw ApiError(500, event.error);
      embeddings[index] = event.embedding;
      ++done;
      begin();
      if (done < prompts.size()) return;
      is_over = true;
      exchange->respond({.body = embeddings_json(request, model, std::move(embeddings), prompt_tokens)});
    } catch (const ApiError& error) {
      fail(error);
    } catch (const Error& refusal) {  // of a text that the engine does not take
      fail(ApiError(400, refusal.what()));
    }
  }
  void fail(const ApiError& error) {
    cancel();
    exchange->respond(answer(error));
  }
};

class LlmService : public ApiService {
 public:
  LlmService(std::shared_ptr<Engine> engine, std::shared_ptr<const models::Tokenizer> tokenizer,
             LlmServiceOptions options)
      : ApiService(options.api,
                   {kCompletions, kChatCompletions, kEmbeddings, kResponses, kTokenize, kDetokenize}),
        engine_(std::move(engine)),
        tokenizer_(std::move(tokenizer)),
        chat_(options.chat),
        embeddings_(std::move(options.embeddings)) {}

 private:
  void act(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override {
    // Pages of other origins cannot send this type without asking first.
    if (media_type(request.content_type) != "application/json")
      throw ApiError(415, "the request's Content-Type must be application/json");
    if (request.path == kTokenize) return exchange->respond({.body = tokenize(request.body)});
    if (request.path == kDetokenize) return exchange->respond({.body = detokenize(request.body)});
    if (request.path == kEmbeddings) return embed(request.body, exchange);
    ApiRequest asked = request.path == kResponses
                           ? parse_response(request.body)
                           : parse_completion(request.body, request.path == kChatCompletions);
    choose_call_format(asked.tools, chat_->sources());
    complete(asked, exchange);
  }
  Json model_fields() const override { return {{"max_model_len", engine_->options().context}}; }
  std::string metrics() const override { return engine_->metrics().text(); }
  const std::string* page() const override { return &page_html(); }

  std::string next_id(const ApiRequest& request) {
    const char* const kind = request.told ? "resp_" : request.is_chat ? "chatcmpl-" : "cmpl-";
    return fmt::format("{}{:x}{:08x}", kind, started(), ++answers_);
  }

  // Behind the conversation stands what a call that must be made begins with.
  std::vector<int64_t> conversation_tokens(const std::string& conversation, const ToolOptions& tools) const {
    std::vector<int64_t> ids = chat_->encode(conversation);
    const std::vector<int64_t> opening = tokenizer_->encode(tools.opening, false, true);
    ids.insert(ids.end(), opening.begin(), opening.end());
    return ids;
  }

  std::vector<std::vector<int64_t>> tokens_of(const std::vector<Prompt>& prompts, bool adds_special) const {
    std::vector<std::vector<int64_t>> tokens;
    for (const Prompt& prompt : prompts)
      tokens.push_back(prompt.tokens.empty() ? tokenizer_->encode(prompt.text, adds_special, true)
                                             : prompt.tokens);
    return tokens;
  }
  std::vector<std::vector<int64_t>> tokens_of(const ApiRequest& request) const {
    if (request.is_chat) return {conversation_tokens(request.conversation, request.tools)};
    return tokens_of(request.prompts, request.add_special_tokens);
  }

  void embed(std::string_view body, const std::shared_ptr<Exchange>& exchange) {
    EmbeddingRequest asked = parse_embeddings(body, engine_->hidden_size(), embeddings_);
    check_model(asked.model);
    auto prompts = tokens_of(asked.inputs, asked.add_special_tokens);
    const auto call = std::make_shared<EmbeddingCall>(engine_, exchange, std::move(asked), std::move(prompts),
                                                      model_name());
    try {
      call->begin();
    } catch (...) {
      call->cancel();
      throw;
    }
    exchange->on_end([call](ExchangeEnd end) { call->end(end); });
  }

  // The tokens of a text (`prompt`, or `content` as llama.cpp's server has it) or of a conversation.
  std::string tokenize(std::string_view body) const {
    const OrderedJson json = parse_ordered_body(body);
    const Fields fields(json);
    check_model(fields.text("model"));
    std::vector<int64_t> ids;
    if (fields.find("messages") != nullptr) {
      ToolOptions tools;
      const std::string conversation = conversation_text(parse_conversation(fields, tools));
      choose_call_format(tools, chat_->sources());
      ids = conversation_tokens(conversation, tools);
    } else {
      const bool has_content = fields.find("content") != nullptr;
      const char* name = has_content ? "content" : "prompt";
      if (fields.find(name) == nullptr) throw ApiError(400, "the parameter 'prompt' is missing", "prompt");
      const bool adds_special =
          has_content ? fields.flag("add_special", false) : fields.flag("add_special_tokens", true);
      ids = tokenizer_->encode(fields.text(name), adds_special, fields.flag("parse_special", true));
    }
    fields.refuse_others({});
    return Json{{"count", ids.size()}, {"max_model_len", engine_->options().context}, {"tokens", ids}}.dump();
  }

  // The text of `tokens`, as `prompt` and as `content`.
  std::string detokenize(std::string_view body) const {
    const OrderedJson json = parse_ordered_body(body);
    const Fields fields(json);
    check_model(fields.text("model"));
    const OrderedJson* const tokens = fields.find("tokens");
    const char* expected = "must be a list of token ids";
    if (tokens == nullptr || !tokens->is_array()) fields.refuse("tokens", expected);
    std::vector<int64_t> ids;
    for (const OrderedJson& token : *tokens) {
      if (!token.is_number_integer() || token < 0 || token > int64_t{INT32_MAX} ||
          !tokenizer_->has_token(token.get<int64_t>()))
        fields.refuse("tokens", expected);
      ids.push_back(token.get<int64_t>());
    }
    fields.refuse_others({});
    const std::string text = tokenizer_->decode(ids);
    return Json{{"prompt", text}, {"content", text}}.dump();
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
             .reply = ApiReply(request, next_id(request), model_name(), std::time(nullptr), prompt_tokens,
                               texts_of(request), tokenizer_),
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
    if (!request.stream) return;
    exchange->begin(kEventStream);
    if (const std::string opening = call->reply.opening(); !opening.empty()) exchange->write(opening);
  }

  // What the answer may be; kept, as clients ask for the same again and again.
  std::shared_ptr<Grammar> grammar_of(const ApiRequest& request) {
    const std::string key = answer_rules_key(request);
    if (key.empty()) return nullptr;
    if (const auto kept = grammars_.find(key); kept != grammars_.end() && !kept->second->is_large())
      return kept->second;
    std::vector<std::string> marks;
    std::vector<int64_t> mark_ids;
    if (const auto format = call_format_of(chat_->sources()))
      for (const auto& [id, mark] : special_marks(*format)) marks.push_back(mark), mark_ids.push_back(id);
    std::optional<GrammarRules> rules = answer_rules(request, marks);
    if (trie_ == nullptr) trie_ = engine_->make_token_trie(mark_ids);
    auto grammar = std::make_shared<Grammar>(std::move(*rules), trie_);
    grammar->start();  // tells what is wrong with it
    if (grammars_.size() >= kMostGrammars) grammars_.clear();
    return grammars_[key] = std::move(grammar);
  }

  // Special tokens that begin calls.
  std::vector<std::pair<int64_t, std::string>> special_marks(CallFormat format) const {
    std::vector<std::pair<int64_t, std::string>> marks;
    for (const std::string& mark : call_marks(format))
      if (const auto id = tokenizer_->token_id(mark); id && tokenizer_->is_special(*id))
        marks.emplace_back(*id, mark);
    return marks;
  }

  Request engine_request(const ApiRequest& request, std::vector<int64_t> prompt,
                         std::function<void(const Event&)> on_event) {
    Request made;
    made.max_tokens = request.max_tokens.value_or(request.is_chat ? INT64_MAX : kCompletionTokens);
    made.prompt = std::move(prompt);
    made.sampling = request.sampling;
    if (!request.has_seed) made.sampling.seed = seeds_();
    made.stop = request.stop;
    if (request.tools.format) made.shown_tokens = special_marks(*request.tools.format);
    made.grammar = grammar_of(request);
    made.ignore_eos = request.ignore_eos;
    made.choices = request.n;
    made.likeliest_tokens = request.logprobs;
    made.on_event = std::move(on_event);
    return made;
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const models::Tokenizer> tokenizer_;
  std::shared_ptr<const models::ChatTemplate> chat_;
  EmbeddingDefaults embeddings_;
  std::map<std::string, std::shared_ptr<Grammar>> grammars_;
  std::shared_ptr<const TokenTrie> trie_;  // once there is a grammar
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
