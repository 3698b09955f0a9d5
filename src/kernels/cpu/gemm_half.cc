// A block of b's columns at a time becomes float32, of a size that the second-level cache holds.
#include "kernels/cpu/gemm_half.h"

#include <algorithm>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_float16.h"
#include "kernels/cpu/packed_weights.h"
#include "runtime/autotune.h"
#include "runtime/matrix_engines.h"
#include "weft/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kBlockFloats = 192 << 10;

// `count` lines of `length` elements, one after another.
template <class T>
void widen(const T* from, int64_t line_stride, int64_t stride, int64_t count, int64_t length, float* to) {
  for (int64_t i = 0; i < count; ++i, from += line_stride, to += length) {
    if (stride == 1) {
      for (int64_t j = 0; j < length; ++j) to[j] = static_cast<float>(from[j]);
    } else {
      for (int64_t j = 0; j < length; ++j) to[j] = static_cast<float>(from[j * stride]);
    }
  }
}

template <class T>
void widened_product(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, const T* bias, T* c) {
  const FloatBuffer left(std::max<int64_t>(1, m * k));
  const int64_t lines = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, k));
  parallel_for(0, m, lines, [&](int64_t begin, int64_t end) {
    widen(a.data + begin * a.row_stride, a.row_stride, a.column_stride, end - begin, k,
          left.data() + begin * k);
  });
  // As b lies: by columns (the transpose of a weight) or by rows.
  const bool by_columns = b.row_stride == 1;
  const int64_t width = std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(1, k), 16, 512),
                blocks = (n + width - 1) / width;
  parallel_for(0, blocks, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, width * k)),
               [&](int64_t begin, int64_t end) {
                 const FloatBuffer right(std::max<int64_t>(1, width * k)), product(width * m);
                 for (int64_t block = begin; block < end; ++block) {
                   const int64_t first = block * width, columns = std::min(width, n - first);
                   const T* const from = b.data + first * b.column_stride;
                   if (by_columns)
                     widen(from, b.column_stride, b.row_stride, columns, k, right.data());
                   else
                     widen(from, b.row_stride, b.column_stride, k, columns, right.data());
                   gemm_f32(m, columns, k, {left.data(), k, 1},
                            {right.data(), by_columns ? 1 : columns, by_columns ? k : 1}, product.data());
                   for (int64_t i = 0; i < m; ++i) {
                     float* const sums = product.data() + i * columns;
                     for (int64_t j = 0; bias && j < columns; ++j)
                       sums[j] += static_cast<float>(bias[first + j]);
                     for (int64_t j = 0; j < columns; ++j) c[i * n + first + j] = T(sums[j]);
                   }
                 }
               });
}

// The engine whose tiles take float16 as two numbers of bfloat16: four products and more packing for one.
const BFloat16Kernels* float16_engine() {
  constexpr double kLeastSpeedup = 6;
  const BFloat16Kernels* const engine = bfloat16_kernels();
  return engine && engine->has_tiles && runtime::matrix_engine_speedup(engine->name) >= kLeastSpeedup
             ? engine
             : nullptr;
}

bool on_tiles(int64_t m, int64_t n, int64_t k, MatrixView<Half> a, MatrixView<Half> b, const Half* bias,
              Half* c) {
  if (m < kFewestRowsOfFloat16Tiles || n == 0 || k == 0) return false;
  const BFloat16Kernels* const engine = float16_engine();
  if (!engine) return false;
  constexpr const char* kNames[] = {"tiles of bfloat16, in two parts", "float32"};
  const int64_t rows = runtime::rows_to_measure(m, n * k);
  size_t chosen = 0;
  if (runtime::is_autotuning()) {
    FloatBuffer scratch;
    chosen = runtime::tuned_choice({"float16 product",
                                    {runtime::size_class(rows), runtime::size_class(n),
                                     runtime::size_class(k), a.column_stride == 1, b.column_stride == 1}},
                                   kNames, [&](size_t each) {
                                     if (!scratch.data()) scratch = FloatBuffer((rows * n + 1) / 2);
                                     auto* const to = reinterpret_cast<Half*>(scratch.data());
                                     if (each == 1 || !gemm_float16(*engine, rows, n, k, a, b, bias, to))
                                       widened_product(rows, n, k, a, b, bias, to);
                                   });
  }
  return chosen == 0 && gemm_float16(*engine, m, n, k, a, b, bias, c);
}

}  // namespace

template <class T>
void gemm_half(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, const T* bias, T* c) {
  if constexpr (std::is_same_v<T, Half>)
    if (on_tiles(m, n, k, a, b, bias, c)) return;
  widened_product(m, n, k, a, b, bias, c);
}

template void gemm_half<Half>(int64_t, int64_t, int64_t, MatrixView<Half>, MatrixView<Half>, const Half*,
                              Half*);
template void gemm_half<BFloat16>(int64_t, int64_t, int64_t, MatrixView<BFloat16>, MatrixView<BFloat16>,
                                  const BFloat16*, BFloat16*);

}  // namespace weft::kernels
