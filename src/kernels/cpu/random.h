// Random numbers in contiguous tensors, drawn as PyTorch draws them on the CPU: the same words of the
// Mersenne twister for the same numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cpu/mersenne_twister.h"
#include "weft/tensor.h"

namespace weft::kernels {

// What a generator holds: the words, and of the last pair of normal numbers the one that was not taken.
struct RandomState {
  explicit RandomState(uint64_t seed) : words(seed) {}
  MersenneTwister words;
  std::optional<double> next_normal;
  std::optional<float> next_normal_float;  // kept in saved states only

  uint64_t word64() {
    const uint64_t upper = words();
    return upper << 32 | words();
  }
  // In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(word64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  double normal();  // mean 0, deviation 1
};

// `out`: contiguous, on the host, of a dtype that the distribution has; its elements in memory's order.
void random_uniform(RandomState& state, const Tensor& out, double low, double high);
// `blocks`: sixteen or more by Box and Muller's method on blocks of sixteen; else one after another.
void random_normal(RandomState& state, const Tensor& out, double mean, double deviation, bool blocks);
void random_bernoulli(RandomState& state, const Tensor& out, double probability);
void random_exponential(RandomState& state, const Tensor& out, double rate);
void random_cauchy(RandomState& state, const Tensor& out, double median, double sigma);
void random_log_normal(RandomState& state, const Tensor& out, double mean, double deviation);
void random_geometric(RandomState& state, const Tensor& out, double probability);
// low, …, low + range - 1; a range of 0 stands for all of 2^64.
void random_integers(RandomState& state, const Tensor& out, int64_t low, uint64_t range);
// Any number of the dtype that is not negative; of floating-point numbers the integers that it holds exactly.
void random_words(RandomState& state, const Tensor& out);
void random_permutation(RandomState& state, const Tensor& out);  // int64

// Operands are contiguous.
void random_bernoulli_of(RandomState& state, const Tensor& out, const Tensor& probability);
void random_poisson(RandomState& state, const Tensor& out, const Tensor& rate);
// Of Gamma's distribution with rate 1, each with its own concentration.
void random_gamma(RandomState& state, const Tensor& out, const Tensor& concentration);
// Rows, the last dimension, of Dirichlet's distribution.
void random_dirichlet(RandomState& state, const Tensor& out, const Tensor& concentration);
void random_binomial(RandomState& state, const Tensor& out, const Tensor& count, const Tensor& probability);
// Slopes in [low, high) where x <= 0, else 1; float32, or float64 as x.
void random_slopes(RandomState& state, const Tensor& out, const Tensor& x, double low, double high);
// out: int64[rows, samples] of positions in the rows of `weights`, [rows, categories]. by_columns: numbers of
// all categories are drawn column by column.
void random_multinomial(RandomState& state, const Tensor& out, const Tensor& weights, bool replacement,
                        bool by_columns);

}  // namespace weft::kernels
