// Arrays of integers that a loop only adds to (counts[k] += 1): threads that share its rounds each add to an
// array of their own, and what is in those is added up in the order of the rounds.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "capture/loops/parallel_loop.h"

namespace weft::capture {

namespace {

bool is_identifier(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A statement `i64 const NAME = DATA[INDEX];` or `DATA[INDEX] = NAME;`.
struct CountStatement {
  bool stores;
  std::string index, name;
};

// Nothing where the line has the array's elements in another form.
std::optional<CountStatement> count_statement(const std::string& line, const std::string& data) {
  const size_t at = line.find(data + "[");
  if (at == std::string::npos || mentions(line, data) != 1) return {};
  const size_t begin = at + data.size() + 1, close = line.find(']', begin);
  if (close == std::string::npos || line.find('[', begin) < close) return {};
  const std::string before = line.substr(0, at), behind = line.substr(close + 1);
  const std::string index = line.substr(begin, close - begin);
  const std::string load = "    i64 const ", is = " = ", end = ";";
  if (before.starts_with(load) && before.ends_with(is) && behind == end)
    return CountStatement{false, index, before.substr(load.size(), before.size() - load.size() - is.size())};
  if (before == "    " && behind.starts_with(is) && behind.ends_with(end))
    return CountStatement{true, index, behind.substr(is.size(), behind.size() - is.size() - end.size())};
  return {};
}

// The index with what the block computes for it in the place of names.
std::string spelled_out(const std::string& index, const std::map<std::string, std::string>& definitions) {
  std::string text;
  for (size_t at = 0; at < index.size();) {
    size_t end = at;
    while (end < index.size() && is_identifier(index[end])) ++end;
    const std::string name = index.substr(at, std::max<size_t>(end - at, 1));
    const auto found = definitions.find(name);
    text += found == definitions.end() ? name : "(" + found->second + ")";
    at += name.size();
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& code) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    lines.push_back(code.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

int mentions(const std::string& text, const std::string& name) {
  int count = 0;
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + name.size())) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_identifier(text[at - 1])) && (end == text.size() || !is_identifier(text[end])))
      ++count;
  }
  return count;
}

// Is the array named `name` only ever added to?
bool LoopBuilder::is_counted(const ParallelLoop& loop, const std::string& name) {
  const std::string data = name + "_data";
  const auto is_mentioned_in_moves = [&](const std::string& text) {
    for (const auto& [id, step] : loop.steps)
      for (const Edge& edge : step.edges)
        for (const auto& [variable, value] : edge.moves)
          if (mentions(value.expr, text) > 0) return true;
    return false;
  };
  for (const auto& [id, step] : loop.steps) {
    std::map<std::string, std::string> definitions;
    std::map<std::string, std::string> loaded;  // name -> where from
    for (const std::string& line : lines_of(step.code)) {
      for (const std::string start : {"    i64 const ", "    i64 "}) {  // the latter: an index
        const size_t is = line.find(" = ");
        if (!line.starts_with(start) || is == std::string::npos) continue;
        definitions[line.substr(start.size(), is - start.size())] = line.substr(is + 3);
        break;
      }
      if (mentions(line, data) == 0) continue;
      const std::optional<CountStatement> found = count_statement(line, data);
      if (!found) return false;
      const std::string place = spelled_out(found->index, definitions);
      if (!found->stores) {
        loaded[found->name] = place;
        continue;
      }
      const auto update = loop.updates.find(found->name);
      if (update == loop.updates.end()) return false;
      const auto& [op, a, b, times] = update->second;
      const std::string& count = loaded.count(a) ? a : b;
      const auto from = loaded.find(count);
      if (from == loaded.end() || from->second != place || a == b || (op == '-' && count == b)) return false;
      if (mentions(step.code, count) != 2 || mentions(step.code, found->name) != times + 1) return false;
      if (is_mentioned_in_moves(count) || is_mentioned_in_moves(found->name)) return false;
      loaded.erase(from);
    }
    if (!loaded.empty()) return false;
  }
  return !is_mentioned_in_moves(data);
}

// The names that hold elements of a counted array in the code.
void LoopBuilder::add_counts(const std::string& code, const std::string& array,
                             std::vector<std::string>& names) {
  for (const std::string& line : lines_of(code))
    if (const auto found = count_statement(line, array + "_data"); found && !found->stores)
      names.push_back(found->name);
}

}  // namespace weft::capture
