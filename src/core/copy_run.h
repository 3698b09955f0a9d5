// Copying runs of bytes that are not aligned to each other, in this machine's vectors.
#pragma once

#include <cstdint>

namespace weft {

// `bytes`, more than 64, from memory that does not overlap the target's.
using CopyRun = void (*)(char* to, const char* from, int64_t bytes);
// With this machine's vectors (in the folder of its architecture), and with those that every machine has.
CopyRun copy_run_function();
void copy_run_baseline(char* to, const char* from, int64_t bytes);

}  // namespace weft
