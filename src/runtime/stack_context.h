// A point in a computation on a stack of its own, which another one can be left for.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)  // clang's way
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(WEFT_ADDRESS_SANITIZER)
#include <ucontext.h>
#endif

namespace weft::runtime {

class StackContext {
 public:
  // Where `function` begins, on this stack.
  void prepare(char* stack, size_t size, void (*function)());
  // Leaves `from`, which goes on here when it is changed to; `is_last`: never.
  static void change(StackContext& from, StackContext& to, bool is_last);
  // First in a new context, with the one that it was begun from.
  void begun();

 private:
#if !defined(WEFT_ADDRESS_SANITIZER)
  void* top_ = nullptr;  // what a call must keep is on the stack
#else
  ucontext_t context_;
  const void* bottom_ = nullptr;
  size_t size_ = 0;
  void* fake_stack_ = nullptr;
#endif
};

}  // namespace weft::runtime
