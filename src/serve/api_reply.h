// What OpenAI's clients are answered with, whole or piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "serve/api_request.h"
#include "serve/engine.h"
#include "serve/response_reply.h"
#include "serve/tool_calls.h"

namespace weft::serve {

class ApiReply {
 public:
  // `prompt_tokens` of all prompts together; `prompts` are their texts, for echo.
  ApiReply(const ApiRequest& request, std::string id, std::string model, int64_t created,
           int64_t prompt_tokens, std::vector<std::string> prompts,
           std::shared_ptr<const models::Tokenizer> tokenizer);

  // Notes an event, whose choice is counted over all prompts. Of a stream: the server-sent events to write
  // for it, perhaps none; "" otherwise.
  std::string add(const Event& event);
  bool is_finished() const { return unfinished_ == 0; }
  // The body, once all is there.
  std::string whole() const;
  // What a stream begins with, before any event; "" for nothing.
  std::string opening();
  // What it ends with after a failure.
  std::string failed(const ApiError& error);

 private:
  using Json = nlohmann::ordered_json;
  struct Choice {
    std::string text, finish_reason;
    int64_t generated = 0, offset = 0;  // offset: characters before the next token
    bool has_begun = false;
    Json logprobs;
    std::optional<CallParser> parser;  // where there are tools
    CallPieces opening;                // what the text was made to begin with
    std::vector<CallPart> calls;
  };
  Json head(bool is_chunk) const;
  Json usage() const;
  Json logprobs(const Event& event, Choice& choice) const;
  void join(Json& all, const Json& more) const;
  CallPieces pieces_of(const Event& event, Choice& choice) const;
  std::string piece(const Event& event, Choice& choice, const CallPieces& pieces, const Json& logprobs) const;

  bool is_chat_, stream_, include_usage_, has_parallel_calls_;
  std::string id_, model_;
  int64_t created_, prompt_tokens_;
  size_t unfinished_;
  std::vector<Choice> choices_;
  std::shared_ptr<const models::Tokenizer> tokenizer_;
  std::optional<ResponseReply> response_;
};

}  // namespace weft::serve
