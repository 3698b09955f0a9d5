// Averages as a table, in the columns that PyTorch's has and those of work.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/error.h"
#include "weft/profiler.h"

namespace weft::profiler {
namespace {

std::string time_text(double ns, const std::string& unit = {}) {
  if (unit == "s") return fmt::format("{:.6f}s", ns * 1e-9);
  if (unit == "ms") return fmt::format("{:.3f}ms", ns * 1e-6);
  if (unit == "us") return fmt::format("{:.3f}us", ns * 1e-3);
  if (unit == "ns") return fmt::format("{:.0f}ns", ns);
  WEFT_CHECK(unit.empty(),
             fmt::format("profiler table: time_unit: expected s, ms, us or ns, got '{}'", unit));
  if (ns >= 1e9) return fmt::format("{:.3f}s", ns * 1e-9);
  return ns >= 1e6 ? fmt::format("{:.3f}ms", ns * 1e-6) : fmt::format("{:.3f}us", ns * 1e-3);
}

std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; std::abs(value) >= step && unit + 1 != units.end(); ++unit) value /= step;
  return unit == units.begin() ? fmt::format("{:.0f} {}", value, *unit)
                               : fmt::format("{:.2f} {}", value, *unit);
}
std::string bytes_text(double bytes) { return scaled(bytes, 1024, {"B", "KB", "MB", "GB", "TB"}); }
std::string operations_text(double count) { return scaled(count, 1000, {"", "K", "M", "G", "T"}); }

double mean_ns(const Average& a) {
  return static_cast<double>(a.total_ns) / static_cast<double>(std::max<int64_t>(1, a.calls));
}

struct SortKey {
  const char* name;
  double (*value)(const Average&);
};
constexpr SortKey kSortKeys[] = {
    {"self_cpu_time_total", [](const Average& a) { return static_cast<double>(a.self_ns); }},
    {"cpu_time_total", [](const Average& a) { return static_cast<double>(a.total_ns); }},
    {"cpu_time", [](const Average& a) { return mean_ns(a); }},
    {"count", [](const Average& a) { return static_cast<double>(a.calls); }},
    {"cpu_memory_usage", [](const Average& a) { return static_cast<double>(a.memory); }},
    {"self_cpu_memory_usage", [](const Average& a) { return static_cast<double>(a.self_memory); }},
    {"bytes", [](const Average& a) { return a.bytes; }},
    {"operations", [](const Average& a) { return a.operations; }},
    {"percent_of_ceiling", [](const Average& a) { return a.percent_of_ceiling; }},
};

void sort_by(std::vector<Average>& averages, const std::string& name) {
  if (name.empty()) return;
  if (name == "name") {
    std::stable_sort(averages.begin(), averages.end(),
                     [](const Average& a, const Average& b) { return a.name < b.name; });
    return;
  }
  std::string known;
  for (const SortKey& key : kSortKeys) {
    known += fmt::format("{}, ", key.name);
    if (name != key.name) continue;
    std::stable_sort(averages.begin(), averages.end(),
                     [&](const Average& a, const Average& b) { return key.value(a) > key.value(b); });
    return;
  }
  throw_error(ErrorKind::Value,
              fmt::format("profiler table: cannot sort by '{}'; expected one of {}name", name, known));
}

std::string cut(const std::string& text, size_t width) {
  return text.size() <= width || width < 4 ? text : text.substr(0, width - 3) + "...";
}

struct Column {
  std::string title;
  std::function<std::string(const Average&)> text;
  bool is_left = false;
};

bool any(const std::vector<Average>& averages, bool (*has)(const Average&)) {
  return std::any_of(averages.begin(), averages.end(), has);
}

std::vector<Column> columns_of(const std::vector<Average>& averages, const TableOptions& options,
                               double self_ns) {
  const auto percent = [self_ns](int64_t ns) {
    return fmt::format("{:.2f}%", self_ns > 0 ? 100 * static_cast<double>(ns) / self_ns : 0);
  };
  const auto time = [&options](double ns) { return time_text(ns, options.time_unit); };
  std::vector<Column> columns = {
      {"Name", [&options](const Average& a) { return cut(a.name, options.name_width); }, true},
      {"Category", [](const Average& a) { return a.category; }, true},
      {"Self CPU %", [percent](const Average& a) { return percent(a.self_ns); }},
      {"Self CPU", [time](const Average& a) { return time(static_cast<double>(a.self_ns)); }},
      {"CPU total %", [percent](const Average& a) { return percent(a.total_ns); }},
      {"CPU total", [time](const Average& a) { return time(static_cast<double>(a.total_ns)); }},
      {"CPU time avg", [time](const Average& a) { return time(mean_ns(a)); }},
  };
  if (options.memory) {
    columns.push_back(
        {"CPU Mem", [](const Average& a) { return bytes_text(static_cast<double>(a.memory)); }});
    columns.push_back(
        {"Self CPU Mem", [](const Average& a) { return bytes_text(static_cast<double>(a.self_memory)); }});
  }
  columns.push_back({"# of Calls", [](const Average& a) { return std::to_string(a.calls); }});
  if (any(averages, [](const Average& a) { return a.bytes > 0 || a.operations > 0; })) {
    columns.push_back({"Bytes", [](const Average& a) { return a.bytes > 0 ? bytes_text(a.bytes) : "--"; }});
    columns.push_back({"Operations", [](const Average& a) {
                         return a.operations > 0 ? operations_text(a.operations) : "--";
                       }});
    columns.push_back({"% of ceiling", [](const Average& a) {
                         return a.percent_of_ceiling < 0 ? "--" : fmt::format("{:.1f}", a.percent_of_ceiling);
                       }});
  }
  if (options.shapes)
    columns.push_back(
        {"Input Shapes", [&options](const Average& a) { return cut(a.shapes, options.shapes_width); }, true});
  if (any(averages, [](const Average& a) { return !a.stack.empty(); }))
    columns.push_back({"Source Location",
                       [&options](const Average& a) {
                         return cut(a.stack.substr(0, a.stack.find('\n')), options.source_width);
                       },
                       true});
  return columns;
}

std::string padded(const std::string& text, size_t width, bool is_left) {
  return is_left ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
}

}  // namespace

std::string table(std::vector<Average> averages, const TableOptions& options) {
  sort_by(averages, options.sort_by);
  double self_ns = 0;
  for (const Average& a : averages) self_ns += static_cast<double>(a.self_ns);
  const std::vector<Column> columns = columns_of(averages, options, self_ns);
  if (options.row_limit >= 0 && averages.size() > static_cast<size_t>(options.row_limit))
    averages.resize(static_cast<size_t>(options.row_limit));

  std::vector<std::vector<std::string>> rows(averages.size());
  std::string titles, rule;
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    size_t width = column.title.size();
    for (size_t i = 0; i < averages.size(); ++i) {
      rows[i].push_back(column.text(averages[i]));
      width = std::max(width, rows[i].back().size());
    }
    widths.push_back(width);
    titles += padded(column.title, width, column.is_left) + "  ";
    rule += std::string(width, '-') + "  ";
  }
  std::string text = options.header.empty() ? "" : options.header + "\n";
  text += rule + "\n" + titles + "\n" + rule + "\n";
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) text += padded(row[i], widths[i], columns[i].is_left) + "  ";
    text += "\n";
  }
  return text + rule + "\nSelf CPU time total: " + time_text(self_ns, options.time_unit) + "\n";
}

}  // namespace weft::profiler
