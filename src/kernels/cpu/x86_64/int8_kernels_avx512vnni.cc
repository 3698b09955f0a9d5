#if defined(__AVX512VNNI__)
#include "kernels/cpu/x86_64/int8_dots_avx512vnni.inc"
#include "kernels/cpu/x86_64/int8_pack_avx512.inc"
#include "kernels/cpu/x86_64/kernels.h"
#define WEFT_KERNELS kInt8Avx512Vnni
#define WEFT_KERNELS_NAME "avx512vnni"
#define WEFT_LANES 16
#define WEFT_PACKING
#include "kernels/cpu/int8_kernels.inc"

namespace weft::kernels {
void dots_int8_avx512vnni(const Int8Dots& args) { dots(args); }
}  // namespace weft::kernels
#endif
