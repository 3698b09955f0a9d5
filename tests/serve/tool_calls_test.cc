#include "serve/tool_calls.h"

#include <gmock/gmock.h>

#include <map>

namespace weft::serve {
namespace {

struct Parsed {
  std::string content;
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Parsed&) const = default;
};

// In pieces of each size: how a text was cut changes nothing.
Parsed parsed(CallFormat format, const std::string& text) {
  std::vector<Parsed> results;
  for (const size_t size : {text.size() + 1, size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    CallParser parser(format, {"weather", "time"});
    Parsed result;
    const auto note = [&](const CallPieces& pieces) {
      result.content += pieces.content;
      for (const CallPart& part : pieces.calls) {
        if (part.index >= result.calls.size()) result.calls.resize(part.index + 1);
        result.calls[part.index].first += part.name;
        result.calls[part.index].second += part.arguments;
      }
    };
    for (size_t at = 0; at < text.size(); at += size)
      note(parser.push(std::string_view(text).substr(at, size), false));
    note(parser.push("", true));
    EXPECT_EQ(parser.calls(), result.calls.size()) << text;
    results.push_back(result);
  }
  for (const Parsed& result : results) EXPECT_EQ(result, results[0]) << text;
  return results[0];
}

using Calls = std::vector<std::pair<std::string, std::string>>;

TEST(ToolCalls, Tags) {
  const auto of = [](const std::string& text) { return parsed(CallFormat::Tags, text); };
  EXPECT_EQ(of("Just text <b> and <tool_").content, "Just text <b> and <tool_");
  const Parsed one =
      of("I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Par\\\"is}\", \"n\": [1, "
         "{}]}}\n</tool_call>");
  EXPECT_EQ(one.content, "I look.\n");
  EXPECT_EQ(one.calls, (Calls{{"weather", "{\"city\": \"Par\\\"is}\", \"n\": [1, {}]}"}}));
  const Parsed two =
      of("<tool_call>{\"name\":\"weather\",\"arguments\":{}}</"
         "tool_call>\n<tool_call>{\"arguments\":{\"a\":1},\"name\":\"time\"}</tool_call>done");
  EXPECT_EQ(two.calls, (Calls{{"weather", "{}"}, {"time", "{\"a\":1}"}}));
  EXPECT_EQ(two.content, "done");
  // What is no call stays text.
  EXPECT_EQ(of("<tool_call>no</tool_call>").content, "<tool_call>no</tool_call>");
  EXPECT_EQ(of("<tool_call>{\"x\" 1}").content, "<tool_call>{\"x\" 1}");
  EXPECT_EQ(of("<tool_call>{\"n\": 5], \"name\": \"time\"}").content,
            "<tool_call>{\"n\": 5], \"name\": \"time\"}");
  // A call that breaks off: what follows is text, but for the end tag.
  EXPECT_EQ(of("<tool_call>{\"name\": \"time\", \"arguments\": {\"a\": 1}</tool_call>x"),
            (Parsed{"x", {{"time", "{\"a\": 1}"}}}));
  EXPECT_EQ(of("<tool_call>{\"name\": \"time\", \"arguments\": {\"a\": 1} no").content, "no");
  EXPECT_EQ(of("<tool_call>{\"name\": \"\"}").content, "<tool_call>{\"name\": \"\"}");
  // The text ends within a call.
  EXPECT_EQ(of("<tool_call>{\"name\": \"time\", \"arguments\": {\"a\": ").calls,
            (Calls{{"time", "{\"a\": "}}));
  EXPECT_EQ(of("<tool_call>{\"name\": \"ti").content, "<tool_call>{\"name\": \"ti");
  EXPECT_EQ(of("<tool_call>{\"id\": 5, \"x\": true, \"name\": \"time\", \"arguments\": \"{\\\"a\\\": "
               "1}\"}</tool_call>")
                .calls,
            (Calls{{"time", "{\"a\": 1}"}}));
}

TEST(ToolCalls, Brackets) {
  const auto of = [](const std::string& text) { return parsed(CallFormat::Brackets, text); };
  EXPECT_EQ(of("[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"a\": 1}}, {\"name\": \"time\", "
               "\"arguments\": {}}]")
                .calls,
            (Calls{{"weather", "{\"a\": 1}"}, {"time", "{}"}}));
  EXPECT_EQ(of("[TOOL_CALLS]weather{\"a\": 1}[TOOL_CALLS]time[ARGS]{}").calls,
            (Calls{{"weather", "{\"a\": 1}"}, {"time", "{}"}}));
  EXPECT_EQ(of("[TOOL_CALLS]time[CALL_ID]a1b2[ARGS]{\"a\": 1}").calls, (Calls{{"time", "{\"a\": 1}"}}));
  EXPECT_EQ(of("[TOOL_CALLS]no call {").content, "[TOOL_CALLS]no call {");
  EXPECT_EQ(of("a [list] of [TOOL").content, "a [list] of [TOOL");
  EXPECT_EQ(of("[TOOL_CALLS][{\"name\": \"time\", \"arguments\": {}}] done").content, "done");
}

TEST(ToolCalls, PlainJson) {
  const auto of = [](const std::string& text) { return parsed(CallFormat::PlainJson, text); };
  EXPECT_EQ(of("{\"name\": \"weather\", \"parameters\": {\"a\": 1}}").calls,
            (Calls{{"weather", "{\"a\": 1}"}}));
  EXPECT_EQ(of("\n<|python_tag|>{\"name\": \"time\", \"parameters\": {}}").calls, (Calls{{"time", "{}"}}));
  EXPECT_EQ(of("{\"name\": \"time\", \"parameters\": {}}; {\"name\": \"weather\", \"parameters\": {}}").calls,
            (Calls{{"time", "{}"}, {"weather", "{}"}}));
  EXPECT_EQ(of("{\"name\": \"time\", \"parameters\": {}}, and").content, ", and");
  for (const char* text :
       {"Hello {\"name\": 1}", "{\"name\": \"other\", \"parameters\": {}}", "{\"a\": 1}", "<|py thon", "{"})
    EXPECT_EQ(of(text), (Parsed{text, {}})) << text;
}

TEST(ToolCalls, FormatsOfTemplates) {
  EXPECT_EQ(call_format_of("… <tool_call> …"), CallFormat::Tags);
  EXPECT_EQ(call_format_of("<tool_call>\n<function=name>"), std::nullopt);
  EXPECT_EQ(call_format_of("[TOOL_CALLS]"), CallFormat::Brackets);
  EXPECT_EQ(call_format_of("{% if tools %}<|start_header_id|>"), CallFormat::PlainJson);
  EXPECT_EQ(call_format_of("<|start_header_id|>"), std::nullopt);
  for (const CallFormat format : {CallFormat::Tags, CallFormat::Brackets, CallFormat::PlainJson}) {
    EXPECT_EQ(parsed(format, call_opening(format, "time") + "{\"a\": 1}}").calls,
              (Calls{{"time", "{\"a\": 1}"}}));
    EXPECT_EQ(parsed(format, call_opening(format, "") + "time\", \"arguments\": {}}").calls,
              (Calls{{"time", "{}"}}));
  }
}

}  // namespace
}  // namespace weft::serve
