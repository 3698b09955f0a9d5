// A recording as a file in Chrome's trace event format: a complete event per span, times in microseconds.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/profiling.h"
#include "runtime/peaks.h"

namespace weft::runtime {

// Valid JSON after every add(), so that a program that dies leaves what it wrote last.
class TraceFile {
 public:
  // RuntimeError, which begins with `function`, when the file cannot be written. `limit`: of its bytes.
  TraceFile(std::string path, const char* function, int64_t begin_ns, int64_t limit);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Events get their share of what the machine can do, where `peaks` are known.
  void add(const std::vector<profiling::ThreadRecord>& records, const Peaks* peaks) noexcept;
  // RuntimeError when something could not be written; a warning where events are left out.
  // `members`: as export_chrome_trace has them.
  void finish(const std::string& members = {});
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const char* const function_;
  const int64_t begin_ns_, limit_;
  const int process_;
  int file_ = -1;
  bool is_seekable_ = true;
  int64_t size_ = 0;  // without the end
  int64_t left_out_ = 0;
  int64_t ranges_ = 0;  // that overlap others
  int64_t memory_ = 0;
  int error_ = 0;
  std::set<int> named_threads_;

  bool append(std::string* text, const std::string& entry);
  void write(const std::string& text);
  std::string end(const std::string& members = {}) const;
};

std::string json_string(std::string_view text);

}  // namespace weft::runtime
