#include "kernels/cpu/mersenne_twister.h"

#include <algorithm>

namespace weft::kernels {
namespace {

constexpr int kShift = 397;

inline uint32_t twist(uint32_t upper, uint32_t lower) {
  const uint32_t joined = (upper & 0x80000000U) | (lower & 0x7fffffffU);
  return (joined >> 1) ^ (-(lower & 1U) & 0x9908b0dfU);
}

}  // namespace

void MersenneTwister::seed(uint64_t seed) {
  given_seed = seed;
  state[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i)
    state[i] = 1812433253U * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  left = 1;
  next = 0;
}

// Three stretches, each of which reads nothing that it has written but the word before.
void MersenneTwister::advance() {
  uint32_t* const words = state.data();
  for (int i = 0; i < kWords - kShift; ++i) words[i] = words[i + kShift] ^ twist(words[i], words[i + 1]);
  for (int i = kWords - kShift; i < kWords - 1; ++i)
    words[i] = words[i + kShift - kWords] ^ twist(words[i], words[i + 1]);
  words[kWords - 1] = words[kShift - 1] ^ twist(words[kWords - 1], words[0]);
  left = kWords;
  next = 0;
}

void MersenneTwister::draw(uint32_t* words, int64_t count) {
  while (count > 0) {
    if (left == 1) {
      advance();
      ++left;  // as before the word that advanced it
    }
    const int64_t taken = std::min<int64_t>(count, left - 1);
    const uint32_t* const from = state.data() + next;
    for (int64_t i = 0; i < taken; ++i) words[i] = temper(from[i]);
    left -= static_cast<int32_t>(taken);
    next += static_cast<uint32_t>(taken);
    words += taken;
    count -= taken;
  }
}

}  // namespace weft::kernels
