#include "serve/api_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "weft/error.h"

namespace weft::serve {
namespace {

std::string finish_reason(models::FinishReason reason) {
  switch (reason) {
    case models::FinishReason::EndToken:
    case models::FinishReason::StopText: return "stop";
    case models::FinishReason::Length:
    case models::FinishReason::ContextFull: return "length";
    default: return "";
  }
}

int64_t characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
std::string event_of(const std::string& data) { return "data: " + data + "\n\n"; }

}  // namespace

ApiReply::ApiReply(const ApiRequest& request, std::string id, std::string model, int64_t created,
                   int64_t prompt_tokens, std::vector<std::string> prompts,
                   std::shared_ptr<const models::Tokenizer> tokenizer)
    : is_chat_(request.is_chat),
      stream_(request.stream),
      include_usage_(request.include_usage),
      has_parallel_calls_(request.tools.parallel),
      id_(std::move(id)),
      model_(std::move(model)),
      created_(created),
      prompt_tokens_(prompt_tokens),
      unfinished_(prompts.size() * static_cast<size_t>(request.n)),
      tokenizer_(std::move(tokenizer)) {
  if (request.told) response_.emplace(id_, model_, created_, *request.told);
  for (const std::string& prompt : prompts)
    for (int64_t i = 0; i < request.n; ++i) {
      Choice choice;
      if (request.echo) choice.text = prompt;
      if (request.tools.format) {
        std::vector<std::string> names;
        for (const ToolDefinition& tool : request.tools.tools) names.push_back(tool.name);
        choice.parser.emplace(*request.tools.format, std::move(names));
        choice.opening = choice.parser->push(request.tools.opening, false);
      }
      choices_.push_back(std::move(choice));
    }
}

ApiReply::Json ApiReply::head(bool is_chunk) const {
  return {{"id", id_},
          {"object", !is_chat_  ? "text_completion"
                     : is_chunk ? "chat.completion.chunk"
                                : "chat.completion"},
          {"created", created_},
          {"model", model_},
          {"choices", Json::array()}};
}

ApiReply::Json ApiReply::usage() const {
  int64_t generated = 0;
  for (const Choice& choice : choices_) generated += choice.generated;
  return {{"prompt_tokens", prompt_tokens_},
          {"completion_tokens", generated},
          {"total_tokens", prompt_tokens_ + generated}};
}

ApiReply::Json ApiReply::logprobs(const Event& event, Choice& choice) const {
  if (event.tokens.empty()) return nullptr;
  const auto written = [&](int64_t token) {
    return models::replace_invalid_utf8(tokenizer_->token_bytes(token));
  };
  if (is_chat_) {
    const auto described = [&](const Likelihood& likelihood) {
      Json bytes = Json::array();
      for (const char byte : tokenizer_->token_bytes(likelihood.token))
        bytes.push_back(static_cast<uint8_t>(byte));
      return Json{{"token", written(likelihood.token)},
                  {"logprob", likelihood.log_probability},
                  {"bytes", std::move(bytes)}};
    };
    Json content = Json::array();
    for (const WrittenToken& token : event.tokens) {
      Json entry = described(token.token), likeliest = Json::array();
      for (const Likelihood& likelihood : token.likeliest) likeliest.push_back(described(likelihood));
      entry["top_logprobs"] = std::move(likeliest);
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}};
  }
  Json result = {{"tokens", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"top_logprobs", Json::array()},
                 {"text_offset", Json::array()}};
  for (const WrittenToken& token : event.tokens) {
    const std::string text = written(token.token.token);
    result["tokens"].push_back(text);
    result["token_logprobs"].push_back(token.token.log_probability);
    Json likeliest = Json::object();
    for (const Likelihood& likelihood : token.likeliest)
      likeliest.emplace(written(likelihood.token), likelihood.log_probability);
    result["top_logprobs"].push_back(std::move(likeliest));
    result["text_offset"].push_back(choice.offset);
    choice.offset += characters(text);
  }
  return result;
}

void ApiReply::join(Json& all, const Json& more) const {
  if (more.is_null()) return;
  if (all.is_null()) {
    all = more;
    return;
  }
  for (const auto& [name, values] : more.items())
    for (const Json& value : values) all[name].push_back(value);
}

// The event's content, and calls in it.
CallPieces ApiReply::pieces_of(const Event& event, Choice& choice) const {
  if (!choice.parser) {
    const bool has_echo = stream_ && !choice.has_begun;
    return {.content = has_echo ? choice.text + event.text : event.text, .calls = {}};
  }
  CallPieces pieces = std::exchange(choice.opening, {});
  CallPieces more = choice.parser->push(event.text, event.finish != models::FinishReason::None);
  pieces.content += more.content;
  pieces.calls.insert(pieces.calls.end(), more.calls.begin(), more.calls.end());
  if (!has_parallel_calls_) std::erase_if(pieces.calls, [](const CallPart& part) { return part.index > 0; });
  for (const CallPart& part : pieces.calls) {
    if (part.index >= choice.calls.size()) choice.calls.resize(part.index + 1);
    choice.calls[part.index].name += part.name;
    choice.calls[part.index].arguments += part.arguments;
  }
  return pieces;
}

std::string ApiReply::piece(const Event& event, Choice& choice, const CallPieces& pieces,
                            const Json& logprobs) const {
  const std::string& text = pieces.content;
  Json json = head(true);
  Json entry = {{"index", event.choice}};
  if (is_chat_) {
    entry["delta"] = Json::object();
    if (!choice.has_begun) entry["delta"]["role"] = "assistant";
    if ((!choice.has_begun && pieces.calls.empty()) || !text.empty()) entry["delta"]["content"] = text;
    for (const CallPart& part : pieces.calls) {
      Json call = {{"index", part.index}};
      if (!part.name.empty()) call["id"] = call_id(id_, event.choice, part.index), call["type"] = "function";
      if (!part.name.empty()) call["function"]["name"] = part.name;
      call["function"]["arguments"] = part.arguments;
      entry["delta"]["tool_calls"].push_back(std::move(call));
    }
  } else {
    entry["text"] = text;
  }
  entry["logprobs"] = logprobs;
  entry["finish_reason"] = choice.finish_reason.empty() ? Json(nullptr) : Json(choice.finish_reason);
  choice.has_begun = true;
  json["choices"].push_back(std::move(entry));
  if (include_usage_) json["usage"] = nullptr;
  return event_of(text_of(json));
}

std::string ApiReply::add(const Event& event) {
  Choice& choice = choices_.at(static_cast<size_t>(event.choice));
  const Json likelihoods = logprobs(event, choice);
  choice.generated = event.generated_tokens;
  choice.finish_reason = finish_reason(event.finish);
  const bool is_over = event.finish != models::FinishReason::None;
  if (is_over) --unfinished_;
  const CallPieces pieces = pieces_of(event, choice);
  if (is_over && !choice.calls.empty() && choice.finish_reason == "stop") choice.finish_reason = "tool_calls";
  if (response_) {
    std::string events = response_->add(pieces);
    if (is_over)
      events += response_->finish(choice.finish_reason == "length", prompt_tokens_, choice.generated);
    return stream_ ? events : "";
  }
  if (!stream_) {
    choice.text += pieces.content;
    join(choice.logprobs, likelihoods);
    return "";
  }
  std::string written;
  if (!pieces.content.empty() || !pieces.calls.empty() || !likelihoods.is_null() || is_over)
    written = piece(event, choice, pieces, likelihoods);
  if (!is_finished()) return written;
  if (include_usage_) {
    Json last = head(true);
    last["usage"] = usage();
    written += event_of(text_of(last));
  }
  return written + event_of("[DONE]");
}

std::string ApiReply::whole() const {
  WEFT_ASSERT(is_finished(), "an answer is written before its end");
  if (response_) return response_->whole();
  Json json = head(false);
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    Json entry = {{"index", i}};
    if (is_chat_) {
      const bool is_call =
          !choice.calls.empty() && choice.text.find_first_not_of(" \n\t") == std::string::npos;
      entry["message"] = {{"role", "assistant"}, {"content", is_call ? Json(nullptr) : Json(choice.text)}};
      for (size_t call = 0; call < choice.calls.size(); ++call)
        entry["message"]["tool_calls"].push_back(
            {{"id", call_id(id_, static_cast<int64_t>(i), call)},
             {"type", "function"},
             {"function", {{"name", choice.calls[call].name}, {"arguments", choice.calls[call].arguments}}}});
    } else {
      entry["text"] = choice.text;
    }
    entry["logprobs"] = choice.logprobs;
    entry["finish_reason"] = choice.finish_reason;
    json["choices"].push_back(std::move(entry));
  }
  json["usage"] = usage();
  return text_of(json);
}

std::string ApiReply::opening() { return response_ ? response_->begin() : ""; }
std::string ApiReply::failed(const ApiError& error) {
  return response_ ? response_->error(error) : event_of(error.json()) + event_of("[DONE]");
}

}  // namespace weft::serve
