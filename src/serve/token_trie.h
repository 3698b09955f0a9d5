// A vocabulary by its bytes, for masks of tokens that a grammar allows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/sampling.h"
#include "weft/models/tokenizer.h"

namespace weft::serve {

// One bit for each token.
using TokenMask = std::vector<uint64_t>;
inline bool has_token(const TokenMask& mask, int64_t token) {
  return (mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
}

class TokenTrie {
 public:
  // Bytes in the order of a walk: what begins as a node's does lies between it and `end`.
  struct Node {
    uint32_t end;
    uint32_t first_token;  // of those that end here, in tokens()
    uint16_t tokens;
    uint16_t depth;  // bytes up to this one
    uint8_t byte;
  };
  struct Part {
    std::vector<Node> nodes;
    std::vector<int32_t> tokens;
    size_t depth = 0;
  };

  // Of `ids`, without special tokens and those that end texts. Special tokens that are `marks` are single
  // bytes beyond those of texts (grammar_rules.h).
  TokenTrie(const models::Tokenizer& tokenizer, const std::vector<models::IdRange>& ids,
            const std::vector<int64_t>& ends, const std::vector<int64_t>& marks = {});
  // Tokens of whole characters that stand in a string of JSON as they are.
  const Part& plain() const { return plain_; }
  const Part& others() const { return others_; }
  // Plain tokens of at most so many characters.
  const TokenMask& plain_up_to(size_t characters) const {
    return up_to_[std::min(characters, up_to_.size() - 1)];
  }
  size_t longest_plain() const { return up_to_.size() - 1; }
  size_t mask_words() const { return words_; }
  // "" for a token that is not there.
  std::string_view bytes_of(int64_t token) const;

 private:
  Part plain_, others_;
  std::vector<TokenMask> up_to_;
  std::vector<std::string> bytes_;
  size_t words_;
};

}  // namespace weft::serve
