// What Python makes once in the process. A static variable's own initialization is no place for it: that
// holds a lock of C++ (the variable's guard) while Python code may hand the interpreter's lock to another
// thread, which may come for the same variable and wait for the guard with the interpreter's lock in its
// hands.
#pragma once

#include <memory>

namespace weft::python {

// Declared `static constinit`, used with the interpreter's lock held. No lock is held while the value is
// made: threads that come first at the same time each make one, and the first that is done is kept as long as
// the process; the others' are let go of. What a failed attempt throws leaves nothing behind.
template <class T>
class MadeOnce {
 public:
  template <class Make>
  T& get(Make&& make) {
    if (!value_) [[unlikely]] {
      auto made = std::make_unique<T>(make());
      if (!value_) value_ = made.release();
    }
    return *value_;
  }

 private:
  T* value_ = nullptr;
};

}  // namespace weft::python
