// The text part of a model of several kinds of input, which is a language model by itself: its configuration
// stands in `text_config`, its tensors behind `language_model`.
#pragma once

#include <optional>
#include <string>

#include "io/json.h"

namespace weft::models {

// config.json as a folder with the text part alone would have it.
struct TextConfiguration {
  Json json;
  std::string around = {};  // the model_type of the whole; "": config.json is of a language model alone
};
// ValueError for a whole model that weft does not have, and for a key of it that is neither understood nor
// known to change nothing about its texts.
TextConfiguration text_configuration(const Json& config, const std::string& where);

// What a folder with the text part alone would call the tensor; nothing for one of another part. ValueError
// for one that is neither.
std::optional<std::string> name_in_text_part(const std::string& stored, const std::string& where);

}  // namespace weft::models
