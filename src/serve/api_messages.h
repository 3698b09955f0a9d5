// Conversations of chat requests: messages and tools, checked, as a chat template takes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/api_fields.h"
#include "serve/tool_calls.h"

namespace weft::serve {

struct ToolDefinition {
  std::string name;
  OrderedJson parameters;  // a JSON Schema; an empty object where there is none
  bool is_strict = false;  // calls are held to it, also those that nobody asked for
};

struct ToolOptions {
  std::vector<ToolDefinition> tools;
  enum class Choice : uint8_t { None, Auto, Required } choice = Choice::None;
  std::string function;  // the one that must be called; "": any
  bool parallel = true;  // more than one call
  // By the model's template: how calls are written, and what the text is made to begin with.
  std::optional<CallFormat> format = std::nullopt;
  std::string opening = "";

  // Calls that the model may make of itself are held to a schema.
  bool holds_free_calls() const;
};

// The variables of a template, from the fields of a request's body. What clients send as a tool call's
// arguments (JSON as a text) is an object there. ApiError that names the part which is wrong.
OrderedJson parse_conversation(const Fields& fields, ToolOptions& tools);
// They as ChatTemplate takes them.
std::string conversation_text(const OrderedJson& variables);
// Sets how the model writes calls; 400 where the template has no tools, or writes calls in no way that weft
// knows.
void choose_call_format(ToolOptions& tools, std::string_view template_sources);

}  // namespace weft::serve
