// Grammars of what a JSON Schema describes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "serve/grammar_rules.h"

namespace weft::serve {

// What the schema describes, in a part of the ways that it allows: properties in their order, those that are
// not named only where additionalProperties says so, at most 16 digits. ValueError that names the keyword,
// and where, for those that are not followed; annotations (title, description, default, …) say nothing.
// source: JSON Schema 2020-12.
GrammarRules json_schema_rules(const OrderedJson& schema);

// Texts with values between them, as a model writes a call of a function.
struct JsonCall {
  std::string before;  // in front of the arguments
  OrderedJson schema;  // of the arguments
};
struct JsonCalls {
  std::vector<JsonCall> first;  // the text begins with one of them,
  std::vector<JsonCall> more;   // and any number of these may follow; none where empty
  std::string end;              // behind arguments
  // Between two calls, and at the end, where a text may end as well: marks (grammar_rules.h) or texts.
  std::vector<std::string> between = {}, close = {};
  std::optional<OrderedJson> otherwise = {};  // a schema of what the text may be in place of calls
  // Free text that calls may stand in. What they begin with is in none of them, nor in the text before them.
  struct FreeText {
    std::string begin;
    bool is_at_start = false;  // calls are the whole text, which is free where it begins otherwise
    bool may_go_on = false;    // behind the first of `close` there is free text again, with more calls
  };
  std::optional<FreeText> free_text = {};
};
GrammarRules json_call_rules(const JsonCalls& calls);

}  // namespace weft::serve
