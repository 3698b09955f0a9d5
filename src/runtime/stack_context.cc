#include "runtime/stack_context.h"

#include <cstdint>
#include <cstring>

#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace weft::runtime {

#if defined(__x86_64__) && !defined(WEFT_ADDRESS_SANITIZER)

extern "C" void weft_switch_stack(void** from, void* to);
__asm__(R"(
.text
.p2align 4
.globl weft_switch_stack
.hidden weft_switch_stack
.type weft_switch_stack, @function
weft_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size weft_switch_stack, .-weft_switch_stack
)");

void StackContext::prepare(char* stack, size_t size, void (*function)()) {
  // As a call of `function` finds the stack: 16 bytes aligned, less the return address.
  void** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + size) & ~uintptr_t{15});
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(function);
  top -= 6;
  std::memset(top, 0, 6 * sizeof(void*));
  top_ = top;
}

void StackContext::change(StackContext& from, StackContext& to, bool /*is_last*/) {
  weft_switch_stack(&from.top_, to.top_);
}

void StackContext::begun() {}

#else

// AddressSanitizer is told of each switch (sanitizer/common_interface_defs.h).
void StackContext::prepare(char* stack, size_t size, void (*function)()) {
#if defined(WEFT_ADDRESS_SANITIZER)
  bottom_ = stack;
  size_ = size;
  fake_stack_ = nullptr;
#endif
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = size;
  context_.uc_link = nullptr;
  makecontext(&context_, function, 0);
}

void StackContext::change(StackContext& from, StackContext& to, [[maybe_unused]] bool is_last) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(is_last ? nullptr : &from.fake_stack_, to.bottom_, to.size_);
  swapcontext(&from.context_, &to.context_);
  __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#else
  swapcontext(&from.context_, &to.context_);
#endif
}

void StackContext::begun() {
#if defined(WEFT_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(nullptr, &bottom_, &size_);
#endif
}

#endif

}  // namespace weft::runtime
