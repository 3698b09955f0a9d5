// Uniform and normal numbers of words of the Mersenne twister, in loops that the compiler vectorizes.
#pragma once

#include <cstdint>

#include "kernels/cpu/random.h"

namespace weft::kernels {

// numbers[i] in [0, 1), of the 53 lower bits of the pair words[2i] (upper), words[2i + 1].
void doubles_of_words(const uint32_t* words, double* numbers, int64_t count);
// In [low, high), of 24 bits each.
void uniform_floats(RandomState& state, float* out, int64_t count, float low, float high);
// count >= 16.
void normal_floats(RandomState& state, float* out, int64_t count, float mean, float deviation);

}  // namespace weft::kernels
