// Matrix engines: instructions that multiply numbers narrower than float32 and add the products in wider
// ones, at several times the rate of float32's. Which of them this process may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

struct MatrixEngine {
  std::string name;     // "avx512-bf16"
  std::string numbers;  // what it multiplies: "bfloat16", "int8", "float16"
  std::string why_not;  // empty: usable
  // Of its instructions alone (runtime/ceiling_loops.h); null where their rate decides nothing.
  double (*loop)(int64_t iterations) = nullptr;
};

// Every engine that weft knows, from the smallest to the largest. Asks the kernel for the tiles of AMX, which
// it gives to the whole process, once.
const std::vector<MatrixEngine>& matrix_engines();
bool has_matrix_engine(std::string_view name);

// Operations per second of an engine's instructions relative to float32's multiply-adds, on this thread; 0
// where it is not usable. Measured in a fraction of a millisecond and kept.
double matrix_engine_speedup(std::string_view name);

}  // namespace weft::runtime
