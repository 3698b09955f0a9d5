// source: OpenAI's reference of POST /v1/responses.
#include "serve/response_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/json_body.h"

namespace weft::serve {
namespace {

// Messages of a chat, and for each the entry of `input` that it comes from; -1: from the instructions.
struct Messages {
  OrderedJson list = OrderedJson::array();
  std::vector<int64_t> origins = {};
  void add(OrderedJson message, int64_t origin) {
    list.push_back(std::move(message));
    origins.push_back(origin);
  }
};

// A call that the model made: part of the assistant's message before it, if there is one.
void add_call(Messages& messages, const Fields& item, int64_t origin) {
  OrderedJson call = {{"id", item.text("call_id")},
                      {"type", "function"},
                      {"function", {{"name", item.text("name")}, {"arguments", item.text("arguments")}}}};
  if (item.find("call_id") == nullptr) item.refuse("call_id", "is missing");
  if (item.find("name") == nullptr) item.refuse("name", "is missing");
  const bool is_behind = !messages.list.empty() && messages.list.back()["role"] == "assistant";
  if (!is_behind) messages.add({{"role", "assistant"}, {"content", nullptr}}, origin);
  messages.list.back()["tool_calls"].push_back(std::move(call));
}

void add_item(Messages& messages, const OrderedJson& entry, int64_t origin) {
  const std::string where = fmt::format("input[{}]", origin);
  if (!entry.is_object()) refuse_parameter(where, "must be an object");
  const Fields item(entry, where + ".");
  const std::string type = item.find("type") == nullptr ? "message" : item.text("type");
  if (type == "message") {
    OrderedJson message = {{"role", item.text("role")}};
    if (const OrderedJson* content = item.find("content")) message["content"] = *content;
    if (message["content"].is_array())
      for (OrderedJson& part : message["content"])
        if (part.is_object()) part.erase("logprobs");  // of an answer that is sent back
    messages.add(std::move(message), origin);
  } else if (type == "function_call") {
    add_call(messages, item, origin);
  } else if (type == "function_call_output") {
    const OrderedJson* const output = item.find("output");
    if (output == nullptr) item.refuse("output", "is missing");
    messages.add({{"role", "tool"}, {"tool_call_id", item.text("call_id")}, {"content", *output}}, origin);
  } else {
    item.refuse("type", "must be message, function_call or function_call_output; others are not supported");
  }
  item.refuse_others({"id", "status"});
}

Messages messages_of(const Fields& fields) {
  Messages messages;
  if (const std::string instructions = fields.text("instructions"); !instructions.empty())
    messages.add({{"role", "system"}, {"content", instructions}}, -1);
  const OrderedJson* const input = fields.find("input");
  if (input == nullptr) throw ApiError(400, "the parameter 'input' is missing", "input");
  if (input->is_string()) {
    messages.add({{"role", "user"}, {"content", *input}}, 0);
    return messages;
  }
  if (!input->is_array() || input->empty())
    fields.refuse("input", "must be a string, or a list of messages, calls and their outputs");
  int64_t count = 0;
  for (const OrderedJson& entry : *input) add_item(messages, entry, count++);
  return messages;
}

// A function stands in an object of its own in chats.
void add_tools(const Fields& fields, OrderedJson& chat) {
  const OrderedJson* const tools = fields.find("tools");
  if (tools != nullptr) {
    if (!tools->is_array()) fields.refuse("tools", "must be a list of functions");
    for (const OrderedJson& tool : *tools) {
      OrderedJson function = tool;
      if (!tool.is_object() || tool.value("type", OrderedJson()) != "function")
        refuse_parameter(fmt::format("tools[{}]", chat["tools"].size()),
                         "must have the type 'function'; others are not supported");
      function.erase("type");
      chat["tools"].push_back({{"type", "function"}, {"function", std::move(function)}});
    }
  }
  if (const OrderedJson* choice = fields.find("tool_choice")) {
    chat["tool_choice"] = *choice;
    if (choice->is_object())
      chat["tool_choice"] = {{"type", "function"},
                             {"function", {{"name", choice->value("name", OrderedJson())}}}};
  }
  if (fields.find("parallel_tool_calls") != nullptr)
    chat["parallel_tool_calls"] = fields.flag("parallel_tool_calls", true);
}

void add_format(const Fields& fields, OrderedJson& chat) {
  const OrderedJson* const text = fields.find("text");
  if (text == nullptr) return;
  if (!text->is_object()) fields.refuse("text", "must be an object");
  const Fields of_text(*text, "text.");
  if (const OrderedJson* format = of_text.find("format")) {
    if (!format->is_object()) of_text.refuse("format", "must be an object");
    OrderedJson schema = *format;
    schema.erase("type");
    chat["response_format"] = {{"type", format->value("type", OrderedJson())}};
    if (!schema.empty()) chat["response_format"]["json_schema"] = std::move(schema);
  }
  of_text.refuse_others({});
}

// The name of what a chat's parameter came from.
std::string renamed(const std::string& parameter, const std::vector<int64_t>& origins) {
  const std::string list = "messages[";
  if (parameter.starts_with(list)) {
    const size_t end = parameter.find(']');
    const auto index = static_cast<size_t>(std::stoll(parameter.substr(list.size(), end - list.size())));
    const int64_t origin = index < origins.size() ? origins[index] : -1;
    return origin < 0 ? "instructions" : fmt::format("input[{}]{}", origin, parameter.substr(end + 1));
  }
  if (parameter.starts_with("response_format.json_schema")) return "text.format" + parameter.substr(27);
  if (parameter.starts_with("response_format")) return "text.format" + parameter.substr(15);
  if (parameter.starts_with("messages")) return "input";
  if (parameter == "max_completion_tokens") return "max_output_tokens";
  return parameter;
}

}  // namespace

ApiRequest parse_response(std::string_view body) {
  const OrderedJson json = parse_ordered_body(body);
  const Fields fields(json);
  const Messages messages = messages_of(fields);
  OrderedJson chat = {{"messages", messages.list}};
  add_tools(fields, chat);
  add_format(fields, chat);
  for (const auto& [name, in_chat] : {std::pair{"model", "model"},
                                      {"stream", "stream"},
                                      {"stream_options", "stream_options"},
                                      {"max_output_tokens", "max_completion_tokens"},
                                      {"temperature", "temperature"},
                                      {"top_p", "top_p"},
                                      {"seed", "seed"},
                                      {"top_k", "top_k"},
                                      {"min_p", "min_p"},
                                      {"ignore_eos", "ignore_eos"},
                                      {"grammar", "grammar"},
                                      {"chat_template_kwargs", "chat_template_kwargs"}})
    if (const OrderedJson* value = fields.find(name)) chat[in_chat] = *value;
  if (const OrderedJson* reasoning = fields.find("reasoning")) {
    if (!reasoning->is_object()) fields.refuse("reasoning", "must be an object");
    const Fields of_reasoning(*reasoning, "reasoning.");
    if (const std::string effort = of_reasoning.text("effort"); !effort.empty())
      chat["reasoning_effort"] = effort;
    of_reasoning.refuse_others({});
  }
  if (const std::string truncation = fields.text("truncation");
      !truncation.empty() && truncation != "disabled" && truncation != "auto")
    fields.refuse("truncation", "must be auto or disabled");
  if (fields.text("truncation") == "auto")
    fields.refuse("truncation", "must be disabled: nothing is left out of a conversation");
  if (fields.flag("background", false)) fields.refuse("background", "is not supported");
  fields.refuse_others({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                        "prompt_cache_retention"});
  ApiRequest request;
  try {
    request = parse_completion_fields(chat, true);
  } catch (const ApiError& error) {
    const std::string name = renamed(error.parameter, messages.origins);
    std::string message = error.message;
    if (const size_t at = message.find("'" + error.parameter + "'"); at != std::string::npos)
      message.replace(at + 1, error.parameter.size(), name);
    throw ApiError(error.status, message, name, error.code);
  }
  OrderedJson told = {{"text", {{"format", {{"type", "text"}}}}},
                      {"truncation", "disabled"},
                      {"parallel_tool_calls", true},
                      {"temperature", 1.0},
                      {"top_p", 1.0},
                      {"tool_choice", "auto"},
                      {"tools", OrderedJson::array()},
                      {"metadata", OrderedJson::object()},
                      {"instructions", nullptr},
                      {"max_output_tokens", nullptr},
                      {"reasoning", nullptr}};
  for (auto& [name, value] : told.items())
    if (const OrderedJson* given = fields.find(name.c_str())) value = *given;
  request.told = std::move(told);
  return request;
}

}  // namespace weft::serve
