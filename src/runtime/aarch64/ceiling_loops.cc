#include "runtime/ceiling_loops.h"

#include <arm_neon.h>

#include "runtime/ceiling_loop.inc"
#include "runtime/matrix_engines.h"

namespace weft::runtime {
namespace {

WEFT_CEILING_LOOP(float32_neon, "arch=armv8-a", float32x4_t, vdupq_n_f32(static_cast<float>(k)),
                  vdupq_n_f32(0.999f), vdupq_n_f32(0.001f), vfmaq_f32(b, sum[k], a), 4)
WEFT_CEILING_LOOP(float64_neon, "arch=armv8-a", float64x2_t, vdupq_n_f64(k), vdupq_n_f64(0.999),
                  vdupq_n_f64(0.001), vfmaq_f64(b, sum[k], a), 2)
WEFT_CEILING_LOOP(int8_sdot, "arch=armv8.2-a+dotprod", int32x4_t, vdupq_n_s32(k), vdupq_n_s8(3),
                  vdupq_n_s8(-1), vdotq_s32(sum[k], a, b), 16)
WEFT_CEILING_LOOP(int8_smmla, "arch=armv8.2-a+i8mm", int32x4_t, vdupq_n_s32(k), vdupq_n_s8(3), vdupq_n_s8(-1),
                  vmmlaq_s32(sum[k], a, b), 32)
WEFT_CEILING_LOOP(bfloat16_bfdot, "arch=armv8.2-a+bf16+fp16", float32x4_t, vdupq_n_f32(static_cast<float>(k)),
                  vreinterpretq_bf16_u16(vdupq_n_u16(0x3f00)), vreinterpretq_bf16_u16(vdupq_n_u16(0x3e80)),
                  vbfdotq_f32(sum[k], a, b), 8)
WEFT_CEILING_LOOP(bfloat16_bfmmla, "arch=armv8.2-a+bf16+fp16", float32x4_t,
                  vdupq_n_f32(static_cast<float>(k)), vreinterpretq_bf16_u16(vdupq_n_u16(0x3f00)),
                  vreinterpretq_bf16_u16(vdupq_n_u16(0x3e80)), vbfmmlaq_f32(sum[k], a, b), 16)

}  // namespace

void read_bytes(const char* in, int64_t bytes) {
  uint64x2_t sum[8] = {};
  for (int64_t i = 0; i < bytes; i += 128)
    for (int k = 0; k < 8; ++k)
      sum[k] = veorq_u64(sum[k], vld1q_u64(reinterpret_cast<const uint64_t*>(in + i + 16 * k)));
  for (const uint64x2_t& part : sum) use(part);
}

// STNP says that nobody reads the pair soon; where it goes is the processor's choice.
void copy_bytes_streaming(char* out, const char* in, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 32) {
    const uint64x2_t low = vld1q_u64(reinterpret_cast<const uint64_t*>(in + i)),
                     high = vld1q_u64(reinterpret_cast<const uint64_t*>(in + i + 16));
    __asm__ volatile("stnp %q0, %q1, [%2]" : : "w"(low), "w"(high), "r"(out + i) : "memory");
  }
}

double multiply_add_float32(int64_t iterations) { return float32_neon(iterations); }
double multiply_add_float64(int64_t iterations) { return float64_neon(iterations); }
double dot_int8(int64_t iterations) { return has_matrix_engine("dotprod") ? int8_sdot(iterations) : 0; }
double tiles_int8(int64_t iterations) { return has_matrix_engine("i8mm") ? int8_smmla(iterations) : 0; }
double dot_bfloat16(int64_t iterations) { return has_matrix_engine("bf16") ? bfloat16_bfdot(iterations) : 0; }
double tiles_bfloat16(int64_t iterations) {
  return has_matrix_engine("bf16") ? bfloat16_bfmmla(iterations) : 0;
}

}  // namespace weft::runtime
