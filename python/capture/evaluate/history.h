// What captures at one position have found out, for those that follow.
//
// A capture that cannot come to its end the way it took learns one lesson and is begun again; the next one
// goes otherwise there. Each lesson is learned once, and a position has finitely many: then it is captured,
// or given up.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "capture/evaluate/settings.h"
#include "capture/values/value.h"

namespace weft::capture {

struct Lesson {
  enum class Kind : uint8_t {
    NumpysCall,          // a graph has ended within the call: NumPy performs it
    PythonsInstruction,  // it had effects when the graph ended within it: Python performs it
    SeenObject,  // Python performs the instruction, because the program looks at what evaluation makes no
                 // object of: the traceback of an exception raised there, the end of a generator begun there
    CustomOperator,  // a graph has ended within one that the program has made: Python performs the call
    LongLoop,        // the iterations of the loop with this head are segments of their own
    PlainLoop,       // the loop with this head computes with Python's objects: it is Python's
    PythonsLibrary,  // collections.deque, max and the like are performed by Python, wherever they are
  };
  Kind kind;
  Place place = {};
  auto operator<=>(const Lesson&) const = default;
};

class History {
 public:
  bool knows(const Lesson& lesson) const { return lessons_.contains(lesson); }
  // False where it was known.
  bool learn(const Lesson& lesson) { return lessons_.insert(lesson).second; }

  // True if the integer or dimension, which is `value` now, is to be symbolic: one that changes is.
  bool symbolic(const std::string& what, int64_t value, Settings::Dynamic dynamic);
  // Never symbolic from now on. False where that was known.
  bool keep_constant(const std::string& what) { return constants_.insert(what).second; }
  // Symbolic from the first capture on. False where that was known.
  bool expect_change(const std::string& what) { return changing_.insert(what).second; }

 private:
  std::set<Lesson> lessons_;
  std::unordered_map<std::string, int64_t> seen_;
  std::set<std::string> changing_, constants_;
};

// Thrown where evaluation cannot go on to an end of the segment at this instruction.
struct CaptureAborted {
  enum class Then : uint8_t {
    EndEarlier,    // the segment may end before the instruction
    CaptureAgain,  // a lesson was learned
    GiveUp,        // the position runs as it is
  };
  std::string reason;
  Then then = Then::EndEarlier;
};

}  // namespace weft::capture
