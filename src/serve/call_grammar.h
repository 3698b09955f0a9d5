// Which text a request's answer may be, as a grammar.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/api_request.h"
#include "serve/grammar_rules.h"

namespace weft::serve {

// Of the request's `grammar`, its schema, and the calls of tools that it requires or may have beside the
// schema; nothing where any text may come. `marks`: texts of special tokens that are the marks of the
// vocabulary. ValueError names what cannot be followed.
std::optional<GrammarRules> answer_rules(const ApiRequest& request, const std::vector<std::string>& marks);
// The same for requests with the same rules; "" where there are none.
std::string answer_rules_key(const ApiRequest& request);

}  // namespace weft::serve
