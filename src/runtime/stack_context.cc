#include "runtime/stack_context.h"

#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#else
#include "runtime/stack_switch.h"
#endif

namespace weft::runtime {

#if !defined(WEFT_ADDRESS_SANITIZER)

void StackContext::prepare(char* stack, size_t size, void (*function)()) {
  top_ = prepared_stack(stack + size, function);
}

void StackContext::change(StackContext& from, StackContext& to, bool /*is_last*/) {
  weft_switch_stack(&from.top_, to.top_);
}

void StackContext::begun() {}

#else

// AddressSanitizer is told of each switch (sanitizer/common_interface_defs.h).
void StackContext::prepare(char* stack, size_t size, void (*function)()) {
  bottom_ = stack;
  size_ = size;
  fake_stack_ = nullptr;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = size;
  context_.uc_link = nullptr;
  makecontext(&context_, function, 0);
}

void StackContext::change(StackContext& from, StackContext& to, bool is_last) {
  __sanitizer_start_switch_fiber(is_last ? nullptr : &from.fake_stack_, to.bottom_, to.size_);
  swapcontext(&from.context_, &to.context_);
  __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
}

void StackContext::begun() { __sanitizer_finish_switch_fiber(nullptr, &bottom_, &size_); }

#endif

}  // namespace weft::runtime
