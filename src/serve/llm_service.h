// What `weft serve --model` answers: OpenAI's completions over an engine, figures, and a page to try it.
#pragma once

#include <memory>
#include <string>

#include "serve/engine.h"
#include "serve/http.h"

namespace weft::serve {

struct LlmServiceOptions {
  std::string model_name;  // as clients name it
  std::string api_key;     // "": none is asked for
  models::ChatTemplate chat = models::ChatTemplate::None;
};

// The engine must have been started.
std::shared_ptr<Service> make_llm_service(std::shared_ptr<Engine> engine,
                                          std::shared_ptr<const models::Tokenizer> tokenizer,
                                          LlmServiceOptions options);

// The page at /.
const std::string& page_html();

}  // namespace weft::serve
