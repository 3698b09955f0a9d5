// The bodies that OpenAI's clients send, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api_error.h"
#include "serve/api_messages.h"
#include "weft/models/sampling.h"

namespace weft::serve {

// A text or its tokens.
struct Prompt {
  std::string text;
  std::vector<int64_t> tokens;
};

struct ApiRequest {
  bool is_chat = false, stream = false, include_usage = false, echo = false, ignore_eos = false;
  bool add_special_tokens = true;  // of prompts that are texts: what the tokenizer puts before them
  std::string model;               // "": whichever there is
  std::vector<Prompt> prompts;
  std::string conversation;  // of a chat: its template's variables, as JSON
  ToolOptions tools;
  std::optional<OrderedJson> schema;  // a JSON Schema that the text is held to
  std::string grammar;                // or GBNF; "": neither
  std::optional<int64_t> max_tokens;
  int64_t n = 1;                    // texts for each prompt
  std::optional<int64_t> logprobs;  // log probabilities, with so many alternatives
  models::SamplingOptions sampling;
  bool has_seed = false;
  std::vector<std::string> stop;
  std::optional<OrderedJson> told;  // of /v1/responses: what the answer repeats of the request
};

// ApiError with status 400 that names the parameter, also for what is asked for and not there.
ApiRequest parse_completion(std::string_view body, bool is_chat);
ApiRequest parse_completion_fields(const OrderedJson& body, bool is_chat);
// A text, its tokens, or a list of at most `most` of these.
std::vector<Prompt> parse_prompts(const Fields& fields, const char* name, size_t most);

}  // namespace weft::serve
