// What a recording holds once it is over: weft::profiler::Recording.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/profiling.h"
#include "weft/profiler.h"

namespace weft::runtime {

struct RecordedData {
  int64_t begin_ns = 0, end_ns = 0;
  bool has_memory = false;
  int64_t trace_limit = 0;  // bytes
  std::vector<profiling::ThreadRecord> threads;
};

inline std::string_view text_or_empty(const char* text) {
  return text == nullptr ? std::string_view() : text;
}

std::shared_ptr<const profiler::Recording> make_recording(RecordedData data);

// ---- memory_timeline.cc ----
std::vector<profiler::Allocation> find_allocations(const RecordedData& data);
std::string memory_json(const std::vector<profiler::Allocation>& allocations, int64_t length_ns);
std::string memory_page(const std::vector<profiler::Allocation>& allocations, int64_t length_ns);

}  // namespace weft::runtime
