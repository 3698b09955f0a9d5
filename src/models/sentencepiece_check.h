// What SentencePiece's library takes for granted about a tokenizer.model, and reads out of bounds or ends the
// program where it does not hold.
#pragma once

#include <string>
#include <string_view>

namespace weft::models {

// ValueError naming the file for a damaged protocol buffer, pieces that cannot be searched for, and
// normalization rules that lead outside their table.
void check_sentencepiece(std::string_view bytes, const std::string& name);

}  // namespace weft::models
