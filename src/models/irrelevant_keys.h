// The keys of a model's files that weft reads past, each with the reason.
#pragma once

#include <span>

#include "models/json_fields.h"

namespace weft::models {

std::span<const IrrelevantKey> irrelevant_config_keys();  // config.json
// config.json of a model of several kinds of input: keys that are not of its text part (text_part.h).
std::span<const IrrelevantKey> irrelevant_keys_of_other_parts();
std::span<const IrrelevantKey> irrelevant_generation_keys();  // generation_config.json
std::span<const IrrelevantKey> irrelevant_params_keys();      // params.json

}  // namespace weft::models
