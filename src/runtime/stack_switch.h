// Changing from one stack to another, in the architecture's own instructions (its folder in src/runtime).
#pragma once

// Puts what a call must keep on this stack and its top into *from, and goes on where `to` was left.
extern "C" void weft_switch_stack(void** from, void* to);

namespace weft::runtime {

// The top of a stack, below `end`, as if it had been left in front of the first instruction of `function`.
void* prepared_stack(char* end, void (*function)());

}  // namespace weft::runtime
