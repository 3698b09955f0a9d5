// Native loops of one compiled function: entered from a real state at a loop's head, left with another real
// state.
#pragma once

#include <chrono>
#include <complex>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/guards/variant.h"
#include "capture/loops/builder.h"
#include "capture/loops/memory.h"

namespace weft::capture {

// What the loop's own instructions do with lists.
struct ListSlots {
  std::set<int> loaded;              // locals and cells that it reads
  std::set<int> appended;            // those with which it does nothing but append to them
  std::set<int> resized;             // those that it takes from, or appends to and does something else with
  std::set<std::string> attributes;  // that are lists it takes from or appends to
};
ListSlots list_slots(const Code& code, int head);
// The places on the stack, of that size at the head, of the lists that the loop's comprehensions make.
std::vector<size_t> stack_lists_appended_to(const Code& code, int head, size_t stack_size);

// What a loop sees of a frame: types, the words of what varies, arrays.
class LoopEntry {
 public:
  LoopEntry() = default;
  // `mixed`: locals with lists of numbers that become lists of several types. With `any_step`, the step of
  // the range that the loop goes over is no part of the types.
  LoopEntry(const Frame& frame, const std::set<int>& mixed, bool any_step = false);
  LoopValue classify(PyObject* object);
  LoopValue object(PyObject* object);
  void store_list(int index) const;
  void store_resized(size_t index, const std::vector<LoopValue>& types,
                     const std::function<Ref(const LoopValue& type, const int64_t* words)>& build) const;
  void prepare_lists(const LoopObjects& objects) const;
  // A list of numbers; the object itself if it is none.
  LoopValue vector(PyObject* object);
  // Code over arrays of different types takes them not to share memory.
  bool mixes_types() const;

  // All that EntryPattern reads.
  void clear_words() {
    words.clear();
    array_words.clear();
    array_objects.clear();
  }

  // Takes in attributes of the objects met so far, as locals of `frame` behind its own.
  void read_attributes(LoopFrame& frame);

  int64_t step = 1;  // of the range that the loop goes over
  std::vector<LoopFrame> frames;
  LoopObjects of_objects;
  std::vector<int64_t> words, array_words;
  std::vector<LoopArray> arrays;
  std::vector<Ref> array_objects, objects;
  // Lists that the loop resizes: what they hold at the entry, and what the loop makes of them.
  struct ListItems {
    Ref object;
    std::vector<int64_t> words;
    std::vector<uint8_t> tags;  // none where all are of one type
    std::unique_ptr<ResizedList> items;
  };
  std::vector<ListItems> lists;
  size_t num_list_items() const;
  // What the loop does with lists, before they are met; loaded: the loop reads a local that holds the list.
  std::set<PyObject*> appended_lists, resized_lists, loaded_lists;
  std::set<std::string> resized_attributes;
  std::string key;

 private:
  LoopValue integer(int64_t number);
  LoopValue complex_number(bool of_numpy, std::complex<double> number);
  LoopValue numpy_scalar(PyObject* object);
  bool is_nested(PyObject* function) const;
  LoopValue function(PyObject* object);
  LoopValue range_iterator(PyObject* object);
  LoopValue array(PyObject* object);
  LoopValue iterator(PyObject* object);
  LoopValue vector(PyObject* object, int64_t most);
  LoopValue resized(PyObject* list);
  void find_lists(const Frame& frame, const std::set<int>& mixed);

  static constexpr int64_t kMaxIterated = 1 << 22;      // numbers of a list that the loop reads
  static constexpr int64_t kMaxOtherNumbers = 1 << 13;  // of other lists

  PyObject* globals_ = nullptr;
  std::vector<PyObject*> functions_;  // being looked at

  std::vector<std::vector<int64_t>> vectors_;  // memory of lists
};

// A real list with what a list of the loop holds.
Ref python_list(const ResizedList& list, const std::vector<LoopValue>& types,
                const std::function<Ref(const LoopValue& type, const int64_t* words)>& build);
// A real iterator at `number`; `next` makes what the next of its leaves stands for.
Ref python_iterator(const LoopValue& gives, int64_t number, const std::function<Ref(const LoopValue&)>& next);

// Compiled code, for one set of types.
struct NativeLoop {
  LoopCode code;
  std::vector<LoopFrame> entry;
  std::shared_ptr<const void> module;
  int64_t (*function)(int64_t* io, const int64_t* arrays, const void* const* functions,
                      int64_t (*poll)()) = nullptr;
  double build_ms = 0;
  // Do its names still give what they gave when it was built? Looks them up where a dict has changed since.
  bool names_hold();
  // Looks up what it draws from. False: Python has to.
  bool finds_generators(const LoopEntry& entry);
  std::vector<std::pair<PyObject*, uint64_t>> versions;  // of the names' dicts, when they were looked up last

  int short_runs = 0;     // in a row, that ended with an instruction for Python
  int costly_runs = 0;    // in a row, that took less time than their lists
  bool is_timed = false;  // one has ended with an instruction for Python
};

// Code for whole calls with statements on arrays is for small ones.
bool is_of_use(const LoopCode& code, const LoopEntry& entry);

class EntryPattern;

enum class LoopOutcome { NotEntered, Advanced, Returned };

class Loops {
 public:
  // Steps that Python's instructions are performed for one by one, before CPython performs the loop they are
  // in.
  static constexpr int64_t kStepsInTurn = 2000;

  // Called with each loop that is compiled.
  using Report = std::function<void(std::shared_ptr<Variant>)>;

  // If the state is at the head of a loop that can be native, runs it. On Returned, `result` is what the
  // outermost frame returned.
  LoopOutcome run(State& state, Ref& result, const Report& report);
  // The same for a whole call, from its beginning, of a function that has loops and does nothing else.
  LoopOutcome run_whole(State& state, Ref& result, const Report& report);
  // The same from the arguments, where a call like it came before. Advanced: `state` is the call's, in the
  // middle of it.
  LoopOutcome call(const Code& code, PyObject* function, PyObject* const* args, size_t num_args, State& state,
                   Ref& result);
  // Python performs the rest of the call, but for the loops that are native.
  Ref finish(State& state, const Report& report);
  // Did the last run that advanced get somewhere, more than a round that Python has to perform a part of?
  bool was_useful() const { return was_useful_; }
  // Why the loop there was not native when it was last looked at; "" where nothing is known.
  std::string rejection(const Code* code, int head) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Candidates {
    std::vector<std::shared_ptr<NativeLoop>> loops;
    bool rejected = false;
  };
  // A loop's last entries that read() can recognize, each with what was found for it.
  struct Found {
    std::shared_ptr<NativeLoop> loop;
    Candidates* candidates;  // of by_key_
  };
  struct Known {
    std::shared_ptr<const EntryPattern> pattern;
    Found found;
  };
  static constexpr size_t kMaxKnown = 4;
  struct Rejections {
    int count = 0, in_vain = 0;  // in_vain: arrivals in a row with types that were rejected before
    std::string why;
    std::set<int64_t> steps;  // of the range that the loop goes over, other than 1
    std::vector<Known> known;
  };
  static std::shared_ptr<NativeLoop> add_loop(Candidates& candidates, const LoopEntry& entry,
                                              const Report& report);
  LoopOutcome enter(State& state, Ref& result, const Report& report);
  LoopOutcome call(const Found& found, LoopEntry& entry, PyObject* function, PyObject* const* args,
                   size_t num_args, State& state, Ref& result);
  // The number of the exit.
  static int64_t run_code(const NativeLoop& loop, LoopEntry& entry, LoopMemory& memory);
  // Runs the loop from the entry of the state's innermost frame.
  LoopOutcome run(const Found& found, LoopEntry& entry, State& state, Ref& result, Rejections& rejections,
                  Clock::duration reading, const Report& report);
  // Behind an exit that is not the end of a call, with the state rebuilt. is_long: the run was.
  LoopOutcome go_on(const Found& found, const LoopExit& exit, State& state, size_t depth, Ref& result,
                    Rejections& rejections, bool is_long, bool has_long_lists);
  bool note_mixed(const Frame& frame, const LoopEntry& entry, const LoopListMixed& list);
  static void note_conversion(NativeLoop& loop, const LoopEntry& entry, Clock::duration converting,
                              Clock::duration running, Rejections& rejections);

  std::unordered_map<std::string, Candidates> by_key_;
  bool was_useful_ = false;
  const Code* known_code_ = nullptr;  // of which this is known:
  bool has_loop_ = false;
  Rejections* whole_ = nullptr;                                   // of the code's beginning
  std::unique_ptr<LoopEntry> spare_;                              // for whole calls, one after another
  std::map<std::pair<const Code*, int>, Rejections> rejections_;  // by loop head
  std::map<std::pair<const Code*, int>, std::set<int>>
      mixed_;  // locals with lists that get items of other types
};

// Could the loop at the frame's position be native, for all the types say? `why`: the reason if not. May
// throw LoopListMixed.
bool can_be_native(std::vector<LoopFrame> frames, const LoopEntry& entry, std::string* why);

}  // namespace weft::capture
