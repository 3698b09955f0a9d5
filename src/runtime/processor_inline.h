// What is asked of the processor so often that it must not be a call: the header in its architecture's
// folder.
#pragma once

#if defined(__x86_64__)
#include "runtime/x86_64/instructions.h"
#elif defined(__aarch64__)
#include "runtime/aarch64/instructions.h"
#else
#error "weft has no folder for this processor's architecture: docs/HACKING.md says what one needs"
#endif
