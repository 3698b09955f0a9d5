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
    // It has been decided, and this call need not be timed; counts it.
    bool is_settled();
    // The same of a call that is Python's; nothing is counted where it is not.
    bool is_plain_again();
    // True once: where it turns out that Python is the faster one.
    bool add(bool is_plain, double us);
  };

  // Something of the function runs step by step.
  void suspect() { is_suspected_ = is_announced_ = true; }
  // What it computes is little, and its graph is broken: that Python is faster then is nothing to warn of.
  void suspect_small() { is_suspected_ = true; }
  bool is_suspected() const { return is_suspected_; }
  bool is_announced() const { return is_announced_; }
  Times& times(PyObject* const* args, size_t num_args) {
    const uint64_t key = size_class(args, num_args);
    if (last_ == nullptr || last_key_ != key) last_ = &times_[key], last_key_ = key;
    return *last_;
  }

 private:
  static uint64_t size_class(PyObject* const* args, size_t num_args);

  bool is_suspected_ = false, is_announced_ = false;
  std::unordered_map<uint64_t, Times> times_;
  Times* last_ = nullptr;  // of the call before: most are of one size
  uint64_t last_key_ = 0;
};

}  // namespace weft::capture
