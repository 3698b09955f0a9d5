#include "runtime/stack_switch.h"

#include <cstdint>
#include <cstring>

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

namespace weft::runtime {

void* prepared_stack(char* end, void (*function)()) {
  // As a call of `function` finds the stack: 16 bytes aligned, less the return address.
  void** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(end) & ~uintptr_t{15});
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(function);
  top -= 6;
  std::memset(top, 0, 6 * sizeof(void*));
  return top;
}

}  // namespace weft::runtime
