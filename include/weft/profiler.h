// Records what a program does: operators, compiled graphs and their kernels, compilation, TorchScript, tasks
// and pieces of parallel_for per thread, and memory. docs/PROFILER.md shows how the results are read.
//
// WEFT_TRACE=trace.json records a whole program. Children of fork() are not recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tensor.h"

namespace weft::profiling {
class OpenRange;
}

namespace weft::profiler {

struct Options {
  bool record_shapes = false;   // of the operands
  bool profile_memory = false;  // every allocation
  bool with_stack = false;      // Python's calls, of operators and allocations
  // A file that is written while the program runs, valid JSON at any time, and that Perfetto and
  // chrome://tracing open. At most WEFT_TRACE_LIMIT bytes; what comes then is left out, with a warning.
  std::string trace_path = {};
  bool keep = true;  // what is recorded, for stop() to give: some 150 bytes per event, a million per thread
};

// What ran. Times in nanoseconds since the recording began.
struct Event {
  std::string_view name;
  std::string_view category;  // "operator", "kernel", "graph", "script", "compile", "user_annotation", …
  std::string_view shapes;    // "[[8, 64], [64]]", with record_shapes
  std::string_view dtypes;    // "[\"f32\", \"f32\"]"
  std::string_view stack;     // "model.py(42): forward", a call per line, the innermost first
  int64_t thread = 0;         // the system's number
  int64_t begin_ns = 0, end_ns = 0;
  int64_t self_ns = 0;                  // without the events inside it
  int64_t memory = 0, self_memory = 0;  // bytes allocated, less those released, with profile_memory
  double bytes = 0, operations = 0;     // read and written; as the compiler estimates them
  double least_ns = 0;                  // that this machine needs for them; see Average
  bool has_work = false;                // bytes and operations are known
  bool overlaps = false;                // a range that does not nest with the thread's others
};

// Events of one name; by further properties, where asked for.
struct Average {
  std::string name = {}, category = {}, shapes = {}, dtypes = {}, stack = {};
  int64_t calls = 0;
  int64_t total_ns = 0, self_ns = 0;
  int64_t memory = 0, self_memory = 0;
  double bytes = 0, operations = 0;  // of all calls
  // Percent of what the machine can do at most: the longer of bytes at its bandwidth and operations at its
  // peak, as measured (runtime/ceilings.h), against the time taken. Above 100 where data stay in caches;
  // -1 where nothing is known.
  double percent_of_ceiling = -1;
};

// One block of memory.
struct Allocation {
  int64_t begin_ns = 0, end_ns = 0;  // 0: from before the recording; its end: there until then
  int64_t bytes = 0;
  // "parameter": of a module, and what was made of one when a graph was compiled. "input": of a graph, made
  // outside of operators. "output": a graph's result, or there when the recording ended. "workspace": no
  // tensor, a kernel's own. "temporary": released before the operator or graph that made it ended.
  // "activation": other tensors. "earlier": from before the recording, and none of these.
  std::string_view category;
  std::string_view type;           // "f32[64, 4096, 4096]"
  std::string_view operator_name;  // the innermost event around the allocation
  std::string_view stack;
  std::string device;
};

class Recording {
 public:
  virtual ~Recording() = default;
  // By begin; without the threads' lanes ("intra-op", "inter-op"), which only the trace has.
  virtual std::vector<Event> events() const = 0;
  // Measures the machine's ceilings first, in about a second, where that has never been done.
  virtual std::vector<Average> averages(bool by_shapes = false, int by_stack_lines = 0) const = 0;
  // By begin. ValueError where profile_memory was not asked for.
  virtual std::vector<Allocation> allocations() const = 0;
  virtual int64_t length_ns() const = 0;
  // `members`: of the file's JSON object, further ones, each after a comma. RuntimeError when the file cannot
  // be written.
  virtual void export_chrome_trace(const std::string& path, const std::string& members = {}) const = 0;
  // A page for a browser (PATH.html) or the allocations as JSON (PATH.json).
  virtual void export_memory_timeline(const std::string& path) const = 0;
};

// Records from now on. RuntimeError while recording, or when the trace's file cannot be written.
void start(const Options& options);
// A trace only.
void start(const std::string& path);
// RuntimeError when not recording, or when the trace could not be written.
std::shared_ptr<const Recording> stop();
bool enabled();

// Names a range of the program, from construction to destruction.
class RecordFunction {
 public:
  explicit RecordFunction(std::string_view name);
  ~RecordFunction();
  RecordFunction(const RecordFunction&) = delete;
  RecordFunction& operator=(const RecordFunction&) = delete;

 private:
  std::unique_ptr<profiling::OpenRange> range_;
};

// Says that the tensor's memory is a parameter of the model.
void note_parameter(const Tensor& tensor, std::string_view name);

struct TableOptions {
  // "self_cpu_time_total", "cpu_time_total", "cpu_time", "count", "cpu_memory_usage",
  // "self_cpu_memory_usage", "bytes", "operations", "percent_of_ceiling", "name"; ValueError for another one.
  // Empty: as given.
  std::string sort_by = {};
  int64_t row_limit = 100;  // -1: all
  size_t name_width = 55, shapes_width = 80, source_width = 75;
  std::string time_unit = {};  // "s", "ms", "us" or "ns" for all; empty: each as fits
  bool memory = false;         // columns
  bool shapes = false;
  std::string header = {};
};
std::string table(std::vector<Average> averages, const TableOptions& options = {});

}  // namespace weft::profiler
