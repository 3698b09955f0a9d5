// Grammars as llama.cpp writes them (GBNF).
#pragma once

#include <string_view>

#include "serve/grammar_rules.h"

namespace weft::serve {

// Rules `name ::= …`, of which `root` is the text: "texts", [classes], ., names, groups, |, * + ? {m} {m,}
// {m,n}, # comments. ValueError with the line for what is none. source: llama.cpp, grammars/README.md.
GrammarRules parse_gbnf(std::string_view text);

}  // namespace weft::serve
