// Embeddings of texts, as OpenAI's clients ask for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api_request.h"
#include "serve/sentence_transformer.h"

namespace weft::serve {

struct EmbeddingRequest {
  std::string model;  // "": whichever there is
  std::vector<Prompt> inputs;
  bool add_special_tokens = true;  // what the tokenizer puts around texts
  bool is_base64 = false;          // float32, the low byte first
  Pooling pooling = Pooling::Mean;
  bool is_normalized = true;  // to length 1
  int64_t dimensions = 0;  // that are kept, the first ones; 0: all
};

// ApiError 400 that names the parameter, as of dimensions that a model of `size` does not have.
EmbeddingRequest parse_embeddings(std::string_view body, int64_t size, const EmbeddingDefaults& defaults);
// The body: each embedding cut to the dimensions, and made as long as the request says.
std::string embeddings_json(const EmbeddingRequest& request, const std::string& model,
                            std::vector<std::vector<float>> embeddings, int64_t prompt_tokens);

}  // namespace weft::serve
