// Any bytes given as a request's body are refused with an answer that is JSON, or are a request whose numbers
// the engine can take.
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/support.h"
#include "serve/api_request.h"
#include "serve/embeddings.h"
#include "serve/response_request.h"

// Words and characters as of a program's source, so that most bodies stay JSON.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return weft::fuzz::mutate_text(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft::serve;
  using weft::fuzz::require;
  const std::string_view body = weft::fuzz::text_of(data, size);
  try {
    const EmbeddingRequest request = parse_embeddings(body, 64, {});
    require(!request.inputs.empty() && request.dimensions >= 0 && request.dimensions <= 64);
  } catch (const ApiError& error) {
    require(error.status == 400 && !error.message.empty());
  }
  constexpr const char *kText = "completion", *kChat = "chat", *kResponse = "response";
  for (const char* kind : {kText, kChat, kResponse}) try {
      const bool is_chat = kind != kText;
      const ApiRequest request = kind == kResponse ? parse_response(body) : parse_completion(body, is_chat);
      require(request.told.has_value() == (kind == kResponse));
      request.sampling.check();
      require(is_chat ? !request.conversation.empty() : !request.prompts.empty());
      require(request.n >= 1 && request.max_tokens.value_or(1) >= 1);
      require(request.logprobs.value_or(0) >= 0 && request.logprobs.value_or(0) <= 20);
      for (const std::string& stop : request.stop) require(!stop.empty());
      for (const Prompt& prompt : request.prompts)
        for (const int64_t token : prompt.tokens) require(token >= 0 && token <= INT32_MAX);
    } catch (const ApiError& error) {
      require(error.status == 400 && !error.message.empty());
      require(nlohmann::json::parse(error.json())["error"]["type"] == "invalid_request_error");
    }
  return 0;
}
