// What compiling saves, for `weft compile --report`: calls of compiled functions are timed, and a few of each
// function's are performed by Python for comparison.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/objects/py.h"

namespace weft::capture {

// Of one function; times in seconds.
struct Measurement {
  bool has_loops = false;   // in its source: calls with numbers only count, too
  int64_t calls = 0;        // from outside of other compiled functions, with arrays among the arguments or in
                            // objects, dicts, lists and tuples among them
  int64_t inner_calls = 0;  // from within other compiled functions
  int64_t other_calls = 0;  // from outside, without arrays: Python performs them
  double other = 0;         // of these, without the functions that they call
  double first = 0;         // the first compiled call, capturing and compiling included
  double total = 0;         // of all compiled calls
  std::vector<double> warm;  // compiled calls from the second on; the first kMaxSamples
  std::vector<double> plain;

  static constexpr size_t kMaxSamples = 256, kMaxPlain = 5;
};

using CallFunction = PyObject* (*)(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// Calls `self` through `compiled` or `plain` and counts it. What a plain call calls is plain, too.
PyObject* measured_call(Measurement& measurement, CallFunction compiled, CallFunction plain, PyObject* self,
                        PyObject* const* args, size_t nargsf, PyObject* kwnames);

// Seconds that calls of compiled functions took in this thread, those within others not counted again.
double measured_seconds();

// {"calls", "plain_calls", "first_ms", "total_ms", "warm_ms", "plain_ms", "inner_calls",
// "other_calls", "other_ms"}: medians, None where there was no
// such call.
Ref describe(const Measurement& measurement);

}  // namespace weft::capture
