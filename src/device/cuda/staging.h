// Copies between the process's memory and a device. Memory that may be paged out goes through two pinned
// buffers in turn: while a device reads one, the process fills the other.
#pragma once

#include <cstddef>

namespace weft::cuda {

// Behind the work of the stream. `from` may be written when the call returns; `to` holds everything.
void copy_to_device(void* to, const void* from, size_t nbytes, int device);
void copy_to_host(void* to, const void* from, size_t nbytes, int device);
// The same, and of pinned memory the call returns at once: what is read stays as it is, and what is written
// is not read, until the device was waited for.
void start_copy_to_device(void* to, const void* from, size_t nbytes, int device);
void start_copy_to_host(void* to, const void* from, size_t nbytes, int device);

}  // namespace weft::cuda
