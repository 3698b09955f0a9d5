#include "kernels/cpu/fft.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fft_plan.h"
#include "runtime/toolchain.h"
#include "weft/parallel.h"
#include "weft/tensor.h"

namespace weft::kernels {
namespace {

// Up to this length, short contiguous sequences are transposed and transformed together.
constexpr int64_t kLinesTogether = 64;
constexpr int64_t kNarrowTogether = 2048;
// Operations that are worth a thread.
constexpr double kGrain = 1 << 16;

// Numbers from the recycling allocator, aligned to 64 bytes.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count)
      : storage_(Storage::allocate(static_cast<size_t>(count) * sizeof(T))),
        data_(static_cast<T*>(storage_->data())) {}
  T* data() const { return data_; }

 private:
  std::shared_ptr<Storage> storage_;
  T* data_;
};

// Arrays of parts do not start at the same place of a page.
template <class T>
int64_t padded(int64_t n) {
  return (n + 15) / 16 * 16 + 48;
}

template <class T>
struct SplitBuffers {
  Buffer<T> buffer;
  Split<T> first, second;
  explicit SplitBuffers(int64_t n) : buffer(4 * padded<T>(n)) {
    const int64_t part = padded<T>(n);
    first = {buffer.data(), buffer.data() + part};
    second = {buffer.data() + 2 * part, buffer.data() + 3 * part};
  }
};

int64_t grain_of(int64_t n, int64_t sequences = 1) {
  const double size = static_cast<double>(std::max<int64_t>(n * sequences, 1));
  return std::max<int64_t>(
      1, static_cast<int64_t>(kGrain / (size * (2 + std::log2(static_cast<double>(n + 1))))));
}

template <class T>
void transform_direct(const FftPlan<T>& plan, const T* in, T* out, bool inverse, T scale,
                      SplitBuffers<T>& buffers) {
  const FftKernels<T>& kernels = fft_kernels<T>();
  Split<T> current = buffers.first, other = buffers.second;
  const size_t count = plan.passes.size();
  size_t i = 0;
  if (count > 1 && kernels.first(plan.passes[0], in, inverse, current))
    i = 1;
  else
    kernels.split(plan.n, in, inverse, current);
  for (; i + 1 < count; ++i, std::swap(current, other)) kernels.pass(plan.passes[i], 1, current, other);
  if (i < count) {
    if (kernels.last(plan.passes[i], current, out, inverse, scale)) return;
    kernels.pass(plan.passes[i], 1, current, other);
    std::swap(current, other);
  }
  kernels.join(plan.n, current, out, inverse, scale);
}

// Columns of in[n1][n2], times twiddles, into tiles [n1 / width][n2][width]; then the tiles' rows into
// out[n2][n1].
template <class T>
void transform_long(const FftPlan<T>& plan, const T* in, T* out, bool inverse, T scale) {
  constexpr int64_t kWidth = kFftWidth<T>;
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t n1 = plan.columns->n, n2 = plan.rows->n;
  const int64_t tiles = (n1 + kWidth - 1) / kWidth, height = tiles * kWidth,
                blocks = (n2 + kWidth - 1) / kWidth;
  const Buffer<T> memory(2 * height * n2);
  const Split<T> middle{memory.data(), memory.data() + height * n2};
  parallel_for(0, blocks, grain_of(n1, kWidth), [&](int64_t begin, int64_t end) {
    const SplitBuffers<T> buffers(height * kWidth);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kWidth, count = std::min(kWidth, n2 - first);
      kernels.split_rows(n1, count, in + 2 * first, n2, inverse, buffers.first);
      const Split<T> rows = transform_rows_together(*plan.columns, buffers.first, buffers.second);
      std::fill(rows.re + n1 * kWidth, rows.re + height * kWidth, T(0));
      std::fill(rows.im + n1 * kWidth, rows.im + height * kWidth, T(0));
      kernels.twiddle_transpose(height, count, rows, plan.factors.data(),
                                plan.bases.data() + 2 * block * height,
                                {middle.re + first * kWidth, middle.im + first * kWidth}, n2 * kWidth);
    }
  });
  parallel_for(0, tiles, grain_of(n2, kWidth), [&](int64_t begin, int64_t end) {
    const SplitBuffers<T> buffers(n2 * kWidth);
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t first = tile * kWidth, at = tile * n2 * kWidth;
      const Split<T> rows =
          transform_rows_together(*plan.rows, {middle.re + at, middle.im + at}, buffers.first);
      kernels.join_rows(n2, std::min(kWidth, n1 - first), rows, out + 2 * first, n1, inverse, scale);
    }
  });
}

template <class T>
void transform_bluestein(const FftPlan<T>& plan, const T* in, T* out, bool inverse, T scale) {
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t n = plan.n, length = plan.convolution->n;
  const Buffer<T> memory(2 * length);
  T* const a = memory.data();
  // The inverse transform is the conjugate of the conjugate's transform.
  if (inverse) {
    for (int64_t i = 0; i < n; ++i) a[2 * i] = in[2 * i], a[2 * i + 1] = -in[2 * i + 1];
    kernels.multiply(n, a, plan.chirp.data(), a, false, T(1));
  } else {
    kernels.multiply(n, in, plan.chirp.data(), a, false, T(1));
  }
  std::fill(a + 2 * n, a + 2 * length, T(0));
  transform_row(*plan.convolution, a, a, false, T(1));
  kernels.multiply(length, a, plan.transformed_chirp.data(), a, false, T(1));
  transform_row(*plan.convolution, a, a, true, T(1));
  kernels.multiply(n, a, plan.chirp.data(), out, inverse, scale);
}

template <class T>
void transform(const FftPlan<T>& plan, const T* in, T* out, bool inverse, T scale, SplitBuffers<T>* buffers) {
  switch (plan.kind) {
    case FftPlan<T>::Kind::Direct: return transform_direct(plan, in, out, inverse, scale, *buffers);
    case FftPlan<T>::Kind::Long: return transform_long(plan, in, out, inverse, scale);
    case FftPlan<T>::Kind::Bluestein: return transform_bluestein(plan, in, out, inverse, scale);
  }
}

// Buffers of a direct transform; others have their own.
template <class T>
int64_t buffer_size(const FftPlan<T>& plan) {
  return plan.kind == FftPlan<T>::Kind::Direct ? plan.n : 0;
}

// Sequences along a dimension, one after another where they lie side by side: copied, and filled up with
// zeros, unless they can be read in place. kParts: 1 real, 2 complex.
template <class T, int kParts>
class Sequences {
 public:
  Sequences(const FftShape& shape, int64_t length, int64_t wanted)
      : shape_(shape), length_(length), wanted_(wanted), copy_(in_place() ? 0 : wanted * kParts) {}

  bool in_place() const { return shape_.inner == 1 && length_ >= wanted_; }
  int64_t offset(int64_t number) const {
    return (number / shape_.inner * length_ * shape_.inner + number % shape_.inner) * kParts;
  }
  const T* read(const T* data, int64_t number) const {
    const T* const from = data + offset(number);
    if (in_place()) return from;
    T* const to = copy_.data();
    const int64_t count = std::min(length_, wanted_);
    for (int64_t i = 0; i < count; ++i)
      for (int part = 0; part < kParts; ++part)
        to[i * kParts + part] = from[i * shape_.inner * kParts + part];
    std::fill(to + count * kParts, to + wanted_ * kParts, T(0));
    return to;
  }
  // Where a result is to be made, and its way home.
  T* result(T* data, int64_t number) const { return in_place() ? data + offset(number) : copy_.data(); }
  void write(T* data, int64_t number) const {
    if (in_place()) return;
    T* const to = data + offset(number);
    for (int64_t i = 0; i < wanted_; ++i)
      for (int part = 0; part < kParts; ++part)
        to[i * shape_.inner * kParts + part] = copy_.data()[i * kParts + part];
  }

 private:
  FftShape shape_;
  int64_t length_, wanted_;
  Buffer<T> copy_;
};

// kFftWidth neighbours along the inner dimension together.
template <class T>
void complex_columns(const FftPlan<T>& plan, const FftShape& shape, const T* in, T* out, bool inverse,
                     T scale) {
  constexpr int64_t kWidth = kFftWidth<T>;
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t n = shape.n, blocks = (shape.inner + kWidth - 1) / kWidth, given = std::min(n, shape.given);
  parallel_for(0, shape.outer * blocks, grain_of(n, kWidth), [&](int64_t begin, int64_t end) {
    const SplitBuffers<T> buffers(n * kWidth);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / blocks, first = i % blocks * kWidth,
                    count = std::min(kWidth, shape.inner - first);
      kernels.split_rows(given, count, in + 2 * (outer * shape.given * shape.inner + first), shape.inner,
                         inverse, buffers.first);
      for (T* part : {buffers.first.re, buffers.first.im})
        std::fill(part + given * kWidth, part + n * kWidth, T(0));
      const Split<T> rows = transform_rows_together(plan, buffers.first, buffers.second);
      kernels.join_rows(n, count, rows, out + 2 * (outer * n * shape.inner + first), shape.inner, inverse,
                        scale);
    }
  });
}

// Short contiguous sequences, kFftWidth of them together.
template <class T>
void complex_rows(const FftPlan<T>& plan, int64_t rows, int64_t in_stride, int64_t out_stride, const T* in,
                  T* out, bool inverse, T scale) {
  constexpr int64_t kWidth = kFftWidth<T>;
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t n = plan.n;
  parallel_for(0, (rows + kWidth - 1) / kWidth, grain_of(n, kWidth), [&](int64_t begin, int64_t end) {
    const SplitBuffers<T> buffers(n * kWidth);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kWidth, count = std::min(kWidth, rows - first);
      kernels.split_columns(n, count, in + 2 * first * in_stride, in_stride, inverse, buffers.first);
      const Split<T> result = transform_rows_together(plan, buffers.first, buffers.second);
      kernels.join_columns(n, count, result, out + 2 * first * out_stride, out_stride, inverse, scale);
    }
  });
}

// Contiguous sequences that are better transformed together: short ones, and those whose first passes have no
// whole vectors.
template <class T>
bool together(const FftPlan<T>& plan) {
  if (plan.kind != FftPlan<T>::Kind::Direct || plan.passes.empty()) return false;
  return plan.n <= kLinesTogether || (plan.passes[0].radix < 8 && plan.n <= kNarrowTogether);
}
template <class T>
bool short_rows(const FftPlan<T>& plan, const FftShape& shape, int64_t rows) {
  return together(plan) && shape.inner == 1 && rows >= kFftWidth<T> / 2;
}

// The frequencies from n / 2 + 1 on are conjugates of those before.
template <class T>
void mirror(T* pairs, int64_t n) {
  for (int64_t k = n / 2 + 1; k < n; ++k)
    pairs[2 * k] = pairs[2 * (n - k)], pairs[2 * k + 1] = -pairs[2 * (n - k) + 1];
}

// `count` contiguous sequences in place: one, or up to kFftWidth that are transformed together.
template <class T>
void transform_block(const FftPlan<T>& plan, int64_t count, T* pairs, bool inverse, T scale,
                     SplitBuffers<T>* buffers) {
  if (count == 1) return transform(plan, static_cast<const T*>(pairs), pairs, inverse, scale, buffers);
  complex_rows(plan, count, plan.n, plan.n, static_cast<const T*>(pairs), pairs, inverse, scale);
}

// Real sequences of odd length, as complex numbers. (Two of them in one transform would mix their errors, and
// what is not finite.) fill: the numbers of a transform from an operand of `wanted` elements; take: a result
// of `made` from them.
template <class T, int kIn, int kOut, class Fill, class Take>
void transform_odd(const FftShape& shape, int64_t wanted, int64_t made, const T* in, T* out, bool inverse,
                   T scale, const Fill& fill, const Take& take) {
  const auto plan = fft_plan<T>(shape.n);
  const int64_t n = shape.n, sequences = shape.outer * shape.inner;
  const int64_t block = together(*plan) && sequences >= kFftWidth<T> / 2 ? kFftWidth<T> : 1;
  parallel_for(0, (sequences + block - 1) / block, grain_of(n, block), [&](int64_t begin, int64_t end) {
    const Sequences<T, kIn> operands(shape, shape.given, wanted);
    const Sequences<T, kOut> results(shape, made, made);
    SplitBuffers<T> buffers(buffer_size(*plan));
    const Buffer<T> pairs(2 * n * block);
    for (int64_t first = begin * block; first < std::min(sequences, end * block); first += block) {
      const int64_t count = std::min(block, sequences - first);
      for (int64_t w = 0; w < count; ++w) fill(operands.read(in, first + w), pairs.data() + 2 * n * w);
      transform_block(*plan, count, pairs.data(), inverse, scale, &buffers);
      for (int64_t w = 0; w < count; ++w) {
        take(pairs.data() + 2 * n * w, results.result(out, first + w));
        results.write(out, first + w);
      }
    }
  });
}

template <class T>
void real_odd(const FftShape& shape, const T* in, T* out, T scale) {
  const int64_t n = shape.n, half = n / 2;
  const auto fill = [n](const T* x, T* z) {
    for (int64_t j = 0; j < n; ++j) z[2 * j] = x[j], z[2 * j + 1] = 0;
  };
  const auto take = [&](T* z, T* to) {
    z[1] = 0;
    std::copy(z, z + 2 * (half + 1), to);
    if (shape.result > half + 1) mirror(to, n);
  };
  transform_odd<T, 1, 2>(shape, n, shape.result, in, out, false, scale, fill, take);
}

template <class T>
void to_real_odd(const FftShape& shape, const T* in, T* out, T scale) {
  const int64_t n = shape.n, half = n / 2;
  const auto fill = [n, half](const T* x, T* z) {
    std::copy(x, x + 2 * (half + 1), z);
    z[1] = 0;
    mirror(z, n);
  };
  const auto take = [n](const T* z, T* to) {
    for (int64_t j = 0; j < n; ++j) to[j] = z[2 * j];
  };
  transform_odd<T, 2, 1>(shape, half + 1, n, in, out, true, scale, fill, take);
}

}  // namespace

template <class T>
Split<T> transform_rows_together(const FftPlan<T>& plan, Split<T> in, Split<T> other) {
  const FftKernels<T>& kernels = fft_kernels<T>();
  for (const FftPass<T>& pass : plan.passes) {
    kernels.pass(pass, kFftWidth<T>, in, other);
    std::swap(in, other);
  }
  return in;
}

template <class T>
void transform_row(const FftPlan<T>& plan, const T* in, T* out, bool inverse, T scale) {
  SplitBuffers<T> buffers(buffer_size(plan));
  transform(plan, in, out, inverse, scale, &buffers);
}

template <class T>
void fft_complex(const FftShape& shape, const T* in, T* out, bool inverse, T scale) {
  const auto plan = fft_plan<T>(shape.n);
  const bool direct = plan->kind == FftPlan<T>::Kind::Direct;
  if (direct && shape.inner >= kFftWidth<T> / 2)
    return complex_columns(*plan, shape, in, out, inverse, scale);
  if (short_rows(*plan, shape, shape.outer) && shape.given >= shape.n)
    return complex_rows(*plan, shape.outer, shape.given, shape.n, in, out, inverse, scale);
  const int64_t sequences = shape.outer * shape.inner;
  const auto body = [&](int64_t begin, int64_t end) {
    const Sequences<T, 2> operands(shape, shape.given, shape.n), results(shape, shape.n, shape.n);
    SplitBuffers<T> buffers(buffer_size(*plan));
    for (int64_t i = begin; i < end; ++i) {
      transform(*plan, operands.read(in, i), results.result(out, i), inverse, scale, &buffers);
      results.write(out, i);
    }
  };
  // A long transform is parallel inside.
  if (sequences < get_num_threads() && !direct) return body(0, sequences);
  parallel_for(0, sequences, grain_of(shape.n), body);
}

template <class T>
void fft_real(const FftShape& shape, const T* in, T* out, T scale) {
  if (shape.n % 2 != 0) return real_odd(shape, in, out, scale);
  const auto plan = real_fft_plan<T>(shape.n);
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t h = shape.n / 2, sequences = shape.outer * shape.inner;
  const bool full = shape.result > h + 1;
  const auto finish = [&](T* result) {
    kernels.unpack_real(h, result, plan->roots.data(), scale);
    if (full) mirror(result, shape.n);
  };
  if (short_rows(*plan->half, shape, shape.outer) && shape.given >= shape.n && shape.given % 2 == 0) {
    complex_rows(*plan->half, shape.outer, shape.given / 2, shape.result, in, out, false, T(1));
    parallel_for(0, shape.outer, grain_of(shape.n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) finish(out + 2 * i * shape.result);
    });
    return;
  }
  const auto body = [&](int64_t begin, int64_t end) {
    const Sequences<T, 1> operands(shape, shape.given, shape.n);
    const Sequences<T, 2> results(shape, shape.result, shape.result);
    SplitBuffers<T> buffers(buffer_size(*plan->half));
    for (int64_t i = begin; i < end; ++i) {
      T* const result = results.result(out, i);
      transform(*plan->half, operands.read(in, i), result, false, T(1), &buffers);
      finish(result);
      results.write(out, i);
    }
  };
  if (sequences < get_num_threads() && plan->half->kind != FftPlan<T>::Kind::Direct)
    return body(0, sequences);
  parallel_for(0, sequences, grain_of(h), body);
}

template <class T>
void fft_to_real(const FftShape& shape, const T* in, T* out, T scale) {
  if (shape.n % 2 != 0) return to_real_odd(shape, in, out, scale);
  const auto plan = real_fft_plan<T>(shape.n);
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t h = shape.n / 2, sequences = shape.outer * shape.inner;
  const auto body = [&](int64_t begin, int64_t end) {
    const Sequences<T, 2> operands(shape, shape.given, h + 1);
    const Sequences<T, 1> results(shape, shape.n, shape.n);
    SplitBuffers<T> buffers(buffer_size(*plan->half));
    for (int64_t i = begin; i < end; ++i) {
      T* const result = results.result(out, i);
      kernels.pack_real(h, operands.read(in, i), result, plan->roots.data());
      transform(*plan->half, static_cast<const T*>(result), result, true, scale, &buffers);
      results.write(out, i);
    }
  };
  if (sequences < get_num_threads() && plan->half->kind != FftPlan<T>::Kind::Direct)
    return body(0, sequences);
  parallel_for(0, sequences, grain_of(h), body);
}

#define WEFT_INSTANTIATE(T)                                                         \
  template Split<T> transform_rows_together(const FftPlan<T>&, Split<T>, Split<T>); \
  template void transform_row(const FftPlan<T>&, const T*, T*, bool, T);            \
  template void fft_complex(const FftShape&, const T*, T*, bool, T);                \
  template void fft_real(const FftShape&, const T*, T*, T);                         \
  template void fft_to_real(const FftShape&, const T*, T*, T);
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

}  // namespace weft::kernels
