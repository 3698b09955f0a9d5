#include "serve/call_grammar.h"

#include <algorithm>

#include "serve/gbnf.h"
#include "serve/json_schema.h"

namespace weft::serve {
namespace {

// With special tokens as the bytes of their marks.
std::string with_marks(std::string text, const std::vector<std::string>& marks) {
  for (size_t i = 0; i < marks.size(); ++i)
    for (size_t at = text.find(marks[i]); at != std::string::npos; at = text.find(marks[i], at + 1))
      text.replace(at, marks[i].size(), 1, static_cast<char>(mark_byte(i)));
  return text;
}

// Of calls that nobody asked for, only those of strict functions are held to their schemas.
OrderedJson schema_of_arguments(const ToolDefinition& tool, bool is_free) {
  if (is_free && !tool.is_strict) return {{"type", "object"}};
  OrderedJson schema = tool.parameters;
  if (schema.empty()) schema["additionalProperties"] = false;  // it has none
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

std::vector<JsonCall> calls_behind(const ToolOptions& tools, bool is_free, const std::string& opening,
                                   const std::vector<std::string>& marks) {
  std::vector<JsonCall> calls;
  for (const ToolDefinition& tool : tools.tools) {
    if (!tools.function.empty() && tool.name != tools.function) continue;
    const std::string whole = call_opening(*tools.format, tool.name);
    calls.push_back({with_marks(whole.substr(opening.size()), marks), schema_of_arguments(tool, is_free)});
  }
  return calls;
}

// is_free: any text may stand before calls.
JsonCalls call_rules_of(const ToolOptions& tools, bool is_free, const std::vector<std::string>& marks) {
  const std::string opening = is_free ? std::string(call_begin(*tools.format)) : tools.opening;
  JsonCalls calls{.first = calls_behind(tools, is_free, opening, marks), .more = {}, .end = "}"};
  if (is_free)
    calls.free_text = {.begin = with_marks(opening, marks),
                       .is_at_start = *tools.format == CallFormat::PlainJson,
                       .may_go_on = *tools.format == CallFormat::Tags && tools.parallel};
  // What stands before a first call, and not before the next in a list.
  std::string begin;
  switch (*tools.format) {
    case CallFormat::Tags:
      calls.close = {with_marks("\n</tool_call>", marks)};
      calls.between = {with_marks("\n</tool_call>\n", marks)};
      break;
    case CallFormat::Brackets:
      calls.close = {"]"};
      calls.between = {", ", ","};
      begin = "[TOOL_CALLS][";
      break;
    case CallFormat::PlainJson: return calls;
  }
  const bool is_list = !is_free || *tools.format == CallFormat::Brackets;
  if (tools.parallel && is_list) calls.more = calls_behind(tools, is_free, begin, marks);
  return calls;
}

}  // namespace

std::string answer_rules_key(const ApiRequest& request) {
  const ToolOptions& tools = request.tools;
  if (!request.grammar.empty()) return "grammar\n" + request.grammar;
  if (!request.schema && tools.choice != ToolOptions::Choice::Required && !tools.holds_free_calls())
    return "";
  OrderedJson key = {{"schema", request.schema.value_or(nullptr)}};
  if (tools.choice != ToolOptions::Choice::None) {
    key["function"] = tools.function, key["opening"] = tools.opening, key["parallel"] = tools.parallel;
    key["free"] = tools.holds_free_calls();
    for (const ToolDefinition& tool : tools.tools)
      key["tools"].push_back({tool.name, tool.parameters, tool.is_strict});
  }
  return key.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::optional<GrammarRules> answer_rules(const ApiRequest& request, const std::vector<std::string>& marks) {
  if (!request.grammar.empty()) return parse_gbnf(request.grammar);
  if (request.tools.choice == ToolOptions::Choice::None)
    return request.schema ? std::optional(json_schema_rules(*request.schema)) : std::nullopt;
  const bool is_free = !request.schema && request.tools.holds_free_calls();
  if (!request.schema && !is_free && request.tools.choice != ToolOptions::Choice::Required)
    return std::nullopt;
  JsonCalls calls = call_rules_of(request.tools, is_free, marks);
  calls.otherwise = request.schema;
  return json_call_rules(calls);
}

}  // namespace weft::serve
