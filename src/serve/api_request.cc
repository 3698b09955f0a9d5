#include "serve/api_request.h"

#include <fmt/format.h>

#include "core/printable.h"
#include "io/json.h"
#include "serve/json_body.h"
#include "weft/error.h"

namespace weft::serve {
namespace {


constexpr size_t kMostStops = 16, kMostPrompts = 64, kMostMessages = 4096;
constexpr int64_t kMostTexts = 1024, kMostCompletionLogprobs = 20, kMostChatLogprobs = 20;

// The fields of one JSON object.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  // Null where it is not there or null.
  const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  bool flag(const char* name, bool otherwise) const {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse_parameter(name, "must be true or false");
    return value->get<bool>();
  }
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most) const {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool is_large = value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX;
    if (!value->is_number_integer() || is_large || value->get<int64_t>() < least ||
        value->get<int64_t>() > most)
      refuse_parameter(name, most == INT64_MAX
                                 ? fmt::format("must be an integer of at least {}", least)
                                 : fmt::format("must be an integer between {} and {}", least, most));
    return value->get<int64_t>();
  }
  double number(const char* name, double otherwise, double least, double most) const {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
      refuse_parameter(name, fmt::format("must be a number between {} and {}", least, most));
    return value->get<double>();
  }
  std::string text(const char* name) const {
    const Json* value = find(name);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse_parameter(name, "must be a string");
    return value->get<std::string>();
  }

 private:
  const Json& object_;
};

// What OpenAI's interface has and this server has not. A value that changes nothing is no complaint.
void check_absent(const Fields& fields) {
  for (const char* name :
       {"suffix", "functions", "tools", "logit_bias", "audio", "prediction", "modalities"}) {
    const Json* value = fields.find(name);
    const bool is_text_only = value && std::string_view(name) == "modalities" && *value == Json{"text"};
    if (value && !value->empty() && *value != "" && !is_text_only) refuse_parameter(name, "is not supported");
  }
  for (const char* name : {"presence_penalty", "frequency_penalty"})
    if (fields.number(name, 0, -2, 2) != 0) refuse_parameter(name, "is not supported; repetition_penalty is");
  if (const Json* format = fields.find("response_format"))
    if (!format->is_object() || format->value("type", Json()) != "text")
      refuse_parameter("response_format", "must be {\"type\": \"text\"}");
}

std::vector<std::string> parse_stop(const Json* value) {
  std::vector<std::string> stop;
  if (value == nullptr) return stop;
  const char* expected = "must be a string that is not empty, or a list of at most 16 of them";
  const auto add = [&](const Json& text) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) refuse_parameter("stop", expected);
    stop.push_back(text.get<std::string>());
  };
  if (!value->is_array()) {
    add(*value);
  } else {
    if (value->size() > kMostStops) refuse_parameter("stop", expected);
    for (const Json& text : *value) add(text);
  }
  return stop;
}

bool is_token(const Json& value) {
  return value.is_number_integer() && value >= 0 && value <= int64_t{INT32_MAX};
}

Prompt parse_prompt(const Json& value) {
  Prompt prompt;
  if (value.is_string()) {
    prompt.text = value.get<std::string>();
    return prompt;
  }
  const char* expected = "must be a string, a list of tokens, or a list of at most 64 of these";
  if (!value.is_array() || value.empty()) refuse_parameter("prompt", expected);
  for (const Json& token : value) {
    if (!is_token(token)) refuse_parameter("prompt", expected);
    prompt.tokens.push_back(token.get<int64_t>());
  }
  return prompt;
}

std::vector<Prompt> parse_prompts(const Json* value) {
  if (value == nullptr) throw ApiError(400, "the parameter 'prompt' is missing", "prompt");
  if (!value->is_array() || value->empty() || is_token((*value)[0])) return {parse_prompt(*value)};
  if (value->size() > kMostPrompts) refuse_parameter("prompt", "has more than 64 entries");
  std::vector<Prompt> prompts;
  for (const Json& entry : *value) prompts.push_back(parse_prompt(entry));
  return prompts;
}

// A string, or parts that are texts.
std::string parse_content(const Json& message, const std::string& where) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) refuse_parameter(where + ".content", "must be a string or a list of parts");
  std::string text;
  for (const Json& part : *content) {
    if (!part.is_object() || part.value("type", Json()) != "text" || !part.value("text", Json()).is_string())
      refuse_parameter(where + ".content", "has a part that is no text; others are not supported");
    text += part["text"].get<std::string>();
  }
  return text;
}

std::vector<models::ChatMessage> parse_messages(const Json* value) {
  if (value == nullptr) throw ApiError(400, "the parameter 'messages' is missing", "messages");
  if (!value->is_array() || value->empty() || value->size() > kMostMessages)
    refuse_parameter("messages", "must be a list of between 1 and 4096 messages");
  std::vector<models::ChatMessage> messages;
  for (const Json& message : *value) {
    const std::string where = fmt::format("messages[{}]", messages.size());
    if (!message.is_object()) refuse_parameter(where, "must be an object with a role and a content");
    const Json role = message.value("role", Json());
    if (role != "system" && role != "developer" && role != "user" && role != "assistant")
      refuse_parameter(where + ".role", "must be system, developer, user or assistant");
    messages.push_back(
        {role == "developer" ? "system" : role.get<std::string>(), parse_content(message, where)});
  }
  return messages;
}

void parse_logprobs(const Fields& fields, ApiRequest& request) {
  if (!request.is_chat) {
    request.logprobs = fields.integer("logprobs", 0, kMostCompletionLogprobs);
    return;
  }
  const auto count = fields.integer("top_logprobs", 0, kMostChatLogprobs);
  if (fields.flag("logprobs", false))
    request.logprobs = count.value_or(0);
  else if (count)
    refuse_parameter("top_logprobs", "needs 'logprobs' to be true");
}

}  // namespace

ApiRequest parse_completion(std::string_view body, bool is_chat) {
  const Json json = parse_json_body(body);
  const Fields fields(json);
  ApiRequest request;
  request.is_chat = is_chat;
  request.model = fields.text("model");
  check_absent(fields);
  if (is_chat)
    request.messages = parse_messages(fields.find("messages"));
  else
    request.prompts = parse_prompts(fields.find("prompt"));
  request.stream = fields.flag("stream", false);
  if (const Json* options = fields.find("stream_options")) {
    if (!options->is_object()) refuse_parameter("stream_options", "must be an object");
    if (!request.stream) refuse_parameter("stream_options", "needs 'stream' to be true");
    request.include_usage = Fields(*options).flag("include_usage", false);
  }
  request.max_tokens = fields.integer("max_tokens", 1, INT64_MAX);
  if (const auto most = fields.integer("max_completion_tokens", 1, INT64_MAX)) request.max_tokens = most;
  request.n = fields.integer("n", 1, kMostTexts).value_or(1);
  if (const auto best = fields.integer("best_of", 1, kMostTexts); best && *best != request.n)
    refuse_parameter("best_of", "must be n: the best of more is not supported");
  request.echo = !is_chat && fields.flag("echo", false);
  request.ignore_eos = fields.flag("ignore_eos", false);
  request.add_special_tokens = fields.flag("add_special_tokens", !is_chat);
  if (is_chat && request.add_special_tokens)
    refuse_parameter("add_special_tokens", "must be false in chats: the template has the special tokens");
  parse_logprobs(fields, request);
  if (request.echo && request.logprobs) refuse_parameter("echo", "is not supported with logprobs");
  models::SamplingOptions& sampling = request.sampling;
  sampling.temperature = fields.number("temperature", 1.0, 0, 100);
  sampling.top_p = fields.number("top_p", 1.0, 0, 1);
  sampling.min_p = fields.number("min_p", 0.0, 0, 1);
  sampling.repetition_penalty = fields.number("repetition_penalty", 1.0, 0.01, 100);
  sampling.top_k = std::max<int64_t>(0, fields.integer("top_k", -1, INT64_MAX).value_or(0));
  if (sampling.top_p == 0) sampling.top_p = 1, sampling.temperature = 0;  // only the likeliest token is left
  if (const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX)) {
    sampling.seed = static_cast<uint64_t>(*seed);
    request.has_seed = true;
  }
  request.stop = parse_stop(fields.find("stop"));
  return request;
}

}  // namespace weft::serve
