// What each block of memory was, and when: from notes of the allocator, operators and graphs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "runtime/recording.h"
#include "runtime/trace_file.h"

namespace weft::runtime {
namespace {

using profiler::Allocation;
using profiling::MemoryAction;
using profiling::MemoryEvent;

struct Block {
  Allocation allocation;
  int64_t outer_end_ns = 0;  // of the operator, graph or compilation that it was made in
  bool is_tensor = false, is_input = false, is_output = false, is_parameter = false;
  bool is_earlier = false, in_compilation = false, is_released = false;
};

std::string_view category_of(const Block& block) {
  const bool outlives = block.allocation.end_ns > block.outer_end_ns;
  if (block.is_parameter || (block.in_compilation && outlives)) return "parameter";
  if (block.is_input && (block.is_earlier || block.outer_end_ns == 0)) return "input";
  if (block.is_earlier) return "earlier";
  if (!block.is_tensor) return "workspace";
  if (block.is_output || !block.is_released) return "output";
  return outlives ? "activation" : "temporary";
}

class Blocks {
 public:
  explicit Blocks(const RecordedData& data) : data_(data) {
    for (const profiling::ThreadRecord& thread : data.threads) {
      std::unordered_map<int64_t, int64_t> ends;
      for (const profiling::Event& event : thread.events) ends.emplace(event.id, event.end_ns);
      for (const MemoryEvent& event : thread.memory) {
        const auto found = ends.find(event.outer_id);
        notes_.emplace_back(&event, found == ends.end() ? 0 : found->second - data.begin_ns);
      }
    }
    std::stable_sort(notes_.begin(), notes_.end(),
                     [](const auto& a, const auto& b) { return a.first->time_ns < b.first->time_ns; });
  }

  std::vector<Allocation> find() {
    for (const auto& [event, outer_end_ns] : notes_) note(*event, outer_end_ns);
    std::vector<Allocation> result;
    for (Block& block : blocks_) {
      if (!block.is_released) block.allocation.end_ns = data_.end_ns - data_.begin_ns;
      block.allocation.category = category_of(block);
      result.push_back(std::move(block.allocation));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Allocation& a, const Allocation& b) { return a.begin_ns < b.begin_ns; });
    return result;
  }

 private:
  const RecordedData& data_;
  std::vector<std::pair<const MemoryEvent*, int64_t>> notes_;
  std::vector<Block> blocks_;
  std::unordered_map<const void*, size_t> live_;

  Block& add(const MemoryEvent& event, int64_t begin_ns) {
    live_[event.address] = blocks_.size();
    Block& block = blocks_.emplace_back();
    block.allocation = {.begin_ns = begin_ns,
                        .end_ns = 0,
                        .bytes = static_cast<int64_t>(event.bytes),
                        .category = {},
                        .type = {},
                        .operator_name = text_or_empty(event.name),
                        .stack = text_or_empty(event.stack),
                        .device = event.device.str()};
    return block;
  }
  // From before the recording, where it is not known.
  Block& found(const MemoryEvent& event) {
    const auto at = live_.find(event.address);
    if (at != live_.end()) return blocks_[at->second];
    Block& block = add(event, 0);
    block.allocation.operator_name = {};
    block.is_earlier = true;
    return block;
  }

  void note(const MemoryEvent& event, int64_t outer_end_ns) {
    const int64_t now = event.time_ns - data_.begin_ns;
    switch (event.action) {
      case MemoryAction::Allocated: {
        Block& block = add(event, now);
        block.outer_end_ns = outer_end_ns;
        block.in_compilation = event.in_compilation;
        break;
      }
      case MemoryAction::Released: {
        Block& block = found(event);
        block.is_released = true;
        block.allocation.end_ns = now;
        live_.erase(event.address);
        break;
      }
      case MemoryAction::IsTensor:
        if (const auto at = live_.find(event.address); at != live_.end()) {
          blocks_[at->second].is_tensor = true;
          blocks_[at->second].allocation.type = text_or_empty(event.text);
        }
        break;
      case MemoryAction::IsInput: found(event).is_input = true; break;
      case MemoryAction::IsOutput: found(event).is_output = true; break;
      case MemoryAction::IsParameter: {
        Block& block = found(event);
        block.is_parameter = true;
        if (block.is_earlier) block.allocation.type = text_or_empty(event.text);
        break;
      }
    }
  }
};

constexpr std::string_view kCategories[] = {"parameter", "input",     "output", "activation",
                                            "temporary", "workspace", "earlier"};
constexpr size_t kNumCategories = std::size(kCategories);

size_t index_of(std::string_view category) {
  return static_cast<size_t>(std::find(std::begin(kCategories), std::end(kCategories), category) -
                             std::begin(kCategories));
}

// Bytes per category after each change; where there are many, the fullest moment of each part of the time.
struct Curve {
  std::vector<int64_t> times;
  std::vector<std::vector<int64_t>> bytes;  // by category
};

Curve curve_of(const std::vector<Allocation>& allocations, int64_t length_ns) {
  constexpr int64_t kPoints = 2000;
  std::map<int64_t, std::vector<int64_t>> changes;
  for (const Allocation& a : allocations) {
    for (const auto& [time, sign] : {std::pair(a.begin_ns, 1), std::pair(a.end_ns, -1)}) {
      if (sign < 0 && time >= length_ns) continue;
      std::vector<int64_t>& at = changes.try_emplace(time, kNumCategories, 0).first->second;
      at[index_of(a.category)] += sign * a.bytes;
    }
  }
  Curve curve;
  std::vector<int64_t> now(kNumCategories, 0);
  int64_t part = -1, most = 0;
  for (const auto& [time, change] : changes) {
    int64_t total = 0;
    for (size_t i = 0; i < kNumCategories; ++i) total += now[i] += change[i];
    const int64_t here = static_cast<int64_t>(changes.size()) <= kPoints
                             ? time
                             : time / std::max<int64_t>(1, length_ns / kPoints);
    if (here == part && total <= most) continue;
    if (here == part) {
      curve.times.back() = time;
      curve.bytes.back() = now;
    } else {
      curve.times.push_back(time);
      curve.bytes.push_back(now);
    }
    part = here;
    most = total;
  }
  return curve;
}

}  // namespace

std::vector<Allocation> find_allocations(const RecordedData& data) { return Blocks(data).find(); }

// {"length_ns", "categories", "times", "bytes", "allocations": [[begin, end, bytes, category, type, operator,
// stack, device], …], "texts"}; the last four of an allocation are positions in "texts".
std::string memory_json(const std::vector<Allocation>& allocations, int64_t length_ns) {
  constexpr size_t kMost = 20000;
  std::vector<const Allocation*> largest;
  for (const Allocation& a : allocations) largest.push_back(&a);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Allocation* a, const Allocation* b) { return a->bytes > b->bytes; });
  if (largest.size() > kMost) largest.resize(kMost);
  std::map<std::string, size_t, std::less<>> numbers;
  std::vector<std::string_view> texts;
  const auto number_of = [&](std::string_view text) {
    const auto [found, is_new] = numbers.try_emplace(std::string(text), texts.size());
    if (is_new) texts.push_back(found->first);
    return found->second;
  };
  std::string rows;
  for (const Allocation* a : largest) {
    fmt::format_to(std::back_inserter(rows), "{}[{}, {}, {}, {}, {}, {}, {}, {}]", rows.empty() ? "" : ",\n",
                   a->begin_ns, a->end_ns, a->bytes, index_of(a->category), number_of(a->type),
                   number_of(a->operator_name), number_of(a->stack), number_of(a->device));
  }
  const auto list = [](const auto& items, const auto& text_of) {
    std::string result;
    for (const auto& item : items) result += (result.empty() ? "" : ", ") + text_of(item);
    return "[" + result + "]";
  };
  const auto number = [](int64_t value) { return std::to_string(value); };
  const auto text = [](std::string_view value) { return json_string(value); };
  const Curve curve = curve_of(allocations, length_ns);
  return fmt::format(
      "{{\"length_ns\": {}, \"count\": {},\n\"categories\": {},\n\"times\": {},\n\"bytes\": {},\n"
      "\"texts\": {},\n\"allocations\": [\n{}]}}\n",
      length_ns, allocations.size(), list(kCategories, text), list(curve.times, number),
      list(curve.bytes, [&](const std::vector<int64_t>& point) { return list(point, number); }),
      list(texts, text), rows);
}

}  // namespace weft::runtime
