#include "capture/running/call_pace.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

constexpr double kFarFrom = 3;            // times that are so far apart are not taken again
constexpr int kProbes = 3;                // calls of each kind, before it is decided
constexpr int64_t kProbeAgain = 1 << 11;  // calls
constexpr double kMargin = 0.95;          // of the compiled call's time, which Python's must be below

}  // namespace

bool CallPace::Times::plain_is_next() const {
  // What was captured or loaded from disk only now does not count: compiled calls first.
  if (compiled_calls < kProbes) return false;
  return plain_calls < kProbes || plain_us < kMargin * compiled_us;
}

bool CallPace::Times::is_settled() {
  if (compiled_calls < kProbes || plain_calls < kProbes) return false;
  const bool is_clear = plain_us > kFarFrom * compiled_us || compiled_us > kFarFrom * plain_us;
  return is_clear || ++calls % kProbeAgain != 0;
}

bool CallPace::Times::is_plain_again() {
  if (compiled_calls < kProbes || plain_calls < kProbes || !plain_is_next()) return false;
  if (compiled_us <= kFarFrom * plain_us && (calls + 1) % kProbeAgain == 0) return false;
  ++calls;
  return true;
}

bool CallPace::Times::add(bool is_plain, double us) {
  if (compiled_calls >= kProbes && plain_calls >= kProbes) *this = Times{.announced = announced};
  ++(is_plain ? plain_calls : compiled_calls);
  double& fastest = is_plain ? plain_us : compiled_us;
  fastest = std::min(fastest, us);
  return plain_calls == kProbes && plain_is_next() && !std::exchange(announced, true);
}

// Sizes of arrays and containers and magnitudes of ints, to a factor of two.
uint64_t CallPace::size_class(PyObject* const* args, size_t num_args) {
  uint64_t key = num_args;
  for (size_t i = 0; i < num_args; ++i) {
    PyObject* o = args[i];
    int64_t size = 0;
    if (PyFloat_CheckExact(o))
      size = 0;
    else if (PyLong_CheckExact(o)) {
      int overflow = 0;
      size = PyLong_AsLongLongAndOverflow(o, &overflow);
    } else if (PyArray_Check(o))
      size = PyArray_SIZE(reinterpret_cast<PyArrayObject*>(o));
    else if (PyList_Check(o) || PyTuple_Check(o))
      size = PySequence_Fast_GET_SIZE(o);
    key = key * 67 + static_cast<uint64_t>(std::bit_width(size < 0 ? ~static_cast<uint64_t>(size)
                                                                   : static_cast<uint64_t>(size)));
  }
  return key;
}

}  // namespace weft::capture
