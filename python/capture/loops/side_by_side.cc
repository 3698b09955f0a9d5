// Rounds of a loop around a loop, side by side. Where the inner loop only adds up what the round stores
// behind it (a product of matrices, distances of points), each of its sums waits for itself: several rounds
// of the outer loop take the inner one together, each with variables of its own. What a round computes, and
// in which order, stays as it is; where the rounds read elements that lie beside one another, compilers make
// vectors of them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "capture/loops/builder.h"

namespace weft::capture {

// A block's text in its parts.
struct BlockParts {
  std::string test;                      // "if (!(counter < stop)) …": of a loop's head
  std::string poll;                      // looks for signals
  std::vector<std::string> conditions;   // that hold, or Python performs the rest
  std::string body;                      // all else
  std::vector<std::string> assignments;  // at the end, with what they need
};

namespace {

constexpr size_t kMostText = 2400;  // of a round
constexpr int kMany = 16, kFew = 4;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Calls `each(begin, end)` for all identifiers and numbers.
void for_each_word(const std::string& text, const std::function<void(size_t, size_t)>& each) {
  for (size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    each(begin, at);
  }
}

bool mentions(const std::string& text, const std::set<std::string>& names) {
  bool found = false;
  for_each_word(text,
                [&](size_t begin, size_t end) { found |= names.count(text.substr(begin, end - begin)) > 0; });
  return found;
}

std::string renamed(const std::string& text, const std::set<std::string>& names, const std::string& suffix) {
  std::string result;
  size_t done = 0;
  for_each_word(text, [&](size_t begin, size_t end) {
    if (!names.count(text.substr(begin, end - begin))) return;
    result += text.substr(done, end - done) + suffix;
    done = end;
  });
  return result + text.substr(done);
}

std::vector<std::string> lines_of(const std::string& code) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size() - 1);
    lines.push_back(code.substr(at, end + 1 - at));
    at = end + 1;
  }
  return lines;
}

// The temporaries that it mentions.
std::set<std::string> numbered(const std::string& text) {
  std::set<std::string> names;
  for_each_word(text, [&](size_t begin, size_t end) {
    if (text[begin] == 't' && end > begin + 1 && std::isdigit(static_cast<unsigned char>(text[begin + 1])))
      names.insert(text.substr(begin, end - begin));
  });
  return names;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  for (size_t at = part.empty() ? text.npos : text.find(part); at != text.npos;
       at = text.find(part, at + by.size()))
    text.replace(at, part.size(), by);
  return text;
}

// The element that the text stores; empty unless it is one.
std::string stored_to(const std::string& text) {
  std::string element;
  for (const std::string& line : lines_of(text)) {
    const size_t end = line.find("] = "), begin = line.find_first_not_of(' ');
    if (end == std::string::npos || line.find(' ', begin) < line.find('[')) continue;
    if (!element.empty()) return "";
    element = line.substr(begin, end + 1 - begin);
  }
  return element;
}

// One of the library's, which may do anything.
bool calls_function(const std::string& line) {
  bool found = false;
  for_each_word(line, [&](size_t begin, size_t end) {
    found |= line.compare(begin, 2, "c_") == 0 && end < line.size() && line[end] == '(';
  });
  return found;
}

// False where the block is not a straight way to `target`.
bool take_apart(const std::string& code, const std::string& test, const std::string& target, bool may_leave,
                BlockParts& parts) {
  std::vector<std::string> lines = lines_of(code);
  const std::string require = "    if (__builtin_expect(!(", poll = "    if ((fuel -= ", last = "    { ",
                    to = fmt::format("goto {}; }}\n", target);
  if (!test.empty()) {
    if (lines.empty() || !lines.front().starts_with(test)) return false;
    parts.test = lines.front();
    lines.erase(lines.begin());
  }
  if (lines.empty() || !lines.back().starts_with(last) || !lines.back().ends_with(to)) return false;
  std::string moves = lines.back().substr(last.size(), lines.back().size() - last.size() - to.size());
  lines.pop_back();
  for (size_t at = 0; at < moves.size();) {
    const size_t end = moves.find("; ", at);
    if (end == std::string::npos) return false;
    parts.assignments.push_back(moves.substr(at, end - at));
    at = end + 2;
  }
  for (const std::string& line : lines) {
    if (line.starts_with(poll)) {
      if (!parts.poll.empty()) return false;
      parts.poll = line;
    } else if (line.starts_with(require) && may_leave) {
      parts.body += line;
    } else if (line.starts_with(require)) {
      const size_t end = line.find("), 0)) {");
      if (end == std::string::npos) return false;
      parts.conditions.push_back(line.substr(require.size(), end - require.size()));
    } else if (line.find("return ") != std::string::npos || line.find("goto ") != std::string::npos ||
               calls_function(line) || line.find("->") != std::string::npos) {
      return false;
    } else {
      parts.body += line;
    }
  }
  return true;
}

}  // namespace

class SideBySide {
 public:
  SideBySide(const LoopBuilder& builder, int head, const LoopBuilder::CheckedLoop& nest,
             const std::map<int, std::string>& codes,
             const std::map<int, std::vector<LoopBuilder::Edge>>& edges)
      : builder_(builder), head_(head), nest_(nest), codes_(codes), edges_(edges) {}

  // Can rounds go side by side?
  bool find() { return find_blocks() && find_variables() && find_elements(); }
  int inner() const { return inner_; }
  // A condition that is to be looked at once where the nest begins; empty: none.
  const std::string& apart() const { return apart_; }
  std::string print(const std::string& apart_variable) const {
    std::string condition = apart_.empty() ? "" : apart_variable + " && ";
    if (!kept_.empty()) condition += kept_moves_ + " != 0 && ";
    for (const std::string& one : begin_.conditions) condition += fmt::format("({}) && ", one);
    if (first_ >= 0) condition += fmt::format("{} < {} && ", inner_start_, inner_end_);
    return (is_beside_ ? rounds(kMany, condition) : "") + rounds(kFew, condition) +
           (kept_.empty() ? "" : rounds(1, condition));
  }

 private:
  using CheckedLoop = LoopBuilder::CheckedLoop;

  std::string name_of(int id) const { return fmt::format("checked{}_{}", nest_.head, id); }
  const LoopFrame& frame_of(int id) const { return builder_.blocks_[static_cast<size_t>(id)].frames.back(); }
  bool is_inner(int id) const { return std::count(nest_.inner.begin(), nest_.inner.end(), id) > 0; }
  // Of bounds and indices that this loop's counter is in.
  bool counts(const LoopAffine& value) const {
    return !value.factor.empty() && value.counter == (head_ == nest_.head ? -1 : head_);
  }
  const LoopBuilder::Edge* edge(int from, int to) const {
    const std::vector<LoopBuilder::Edge>& all = edges_.at(from);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.target == to; });
    return found == all.end() ? nullptr : &*found;
  }

  // The head, an inner loop of one block and one block behind it. Where the type of a sum changes with the
  // first number that is added, that round of the inner loop is a block of its own, behind which comes
  // another one where there is no round at all.
  bool find_blocks() {
    within_ = head_ == nest_.head ? nest_.blocks : builder_.all_loop_blocks(head_);
    if (nest_.has_other_stores || (head_ == nest_.head && nest_.step != 1)) return false;
    for (int id : within_) {
      if (id == head_) continue;
      const bool goes_round = edge(id, id) != nullptr;
      if (is_inner(id) && goes_round && inner_ < 0)
        inner_ = id;
      else if (is_inner(id) && !goes_round && first_ < 0)
        first_ = id;
      else if (is_inner(id))
        return false;
    }
    if (inner_ < 0 || within_.size() != (first_ < 0 ? 3U : 5U)) return false;
    for (int id : within_)
      if (id != head_ && id != first_ && id != inner_ && edge(inner_, id)) behind_ = id;
    const LoopValue *range = range_at_top(frame_of(head_)), *inner_range = range_at_top(frame_of(inner_));
    if (behind_ < 0 || !range || !inner_range) return false;
    counter_ = range->items[0].expr, stop_ = range->items[1].expr;
    inner_counter_ = inner_range->items[0].expr, inner_stop_ = inner_range->items[1].expr;
    return take_blocks_apart();
  }

  bool take_blocks_apart() {
    const auto test_of = [](const std::string& a, const std::string& b) {
      return fmt::format("    if (!({} < {})) {{ ", a, b);
    };
    const std::string test = test_of(inner_counter_, inner_stop_);
    if (!take_apart(codes_.at(head_), test_of(counter_, stop_), name_of(first_ < 0 ? inner_ : first_), false,
                    begin_) ||
        !take_apart(codes_.at(inner_), test, name_of(inner_), false, round_) ||
        !take_apart(codes_.at(behind_), "", name_of(head_), true, end_) ||
        round_.test != test + fmt::format("goto {}; }}\n", name_of(behind_)))
      return false;
    if (first_ >= 0 && (!take_apart(codes_.at(first_), test, name_of(inner_), false, first_round_) ||
                        !first_round_.poll.empty() || !first_round_.conditions.empty()))
      return false;
    if (!round_.poll.empty() || !begin_.poll.empty() || !round_.conditions.empty()) return false;
    if (nest_.summing.count(inner_) == 0) return true;
    // An element that a round adds up in place waits in a variable.
    kept_ = stored_to(round_.body);
    kept_array_ = kept_.substr(0, kept_.find('['));
    round_.body = replaced(round_.body, kept_, "kept");
    return first_ < 0 && !kept_.empty() && !mentions(kept_, {inner_counter_}) &&
           !mentions(kept_, numbered(round_.body)) && !mentions(round_.body + end_.body, {kept_array_});
  }

  // The rounds begin in turn, but go through the inner loop together: nothing goes from one to the next
  // before the block behind it.
  bool find_variables() {
    std::set<std::string> all;
    for (int id : within_)
      for (const LoopBuilder::Edge& one : edges_.at(id))
        if (within_.count(one.target))
          for (const auto& [variable, value] : one.moves) all.insert(variable);
    const LoopBuilder::Edge* entering = edge(head_, first_ < 0 ? inner_ : first_);
    for (const auto& [variable, value] : entering->moves) {
      own_.insert(variable);
      if (variable != inner_counter_ && variable != inner_stop_) continue;
      // The inner loop's bounds are those of all rounds.
      if (!value.affine || counts(*value.affine)) return false;
      (variable == inner_counter_ ? inner_start_ : inner_end_) = value.expr;
    }
    if (inner_start_.empty() || !own_.count(counter_)) return false;
    if (inner_end_.empty()) inner_end_ = inner_stop_;
    if (!own_.count(inner_stop_) && all.count(inner_stop_)) return false;
    if (first_ >= 0)
      for (const auto& [variable, value] : edge(first_, inner_)->moves) own_.insert(variable);
    const std::set<std::string> shared = {inner_counter_, inner_stop_};
    for (const std::string& variable : shared) own_.erase(variable);
    std::set<std::string> others, set_first = own_;
    for (const std::string& variable : all)
      if (!own_.count(variable) && !shared.count(variable)) others.insert(variable);
    set_first.erase(counter_);
    values_ = begin_.body + "\n";
    for (const std::string& one : begin_.assignments) values_ += one.substr(one.find(" = ")) + "\n";
    for (const BlockParts* parts : {&first_round_, &round_}) {
      inner_text_ += parts->body + "\n";
      for (const std::string& one : parts->assignments) inner_text_ += one + "\n";
    }
    end_text_ = end_.body + "\n";
    for (const std::string& one : end_.assignments) end_text_ += one + "\n";
    for (const std::string& condition : begin_.conditions)
      if (mentions(condition, all) || mentions(condition, numbered(begin_.body))) return false;
    if (first_ >= 0) {
      // What the first round sets, it does not read before.
      std::set<std::string> begun;
      for (const auto& [variable, value] : entering->moves) begun.insert(variable);
      std::set<std::string> later;
      for (const std::string& variable : own_)
        if (!begun.count(variable)) later.insert(variable);
      std::string read = first_round_.body;
      for (const std::string& one : first_round_.assignments) read += one.substr(one.find(" = ")) + "\n";
      if (mentions(read, later)) return false;
      for (const std::string* bound : {&inner_start_, &inner_end_})
        if (mentions(*bound, own_) || mentions(*bound, numbered(begin_.body))) return false;
    }
    return !mentions(values_, set_first) && !mentions(values_ + inner_text_, others) &&
           !mentions(end_text_, shared) &&
           values_.size() + inner_text_.size() + end_text_.size() <= kMostText;
  }

  // Adds the arrays that the text has elements of; false where it has elements of something else.
  bool arrays_in(const std::string& text, bool may_leave, std::set<int>* arrays) const {
    for (size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
      size_t first = at;
      while (first > 0 && is_word(text[first - 1])) --first;
      const std::string name = text.substr(first, at - first);
      if (may_leave && name == "io") continue;  // of an exit
      const auto found = std::find_if(builder_.arrays_.begin(), builder_.arrays_.end(),
                                      [&](const LoopArray& array) { return array.name + "_data" == name; });
      if (found == builder_.arrays_.end()) return false;
      if (arrays) arrays->insert(static_cast<int>(found - builder_.arrays_.begin()));
    }
    return true;
  }

  // No round reads before the block behind the inner loop what an earlier one stores there.
  bool find_elements() {
    std::set<int> read, stored;
    if (!arrays_in(values_, false, &read) || !arrays_in(inner_text_, false, &read) ||
        !arrays_in(end_text_, true, nullptr))
      return false;
    for (const CheckedLoop::Element& element : nest_.elements) {
      known_.emplace(element.array.index, element.array);
      if (within_.count(element.block) && !note(element, &stored)) return false;
    }
    if (stored.empty() || (!kept_.empty() && kept_moves_.empty())) return false;
    for (int a : stored) {
      if (read.count(a)) return false;
      for (int b : read) {
        if (has_own_memory(a) || has_own_memory(b) || array(a).dtype != array(b).dtype) continue;
        if (!known_.count(a) || !known_.count(b)) return false;
        apart_ += fmt::format("{}!overlaps({}, {})", apart_.empty() ? "" : " && ", extent(a), extent(b));
      }
    }
    if (kept_.empty()) return true;
    for (const auto& [index, value] : known_)
      if (builder_.data_text(value) == kept_array_) kept_type_ = element_type(value.dtype);
    own_.insert("kept");
    return true;
  }

  bool note(const CheckedLoop::Element& element, std::set<int>* stored) {
    const bool is_read_inside = element.block == inner_ || element.block == first_;
    const bool is_kept =
        !kept_.empty() && element.block == inner_ && builder_.data_text(element.array) == kept_array_;
    if (element.stores && !is_kept && (is_read_inside || element.block == head_)) return false;
    if (element.stores) stored->insert(element.array.index);
    if (!is_read_inside) return true;
    std::string moves;
    for (size_t d = 0; d < element.index.size(); ++d) {
      const LoopAffine& index = *element.index[d];
      if (!counts(index)) continue;
      if (is_kept && index.factor != "1L") return false;
      moves += (moves.empty() ? "" : " + ") + builder_.stride_text(element.array, static_cast<int>(d));
      is_beside_ &= index.factor == "1L" && (builder_.array_of(element.array).unit >> d & 1) != 0;
    }
    if (is_kept) kept_moves_ = moves;
    return true;
  }

  const LoopArray& array(int index) const { return builder_.arrays_[static_cast<size_t>(index)]; }
  bool has_own_memory(int index) const { return static_cast<size_t>(index) >= builder_.num_entry_arrays_; }

  // The addresses of the array's first and last element.
  std::string extent(int index) const {
    const LoopValue& value = known_.at(index);
    std::string low = builder_.data_text(value), high = low;
    for (int d = 0; d < builder_.num_dims(value); ++d) {
      const std::string last =
          fmt::format("({} - 1) * {}", builder_.size_text(value, d), builder_.stride_text(value, d));
      low += fmt::format(" + minimum<i64>({}, 0L)", last);
      high += fmt::format(" + maximum<i64>({}, 0L)", last);
    }
    return low + ", " + high;
  }

  std::string moved(const BlockParts& parts, const std::string& but = "") const {
    std::string text = renamed(parts.body, own_, kSuffix);
    for (const std::string& assignment : parts.assignments)
      if (but.empty() || !assignment.starts_with(but + " = "))
        text += "    " + renamed(assignment, own_, kSuffix) + ";\n";
    return text;
  }

  bool is_summed(const std::string& variable) const {
    return variable == "kept" ||
           std::any_of(round_.assignments.begin(), round_.assignments.end(),
                       [&](const std::string& one) { return one.starts_with(variable + " = "); });
  }

  std::string rounds(int sides, const std::string& condition) const {
    std::string text = fmt::format("    while ({}{} + {} < {}) {{\n", condition, counter_,
                                   integer_literal(sides - 1), stop_);
    const std::string each = fmt::format("WEFT_UNROLLED for (int side = 0; side < {}; ++side) {{\n", sides);
    for (const std::string& variable : own_)
      text += fmt::format("      {} {}_side[{}];\n",
                          variable == "kept" ? kept_type_ : builder_.variable_types_.at(variable), variable,
                          sides);
    text += fmt::format("      {0}    {1}_side[side] = {1} + side;\n{2}      }}\n", each, counter_,
                        moved(begin_));
    if (first_ >= 0)
      text += fmt::format("      {}{}      }}\n      ++{};\n", each, moved(first_round_, inner_counter_),
                          inner_counter_);
    const std::string element = renamed(kept_, own_, kSuffix);
    if (!kept_.empty()) {
      text += fmt::format("      bool const sums = {} < {};\n", inner_counter_, inner_stop_);
      text += fmt::format("      {}    if (sums) kept_side[side] = {};\n      }}\n", each, element);
    }
    text += fmt::format("      for (; {0} < {1}; ++{0}) {2}{3}", inner_counter_, inner_stop_, each,
                        moved(round_, inner_counter_));
    for (const std::string& variable : own_)
      if (!is_beside_ && is_summed(variable)) text += fmt::format("    alone({}{});\n", variable, kSuffix);
    text += fmt::format("      }}\n      {}", each);
    if (!kept_.empty()) text += fmt::format("    if (sums) {} = kept_side[side];\n", element);
    BlockParts last = end_;
    if (!end_.poll.empty()) last.body += fmt::format("    if (side == {})\n  {}", sides - 1, end_.poll);
    text += moved(last) + "      }\n";
    for (const std::string& variable : own_)
      if (variable != "kept") text += fmt::format("      {0} = {0}_side[{1}];\n", variable, sides - 1);
    return text + "    }\n";
  }

  static constexpr const char* kSuffix = "_side[side]";

  const LoopBuilder& builder_;
  int head_;
  const CheckedLoop& nest_;
  const std::map<int, std::string>& codes_;
  const std::map<int, std::vector<LoopBuilder::Edge>>& edges_;
  std::set<int> within_;
  int inner_ = -1, first_ = -1, behind_ = -1;
  std::string counter_, stop_, inner_counter_, inner_stop_;
  std::string inner_start_, inner_end_;  // where the inner loop begins and ends, as its head is entered
  BlockParts begin_, first_round_, round_, end_;
  std::set<std::string> own_;  // variables of each round
  std::string values_, inner_text_, end_text_;
  std::string kept_, kept_array_, kept_type_, kept_moves_;  // moves: from round to round, in memory
  std::map<int, LoopValue> known_;
  bool is_beside_ = true;  // do the rounds read what lies beside one another?
  std::string apart_;
};

// Several of the loop's rounds at a time, as long as there are as many; empty where they cannot be so. Added
// to `entered`: what is to be done where the nest begins.
std::string LoopBuilder::side_by_side(int head, CheckedLoop& nest, const std::map<int, std::string>& codes,
                                      const std::map<int, std::vector<Edge>>& edges, std::string* entered) {
  SideBySide sides(*this, head, nest, codes, edges);
  if (!sides.find()) return "";
  const std::string apart = fmt::format("apart{}_{}", nest.head, head);
  if (!sides.apart().empty()) {
    variable_types_[apart] = "bool";
    *entered += fmt::format("      {} = {};\n", apart, sides.apart());
  }
  nest.summing.erase(sides.inner());
  return sides.print(apart);
}

}  // namespace weft::capture
