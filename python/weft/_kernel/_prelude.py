"""C++ that stands before each translated kernel."""

PRELUDE = r"""
#ifdef __clang__
#define WEFT_UNROLLED _Pragma("clang loop unroll(full)")
#define WEFT_ROLLED_ONCE _Pragma("clang loop unroll(disable)")
#else
#define WEFT_UNROLLED _Pragma("GCC unroll 8")
#define WEFT_ROLLED_ONCE
#endif
WEFT_INLINE i64 floor_quotient(i64 a, i64 b) { i64 q = a / b; return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q; }
WEFT_INLINE i64 floor_rest(i64 a, i64 b) { i64 r = a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }
template <class T, int L> WEFT_INLINE vec<T, L> load_lanes(const T* from) { vec<T, L> v; __builtin_memcpy(&v, from, sizeof(v)); return v; }
template <class T, int L> WEFT_INLINE void store_lanes(T* to, vec<T, L> v) { __builtin_memcpy(to, &v, sizeof(v)); }
template <class T, int L> WEFT_INLINE void store_some(T* to, vec<T, L> v, i64 count) { __builtin_memcpy(to, &v, count * sizeof(T)); }
template <class A> WEFT_INLINE A square_of(A a) { return a * a; }
WEFT_INLINE bool inside(i64* failure, i64 block, i64 place, i64 axis, i64 index, i64 size) {
  if ((u64)index < (u64)size) return true;
  if (failure[0] < 0) { failure[0] = block; failure[1] = place; failure[2] = axis; failure[3] = index; failure[4] = size; }
  return false;
}
WEFT_INLINE bool range_inside(i64* failure, i64 block, i64 place, i64 axis, i64 start, i64 count, i64 size) {
  return count == 0 || (inside(failure, block, place, axis, start, size) && inside(failure, block, place, axis, start + count - 1, size));
}
// Elements of an argument to a tile. rs, cs: elements between rows and between columns.
template <class T, int R, int C, int S> WEFT_INLINE void load_tile(T* to, const T* from, i64 rs, i64 cs) {
  if (cs == 1) {
    WEFT_ROLLED_ONCE for (int r = 0; r < R; ++r) __builtin_memcpy(to + r * S, from + r * rs, C * sizeof(T));
  } else {
    for (int r = 0; r < R; ++r) for (int c = 0; c < C; ++c) to[r * S + c] = from[r * rs + c * cs];
  }
}
template <class T, int R, int C, int S> WEFT_INLINE void store_tile(T* to, const T* from, i64 rs, i64 cs) {
  if (cs == 1) {
    WEFT_ROLLED_ONCE for (int r = 0; r < R; ++r) __builtin_memcpy(to + r * rs, from + r * S, C * sizeof(T));
  } else {
    for (int r = 0; r < R; ++r) for (int c = 0; c < C; ++c) to[r * rs + c * cs] = from[r * S + c];
  }
}
// c[R, C] (+)= a[R, K] b[K, C], rows of SA, SB and SC elements; b's and c's are filled up to whole vectors.
template <class T, int L, int R, int V, int K, bool Adds>
WEFT_INLINE void product_part(const T* a, i64 sa, const T* b, i64 sb, T* c, i64 sc) {
  vec<T, L> sum[R][V];
  WEFT_UNROLLED
  for (int r = 0; r < R; ++r)
  WEFT_UNROLLED
    for (int v = 0; v < V; ++v) sum[r][v] = Adds ? load_lanes<T, L>(c + r * sc + v * L) : vec<T, L>{};
  WEFT_ROLLED_ONCE
  for (int k = 0; k < K; ++k) {
    vec<T, L> right[V];
  WEFT_UNROLLED
    for (int v = 0; v < V; ++v) right[v] = load_lanes<T, L>(b + k * sb + v * L);
  WEFT_UNROLLED
    for (int r = 0; r < R; ++r) {
      const auto left = splat<T, L>(a[r * sa + k]);
  WEFT_UNROLLED
      for (int v = 0; v < V; ++v) sum[r][v] = fused_multiply_add(left, right[v], sum[r][v]);
    }
  }
  WEFT_UNROLLED
  for (int r = 0; r < R; ++r)
  WEFT_UNROLLED
    for (int v = 0; v < V; ++v) store_lanes<T, L>(c + r * sc + v * L, sum[r][v]);
}
template <class T, int L, int R, int C, int K, int V, bool Adds>
WEFT_INLINE void product_columns(const T* a, i64 sa, const T* b, i64 sb, T* c, i64 sc) {
  constexpr int H = R < 6 ? R : 6;
  WEFT_ROLLED_ONCE for (int r = 0; r + H <= R; r += H) product_part<T, L, H, V, K, Adds>(a + r * sa, sa, b, sb, c + r * sc, sc);
  if constexpr (R % H != 0) {
    constexpr int r = R / H * H;
    product_part<T, L, R % H, V, K, Adds>(a + r * sa, sa, b, sb, c + r * sc, sc);
  }
}
template <class T, int L, int R, int C, int K, bool Adds>
__attribute__((noinline)) void tile_product(const T* a, i64 sa, const T* b, i64 sb, T* c, i64 sc) {
  constexpr int N = (C + L - 1) / L, M = sizeof(vec<T, L>) == 64 ? 4 : 2, V = N < M ? N : M;
  for (int v = 0; v + V <= N; v += V) product_columns<T, L, R, C, K, V, Adds>(a, sa, b + v * L, sb, c + v * L, sc);
  if constexpr (N % V != 0) {
    constexpr int v = N / V * V;
    product_columns<T, L, R, C, K, N % V, Adds>(a, sa, b + v * L, sb, c + v * L, sc);
  }
}
"""
