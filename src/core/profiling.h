// What weft::profiler records: events and allocations, in buffers of each thread's own.
//
// While nothing is recorded, a Span and a note cost one relaxed load each.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/device.h"
#include "weft/dtype.h"

namespace weft::profiling {

enum Flag : uint32_t {
  kEvents = 1,
  kInputs = 2,  // shapes and dtypes of operands
  kMemory = 4,  // allocations
  kStacks = 8,  // Python's calls
};
extern std::atomic<uint32_t> flags;  // 0: nothing is recorded
inline bool is_on(uint32_t wanted = kEvents) { return (flags.load(std::memory_order_relaxed) & wanted) != 0; }

enum class Kind : uint8_t { Range, Operator, Kernel, Graph, Script, Compile, IntraOp, InterOp };
const char* str(Kind kind);
// How the threads share work: their time is that of the events around and inside them.
inline bool is_lane(Kind kind) { return kind >= Kind::IntraOp; }

// Estimates, of which the time that a machine needs at least follows.
struct Work {
  double bytes = 0;  // read and written
  double operations = 0;
  DType arithmetic = DType::F32;  // of the operations
  bool is_known = false;
};

struct Event {
  const char* name = nullptr;    // static, or interned; so are the other texts
  const char* inputs = nullptr;  // "[[8, 64], [64]]\n[\"f32\", \"f32\"]"
  const char* stack = nullptr;   // a call per line, the innermost first
  int64_t id = 0;                // of this thread
  int64_t begin_ns = 0, end_ns = 0;
  int64_t inner_ns = 0;                        // of events inside it
  int64_t allocated = 0, inner_allocated = 0;  // bytes, less those released
  Work work;
  Kind kind = Kind::Operator;
  bool overlaps = false;  // ended while events begun later were open, or in another thread

  int64_t total_ns() const { return end_ns - begin_ns; }
  int64_t self_ns() const { return total_ns() - inner_ns; }
};

// What happened to a block of memory.
enum class MemoryAction : uint8_t {
  Allocated,
  Released,
  IsTensor,     // `text` is its type
  IsInput,      // of a graph
  IsOutput,     // of a graph
  IsParameter,  // of a module
};
struct MemoryEvent {
  int64_t time_ns = 0;
  const void* address = nullptr;
  size_t bytes = 0;
  const char* text = nullptr;  // of IsTensor and IsParameter
  const char* name = nullptr;  // of the innermost event around it
  const char* stack = nullptr;
  int64_t outer_id = 0;  // of the outermost operator, graph or compilation around it; 0: none
  Device device;
  MemoryAction action = MemoryAction::Allocated;
  bool in_compilation = false;
};

int64_t now_ns();
// One text of these characters, for the rest of the process.
const char* intern(std::string_view text);

// An event from its construction to its destruction, on the calling thread. Those that are open when a
// recording ends, end there.
class Span {
 public:
  // `name` is static or interned; `place`: innermost calls, which the thread's stack does not have.
  explicit Span(const char* name, Kind kind = Kind::Operator, const char* place = nullptr) {
    if (is_on()) [[unlikely]]
      begin(name, kind, place);
  }
  // A name that is made where something records.
  template <class MakeName>
    requires requires(const MakeName& make) { std::string_view(make()); }
  Span(const MakeName& make_name, Kind kind) {
    if (is_on()) [[unlikely]]
      begin(intern(make_name()), kind, nullptr);
  }
  ~Span() {
    if (recording_ != 0) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  bool is_recorded() const { return recording_ != 0; }
  Work work;
  const char* inputs = nullptr;

 private:
  void begin(const char* name, Kind kind, const char* place) noexcept;
  void end() noexcept;

  int64_t recording_ = 0;  // the one that has the event; 0: none
  int64_t id_ = 0;
};

struct ThreadEvents;
// A range of the user's, which may end in another order than it began, and in another thread.
class OpenRange {
 public:
  OpenRange() = default;
  explicit OpenRange(std::string_view name) noexcept;
  void end() noexcept;  // once; does nothing where none has begun

 private:
  std::shared_ptr<ThreadEvents> thread_;
  int64_t recording_ = 0, id_ = 0;
};

void note_memory_now(MemoryAction action, const void* address, size_t bytes, Device device,
                     const char* text) noexcept;
inline void note_memory(MemoryAction action, const void* address, size_t bytes, Device device = {},
                        const char* text = nullptr) {
  if (is_on(kMemory)) [[unlikely]]
    note_memory_now(action, address, bytes, device, text);
}

// Gives the calling thread's Python calls as an interned text, null where the thread does not hold the
// interpreter's lock: then those count that it had when it gave the lock up. Called while kStacks is on.
using StackSource = const char* (*)();
void set_stack_source(StackSource source);
void remember_stack();  // before the thread gives the lock up

// The calling thread's name in traces ("intra-op 3"), and in debuggers and `top -H` ("weft intra 3").
void name_thread(const char* kind, int number);

// ---- recordings: one at a time; callers see to that ---------------------------------------------------
struct ThreadRecord {
  pid_t thread = 0;
  std::string name;
  std::vector<Event> events;  // in the order in which they ended
  std::vector<MemoryEvent> memory;
  size_t dropped = 0;  // more than a thread may hold
};
inline constexpr size_t kMaxEventsPerThread = size_t{1} << 20;

void begin_recording(uint32_t flags);
void end_recording();
// What the threads have recorded since the last time; after end_recording() with what was open then.
std::vector<ThreadRecord> take_records();

}  // namespace weft::profiling
