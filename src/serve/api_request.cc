#include "serve/api_request.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/printable.h"
#include "io/json.h"
#include "serve/api_fields.h"
#include "serve/json_body.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr size_t kMostStops = 16, kMostPrompts = 64, kMostBiases = 1024;
constexpr int64_t kMostTexts = 1024, kMostCompletionLogprobs = 20, kMostChatLogprobs = 20;

// What OpenAI's interface has and this server has not. A value that changes nothing is no complaint.
void check_absent(const Fields& fields) {
  if (const OrderedJson* modalities = fields.find("modalities");
      modalities && !modalities->empty() && *modalities != OrderedJson{"text"})
    refuse_parameter("modalities", "must be [\"text\"]");
}

void parse_format(const Fields& fields, ApiRequest& request) {
  request.grammar = fields.text("grammar");
  const OrderedJson* format = fields.find("response_format");
  if (format == nullptr) return;
  if (!format->is_object()) fields.refuse("response_format", "must be an object");
  const Fields of_format(*format, "response_format.");
  const std::string type = of_format.text("type");
  if (type == "json_object") {
    request.schema = OrderedJson{{"type", "object"}};
  } else if (type == "json_schema") {
    const OrderedJson* given = of_format.find("json_schema");
    if (given == nullptr || !given->is_object())
      of_format.refuse("json_schema", "must be an object with a name and a schema");
    const Fields of_schema(*given, "response_format.json_schema.");
    const OrderedJson* schema = of_schema.find("schema");
    if (schema == nullptr) of_schema.refuse("schema", "must be a JSON Schema");
    request.schema = *schema;
    of_schema.flag("strict", true);  // the text is held to the schema in any case
    of_schema.refuse_others({"name", "description"});
  } else if (type != "text") {
    of_format.refuse("type", "must be text, json_object or json_schema");
  }
  of_format.refuse_others({});
  if (request.schema && !request.grammar.empty())
    fields.refuse("grammar", "is not supported beside a response_format");
}

std::vector<std::string> parse_stop(const OrderedJson* value) {
  std::vector<std::string> stop;
  if (value == nullptr) return stop;
  const char* expected = "must be a string that is not empty, or a list of at most 16 of them";
  const auto add = [&](const OrderedJson& text) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) refuse_parameter("stop", expected);
    stop.push_back(text.get<std::string>());
  };
  if (!value->is_array()) {
    add(*value);
  } else {
    if (value->size() > kMostStops) refuse_parameter("stop", expected);
    for (const OrderedJson& text : *value) add(text);
  }
  return stop;
}

bool is_token(const OrderedJson& value) {
  return value.is_number_integer() && value >= 0 && value <= int64_t{INT32_MAX};
}

Prompt parse_prompt(const OrderedJson& value, const char* name, size_t most) {
  Prompt prompt;
  if (value.is_string()) {
    prompt.text = value.get<std::string>();
    return prompt;
  }
  const auto refuse = [&] {
    refuse_parameter(
        name, fmt::format("must be a string, a list of tokens, or a list of at most {} of these", most));
  };
  if (!value.is_array() || value.empty()) refuse();
  for (const OrderedJson& token : value) {
    if (!is_token(token)) refuse();
    prompt.tokens.push_back(token.get<int64_t>());
  }
  return prompt;
}

// {"50256": -100}: what is added to logits.
std::vector<std::pair<int64_t, float>> parse_biases(const OrderedJson* value) {
  std::vector<std::pair<int64_t, float>> biases;
  if (value == nullptr) return biases;
  const char* expected = "must be an object of at most 1024 token ids with numbers between -100 and 100";
  if (!value->is_object() || value->size() > kMostBiases) refuse_parameter("logit_bias", expected);
  for (const auto& [name, bias] : value->items()) {
    int64_t token = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), token);
    const bool is_id = error == std::errc() && end == name.data() + name.size() && token >= 0;
    if (!is_id || !bias.is_number() || !(std::abs(bias.get<double>()) <= 100))
      refuse_parameter("logit_bias", expected);
    biases.emplace_back(token, bias.get<float>());
  }
  return biases;
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

std::vector<Prompt> parse_prompts(const Fields& fields, const char* name, size_t most) {
  const OrderedJson* value = fields.find(name);
  if (value == nullptr) throw ApiError(400, fmt::format("the parameter '{}' is missing", name), name);
  if (!value->is_array() || value->empty() || is_token((*value)[0]))
    return {parse_prompt(*value, name, most)};
  if (value->size() > most) refuse_parameter(name, fmt::format("has more than {} entries", most));
  std::vector<Prompt> prompts;
  for (const OrderedJson& entry : *value) prompts.push_back(parse_prompt(entry, name, most));
  return prompts;
}

ApiRequest parse_completion(std::string_view body, bool is_chat) {
  return parse_completion_fields(parse_ordered_body(body), is_chat);
}

ApiRequest parse_completion_fields(const OrderedJson& body, bool is_chat) {
  const Fields fields(body);
  ApiRequest request;
  request.is_chat = is_chat;
  request.model = fields.text("model");
  check_absent(fields);
  if (is_chat)
    request.conversation = conversation_text(parse_conversation(fields, request.tools));
  else
    request.prompts = parse_prompts(fields, "prompt", kMostPrompts);
  request.stream = fields.flag("stream", false);
  if (const OrderedJson* options = fields.find("stream_options")) {
    if (!options->is_object()) refuse_parameter("stream_options", "must be an object");
    if (!request.stream) refuse_parameter("stream_options", "needs 'stream' to be true");
    const Fields of_stream(*options, "stream_options.");
    request.include_usage = of_stream.flag("include_usage", false);
    of_stream.refuse_others({"include_obfuscation"});
  }
  request.max_tokens = fields.integer("max_tokens", 1, INT64_MAX);
  if (const auto most = fields.integer("max_completion_tokens", 1, INT64_MAX)) request.max_tokens = most;
  request.n = fields.integer("n", 1, kMostTexts).value_or(1);
  if (const auto best = fields.integer("best_of", 1, kMostTexts); best && *best != request.n)
    refuse_parameter("best_of", "must be n: the best of more is not supported");
  request.echo = fields.flag("echo", false);
  if (is_chat && request.echo) refuse_parameter("echo", "is not supported in chats");
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
  sampling.presence_penalty = fields.number("presence_penalty", 0.0, -2, 2);
  sampling.frequency_penalty = fields.number("frequency_penalty", 0.0, -2, 2);
  sampling.biases = parse_biases(fields.find("logit_bias"));
  sampling.top_k = std::max<int64_t>(0, fields.integer("top_k", -1, INT64_MAX).value_or(0));
  if (sampling.top_p == 0) sampling.top_p = 1, sampling.temperature = 0;  // only the likeliest token is left
  if (const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX)) {
    sampling.seed = static_cast<uint64_t>(*seed);
    request.has_seed = true;
  }
  request.stop = parse_stop(fields.find("stop"));
  parse_format(fields, request);
  if (!request.grammar.empty() && request.tools.choice != ToolOptions::Choice::None)
    refuse_parameter("grammar", "is not supported beside tools");
  if (request.schema && request.tools.choice == ToolOptions::Choice::Required)
    refuse_parameter("response_format", "is not supported beside a call that is required");
  // What accounts, stores and caches of other servers are told.
  fields.refuse_others({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                        "prompt_cache_retention", "cache_prompt"});
  return request;
}

}  // namespace weft::serve
