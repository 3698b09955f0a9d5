#pragma once

namespace weft::capture {

// While it lives, exceptions are raised also where no handler of the segment's frames is.
class Awaiting {
 public:
  explicit Awaiting(int& count) : count_(++count) {}
  ~Awaiting() { --count_; }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

 private:
  int& count_;
};

}  // namespace weft::capture
