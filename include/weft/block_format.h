// How GGUF files store weights: blocks of numbers along a row, each with scales of its own.
#pragma once

#include <cstdint>

namespace weft {

enum class BlockFormat : uint8_t { None, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, MXFP4 };
inline constexpr int kNumBlockFormats = 11;

struct BlockSize {
  const char* name;
  int64_t elements, bytes;
};
// source: ggml-common.h of llama.cpp.
constexpr BlockSize block_size(BlockFormat format) {
  switch (format) {
    case BlockFormat::None: break;
    case BlockFormat::Q4_0: return {"Q4_0", 32, 18};
    case BlockFormat::Q4_1: return {"Q4_1", 32, 20};
    case BlockFormat::Q5_0: return {"Q5_0", 32, 22};
    case BlockFormat::Q5_1: return {"Q5_1", 32, 24};
    case BlockFormat::Q8_0: return {"Q8_0", 32, 34};
    case BlockFormat::Q4_K: return {"Q4_K", 256, 144};
    case BlockFormat::Q5_K: return {"Q5_K", 256, 176};
    case BlockFormat::Q6_K: return {"Q6_K", 256, 210};
    case BlockFormat::IQ4_NL: return {"IQ4_NL", 32, 18};
    case BlockFormat::MXFP4: return {"MXFP4", 32, 17};
  }
  return {"none", 1, 1};
}

}  // namespace weft
