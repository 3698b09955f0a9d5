// What kernels find wrong with elements: an index that names none. They write a number to a word of the
// device's memory, which is read when results are copied to the host or the device is waited for.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda {

// The word, for kernels launched from now on to write to.
void* fault_word(int device);
// The number that stands for a message.
int64_t fault_code(const std::string& message);
// Work was given to the device that was recorded, with the word in it.
void expect_faults(int device);
// IndexError with the message of the last fault since the last call, if there was one.
void check_faults(int device);

}  // namespace weft::cuda
