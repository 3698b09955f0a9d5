// What `weft serve --model` answers: OpenAI's completions over an engine, figures, and a page to try it.
#pragma once

#include <memory>
#include <string>

#include "serve/api_service.h"
#include "serve/engine.h"
#include "serve/sentence_transformer.h"
#include "weft/models/chat.h"

namespace weft::serve {

struct LlmServiceOptions {
  ApiServiceOptions api;
  std::shared_ptr<const models::ChatTemplate> chat;
  EmbeddingDefaults embeddings = {};
};

// The engine must have been started.
std::shared_ptr<Service> make_llm_service(std::shared_ptr<Engine> engine,
                                          std::shared_ptr<const models::Tokenizer> tokenizer,
                                          LlmServiceOptions options);

// The page at /.
const std::string& page_html();

}  // namespace weft::serve
