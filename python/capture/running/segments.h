// Positions of a function and their variants.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture/evaluate/evaluator.h"
#include "capture/guards/counters.h"
#include "capture/loops/loops.h"
#include "capture/loops/pace.h"
#include "capture/running/call_pace.h"
#include "capture/values/choices.h"

namespace weft::capture {

inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// A chain of code positions; where evaluation can go on.
struct Segment {
  std::vector<std::shared_ptr<Variant>> variants;
  History history;
  bool given_up = false;  // cannot be captured: the rest of the call runs as it is
  // There are many variants: milliseconds that were spent capturing them, and, since the last one, in calls
  // that fit none and ran as they are.
  double captured_ms = 0, missed_ms = 0;
};

// What tells the segments of one function apart, where all of the state is one frame and the
// choices are the usual ones.
struct SegmentPlace {
  const Code* code = nullptr;
  PyObject* globals = nullptr;
  int ip = 0;
  OnReturn on_return = OnReturn::Push;
  size_t stack_size = 0;
  uint64_t bound = 0;
  bool operator==(const SegmentPlace&) const = default;
};

// A place from which a function, or what is left of a call of it, is Python's.
struct Fallback {
  std::string file;
  int line;
  std::string reason;
  bool is_loop = false;  // the function goes on behind the loop
};

// What has been captured of one function.
struct Captures {
  std::unordered_map<std::string, std::shared_ptr<Segment>> segments;
  std::shared_ptr<Segment> root;
  // Some of `segments`, found without their keys.
  static constexpr size_t kMaxPlaced = 8;
  std::vector<std::pair<SegmentPlace, std::shared_ptr<Segment>>> placed;
  std::vector<std::shared_ptr<Variant>> in_order;
  std::shared_ptr<LoopPace> pace = std::make_shared<LoopPace>();
  std::shared_ptr<Loops> loops = std::make_shared<Loops>();
  std::shared_ptr<CallPace> calls = std::make_shared<CallPace>();
  std::vector<Fallback> fallbacks;
  bool is_timed = false;  // calls are (Run::is_within)
};

// Everything weft.compile keeps for one function.
class CompiledFunction {
 public:
  CompiledFunction(Ref function, Settings settings)
      : callable_(std::move(function)), settings_(std::move(settings)) {
    unwrap(callable_.get());
  }
  // Throws PythonError.
  Ref call(PyObject* const* args, size_t num_args, PyObject* kwnames);
  // The function that Python runs faster for arguments of about these sizes; null where that is not known,
  // and where the call is to be timed. With the usual choices.
  PyObject* faster_in_python(PyObject* const* args, size_t num_args);
  // What the call returns where native code runs all of it; null where it may not. With the usual choices.
  Ref call_whole(PyObject* const* args, size_t num_args);
  // For Python's collector of cycles: the objects that it holds besides its captures', and their end.
  int traverse(visitproc visit, void* arg) const;
  void let_go();
  // Forgets the captures, which end with what is returned.
  Captures take();
  PyObject* function() const { return function_.get(); }
  // For explain(): a list of dicts.
  Ref report() const;
  Ref fallbacks() const;

 private:
  class Run;  // run.h

  Ref run(State&& state);
  Ref call_compiled(PyObject* const* args, size_t num_args, PyObject* kwnames);
  // Compiled, or by Python where that has been faster.
  Ref call_at_pace(const std::shared_ptr<CallPace>& pace, PyObject* const* args, size_t num_args,
                   PyObject* kwnames);
  std::shared_ptr<Segment> segment(const State& state, const Choices& chosen);
  std::shared_ptr<Variant> capture(Segment& segment, const State& state, const Choices& chosen);

  // Remembers it, and says so the first time.
  void fall_back(Fallback fallback);
  void fall_back(const Frame& frame, const std::string& reason);

  void unwrap(PyObject* callable);
  // The class of the instance that is called has another __call__, maybe.
  bool is_class_changed() const;

  Ref callable_;  // what was compiled
  Ref instance_;  // the one behind partials and methods whose class has the function, or null
  PyTypeObject* instance_type_ = nullptr;
  unsigned instance_version_ = 0;
  Ref function_;  // what is evaluated, behind functools.partial, bound methods and instances that can be
                  // called
  std::vector<Ref> first_args_;
  Ref first_keywords_;  // a dict, or null
  Settings settings_;
  Captures captures_;
  const Code* root_code_ = nullptr;
  // The function's code, once calls of it have been left to Python.
  PyObject* plain_code_ = nullptr;
  std::string why_python_;  // the function is performed as it is; empty: it is not
};

std::string source_line(const std::string& file, int line);
// Says once that the loop was unrolled.
void name_unrolled(const UnrolledLoop& loop);

// Forgets all captures of all functions.
void reset_all();

}  // namespace weft::capture
