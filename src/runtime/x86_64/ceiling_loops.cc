#include "runtime/ceiling_loops.h"

#include <immintrin.h>

#include <cstring>

#include "runtime/ceiling_loop.inc"
#include "runtime/matrix_engines.h"
#include "runtime/toolchain.h"
#include "runtime/x86_64/ceiling_loops_amx.h"

namespace weft::runtime {
namespace {

bool has(const char* feature) {
  for (const std::string& name : host_cpu_features()) {
    if (name == feature) return true;
  }
  return false;
}

}  // namespace

#if defined(__AVX2__) && defined(__FMA__)

namespace {

__attribute__((target("avx512f"))) void read_512(const char* in, int64_t bytes) {
  __m512i sum[8] = {};
  for (int64_t i = 0; i < bytes; i += 512) {
    for (int k = 0; k < 8; ++k) {
      _mm_prefetch(in + i + 64 * k + 1024, _MM_HINT_T0);
      sum[k] = _mm512_xor_si512(sum[k], _mm512_load_si512(in + i + 64 * k));
    }
  }
  for (const __m512i& part : sum) use(part);
}

__attribute__((target("avx512f"))) void copy_streaming_512(char* out, const char* in, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) {
    _mm_prefetch(in + i + 1024, _MM_HINT_T0);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_load_si512(in + i));
  }
  _mm_sfence();
}

// A function each: the instructions are there in functions of their target only.
WEFT_CEILING_LOOP(float32_512, "avx512f", __m512, _mm512_set1_ps(static_cast<float>(k)),
                  _mm512_set1_ps(0.999f), _mm512_set1_ps(0.001f), _mm512_fmadd_ps(sum[k], a, b), 16)
WEFT_CEILING_LOOP(float64_512, "avx512f", __m512d, _mm512_set1_pd(k), _mm512_set1_pd(0.999),
                  _mm512_set1_pd(0.001), _mm512_fmadd_pd(sum[k], a, b), 8)
WEFT_CEILING_LOOP(bfloat16_512, "avx512f,avx512vl,avx512bw,avx512bf16", __m512,
                  _mm512_set1_ps(static_cast<float>(k)),
                  _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f)), a,
                  _mm512_dpbf16_ps(sum[k], a, b), 32)
WEFT_CEILING_LOOP(int8_512, "avx512f,avx512vnni", __m512i, _mm512_set1_epi32(k),
                  _mm512_set1_epi32(0x01020304), _mm512_set1_epi32(0x01ff01ff),
                  _mm512_dpbusd_epi32(sum[k], a, b), 64)
WEFT_CEILING_LOOP(float32_256, "avx2,fma", __m256, _mm256_set1_ps(static_cast<float>(k)),
                  _mm256_set1_ps(0.999f), _mm256_set1_ps(0.001f), _mm256_fmadd_ps(sum[k], a, b), 8)
WEFT_CEILING_LOOP(float64_256, "avx2,fma", __m256d, _mm256_set1_pd(k), _mm256_set1_pd(0.999),
                  _mm256_set1_pd(0.001), _mm256_fmadd_pd(sum[k], a, b), 4)
WEFT_CEILING_LOOP(int8_256, "avxvnni", __m256i, _mm256_set1_epi32(k), _mm256_set1_epi32(0x01020304),
                  _mm256_set1_epi32(0x01ff01ff), _mm256_dpbusd_avx_epi32(sum[k], a, b), 32)

}  // namespace

void read_bytes(const char* in, int64_t bytes) {
  static const bool wide = has("avx512f");
  if (wide) return read_512(in, bytes);
  __m256i sum[8] = {};
  for (int64_t i = 0; i < bytes; i += 256) {
    for (int k = 0; k < 8; ++k) {
      sum[k] = _mm256_xor_si256(sum[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(in + i + 32 * k)));
    }
  }
  for (const __m256i& part : sum) use(part);
}

void copy_bytes_streaming(char* out, const char* in, int64_t bytes) {
  static const bool wide = has("avx512f");
  if (wide) return copy_streaming_512(out, in, bytes);
  for (int64_t i = 0; i < bytes; i += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(in + i)));
  }
  _mm_sfence();
}

double multiply_add_float32(int64_t iterations) {
  return has("avx512f") ? float32_512(iterations) : float32_256(iterations);
}

double multiply_add_float64(int64_t iterations) {
  return has("avx512f") ? float64_512(iterations) : float64_256(iterations);
}

double dot_bfloat16(int64_t iterations) { return has("avx512bf16") ? bfloat16_512(iterations) : 0; }

double tiles_bfloat16(int64_t iterations) {
  return has_matrix_engine("amx-bf16") ? tiles_bfloat16_amx(iterations) : 0;
}

double tiles_int8(int64_t iterations) {
  return has_matrix_engine("amx-int8") ? tiles_int8_amx(iterations) : 0;
}

double dot_int8(int64_t iterations) {
  return has("avx512vnni") ? int8_512(iterations) : has("avxvnni") ? int8_256(iterations) : 0;
}

#else

void read_bytes(const char* in, int64_t bytes) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, in + i, 8);
    sum ^= word;
  }
  use(sum);
}

void copy_bytes_streaming(char* out, const char* in, int64_t bytes) { copy_bytes(out, in, bytes); }

namespace {

template <typename T>
double multiply_add(int64_t iterations) {
  typedef T vec __attribute__((vector_size(16)));
  vec sum[kChains] = {};
  for (int64_t i = 0; i < iterations; ++i) {
    for (int k = 0; k < kChains; ++k) {
      for (size_t lane = 0; lane < 16 / sizeof(T); ++lane)
        sum[k][lane] = __builtin_fma(sum[k][lane], T(0.999), T(0.001));
    }
  }
  for (const vec& part : sum) use(part);
  return 2.0 * (16 / sizeof(T)) * kChains;
}

}  // namespace

double multiply_add_float32(int64_t iterations) { return multiply_add<float>(iterations); }
double multiply_add_float64(int64_t iterations) { return multiply_add<double>(iterations); }
double dot_bfloat16(int64_t) { return 0; }
double dot_int8(int64_t) { return 0; }
double tiles_bfloat16(int64_t) { return 0; }
double tiles_int8(int64_t) { return 0; }

#endif

}  // namespace weft::runtime
