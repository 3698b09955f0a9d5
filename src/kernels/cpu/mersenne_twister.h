// The Mersenne twister of 32-bit words, MT19937, seeded as by init_genrand.
// source: Matsumoto and Nishimura 1998.
#pragma once

#include <array>
#include <cstdint>

namespace weft::kernels {

class MersenneTwister {
 public:
  static constexpr int kWords = 624;

  explicit MersenneTwister(uint64_t seed) { this->seed(seed); }
  // Of a seed of 64 bits the lower half counts; all of it is kept.
  void seed(uint64_t seed);

  uint32_t operator()() {
    if (--left == 0) advance();
    return temper(state[next++]);
  }
  // The next `count` words.
  void draw(uint32_t* words, int64_t count);

  // All there is to know, in the terms of PyTorch's saved states.
  uint64_t given_seed = 0;
  int32_t left = 1;   // the state is advanced when the count reaches 0
  uint32_t next = 0;  // of the state's words the one that is drawn next
  std::array<uint32_t, kWords> state{};

 private:
  static uint32_t temper(uint32_t word) {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
  }
  void advance();
};

}  // namespace weft::kernels
