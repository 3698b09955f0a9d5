#include "runtime/stack_switch.h"

#include <cstdint>
#include <cstring>

// What a call must keep: x19 to x30, and the lower halves of v8 to v15.
__asm__(R"(
.text
.p2align 4
.globl weft_switch_stack
.hidden weft_switch_stack
.type weft_switch_stack, %function
weft_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size weft_switch_stack, .-weft_switch_stack
)");

namespace weft::runtime {

void* prepared_stack(char* end, void (*function)()) {
  constexpr size_t kWords = 20, kLinkRegister = 11;
  void** const top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(end) & ~uintptr_t{15}) - kWords;
  std::memset(top, 0, kWords * sizeof(void*));
  top[kLinkRegister] = reinterpret_cast<void*>(function);
  return top;
}

}  // namespace weft::runtime
