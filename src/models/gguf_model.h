// A GGUF file as a checkpoint: what its metadata says in the words of config.json, and where its tensors lie.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/checkpoint.h"
#include "models/gguf.h"
#include "weft/models/tokenizer.h"

namespace weft::models {

// ValueError naming the file for an architecture or a key of it that weft does not know.
DecoderConfig gguf_config(const GgufFile& file);
std::shared_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file);
// The template that its metadata carries.
std::optional<std::string> gguf_chat_template(const GgufFile& file);
std::unique_ptr<Checkpoint> gguf_checkpoint(const std::string& path);

}  // namespace weft::models
