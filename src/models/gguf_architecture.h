// What llama.cpp's architectures are called and how their files differ from checkpoints of transformers: for
// reading and for writing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/models/config.h"

namespace weft::models {

struct GgufArchitecture {
  const char* model_type;
  // Rows of queries and keys were written so that pairs of elements that turn lie side by side.
  bool is_permuted = false;
  // Of a head's elements, rope.dimension_count turn.
  bool turns_in_part = false;
  const char* eps_key = "rms_norm_eps";  // of config.json
};

// By general.architecture.
const std::map<std::string, GgufArchitecture>& gguf_architectures();
// The description with the tensors' names in these files.
void name_as_gguf(DecoderConfig& config);
// Of byte pairs: by tokenizer.ggml.pre, the patterns that split a text one after the other, before bytes are
// letters; "" for GPT-2's.
const std::map<std::string, std::vector<std::string>>& gguf_pre_tokenizers();

}  // namespace weft::models
