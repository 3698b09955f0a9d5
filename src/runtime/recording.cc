#include "runtime/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>

#include "runtime/peaks.h"
#include "runtime/trace_file.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

using profiler::Average;

std::string_view first_lines(std::string_view text, int count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  if (end > 0 && text[end - 1] == '\n') --end;
  return text.substr(0, end);
}

profiler::Event described(const profiling::Event& event, const profiling::ThreadRecord& thread,
                          int64_t begin_ns, const Peaks* peaks) {
  const std::string_view inputs = text_or_empty(event.inputs);
  const size_t line = std::min(inputs.find('\n'), inputs.size());
  return {.name = event.name,
          .category = profiling::str(event.kind),
          .shapes = inputs.substr(0, line),
          .dtypes = inputs.substr(std::min(line + 1, inputs.size())),
          .stack = text_or_empty(event.stack),
          .thread = thread.thread,
          .begin_ns = event.begin_ns - begin_ns,
          .end_ns = event.end_ns - begin_ns,
          .self_ns = event.self_ns(),
          .memory = event.allocated,
          .self_memory = event.allocated - event.inner_allocated,
          .bytes = event.work.bytes,
          .operations = event.work.operations,
          .least_ns = peaks == nullptr ? 0 : peaks->least_ns(event.work),
          .has_work = event.work.is_known,
          .overlaps = event.overlaps};
}

class RecordingOfThreads final : public profiler::Recording {
 public:
  explicit RecordingOfThreads(RecordedData data) : data_(std::move(data)) {}

  std::vector<profiler::Event> events() const override { return events(known_peaks()); }

  std::vector<Average> averages(bool by_shapes, int by_stack_lines) const override {
    using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
    std::map<Key, size_t> found;
    std::vector<Average> result;
    std::vector<double> least, taken;  // of calls whose work is known
    for (const profiler::Event& event : events(peaks())) {
      const Key key{event.category, event.name, by_shapes ? event.shapes : std::string_view(),
                    first_lines(event.stack, by_stack_lines)};
      const auto [at, is_new] = found.try_emplace(key, result.size());
      if (is_new) {
        result.push_back({.name = std::string(event.name),
                          .category = std::string(event.category),
                          .shapes = std::string(std::get<2>(key)),
                          .dtypes = by_shapes ? std::string(event.dtypes) : std::string(),
                          .stack = std::string(std::get<3>(key))});
        least.push_back(0);
        taken.push_back(0);
      }
      Average& average = result[at->second];
      ++average.calls;
      average.total_ns += event.end_ns - event.begin_ns;
      average.self_ns += event.self_ns;
      average.memory += event.memory;
      average.self_memory += event.self_memory;
      average.bytes += event.bytes;
      average.operations += event.operations;
      if (!event.has_work) continue;
      least[at->second] += event.least_ns;
      taken[at->second] += static_cast<double>(event.end_ns - event.begin_ns);
    }
    for (size_t i = 0; i < result.size(); ++i)
      if (taken[i] > 0 && least[i] > 0) result[i].percent_of_ceiling = 100 * least[i] / taken[i];
    return result;
  }

  std::vector<profiler::Allocation> allocations() const override {
    WEFT_CHECK(data_.has_memory, "profiler: no memory was recorded; start with profile_memory=True");
    return find_allocations(data_);
  }

  int64_t length_ns() const override { return data_.end_ns - data_.begin_ns; }

  void export_chrome_trace(const std::string& path, const std::string& members) const override {
    TraceFile file(path, "export_chrome_trace", data_.begin_ns, data_.trace_limit);
    file.add(data_.threads, peaks());
    file.finish(members);
  }

  void export_memory_timeline(const std::string& path) const override {
    const bool is_page = path.ends_with(".html");
    WEFT_CHECK(
        is_page || path.ends_with(".json"),
        fmt::format("export_memory_timeline: expected a path that ends with .html or .json, got '{}'", path));
    const std::vector<profiler::Allocation> found = allocations();
    const std::string text = is_page ? memory_page(found, length_ns()) : memory_json(found, length_ns());
    std::FILE* file = std::fopen(path.c_str(), "w");
    bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr) good = std::fclose(file) == 0 && good;
    if (!good) {
      throw_error(ErrorKind::Runtime,
                  fmt::format("export_memory_timeline: cannot write '{}': {}", path, std::strerror(errno)));
    }
  }

 private:
  const RecordedData data_;

  const Peaks* peaks() const {
    for (const auto& thread : data_.threads)
      for (const profiling::Event& event : thread.events)
        if (event.work.is_known) return &measured_peaks();
    return nullptr;
  }

  std::vector<profiler::Event> events(const Peaks* peaks) const {
    std::vector<profiler::Event> result;
    for (const auto& thread : data_.threads)
      for (const profiling::Event& event : thread.events)
        if (!profiling::is_lane(event.kind))
          result.push_back(described(event, thread, data_.begin_ns, peaks));
    std::stable_sort(result.begin(), result.end(), [](const profiler::Event& a, const profiler::Event& b) {
      return std::make_tuple(a.begin_ns, b.end_ns) < std::make_tuple(b.begin_ns, a.end_ns);
    });
    return result;
  }
};

}  // namespace

std::shared_ptr<const profiler::Recording> make_recording(RecordedData data) {
  return std::make_shared<RecordingOfThreads>(std::move(data));
}

}  // namespace weft::runtime
