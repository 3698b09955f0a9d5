// What a Fourier transform of one length needs to know: how it is factored, and roots of unity. Plans are
// made once, kept by length (the last used ones, within a bound of memory), and shared by all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/fft_kernels.h"

namespace weft::kernels {

// Exponentials exp(-2 pi i e / n), from two tables in long double: errors are those of the last rounding.
class RootsOfUnity {
 public:
  explicit RootsOfUnity(int64_t n);
  // Appends the pair of exponent e, 0 <= e < n.
  template <class T>
  void append(std::vector<T>& to, int64_t e) const;

 private:
  int64_t low_;
  std::vector<long double> fine_, coarse_;
};

template <class T>
struct FftPlan {
  enum class Kind { Direct, Long, Bluestein };

  int64_t n = 1;
  Kind kind = Kind::Direct;
  size_t bytes = 0;

  std::vector<FftPass<T>> passes;  // Direct
  std::vector<T> tables;

  // Long: n = columns->n * rows->n, transforms of columns first. Twiddle (k, j) is factors[k][j % width] *
  // bases[j / width][k].
  std::shared_ptr<const FftPlan> columns, rows;
  std::vector<T> factors, bases;

  // Bluestein: a convolution with a chirp, by transforms of a length with small factors.
  std::shared_ptr<const FftPlan> convolution;
  std::vector<T> chirp, transformed_chirp;
};

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// Of real sequences of an even length: half of it, and what turns that transform into theirs.
template <class T>
struct RealFftPlan {
  std::shared_ptr<const FftPlan<T>> half;
  std::vector<T> roots;
  size_t bytes = 0;
};
template <class T>
std::shared_ptr<const RealFftPlan<T>> real_fft_plan(int64_t n);

// out = scale * the transform of in[n], both pairs; they may be the same.
template <class T>
void transform_row(const FftPlan<T>& plan, const T* in, T* out, bool inverse, T scale);
// kFftWidth sequences together: `in` is overwritten; the result is in `in` or in `other`, which is returned.
template <class T>
Split<T> transform_rows_together(const FftPlan<T>& plan, Split<T> in, Split<T> other);

}  // namespace weft::kernels
