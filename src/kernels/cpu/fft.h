// Discrete Fourier transforms along one dimension of a contiguous tensor [outer][length][inner].
#pragma once

#include <cstdint>

namespace weft::kernels {

struct FftShape {
  int64_t outer = 1, inner = 1;
  int64_t n = 1;  // points of the transform
  int64_t given =
      1;  // elements along the dimension in the input: what is missing is zero, what is too much is not read
  int64_t result = 1;  // elements along the dimension in the output
};

// Complex numbers are pairs. out[k] = scale * sum of in[j] * exp(-+2 pi i j k / n); n positive frequencies,
// or of real input the first `result` of them.
template <class T>
void fft_complex(const FftShape& shape, const T* in, T* out, bool inverse, T scale);
template <class T>
void fft_real(const FftShape& shape, const T* in, T* out, T scale);
// From the n / 2 + 1 first frequencies of real numbers to these.
template <class T>
void fft_to_real(const FftShape& shape, const T* in, T* out, T scale);

}  // namespace weft::kernels
