// The inner loops of copies: one per pair of dtypes.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/copy.h"
#include "core/float8.h"
#include "core/quantized.h"

#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace weft {

namespace {

template <class T>
constexpr bool is_complex_type = false;
template <class T>
constexpr bool is_complex_type<std::complex<T>> = true;
template <class T>
constexpr bool is_float8 =
    std::is_same_v<T, Float8E4M3FN> || std::is_same_v<T, Float8E5M2> || std::is_same_v<T, Float8E4M3FNUZ> ||
    std::is_same_v<T, Float8E5M2FNUZ> || std::is_same_v<T, Float8E8M0FNU>;
template <class T>
constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || is_float8<T>;

// Complex to real drops the imaginary part; to bool means different from zero. A floating value outside an
// integer type's range becomes whatever the machine's conversion yields, as in PyTorch and NumPy.
template <class To, class From>
inline To convert_value(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_small_float<From>) {
    return convert_value<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (is_complex_type<To>) {
    using Real = typename To::value_type;
    if constexpr (is_complex_type<From>)
      return To(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
    else
      return To(static_cast<Real>(value), Real{});
  } else if constexpr (is_complex_type<From>) {
    return convert_value<To>(value.real());
  } else if constexpr (is_small_float<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int32_t>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>) {
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Eight or sixteen at a time, by the instructions for it; how many were converted.
template <class To, class From>
int64_t convert_in_vectors([[maybe_unused]] To* to, [[maybe_unused]] const From* from,
                           [[maybe_unused]] int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  constexpr int64_t kLanes = 8;
  if constexpr (std::is_same_v<To, float> && std::is_same_v<From, Half>) {
    for (; i + kLanes <= n; i += kLanes)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  } else if constexpr (std::is_same_v<To, Half> && std::is_same_v<From, float>) {
    for (; i + kLanes <= n; i += kLanes)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
#ifdef __AVX2__
  if constexpr (std::is_same_v<To, BFloat16> && std::is_same_v<From, float>) {
    const auto rounded = [](const float* at) {
      const __m256 value = _mm256_loadu_ps(at);
      const __m256i word = _mm256_castps_si256(value), upper = _mm256_srli_epi32(word, 16);
      const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
      const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(word, _mm256_set1_epi32(0x7fff)), odd);
      const __m256i nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
      return _mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), nan,
                                _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
    };
    constexpr int64_t kHalves = 16;
    for (; i + kHalves <= n; i += kHalves) {
      // Packing goes by halves of 128 bits.
      const __m256i packed = _mm256_packus_epi32(rounded(from + i), rounded(from + i + kHalves / 2));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(packed, 0xd8));
    }
  }
#endif
  return i;
}

template <class To, class From>
void convert_loop(void* destination, int64_t destination_stride, const void* source, int64_t source_stride,
                  int64_t n) {
  To* to = static_cast<To*>(destination);
  const From* from = static_cast<const From*>(source);
  if (destination_stride == 1 && source_stride == 1) {
    if constexpr (std::is_same_v<To, From>) {
      std::memmove(destination, source, static_cast<size_t>(n) * sizeof(To));
    } else {
      for (int64_t i = convert_in_vectors(to, from, n); i < n; ++i) to[i] = convert_value<To>(from[i]);
    }
  } else if (destination_stride == 1 && source_stride == 0) {
    const To value = convert_value<To>(from[0]);
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else if (destination_stride == 1 && source_stride == -1) {
    for (int64_t i = 0; i < n; ++i) to[i] = convert_value<To>(from[-i]);
  } else if (std::is_same_v<To, From> && destination_stride == 1 && source_stride == 2) {
    for (int64_t i = 0; i < n; ++i) to[i] = convert_value<To>(from[2 * i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * destination_stride] = convert_value<To>(from[i * source_stride]);
  }
}

// Of a small float and another type but float: by way of float, a block at a time, which gives the same
// value.
template <class To, class From>
void convert_by_float(void* destination, int64_t destination_stride, const void* source,
                      int64_t source_stride, int64_t n) {
  constexpr int64_t kBlock = 512;
  float block[kBlock];
  To* to = static_cast<To*>(destination);
  const From* from = static_cast<const From*>(source);
  for (int64_t count; n > 0; n -= count) {
    count = std::min(n, kBlock);
    convert_loop<float, From>(block, 1, from, source_stride, count);
    convert_loop<To, float>(to, destination_stride, block, 1, count);
    to += count * destination_stride;
    from += count * source_stride;
  }
}

template <class To, class From>
constexpr ConvertFn function_of() {
  constexpr bool has_small = is_small_float<To> || is_small_float<From>;
  constexpr bool is_direct =
      std::is_same_v<To, From> || std::is_same_v<To, float> || std::is_same_v<From, float>;
  if constexpr (has_small && !is_direct)
    return &convert_by_float<To, From>;
  else
    return &convert_loop<To, From>;
}

template <class To, class... From>
constexpr std::array<ConvertFn, sizeof...(From)> row(std::type_identity<To>, std::type_identity<From>...) {
  return {function_of<To, From>()...};
}

template <class... T>
constexpr auto table(std::type_identity<T>... types) {
  return std::array<std::array<ConvertFn, sizeof...(T)>, sizeof...(T)>{
      row(types, std::type_identity<T>{}...)...};
}

#define WEFT_TYPE(NAME, TYPE) \
  , std::type_identity<TYPE> {}
constexpr auto make_table() {
  return []<class... T>(int, std::type_identity<T>... types) {
    return table(types...);
  }(0 WEFT_FOR_EACH_DTYPE(WEFT_TYPE), std::type_identity<Float8E4M3FN>{}, std::type_identity<Float8E5M2>{},
         std::type_identity<Float8E4M3FNUZ>{}, std::type_identity<Float8E5M2FNUZ>{},
         std::type_identity<Float8E8M0FNU>{});
}
#undef WEFT_TYPE
constexpr auto kTable = make_table();

}  // namespace

ConvertFn convert_function(DType to, DType from) {
  if (is_quantized(to) || is_quantized(from)) {  // the integers, as they are
    if (!is_quantized(to)) refuse_conversion();
    if (to != from) refuse_stored_only("copy", to);
    to = from = to == DType::QI32 ? DType::I32 : DType::U8;
  }
  return kTable[static_cast<size_t>(to)][static_cast<size_t>(from)];
}

}  // namespace weft
