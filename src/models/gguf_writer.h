// A checkpoint as a GGUF file: `weft quantize` to a name that ends so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/json.h"
#include "models/checkpoint.h"

namespace weft::models {

// How its matrices are stored: "q8_0", "q4_0", "f32", "f16", "bf16".
std::vector<std::string> gguf_schemes();
// The checkpoint of `folder`, with its tokenizer. Matrices whose rows are not whole blocks are float16, as
// llama.cpp writes them, norms and routers float32. ValueError naming what the format, or weft, has no way to
// say. `progress`: layers done of all.
void write_gguf(const std::string& folder, std::shared_ptr<const Checkpoint> checkpoint,
                const std::string& scheme, const std::string& path,
                const std::function<void(int64_t, int64_t)>& progress = nullptr);

// The folder's tokenizer and template for conversations, as values of `metadata`.
void add_gguf_tokenizer(const std::string& folder, const DecoderConfig& config,
                        nlohmann::ordered_json& metadata);

}  // namespace weft::models
