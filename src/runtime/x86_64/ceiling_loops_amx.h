// The loops of ceiling_loops.h on the tiles of AMX; the caller knows that the process has them.
#pragma once

#include <cstdint>

namespace weft::runtime {

double tiles_bfloat16_amx(int64_t iterations);
double tiles_int8_amx(int64_t iterations);

}  // namespace weft::runtime
