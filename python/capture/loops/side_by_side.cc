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

// A block's text in its parts.
struct Parts {
  std::string test;                      // "if (!(counter < stop)) …": of a loop's head
  std::string poll;                      // looks for signals
  std::vector<std::string> conditions;   // that hold, or Python performs the rest
  std::string body;                      // all else
  std::vector<std::string> assignments;  // at the end, with what they need
};

// False where the block is not a straight way to `target`.
bool take_apart(const std::string& code, const std::string& test, const std::string& target, bool may_leave,
                Parts& parts) {
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

// Several of the loop's rounds at a time, as long as there are as many; empty where they cannot be so. Added
// to `entered`: what is to be done where the nest begins.
std::string LoopBuilder::side_by_side(int head, CheckedLoop& nest, const std::map<int, std::string>& codes,
                                      const std::map<int, std::vector<Edge>>& edges, std::string* entered) {
  // One inner loop of one block, one block behind it.
  const auto name_of = [&](int id) { return fmt::format("checked{}_{}", nest.head, id); };
  const std::set<int> within = head == nest.head ? nest.blocks : all_loop_blocks(head);
  if (within.size() != 3 || nest.has_other_stores || (head == nest.head && nest.step != 1)) return "";
  int inner = -1, behind = -1;
  for (int id : within)
    if (id != head) (std::count(nest.inner.begin(), nest.inner.end(), id) > 0 ? inner : behind) = id;
  if (inner < 0 || behind < 0) return "";
  const LoopValue *range = range_at_top(blocks_[static_cast<size_t>(head)].frames.back()),
                  *inner_range = range_at_top(blocks_[static_cast<size_t>(inner)].frames.back());
  if (!range || !inner_range) return "";
  const std::string &counter = range->items[0].expr, &stop = range->items[1].expr,
                    &inner_counter = inner_range->items[0].expr, &inner_stop = inner_range->items[1].expr;
  const auto test_of = [](const std::string& a, const std::string& b) {
    return fmt::format("    if (!({} < {})) {{ ", a, b);
  };
  Parts begin, round, end;
  if (!take_apart(codes.at(head), test_of(counter, stop), name_of(inner), false, begin) ||
      !take_apart(codes.at(inner), test_of(inner_counter, inner_stop), name_of(inner), false, round) ||
      !take_apart(codes.at(behind), "", name_of(head), true, end) ||
      round.test != test_of(inner_counter, inner_stop) + fmt::format("goto {}; }}\n", name_of(behind)) ||
      !round.poll.empty() || !begin.poll.empty() || !round.conditions.empty())
    return "";
  // An element that a round adds up in place waits in a variable.
  std::string kept, kept_array;
  if (nest.summing.count(inner)) {
    kept = stored_to(round.body);
    kept_array = kept.substr(0, kept.find('['));
    round.body = replaced(round.body, kept, "kept");
    if (kept.empty() || mentions(kept, {inner_counter}) || mentions(kept, numbered(round.body)) ||
        mentions(round.body + end.body, {kept_array}))
      return "";
  }
  // The inner loop's bounds are those of all rounds.
  std::set<std::string> own, all;  // variables: of each round; that the loop changes
  for (int id : within)
    for (const Edge& edge : edges.at(id))
      if (within.count(edge.target))
        for (const auto& [variable, value] : edge.moves) all.insert(variable);
  for (const Edge& edge : edges.at(head)) {
    if (edge.target != inner) continue;
    for (const auto& [variable, value] : edge.moves) {
      own.insert(variable);
      if (variable != inner_counter && variable != inner_stop) continue;
      const int counts = head == nest.head ? 0 : head;
      if (!value.affine || (!value.affine->factor.empty() && value.affine->counter == counts)) return "";
    }
  }
  if (!own.count(inner_counter) || !own.count(counter)) return "";
  if (!own.count(inner_stop) && all.count(inner_stop)) return "";
  own.erase(inner_counter);
  own.erase(inner_stop);
  // The rounds begin in turn, but go through the inner loop together: nothing goes from one to the next
  // before the block behind it, and no round reads before it what an earlier one stores there.
  std::set<std::string> others;
  std::set_difference(all.begin(), all.end(), own.begin(), own.end(), std::inserter(others, others.begin()));
  others.erase(inner_counter);
  others.erase(inner_stop);
  std::set<std::string> set_first = own;
  set_first.erase(counter);
  std::string values = begin.body + "\n", inner_text = round.body + "\n", end_text = end.body + "\n";
  for (const std::string& assignment : begin.assignments)
    values += assignment.substr(assignment.find(" = ")) + "\n";
  for (const std::string& assignment : round.assignments) inner_text += assignment + "\n";
  for (const std::string& assignment : end.assignments) end_text += assignment + "\n";
  if (mentions(values, set_first) || mentions(values + inner_text, others)) return "";
  if (mentions(end_text, {inner_counter, inner_stop})) return "";
  for (const std::string& condition : begin.conditions)
    if (mentions(condition, all)) return "";
  for (const std::string& condition : begin.conditions)
    if (mentions(condition, numbered(begin.body))) return "";
  if (values.size() + inner_text.size() + end_text.size() > kMostText) return "";
  // All elements are of arrays whose accesses are known.
  std::map<std::string, int> arrays;
  for (size_t i = 0; i < arrays_.size(); ++i) arrays[arrays_[i].name + "_data"] = static_cast<int>(i);
  std::set<int> read, stored;
  for (const std::string* text : {&values, &inner_text, &end_text}) {
    bool is_known = true;
    for (size_t at = text->find('['); at != std::string::npos; at = text->find('[', at + 1)) {
      size_t first = at;
      while (first > 0 && is_word((*text)[first - 1])) --first;
      const std::string name = text->substr(first, at - first);
      if (text == &end_text && name == "io") continue;  // of an exit
      const auto found = arrays.find(name);
      is_known &= found != arrays.end();
      if (is_known && text != &end_text) read.insert(found->second);
    }
    if (!is_known) return "";
  }
  bool is_beside = true;  // do the rounds read what lies beside one another?
  std::map<int, LoopValue> known;
  std::string kept_moves;  // from round to round, in memory
  for (const CheckedLoop::Element& element : nest.elements) {
    known.emplace(element.array.index, element.array);
    if (!within.count(element.block)) continue;
    const bool is_kept = !kept.empty() && data_text(element.array) == kept_array && element.block == inner;
    if (element.stores && element.block != behind && !is_kept) return "";
    if (element.stores) stored.insert(element.array.index);
    if (element.block != inner) continue;
    std::string moves;
    for (size_t d = 0; d < element.index.size(); ++d) {
      const LoopAffine& index = *element.index[d];
      if (index.factor.empty() || index.counter != (head == nest.head ? 0 : head)) continue;
      if (is_kept && index.factor != "1L") return "";
      moves += (moves.empty() ? "" : " + ") + stride_text(element.array, static_cast<int>(d));
      is_beside &= index.factor == "1L" && (array_of(element.array).unit >> d & 1) != 0;
    }
    if (is_kept) kept_moves = moves;
  }
  if (stored.empty() || (!kept.empty() && kept_moves.empty())) return "";
  std::string apart;
  const auto extent = [&](int array) {
    const LoopValue& value = known.at(array);
    std::string low = data_text(value), high = low;
    for (int d = 0; d < num_dims(value); ++d) {
      const std::string last = fmt::format("({} - 1) * {}", size_text(value, d), stride_text(value, d));
      low += fmt::format(" + minimum<i64>({}, 0L)", last);
      high += fmt::format(" + maximum<i64>({}, 0L)", last);
    }
    return low + ", " + high;
  };
  for (int a : stored) {
    if (read.count(a)) return "";
    if (static_cast<size_t>(a) >= num_entry_arrays_) continue;  // memory of its own
    for (int b : read) {
      if (static_cast<size_t>(b) >= num_entry_arrays_ ||
          arrays_[static_cast<size_t>(a)].dtype != arrays_[static_cast<size_t>(b)].dtype)
        continue;
      if (!known.count(a) || !known.count(b)) return "";
      apart += fmt::format("{}!overlaps({}, {})", apart.empty() ? "" : " && ", extent(a), extent(b));
    }
  }
  std::string condition;
  if (!apart.empty()) {
    const std::string variable = fmt::format("apart{}_{}", nest.head, head);
    variable_types_[variable] = "bool";
    *entered += fmt::format("      {} = {};\n", variable, apart);
    condition = variable + " && ";
  }
  if (!kept.empty()) condition += fmt::format("{} != 0 && ", kept_moves);
  for (const std::string& one : begin.conditions) condition += fmt::format("({}) && ", one);
  std::string kept_type;
  if (!kept.empty()) {
    kept_type = element_type(known.at(arrays.at(kept_array)).dtype);
    own.insert("kept");
  }
  const std::string suffix = "_side[side]";
  const auto moved = [&](const Parts& parts, const std::string& but) {
    std::string text = renamed(parts.body, own, suffix);
    for (const std::string& assignment : parts.assignments)
      if (but.empty() || !assignment.starts_with(but + " = "))
        text += "    " + renamed(assignment, own, suffix) + ";\n";
    return text;
  };
  const auto is_summed = [&](const std::string& variable) {
    return variable == "kept" ||
           std::any_of(round.assignments.begin(), round.assignments.end(),
                       [&](const std::string& one) { return one.starts_with(variable + " = "); });
  };
  const auto rounds = [&](int sides) {
    std::string text =
        fmt::format("    while ({}{} + {} < {}) {{\n", condition, counter, integer_literal(sides - 1), stop);
    const std::string each = fmt::format("WEFT_UNROLLED for (int side = 0; side < {}; ++side) {{\n", sides);
    for (const std::string& variable : own)
      text += fmt::format("      {} {}_side[{}];\n",
                          variable == "kept" ? kept_type : variable_types_.at(variable), variable, sides);
    text += fmt::format("      {}    {}_side[side] = {} + side;\n{}      }}\n", each, counter, counter,
                        moved(begin, ""));
    if (!kept.empty()) {
      text += fmt::format("      bool const sums = {} < {};\n", inner_counter, inner_stop);
      text += fmt::format("      {}    if (sums) kept_side[side] = {};\n      }}\n", each,
                          renamed(kept, own, suffix));
    }
    text += fmt::format("      for (; {0} < {1}; ++{0}) {2}{3}", inner_counter, inner_stop, each,
                        moved(round, inner_counter));
    for (const std::string& variable : own)
      if (!is_beside && is_summed(variable)) text += fmt::format("    alone({}{});\n", variable, suffix);
    text += fmt::format("      }}\n      {}", each);
    if (!kept.empty())
      text += fmt::format("    if (sums) {} = kept_side[side];\n", renamed(kept, own, suffix));
    Parts last = end;
    if (!end.poll.empty()) last.body += fmt::format("    if (side == {})\n  {}", sides - 1, end.poll);
    text += moved(last, "") + "      }\n";
    for (const std::string& variable : own)
      if (variable != "kept") text += fmt::format("      {0} = {0}_side[{1}];\n", variable, sides - 1);
    return text + "    }\n";
  };
  nest.summing.erase(inner);
  return (is_beside ? rounds(kMany) : "") + rounds(kFew) + (kept.empty() ? "" : rounds(1));
}

}  // namespace weft::capture
