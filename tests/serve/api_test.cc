#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/support.h"
#include "serve/api_reply.h"
#include "serve/api_request.h"
#include "serve/llm_service.h"

namespace weft::serve {
namespace {

using models::stories;
using models::Tokenizer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

ApiError error_of_body(const std::string& body, bool is_chat = false) {
  try {
    parse_completion(body, is_chat);
  } catch (const ApiError& error) {
    return error;
  }
  return ApiError(0, "no error");
}

TEST(ApiRequests, Completions) {
  const ApiRequest request = parse_completion(
      R"({"model": "m", "prompt": "Hello", "max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "top_k": 40,
          "seed": 3, "n": 2, "stop": ["a", "b"], "logprobs": 2, "stream": true, "best_of": null,
          "stream_options": {"include_usage": true}, "user": "me", "logit_bias": {}, "unknown": []})",
      false);
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.prompts.size(), 1);
  EXPECT_EQ(request.prompts[0].text, "Hello");
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.seed, 3);
  EXPECT_EQ(request.n, 2);
  EXPECT_EQ(request.logprobs, 2);
  EXPECT_TRUE(request.has_seed && request.stream && request.include_usage);
  EXPECT_THAT(request.stop, ElementsAre("a", "b"));
  const ApiRequest plain = parse_completion(R"({"prompt": ""})", false);
  EXPECT_EQ(plain.sampling.temperature, 1.0);
  EXPECT_FALSE(plain.max_tokens || plain.logprobs || plain.has_seed || plain.stream || plain.echo);
}

TEST(ApiRequests, PromptsOfAllKinds) {
  const auto prompts = [](const std::string& prompt) {
    return parse_completion(R"({"prompt": )" + prompt + "}", false).prompts;
  };
  EXPECT_THAT(prompts("[1, 2, 3]").at(0).tokens, ElementsAre(1, 2, 3));
  EXPECT_EQ(prompts(R"(["a", [4], "b"])").size(), 3);
  EXPECT_THAT(prompts(R"(["a", [4], "b"])").at(1).tokens, ElementsAre(4));
  for (const char* wrong :
       {"[]", "[[]]", "5", "{}", "[1, \"a\"]", "[[1, 2.5]]", "[-1]", "[4294967296]", "[[[1]]]", "[true]"})
    EXPECT_EQ(error_of_body(std::string(R"({"prompt": )") + wrong + "}").parameter, "prompt") << wrong;
}

TEST(ApiRequests, Chats) {
  const ApiRequest request = parse_completion(
      R"({"messages": [{"role": "developer", "content": "Be brief."},
                       {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                       {"role": "assistant", "content": null}, {"role": "user", "content": "c", "name": "x"}],
          "logprobs": true, "top_logprobs": 3, "max_tokens": 9, "max_completion_tokens": 7})",
      true);
  const Json messages = Json::parse(request.conversation)["messages"];
  ASSERT_EQ(messages.size(), 4);
  EXPECT_EQ(messages[0]["role"], "system");
  EXPECT_EQ(messages[1]["content"], "ab");
  EXPECT_EQ(messages[2]["content"], "");
  EXPECT_EQ(messages[3]["name"], "x");
  EXPECT_EQ(request.logprobs, 3);
  EXPECT_EQ(request.max_tokens, 7);
}

TEST(ApiRequests, ErrorsNameTheParameter) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"prompt": "a", "max_tokens": 0})", "max_tokens"},
      {R"({"prompt": "a", "max_tokens": 1.5})", "max_tokens"},
      {R"({"prompt": "a", "max_tokens": 18446744073709551615})", "max_tokens"},
      {R"({"prompt": "a", "temperature": -1})", "temperature"},
      {R"({"prompt": "a", "temperature": "warm"})", "temperature"},
      {R"({"prompt": "a", "top_p": 1.5})", "top_p"},
      {R"({"prompt": "a", "n": 0})", "n"},
      {R"({"prompt": "a", "n": 100000})", "n"},
      {R"({"prompt": "a", "stream": 1})", "stream"},
      {R"({"prompt": "a", "stop": [""]})", "stop"},
      {R"({"prompt": "a", "stop": {"a": 1}})", "stop"},
      {R"({"prompt": "a", "logprobs": true})", "logprobs"},
      {R"({"prompt": "a", "logprobs": 21})", "logprobs"},
      {R"({"prompt": "a", "echo": true, "logprobs": 1})", "echo"},
      {R"({"prompt": "a", "best_of": 3})", "best_of"},
      {R"({"prompt": "a", "suffix": "b"})", "suffix"},
      {R"({"prompt": "a", "logit_bias": {"5": 101}})", "logit_bias"},
      {R"({"prompt": "a", "logit_bias": {"5x": 1}})", "logit_bias"},
      {R"({"prompt": "a", "logit_bias": {"-5": 1}})", "logit_bias"},
      {R"({"prompt": "a", "logit_bias": {"5": "1"}})", "logit_bias"},
      {R"({"prompt": "a", "logit_bias": [5]})", "logit_bias"},
      {R"({"prompt": "a", "presence_penalty": 2.1})", "presence_penalty"},
      {R"({"prompt": "a", "frequency_penalty": "x"})", "frequency_penalty"},
      {R"({"prompt": "a", "response_format": 5})", "response_format"},
      {R"({"prompt": "a", "stream_options": {"include_usage": true}})", "stream_options"},
      {R"({"prompt": "a", "seed": "x"})", "seed"},
      {R"({"prompt": "a", "unknown": [1]})", "unknown"},
      {R"({"prompt": "a", "unknown": false})", "unknown"},
      {R"({"prompt": "a", "tools": [5]})", "tools"},
      {R"({"prompt": "a", "modalities": ["audio"]})", "modalities"},
      {R"({"prompt": "a", "stream": true, "stream_options": {"more": 1}})", "stream_options.more"},
      {R"({"prompt": "a", "model": 5})", "model"},
      {R"({})", "prompt"},
  };
  for (const auto& [body, parameter] : wrong) {
    const ApiError error = error_of_body(body);
    EXPECT_EQ(error.status, 400) << body;
    EXPECT_EQ(error.parameter, parameter) << body;
    const Json json = Json::parse(error.json())["error"];
    EXPECT_EQ(json["type"], "invalid_request_error");
    EXPECT_EQ(json["param"], parameter);
    EXPECT_THAT(std::string(json["message"]), HasSubstr("'" + parameter + "'"));
  }
  const std::vector<std::pair<std::string, std::string>> wrong_chats = {
      {R"({})", "messages"},
      {R"({"messages": []})", "messages"},
      {R"({"messages": ["hi"]})", "messages[0]"},
      {R"({"messages": [{"role": "robot", "content": "a"}]})", "messages[0].role"},
      {R"({"messages": [{"role": "assistant", "tool_calls": [{}]}]})", "messages[0].tool_calls[0]"},
      {R"({"messages": [{"role": "assistant", "tool_calls": 5}]})", "messages[0].tool_calls"},
      {R"({"messages": [{"role": "user", "content": "a", "name": 5}]})", "messages[0].name"},
      {R"({"messages": [{"content": "a"}]})", "messages[0].role"},
      {R"({"messages": [{"role": "user", "content": "a", "audio": {"id": "1"}}]})", "messages[0].audio"},
      {R"({"messages": [{"role": "user", "content": "a", "tool_calls": [{}]}]})", "messages[0].tool_calls"},
      {R"({"messages": [{"role": "user", "content": "a"}], "echo": true})", "echo"},
      {R"({"messages": [{"role": "user", "content": "a"}], "prompt": "a"})", "prompt"},
      {R"({"messages": [{"role": "user", "content": "a"}], "parallel_tool_calls": 1})",
       "parallel_tool_calls"},
      {R"({"messages": [{"role": "user", "content": "a"}],
           "tools": [{"type": "function", "function": {"name": "f", "strict": 1}}]})",
       "tools[0].function.strict"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", "messages[0].content"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "messages[0].content"},
      {R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "more": 1}]}]})",
       "messages[0].content.more"},
      {R"({"messages": [{"role": "user", "content": "a"}], "tools": [{}]})", "tools[0]"},
      {R"({"messages": [{"role": "user", "content": "a"}], "tool_choice": "required"})", "tool_choice"},
      {R"({"messages": [{"role": "user", "content": "a"}], "documents": "d"})", "documents"},
      {R"({"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"tools": 1}})",
       "chat_template_kwargs"},
      {R"({"messages": [{"role": "user", "content": "a"}], "top_logprobs": 2})", "top_logprobs"},
  };
  for (const auto& [body, parameter] : wrong_chats)
    EXPECT_EQ(error_of_body(body, true).parameter, parameter) << body;
}

TEST(ApiRequests, WhatIsNoJson) {
  std::string deep(100, '[');
  for (const std::string& body : std::vector<std::string>{
           "", "{", "[]", "\"a\"", "null", "{\"prompt\": \"\xff\"}", deep,
           R"({"prompt": "a", "prompt": "b"})", R"({"prompt": "a"} x)", R"({"prompt": "\ud800"})"})
    EXPECT_EQ(error_of_body(body).status, 400) << body;
  EXPECT_THAT(error_of_body("{").message, HasSubstr("not valid JSON"));
}

Event event_of(int64_t choice, const std::string& text, int64_t generated,
               models::FinishReason finish = models::FinishReason::None) {
  Event event;
  event.choice = choice;
  event.text = text;
  event.generated_tokens = generated;
  event.finish = finish;
  return event;
}

std::vector<Json> events_of(const std::string& stream) {
  std::vector<Json> events;
  for (size_t at = 0, end = 0; (end = stream.find("\n\n", at)) != std::string::npos; at = end + 2) {
    const std::string data = stream.substr(at, end - at);
    EXPECT_TRUE(data.starts_with("data: "));
    if (data == "data: [DONE]")
      EXPECT_EQ(end + 2, stream.size());
    else
      events.push_back(Json::parse(data.substr(6)));
  }
  return events;
}

TEST(ApiReplies, WholeAndInPieces) {
  WEFT_NEEDS_STORIES();
  const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::open(stories());
  for (const bool is_chat : {false, true})
    for (const bool stream : {false, true}) {
      ApiRequest request;
      request.is_chat = is_chat, request.stream = request.include_usage = stream;
      request.n = 2;
      request.echo = !is_chat;
      ApiReply reply(request, "id", "m", 5, 7, {"Say "}, tokenizer);
      std::string written = reply.add(event_of(0, "", 1));
      EXPECT_EQ(written.empty(), !(stream && request.echo));  // what it echoes
      written += reply.add(event_of(0, "a\"\n", 2));
      written += reply.add(event_of(1, "c", 1, models::FinishReason::Length));
      EXPECT_FALSE(reply.is_finished());
      written += reply.add(event_of(0, "b", 3, models::FinishReason::EndToken));
      EXPECT_TRUE(reply.is_finished());
      const std::string before = is_chat ? "" : "Say ";
      if (!stream) {
        EXPECT_EQ(written, "");
        const Json json = Json::parse(reply.whole());
        EXPECT_EQ(json["object"], is_chat ? "chat.completion" : "text_completion");
        EXPECT_EQ(json["id"], "id");
        EXPECT_EQ(json["usage"],
                  Json::parse(R"({"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11})"));
        const Json& first = json["choices"][0];
        EXPECT_EQ(is_chat ? first["message"]["content"] : first["text"], before + "a\"\nb");
        EXPECT_EQ(first["finish_reason"], "stop");
        EXPECT_TRUE(first["logprobs"].is_null());
        EXPECT_EQ(json["choices"][1]["finish_reason"], "length");
        continue;
      }
      EXPECT_TRUE(written.ends_with("data: [DONE]\n\n"));
      const std::vector<Json> events = events_of(written);
      const size_t pieces = is_chat ? 3 : 4;
      ASSERT_EQ(events.size(), pieces + 1);
      std::string text;
      for (size_t i = 0; i < pieces; ++i) {
        const Json& choice = events[i]["choices"][0];
        EXPECT_EQ(events[i]["object"], is_chat ? "chat.completion.chunk" : "text_completion");
        if (choice["index"] == 0) text += is_chat ? choice["delta"]["content"] : choice["text"];
        EXPECT_TRUE(events[i]["usage"].is_null());
      }
      EXPECT_EQ(text, before + "a\"\nb");
      if (is_chat) {
        EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
      }
      EXPECT_EQ(events[pieces - 1]["choices"][0]["finish_reason"], "stop");
      EXPECT_TRUE(events[pieces]["choices"].empty());
      EXPECT_EQ(events[pieces]["usage"]["completion_tokens"], 4);
    }
}

TEST(ApiReplies, LogProbabilities) {
  WEFT_NEEDS_STORIES();
  const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::open(stories());
  const auto tokens = tokenizer->encode("Once upon", false);
  Event event = event_of(0, "Once upon", 2, models::FinishReason::Length);
  for (const int64_t token : tokens)
    event.tokens.push_back({.token = {token, -0.5f}, .likeliest = {{token, -0.5f}, {300, -2.0f}}});
  ApiRequest request;
  request.logprobs = 2;
  ApiReply completion(request, "id", "m", 5, 7, {""}, tokenizer);
  completion.add(event);
  const Json logprobs = Json::parse(completion.whole())["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), tokens.size());
  EXPECT_EQ(logprobs["token_logprobs"][0], -0.5);
  EXPECT_EQ(logprobs["top_logprobs"][0].size(), 2);
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  EXPECT_GT(logprobs["text_offset"][1], 0);
  request.is_chat = true;
  ApiReply chat(request, "id", "m", 5, 7, {""}, tokenizer);
  chat.add(event);
  const Json content = Json::parse(chat.whole())["choices"][0]["logprobs"]["content"];
  EXPECT_EQ(content.size(), tokens.size());
  EXPECT_EQ(content[0]["top_logprobs"].size(), 2);
  EXPECT_EQ(content[0]["bytes"].size(), tokenizer->token_bytes(tokens[0]).size());
}

TEST(Pages, IsAPage) {
  EXPECT_TRUE(page_html().starts_with("<!doctype html>"));
  EXPECT_TRUE(page_html().ends_with("</html>\n"));
  EXPECT_THAT(page_html(), HasSubstr("@media (prefers-color-scheme: dark)"));
  EXPECT_THAT(page_html(), HasSubstr("${(count / (now - first) * 1e3).toFixed(1)} tokens/s"));
}

}  // namespace
}  // namespace weft::serve
