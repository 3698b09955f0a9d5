#include "serve/api_messages.h"

#include <algorithm>

#include "core/printable.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr size_t kMostMessages = 4096, kMostTools = 128;

// A string, or parts that are texts.
std::string parse_content(const OrderedJson* content, const std::string& where) {
  if (content == nullptr) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) refuse_parameter(where + ".content", "must be a string or a list of parts");
  std::string text;
  for (const OrderedJson& part : *content) {
    const char* no_text = "has a part that is no text; others are not supported";
    if (!part.is_object()) refuse_parameter(where + ".content", no_text);
    const Fields fields(part, where + ".content.");
    const OrderedJson *type = fields.find("type"), *written = fields.find("text");
    const bool is_text = type && (*type == "text" || *type == "input_text" || *type == "output_text");
    if (!is_text || !written || !written->is_string()) refuse_parameter(where + ".content", no_text);
    text += written->get<std::string>();
    fields.refuse_others({"annotations", "cache_control"});
  }
  return text;
}

// Templates write arguments as JSON: as an object they do so in the model's own way.
OrderedJson parse_arguments_of_call(const OrderedJson& arguments, const std::string& where) {
  if (arguments.is_object()) return arguments;
  if (!arguments.is_string()) refuse_parameter(where, "must be a string with a JSON object");
  const std::string& text = arguments.get_ref<const std::string&>();
  if (text.empty()) return OrderedJson::object();
  try {
    OrderedJson parsed = parse_ordered_json(text, where);
    if (parsed.is_object()) return parsed;
  } catch (const Error&) {
  }
  return arguments;  // what a model wrote that is no JSON stays as it is
}

OrderedJson parse_tool_calls(const OrderedJson& calls, const std::string& where) {
  if (!calls.is_array()) refuse_parameter(where, "must be a list of calls");
  OrderedJson parsed = OrderedJson::array();
  for (const OrderedJson& call : calls) {
    const std::string at = fmt::format("{}[{}]", where, parsed.size());
    const OrderedJson function = call.is_object() ? call.value("function", OrderedJson()) : OrderedJson();
    if (!function.is_object() || !function.value("name", OrderedJson()).is_string())
      refuse_parameter(at, "must be an object with a function, which has a name and arguments");
    OrderedJson made = call;
    made["type"] = "function";
    made["function"]["arguments"] =
        parse_arguments_of_call(function.value("arguments", OrderedJson("")), at + ".function.arguments");
    parsed.push_back(std::move(made));
  }
  return parsed;
}

OrderedJson parse_messages(const OrderedJson* value) {
  if (value == nullptr) throw ApiError(400, "the parameter 'messages' is missing", "messages");
  if (!value->is_array() || value->empty() || value->size() > kMostMessages)
    refuse_parameter("messages", "must be a list of between 1 and 4096 messages");
  OrderedJson messages = OrderedJson::array();
  for (const OrderedJson& message : *value) {
    const std::string where = fmt::format("messages[{}]", messages.size());
    if (!message.is_object()) refuse_parameter(where, "must be an object with a role and a content");
    const Fields fields(message, where + ".");
    const std::string role = fields.text("role");
    if (role != "system" && role != "developer" && role != "user" && role != "assistant" && role != "tool")
      refuse_parameter(where + ".role", "must be system, developer, user, assistant or tool");
    OrderedJson made = {{"role", role == "developer" ? "system" : role},
                        {"content", parse_content(fields.find("content"), where)}};
    if (const OrderedJson* calls = fields.find("tool_calls"); calls != nullptr && !calls->empty()) {
      if (role != "assistant") fields.refuse("tool_calls", "belongs to messages of the assistant");
      made["tool_calls"] = parse_tool_calls(*calls, where + ".tool_calls");
    }
    for (const char* name : {"name", "tool_call_id", "reasoning_content"})
      if (const std::string text = fields.text(name); !text.empty()) made[name] = text;
    fields.refuse_others({"annotations"});  // citations in an answer that is sent back
    messages.push_back(std::move(made));
  }
  return messages;
}

void parse_tools(const Fields& fields, ToolOptions& options, OrderedJson& variables) {
  const OrderedJson* tools = fields.find("tools");
  const OrderedJson* choice = fields.find("tool_choice");
  options.parallel = fields.flag("parallel_tool_calls", true);
  if (tools == nullptr || tools->empty()) {
    if (choice != nullptr && *choice != "none" && *choice != "auto")
      fields.refuse("tool_choice", "needs 'tools'");
    return;
  }
  if (!tools->is_array() || tools->size() > kMostTools)
    fields.refuse("tools", "must be a list of at most 128 functions");
  for (const OrderedJson& tool : *tools) {
    const std::string where = fmt::format("tools[{}]", options.tools.size());
    if (!tool.is_object() || tool.value("type", OrderedJson()) != "function")
      refuse_parameter(where, "must have the type 'function'; others are not supported");
    const OrderedJson function = tool.value("function", OrderedJson());
    if (!function.is_object() || !function.value("name", OrderedJson()).is_string())
      refuse_parameter(where + ".function", "must be an object with a name");
    const OrderedJson parameters = function.value("parameters", OrderedJson::object());
    if (!parameters.is_object() && !parameters.is_null())
      refuse_parameter(where + ".function.parameters", "must be a JSON Schema");
    options.tools.push_back({function["name"].get<std::string>(),
                             parameters.is_null() ? OrderedJson::object() : parameters,
                             Fields(function, where + ".function.").flag("strict", false)});
  }
  options.choice = ToolOptions::Choice::Auto;
  if (choice != nullptr) {
    const OrderedJson named = choice->is_object() ? choice->value("function", OrderedJson()) : OrderedJson();
    if (*choice == "none") {
      options.choice = ToolOptions::Choice::None;
    } else if (*choice == "required") {
      options.choice = ToolOptions::Choice::Required;
      if (options.tools.size() == 1) options.function = options.tools[0].name;
    } else if (named.is_object() && named.value("name", OrderedJson()).is_string()) {
      options.choice = ToolOptions::Choice::Required;
      options.function = named["name"].get<std::string>();
      const bool is_known =
          std::any_of(options.tools.begin(), options.tools.end(),
                      [&](const ToolDefinition& tool) { return tool.name == options.function; });
      if (!is_known)
        fields.refuse("tool_choice",
                      fmt::format("names '{}', which is none of the tools", printable(options.function)));
    } else if (*choice != "auto") {
      fields.refuse("tool_choice", "must be none, auto, required, or an object that names a function");
    }
  }
  if (options.choice != ToolOptions::Choice::None) variables["tools"] = *tools;
}

}  // namespace

bool ToolOptions::holds_free_calls() const {
  return choice == Choice::Auto &&
         std::any_of(tools.begin(), tools.end(), [](const ToolDefinition& tool) { return tool.is_strict; });
}

void choose_call_format(ToolOptions& tools, std::string_view template_sources) {
  if (tools.choice == ToolOptions::Choice::None) return;
  if (template_sources.find("tools") == std::string_view::npos)
    refuse_parameter("tools", "is not supported by this model: its chat template has no tools");
  tools.format = call_format_of(template_sources);
  if (!tools.format)
    refuse_parameter(
        "tools", "is not supported for this model: weft does not know how its chat template writes calls");
  if (tools.choice == ToolOptions::Choice::Required)
    tools.opening = call_opening(*tools.format, tools.function);
}

std::string conversation_text(const OrderedJson& variables) {
  return variables.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson parse_conversation(const Fields& fields, ToolOptions& tools) {
  OrderedJson variables = {{"messages", parse_messages(fields.find("messages"))}};
  parse_tools(fields, tools, variables);
  if (const OrderedJson* documents = fields.find("documents")) {
    if (!documents->is_array()) fields.refuse("documents", "must be a list");
    variables["documents"] = *documents;
  }
  if (const std::string effort = fields.text("reasoning_effort"); !effort.empty())
    variables["reasoning_effort"] = effort;
  if (const OrderedJson* more = fields.find("chat_template_kwargs")) {
    if (!more->is_object()) fields.refuse("chat_template_kwargs", "must be an object");
    for (const auto& [name, value] : more->items()) {
      if (name == "messages" || name == "tools")
        fields.refuse("chat_template_kwargs", fmt::format("may not set '{}'", name));
      variables[name] = value;
    }
  }
  return variables;
}

}  // namespace weft::serve
