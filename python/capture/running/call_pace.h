// Functions of which much runs step by step may be faster in Python: calls of both kinds are timed.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "capture/objects/py.h"

namespace weft::capture {

class CallPace {
 public:
  // Times of calls with arguments of about these sizes.
  struct Times {
    double compiled_us = 1e30, plain_us = 1e30;  // of the fastest
    int compiled_calls = 0, plain_calls = 0;
    int64_t calls = 0;
    bool announced = false;
    bool plain_is_next() const;
    // True once: where it turns out that Python is the faster one.
    bool add(bool is_plain, double us);
  };

  // Something of the function runs step by step.
  void suspect() { is_suspected_ = true; }
  bool is_suspected() const { return is_suspected_; }
  Times& times(PyObject* const* args, size_t num_args) { return times_[size_class(args, num_args)]; }

 private:
  static uint64_t size_class(PyObject* const* args, size_t num_args);

  bool is_suspected_ = false;
  std::unordered_map<uint64_t, Times> times_;
};

}  // namespace weft::capture
