// The chat templates that weft has for checkpoints without one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizer.h"

namespace weft::models {

struct BuiltInTemplate {
  const char* name;
  const char* source;
  const char* token;  // that the tokenizer must have; "": none
};

// Null for another name.
const BuiltInTemplate* find_built_in_template(std::string_view name);
std::vector<std::string> built_in_template_names();
const BuiltInTemplate& built_in_template_for(const Tokenizer& tokenizer, std::string_view model_type);

}  // namespace weft::models
