#include "serve/grammar.h"

#include <algorithm>
#include <unordered_set>

#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kMostMasks = 1000;  // 16 kB each with 128k tokens
constexpr size_t kMostStates = 50'000, kManyStates = 10'000, kMostStacks = 1'000'000, kManyStacks = 200'000;
constexpr size_t kMostOpen = 20'000;  // stacks of one closure
constexpr const char* kTooLarge = "the grammar's automaton has become too large for this text";

}  // namespace

Grammar::Grammar(GrammarRules rules, std::shared_ptr<const TokenTrie> trie) : trie_(std::move(trie)) {
  find_classes(rules);
  place_rules(rules);
  check_recursion(rules);
}

void Grammar::find_classes(const GrammarRules& rules) {
  std::unordered_set<ByteSet> sets;
  for (const auto& alternatives : rules.rules)
    for (const auto& sequence : alternatives)
      for (const GrammarRules::Element& element : sequence)
        if (element.rule < 0) sets.insert(element.bytes);
  byte_of_ = {0};
  for (const ByteSet& set : sets) {
    // Each class becomes two where the set has some of its bytes, and not all.
    std::array<int, 256> half;
    half.fill(-1);
    std::array<bool, 256> has_first = {};
    for (const uint8_t byte : byte_of_) has_first[class_of_[byte]] = set[byte];
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint8_t old = class_of_[byte];
      if (set[byte] == has_first[old]) continue;
      if (half[old] < 0) {
        half[old] = static_cast<int>(byte_of_.size());
        byte_of_.push_back(static_cast<uint8_t>(byte));
      }
      class_of_[byte] = static_cast<uint8_t>(half[old]);
    }
  }
}

void Grammar::place_rules(const GrammarRules& rules) {
  for (const auto& alternatives : rules.rules) {
    first_.emplace_back();
    for (const auto& sequence : alternatives) {
      first_.back().push_back(static_cast<int32_t>(positions_.size()));
      for (size_t i = 0; i < sequence.size(); ++i) {
        Position position{.kind = Position::Kind::Bytes, .rule = sequence[i].rule, .classes = {}};
        if (sequence[i].rule >= 0)
          position.kind = i + 1 == sequence.size() ? Position::Kind::LastCall : Position::Kind::Call;
        else
          for (size_t part = 0; part < byte_of_.size(); ++part)
            position.classes[part] = sequence[i].bytes[byte_of_[part]];
        positions_.push_back(position);
      }
      positions_.push_back({.kind = Position::Kind::End, .rule = -1, .classes = {}});
    }
  }
}

// A rule that comes back to itself without reading a byte adds to the stack for ever, unless it is the last
// of each sequence on the way.
void Grammar::check_recursion(const GrammarRules& rules) const {
  const size_t count = rules.rules.size();
  std::vector<char> is_empty(count, 0);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (size_t rule = 0; rule < count; ++rule) {
      if (is_empty[rule]) continue;
      for (const auto& sequence : rules.rules[rule])
        if (std::all_of(sequence.begin(), sequence.end(), [&](const GrammarRules::Element& element) {
              return element.rule >= 0 && is_empty[static_cast<size_t>(element.rule)];
            }))
          is_empty[rule] = 1;
      is_changed = is_changed || is_empty[rule];
    }
  }
  struct Edge {
    size_t rule;
    bool is_last;
  };
  std::vector<std::vector<Edge>> edges(count);
  for (size_t rule = 0; rule < count; ++rule)
    for (const auto& sequence : rules.rules[rule])
      for (size_t i = 0; i < sequence.size() && sequence[i].rule >= 0; ++i) {
        const auto called = static_cast<size_t>(sequence[i].rule);
        edges[rule].push_back({called, i + 1 == sequence.size()});
        if (!is_empty[called]) break;
      }
  // Tarjan's components, without recursion.
  std::vector<size_t> order(count, 0), low(count, 0), component(count, 0), open, path, next(count, 0);
  std::vector<char> is_open(count, 0);
  size_t numbered = 0, components = 0;
  for (size_t root = 0; root < count; ++root) {
    if (order[root] != 0) continue;
    path.push_back(root);
    while (!path.empty()) {
      const size_t rule = path.back();
      if (order[rule] == 0) {
        order[rule] = low[rule] = ++numbered;
        open.push_back(rule);
        is_open[rule] = 1;
      }
      bool is_deeper = false;
      while (next[rule] < edges[rule].size()) {
        const size_t to = edges[rule][next[rule]].rule;
        if (order[to] == 0) {
          path.push_back(to);
          is_deeper = true;
          break;
        }
        if (is_open[to]) low[rule] = std::min(low[rule], low[to]);
        ++next[rule];
      }
      if (is_deeper) continue;
      if (low[rule] == order[rule]) {
        ++components;
        while (is_open[rule]) {
          component[open.back()] = components;
          is_open[open.back()] = 0;
          open.pop_back();
        }
      }
      path.pop_back();
    }
  }
  for (size_t rule = 0; rule < count; ++rule)
    for (const Edge& edge : edges[rule])
      WEFT_CHECK(edge.is_last || component[edge.rule] != component[rule], "the grammar is left recursive");
}

int32_t Grammar::stack(int32_t position, int32_t below) {
  const uint64_t key =
      static_cast<uint64_t>(static_cast<uint32_t>(position)) << 32 | static_cast<uint32_t>(below);
  const auto [place, is_new] = stack_numbers_.try_emplace(key, static_cast<int32_t>(stacks_.size()));
  if (is_new) {
    WEFT_CHECK(stacks_.size() < kMostStacks, kTooLarge);
    stacks_.emplace_back(position, below);
    seen_in_.push_back(0);
  }
  return place->second;
}

void Grammar::begin_closure() {
  ++closure_;
  found_.clear();
  found_end_ = false;
}

// All ways from a position to those where a byte is read.
void Grammar::close(int32_t position, int32_t below) {
  open_.assign(1, {position, below});
  size_t steps = 0;
  while (!open_.empty()) {
    const auto [at, under] = open_.back();
    open_.pop_back();
    const Position& here = positions_[static_cast<size_t>(at)];
    if (here.kind == Position::Kind::End && under == kBottom) {
      found_end_ = true;
      continue;
    }
    const int32_t whole = stack(at, under);
    if (seen_in_[static_cast<size_t>(whole)] == closure_) continue;
    seen_in_[static_cast<size_t>(whole)] = closure_;
    WEFT_CHECK(++steps < kMostOpen, "the grammar is too ambiguous");
    switch (here.kind) {
      case Position::Kind::Bytes: found_.push_back(whole); break;
      case Position::Kind::End: open_.push_back(stacks_[static_cast<size_t>(under)]); break;
      default: {
        // What is last in its sequence leaves nothing behind, so that lists do not grow a stack.
        const int32_t rest = here.kind == Position::Kind::LastCall ? under : stack(at + 1, under);
        for (const int32_t first : first_[static_cast<size_t>(here.rule)]) open_.emplace_back(first, rest);
      }
    }
  }
}

int32_t Grammar::end_closure() {
  if (found_.empty() && !found_end_) return kNone;
  std::sort(found_.begin(), found_.end());
  const auto [place, is_new] =
      state_numbers_.try_emplace({found_, found_end_}, static_cast<int32_t>(states_.size()));
  if (!is_new) return place->second;
  if (states_.size() >= kMostStates) {
    state_numbers_.erase(place);
    WEFT_CHECK(false, kTooLarge);
  }
  auto state = std::make_unique<State>();
  state->stacks = found_;
  state->is_accepting = found_end_;
  state->next.assign(byte_of_.size(), kUnknown);
  state->after_plain = kUnknown;
  states_.push_back(std::move(state));
  return place->second;
}

int32_t Grammar::step(int32_t number, uint8_t byte) {
  const uint8_t part = class_of_[byte];
  const State& state = *states_[static_cast<size_t>(number)];
  if (state.next[part] != kUnknown) return state.next[part];
  begin_closure();
  for (const int32_t top : state.stacks) {
    const auto [position, below] = stacks_[static_cast<size_t>(top)];
    if (positions_[static_cast<size_t>(position)].classes[part]) close(position + 1, below);
  }
  const int32_t next = end_closure();
  states_[static_cast<size_t>(number)]->next[part] = next;
  return next;
}

int32_t Grammar::start() {
  const std::scoped_lock lock(mutex_);
  if (start_ != kUnknown) return start_;
  begin_closure();
  for (const int32_t first : first_[0]) close(first, kBottom);
  start_ = end_closure();
  WEFT_CHECK(start_ != kNone, "the grammar allows no text");
  return start_;
}

int32_t Grammar::after_bytes(int32_t state, std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  for (const char byte : bytes) {
    if (state < 0) break;
    state = step(state, static_cast<uint8_t>(byte));
  }
  return state;
}

bool Grammar::is_accepting(int32_t state) {
  const std::scoped_lock lock(mutex_);
  return state >= 0 && states_[static_cast<size_t>(state)]->is_accepting;
}

bool Grammar::is_complete(int32_t state) {
  const std::scoped_lock lock(mutex_);
  return state >= 0 && states_[static_cast<size_t>(state)]->stacks.empty();
}

bool Grammar::is_large() {
  const std::scoped_lock lock(mutex_);
  return states_.size() > kManyStates || stacks_.size() > kManyStacks;
}

// The state that all bytes of the range lead to; kMixed where they differ.
int32_t Grammar::step_range(int32_t state, int first, int last) {
  if (state < 0) return state;
  ByteSet done;  // classes
  int32_t all = kUnknown;
  for (int byte = first; byte <= last; ++byte) {
    const uint8_t part = class_of_[static_cast<size_t>(byte)];
    if (done[part]) continue;
    done.set(part);
    const int32_t next = step(state, static_cast<uint8_t>(byte));
    if (all != kUnknown && next != all) return kMixed;
    all = next;
  }
  return all;
}

int32_t Grammar::after_plain(int32_t state) {
  const int32_t known = states_[static_cast<size_t>(state)]->after_plain;
  if (known != kUnknown) return known;
  int32_t all = step_range(state, 0x20, 0x21);
  const auto agree = [&](int32_t next) {
    if (next != all) all = kMixed;
  };
  agree(step_range(state, 0x23, 0x5B));
  if (all != kMixed) agree(step_range(state, 0x5D, 0x7F));
  const auto follow = [&](int first, int last, int second, int second_last, int more) {
    if (all == kMixed) return;
    int32_t next = step_range(step_range(state, first, last), second, second_last);
    for (int i = 0; i < more; ++i) next = step_range(next, 0x80, 0xBF);
    agree(next);
  };
  // source: table 3-7 of the Unicode standard, well-formed UTF-8.
  follow(0xC2, 0xDF, 0x80, 0xBF, 0);
  follow(0xE0, 0xE0, 0xA0, 0xBF, 1);
  follow(0xE1, 0xEC, 0x80, 0xBF, 1);
  follow(0xED, 0xED, 0x80, 0x9F, 1);
  follow(0xEE, 0xEF, 0x80, 0xBF, 1);
  follow(0xF0, 0xF0, 0x90, 0xBF, 2);
  follow(0xF1, 0xF3, 0x80, 0xBF, 2);
  follow(0xF4, 0xF4, 0x80, 0x8F, 2);
  states_[static_cast<size_t>(state)]->after_plain = all;
  return all;
}

void Grammar::walk(const TokenTrie::Part& part, int32_t state, TokenMask& mask) {
  walked_.resize(std::max(walked_.size(), part.depth + 1));
  walked_[0] = state;
  for (size_t i = 0; i < part.nodes.size();) {
    const TokenTrie::Node& node = part.nodes[i];
    const int32_t next = step(walked_[node.depth - 1U], node.byte);
    if (next < 0) {
      i = node.end;
      continue;
    }
    walked_[node.depth] = next;
    for (uint32_t k = 0; k < node.tokens; ++k) {
      const int32_t token = part.tokens[node.first_token + k];
      mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
    }
    ++i;
  }
}

std::shared_ptr<const TokenMask> Grammar::mask(int32_t number) {
  const std::scoped_lock lock(mutex_);
  if (const auto& kept = states_[static_cast<size_t>(number)]->mask) return kept;
  // Plain characters that may come whatever they are.
  size_t characters = 0;
  int32_t plain = number;
  for (; characters < trie_->longest_plain(); ++characters) {
    const int32_t next = after_plain(plain);
    if (next == plain) characters = trie_->longest_plain();
    if (next < 0 || next == plain) break;
    plain = next;
  }
  auto made = std::make_shared<TokenMask>(trie_->plain_up_to(characters));
  if (characters < trie_->longest_plain() && after_plain(plain) == kMixed)
    walk(trie_->plain(), number, *made);
  walk(trie_->others(), number, *made);
  if (++masks_ > kMostMasks) {
    for (const auto& other : states_) other->mask = nullptr;
    masks_ = 1;
  }
  states_[static_cast<size_t>(number)]->mask = made;
  return made;
}

}  // namespace weft::serve
