// Conversations of chat requests: messages and tools, checked, as a chat template takes them.
#pragma once

#include <string>
#include <vector>

#include "serve/api_fields.h"

namespace weft::serve {

struct ToolDefinition {
  std::string name;
  OrderedJson parameters;  // a JSON Schema; an empty object where there is none
};

struct ToolOptions {
  std::vector<ToolDefinition> tools;
  enum class Choice : uint8_t { None, Auto, Required } choice = Choice::None;
  std::string function;  // the one that must be called; "": any
  bool parallel = true;  // more than one call
};

// The variables of a template, from the fields of a request's body. What clients send as a tool call's
// arguments (JSON as a text) is an object there. ApiError that names the part which is wrong.
OrderedJson parse_conversation(const Fields& fields, ToolOptions& tools);

}  // namespace weft::serve
