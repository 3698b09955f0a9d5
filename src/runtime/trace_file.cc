#include "runtime/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/files.h"
#include "runtime/log.h"
#include "weft/error.h"

namespace weft::runtime {
namespace {

using profiling::Event;
using profiling::MemoryAction;
using profiling::MemoryEvent;
using profiling::ThreadRecord;

constexpr std::string_view kBegin = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";

double microseconds(int64_t ns) { return static_cast<double>(ns) * 1e-3; }

std::string arguments_of(const Event& event, const Peaks* peaks) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, value);
  };
  if (event.inputs != nullptr) {
    const std::string_view inputs = event.inputs;
    const size_t line = inputs.find('\n');
    add("Input Dims", std::string(inputs.substr(0, line)));
    add("Input type", std::string(inputs.substr(line + 1)));
  }
  if (event.work.is_known) {
    add("bytes", fmt::format("{:.0f}", event.work.bytes));
    add("operations", fmt::format("{:.0f}", event.work.operations));
    if (peaks != nullptr && event.total_ns() > 0)
      add("% of ceiling",
          fmt::format("{:.1f}", peaks->least_ns(event.work) * 100 / static_cast<double>(event.total_ns())));
  }
  if (event.allocated != 0) add("allocated bytes", std::to_string(event.allocated));
  if (event.stack != nullptr) add("stack", json_string(event.stack));
  return text.empty() ? text : ", \"args\": {" + text + "}";
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

TraceFile::TraceFile(std::string path, const char* function, int64_t begin_ns, int64_t limit)
    : path_(std::move(path)), function_(function), begin_ns_(begin_ns), limit_(limit), process_(getpid()) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) error_ = errno;
  is_seekable_ = file_ >= 0 && ::lseek(file_, 0, SEEK_CUR) == 0;
  write(std::string(kBegin) +
        fmt::format(R"({{"name": "process_name", "ph": "M", "pid": {}, "args": {{"name": "weft"}}}})",
                    process_));
  if (error_ == 0) return;
  if (file_ >= 0) ::close(file_);
  throw_error(ErrorKind::Runtime,
              fmt::format("{}: cannot write '{}': {}", function_, path_, std::strerror(error_)));
}

TraceFile::~TraceFile() {
  if (file_ >= 0) ::close(file_);
}

std::string TraceFile::end(const std::string& members) const {
  return fmt::format("\n], \"left out\": {}{}}}\n", left_out_, members);
}

// Over the end of what was written before.
void TraceFile::write(const std::string& text) {
  if (error_ != 0) return;
  if (is_seekable_ && ::lseek(file_, size_, SEEK_SET) < 0) error_ = errno;
  if (error_ == 0 && !write_all(file_, is_seekable_ ? text + end() : text)) error_ = errno;
  if (error_ == 0) size_ += static_cast<int64_t>(text.size());
}

bool TraceFile::append(std::string* text, const std::string& entry) {
  if (size_ + static_cast<int64_t>(text->size() + entry.size()) > limit_) {
    ++left_out_;
    return false;
  }
  *text += entry;
  return true;
}

void TraceFile::add(const std::vector<ThreadRecord>& records, const Peaks* peaks) noexcept try {
  std::string text;
  std::vector<MemoryEvent> memory;
  for (const ThreadRecord& record : records) {
    if (named_threads_.insert(record.thread).second) {
      append(
          &text,
          fmt::format(",\n"
                      R"({{"name": "thread_name", "ph": "M", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
                      process_, record.thread, json_string(record.name)));
    }
    left_out_ += static_cast<int64_t>(record.dropped);
    for (const Event& event : record.events) {
      const std::string common =
          fmt::format(R"({{"name": {}, "cat": "{}", "pid": {}, "tid": {}, )", json_string(event.name),
                      profiling::str(event.kind), process_, record.thread);
      const double begin = microseconds(event.begin_ns - begin_ns_);
      if (!event.overlaps) {
        append(&text, fmt::format(",\n{}\"ph\": \"X\", \"ts\": {:.3f}, \"dur\": {:.3f}{}}}", common, begin,
                                  microseconds(event.total_ns()), arguments_of(event, peaks)));
      } else {
        append(&text,
               fmt::format(",\n{0}\"ph\": \"b\", \"id\": {1}, \"ts\": {2:.3f}{4}}},\n{0}\"ph\": \"e\", "
                           "\"id\": {1}, \"ts\": {3:.3f}}}",
                           common, ++ranges_, begin, begin + microseconds(event.total_ns()),
                           arguments_of(event, peaks)));
      }
    }
    memory.insert(memory.end(), record.memory.begin(), record.memory.end());
  }
  std::stable_sort(memory.begin(), memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  for (const MemoryEvent& event : memory) {
    if (event.action > MemoryAction::Released) continue;
    const auto bytes = static_cast<int64_t>(event.bytes);
    memory_ += event.action == MemoryAction::Allocated ? bytes : -bytes;
    append(&text,
           fmt::format(",\n"
                       R"({{"name": "memory", "ph": "C", "pid": {}, "ts": {:.3f}, "args": {{"bytes": {}}}}})",
                       process_, microseconds(event.time_ns - begin_ns_), memory_));
  }
  write(text);
} catch (const std::bad_alloc&) {
  error_ = ENOMEM;
}

void TraceFile::finish(const std::string& members) {
  if (is_seekable_ && error_ == 0 && ::lseek(file_, size_, SEEK_SET) < 0) error_ = errno;
  if (error_ == 0 && !write_all(file_, end(members))) error_ = errno;
  if (left_out_ > 0) {
    log::warning(fmt::format("profiler: {} later events are not in '{}'; WEFT_TRACE_LIMIT is {} bytes",
                             left_out_, path_, limit_));
  }
  if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) {
    throw_error(ErrorKind::Runtime,
                fmt::format("{}: cannot write '{}': {}", function_, path_, std::strerror(error_)));
  }
}

}  // namespace weft::runtime
