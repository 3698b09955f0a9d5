// The inner loops of Fourier transforms, once per instruction set. Inside a transform, complex numbers are
// split: all real parts, then all imaginary parts. Transforms of W sequences at once keep element i of all of
// them together. Only forward transforms are computed: the inverse is the forward one with both parts
// exchanged, in and out.
#pragma once

#include <cstdint>
#include <utility>

namespace weft::kernels {

template <class T>
struct Split {
  T* re;
  T* im;
  Split swapped(bool swap) const { return swap ? Split{im, re} : *this; }
};

// One pass of Stockham's algorithm, decimation in frequency: n = before * radix * m.
template <class T>
struct FftPass {
  int radix;
  int64_t m;
  int64_t before;   // product of the radices of earlier passes
  const T* by_row;  // [m][radix - 1] pairs: exp(-2 pi i p j / (radix * m))
  const T*
      by_column;  // of the first pass: the same as [radix - 1][m] real, then [radix - 1][m] imaginary parts
  const T* radix_roots;  // of a radix without a loop of its own: [radix] pairs, exp(-2 pi i j / radix)
};

inline constexpr int kLargestRadix = 47;
// Radices whose loops are written out; the other odd ones take a general loop.
inline constexpr int kRadices[] = {2, 3, 4, 5, 7, 8, 11};

// Sequences that are transformed together, in all instruction sets: 64 bytes of them.
template <class T>
inline constexpr int64_t kFftWidth = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct FftKernels {
  int lanes;
  // One pass over `width` sequences, out of place.
  void (*pass)(const FftPass<T>& pass, int64_t width, Split<T> in, Split<T> out);
  // The first pass of one sequence of pairs, and the last one. False: not done, the sequence is too short.
  bool (*first)(const FftPass<T>& pass, const T* in, bool swap, Split<T> out);
  bool (*last)(const FftPass<T>& pass, Split<T> in, T* out, bool swap, T scale);
  // Pairs to and from their parts.
  void (*split)(int64_t n, const T* in, bool swap, Split<T> out);
  void (*join)(int64_t n, Split<T> in, T* out, bool swap, T scale);
  // Row i of kFftWidth numbers, of which `count` matter, for i < n; `stride`: between rows, in pairs.
  void (*split_rows)(int64_t n, int64_t count, const T* in, int64_t stride, bool swap, Split<T> out);
  void (*join_rows)(int64_t n, int64_t count, Split<T> in, T* out, int64_t stride, bool swap, T scale);
  // The same where each sequence is contiguous; `stride` between sequences.
  void (*split_columns)(int64_t n, int64_t count, const T* in, int64_t stride, bool swap, Split<T> out);
  void (*join_columns)(int64_t n, int64_t count, Split<T> in, T* out, int64_t stride, bool swap, T scale);
  // One row of kFftWidth times factors[i] * base, for each of n rows: the twiddles between the steps of a
  // long transform. Rows are then transposed in tiles: out[tile][count][width].
  void (*twiddle_transpose)(int64_t n, int64_t count, Split<T> rows, const T* factors, const T* bases,
                            Split<T> out, int64_t tile_stride);
  // out[i] = a[i] * b[i] * scale, of pairs; with conjugates: conj(a[i] * b[i]). `out` may be `a`.
  void (*multiply)(int64_t n, const T* a, const T* b, T* out, bool conjugate, T scale);
  // Pairs z[0 .. h) of a transform of two real halves become the h + 1 of the real transform, in place;
  // roots[k]: exp(-2 pi i k / 2h), k <= h / 2.
  void (*unpack_real)(int64_t h, T* z, const T* roots, T scale);
  // The way back, from x[0 .. h] to z[0 .. h). `z` may be `x`.
  void (*pack_real)(int64_t h, const T* x, T* z, const T* roots);
};

template <class T>
const FftKernels<T>& fft_kernels();
template <>
const FftKernels<float>& fft_kernels<float>();
template <>
const FftKernels<double>& fft_kernels<double>();

extern const FftKernels<float> kFft32Baseline;
extern const FftKernels<double> kFft64Baseline;

}  // namespace weft::kernels
