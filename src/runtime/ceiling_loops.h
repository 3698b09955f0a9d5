// The loops behind measure_ceilings(), at the widest vectors of the machine; but for copy_bytes in the folder
// of its architecture.
#pragma once

#include <cstdint>

namespace weft::runtime {

// `bytes` is a multiple of 4096, pointers are aligned to 64.
void read_bytes(const char* in, int64_t bytes);
void copy_bytes(char* out, const char* in, int64_t bytes);
void copy_bytes_streaming(char* out, const char* in, int64_t bytes);

// Each runs `iterations` rounds of independent operations and returns the operations per round; 0 when the
// machine has no such instruction.
double multiply_add_float32(int64_t iterations);
double multiply_add_float64(int64_t iterations);
double dot_bfloat16(int64_t iterations);
double dot_int8(int64_t iterations);
// On tiles; 0 where the process has none (runtime/matrix_engines.h).
double tiles_bfloat16(int64_t iterations);
double tiles_int8(int64_t iterations);
}  // namespace weft::runtime
