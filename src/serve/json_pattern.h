// Regular expressions of JSON Schema as rules.
#pragma once

#include <string_view>

#include "serve/json_rules.h"

namespace weft::serve {

// The content of a string that has a match, each character as it may be written in JSON: characters, classes,
// groups, alternatives, repetitions, ^ at the beginning and $ at the end. ValueError that names what else
// there is.
RuleBuilder::Sequence pattern_rule(JsonRules& rules, std::string_view pattern);

}  // namespace weft::serve
