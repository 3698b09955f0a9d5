// What sentence-transformers' files beside a model say of its embeddings: modules.json, the configuration of
// its pooling (1_Pooling/config.json), and the prompts of config_sentence_transformers.json.
#pragma once

#include <map>
#include <string>

#include "serve/engine.h"

namespace weft::serve {

struct EmbeddingDefaults {
  Pooling pooling = Pooling::Mean;
  bool is_normalized = true;                        // to length 1
  std::map<std::string, std::string> prompts = {};  // what stands before texts, by names that requests give
  std::string prompt = {};                          // before those whose request names none
  std::string refusal = {};                         // why weft does not compute them; "": it does
};

// Of a model's folder; the defaults where it has no such files, as of a GGUF file. ValueError for files that
// are damaged.
EmbeddingDefaults read_embedding_defaults(const std::string& model);

}  // namespace weft::serve
