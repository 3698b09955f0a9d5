#include "serve/token_trie.h"

#include <algorithm>
#include <set>

#include "serve/grammar_rules.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr size_t kLongestToken = 4096;  // bytes
constexpr size_t kLongestPlain = 128;   // bytes; longer ones are among the others

using Entries = std::vector<std::pair<std::string_view, int32_t>>;

TokenTrie::Part part_of(Entries entries) {
  std::sort(entries.begin(), entries.end());
  TokenTrie::Part part;
  std::vector<uint32_t> open;  // nodes of the bytes of the last entry
  std::string_view last;
  for (const auto& [bytes, token] : entries) {
    const auto same = static_cast<size_t>(
        std::mismatch(bytes.begin(), bytes.end(), last.begin(), last.end()).first - bytes.begin());
    for (; open.size() > same; open.pop_back())
      part.nodes[open.back()].end = static_cast<uint32_t>(part.nodes.size());
    for (size_t i = same; i < bytes.size(); ++i) {
      open.push_back(static_cast<uint32_t>(part.nodes.size()));
      part.nodes.push_back({.end = 0,
                            .first_token = static_cast<uint32_t>(part.tokens.size()),
                            .tokens = 0,
                            .depth = static_cast<uint16_t>(i + 1),
                            .byte = static_cast<uint8_t>(bytes[i])});
    }
    TokenTrie::Node& node = part.nodes[open.back()];
    if (node.tokens == 0) node.first_token = static_cast<uint32_t>(part.tokens.size());
    if (node.tokens < UINT16_MAX) ++node.tokens, part.tokens.push_back(token);
    part.depth = std::max(part.depth, bytes.size());
    last = bytes;
  }
  for (const uint32_t node : open) part.nodes[node].end = static_cast<uint32_t>(part.nodes.size());
  return part;
}

bool is_plain(std::string_view bytes) {
  return bytes.size() <= kLongestPlain && models::is_utf8(bytes) &&
         std::all_of(bytes.begin(), bytes.end(), [](char byte) {
           return static_cast<uint8_t>(byte) >= 0x20 && byte != '"' && byte != '\\';
         });
}

void set_token(TokenMask& mask, int32_t token) {
  mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
}

}  // namespace

TokenTrie::TokenTrie(const models::Tokenizer& tokenizer, const std::vector<models::IdRange>& ids,
                     const std::vector<int64_t>& ends, const std::vector<int64_t>& marks) {
  WEFT_ASSERT(marks.size() <= kMostMarks, "too many special tokens in grammars");
  const std::set<int64_t> left_out(ends.begin(), ends.end());
  bytes_.resize(ids.empty() ? 0 : static_cast<size_t>(ids.back().end));
  words_ = (bytes_.size() + 63) / 64;
  Entries plain, others;
  up_to_.assign(1, TokenMask(words_));
  for (const models::IdRange& range : ids)
    for (int64_t id = range.begin; id < range.end; ++id) {
      std::string& bytes = bytes_[static_cast<size_t>(id)];
      const auto mark = std::find(marks.begin(), marks.end(), id);
      if (mark != marks.end())
        bytes = static_cast<char>(mark_byte(static_cast<size_t>(mark - marks.begin())));
      else if (!left_out.contains(id) && !tokenizer.is_special(id))
        bytes = tokenizer.token_bytes(id);
      if (bytes.empty() || bytes.size() > kLongestToken) {
        bytes.clear();
        continue;
      }
      if (!is_plain(bytes)) {
        others.emplace_back(bytes, static_cast<int32_t>(id));
        continue;
      }
      plain.emplace_back(bytes, static_cast<int32_t>(id));
      const auto characters = static_cast<size_t>(
          std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
      if (characters >= up_to_.size()) up_to_.resize(characters + 1, TokenMask(words_));
      set_token(up_to_[characters], static_cast<int32_t>(id));
    }
  for (size_t i = 1; i < up_to_.size(); ++i)
    for (size_t word = 0; word < words_; ++word) up_to_[i][word] |= up_to_[i - 1][word];
  plain_ = part_of(std::move(plain));
  others_ = part_of(std::move(others));
}

std::string_view TokenTrie::bytes_of(int64_t token) const {
  return token < 0 || token >= static_cast<int64_t>(bytes_.size())
             ? std::string_view()
             : std::string_view(bytes_[static_cast<size_t>(token)]);
}

}  // namespace weft::serve
