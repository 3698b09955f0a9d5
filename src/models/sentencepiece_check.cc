#include "models/sentencepiece_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/printable.h"
#include "weft/error.h"

namespace weft::models {
namespace {

constexpr size_t kMaxRuleMatches = 32;    // rules that match at one position of a text
constexpr size_t kMaxSymbolMatches = 64;  // user-defined pieces that do
constexpr int kMaxRuleBytes = 256;

class Failure {
 public:
  explicit Failure(const std::string& name) : name_(name) {}
  void check(bool condition, std::string_view why) const {
    WEFT_CHECK(condition, fmt::format("tokenizer '{}': not a SentencePiece model: {}", name_, why));
  }

 private:
  const std::string& name_;
};

// The fields of a protocol buffer, one after the other. source: the wire format's description.
class Fields {
 public:
  Fields(std::string_view bytes, const Failure& failure) : bytes_(bytes), failure_(failure) {}
  bool next() {
    if (bytes_.empty()) return false;
    const uint64_t key = varint();
    number = key >> 3;
    wire = static_cast<int>(key & 7);
    text = {};
    switch (wire) {
      case 0: value = varint(); break;
      case 1: skip(8); break;
      case 2: text = take(varint()); break;
      case 5: skip(4); break;
      default: failure_.check(false, "a field of an unknown kind");
    }
    return true;
  }
  bool is_text(uint64_t field) const { return number == field && wire == 2; }

  uint64_t number = 0, value = 0;
  int wire = 0;
  std::string_view text;

 private:
  uint64_t varint() {
    uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      failure_.check(!bytes_.empty(), "it ends within a field");
      const auto byte = static_cast<uint8_t>(bytes_[0]);
      bytes_.remove_prefix(1);
      result |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return result;
    }
    failure_.check(false, "a number of more than 64 bits");
    return 0;
  }
  std::string_view take(uint64_t count) {
    failure_.check(count <= bytes_.size(), "it ends within a field");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  void skip(uint64_t count) { take(count); }

  std::string_view bytes_;
  const Failure& failure_;
};

// Rules as a double-array trie of bytes, whose leaves are places in a text of results, each ended by a zero.
// source: the units of darts-clone.
class RuleCheck {
 public:
  RuleCheck(std::string_view table, const Failure& failure) : failure_(failure) {
    uint32_t trie_bytes = 0;
    failure.check(table.size() > sizeof(trie_bytes), "normalization rules without a table");
    std::memcpy(&trie_bytes, table.data(), sizeof(trie_bytes));
    table.remove_prefix(sizeof(trie_bytes));
    failure.check(trie_bytes < table.size() && trie_bytes % sizeof(uint32_t) == 0,
                  "the table of normalization rules is larger than what holds it");
    units_.resize(trie_bytes / sizeof(uint32_t));
    if (!units_.empty()) std::memcpy(units_.data(), table.data(), trie_bytes);
    results_ = table.substr(trie_bytes);
    failure.check(!units_.empty() && results_.back() == '\0',
                  "the results of normalization rules do not end");
    failure.check(matches_from(offset(units_[0]), 0) <= kMaxRuleMatches,
                  "too many normalization rules begin alike");
  }

 private:
  static size_t offset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & (1u << 9)) >> 6); }

  // The most rules that match one after the other on a way down from the node whose children are at `base` ^
  // byte.
  size_t matches_from(size_t base, int depth) {
    failure_.check(depth < kMaxRuleBytes, "a normalization rule without an end");
    if (const auto found = known_.find(base); found != known_.end()) {
      failure_.check(found->second.has_value(), "normalization rules that go round in a circle");
      return *found->second;
    }
    known_[base] = std::nullopt;
    failure_.check((base | 0xFF) < units_.size(), "normalization rules lead outside their table");
    size_t most = 0;
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t unit = units_[base ^ byte];
      if ((unit & (1u << 31 | 0xFF)) != byte) continue;
      const size_t next = (base ^ byte) ^ offset(unit);
      const bool is_match = (unit >> 8 & 1) != 0;
      if (is_match)
        failure_.check(next < units_.size() && (units_[next] & 0x7FFFFFFF) < results_.size(),
                       "a normalization rule's result is outside their table");
      most = std::max(most, is_match + matches_from(next, depth + 1));
    }
    known_[base] = most;
    return most;
  }

  const Failure& failure_;
  std::vector<uint32_t> units_;
  std::string_view results_;
  std::map<size_t, std::optional<size_t>> known_;  // nullopt: on the way
};

void check_normalizer(std::string_view spec, const Failure& failure) {
  constexpr uint64_t kTable = 2;
  for (Fields field(spec, failure); field.next();)
    if (field.is_text(kTable) && !field.text.empty()) RuleCheck(field.text, failure);
}

// How many of the texts, each the beginning of the next, there are at most.
size_t longest_chain(const std::set<std::string_view>& texts) {
  std::vector<std::string_view> chain;
  size_t most = 0;
  for (const std::string_view text : texts) {
    while (!chain.empty() && !text.starts_with(chain.back())) chain.pop_back();
    chain.push_back(text);
    most = std::max(most, chain.size());
  }
  return most;
}

}  // namespace

void check_sentencepiece(std::string_view bytes, const std::string& name) {
  constexpr uint64_t kPieces = 1, kNormalizer = 3, kDenormalizer = 5;  // of the model
  constexpr uint64_t kPiece = 1, kType = 3, kUserDefined = 4;          // of a piece
  const Failure failure(name);
  std::set<std::string_view> pieces, user_defined;
  for (Fields field(bytes, failure); field.next();) {
    if (field.is_text(kNormalizer) || field.is_text(kDenormalizer)) check_normalizer(field.text, failure);
    if (!field.is_text(kPieces)) continue;
    std::string_view piece;
    uint64_t type = 0;
    for (Fields part(field.text, failure); part.next();) {
      if (part.is_text(kPiece)) piece = part.text;
      if (part.number == kType && part.wire == 0) type = part.value;
    }
    failure.check(!piece.empty() && piece.find('\0') == std::string_view::npos,
                  "a piece is empty or has a zero byte");
    failure.check(pieces.insert(piece).second,
                  fmt::format("the piece '{}' is there twice", printable(piece)));
    if (type == kUserDefined) user_defined.insert(piece);
  }
  failure.check(!pieces.empty(), "it has no pieces");
  failure.check(longest_chain(user_defined) <= kMaxSymbolMatches, "too many user-defined pieces begin alike");
}

}  // namespace weft::models
