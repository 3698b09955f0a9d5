// Checked loops of one block that may be left in a round (an index from elsewhere, an overflow) are no vector
// loops, and compilers leave them as they are. Several of their rounds stand behind one another, with one
// test for all whether there are as many.
#include <fmt/format.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

constexpr size_t kMostText = 1600;  // of the block
constexpr int kRounds = 4;

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace

std::string with_several_rounds(const std::string& checked, int head, const std::string& step) {
  const std::string label = fmt::format("checked{0}_{0}", head), back = fmt::format("goto {};", label),
                    begin = label + ":  {\n", test = "    if (!(";
  if (!checked.starts_with(begin + test) || checked.size() > kMostText) return checked;
  const size_t condition = begin.size() + test.size(), line_end = checked.find('\n', condition);
  const size_t operation = std::min(checked.find(" < ", condition), checked.find(" > ", condition)),
               closing = checked.find(')', condition);
  std::string round = checked.substr(line_end + 1);
  const bool is_one_block = occurrences(checked, fmt::format("checked{}_", head)) == 2 &&
                            occurrences(round, back) == 1 && round.ends_with("  }\n");
  const bool leaves = round.find("return ") != std::string::npos;
  if (!is_one_block || !leaves || operation > closing) return checked;
  round.replace(round.find(back), back.size(), "");
  std::string text = fmt::format("{}:\n  while ({} + {} * {}{}) {{\n", label,
                                 checked.substr(condition, operation - condition), kRounds - 1, step,
                                 checked.substr(operation, closing - operation));
  for (int i = 0; i < kRounds; ++i) text += "  {\n" + round;
  // The last ones, and the end.
  std::string single = checked;
  const std::string other = fmt::format("single{}", head);
  single.replace(0, label.size(), other);
  single.replace(single.find(back), back.size(), fmt::format("goto {};", other));
  return text + "  }\n" + single;
}

}  // namespace weft::capture
