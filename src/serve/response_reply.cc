// source: OpenAI's reference of the Responses API's objects and streaming events.
#include "serve/response_reply.h"

#include <fmt/format.h>

namespace weft::serve {
namespace {

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

ResponseReply::ResponseReply(std::string id, const std::string& model, int64_t created,
                             const OrderedJson& told) {
  json_ = {{"id", std::move(id)},
           {"object", "response"},
           {"created_at", created},
           {"status", "in_progress"},
           {"error", nullptr},
           {"incomplete_details", nullptr},
           {"model", model},
           {"output", OrderedJson::array()},
           {"previous_response_id", nullptr},
           {"store", false},
           {"usage", nullptr}};
  json_.update(told);
}

std::string ResponseReply::event(const char* type, OrderedJson fields) {
  OrderedJson json = {{"type", type}, {"sequence_number", events_++}};
  json.update(fields);
  return fmt::format("event: {}\ndata: {}\n\n", type, text_of(json));
}

std::string ResponseReply::item_id(const char* kind) const {
  return fmt::format("{}_{}_{}", kind, json_["id"].get_ref<const std::string&>().substr(5),
                     json_["output"].size());
}

std::string ResponseReply::begin() {
  std::string events = event("response.created", {{"response", json_}});
  return events += event("response.in_progress", {{"response", json_}});
}

std::string ResponseReply::open(OrderedJson item) {
  std::string events = close();
  is_open_ = true;
  json_["output"].push_back(std::move(item));
  return events += event("response.output_item.added",
                         {{"output_index", json_["output"].size() - 1}, {"item", last()}});
}

// What is said of the item that is read to its end.
std::string ResponseReply::close() {
  if (!is_open_) return "";
  is_open_ = false;
  OrderedJson& item = last();
  const OrderedJson where = {{"item_id", item["id"]}, {"output_index", json_["output"].size() - 1}};
  const auto at = [&](OrderedJson fields) {
    OrderedJson all = where;
    all.update(fields);
    return all;
  };
  item["status"] = "completed";
  std::string events;
  if (item["type"] == "message") {
    const OrderedJson& part = item["content"][0];
    events = event("response.output_text.done",
                   at({{"content_index", 0}, {"text", part["text"]}, {"logprobs", OrderedJson::array()}}));
    events += event("response.content_part.done", at({{"content_index", 0}, {"part", part}}));
  } else {
    events = event("response.function_call_arguments.done",
                   at({{"name", item["name"]}, {"arguments", item["arguments"]}}));
  }
  return events +=
         event("response.output_item.done", {{"output_index", where["output_index"]}, {"item", item}});
}

std::string ResponseReply::add_text(const std::string& text) {
  std::string events;
  if (!is_open_ || last()["type"] != "message") {
    // What stands between calls alone is no message.
    if (!json_["output"].empty() && text.find_first_not_of(" \n\t") == std::string::npos) return "";
    events = open({{"id", item_id("msg")},
                   {"type", "message"},
                   {"status", "in_progress"},
                   {"role", "assistant"},
                   {"content", OrderedJson::array()}});
    const OrderedJson part = {{"type", "output_text"},
                              {"text", ""},
                              {"annotations", OrderedJson::array()},
                              {"logprobs", OrderedJson::array()}};
    last()["content"].push_back(part);
    events += event("response.content_part.added", {{"item_id", last()["id"]},
                                                    {"output_index", json_["output"].size() - 1},
                                                    {"content_index", 0},
                                                    {"part", part}});
  }
  last()["content"][0]["text"].get_ref<std::string&>() += text;
  return events += event("response.output_text.delta", {{"item_id", last()["id"]},
                                                        {"output_index", json_["output"].size() - 1},
                                                        {"content_index", 0},
                                                        {"delta", text},
                                                        {"logprobs", OrderedJson::array()}});
}

std::string ResponseReply::add_call(const CallPart& part) {
  std::string events;
  if (!part.name.empty()) {
    const std::string id = item_id("fc");
    events = open({{"id", id},
                   {"type", "function_call"},
                   {"status", "in_progress"},
                   {"call_id", call_id(json_["id"].get_ref<const std::string&>(), 0, part.index)},
                   {"name", part.name},
                   {"arguments", ""}});
  }
  if (part.arguments.empty()) return events;
  last()["arguments"].get_ref<std::string&>() += part.arguments;
  return events +=
         event("response.function_call_arguments.delta", {{"item_id", last()["id"]},
                                                          {"output_index", json_["output"].size() - 1},
                                                          {"delta", part.arguments}});
}

std::string ResponseReply::add(const CallPieces& pieces) {
  std::string events;
  if (!pieces.content.empty()) events += add_text(pieces.content);
  for (const CallPart& part : pieces.calls) events += add_call(part);
  return events;
}

std::string ResponseReply::finish(bool is_cut, int64_t input_tokens, int64_t output_tokens) {
  std::string events;
  if (json_["output"].empty()) events += add_text("");
  events += close();
  json_["status"] = is_cut ? "incomplete" : "completed";
  if (is_cut) {
    json_["incomplete_details"] = {{"reason", "max_output_tokens"}};
    last()["status"] = "incomplete";
  }
  json_["usage"] = {{"input_tokens", input_tokens},
                    {"input_tokens_details", {{"cached_tokens", 0}}},
                    {"output_tokens", output_tokens},
                    {"output_tokens_details", {{"reasoning_tokens", 0}}},
                    {"total_tokens", input_tokens + output_tokens}};
  return events += event(is_cut ? "response.incomplete" : "response.completed", {{"response", json_}});
}

std::string ResponseReply::error(const ApiError& failure) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
  };
  return event(
      "error",
      {{"code", or_null(failure.code)}, {"message", failure.message}, {"param", or_null(failure.parameter)}});
}

std::string ResponseReply::whole() const { return text_of(json_); }

}  // namespace weft::serve
