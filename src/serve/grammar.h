// What a text may be: a grammar over bytes, and which tokens may come next.
//
// The grammar's pushdown automaton is run as a finite one, whose states are made when they are first met: a
// state is the set of stacks that what was read so far allows. Bytes that no rule tells apart are one class.
// The tokens that may follow a state are found once, by a walk over the vocabulary, and kept: where a string
// of JSON may go on with any character, the tokens of such characters are known beforehand, and the walk is
// over the others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serve/grammar_rules.h"
#include "serve/token_trie.h"

namespace weft::serve {

// May be used by several threads at once.
class Grammar {
 public:
  static constexpr int32_t kNone = -1;  // no state

  // ValueError for rules that are left recursive.
  Grammar(GrammarRules rules, std::shared_ptr<const TokenTrie> trie);

  int32_t start();
  // The state after a token's bytes; kNone where it may not come. ValueError where the automaton has become
  // too large, or an ambiguity takes too long.
  int32_t after(int32_t state, int64_t token) { return after_bytes(state, trie_->bytes_of(token)); }
  int32_t after_bytes(int32_t state, std::string_view bytes);
  // May the text end here?
  bool is_accepting(int32_t state);
  // May it only end?
  bool is_complete(int32_t state);
  std::shared_ptr<const TokenMask> mask(int32_t state);
  // So many states that a new automaton is better made for the next text.
  bool is_large();

 private:
  struct Position {
    enum class Kind : uint8_t { Bytes, Call, LastCall, End } kind;
    int32_t rule = 0;
    ByteSet classes;
  };
  struct State {
    std::vector<int32_t> stacks;  // each with a byte to read next
    bool is_accepting = false;
    std::vector<int32_t> next;  // by class: kUnknown, kNone, or a state
    int32_t after_plain;        // any character of plain tokens: kUnknown, kMixed, kNone, or a state
    std::shared_ptr<const TokenMask> mask;
  };
  static constexpr int32_t kUnknown = -2, kMixed = -3, kBottom = -1;

  void find_classes(const GrammarRules& rules);
  void place_rules(const GrammarRules& rules);
  void check_recursion(const GrammarRules& rules) const;
  int32_t stack(int32_t position, int32_t below);
  void begin_closure();
  void close(int32_t position, int32_t below);
  int32_t end_closure();
  int32_t step(int32_t state, uint8_t byte);
  int32_t step_range(int32_t state, int first, int last);
  int32_t after_plain(int32_t state);
  void walk(const TokenTrie::Part& part, int32_t state, TokenMask& mask);

  std::shared_ptr<const TokenTrie> trie_;
  std::array<uint8_t, 256> class_of_ = {};
  std::vector<uint8_t> byte_of_;             // of each class, one
  std::vector<std::vector<int32_t>> first_;  // by rule: the position where each alternative begins
  std::vector<Position> positions_;

  std::mutex mutex_;
  std::vector<std::pair<int32_t, int32_t>> stacks_;  // position, stack below
  std::unordered_map<uint64_t, int32_t> stack_numbers_;
  std::map<std::pair<std::vector<int32_t>, bool>, int32_t> state_numbers_;
  std::vector<std::unique_ptr<State>> states_;
  int64_t masks_ = 0;  // that are kept
  int32_t start_ = kUnknown;

  // Of the closure that is made.
  std::vector<std::pair<int32_t, int32_t>> open_;
  std::vector<int64_t> seen_in_;  // by stack: the closure that last met it
  int64_t closure_ = 0;
  std::vector<int32_t> found_;
  bool found_end_ = false;
  std::vector<int32_t> walked_;  // states, by depth
};

}  // namespace weft::serve
